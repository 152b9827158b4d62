"""The text of a function, and instructions of the processor as methods that write it.

Instructions of the processor as methods: arithmetic, comparisons, bits and casts.
The methods append to the code of an `Emitter`, which inherits them; they know dtypes, and
NumPy's rules for them, but no memory and no functions.
"""

import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

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


PREDICATES = {
    "eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge"),
}  # fmt: skip


class Instructions(Writer):
    """The instructions of an emitter: each takes values, and numbers beside a value."""

    # ---- arithmetic ----------------------------------------------------------------------

    def binary(self, operation, a, b):
        """An instruction of two operands of one dtype."""
        a, b = self.pair(a, b)
        return self.emit(f"{operation} {self.typed(a)}, {b.text}", a.dtype)

    def arithmetic(self, operation, a, b, contract=False):
        """A sum, difference or product: floats are rounded, integers wrap."""
        a, b = self.pair(a, b)
        if a.dtype.kind == "f":
            operation = f"f{operation} contract" if contract else f"f{operation}"
        return self.binary(operation, a, b)

    def add(self, a, b):
        """a + b."""
        return self.arithmetic("add", a, b)

    def sub(self, a, b):
        """a - b."""
        return self.arithmetic("sub", a, b)

    def mul(self, a, b):
        """a * b."""
        return self.arithmetic("mul", a, b)

    def div(self, a, b):
        """a / b of floats."""
        return self.arithmetic("div", a, b)

    def neg(self, a):
        """-a."""
        if a.dtype.kind == "f":
            return self.emit(f"fneg {self.typed(a)}", a.dtype)
        return self.sub(self.constant(0, a.dtype), a)

    def fma(self, a, b, c):
        """a * b + c, rounded once."""
        return self.intrinsic("fma", *self._alike(a, b, c))

    def muladd(self, a, b, c):
        """a * b + c, rounded once where the processor does it at no cost."""
        return self.intrinsic("fmuladd", *self._alike(a, b, c))

    def _alike(self, *operands):
        model = next(v for v in operands if isinstance(v, Value))
        return [self.like(v, model) for v in operands]

    def suffix(self, dtype):
        """The ending of an intrinsic's name."""
        one = {"double": "f64", "float": "f32"}.get(self.scalar_type(dtype))
        one = one or self.scalar_type(dtype)
        return f"v{self.width}{one}" if self.width else one

    def intrinsic(self, name, *values, extra=""):
        """A call of an LLVM intrinsic whose operands and result have one dtype."""
        kind = self.type(values[0].dtype)
        full = f"@llvm.{name}.{self.suffix(values[0].dtype)}"
        kinds = ", ".join([kind] * len(values)) + (f", {extra.split()[0]}" if extra else "")
        self.declarations.setdefault(full, f"declare {kind} {full}({kinds})")
        operands = ", ".join(map(self.typed, values)) + (f", {extra}" if extra else "")
        return self.emit(f"call {kind} {full}({operands})", values[0].dtype)

    def abs(self, a):
        """The absolute value; the smallest integer stays."""
        if a.dtype.kind == "f":
            return self.intrinsic("fabs", a)
        return self.intrinsic("abs", a, extra="i1 false")

    def sqrt(self, a):
        """The square root, correctly rounded."""
        return self.intrinsic("sqrt", a)

    def copysign(self, a, b):
        """The absolute value of `a` with the sign of `b`."""
        return self.intrinsic("copysign", *self.pair(a, b))

    def polynomial(self, x, coefficients: Iterable[float]):
        """A polynomial, constant term first, by Estrin's scheme: short chains, few steps."""
        terms = [self.like(c, x) for c in coefficients]
        power = x
        while len(terms) > 1:
            pairs = zip(terms[::2], terms[1::2])
            last = terms[-1:] if len(terms) % 2 else []
            terms = [self.muladd(high, power, low) for low, high in pairs] + last
            if len(terms) > 1:
                power = self.mul(power, power)
        return terms[0]

    # ---- comparisons, choices, bits ----------------------------------------------------------

    def compare(self, predicate, a, b):
        """`a < b` and so on ("lt", "le", "gt", "ge", "eq", "ne"): NaN compares as in NumPy."""
        a, b = self.pair(a, b)
        of_float, of_signed, of_unsigned = PREDICATES[predicate]
        if a.dtype.kind == "f":
            return self.emit(f"fcmp {of_float} {self.typed(a)}, {b.text}", BOOL)
        name = of_signed if a.dtype.kind == "i" else of_unsigned
        return self.emit(f"icmp {name} {self.typed(a)}, {b.text}", BOOL)

    def isnan(self, a):
        """The lanes that hold a NaN."""
        return self.emit(f"fcmp uno {self.typed(a)}, {a.text}", BOOL)

    def select(self, condition, a, b):
        """`a` where the condition holds, else `b`."""
        a, b = self.pair(a, b)
        if a == b:
            return a
        text = f"select {self.typed(condition)}, {self.typed(a)}, {self.typed(b)}"
        return self.emit(text, a.dtype)

    def both(self, a, b):
        """The bitwise and."""
        return self.binary("and", a, b)

    def either(self, a, b):
        """The bitwise or."""
        return self.binary("or", a, b)

    def xor(self, a, b):
        """The bitwise exclusive or."""
        return self.binary("xor", a, b)

    def invert(self, a):
        """The bitwise complement."""
        return self.xor(a, True if a.dtype == BOOL else self.constant(-1, a.dtype))

    def shift_left(self, a, count):
        """Shift by a count below the number of bits."""
        return self.binary("shl", a, count)

    def shift_in_zeros(self, a, count):
        """Shift right by a count below the number of bits; zeros fill."""
        return self.binary("lshr", a, count)

    def bits(self, a):
        """The bits of a float as a signed integer."""
        return self.reinterpret(a, np.dtype(f"i{a.dtype.itemsize}"))

    def floating(self, a):
        """The float that has the bits of an integer."""
        return self.reinterpret(a, np.dtype(f"f{a.dtype.itemsize}"))

    def reinterpret(self, a, dtype):
        """The same bits as another dtype of the same size."""
        if self.type(a.dtype) == self.type(dtype):
            return Value(a.text, dtype)
        return self.emit(f"bitcast {self.typed(a)} to {self.type(dtype)}", dtype)

    # ---- casts -----------------------------------------------------------------------------

    def cast(self, a, dtype):
        """The value as another dtype. Floats out of an integer's range are refused."""
        dtype = np.dtype(dtype)
        if a.dtype == dtype:
            return a
        number = self.literal(a)
        if number is not None and (dtype.kind == "f" or a.dtype.kind != "f"):
            with np.errstate(over="ignore"):
                return self.constant(np.asarray(number, a.dtype).astype(dtype).item(), dtype)
        source, target = a.dtype.kind, dtype.kind
        if target == "b":
            return self.compare("ne", a, 0)
        if source == "f" and target in "iu":
            self._refuse_outside(a, dtype)
            operation = "fptosi" if target == "i" else "fptoui"
        elif source == "f":
            operation = "fptrunc" if dtype.itemsize < a.dtype.itemsize else "fpext"
        elif target == "f":
            operation = "sitofp" if source == "i" else "uitofp"
        elif dtype.itemsize == a.dtype.itemsize and source != "b":
            return Value(a.text, dtype)
        elif dtype.itemsize < a.dtype.itemsize:
            operation = "trunc"
        else:
            operation = "sext" if source == "i" else "zext"
        return self.emit(f"{operation} {self.typed(a)} to {self.type(dtype)}", dtype)

    def _refuse_outside(self, a, dtype):
        """NumPy's result depends on the machine there: let NumPy give it."""
        limits = np.iinfo(dtype)
        above = self.compare("lt", a, 2.0 ** (8 * dtype.itemsize - (dtype.kind == "i")))
        floor = float(limits.min) - 1  # exact, but for large integers of few bits
        exact = float(a.dtype.type(floor)) == floor and floor < limits.min
        below = self.compare("gt", a, floor) if exact else self.compare("ge", a, limits.min)
        self.refuse(self.invert(self.both(above, below)))
