"""Conversions of a tensor of a level to plain values: most are refused."""

from operator import index as as_index
from typing import Any

from .._core.errors import ConversionError, MutationError
from .._core.hints import explain
from .._core.tensor import Tensor
from .._core.types import Function, Value


def convert(level: Any, x: Tensor, how: str | Function, *args: Any) -> Any:
    """Convert a tensor: ``bool``, ``int``, indices, formats read the value; all else raises."""
    if how is bool or how is int:
        return how(x._value)
    if how == "format" and args[0] and level.kind.differentiates and not level.kind.records:
        return format(x._value, *args)
    if how == "__index__":
        return level.index(x._value)
    asked, remedy, writing = explain(how if isinstance(how, str) else how.__name__)
    error = level.refusal(
        MutationError if writing else ConversionError,
        f"{asked} would turn a tensor of this level into a plain value and lose what the "
        f"transform knows of it; write {remedy}",
    )
    if how is float or how is complex:
        level.unanswered = error
    raise error


def has_text(level: Any, x: Tensor) -> bool:
    """Tell if the text of a number is its value: of a whole one, which may name something."""
    return x.dtype.kind in "iub"


def index(level: Any, value: Value) -> int:
    """Return a value as an index; raise Python's error where it is not one."""
    try:
        return as_index(value)
    except TypeError as error:
        if isinstance(value, Tensor):  # its level has raised
            raise
        raise TypeError(
            f"{level}: {error}, and neither can a tensor of its value; write int(x) for x, as "
            f"in range(int(x))"
        ) from None
