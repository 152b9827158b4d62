"""The text of a function: types, names, instructions that are written once, and constants."""

import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = [
    "BOOL", "FLOAT32", "FLOAT64", "INT64", "UINT64", "Declarations", "Value", "Writer",
]  # fmt: skip

FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
BOOL = np.dtype(np.bool)
FLOATS = {"d": "double", "f": "float"}


class Value(NamedTuple):
    """An operand: its text in the module, without the type, and its NumPy dtype.

    A bool is one bit in a register and one byte in memory.
    """

    text: str
    dtype: np.dtype


class Declarations(dict[str, str]):
    """The texts of a module outside of its main functions, by the names that they define."""

    def __init__(self):
        super().__init__()
        self.results: dict[str, tuple[np.dtype, ...]] = {}

    def text(self):
        """All of them, for the module."""
        return "\n".join(self.values())


class Writer:
    """The lines of a function, of `width` lanes or of scalars. See `Emitter`."""

    def __init__(self, width, prefix="v", declarations=None):
        self.width = width
        self.prefix = prefix
        self.declarations = Declarations() if declarations is None else declarations
        self.lines: list[str] = []
        self.block = "entry"
        self.refusals: list[Value] = []
        self._count = 0
        self._memo: dict = {}
        self._literals: dict[Value, float] = {}

    # ---- text ----------------------------------------------------------------------------

    def scalar_type(self, dtype):
        """The type of one lane in a register."""
        if dtype == BOOL:
            return "i1"
        return FLOATS.get(dtype.char) or f"i{8 * dtype.itemsize}"

    def type(self, dtype):
        """The type of a value of a dtype."""
        one = self.scalar_type(dtype)
        return f"<{self.width} x {one}>" if self.width else one

    def typed(self, value):
        """The text of an operand with its type."""
        return f"{self.type(value.dtype)} {value.text}"

    def name(self):
        """A new name for a value or a label, without its sigil."""
        self._count += 1
        return f"{self.prefix}{self._count}"

    def emit(self, text, dtype, memo=True):
        """Append `%new = text`, or return the value that an equal text defined."""
        if memo and (found := self._memo.get(text)):
            return found
        value = Value(f"%{self.name()}", np.dtype(dtype))
        self.lines.append(f"  {value.text} = {text}")
        if memo:
            self._memo[text] = value
        return value

    def line(self, text):
        """Append an instruction that defines no value."""
        self.lines.append(f"  {text}")

    def start(self, label):
        """Begin a block. Values of other blocks are not used again by themselves."""
        self.lines.append(f"{label}:")
        self.block = label
        self._memo.clear()

    def remember(self, key, make: Callable):
        """The result of `make()`, made once for each key."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    def refuse(self, condition):
        """Do not use the results of this code if the condition holds in any lane."""
        if condition not in self.refusals:
            self.refusals.append(condition)

    # ---- constants -----------------------------------------------------------------------

    def constant(self, number, dtype=FLOAT64):
        """A number in every lane."""
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                rounded = float(np.asarray(number, dtype))
            text = f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
            number = rounded
        elif dtype == BOOL:
            text = "true" if number else "false"
        else:
            number = int(number)
            text = str(number)
        if self.width:
            text = f"splat ({self.scalar_type(dtype)} {text})"
        value = Value(text, dtype)
        self._literals[value] = number
        return value

    def literal(self, value):
        """The number of a constant, or None."""
        return self._literals.get(value)

    def like(self, number, value):
        """A constant of a value's dtype; values pass through."""
        return number if isinstance(number, Value) else self.constant(number, value.dtype)

    def pair(self, a, b):
        """Two operands of one dtype, of which one may be a number."""
        return (a, self.like(b, a)) if isinstance(a, Value) else (self.like(a, b), b)
