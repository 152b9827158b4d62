"""The modules whose code is adopted, and questions of tensors about the code that asks them."""

import opcode
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

GLOBALS: set[int] = set()
"""The numbers of the namespaces of adopted modules, while they are adopted."""

SOURCES: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()
"""The code that stands for another one while a trace lasts, and that other one."""

METHODS: dict[str, Callable] = {}
"""Methods that return tensors to adopted code, where they would leave a level."""


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


def text_for(x: Any, form: Callable, spec: str = "") -> str | None:
    """Return ``form(x)``, a text of a tensor, for the code that asks for it; or raise.

    None stands for a description, for all code that is not adopted.
    """
    return METHODS["__repr__"](x, form, sys._getframe(2), spec) if GLOBALS else None


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
