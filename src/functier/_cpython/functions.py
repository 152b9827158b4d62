"""Functions of Python: their code and what they close over, copies, other code for a while, calls.

NOTE [in place]
    A function of the user's may be called by anybody, as by NumPy or `sorted`. So its code is
    replaced where it stands, and put back at the end of the trace. Traces of several threads share
    one replacement, which asks whose thread it runs in.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from threading import get_ident
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from . import facts
from .code import WAITING, loads_in, made_code

code_now: Callable[[Any], CodeType] = attrgetter("__code__")
"""The code of a function, which may wait for its first call."""


def read_code(func: Any) -> CodeType:
    """Return the code of a function, which is made where it has waited for a first call."""
    code = func.__code__
    return code if id(code) not in WAITING else made_code(code)


EMPTY = object()
"""Nothing, where there may be any object."""

TELLING = "__code__", "__defaults__", "__kwdefaults__", "__closure__"
"""The attributes of a function that say what its calls do."""

HAS_CODE = "{}.__code__ is {}"
"""The source that asks if a function has this code."""


def give_code(func: FunctionType, code: CodeType) -> None:
    """Replace the code of a function: whoever calls it runs the other."""
    facts.replacement.need()
    func.__code__ = code


def variables_of(func: FunctionType) -> set[str]:
    """Return the names of the variables of a function, the parameters included."""
    code = read_code(func)
    return {*code.co_varnames, *code.co_cellvars}


def cells_of(func: Any) -> dict[str, CellType]:
    """Return the cells of the variables that a function closes over; a function in C has none."""
    cells = getattr(func, "__closure__", None)
    if not cells:
        return {}
    facts.names.need()
    return dict(zip(func.__code__.co_freevars, cells))


def contents(cell: CellType) -> Any:
    """Return what a variable of a closure has; `EMPTY` before its first value."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def defaults_of(func: FunctionType) -> tuple:
    """Return the defaults of the parameters of a function."""
    given = func.__kwdefaults__ or {}
    return (*(func.__defaults__ or ()), *given.values())


def copy_of_function(
    func: Any, names: dict, cells: tuple | None, code: CodeType | None = None
) -> Any:
    """Return a function like another one, with other globals and cells, and maybe other code."""
    made = function_of(
        code or read_code(func), names, func.__qualname__, func.__defaults__, func.__kwdefaults__,
        cells,
    )  # fmt: skip
    made.__name__, made.__doc__ = func.__name__, func.__doc__
    return made


def function_of(
    code: CodeType, names: dict, title: str, defaults: Any, named: Any, cells: tuple | None
) -> Any:
    """Return a function of its parts; `title` is its qualified name, `named` has more defaults."""
    made = FunctionType(code, names, None, defaults, cells)
    made.__kwdefaults__, made.__qualname__ = named, title
    return made


# ---- copies whose names mean twins ----

TwinOf = Callable[[Any, str], Any]
GLOBALS: dict[tuple[int, TwinOf], dict[str, Any]] = {}
"""The globals of copies, by the number of the module's own and by what gives the twins."""
COPIES: dict[tuple[int, TwinOf], FunctionType] = {}
"""Copies of functions, by the number of the original and the same."""


BETWEEN: set[int] = set()
"""The numbers of code that calls methods of tensors for other code."""
OWN_CODE: dict[int, CodeType] = {}
"""The code of copies of the functions of libraries, and what is inside it, by its number."""


def note_own(code: CodeType) -> None:
    """Note that code is that of a library, which runs on tensors."""
    OWN_CODE.update({id(inner): inner for inner in loads_in(code)})


def copy_function(func: FunctionType, twin_of: TwinOf) -> FunctionType:
    """Return a function with the code of `func`, whose globals are twins."""
    made = COPIES.get((id(func), twin_of))
    if made is None:
        code, names = read_code(func), copy_globals(func.__globals__, twin_of)
        for name in {n for x in loads_in(code) for n in x.co_names} & func.__globals__.keys():
            names.setdefault(name, func.__globals__[name])  # what an adoption has added since
        made = COPIES[id(func), twin_of] = copy_of_function(func, names, func.__closure__, code)
        note_own(code)
    return made


def copy_globals(names: dict[str, Any], twin_of: TwinOf) -> dict[str, Any]:
    """Return the globals of a module, with twins of what has one."""
    made = GLOBALS.get((id(names), twin_of))
    if made is None:
        made = GLOBALS[id(names), twin_of] = dict(names)
        for name, value in names.items():
            if name[:2] != "__" and (isinstance(value, ModuleType) or callable(value)):
                made[name] = twin_of(value, name)
    return made


LIVE: dict[int, Any] = {}
"""The listeners to such code, by thread."""

SWAPPED: dict[int, list] = {}
"""The functions with other code: each with its own, how many traces need that, and the other."""

SEEN: WeakValueDictionary[int, CodeType] = WeakValueDictionary()
"""The codes that stand for others, by their numbers."""

SOURCES: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()
"""The code that stands for another one while a trace lasts, and that other one."""

LOCK = threading.RLock()


def _in_child() -> None:
    """Put the code back that traces of other threads have replaced: these do not go on here."""
    LOCK.release()
    if get_ident() not in LIVE:
        for func, code, *_ in SWAPPED.values():
            func.__code__ = code
        SWAPPED.clear()


if hasattr(os, "register_at_fork"):  # else a process that is forked while it is held would wait
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_in_child)


def note_pairs(made: CodeType, before: CodeType) -> list[tuple[CodeType, CodeType]]:
    """Note that code stands for another one, as does each that is inside it; return the pairs."""
    found = [(made, before)]
    for new, old in found:  # which grows
        SEEN[id(new)] = new
        pairs = zip(new.co_consts, old.co_consts)
        found += [(x, y) for x, y in pairs if isinstance(x, CodeType)]
    return found


def tells(code: CodeType) -> bool:
    """Return whether code tells what it reads."""
    return SEEN.get(id(code)) is code


def original(func: FunctionType) -> CodeType:
    """Return the code that a function has outside of traces."""
    row = SWAPPED.get(id(func))
    return row[1] if row is not None and func.__code__ is row[3] else read_code(func)


def globals_of_teller() -> dict[str, Any]:
    """Return the globals of the code that tells something now."""
    frame: Any = sys._getframe(1)
    while not tells(frame.f_code):
        frame = frame.f_back
    return frame.f_globals


def is_told(frame: Any) -> bool:
    """Return whether a frame runs code that tells what it reads."""
    return tells(frame.f_code)


def is_in_import(frame: Any) -> bool:
    """Return whether a frame is part of an import."""
    while frame is not None and not tells(frame.f_code):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class Swaps:
    """The functions whose code a trace has replaced, until `restore`.

    Parameters
    ----------
    make : function
        Returns other code for that of a function and its file, or None.
    """

    def __init__(self, make: Callable[[CodeType, str], CodeType | None]) -> None:
        self.make = make
        self.functions: dict[int, FunctionType] = {}

    def prepare(self, func: FunctionType) -> None:
        """Let a function tell what it reads, if that can be done."""
        if id(func) in self.functions or not facts.replacement.holds:
            return
        with LOCK:
            row = SWAPPED.get(id(func))
            if row is None:
                code = read_code(func)
                if tells(code):
                    return  # such code has made it
                made = self.make(code, code.co_filename)
                if made is None:
                    return
                SWAPPED[id(func)] = row = [func, code, 0, made]
                func.__code__ = made
            row[2] += 1
            self.functions[id(func)] = func

    def restore(self) -> None:
        with LOCK:
            for func in self.functions.values():
                row = SWAPPED[id(func)]
                row[2] -= 1
                if not row[2]:
                    if func.__code__ is row[3]:  # else the user has given it another one
                        func.__code__ = row[1]
                    del SWAPPED[id(func)]
            self.functions.clear()


hook: Callable[[], Any] = sys.getprofile
"""Return the function that hears of calls in this thread, or None."""

set_hook: Callable[[Any], None] = sys.setprofile
"""Let another function hear of calls in this thread, or none."""


@contextmanager
def unheard() -> Iterator[None]:
    """Have no function in Python hear of the calls in a block, which are none of the user's."""
    watch = hook()
    if watch is None or hasattr(watch, "disable"):  # a profiler in C goes on
        yield
        return
    set_hook(None)
    try:
        yield
    finally:
        set_hook(watch)


class Hearing:
    """A block in which Python tells `note` of each call; a profiler of the user hears it, too.

    One in C hears of none, and goes on after the block.
    """

    def __init__(self, note: Callable) -> None:
        self.note = note

    def __enter__(self) -> Callable:
        facts.profile.need()
        before: Any = hook()
        own, self.before = self.note, before
        if hasattr(before, "disable"):
            before.disable()
        elif before is not None:

            def note(frame: Any, event: str, argument: Any) -> None:
                own(frame, event, argument)
                before(frame, event, argument)

            self.note = note
        set_hook(self.note)
        return self.note

    def __exit__(self, *exception: Any) -> None:
        on = not hasattr(self.before, "disable")
        set_hook(self.before if on else None)
        if not on:
            self.before.enable()


def hook_of_calls(seen: dict[int, Any], enter: Callable) -> Callable:
    """Return a hook that calls ``enter(code, names, frame)`` where code begins with new globals.

    `seen` has the globals of code that needs no such call, by its number.
    """

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code, names = frame.f_code, frame.f_globals
            if seen.get(id(code)) is not names:
                enter(code, names, frame)

    return note
