"""What a trace depended on besides its arguments: closures, globals and defaults.

NOTE [what is guarded]
    The functions that a trace enters name globals, close over cells, and have defaults. A program
    holds as long as these are the same objects: arrays by identity and shape, numbers and texts by
    value. What is behind an attribute, or in a container, is taken as it is at the time of the
    trace; so is what functions of NumPy, SciPy, functier and Python's library do.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

ndarray = np.ndarray
BY_VALUE = (int, float, complex, str, bytes, bool, type(None), np.generic)
HERE = __name__.partition(".")[0]
KNOWN = frozenset({HERE, "numpy", "scipy", "optree", *sys.stdlib_module_names}) - {"__main__"}


class Dependency(NamedTuple):
    """A name or a cell, and what it had: `owner` is the dict of the name, or the cell."""

    owner: Any
    name: str
    value: Any
    function: str


class Watch:
    """A block that notes the Python functions that are entered in it."""

    def __init__(self) -> None:
        self.entered: dict[CodeType, dict[str, Any]] = {}
        self.seen: set[CodeType] = set()

    def note(self, frame: Any, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code in self.seen:
            return
        self.seen.add(code)
        names = frame.f_globals
        module = names.get("__name__", HERE)  # code that was made at run time has none
        if module.partition(".")[0] not in KNOWN and not module.startswith("namedtuple_"):
            self.entered[code] = names

    def __enter__(self) -> "Watch":
        self.before = sys.getprofile()
        if self.before is None:  # a profiler of the user's stays, and nothing is noted then
            sys.setprofile(self.note)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.before is None:
            sys.setprofile(None)


def dependencies(func: Callable, watch: Watch) -> list[Dependency]:
    """Return what the functions that were entered depend on, beginning with `func`."""
    found: dict[tuple[int, str], Dependency] = {}
    waiting: list[Any] = [func]
    seen: set[int] = set()
    for code, names in watch.entered.items():
        for name in named_globals(code):
            if name in names:
                value = names[name]
                found[id(names), name] = Dependency(names, name, value, code.co_qualname)
                waiting.append(value)
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, FunctionType):
            entered = x.__code__ in watch.entered
            for name, cell in zip(x.__code__.co_freevars, x.__closure__ or ()):
                value = contents(cell)
                waiting.append(value)
                if entered:
                    found[id(cell), name] = Dependency(cell, name, value, x.__qualname__)
            if entered and (x.__defaults__ or x.__kwdefaults__):
                found[id(x), ""] = Dependency(x, "", defaults_of(x), x.__qualname__)
            waiting.append(getattr(x, "__wrapped__", None))
        elif isinstance(x, functools.partial):
            waiting += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, MethodType):
            waiting.append(x.__func__)
        elif isinstance(x, (tuple, list)) and len(x) < 100:
            waiting += x
    return list(found.values())


def named_globals(code: CodeType) -> Iterator[str]:
    """Return the names by which code may ask for globals, also in functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from named_globals(constant)


EMPTY = object()


def contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def defaults_of(func: FunctionType) -> tuple:
    given = func.__kwdefaults__ or {}
    return (*(func.__defaults__ or ()), *given.values())


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
        return type(now) is type(before) and (now == before or (now != now and before != before))
    if type(before) is tuple and type(now) is tuple and len(now) == len(before):
        return all(map(same, now, before))
    return False


def checker(found: list[Dependency]) -> Callable[[], bool]:
    """Return a function that tells if all dependencies are as they were."""
    space: dict[str, Any] = {"same": same, "contents": contents, "defaults_of": defaults_of}
    tests = []
    for i, (owner, name, value, _) in enumerate(found):
        if isinstance(value, ModuleType) and type(owner) is dict:
            continue  # a name of a module is not given to another one
        space[f"o{i}"], space[f"v{i}"] = owner, value
        if type(owner) is dict:
            now = f"o{i}.get({name!r})"
        elif type(owner) is CellType:
            now = f"contents(o{i})" if value is EMPTY else f"o{i}.cell_contents"
        else:
            now = f"defaults_of(o{i})"
        test = f"{now} is v{i}"
        if isinstance(value, (*BY_VALUE, tuple)):
            test = f"({test} or same({now}, v{i}))"
        elif type(value) is ndarray:
            space[f"s{i}"] = value.shape
            test = f"{test} and v{i}.shape == s{i}"
        tests.append(test)
    text = " and ".join(tests) or "True"
    exec(f"def unchanged():\n    return {text}\n", space)
    return space["unchanged"]


def changed(found: list[Dependency]) -> str:
    """Return which dependency has changed, in words."""
    for dependency in found:
        if not same(current(dependency), dependency.value):
            what = dependency.name or "a default"
            return f"{what!r} of {dependency.function}"
    return "something that the function reads"
