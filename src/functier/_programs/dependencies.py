"""Dependencies of a trace besides its arguments: closures, globals and defaults.

NOTE [what is guarded]
    The functions that a trace enters name globals, close over cells, and have defaults. A program
    holds as long as these are the same objects: arrays by identity and shape, numbers and texts by
    value. The attributes of a user's module that the code names are looked at, too. What is behind
    another attribute, or in a container, is taken as it is at the time of the trace; so is what
    functions of NumPy, SciPy, functier and Python's library do.

NOTE [before the trace]
    What counts is what a name had when the function was entered: a function that counts its calls
    in a global has changed it by its end.
"""

import builtins
import gc
import random
import sys
from collections.abc import Callable, Iterable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .._core.reached import (
    EMPTY,
    HERE,
    KNOWN,
    contents,
    defaults_of,
    is_known,
    moved,
    named_globals,
    note_generators,
    reached_from,
)

ndarray = np.ndarray
NUMBERS = (int, float, complex, np.number)
BY_VALUE = (int, float, complex, str, bytes, bool, type(None), np.generic)
FRESH_ENTROPY = random.SystemRandom.getrandbits.__code__
"""Python code that NumPy calls for the seed of a generator that has none."""


class Dependency(NamedTuple):
    """A name or a cell, and what it had: `owner` is the dict of the name, or the cell."""

    owner: Any
    name: str
    value: Any
    function: str


class Watch:
    """A block that notes the Python functions that are entered in it.

    Attributes
    ----------
    entered : dict of int to code
        The code of the user's functions, by identity: equal code may have other globals.
    found : dict
        What their globals had then.
    entropy : bool
        True where a generator was made without a seed.
    noting : callable
        The function that Python calls, so that others can switch it off for a while.
    """

    def __init__(self, *roots: Any) -> None:
        self.entered: dict[int, CodeType] = {}
        self.seen: dict[int, Any] = {}
        self.codes: list[CodeType] = []
        self.found: dict[tuple[int, str], Dependency] = {}
        self.generators: dict[int, tuple] = {}
        self.entropy = False
        self.cells: dict[int, tuple] = {}
        for x in reached_from(roots):
            note_generators(x, self.generators)
            for cell in x.__closure__ or () if isinstance(x, FunctionType) else ():
                self.cells[id(cell)] = cell, contents(cell)

    def note(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code, names = frame.f_code, frame.f_globals
            if self.seen.get(id(code)) is not names:
                self.enter(code, names)

    def enter(self, code: CodeType, names: dict) -> None:
        self.seen[id(code)] = names
        self.codes.append(code)  # so that its identity stays its own
        if code is FRESH_ENTROPY:
            self.entropy = True
        module = names.get("__name__", HERE)  # code that was made at run time has none
        if module.partition(".")[0] in KNOWN or module.startswith("namedtuple_"):
            return
        self.entered[id(code)] = code
        modules = []
        texts = set(named_globals(code))
        for name in texts:
            value = names.get(name, EMPTY)
            if value is not EMPTY:
                self.add(names, name, value, code)
                if type(value) is ModuleType and not is_known(value):
                    modules.append(value)
            elif hasattr(builtins, name):
                self.add(names, name, EMPTY, code)
        while modules:
            space = vars(modules.pop())
            for name in texts & space.keys():
                if (id(space), name) not in self.found:
                    value = space[name]
                    self.add(space, name, value, code)
                    if type(value) is ModuleType and not is_known(value):
                        modules.append(value)

    def add(self, owner: dict, name: str, value: Any, code: CodeType) -> None:
        self.found.setdefault((id(owner), name), Dependency(owner, name, value, code.co_qualname))
        note_generators(value, self.generators)

    def moved(self) -> list[Any]:
        """Return the generators of NumPy's that have drawn."""
        return moved(self.generators)

    def __enter__(self) -> "Watch":
        # A collection may begin at any time, and its observers do not belong to the function.
        for call in gc.callbacks:
            if isinstance(call, FunctionType):
                self.seen[id(call.__code__)] = call.__globals__
        before: Any = sys.getprofile()
        self.before = before
        note: Callable = self.note
        if hasattr(before, "disable"):  # one in C, which goes on later
            before.disable()
        elif before is not None:

            def note(frame: Any, event: str, argument: Any) -> None:
                self.note(frame, event, argument)
                before(frame, event, argument)

        self.noting = note
        sys.setprofile(note)
        return self

    def __exit__(self, *exception: Any) -> None:
        if hasattr(self.before, "disable"):
            sys.setprofile(None)
            self.before.enable()
        else:
            sys.setprofile(self.before)


def dependencies(roots: Iterable[Any], watch: Watch) -> list[Dependency]:
    """Return what the functions that were entered depend on.

    Their closures and defaults are those of functions that are reached from `roots`.
    """
    found = dict(watch.found)
    values = [dependency.value for dependency in watch.found.values()]
    for x in reached_from([*roots, *values]):
        if not isinstance(x, FunctionType) or id(x.__code__) not in watch.entered:
            continue
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or ()):
            _, value = watch.cells.get(id(cell), (cell, contents(cell)))
            found[id(cell), name] = Dependency(cell, name, value, x.__qualname__)
        if x.__defaults__ or x.__kwdefaults__:
            found[id(x), ""] = Dependency(x, "", defaults_of(x), x.__qualname__)
    return list(found.values())


def current(dependency: Dependency) -> Any:
    """Return what a dependency has now."""
    owner = dependency.owner
    if type(owner) is dict:
        return owner.get(dependency.name, EMPTY)
    return contents(owner) if type(owner) is CellType else defaults_of(owner)


def same(now: Any, before: Any) -> bool:
    """Tell if an object is the one of the trace, or a number or text of its value."""
    if now is before:
        return True
    if isinstance(before, BY_VALUE):
        if type(now) is not type(before):
            return False
        if isinstance(before, NUMBERS):
            return repr(now) == repr(before)  # zeros have signs
        return bool(now == before)
    if type(before) is tuple and type(now) is tuple and len(now) == len(before):
        return all(map(same, now, before))
    return False


def checker(found: list[Dependency]) -> Callable[[], bool]:
    """Return a function that tells if all dependencies are as they were."""
    space: dict[str, Any] = {"same": same, "contents": contents, "defaults_of": defaults_of}
    tests = []
    absent: dict[int, tuple[dict, list[str]]] = {}
    for i, (owner, name, value, _) in enumerate(found):
        if isinstance(value, ModuleType) and type(owner) is dict and is_known(value):
            continue  # a name of a library is not given to another one
        if value is EMPTY and type(owner) is dict:
            absent.setdefault(id(owner), (owner, []))[1].append(name)
            continue
        space[f"o{i}"], space[f"v{i}"] = owner, value
        if type(owner) is dict:
            now = f"o{i}[{name!r}]"
        elif type(owner) is CellType:
            now = f"contents(o{i})" if value is EMPTY else f"o{i}.cell_contents"
        else:
            now = f"defaults_of(o{i})"
        test = f"{now} is v{i}"
        if isinstance(value, (*BY_VALUE, tuple)):
            test = f"({test} or same({now}, v{i}))"
        elif type(value) is ndarray:
            space[f"s{i}"], space[f"d{i}"] = value.shape, value.dtype
            test = f"{test} and v{i}.shape == s{i} and v{i}.dtype is d{i}"
        tests.append(test)
    for i, (owner, names) in enumerate(absent.values()):
        space[f"k{i}"], space[f"n{i}"] = owner.keys(), tuple(names)
        tests.append(f"k{i}.isdisjoint(n{i})")
    body = f"    try: return {' and '.join(tests) or 'True'}\n"
    body += "    except (KeyError, ValueError): return False\n"  # a name or a cell is empty now
    exec(f"def unchanged():\n{body}", space)
    return space["unchanged"]


def changed(found: list[Dependency]) -> str:
    """Return which dependency has changed, in words."""
    for dependency in found:
        if not same(current(dependency), dependency.value):
            what = dependency.name or "a default"
            return f"{what!r} of {dependency.function}"
    return "something that the function reads"
