"""Constants in machine code: the numbers at the ends of each dtype, beside arrays of each.

Each function gets all constants in one program, and each by itself in a program that differs from
others in the constant alone, in two orders: what has been compiled before makes no difference.
"""

import operator
import struct

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs.machine.loops import nests
from functier._programs.machine.lowering import nodes
from support.basics import equal
from support.bits import difference

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.inside("What machine code does with constants is replaced by wrong ones."),
]

DTYPES = "?bBhHiIlLfd"
COMPARISONS = np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal
OTHERS = (
    np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.fmax, np.copysign, np.bitwise_and,
    np.bitwise_or, np.remainder, np.floor_divide, np.divide, np.logical_xor,
)  # fmt: skip
EITHER = "maximum", "minimum", "fmax", "clip"
"""Of zeros of both signs NumPy takes the one or the other, by their places in an array."""

OPERATORS = operator.lt, operator.ge, operator.eq, operator.add, operator.mul, operator.sub
ENDS = (0, 1, 8, 15, 16, 31, 32, 53, 62, 63, 64, 70)
INTEGERS = sorted({s * 2**k + d for s in (1, -1) for k in ENDS for d in (-1, 0, 1)} | {300, -3, 7})
TIE = 2**60 + 2**36 + 1
"""An integer that rounds to another float32 by way of a float64."""
NANS = [struct.unpack("d", struct.pack("Q", bits << 48))[0] for bits in (0x7FF8, 0xFFF8)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, 5e-324, 1e300, *NANS]
PLAIN = [*INTEGERS, TIE, *FLOATS, True, False]


def elements(dtype):
    """Return telling elements of a dtype."""
    if dtype.kind == "b":
        return np.array([False, True, True])
    if dtype.kind == "f":
        return np.array([0.0, -0.0, 1.0, -2.5, 2.0**60, np.inf, np.nan], dtype)
    ends = np.iinfo(dtype)
    return np.array([ends.min, ends.min + 1, 0, 1, 5, 14, ends.max - 1, ends.max], dtype)


def scalars(dtype):
    """Return NumPy's numbers of a dtype."""
    return [*elements(dtype)]


def gives(call):
    """Tell if NumPy makes a call."""
    try:
        call()
    except (TypeError, OverflowError, ValueError):
        return False
    return True


def calls(dtype):
    """Return the calls of an array with constants, by what differs: the function, or the place."""
    x = elements(dtype)
    constants = [*PLAIN, *scalars(dtype)]
    for func in (*COMPARISONS, *OTHERS, *OPERATORS):
        for order in (0, 1):
            found = [
                (lambda x, f=func, c=c: f(c, x)) if order else (lambda x, f=func, c=c: f(x, c))
                for c in constants
            ]
            yield f"{func.__name__} {order}", x, found
    bounds = [None, *constants]
    for place in (1, 2):
        other = 9 if dtype.kind in "iu" else 1
        found = [
            lambda x, given=((c, other) if place == 1 else (other - 8, c)): np.clip(x, *given)
            for c in bounds
        ]
        yield f"clip {place}", x, found


def wrong(dtype):
    """Yield the calls of a dtype whose results are not NumPy's."""
    for name, x, found in calls(dtype):
        found = [f for f in found if gives(lambda f=f: f(x))]
        got = ft.compile(lambda x, found=found: [f(x) for f in found], backend="llvm", warm=True)(x)
        for f, own in zip(found, got):
            numpys = f(x)
            if name.startswith(EITHER):
                own, numpys = [x if x.dtype == bool else x + 0 for x in (own, numpys)]
            if difference(own, numpys):
                yield name, f.__defaults__[-1], own, numpys


@pytest.mark.parametrize("char", "?lfd")
def test_results_are_numpys(char):
    assert not list(wrong(np.dtype(char)))


REST = sorted(set(DTYPES) - set("?lfd"))


@pytest.mark.parametrize("char", [
    pytest.param(char, marks=pytest.mark.slow if char == "i" else pytest.mark.long)
    for char in REST
])  # fmt: skip
def test_results_of_other_dtypes_are_numpys(char):
    assert not list(wrong(np.dtype(char)))


ALIKE = [0.0, -0.0, 0, False, 1, 1.0, True, *NANS, np.float64(0.0), np.float64(-0.0), np.int64(0)]
"""Constants that are equal, or that nothing equals, and are others all the same."""


def singles(order):
    """Yield what is wrong in programs of one constant, which are compiled in an order."""
    x = np.array([1.0, -0.0, 3.0])
    for func in (np.copysign, np.divide, np.add, np.multiply, np.maximum):
        for c in ALIKE[::order]:

            def f(x, func=func, c=c):
                return func(x, c)

            got = ft.compile(f, backend="llvm", warm=True)(x)
            if difference(got, f(x)):
                yield func.__name__, c, got


@pytest.mark.parametrize("order", [1, -1])
def test_constants_that_are_alike_have_other_code(order):
    assert not list(singles(order))


def test_a_loop_takes_the_constants_of_its_steps():
    x = np.array([1.0, -0.0, 3.0])
    for constants in ([0.0, -0.0] * 8, [*NANS] * 8, [1, True, 1.0] * 6, [-0.0] * 8 + [0.0] * 8):

        def f(x, constants=constants):
            for c in constants:
                x = np.copysign(x, c) + x * c
            return np.copysign(x, constants[-1])

        for backend in ("numpy", "llvm"):
            got = ft.compile(f, backend=backend, warm=True)(x)
            assert not difference(got, f(x)), (constants, backend)


def test_an_integer_that_is_an_input_rounds_as_numpys():
    x = np.zeros(3, np.float32)
    f = ft.compile(lambda x, n: x + n, backend="llvm", warm=True)
    for n in (1, 2, 3, TIE, -TIE, 2**53 + 1):
        assert not difference(f(x, n), x + n), n


def test_keys_that_are_equal_are_found(monkeypatch):
    from functier._programs.machine.loops.kernels import kernel_of, written

    monkeypatch.setattr(nests.Literal, "__eq__", tuple.__eq__)
    monkeypatch.setattr(nests.Literal, "__hash__", tuple.__hash__)
    for known in (kernel_of, written):
        known.cache_clear()
    assert list(singles(1))
    for known in (kernel_of, written):
        known.cache_clear()


def test_an_integer_that_wraps_is_found(monkeypatch):
    monkeypatch.setattr(nodes, "fits", lambda x, want: True)
    assert list(wrong(np.dtype("B")))


def test_constants_that_differ_in_the_sign_of_zero_have_code_each():
    x = np.arange(1.0, 4.0)

    def made(zero):
        c = ft.compile(lambda x: np.copysign(x + 3.25, zero), backend="llvm", warm=True)
        return [c(x) for _ in range(3)][-1]

    made(0.0)
    equal(made(-0.0), -x - 3.25)


@pytest.mark.parametrize(
    "dtype, bounds", [("u1", (-3, 100)), ("i1", (-200, 9)), ("i4", (1, 2**40))]
)
def test_a_bound_that_the_dtype_cannot_hold_bounds_nothing(dtype, bounds):
    x = np.array([2, 5, 0, 14], dtype)
    c = ft.compile(lambda x: np.clip(x, *bounds), backend="llvm", warm=True)
    equal(c(x), np.clip(x, *bounds))
