"""The modules whose code is adopted, and questions of tensors about the code that asks them."""

import functools
from abc import ABCMeta
from collections.abc import Callable
from typing import Any

import numpy as np

from .._cpython.frames import (
    USERS,
    Frame,
    caller_of,
    code_at,
    computes,
    current_frame,
    file_at,
    globals_at,
    is_of_library,
    is_own,
    is_users,
    outward,
)
from .._cpython.functions import SOURCES, read_code

_DISPATCH = functools.singledispatch(repr), functools.singledispatchmethod(repr).__get__(0)
ASKING = {id(read_code(f)) for f in (ABCMeta.__instancecheck__, np.isscalar, *_DISPATCH)}
"""The code of libraries that asks for a class because its caller does."""


class Adopted(set[int]):
    """The numbers of the namespaces of modules, while these are adopted.

    `methods` return tensors to adopted code, where they would leave a level.
    """

    def __init__(self) -> None:
        self.methods: dict[str, Callable] = {}

    def method_for_caller(self, name: str) -> Callable | None:
        """Return the method of this name if the code that has called it is adopted, or None."""
        return self.methods[name] if self and id(globals_at(current_frame(2))) in self else None

    def asks_for_likeness(self, frame: Frame) -> bool:
        """Return whether a frame that asks a tensor for its class gets what NumPy has for it.

        That is for users' code, and for adopted code. Libraries hand what they take for a number
        or an array to code in C, so they get the class of the level.
        """
        for_caller = False
        while id(SOURCES.get(code := code_at(frame), code)) in ASKING:  # also in a trace
            frame, for_caller = caller_of(frame), True
        if is_users(file_at(frame)):
            return True
        return id(globals_at(frame)) in self or (for_caller and is_own(frame))

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


def class_for(x: Any) -> type:
    """Return what ``x.__class__`` is for its caller; `isinstance` and ``case`` ask for it, too."""
    frame = current_frame(1)
    if file_at(frame) in USERS or ADOPTED.asks_for_likeness(frame):
        return x.level.class_of(x)
    return type(x)


CLASS: Any = property(class_for, vars(object)["__class__"].__set__)
"""The attribute ``__class__`` of tensors."""


# ---- texts by the operator ``%`` ----


def is_called_by_percent() -> bool:
    """Tell whether ``"%.4g" % x`` has called the caller: a number that is asked for a float by it.

    The remainder of numbers asks no tensor for a float: a tensor computes it itself.
    """
    return computes(current_frame(2), "%")
