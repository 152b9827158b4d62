"""NumPy's own inner loops, called from machine code.

NOTE [to the last bit]
    A ufunc of NumPy's has a function in C for each dtype: it gets the addresses of operands, how
    many elements there are, and the steps between them. It sums as NumPy does, since it is what
    NumPy calls. Where the object of a ufunc looks another way in memory, or its loop gives other
    bits than the ufunc, nothing is known here, and the calls stay with NumPy.

NOTE [powers of numbers]
    The operator of two numbers is the power of the C library, which may round in another way than
    the ufunc does.
"""

import ctypes
import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...._cpython.objects import at, text_at, why_not
from ..compiler.targets import TARGET
from ..elementary import ROUNDED
from ..text.routines import Kernel, Routine

FLOAT = np.dtype(float)
COUNTS, FUNCTIONS, DATA, KINDS, NAME, TYPES = 16, 32, 40, 48, 56, 64
"""Offsets of the parts of the object of a ufunc, in bytes."""

MOST = 1 << 12
"""Sums of more numbers than these stay with NumPy, which may divide them."""

SYMBOLS = {np.matmul: "functier.numpy.matmul", np.add: "functier.numpy.add"}
ELEMENTS: dict[Any, str] = {func: f"functier.numpy.{func.__name__}" for func in ROUNDED}
"""The functions of one or two numbers that machine code rounds in another way."""

POWER = "functier.c.pow"  # see NOTE [powers of numbers]
ELEMENTS[operator.pow] = POWER

Loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def loop_of(func: np.ufunc) -> int:
    """Return the address of the loop of a ufunc for floats; 0 where the object is another one."""
    if why_not():
        return 0
    here = id(func)
    if tuple(at(ctypes.c_int * 3, here + COUNTS)) != (func.nin, func.nout, func.nargs):
        return 0
    if at(ctypes.c_int, here + KINDS).value != func.ntypes:
        return 0
    functions, data, name, types = [
        at(ctypes.c_void_p, here + place).value or 0 for place in (FUNCTIONS, DATA, NAME, TYPES)
    ]
    if not (functions and name and types):
        return 0
    if text_at(name) != func.__name__.encode():
        return 0
    kinds = text_at(types, func.ntypes * func.nargs)
    for i in range(func.ntypes):
        if kinds[i * func.nargs : (i + 1) * func.nargs] == bytes([FLOAT.num] * func.nargs):
            size = ctypes.sizeof(ctypes.c_void_p)
            if data and at(ctypes.c_void_p, data + i * size).value:
                return 0  # it takes more than operands
            return at(ctypes.c_void_p, functions + i * size).value or 0
    return 0


def addresses() -> Mapping[str, int]:
    """Return the addresses of the loops that are known, by name; a target has none of them."""
    return known_addresses() if TARGET.get() is None else {}


@lru_cache(1)
def known_addresses() -> Mapping[str, int]:
    found = {SYMBOLS[func]: loop_of(func) for func in SYMBOLS}
    if not agree(found):
        return {}
    ufuncs = [func for func in ELEMENTS if func is not operator.pow]
    places = [(func, ELEMENTS[func], loop_of(func)) for func in ufuncs]
    found |= {name: place for func, name, place in places if place and agrees(func, place)}
    return found | power_of_c()


def agree(found: Mapping[str, int]) -> bool:
    """Return whether the loops give the bits of the ufuncs, for some operands."""
    if not all(found.values()):
        return False
    x = np.sin(np.arange(1.0, 400.0))
    total = np.array(np.add.reduce(np.full(2, -0.0)))
    run(found[SYMBOLS[np.add]], [total, x, total], (x.size,), (0, 8, 0))
    fine = total == np.add.reduce(x)
    for a, b in ((x, x), (x[:357].reshape(21, 17), x[:17]), (x[:40].reshape(5, 8).T, x[:5])):
        out = np.empty(a.shape[:-1])
        run(found[SYMBOLS[np.matmul]], [a, b, out], *layout(a, b, out))
        fine = fine and np.array_equal(out, np.matmul(a, b))
    return bool(fine)


def agrees(func: np.ufunc, place: int) -> bool:
    """Return whether the loop of a function gives its bits, of one number and of many."""
    with np.errstate(all="ignore"):
        many, second = np.sin(np.arange(37.0)), np.array(1.3)
        out = np.empty(37)
        run(place, [*(many, second)[: func.nin], out], (37,), (*(8, 0)[: func.nin], 8))
        if not np.array_equal(out, func(*(many, second)[: func.nin]), equal_nan=True):
            return False
        for x in (0.3, 0.9, 1.7, 25.5, -0.4, -3.1, 1e-9, 0.0):
            given = [np.array(v) for v in (x, 1.3)[: func.nin]]
            out = np.empty(())
            run(place, [*given, out], (1,), (8,) * func.nargs)
            if not np.array_equal(out, func(*given), equal_nan=True):
                return False
    return True


def power_of_c() -> dict[str, int]:
    """Return the address of the power of the C library, if NumPy's numbers have its bits."""
    try:
        power = ctypes.CDLL(None).pow
    except (OSError, TypeError, AttributeError):  # no such library, or none without a name
        return {}
    power.restype, power.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    bases = np.exp(30.0 * np.sin(np.arange(300.0)))
    exponents = 3.0 * np.sin(np.arange(300.0) ** 2)
    pairs = [*zip(bases, exponents), *[(x, e) for x in bases[:20] for e in (2.0, 0.5, -1.0, 0.2)]]
    with np.errstate(all="ignore"):
        same = all([x**e == power(x, e) for x, e in pairs])
    return {POWER: ctypes.cast(power, ctypes.c_void_p).value or 0} if same else {}


def run(place: int, arrays: Sequence[np.ndarray], sizes: Sequence[int], steps: Sequence) -> None:
    """Call a loop."""
    pointers = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
    counts, strides = [(ctypes.c_ssize_t * len(x))(*x) for x in (sizes, steps)]
    Loop(place)(ctypes.addressof(pointers), ctypes.addressof(counts), ctypes.addressof(strides), 0)


def layout(a: Any, b: Any, out: Any) -> tuple[tuple, tuple]:
    """Return sizes and steps of a product of arrays, or of what has such a form."""
    (rows, down), (columns, across) = (1, 0), (1, 0)
    if len(a.shape) == 2:
        rows, down = a.shape[0], a.strides[0]
    if len(b.shape) == 2:
        columns, across = b.shape[1], b.strides[1]
    steps = iter(out.strides)
    by_row = next(steps) if len(a.shape) == 2 else 0
    by_column = next(steps) if len(b.shape) == 2 else 0
    inside = down, a.strides[-1], b.strides[0], across, by_row, by_column
    return (1, rows, a.shape[-1], columns), (0, 0, 0, *inside)


def call(
    func: np.ufunc, pointers: Sequence[str], sizes: Sequence[int], steps: Sequence[int],
    start: float | None = None,
) -> Kernel | None:  # fmt: skip
    """Return a routine of the parameters ``(a, b, out)`` that calls a loop with some of these.

    `start` is what the result has before.
    """
    name = SYMBOLS.get(func) or ELEMENTS[func]
    if name not in addresses():
        return None
    code = Routine(("a", "b", "out"))
    code.declare(name, f"declare void @{name}(ptr, ptr, ptr, ptr)")
    if start is not None:
        code.line(f"store double {start!r}, ptr %out, align 8")
    places = []
    for kind, values in (("ptr", pointers), ("i64", sizes), ("i64", steps)):
        place = code.instruction(f"alloca [{len(values)} x {kind}], align 16")
        for i, value in enumerate(values):
            code.line(f"store {kind} {value}, ptr {code.address(place, [], 8 * i)}, align 8")
        places.append(place)
    code.line(f"call void @{name}({', '.join([f'ptr {place}' for place in places])}, ptr null)")
    return code.kernel()


def call_of_numbers(func: Any) -> Kernel | None:
    """Return a routine ``(a, b, out)`` of one or two numbers; of one number, `b` is not read."""
    if func is not operator.pow:
        pointers = (*("%a", "%b")[: func.nin], "%out")
        return call(func, pointers, (1,), (8,) * func.nargs)
    if POWER not in addresses():
        return None
    code = Routine(("a", "b", "out"))
    code.declare(POWER, f"declare double @{POWER}(double, double)")
    a, b = [code.instruction(f"load double, ptr %{name}, align 8") for name in "ab"]
    found = code.instruction(f"call double @{POWER}(double {a}, double {b})")
    code.line(f"store double {found}, ptr %out, align 8")
    return code.kernel()
