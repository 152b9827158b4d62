"""Texts of tensors that adopted code makes: what the plain run has, or they are refused.

NOTE [a text has no derivative]
    By a text, code may look something up, or read the number again. So a text with all digits of a
    number that has a derivative, or that differs from example to example, is refused, unless people
    alone read it: see `text_uses`. They have the text of the plain run, or a description where
    there is no such text, as of a batch. A format of fewer than 15 digits rounds, as `numpy.round`
    does, and the derivative of that is zero.
"""

import re
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from .._core.agreement import agreed, examples_of
from .._core.errors import ConversionError
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._levels.lineage import levels_of
from .._levels.views import is_array
from .._mutation.array import Array
from ..numpy._objects import Objects
from .text_uses import asking, is_shown, place_of
from .values import class_of, in_level, is_python, settle

PYTHON = bool, int, float, complex
MOST = 14
"""Digits of a text that rounds a number."""

OF_EITHER = (
    "repr(x), or the text of a list that holds x, depends on whether x is a number of Python's or "
    "of NumPy's, which is not known of what is computed with float(x), x.item() or math.sin(x); "
    "write float(x) or numpy.{name}(x) for x in the text, or str(x)"
)

OF_OBJECTS = (
    "the text of an object array with x in it is not made, which code may read again; write "
    "str(y.astype(float)) for str(y), or print(y)"
)


def text_of(x: Any, form: Any, frame: FrameType, spec: str = "") -> str | None:
    """Return ``form(x)`` or ``format(x, spec)``: see NOTE [a text has no derivative].

    None stands for a description, also for code that is not adopted. With `float`, a text by ``%``
    asks for digits.
    """
    user = asking(frame)
    shown = None if user is None else is_shown(user)
    if shown is None:
        return None
    if type(x) is Objects:
        x = next((y for y in map(settle, x.flat) if in_level(y)), None)
        return None if x is None or shown else _refuse(x.level, OF_OBJECTS)
    kind, array = x.__class__ if type(x) in OVER_TENSORS else None, type(x) is Array
    x = settle(x)
    if not in_level(x):
        return None if spec or isinstance(x, Tensor) else form(x if kind is None else x.view(kind))
    level: Any = x.level
    free = shown or x.dtype.kind not in "fc" or examples_of(x, False) is not None
    array = array or x.ndim > 0 or is_array(x)

    def write(value: Any) -> str | None:
        value = np.asarray(value) if kind is None else np.asarray(value).view(kind)
        python = form is repr and not array and (class_of(x) in PYTHON or is_python(x))
        if python is None:
            return None if shown else _refuse(level, OF_EITHER.format(name=x.dtype))
        return form(value if array else value.item() if python else value[()])

    try:
        if spec:
            text = level.convert(x, "format", spec)
            asked, number = (_specs(frame), float(text)) if form is float else ([spec], x)
            if free or all([_digits(wanted, number) <= MOST for wanted in asked]):
                return text
        elif shown or x.dtype.kind not in "fc":
            guarded = any([outer.kind.guards for outer in levels_of(type(x))])
            value = None if guarded else agreed(x, True)
            if shown or value is not None:
                return None if value is None else write(value)
        return level.convert(x, "repr" if form is repr else "str", write)
    except ConversionError as error:
        level.unanswered = error  # the code may catch it, and go on
        raise


def _refuse(level: Any, why: str) -> NoReturn:
    level.unanswered = level.refusal(ConversionError, why)
    raise level.unanswered


def _specs(frame: FrameType) -> list[str]:
    """Return the formats of numbers in the text whose operator ``%`` a frame is at."""
    code, k = place_of(frame)
    text = code.value(frame, code.first(k))
    text = text.decode("latin-1") if type(text) is bytes else text
    return re.findall(r"%(?:\(.*?\))?([^a-zA-Z%]*[eEfFgG])", text) if type(text) is str else [""]


def _digits(spec: str, x: Any) -> int:
    """Return how many digits of `x` a format gives."""
    found: Any = re.search(r"(?:\.(\d+))?([a-zA-Z%]?)$", spec)
    count, kind = int(found[1] or 6), found[2]
    if "*" in spec or not found[0]:
        return 99
    if kind not in ("f", "F", "%"):
        return count + (kind in ("e", "E"))
    return sum(map(str.isdigit, format(x, f".{count}{kind}").lstrip("-0.")))
