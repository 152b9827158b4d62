"""check_leaks: tensors that have outlived their level, and what holds them.

NOTE [what the collector sees]
    The chain of holders comes from `gc.get_referrers`. It knows containers, instances,
    closures, suspended generators and the frames of a traceback, but not the variables of
    functions that are running; these are looked up in the frames of all threads.
"""

import gc
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal
from weakref import WeakSet

from ._batch import BatchLevel
from ._errors import LeakError, LeakWarning
from ._level import WATCHERS, Level, chain
from ._numpy import dtype_of, shape_of
from ._tensor import Tensor

SHOWN = 5
"""So many tensors are reported with what holds them."""

STEPS = 30
"""A longer chain of holders is cut."""

SEEN: ContextVar[tuple[WeakSet, ...]] = ContextVar("seen", default=())
"""The levels that were entered in the blocks around, of this context."""

_LOCK = threading.Lock()
_users = [0]


def _see(level: Level) -> None:
    for levels in SEEN.get():
        levels.add(level)


@contextmanager
def check_leaks(action: Literal["raise", "warn"] = "raise") -> Iterator[None]:
    """Look for tensors that outlive their level.

    A context manager, and a decorator. When the block is left it collects garbage, and
    reports each tensor that is still alive although its level, which was made inside the
    block, has ended: a global list that a function of `vmap` appends to, a cache, a closure.

    Parameters
    ----------
    action : {"raise", "warn"}
        Whether to raise `LeakError` or to warn with `LeakWarning`.

    Raises
    ------
    LeakError
        Names for each tensor its level, the line where that was made, and what holds the
        tensor: ``module.cache['x'][0]``, ``f.__closure__[0].cell_contents``. Its attribute
        ``paths`` lists these.

    Notes
    -----
    A block that raises is not checked, as the traceback holds what was alive. Nor are
    tensors of ``escape="passthrough"``, which are meant to stay, those of levels whose
    ``with`` block a suspended generator holds open, and those that another thread made.

    The price is one `gc.collect` a block, and some passes over all objects where there is
    something to report.

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
        raise ValueError(f"check_leaks: action={action!r}; write 'raise' or 'warn'")
    levels: WeakSet = WeakSet()
    with _LOCK:
        _users[0] += 1
        if _users[0] == 1:
            WATCHERS.append(_see)
    token = SEEN.set((*SEEN.get(), levels))
    try:
        yield
    finally:
        SEEN.reset(token)
        with _LOCK:
            _users[0] -= 1
            if not _users[0]:
                WATCHERS.remove(_see)
    message, paths = _report(levels)
    if message and action == "raise":
        error = LeakError(message)
        error.paths = paths
        raise error
    if message:
        warnings.warn(message, LeakWarning, stacklevel=3)


def _report(levels: WeakSet) -> tuple[str, tuple[str, ...]]:
    """What to say of the tensors of ended levels among `levels`, and what holds them."""
    gc.collect()
    classes = {v.cls for v in levels if not v.live and v.escape == "dead"}
    leaked = [x for x in gc.get_referrers(*classes) if type(x) in classes]
    if not leaked:
        return "", ()
    many = len(leaked) > 1
    lines = [
        f"{len(leaked)} tensors are alive although their levels have ended"
        if many
        else "1 tensor is alive although its level has ended"
    ]
    search = _Search(leaked)
    paths: list[str] = []
    for x in leaked:
        if len(paths) == SHOWN:
            break
        level = type(x).level
        path = search.path_to(x)
        if path is not None:
            about = f"({chain(type(x))}, made at {level.where()}), {_form(x)}"
            lines.append(f"  a tensor of {level} {about}, is held by\n    {path}")
            paths.append(path)
    if len(leaked) > len(paths):
        lines.append(f"  and {len(leaked) - len(paths)} more, some held by these")
    return "\n".join(lines), tuple(paths)


def _form(x: Any) -> str:
    """The dtype and shape of a tensor, which its level does not tell any more."""
    k = 0
    while isinstance(x, Tensor):
        kind = getattr(x.level, "kind", object)
        k += x.level.k if issubclass(kind, BatchLevel) else 0
        x = x._value
    return f"{dtype_of(x)} of shape {shape_of(x)[k:]}"


class _Search:
    """The search for what holds a tensor."""

    def __init__(self, leaked: list):
        self.leaked, self.own = leaked, {id(leaked)}
        self.modules = {id(vars(m)): n for n, m in [*sys.modules.items()] if hasattr(m, "__dict__")}
        self.variables: dict[int, str] = {}
        here: types.FrameType | None
        for here in sys._current_frames().values():
            while here is not None:
                code = here.f_code
                if code.co_filename not in (__file__, contextmanager.__code__.co_filename):
                    variables = here.f_locals
                    if id(variables) not in self.modules:
                        self.own.add(id(variables))
                        where = f"{code.co_filename}:{here.f_lineno}"
                        for name, value in variables.items():
                            text = f"{name} (a variable of {code.co_qualname}, {where})"
                            self.variables.setdefault(id(value), text)
                here = here.f_back
        self.own.add(id(vars(self)))

    def path_to(self, tensor: Any) -> str | None:
        """What holds `tensor`, as Python writes it; None where another leaked one does."""
        others = {id(x) for x in self.leaked} - {id(tensor)}
        held: dict[int, tuple[Any, Any]] = {id(tensor): (tensor, None)}  # what each one holds
        frontier = [tensor]
        own = self.own | {id(held), id(frontier)}
        for _ in range(STEPS):
            for x in frontier:
                if id(x) in self.variables:
                    name, _, where = self.variables[id(x)].partition(" ")
                    return f"{name}{self.steps(x, held)} {where}"
                if id(x) in self.modules:
                    return self.modules[id(x)] + self.steps(x, held, True)
            ids = {id(x): x for x in frontier}
            own |= {id(ids), id(own)} | {id(v) for v in held.values()}
            following: list = []
            own.add(id(following))
            for holder in gc.get_referrers(*frontier):
                if id(holder) in own or id(holder) in held:
                    continue
                for child in gc.get_referents(holder):
                    if id(child) in ids:
                        held[id(holder)] = (holder, child)
                        own.add(id(held[id(holder)]))
                        following.append(holder)
                        break
            following = self.without(following, others)
            own.add(id(following))
            if not following:
                break
            frontier = following
        else:
            return f"a chain of more than {STEPS} holders"
        if any(id(x) in others for x in map(_first, held.values())):
            return None
        last = frontier[0]
        what = f"an object of {type(last).__qualname__}" if last is not tensor else "an object"
        return f"{what} that the collector does not see the holder of{self.steps(last, held)}"

    def without(self, holders: list, others: set) -> list:
        """The holders that are no other leaked tensor: those are reported themselves."""
        return [x for x in holders if id(x) not in others]

    def steps(self, x: Any, held: dict, names: bool = False) -> str:
        """The way from a holder to the tensor; `names` where a namespace comes first."""
        text = note = ""
        while (child := held[id(x)][1]) is not None:
            if isinstance(x, types.FunctionType) and child is x.__closure__:
                cell = held[id(child)][1]
                closed = [
                    n for n, c in zip(x.__code__.co_freevars, x.__closure__ or ()) if c is cell
                ]
                note = f" ({x.__name__} closes over it as {closed[0]!r})"
            if names or not _is_namespace(x, child):
                text += _step(x, child, names)
                names = False
            else:
                names = True
            x = child
        return text + note


def _first(pair: tuple) -> Any:
    return pair[0]


def _is_namespace(x: Any, child: Any) -> bool:
    """Whether `child` is the dict of the attributes of `x`."""
    if type(child) is not dict:
        return False
    return isinstance(x, type) or getattr(x, "__dict__", None) is child


def _step(x: Any, child: Any, names: bool) -> str:
    """How Python writes the way from `x` to what it holds."""
    if isinstance(x, dict):
        for key, value in x.items():
            if value is child:
                return f".{key}" if names and isinstance(key, str) else f"[{key!r:.40}]"
        return ".keys()"
    if isinstance(x, (list, tuple)):
        return next((f"[{i}]" for i, value in enumerate(x) if value is child), "")
    for frame in ("gi_frame", "cr_frame", "ag_frame"):  # suspended: it holds its variables
        if hasattr(type(x), frame) and getattr(x, frame) is not None:
            return f".{frame}" + _variable(getattr(x, frame), child)
    if isinstance(x, types.FrameType):
        return _variable(x, child)
    for name, value in [*getattr(x, "__dict__", {}).items()]:
        if value is child:
            return f".{name}"
    for cls in type(x).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                if _read(member, x) is child:
                    return f".{name}"
    return f".<{type(x).__name__.strip('_')}>"


def _variable(frame: types.FrameType, child: Any) -> str:
    for name, value in frame.f_locals.items():
        if value is child:
            return f".f_locals[{name!r}]"
    return ".f_back" if frame.f_back is child else ".f_locals"


def _read(member: Any, x: Any) -> Any:
    read: Callable = member.__get__
    try:
        return read(x)
    except Exception:  # a slot that is empty, or a getter of C that refuses
        return None
