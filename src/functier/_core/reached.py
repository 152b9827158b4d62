"""The generators of random numbers that a function reaches.

NOTE [draws of others]
    A draw of NumPy's generators, or of Python's, returns a plain number and asks nobody. But the
    generator has another state afterwards, and one that is made without a seed asks the system
    for it. So the states of all that a function reaches are noted before it is called, and
    Python's hook hears of requests to the system. One that is made with a seed draws what it
    would draw for each example.

NOTE [what a function reaches]
    All that objects refer to, from the function, its arguments and the globals that it names on.
    Modules are not looked into, nor objects of Python's own library that are no containers. Where
    this is too much, all objects that exist are looked at. No code of the user's runs.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from .._cpython import facts
from .._cpython.code import all_names_of, code_of
from .._cpython.collector import all_containers, containers_among, parts_of
from .._cpython.frames import Frame, code_at, outside, package_at, qualified_name_at, variables_at
from .._cpython.functions import contents, defaults_of
from .._cpython.objects import window, window_at
from .tensor import Tensor

HERE = __name__.partition(".")[0]
LIBRARIES = "numpy", "scipy", "optree", "llvmlite", "numba", "_pytest"
"""LLVM and Numba have finalisers, which run at any time: Numba counts the locks of LLVM. Pytest
rewrites each ``assert`` of a test, so that it names functions by which all tests are reached.
"""
KNOWN = frozenset({HERE, *LIBRARIES, *sys.stdlib_module_names}) - {"__main__"}


def dict_of(x: Any) -> dict | None:
    """Return the ``__dict__`` of an object, or None; its own code does not run."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None


def attributes_of(x: Any) -> list[Any]:
    """Return the values in the ``__dict__`` of an object that is no class or module."""
    return [] if isinstance(x, (type, ModuleType)) else list((dict_of(x) or {}).values())


def is_known(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] in KNOWN


def globals_of(func: FunctionType) -> list[Any]:
    """Return the globals that a user's function names, and those of its modules that it names."""
    space, texts = func.__globals__, names_in(func)
    found = [space[name] for name in texts & space.keys()]
    for x in found:  # which grows: a module in a module
        if type(x) is ModuleType and not is_known(x):
            found += [y for name in texts & vars(x).keys() if not_in(y := vars(x)[name], found)]
    return found


def names_in(func: FunctionType) -> set[str]:
    """Return the names in the code of a user's function, and none of a library's."""
    known = func.__globals__.get("__name__", HERE).partition(".")[0] in KNOWN
    return set() if known else set(all_names_of(func))


def not_in(x: Any, found: list[Any]) -> bool:
    return all([x is not y for y in found])


# ---- generators ----

MOST = 10_000
"""The number of objects from which on it is faster to look at all that exist."""

OPEN = {HERE, "builtins", "collections", "functools", "itertools", "operator", "types"}
OPEN |= {"numpy", "scipy"}
"""Libraries whose objects refer to those of users."""

CLOSED = ModuleType, Frame, TracebackType, Tensor


def kinds() -> tuple[type, ...]:
    """Return the classes of generators, as far as their modules have been imported."""
    theirs: Any = sys.modules.get("numpy.random")
    python: Any = sys.modules.get("random")
    found = (theirs.Generator, theirs.RandomState, theirs.BitGenerator) if theirs else ()
    return (*found, python.Random) if python else found


def is_generator(x: Any, among: tuple[type, ...]) -> bool:
    """Return whether an object is a generator with a state that is not functier's."""
    kind, python = type(x), sys.modules.get("random")
    if not issubclass(kind, among) or hasattr(kind, "_own"):
        return False
    return not issubclass(kind, getattr(python, "SystemRandom", ()))  # which asks the system


class Generators:
    """Generators, each with the state that it had when it was noted."""

    def __init__(self) -> None:
        self.states: dict[int, tuple] = {}

    @classmethod
    def of_modules(cls) -> "Generators":
        """Return those behind the functions of `random` and `numpy.random`."""
        found = cls()
        found.states = {id(x): (x, state_of(x)) for x in of_modules()}
        return found

    def note(self, x: Any) -> None:
        """Note a generator, or those in the attributes of an object."""
        among = kinds()
        for each in (x, *attributes_of(x)):
            if is_generator(each, among):
                self.states.setdefault(id(each), (each, state_of(each)))

    @staticmethod
    def have(x: Any) -> bool:
        """Return whether an object is such a generator."""
        return is_generator(x, kinds())

    def moved(self) -> list[Any]:
        """Return those that have drawn since they were noted."""
        return [x for x, before in self.states.values() if state_of(x) != before]

    @staticmethod
    @contextmanager
    def put_back(generators: Iterable[Any] = ()) -> Iterator[None]:
        """Put the states of generators, and of those of modules, back after a block."""
        undo: list[Callable] = []
        for x in (*of_modules(), *generators):
            if hasattr(x, "getstate"):
                undo.append(partial(x.setstate, x.getstate()))
            elif hasattr(x, "get_state"):
                undo.append(partial(x.set_state, x.get_state()))
            else:
                bits = getattr(x, "bit_generator", x)
                undo.append(partial(setattr, bits, "state", bits.state))
        try:
            yield
        finally:
            for call in undo:
                call()


def noted(leaves: Sequence) -> list[tuple[int, Any, Any]]:
    """Return the generators among the leaves of arguments, with their places and states."""
    among = kinds()
    if not among:
        return []
    return [(i, x, state_of(x)) for i, x in enumerate(leaves) if is_generator(x, among)]


def generators_of(*roots: Any) -> list[tuple[Any, Any]]:
    """Return the generators that objects reach, with their states."""
    import random  # noqa: F401, the function may import it and draw; it takes 1 ms

    among = kinds()
    found = {id(x): x for x in reached(roots) if is_generator(x, among)}
    return [(x, state_of(x)) for x in found.values()]


def of_modules() -> list[Any]:
    """Return the generators behind the functions of `random` and `numpy.random`."""
    theirs: Any = sys.modules.get("numpy.random")
    python: Any = sys.modules.get("random")
    found = [theirs.mtrand._rand] if theirs else []
    return [*found, python.random.__self__] if python else found


def reached(roots: Iterable[Any]) -> Collection[Any]:
    """Return what objects refer to; see NOTE [what a function reaches]."""
    among, seen, waiting = kinds(), dict[int, Any](), [*roots]
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if len(seen) == MOST and (everything := all_containers()) is not None:
            return everything
        if not issubclass(type(x), (*CLOSED, *among)) and (type(x) is FunctionType or _is_open(x)):
            waiting += containers_among(inside(x))
    return seen.values()


def inside(x: Any) -> list[Any]:
    """Return what an object refers to; of a function what its code may read."""
    if type(x) is not FunctionType:
        return parts_of(x)
    return [*map(contents, x.__closure__ or ()), *defaults_of(x), *attributes_of(x), *globals_of(x)]


def _is_open(x: Any) -> bool:
    """Return whether an object may refer to a user's: a class of the user's, or another object."""
    kind = x if isinstance(x, type) else type(x)
    root = str(vars(kind).get("__module__", "builtins")).partition(".")[0]
    return root not in KNOWN or (kind is not x and root in OPEN)


def state_of(generator: Any) -> Any:
    """Return the state of a generator, as something that is compared."""
    if hasattr(generator, "getstate"):
        return generator.getstate()
    bits = getattr(generator, "bit_generator", generator)
    if hasattr(bits, "random_raw"):  # a child of it is a draw, too
        return repr(bits.state), getattr(bits.seed_seq, "n_children_spawned", 0)
    whole = generator.get_state(legacy=False)
    state = whole["state"]  # and a normal number may be left of the last two
    if "key" not in state:  # of another bit generator than NumPy's first
        return repr(whole)
    return state["pos"], state["key"].tobytes(), whole["has_gauss"], whole["gauss"]


# ---- the generators of modules, in each batch ----

_seen: dict[str, Any] = dict.fromkeys(("numpy.random", "random"))
"""For each module that is imported its generator, NumPy's bit generator or None, and the windows.

A window shows bytes in which a draw changes something: of a Mersenne Twister four of its 625 words,
which are new with 624 draws, or the place among them; of NumPy's generator its object, which may
keep the second of two normal numbers.
"""


def places_of_modules() -> tuple:
    """Return where the generators of `numpy.random` and `random` are, in less than half a us.

    These are the bytes that they have in C, which a seed or a state that is set again puts back.
    None stands for a module that is not imported.
    """
    numpys, pythons = _seen.values()
    if numpys is None or numpys[0]._bit_generator is not numpys[1]:
        numpys = _seen["numpy.random"] = _windows_of_numpys()
    if pythons is None:
        pythons = _seen["random"] = _windows_of_pythons()
    return (
        numpys and (numpys[2].raw, numpys[3] and numpys[3].raw),
        pythons and (pythons[0].gauss_next, pythons[2].raw),
    )


def _windows_of_numpys() -> tuple | None:
    theirs: Any = sys.modules.get("numpy.random")
    if theirs is None:
        return None
    rand: Any = theirs.mtrand._rand
    bits: Any = rand._bit_generator
    if not facts.addresses.holds or type(bits).__name__ != "MT19937":
        return rand, bits, _Whole(rand), None
    return rand, bits, window(rand, type(rand)), window_at(bits.ctypes.state_address, 621 * 4, 16)


def _windows_of_pythons() -> tuple | None:
    python: Any = sys.modules.get("random")
    if python is None:
        return None
    own: Any = python.random.__self__
    if not facts.addresses.holds:
        return own, None, _Whole(own)
    return own, None, window(own, python.Random.__base__, 16)


class _Whole:
    """The whole state of a generator, where nothing is known of its bytes."""

    def __init__(self, generator: Any):
        self.generator = generator

    @property
    def raw(self) -> Any:
        return state_of(self.generator)


def moved_since(before: tuple) -> list[str]:
    """Return the modules whose functions have drawn since their places were these."""
    found = []
    for name, was, now in zip(("numpy.random", "random"), before, places_of_modules()):
        if was != now and (was is not None or _has_begun(name)):
            found.append(name)
    return found


def _has_begun(name: str) -> bool:
    """Return whether the generator of a module that was imported meanwhile has drawn."""
    generator = sys.modules[name].random.__self__
    now, new = state_of(generator), state_of(type(generator)())
    if name == "random":  # the place among the words, and a normal number that is left
        return (now[1][-1], now[2]) != (new[1][-1], new[2])
    return (now[0], now[2]) != (new[0], new[2])


# ---- requests to the system, and draws of other threads ----

WAYS = {"random", "getrandbits", "_inst", "getattr", "vars", "modules", "attrgetter", "eval"}
WAYS |= {"exec", "globals", "__dict__", "__import__", "import_module"}
"""Names by which code gets at Python's own generator."""


def may_draw(generator: Any, *roots: Any) -> bool:
    """Return whether a function may have drawn from the generator of `random`.

    Another thread may draw from it meanwhile, as event loops do to spread their timers. The
    function did not if neither it nor what it reaches has a name by which one gets there, or
    imports a module of a user's.
    """
    if not hasattr(generator, "getstate") or not facts.names.holds:
        return True
    found = reached(roots)
    names = {name for x in found if type(x) is FunctionType for name in names_in(x)}
    imports = {name for name in names & sys.modules.keys() if name.partition(".")[0] not in KNOWN}
    return bool(names & WAYS or imports) or any(x is generator for x in found)


PYTHONS = sys.stdlib_module_names & KNOWN


def hears_requests(found: list[str]) -> Callable:
    """Return a hook that notes where the system is asked for random numbers.

    Requests for a generator of functier's, or for the copy of one of NumPy's, are not meant.
    """
    seed = code_of(sys.modules["random"].Random.seed)  # which asks in C

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "c_call":
            if argument is not os.urandom:
                return
        elif event != "call" or code_at(frame) is not seed:
            return
        elif variables_at(frame).get("a") is not None:
            return
        frame = outside(frame, PYTHONS)
        if package_at(frame) not in (HERE, "numpy"):
            found.append(qualified_name_at(frame))

    return note
