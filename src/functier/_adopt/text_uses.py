"""Uses of a text: who takes the result of a call ``str(x)`` in the code that calls it.

Only straight code is followed, and only facts of `dis` are used. Where it is not clear who takes a
text, nobody does.
"""

import builtins
import dis
import logging
import sys
import warnings
from bisect import bisect_right
from dis import Instruction, stack_effect
from types import CodeType, FrameType, ModuleType
from typing import Any

from .._core.adopted import GLOBALS
from .call_sites import METHODS, SILENT, CodeTable, _effect_of_call

QUIET = SILENT | {"KW_NAMES", "COPY_FREE_VARS"}
ADDITIONS, REMAINDERS = {"+", "+="}, {"%", "%="}
FORMATS = {"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BUILD_STRING"}
CONTAINERS = {"BUILD_LIST", "BUILD_TUPLE"}
LOCALS = {"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF"}
CASES = {"lower", "upper"}
LOGGED = {"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "fatal"}
WRITERS = {"join", "format"}
"""Methods of a text that is in the code: they make another text."""

PEOPLE: list[Any] = [print, warnings.warn]
"""Functions that show texts to people."""

MISSING: Any = object()
_INSTRUCTIONS = CodeTable()


def use_of_text(frame: FrameType, own: Any) -> str | None:
    """Return what takes the text that the call of `own` makes, at which `frame` is.

    It is "shown" to people, or "joined" with others, kept under a name, and compared as a whole; or
    None, where it may be read in another way.
    """
    if id(frame.f_globals) not in GLOBALS:
        return None
    uses = _instructions_of(frame.f_code)
    k = bisect_right([use.offset for use in uses], frame.f_lasti) - 1
    while k > 0 and uses[k].opname in QUIET:
        k -= 1
    if not uses[k].opname.startswith("CALL") or _callee(frame, uses, k) is not own:
        return None  # such as `map`
    return _follow(frame, uses, k + 1)


def _follow(frame: FrameType, uses: list[Instruction], start: int) -> str | None:
    """Return who takes the value on the stack before the instruction at `start`."""
    above, joined, held = 0, False, False  # held: what has the text must be shown
    for k in range(start, len(uses)):
        use = uses[k]
        name = use.opname
        if name in QUIET:
            continue
        if use.opcode in dis.hasjrel or use.opcode in dis.hasjabs:
            break
        if name == "BINARY_OP" and above < 2:
            if use.argrepr in REMAINDERS:
                return None if above else "shown"
            if use.argrepr not in ADDITIONS:
                break
            above, joined = 0, not held
        elif name in FORMATS and above < max(1, _taken(use)):
            return "shown"
        elif name in CONTAINERS and above < (use.arg or 0):
            above, held = 0, True
        elif name.startswith("CALL") and "INTRINSIC" not in name and above < _taken(use):
            found = _callee(frame, uses, k)
            if _is_for_people(found):
                return "shown"
            if type(found) is not str:
                break
            if found == "format":
                return "shown"
            above, joined, held = 0, False, True  # a plain text, which must be shown
        elif above < _taken(use):
            kept = name.startswith("STORE_FAST") or (name in METHODS and use.argval in CASES)
            asked = name == "COMPARE_OP" or name == "CONTAINS_OP"
            joined = joined or kept or asked
            break
        else:
            above += _effect(use)
    return "joined" if joined and not held else None


def _instructions_of(code: CodeType) -> list[Instruction]:
    found = _INSTRUCTIONS.get(code)
    if found is None:
        found = list(dis.get_instructions(code))
        _INSTRUCTIONS.put(code, found)
    return found


def _effect(use: Instruction) -> int:
    """Return the effect of an instruction on the stack, if it does not jump."""
    if use.opname in QUIET:
        return 0
    if use.opname.startswith("CALL") and "INTRINSIC" not in use.opname:
        return _effect_of_call(use)
    return stack_effect(use.opcode, use.arg, jump=False)


def _taken(use: Instruction) -> int:
    """Return how many values an instruction takes from the stack."""
    name = use.opname
    if name.startswith("LOAD_") and name in METHODS:
        return 1
    made = 0 if name in ("POP_TOP", "RETURN_VALUE") or name.startswith(("STORE", "RAISE")) else 1
    return made - _effect(use)


def _callee(frame: FrameType, uses: list[Instruction], k: int) -> Any:
    """Return the callee of the call at `k`, or `MISSING`; of a text's method its name."""
    if not uses[k].opname.startswith("CALL"):
        return MISSING
    need = _taken(uses[k])
    start = k
    while need > 0:
        start -= 1
        if start < 0 or uses[start].opcode in dis.hasjrel or uses[start].opcode in dis.hasjabs:
            return MISSING
        need -= _effect(uses[start])
    if need:
        return MISSING
    found, height = MISSING, 0
    for use in uses[start:k]:
        name = use.opname
        if name in QUIET:
            continue
        if height == 2 and name not in METHODS:
            break
        height += _effect(use)
        if name == "PUSH_NULL":
            continue
        if found is MISSING:
            found = _loaded(frame, use)
        elif name in METHODS:
            found = _attribute(found, use.argval)
        else:
            return MISSING
        if found is MISSING:
            return MISSING
    return found if height == 2 else MISSING


def _loaded(frame: FrameType, use: Instruction) -> Any:
    """Return the value that an instruction loads."""
    if use.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        found = frame.f_globals.get(use.argval, MISSING)
        return getattr(builtins, use.argval, MISSING) if found is MISSING else found
    if use.opname in LOCALS:
        return frame.f_locals.get(use.argval, MISSING)
    return use.argval if use.opname == "LOAD_CONST" else MISSING


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute without a call of other code; of a text and a logger its name."""
    if type(value) is str:
        return name if name in WRITERS else MISSING
    if isinstance(value, logging.Logger) or value is logging:
        return print if name in LOGGED else MISSING
    if value is sys.stdout or value is sys.stderr:
        return print if name == "write" else MISSING
    if isinstance(value, type):
        return next((vars(c)[name] for c in value.__mro__ if name in vars(c)), MISSING)
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:  # it has slots
        return MISSING
    if type(found) is not dict or not (isinstance(value, ModuleType) or name in found):
        return MISSING
    return found.get(name, MISSING)


def _is_for_people(value: Any) -> bool:
    """Tell if a callee is an exception, or shows what it is given."""
    if isinstance(value, type):
        return issubclass(value, BaseException)
    return any([value is shown for shown in PEOPLE])
