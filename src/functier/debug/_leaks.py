"""check_leaks: tensors that have outlived their level, and the objects that hold them.

NOTE [what the collector sees]
    The chain of holders comes from the collector. It finds containers, instances,
    closures, suspended generators and the frames of a traceback, but not the variables of
    running functions. These are looked up in the frames of all threads.
"""

import functools
import gc
import sys
import types
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, Literal
from weakref import WeakSet

from .._core.blocks import Block, Observer, block
from .._core.errors import LeakError, LeakWarning
from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .._cpython import facts
from .._cpython.code import closed_over, file_of
from .._cpython.collector import holders_of, instances_of, parts_of
from .._cpython.frames import (
    file_at,
    frames_of_threads,
    line_at,
    outward,
    qualified_name_at,
    variables_at,
    way_into,
)
from .._cpython.objects import values_in_slots
from .._levels.level import Level
from .._levels.lineage import chain, inward
from .._levels.tape import Given

SHOWN = 5
"""The largest number of tensors in a report."""

STEPS = 100
"""The largest number of holders in a chain."""

NEAR = 10
"""The same, where an error is to name the holder, and each step looks at all objects."""

RUNNING_AGAIN = tuple(f"functier._control.{name}" for name in ("regions", "schedule", "solves"))
"""Modules whose rules run functions of the user again, which may close over tensors."""

ENTERED: ContextVar[tuple[WeakSet, ...]] = ContextVar("entered", default=())
"""The levels that were entered in each enclosing block of this context."""


def _note(level: Level) -> None:
    if vars(level).get("again"):  # a backward pass enters an earlier level again
        return
    for levels in ENTERED.get():
        levels.add(level)


CHECKER = Observer(ENTERED, level=_note)


def check_leaks(
    action: Literal["raise", "warn"] = "raise",
) -> Block[None]:
    """Report tensors that outlive their level.

    This is a context manager and a decorator. At the end of the block it collects garbage,
    and reports each tensor that is still alive although its level, which was made inside the
    block, has ended. Typical holders are a global list, a cache, or a closure.

    Parameters
    ----------
    action : {"raise", "warn"}
        Whether to raise `LeakError` or to warn with `LeakWarning`.

    Raises
    ------
    LeakError
        For each tensor, the message names its level, the line where the level was made, and
        the holder of the tensor: ``module.cache['x'][0]``,
        ``f.__closure__[0].cell_contents``. The attribute ``paths`` lists the holders.

    Notes
    -----
    A block that raises an error is not checked, because the traceback holds its tensors. The
    check also leaves out tensors of ``escape="passthrough"``, tensors of a level whose
    ``with`` block is open in a suspended generator, tensors from other threads, and those
    that a pullback needs to run a function of `checkpoint` or `custom_root` again.

    A block costs one `gc.collect`, and a few passes over all objects if there is something to
    report.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> kept = {}
    >>> def f(x):
    ...     kept["x"] = x
    ...     return x + 1
    >>> with check_leaks():
    ...     ft.vmap(f)(np.ones(3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    functier...LeakError: 1 tensor is alive although its level has ended
      a tensor of vmap(f) (Tensor <- vmap(f), made at ...), float64 of shape (), is held by
        ...kept['x']...
    """
    if action not in ("raise", "warn"):
        raise ValueError(
            f"check_leaks: action={action!r}; write 'raise' or 'warn', and @check_leaks() with its "
            f"parentheses as a decorator"
        )
    return _checking(action)


@block
def _checking(action: str) -> Iterator[None]:
    levels: WeakSet = WeakSet()
    yield from CHECKER.observing((*ENTERED.get(), levels))
    message, paths = _report(levels)
    if message and action == "raise":
        error = LeakError(message)
        error.paths = paths
        raise error
    if message:
        warnings.warn(message, LeakWarning, stacklevel=4)


def _report(levels: WeakSet) -> tuple[str, tuple[str, ...]]:
    """Return a message about leaked tensors of `levels`, and the paths of their holders."""
    gc.collect()
    classes = {v.cls for v in levels if not v.live and v.escape == "dead"}
    leaked = instances_of(*classes)
    if not leaked:
        return "", ()
    search = _Search(leaked)
    found = [(x, search.chain_to(x)) for x in leaked]
    chains = [(x, holders) for x, holders in found if holders is not None]
    shown = [(x, search.path(c)) for x, c in chains if not search.passes(c)][:SHOWN]
    n = len(chains)
    lines = [f"{n} tensors are alive although their levels have ended"]
    if n == 1:
        lines = ["1 tensor is alive although its level has ended"]
    for x, path in shown:
        level = type(x).level
        about = f"({chain(type(x))}, made at {level.where()}), {_form(x)}"
        lines.append(f"  a tensor of {level} {about}, is held by\n    {path}")
    if n > len(shown):
        lines.append(f"  and {n - len(shown)} more, some held by these")
    return "\n".join(lines) if n else "", tuple(path for _, path in shown)


def _form(x: Value) -> str:
    """Return the dtype and shape of a tensor whose level has ended, for a message."""
    k = 0
    for part in inward(x):
        if part.level.depth:
            k += part.level.k if part.level.kind.batches else 0
            x = part.elem()
    return f"{dtype_of(x)} of shape {shape_of(x)[k:]}"


class _Search:
    """A search for the holders of some tensors, and for their holders, up to names.

    Each step asks for all holders at once, as it is a pass over all objects.
    """

    def __init__(self, leaked: list, running: bool = True, steps: int = STEPS):
        self.leaked = {id(x) for x in leaked}
        modules = sys.modules.copy()
        self.modules = {id(vars(m)): n for n, m in modules.items() if hasattr(m, "__dict__")}
        self.variables: dict[int, str] = {}
        self.objects: dict[int, Any] = {id(x): x for x in leaked}
        self.holds: dict[int, set[int]] = {}  # by ids
        self.kept: set[int] = set()  # objects that a backward pass needs
        own = {id(leaked), id(self.objects), id(vars(self))} | self.look_at_variables()
        if not running:
            self.variables.clear()
        self.climb(leaked, own, steps)
        self.above: dict[int, int] = {}  # on the shortest way from a name
        names = [i for i, x in self.objects.items() if self.is_name(x)]
        self.reached = set(names)
        while names:
            children = []
            for i in names:
                for child in self.holds.get(i, ()):
                    if child not in self.reached:
                        self.reached.add(child)
                        self.above[child] = i
                        children.append(child)
            names = children

    def look_at_variables(self) -> set[int]:
        """Note the variables of all running functions; return the ids of the new dicts."""
        made = set()
        for here in [frame for inner in frames_of_threads() for frame in outward(inner)]:
            if file_at(here) in (__file__, file_of(block)):
                continue
            variables = variables_at(here)
            if id(variables) not in self.modules:
                made.add(id(variables))
                where = f"{qualified_name_at(here)}, {file_at(here)}:{line_at(here)}"
                for name, value in variables.items():
                    text = f"{name} (a variable of {where})"
                    self.variables.setdefault(id(value), text)
        return made

    def is_name(self, x: Any) -> bool:
        return id(x) in self.variables or id(x) in self.modules

    def climb(self, leaked: list, own: set[int], steps: int) -> None:
        """Note the holders of `leaked`, step by step; objects with ids in `own` do not count."""
        lists = [leaked]  # kept alive, so that no other object gets their ids
        own.add(id(lists))
        for _ in range(steps):
            asked = [x for x in lists[-1] if not self.is_name(x)]
            if not asked:
                break
            wanted = {id(x) for x in asked}
            found: list = []
            own |= {id(asked), id(found)}
            lists += [asked, found]
            for holder in holders_of(asked):
                key = id(holder)
                if key in own:
                    continue
                children = wanted.intersection(map(id, parts_of(holder)))
                if children and _is_kept(holder):
                    self.kept |= children
                elif children:
                    self.holds.setdefault(key, set()).update(children)
                    if key not in self.objects:
                        self.objects[key] = holder
                        found.append(holder)

    def chain_to(self, x: Tensor) -> list | None:
        """Return the holders of a tensor from a name on, or None where a backward pass needs it."""
        key, found = id(x), [x]
        if key in self.reached:
            while key in self.above:
                key = self.above[key]
                found.append(self.objects[key])
            return found[::-1]
        above, waiting = {key}, [key]
        while waiting:
            child = waiting.pop()
            for i, children in self.holds.items():
                if child in children and i not in above:
                    above.add(i)
                    waiting.append(i)
        return None if above & self.kept else [x]

    def passes(self, chain: list) -> bool:
        """Return True where another leaked tensor is in the chain to one."""
        return any(id(x) in self.leaked for x in chain[:-1])

    def path(self, chain: list) -> str:
        """Return a chain as a Python expression."""
        first = chain[0]
        if id(first) in self.variables:
            name, _, where = self.variables[id(first)].partition(" ")
            return f"{name}{_steps(chain)} {where}"
        if id(first) in self.modules:
            return self.modules[id(first)] + _steps(chain, True)
        return f"objects that the garbage collector cannot trace to a name in {STEPS} steps"


def place_of(cls: type[Tensor]) -> str:
    """Return the expression by which a module keeps a tensor of a class, or none."""
    leaked = instances_of(cls) if facts.referrers.holds else []
    search = _Search(leaked, running=False, steps=NEAR)
    chains = [search.chain_to(x) or [x] for x in leaked]
    return next((search.path(c) for c in chains if id(c[0]) in search.modules), "")


def _is_kept(holder: Any) -> bool:
    """Return True for a rule that runs a function of the user again, and for its arguments."""
    if type(holder) is Given:
        return True
    while isinstance(holder, functools.partial):
        holder = holder.func
    holder = getattr(holder, "__func__", holder)  # of a method
    return isinstance(holder, types.FunctionType) and holder.__module__ in RUNNING_AGAIN


def _steps(chain: list, names: bool = False) -> str:
    """Return the expression from a holder to the tensor; `names` if a namespace comes first."""
    text = note = ""
    for n, (x, child) in enumerate(pairwise(chain)):
        if isinstance(x, types.FunctionType) and x.__closure__ and child is x.__closure__:
            place = [c is chain[n + 2] for c in x.__closure__].index(True)
            note = f" ({x.__name__} closes over it as {closed_over(x)[place]!r})"
        if names or not _is_namespace(x, child):
            text += _step(x, child, names)
            names = False
        else:
            names = True
    return text + note


def _is_namespace(x: Any, child: Any) -> bool:
    """Return True where `child` is the dict of the attributes of `x`."""
    if type(child) is not dict:
        return False
    return isinstance(x, type) or getattr(x, "__dict__", None) is child


def _step(x: Any, child: Any, names: bool) -> str:
    """Return the expression from `x` to an object that it holds."""
    if isinstance(x, dict):
        for key, value in x.items():
            if value is child:
                return f".{key}" if names and isinstance(key, str) else f"[{key!r:.40}]"
        return ".keys()"
    if isinstance(x, (list, tuple)):
        return next((f"[{i}]" for i, value in enumerate(x) if value is child), "")
    if way := way_into(x, child):  # of a frame, or of what is suspended and holds its variables
        return way
    for name, value in [*getattr(x, "__dict__", {}).items()]:
        if value is child:
            return f".{name}"
    for name, value in values_in_slots(x):
        if value is child:
            return f".{name}"
    return f".<{type(x).__name__.strip('_')}>"
