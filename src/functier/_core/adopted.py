"""The modules whose code is adopted, and questions of tensors about the code that asks them."""

from collections.abc import Callable
from typing import Any

from .._cpython.frames import (
    Frame,
    computes,
    current_frame,
    globals_at,
    is_of_library,
    is_own,
    outward,
)


class ClassAttribute(property):
    """The attribute ``__class__`` of tensors; adopted code may ask for another class than `type`.

    For that the class gets a method ``__get__``, and loses it again.
    """


CLASS: Any = ClassAttribute(type, vars(object)["__class__"].__set__)


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
    return computes(current_frame(2), "%")
