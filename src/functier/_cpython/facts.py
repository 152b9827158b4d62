"""The table of facts: what functier takes from CPython, since when, and what happens without.

A fact is checked once, when somebody asks first whether it holds. Where it does not, the functions
of this room answer that they cannot see; their callers refuse, or go the plain way. So a result is
right in each interpreter, or there is none.
"""

import dis
import gc
import sys
from collections.abc import Callable
from functools import cached_property
from opcode import opname, stack_effect
from types import CodeType, GetSetDescriptorType, MemberDescriptorType, TracebackType
from typing import Any

GENERATORS = 0x220
"""The flags CO_GENERATOR and CO_ASYNC_GENERATOR of code objects."""


class Fact:
    """A property of an interpreter that Python does not promise.

    Attributes
    ----------
    since : str
        The first version of CPython that does.
    says : str
        What it does.
    without : str
        What happens where it does not.
    check : function
        Tells if this interpreter does.
    """

    def __init__(self, check: Callable[[], Any], since: str, says: str, without: str):
        self.check, self.since, self.says, self.without = check, since, says, without

    @cached_property
    def holds(self) -> bool:
        """True where this interpreter does what the fact says."""
        try:
            return bool(self.check())
        except Exception:  # of any kind: the interpreter has no such thing
            return False

    def need(self) -> None:
        """Raise where the fact does not hold: for what has no plain way."""
        if not self.holds:
            raise NotImplementedError(f"this needs an interpreter in which {self.says}")


class _Held:
    """An object to look for."""


class _Slotted:
    """An object with a slot."""

    __slots__ = ("value",)


FACTS: dict[str, Fact] = {}
"""The facts by their names, which are those of their checks."""


def fact(since: str, says: str, without: str) -> Callable[[Callable[[], Any]], Fact]:
    """Declare a fact, by a function that checks it."""

    def declare(check: Callable[[], Any]) -> Fact:
        FACTS[check.__name__] = found = Fact(check, since, says, without)
        return found

    return declare


def need(*wanted: Fact) -> None:
    """Raise where one of some facts does not hold."""
    for one in wanted:
        one.need()


# ---- frames ----


@fact(
    "2.1",
    says="sys._getframe(n) is the frame of the n-th caller, and leads to its code and its globals",
    without="messages name no line; levels in `with` blocks, len() of tensors and adopt "
    "are refused",
)
def callers() -> bool:
    frame: Any = sys._getframe(0)
    names = frame.f_globals is globals(), frame.f_code.co_name == "callers"
    return frame.f_back is sys._getframe(1) and all(names)


@fact(
    "2.2",
    says="f_locals of a frame has the values of its variables",
    without="messages name no variable; writes to an array that a function may hold are refused",
)
def variables() -> bool:
    value = object()
    return sys._getframe(0).f_locals.get("value") is value


@fact(
    "3.11",
    says="co_positions of a code object has the place in the source of each instruction, and "
    "f_lasti of a frame is twice the number of the one that runs",
    without="messages have the general remedy",
)
def positions() -> bool:
    frame = sys._getframe(0)
    return [*frame.f_code.co_positions()][frame.f_lasti // 2][0] == frame.f_lineno


@fact(
    "3.10",
    says="co_lines of a code object has the line of each instruction",
    without="a message names the first line of a function",
)
def lines() -> bool:
    code = sys._getframe(0).f_code
    return code.co_firstlineno < max(line for _, _, line in code.co_lines() if line)


@fact(
    "3.6",
    says="co_code of a frame's code has the name of the instruction that runs at f_lasti",
    without="a name that is not there is an AttributeError without the name to write instead, "
    'and "%f" % x of adopted code is refused',
)
def instructions() -> bool:
    frame = sys._getframe(0)
    return opname[frame.f_code.co_code[frame.f_lasti]] == "LOAD_ATTR"


@fact(
    "3.3",
    says="gi_frame, cr_frame and ag_frame of what is suspended are its frame",
    without="a report of leaks names the generator alone",
)
def suspended() -> bool:
    value = object()
    generator: Any = (value for _ in "ab")
    return next(generator) is value and generator.gi_frame.f_back is None


@fact(
    "2.5",
    says="sys._current_frames() has the frames of all threads",
    without="a report of leaks names no variable of a function that runs",
)
def threads() -> bool:
    return sys._getframe(0) in sys._current_frames().values()


@fact(
    "3.7",
    says="a traceback is made of a frame, an instruction and a line",
    without="tracebacks show functier's own frames",
)
def tracebacks() -> bool:
    frame = sys._getframe(0)
    return TracebackType(None, frame, frame.f_lasti, 7).tb_lineno == 7


# ---- code objects ----


@fact(
    "2.6",
    says="__code__ of a function has the names of its parameters, and of the globals, attributes "
    "and functions that it mentions",
    without="separate draws are refused, and no module is adopted",
)
def names() -> bool:
    code = (lambda a, b=1: [len(a.b), lambda: b]).__code__
    inner = [x for x in code.co_consts if isinstance(x, CodeType)]
    named = {"len", "b"} <= {*code.co_names} and code.co_varnames[: code.co_argcount] == ("a", "b")
    return named and len(inner) == 1 and inner[0].co_freevars == ("b",)


@fact(
    "3.6",
    says="co_flags of a code object says whether it belongs to a generator",
    without="levels in `with` blocks are refused",
)
def generators() -> bool:
    def generator() -> Any:
        yield

    return bool(generator.__code__.co_flags & GENERATORS) > bool(
        callers.check.__code__.co_flags & GENERATORS  # type: ignore[attr-defined]
    )


@fact(
    "3.11",
    says="instructions, handlers and lines of a code object are bytes of the forms of 3.11 to 3.14",
    without="compile runs a function itself, in each call, and no module is adopted",
)
def bytecode() -> bool:
    if not (3, 11) <= sys.version_info < (3, 15) or sys.implementation.name != "cpython":
        return False
    code = (lambda x: [x for x in x]).__code__
    return len(code.co_code) == 2 * len([*code.co_positions()]) and bool(code.co_linetable)


@fact(
    "3.11",
    says="dis shows which globals code looks up, and puts NULL beside those that it calls",
    without="no module is adopted, and a program depends on all names that its function mentions",
)
def lookups() -> bool:
    found = [i for i in dis.get_instructions(lambda: repr(len)) if i.opname == "LOAD_GLOBAL"]
    effects = [stack_effect(i.opcode, i.arg) for i in found]
    return ([i.argval for i in found], effects) == (["repr", "len"], [2, 1])


@fact(
    "2.6",
    says="a function runs the code that its __code__ is set to, whoever calls it",
    without="compile runs a function itself, in each call, and no module is adopted",
)
def replacement() -> bool:
    def f(x: int) -> int:
        return x

    held = f
    f.__code__ = (lambda x: x + 1).__code__
    return [held(1), *map(f, [2])] == [2, 3]


# ---- objects in C ----


@fact(
    "2.2",
    says="slots, and the dictionary of an object, have descriptors in C, and the flags of a class "
    "say whether it can change",
    without="compile refuses functions",
)
def descriptors() -> bool:
    found = [vars(cls)[name] for cls, name in ((_Slotted, "value"), (_Held, "__dict__"))]
    kinds = list(map(type, found)) == [MemberDescriptorType, GetSetDescriptorType]
    return kinds and [cls.__flags__ >> 9 & 1 for cls in (_Held, int)] == [1, 0]


@fact(
    "3.0",
    says="id(x) is the address of an object, whose header has 8 bytes for each number",
    without="there is no machine code",
)
def addresses() -> bool:
    if sys.implementation.name != "cpython" or "free-threading" in sys.version:
        return False
    return (object.__basicsize__, sys.maxsize, sys.byteorder) == (16, 2**63 - 1, "little")


# ---- the collector, and counts of references ----


@fact(
    "2.2",
    says="gc.get_referrers finds the instances of a class, and the containers of an object",
    without="a tensor is not written to, and no leak is found",
)
def referrers() -> bool:
    held = _Held()
    box = [held]
    return held in gc.get_referrers(_Held) and any(x is box for x in gc.get_referrers(held))


@fact(
    "2.3",
    says="gc.get_referents finds what an object refers to",
    without="no class of a level is used again; separate draws, compile and adopt are refused",
)
def referents() -> bool:
    held = _Held()
    return held in gc.get_referents([held]) and dict in map(type, gc.get_referents(_Held))


@fact(
    "3.1",
    says="gc.get_objects returns all containers, and gc.is_tracked says which they are",
    without="no module is adopted",
)
def objects() -> bool:
    held = [_Held()]
    return gc.is_tracked(held) and any(x is held for x in gc.get_objects())


@fact(
    "2.0",
    says="sys.getrefcount counts the references to an object, at once",
    without="no class of a level is used again",
)
def counts() -> bool:
    if sys.implementation.name != "cpython" or "free-threading" in sys.version:
        return False
    held = _Held()
    before = sys.getrefcount(held)
    box = [held]
    after = sys.getrefcount(held)
    box.clear()
    return [after, sys.getrefcount(held)] == [before + 1, before]


# ---- profiling ----


@fact(
    "2.0",
    says="the function that sys.setprofile sets is called for each call, also of C functions",
    without="separate draws, trace and compile are refused",
)
def profile() -> bool:
    heard, before = [], sys.getprofile()
    if before is not None:  # of a user, who would hear it
        return True
    sys.setprofile(lambda frame, event, argument: heard.append((event, argument)))
    try:
        len(heard)
    finally:
        sys.setprofile(None)
    return ("c_call", len) in heard
