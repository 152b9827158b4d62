"""The modules whose code is adopted, and questions of tensors about the code that asks them."""

import functools
from abc import ABCMeta
from collections.abc import Callable
from typing import Any

import numpy as np

from .._cpython.frames import (
    Frame,
    caller_of,
    code_at,
    computes_remainder,
    current_frame,
    globals_at,
    is_of_library,
    is_own,
    is_users,
    outward,
)

ASKING = {id(asks.__code__) for asks in (ABCMeta.__instancecheck__, np.isscalar)}
"""The code of libraries that asks for a class because its caller does."""

DISPATCHING = {
    id(functools.singledispatch(repr).__code__),  # type: ignore[attr-defined]
    id(functools.singledispatchmethod(repr).__get__(0).__code__),
}
"""The code that chooses a function of users by a class."""


def class_for(x: Any, frame: Frame | None = None) -> type:
    """Return what ``x.__class__`` is for its caller, or a frame: the class of what NumPy has.

    `isinstance` asks for it. Libraries hand what they take for an array to code in C. So these see
    the class of the level, unless they are adopted.
    """
    frame = frame or current_frame(1)
    if not is_users(code_at(frame).co_filename) and id(code_at(frame)) not in DISPATCHING:
        while id(code_at(frame)) in ASKING:
            frame = caller_of(frame)
        if not is_users(code_at(frame).co_filename) and id(globals_at(frame)) not in ADOPTED:
            return type(x)
    return x.level.class_of(x)


CLASS: Any = property(class_for, vars(object)["__class__"].__set__)
"""The attribute ``__class__`` of tensors."""


class Adopted(set[int]):
    """The numbers of the namespaces of modules, while these are adopted.

    `methods` return tensors to adopted code, where they would leave a level.
    """

    def __init__(self) -> None:
        self.methods: dict[str, Callable] = {}

    def method_for_caller(self, name: str) -> Callable | None:
        """Return the method of this name if the code that has called it is adopted, or None."""
        return self.methods[name] if self and id(globals_at(current_frame(2))) in self else None

    def frame(self) -> Frame | None:
        """Return the innermost frame of an adopted module, if no user's code is inside of it."""
        for frame in outward(current_frame(1) if self else None):
            if id(globals_at(frame)) in self:
                return frame
            if not (is_own(frame) or is_of_library(frame)):
                return None
        return None

    def text_for(self, x: Any, form: Callable, spec: str = "") -> str | None:
        """Return ``form(x)``, a text of a tensor, for the code that asks for it; or raise.

        None stands for a description, for all code that is not adopted.
        """
        return self.methods["__repr__"](x, form, current_frame(2), spec) if self else None


ADOPTED = Adopted()


# ---- texts by the operator ``%`` ----


def is_called_by_percent() -> bool:
    """Tell whether ``"%.4g" % x`` has called the caller: a number that is asked for a float by it.

    The remainder of numbers asks no tensor for a float: a tensor computes it itself.
    """
    return computes_remainder(current_frame(2))
