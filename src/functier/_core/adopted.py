"""The modules whose code is adopted, and questions of tensors about the code that asks them."""

import opcode
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any
from weakref import ref

GLOBALS: set[int] = set()
"""The numbers of the namespaces of adopted modules, while they are adopted."""

METHODS: dict[str, Callable] = {}
"""Methods that return tensors to adopted code, where they would leave a level."""


TEXTS: set[CodeType] = set()
"""The code of functions that call `str` or `repr` for adopted code: they need NumPy's text."""


class ClassAttribute(property):
    """The attribute ``__class__`` of tensors; adopted code may ask for another class than `type`.

    For that the class gets a method ``__get__``, and loses it again.
    """


CLASS: Any = ClassAttribute(type, vars(object)["__class__"].__set__)


def method_for_caller(name: str) -> Callable | None:
    """Return the method of this name if the code that has called it is adopted, or None."""
    if GLOBALS and id(sys._getframe(2).f_globals) in GLOBALS:
        return METHODS[name]
    return None


def is_called_by_adopted() -> bool:
    """Tell if the code that has called the caller is adopted."""
    return bool(GLOBALS) and id(sys._getframe(2).f_globals) in GLOBALS


def text_for(x: Any, form: Callable) -> str | None:
    """Return ``form(x)``, a text of a tensor, for the code that asks for it.

    None stands for a description, for all code that is not adopted.
    """
    frame = sys._getframe(2)
    if not GLOBALS or (frame.f_code not in TEXTS and id(frame.f_globals) not in GLOBALS):
        return None
    return METHODS["__repr__"](x, form, frame.f_code in TEXTS)


# ---- digits of numbers with a derivative ----

DIGITS: dict[str, tuple[ref, Any]] = {}
"""Texts such as ``f"{x:.9f}"`` that levels with a derivative have made: the level, and its call."""

MOST_DIGITS = 4096


def note_digits(text: str, level: Any) -> str:
    """Return a text of digits, and note it, as adopted code may read it as a number again."""
    if GLOBALS:
        DIGITS.pop(text.strip(), None)
        while len(DIGITS) >= MOST_DIGITS:
            del DIGITS[next(iter(DIGITS))]
        DIGITS[text.strip()] = ref(level), level.made
    return text


def maker_of_digits(text: str) -> Any:
    """Return the level that has noted a text and has not ended, or None."""
    noted, made = DIGITS.get(text.strip(), (None, None))
    level: Any = None if noted is None else noted()
    return level if level is not None and level.live and level.made == made else None


# ---- texts by the operator ``%`` ----

BINARY = opcode.opmap["BINARY_OP"]
REMAINDERS = {
    code[2 * code[::2].index(BINARY) + 1]  # the operators' numbers have no public table
    for code in (compile(f"x {sign} y", "", "exec").co_code for sign in ("%", "%="))
}


def is_called_by_percent() -> bool:
    """Tell if ``"%.4g" % x`` has called the caller: a number that is asked for a float by it.

    The remainder of numbers asks no tensor for a float: a tensor computes it itself.
    """
    frame = sys._getframe(2)
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == BINARY and code[at + 1] in REMAINDERS
