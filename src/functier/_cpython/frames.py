"""Frames and tracebacks: who calls, at which place of its code, and with which variables.

Where the interpreter shows no frames, `current_frame` gives None, and nothing is found in that.
"""

import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from opcode import opmap, opname
from operator import attrgetter
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    TracebackType,
)
from typing import Any

from . import facts
from .code import code_of, file_and_line, name_line

Frame = FrameType
Place = tuple[CodeType, int]
"""A code object, and the number of one of its instructions."""

NOWHERE: Place = compile("", "<an unknown place>", "exec"), 0

OWN = __name__.partition(".")[0]
STANDARD = os.path.dirname(os.__file__) + os.sep


def _no_frame(depth: int = 0) -> None:
    """Return None, as `current_frame` does in an interpreter that shows no frames."""


current_frame: Any = sys._getframe if facts.callers.holds else _no_frame
"""``current_frame(n)`` is the frame of the n-th caller of the code that asks, or None."""


def _reader(*names: str, otherwise: Any) -> Callable[[Any], Any]:
    """Return a function that reads attributes of a frame, in C; `otherwise` stands for no frame."""
    return attrgetter(*names) if facts.callers.holds else lambda frame: otherwise


place_at = _reader("f_code", "f_lasti", otherwise=NOWHERE)
code_at = _reader("f_code", otherwise=NOWHERE[0])
file_at = _reader("f_code.co_filename", otherwise=NOWHERE[0].co_filename)
caller_of = _reader("f_back", otherwise=None)
globals_at = _reader("f_globals", otherwise={})
line_at = _reader("f_lineno", otherwise=0)


def variables_at(frame: Frame) -> Mapping[str, Any]:
    """Return the values of the variables of a frame by their names, as far as they can be seen."""
    return frame.f_locals if facts.variables.holds else {}


def namespaces_at(frame: Frame) -> tuple[Mapping[str, Any], ...]:
    """Return where code looks names up: its variables, the globals and the builtins."""
    return variables_at(frame), frame.f_globals, frame.f_builtins


def module_at(frame: Frame) -> str:
    """Return the name of the module whose code a frame runs, or ""."""
    return frame.f_globals.get("__name__", "")


def package_at(frame: Frame) -> str:
    """Return the first part of the name of a frame's module."""
    return module_at(frame).partition(".")[0]


def function_at(frame: Frame) -> str:
    """Return the name of the function that a frame runs."""
    return frame.f_code.co_name


def qualified_name_at(frame: Frame) -> str:
    return frame.f_code.co_qualname


def has_variable(frame: Frame, name: str) -> bool:
    """Return whether the function that a frame runs has a variable with this name."""
    return name in frame.f_code.co_varnames


def instruction_at(frame: Frame | None) -> str:
    """Return the name of the instruction that a frame is at, or "" where it cannot be seen."""
    if frame is None or not facts.instructions.holds:
        return ""
    return opname[frame.f_code.co_code[frame.f_lasti]]


BINARY = opmap["BINARY_OP"]
NUMBERS = {
    sign: {code[2 * code[::2].index(BINARY) + 1] for code in (own, assigned)}
    for sign in ("%", "**")  # the operators' numbers have no public table
    for own, assigned in [[compile(f"x {s} y", "", "exec").co_code for s in (sign, sign + "=")]]
}
"""The numbers of an operator and of its assignment, by their sign."""


def computes(frame: Frame | None, sign: str) -> bool:
    """Return whether a frame is at an operator such as ``%`` or ``%=``, if that can be seen."""
    if frame is None or not facts.instructions.holds:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == BINARY and code[at + 1] in NUMBERS[sign]


# ---- the stack ----


def outward(frame: Frame | None) -> Iterator[Frame]:
    """Yield a frame, that of its caller, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def outside(frame: Frame | None, packages: Collection[str]) -> Frame | None:
    """Return the innermost frame from `frame` on that runs code of none of some packages."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in packages:
            break
        frame = frame.f_back
    return frame


def runs(frame: Frame, function: Any) -> bool:
    """Tell if a frame is one of a function of Python; by its name, where code cannot be seen."""
    if facts.names.holds:
        return code_of(function) is frame.f_code
    return getattr(function, "__name__", "") == frame.f_code.co_name


def is_inside(function: Any, frame: Frame | None) -> bool:
    """Return whether a frame is one of a function of Python, or is called by it."""
    facts.callers.need()
    return any(runs(one, function) for one in outward(frame))


def running(code: CodeType, frame: Frame | None) -> Frame | None:
    """Return the innermost frame from `frame` on that runs `code`, or None."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def calls_of(code: CodeType, frame: Frame | None) -> Iterator[Frame]:
    """Yield the frames from `frame` on that run `code`, innermost first."""
    return (found for found in outward(frame) if found.f_code is code)


def asking_frames() -> tuple[Frame | None, list[Frame]]:
    """Return the user's frame, and those of other libraries that it called, outermost first."""
    frame: Frame | None = current_frame(1)
    while frame is not None and is_own(frame):
        frame = frame.f_back
    inside: list[Frame] = []
    while frame is not None and not is_own(frame) and is_of_library(frame):
        inside.insert(0, frame)
        frame = frame.f_back
    return None if frame is None or is_own(frame) else frame, inside


def asking_line() -> str:
    """Return the file and line of the user's code that is running, ``file.py:12``."""
    frame, inside = asking_frames()
    frame = inside[0] if frame is None and inside else frame
    return "an unknown line" if frame is None else name_line(file_at(frame), line_at(frame))


def line_behind(place: Place, around: Iterable[Place]) -> str:
    """Return the user's line that a place of code stands for, or that has called it.

    Where functier's own code is at the place, the line is that of the caller as long as it runs,
    and else the first line of a user among the places `around`.
    """
    frame = running(place[0], current_frame(1)) if is_own_file(place[0].co_filename) else None
    frame = outside(frame, (OWN,))
    if frame is not None:
        return name_line(file_at(frame), line_at(frame))
    for code, instruction in (place, *around):
        if not is_own_file(code.co_filename):
            return name_line(*file_and_line((code, instruction)))
    return "a line of functier"


def is_own_file(file: str) -> bool:
    """Return whether a file has functier's code, or is the name of code that functier writes."""
    return file.startswith(FILES)


def is_called_by_user() -> bool:
    """Return whether NumPy's function that runs was called by a user's code, and not by a rule."""
    frame: Frame | None = current_frame(1)
    while frame is not None and is_own(frame):
        if function_at(frame).strip("_") == "array_function":
            return frame.f_back is not None and not is_own(frame.f_back)
        frame = frame.f_back
    return False


def method_at(frame: Frame) -> tuple[Any, Any]:
    """Return the class that ``super()`` means in a frame, and the first argument of its method."""
    facts.variables.need()
    return frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]]


def frames_of_threads() -> list[Frame]:
    """Return the innermost frame of each thread, where these can be seen."""
    return [*sys._current_frames().values()] if facts.threads.holds else []


# ---- generators ----


def generator_of(frame: Frame | None) -> tuple[int, int] | None:
    """Return the id of the generator whose body has a ``with`` block, and that of its thread.

    A generator that `contextlib` runs is a context manager itself; the frame of its user counts.
    """
    facts.callers.need()
    facts.generators.need()
    while frame is not None:
        runner = frame.f_back
        if module_at(frame) != "contextlib":
            if not frame.f_code.co_flags & facts.GENERATORS:
                return None
            if runner is None or module_at(runner) != "contextlib":
                return id(frame), threading.get_ident()
        frame = runner
    return None


def steps_to(generator: tuple[int, int], frame: Frame | None) -> int:
    """Return how many frames out the generator runs; -1 where it is suspended."""
    wanted, thread = generator
    if thread != threading.get_ident():
        return sys.maxsize
    steps = 0
    while frame is not None:
        if id(frame) == wanted:
            return steps
        frame = frame.f_back
        steps += 1
    return -1


# ---- whose code a frame runs ----


def is_own(frame: Frame) -> bool:
    return package_at(frame) == OWN


def is_of_library(frame: Frame) -> bool:
    return _is_of_library(file_at(frame))


def _is_of_library(path: str) -> bool:
    return _is_installed(path) or path.startswith((STANDARD, "<frozen", "<__array_function__"))


USERS: set[str] = set()
"""The files that `is_users` has found to be users': a look at a set is quicker than a call."""


@functools.lru_cache(4096)
def is_users(path: str) -> bool:
    """Return whether a file has code that is neither functier's nor a library's."""
    known = path == NOWHERE[0].co_filename or is_own_file(path) or _is_of_library(path)
    if not known:
        USERS.add(path)
    return not known


def is_foreign(frame: Frame) -> bool:
    """Return whether a frame runs the code of a library other than NumPy and Python's own."""
    return package_at(frame) != "numpy" and _is_installed(file_at(frame))


def _is_installed(path: str) -> bool:
    return f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path


# ---- what a frame has ----


CO_OPTIMIZED = 1


def may_have(frame: Frame | None, wanted: set[int]) -> bool:
    """Tell if a frame, or one further out, has one of the objects with these ids in a variable.

    Where variables cannot be seen, it may.
    """
    if not facts.variables.holds:
        return True
    while frame is not None:
        names = frame.f_locals
        found = id(frame.f_globals) in wanted or any(id(x) in wanted for x in names.values())
        if frame.f_code.co_flags & CO_OPTIMIZED and type(names) is dict:
            names.clear()  # a copy, which would keep the values alive
        if found:
            return True
        frame = frame.f_back
    return False


def way_to(frame: Frame, value: Any) -> str:
    """Return the expression from a frame to an object that it has, as text."""
    for name, own in variables_at(frame).items():
        if own is value:
            return f".f_locals[{name!r}]"
    return ".f_back" if frame.f_back is value else ".f_locals"


SUSPENDED = "gi_frame", "cr_frame", "ag_frame"
"""The attributes of what is suspended that have its frame."""


def way_into(x: Any, value: Any) -> str:
    """Return the expression from what has a frame to an object that the frame has, or ""."""
    if isinstance(x, Frame):
        return way_to(x, value)
    for name in SUSPENDED if facts.suspended.holds else ():
        if hasattr(type(x), name) and getattr(x, name) is not None:
            return f".{name}{way_to(getattr(x, name), value)}"
    return ""


# ---- all code that runs ----

CODES: dict[type, str] = {
    GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code",
}  # fmt: skip
"""The attributes of what is suspended that have its code."""


def running_code(witnesses: Iterable[Any] = ()) -> set[int] | None:
    """Return the numbers of the code objects that frames and suspended generators run.

    None stands for any code, where this cannot be seen, as where `gc.freeze` has hidden one of the
    witnesses and so what was made after it.
    """
    if not (facts.threads.holds and facts.objects.holds and facts.suspended.holds):
        return None
    found = {id(at.f_code) for frame in frames_of_threads() for at in outward(frame)}
    objects = gc.get_objects()
    hidden = {id(x) for x in witnesses}
    hidden.difference_update(map(id, objects))
    if hidden:
        return None
    for x in objects:
        name = CODES.get(type(x))
        if name is not None:
            found.add(id(getattr(x, name)))
    return found


# ---- tracebacks ----

RAISE = opmap["RAISE_VARARGS"]
FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep, "<functier "
"""The beginnings of the names of files whose frames are functier's."""


def frames_of(error: BaseException) -> list[Frame]:
    """Return the frames that an error has passed, innermost last."""
    return [x.tb_frame for x in _entries(error.__traceback__)]


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def hide_frames(error: BaseException) -> None:
    """Take functier's frames out of the tracebacks of an error, its causes and its parts."""
    if not facts.tracebacks.holds:
        return
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        trace = one.__traceback__
        if trace is not None:
            one.__traceback__ = _without_own(trace)
        parts: Iterable = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [x for x in (one.__cause__, one.__context__, *parts) if x is not None]


def _without_own(trace: TracebackType) -> TracebackType | None:
    """Return the entries of a traceback that are not functier's, as a new list where some are."""
    entries = _entries(trace)
    kept = [x for x in entries if not is_own_file(file_at(x.tb_frame))]
    if len(kept) == len(entries):
        return trace
    found: TracebackType | None = None
    for x in reversed(kept):
        found = TracebackType(found, x.tb_frame, x.tb_lasti, x.tb_lineno)
    return found


def is_raised_here(error: Exception) -> bool:
    """Return whether a ``raise`` of functier's raised the error, whose words say what is wrong."""
    if error.__traceback__ is None or not facts.instructions.holds:
        return False
    last = _entries(error.__traceback__)[-1]
    code = last.tb_frame.f_code
    return is_own_file(code.co_filename) and code.co_code[last.tb_lasti] == RAISE
