"""Attributes and methods of arrays about their memory, which tensors hide."""

from collections.abc import Callable
from typing import Any

from .errors import UnsupportedError, hide_own
from .peers import ATTRIBUTES
from .tensor import Tensor

STORED = frozenset({"dump", "dumps", "tobytes", "tofile"})
"""Methods that make a plain value of an array."""
MEMORY = {
    "resize": "numpy.concatenate((x, numpy.zeros(k))) for k extra elements, or x[:n] for fewer",
    "setfield": "x[...] = v",
    "setflags": "x.copy() for an array that may be written to",
    **dict.fromkeys(
        STORED,
        "numpy.array_equal(x, y) to compare, or `return x`, and store the result of the transform, "
        "or, under derivatives alone, store functier.stop_gradient(x)",
    ),
    **dict.fromkeys(("byteswap", "getfield"), "x.astype(dtype) for another dtype"),
}
"""Methods about the memory of an array, which a tensor does not show, each with the remedy."""
LAYOUT = {
    **dict.fromkeys(
        ("strides", "data", "ctypes"),
        "numpy.lib.stride_tricks.sliding_window_view(x, n) or x[index], with an array of the "
        "indices, for a view by strides",
    ),
    **dict.fromkeys(("flags", "base"), "x.copy() where no other array may share the memory"),
    "itemsize": "x.dtype.itemsize",
    "nbytes": "x.size * x.dtype.itemsize",
}
"""Attributes about the memory of an array, which `hasattr` does not find, each with the remedy."""
FORM: dict[str, Callable[[Any], Any]] = {
    "strides": lambda x: x.level.window(x).strides,
    "itemsize": lambda x: x.dtype.itemsize,
    "nbytes": lambda x: x.size * x.dtype.itemsize,
    "flags": lambda x: Flags(x),
}
"""Those that a tensor of a level has: of one example, as NumPy has it."""
HIDDEN = {**LAYOUT, **ATTRIBUTES}
"""Attributes that `hasattr` does not find, each with the remedy."""


def is_of_memory(name: str) -> bool:
    """Return whether an attribute or a method of arrays is about their memory."""
    return name in LAYOUT or name in MEMORY


class Hidden:
    """An attribute that tensors do not have; an instance or a subclass may define it."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            raise AttributeError(f"{owner.__name__} has no attribute {self.name!r}")
        if self.name in FORM and hasattr(x.level, "window"):
            return FORM[self.name](x)
        try:
            raise AttributeError(message_on_hidden(x, self.name))
        except AttributeError as error:
            hide_own(error)
            raise


ORDERS = {
    "c": "c_contiguous", "f": "f_contiguous", "contiguous": "c_contiguous",
    "fortran": "f_contiguous", "w": "writeable", "a": "aligned",
    **{name: name for name in ("c_contiguous", "f_contiguous", "writeable", "aligned")},
    **{name: name for name in ("fnc", "forc")},
}  # fmt: skip
"""The flags that a tensor has, by their names and the keys of NumPy's."""


class Flags:
    """The flags of a tensor of a level: how one example lies in memory, as NumPy has it."""

    __slots__ = ("tensor",)
    tensor: Any

    def __init__(self, x: Tensor):
        object.__setattr__(self, "tensor", x)

    def __getattr__(self, name: str) -> bool:
        x: Any = self.tensor
        if name not in ORDERS:
            raise AttributeError(message_on_memory(x, f"flags.{name}", LAYOUT["flags"]))
        if name == "writeable" and x.level.guards:
            return x.level.is_writeable(x)
        window = x.level.window(x)
        broadcast = 0 in [s for s, n in zip(window.strides, window.shape) if n > 1]
        if name == "writeable":
            return window.ndim > 0 and not broadcast
        return bool(getattr(window.flags, ORDERS[name]))

    def __getitem__(self, key: str) -> bool:
        return getattr(self, ORDERS.get(key.lower(), key.lower()))

    def __setattr__(self, name: str, value: bool) -> None:
        self[name] = value

    def __setitem__(self, key: str, value: bool) -> None:
        if ORDERS.get(key.lower()) != "writeable" or value or self.tensor.level.guards:
            raise UnsupportedError(message_on_memory(self.tensor, "flags", LAYOUT["flags"]))
        # a guard against writes, which a right program does not make


def message_on_hidden(x: Tensor, name: str) -> str:
    """Return the message for an attribute that a tensor does not have."""
    if name in LAYOUT:
        return message_on_memory(x, name, LAYOUT[name])
    where = x.level if x.level.depth else type(x).__name__
    return f"{where}: arrays of NumPy have no x.{name}; write {ATTRIBUTES[name]}"


def message_on_memory(x: Tensor, name: str, instead: str) -> str:
    """Return the message for a method or attribute about the memory of an array."""
    where, instead = f"{x.level}", f"write {instead}"
    if not x.level.depth:
        where, instead = type(x).__name__, f"use x.elem().{name}"
    return f"{where}: x.{name} is about the memory of an array, which a tensor hides; {instead}"
