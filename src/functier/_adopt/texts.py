"""Texts of tensors that adopted code makes: NumPy's digits, or a description for people.

NOTE [who asks for a text]
    By a text that ``str``, ``repr`` or a format gives, code may look something up, or read the
    number again. So ``str(x)`` and ``repr(x)``, also of a list that holds `x`, are NumPy's text.
    They are refused where a derivative would be lost, and where examples differ, unless people read
    them: what follows the call tells (`text_uses`), and joined texts are a `Text`. An f-string,
    ``%`` and ``str.format`` are for people, too: they have that text where examples share it
    and there is no derivative, and else a description. What is printed or logged, and what a method
    such as ``__repr__`` makes of a tensor, is for people.
"""

import sys
from typing import Any

import numpy as np

from .._core.adopted import METHODS, TEXTS, maker_of_digits
from .._core.ambient import AMBIENT
from .._core.errors import ConversionError
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._levels.views import is_array
from .._mutation.array import Array
from ..numpy._objects import Objects
from .joined import FOR_PEOPLE, Gap, Text, letters_of
from .text_uses import PEOPLE, use_of_text
from .values import TENSORS, in_level, is_python, settle

ATOMS = frozenset({int, float, bool, str, type(None), np.float64, np.int64, np.str_})
"""Classes whose texts are what they were."""

OF_EITHER = (
    "repr(x), or the text of a list that holds x, depends on whether x is a number of Python's or "
    "of NumPy's, which is not known of what is computed with float(x), x.item() or math.sin(x); "
    "write float(x) or numpy.{name}(x) for x in the text, or str(x)"
)

READ_AGAIN = (
    "{name}(text) reads the digits that a format such as f'{{x:.9f}}' gave of a number of this "
    "level, and the derivative would be lost; write x, or "
    "functier.stop_gradient(x) in the format where no derivative should follow"
)


def str_(*args: Any, **options: Any) -> str:
    """Return ``str(x)``: see NOTE [who asks for a text]."""
    if len(args) == 1 and type(args[0]) in ATOMS:
        return str(args[0])
    if len(args) == 1 and type(args[0]) is Text:
        return args[0]  # type: ignore[return-value]
    if _for_people():
        found = None
        if len(args) == 1 and isinstance(args[0], TENSORS) and not options:
            found = text_of(args[0], str, False)
        return _str_for_people(*args, **options) if found is None else found
    try:
        if len(args) == 1 and isinstance(args[0], TENSORS) and not options:
            return text_of(args[0], str, True)  # type: ignore[return-value]
        return str(*args, **options)
    except ConversionError as error:
        return _text_for_use(error, str, str_, *args, **options)


def repr_(x: Any, /) -> str:
    """Return ``repr(x)``: see NOTE [who asks for a text]."""
    if _for_people():
        found = text_of(x, repr, False) if isinstance(x, TENSORS) else None
        return _repr_for_people(x) if found is None else found
    try:
        return text_of(x, repr, True) if isinstance(x, TENSORS) else repr(x)  # type: ignore[return-value]
    except ConversionError as error:
        return _text_for_use(error, repr, repr_, x)


def _text_for_use(error: ConversionError, form: Any, own: Any, *args: Any, **options: Any) -> Any:
    """Return a text that is refused, for people if it is clear that they read it."""
    frame = sys._getframe(2)
    use, level = use_of_text(frame, own), AMBIENT.get().level
    if use is None or not level.depth:
        raise error
    if level.kind.guards and level.unanswered is error:
        level.unanswered = None  # what is shown depends on nothing that a program would not have
    shown = form(*args, **options)  # this frame is not that of adopted code
    if use == "shown":
        return shown
    return Text([Gap(shown, letters_of(args[0], form))], error.with_traceback(None), level)


def print_(*args: Any, **options: Any) -> None:
    """Call ``print``, which shows a tensor as it is: this frame is not that of adopted code."""
    print(*args, **options)


def _str_for_people(*args: Any, **options: Any) -> str:
    return str(*args, **options)


def _repr_for_people(x: Any) -> str:
    return repr(x)


def _for_people() -> bool:
    """Tell if a method that makes a text for people has called the caller."""
    return sys._getframe(2).f_code.co_name in FOR_PEOPLE


def text_of(x: Any, form: Any, needed: bool) -> str | None:
    """Return ``form(x)`` of NumPy's object for a tensor, by `str` or `repr`.

    Where it has none: raise if it is `needed`, and return None if it is not.
    """
    if type(x) is Objects:
        return _text_of_objects(x, form, needed)
    kind = x.__class__ if type(x) in OVER_TENSORS else None
    box = type(x) is Array
    x = settle(x)
    if not in_level(x):
        return None if isinstance(x, Tensor) else form(x if kind is None else x.view(kind))
    level: Any = x.level
    if not needed and not (level.live and level.has_text(x)):
        return None
    box = box or x.ndim > 0 or is_array(x)
    python = not box and form is repr and is_python(x)
    if python is None and not needed:
        return None

    def write(value: Any) -> str:
        if python is None:
            raise level.refusal(ConversionError, OF_EITHER.format(name=x.dtype))
        value = np.asarray(value)
        if kind is not None:
            value = value.view(kind)
        return form(value if box else value.item() if python else value[()])

    return level.convert(x, form.__name__, write)


def refuse_digits(text: str, name: str) -> None:
    """Raise where ``float(text)`` would read a number that has a derivative."""
    level = maker_of_digits(text)
    if level is not None:
        level.unanswered = level.refusal(ConversionError, READ_AGAIN.format(name=name))
        raise level.unanswered


class _Text(str):
    """A text that stands for itself in the text of an object array."""

    def __repr__(self) -> str:
        return str(self)


def _text_of_objects(x: Any, form: Any, needed: bool) -> str | None:
    """Return the text of an object array, in which NumPy has the `repr` of each element."""
    made = np.array(x.view(np.ndarray))
    for i, element in enumerate(x.flat):
        if isinstance(element, TENSORS):
            text = text_of(element, repr, needed)
            if text is None:
                return None
            made.flat[i] = _Text(text)
    return form(made)


TEXTS.update((str_.__code__, repr_.__code__))
PEOPLE.append(print_)
METHODS["__repr__"] = text_of
