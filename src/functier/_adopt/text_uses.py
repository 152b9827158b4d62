"""Uses of a text: if people alone read what adopted code makes, as its code object tells.

NOTE [handed straight to people]
    Each instruction has its place in the source, and the next one whose place has that of another
    in it takes what that one makes. A text is shown if this leads, by texts, lists and tuples that
    have it in them, to a call that shows it, maybe in a caller. Callees are looked up in the frame
    without running code. What cannot be followed is not shown.
"""

import dis
import logging
import sys
import warnings
from bisect import bisect_right
from functools import lru_cache
from inspect import getattr_static
from types import CodeType, FrameType, MethodType, WrapperDescriptorType
from typing import Any

from .. import numpy as fnp
from .._core.adopted import GLOBALS
from .._core.frames import is_of_library, is_own
from .call_sites import METHODS, SILENT, UNCONDITIONAL

MISSING: Any = object()
NAMES = "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "fatal"
LOGGERS = logging, logging.Logger, logging.LoggerAdapter
SHOWING = [warnings.warn, *[vars(x)[name] for x in LOGGERS for name in NAMES if name in vars(x)]]
"""Functions that show what they are given, beside `print` and exceptions."""

OF_TEXTS = "join format format_map ljust rjust center strip lower upper replace".split()
MAKERS = [str, repr, ascii, format, list, tuple, *[vars(str)[name] for name in OF_TEXTS]]
MAKERS += [fnp.array2string, fnp.array_repr, fnp.array_str]
HOLDING = "FORMAT_", "CONVERT_", "BUILD_", "LIST_", "CALL_INTRINSIC_1"
"""Callables, and names of instructions, that make texts or what holds them."""

ENDS = "RETURN_VALUE", "YIELD_VALUE"
MOVES = {*UNCONDITIONAL, "SWAP", "KW_NAMES", "END_FOR", "RERAISE"}
CALLED_BACK = "FOR_ITER", "LOAD_FAST", "LOAD_DEREF"
CONSTANTS = "MAKE_FUNCTION", "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"


class Code:
    """The instructions of a code object, and the first and the last place of each."""

    def __init__(self, code: CodeType):
        uses = list(dis.get_instructions(code))
        kept = [k for k, use in enumerate(uses) if use.opname not in (*SILENT, "PUSH_NULL")]
        self.uses, self.consts = [uses[k] for k in kept], code.co_consts
        self.starts = [uses[k - (uses[k - 1].opname == "PRECALL")].offset for k in kept]
        at: Any = [use.positions for use in self.uses]
        self.places: Any = [None if None in p else ((p[0], p[2]), (p[1], p[3])) for p in at]

    def has(self, outer: int, inner: int) -> bool:
        """Tell if the place of an instruction has that of another in it."""
        a, b = self.places[outer], self.places[inner]
        return a is not None and b is not None and a[0] <= b[0] and a[1] >= b[1]

    def first(self, k: int) -> int | None:
        """Return the instruction that leaves the first operand of one, such as a callee."""
        inside = [
            i for i in range(k)
            if self.has(k, i) and (self.uses[i].opname in CONSTANTS or not self.has(i, k))
        ]  # fmt: skip
        found = max([i for i in inside if self.has(i, inside[0])], default=None)
        if found is None or self.uses[k].opname == "BINARY_OP":
            return found  # which may begin with a bracket
        return found if self.places[found][0] == self.places[k][0] else None

    def value(self, frame: FrameType, k: int | None) -> Any:
        """Return the value that an instruction leaves, any text for a text, or MISSING."""
        if k is None:
            return MISSING
        use, name = self.uses[k], self.uses[k].opname
        if name in CONSTANTS:
            return self.uses[k - 1].argval if name == "MAKE_FUNCTION" else AssertionError
        if name in METHODS or name == "LOAD_SUPER_ATTR":
            owner = self.value(frame, k - 1)
            owner = BaseException if isinstance(owner, BaseException) else owner
            return getattr_static(owner, use.argval, MISSING)
        if name.startswith("LOAD_"):
            found = frame.f_globals if "GLOBAL" in name else frame.f_locals
            known = found.get(use.argval, frame.f_builtins.get(use.argval, MISSING))
            return use.argval if name == "LOAD_CONST" else known
        first = MISSING if name.startswith(HOLDING) else self.value(frame, self.first(k))
        if first is super:
            return frame.f_locals.get(frame.f_code.co_varnames[0], MISSING)
        if name == "BINARY_OP":
            added = use.argrepr[0] == "+" and type(self.value(frame, k - 1)) is str
            text = added or (type(first) in (str, bytes) and use.argrepr[0] in "+%")
        else:
            text = name.startswith(HOLDING) or any([first is maker for maker in MAKERS])
        return "" if text else MISSING

    def taker(self, k: int) -> int | None:
        """Return the instruction that takes what one makes."""
        for i in range(k + 1, len(self.uses)):
            moves = self.uses[i].opname in MOVES or self.uses[i - 1].opname == "SWAP"
            last = i == k + 1 and self.uses[i].opname in (*ENDS, "CALL")  # it takes the last value
            if not moves and (last or self.has(i, k)):
                return i
        return None

    def shows(self, frame: FrameType, k: int) -> bool:
        """Tell if a call shows what it is given: see `SHOWING`."""
        callee, use, last = self.value(frame, self.first(k)), self.uses[k], self.uses[k - 1]
        callee = callee.__func__ if type(callee) is MethodType else callee
        callee = callee.__objclass__ if type(callee) is WrapperDescriptorType else callee
        if isinstance(callee, type):
            return issubclass(callee, BaseException)
        named = use.opname == "CALL_KW" or last.opname == "KW_NAMES"
        names = self.consts[last.arg or 0] if named else ()
        if use.opname == "CALL_FUNCTION_EX" and use.arg:
            built = last.opname.startswith("BUILD_")  # as ``sep=", "`` is, and ``**words`` is not
            names = tuple([u.argval for u in self.uses[:k]]) if built else ("file", "")
        if callee is print and "file" in names:
            file = self.value(frame, k - 2) if names[-1:] == ("file",) else MISSING
            return any([file is shown for shown in (None, sys.stdout, sys.stderr)])
        return callee is print or any([callee is shown for shown in SHOWING])


@lru_cache
def _code_of(code: CodeType) -> Code:
    return Code(code)


def place_of(frame: FrameType) -> tuple[Code, int]:
    """Return the code of a frame, and the instruction that it is at."""
    code = _code_of(frame.f_code)
    return code, bisect_right(code.starts, frame.f_lasti) - 1


def asking(frame: FrameType | None) -> FrameType | None:
    """Return the frame of adopted code that asks for a text, maybe by libraries, or None."""
    back = False  # a twin has called what adopted code has given it, as the key of `sorted`
    while frame is not None and id(frame.f_globals) not in GLOBALS:
        if is_own(frame) and not back:
            code, k = place_of(frame)
            at = code.first(k) if code.uses[k].opname.startswith("CALL") else k
            back = at is None or code.uses[at].opname.startswith(CALLED_BACK)
            back = back or code.value(frame, at) is list
        frame = frame.f_back if back or (is_of_library(frame) and not is_own(frame)) else None
    return frame


def is_shown(frame: FrameType | None) -> bool | None:
    """Tell if people alone read the text that a frame of adopted code is making.

    None where code that is not adopted gets it.
    """
    made = None
    while frame is not None:
        code, start = place_of(frame)
        k: int | None = start
        while k is not None and code.uses[k].opname not in ENDS:
            if code.uses[k].opname.startswith("CALL") and code.shows(frame, k):
                return True
            callee = code.value(frame, code.first(k)) if k == start and made else MISSING
            returned = made is not None and getattr(callee, "__code__", callee) is made
            k = code.taker(k) if returned or code.value(frame, k) is not MISSING else None
        if k is None:
            return False
        made, frame = frame.f_code, asking(frame.f_back)
    return None
