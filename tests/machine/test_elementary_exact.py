"""Arithmetic, logic, rounding and remainders in machine code: NumPy's to the last bit."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.elementary import ELEMENTWISE, ROUNDED, rule_of
from support.kernels import kernels

pytestmark = [
    pytest.mark.inside("Machine code of each function is called alone, and is exact."),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

EXACT = [f for f in ELEMENTWISE if f not in ROUNDED and getattr(np, f.__name__, None) is f]
EXACT.remove(np.where)
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -3.0, 7.0, -7.25, np.inf, -np.inf, np.nan,
    5e-324, -1e-310, 1e300, -1e20, 1e16, 4503599627370497.5, 0.1, -0.3, 1.7976931348623157e308,
]  # fmt: skip
COMMON, ALL = "?bLlfd", "?bBhHiIlLqQfd"
SIGNLESS_ZEROS = {np.fmax, np.fmin}
"""NumPy's own result depends on the length of the array."""


def operands(character):
    """Telling operands of a dtype."""
    dtype = np.dtype(character)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        return np.array(FLOATS).astype(dtype)
    limits, bits = np.iinfo(dtype), 8 * dtype.itemsize
    found = {limits.min, limits.max, limits.max - 1, *range(4), 7, bits - 1, bits, bits + 1}
    return np.array(sorted(found | ({-1, -2, -7} if limits.min else set())), dtype)


def loops(function, characters):
    """The loops of a function of some dtypes."""
    found = [loop.split("->")[0] for loop in function.types]
    return [loop for loop in found if set(loop) <= set(characters)]


def same(function, actual, expected):
    """Equal lanes, with equal signs of zeros."""
    equal = (actual == expected) | ((actual != actual) & (expected != expected))
    if expected.dtype.kind == "f" and function not in SIGNLESS_ZEROS:
        equal &= (np.signbit(actual) == np.signbit(expected)) | (actual != actual)
    return equal


def differences(functions, characters, width, outlined=False):
    """The loops in which kernels differ from NumPy."""
    rows = {
        f"{f.__name__}_{i}": (f, (rule_of(f), list(loop)))
        for f in functions
        for i, loop in enumerate(loops(f, characters))
    }
    made = kernels({name: rule for name, (_, rule) in rows.items()}, width, outlined)
    for name, run in made.items():
        function = rows[name][0]
        xs = [x.ravel() for x in np.meshgrid(*map(operands, (d.char for d in run.dtypes)))]
        expected, actual = function(*xs), run(*xs)
        assert actual.dtype == expected.dtype, (function, run.dtypes)
        equal = same(function, actual, expected)
        if function is np.reciprocal and run.dtypes[0].kind in "iu":
            assert run.status == 1  # a zero
            equal |= xs[0] == 0
        else:
            assert run.status == 0
        if not equal.all():
            i = np.flatnonzero(~equal)[0]
            yield function.__name__, run.dtypes, [x[i] for x in xs], actual[i], expected[i]


def test_values_are_numpys():
    assert not list(differences(EXACT, COMMON, 4))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "outlined"), [(0, False), (2, False), (8, True), (16, False)])
def test_values_are_numpys_in_every_loop(width, outlined):
    assert not list(differences(EXACT, ALL, width, outlined))


def test_a_wrong_rule_is_found(monkeypatch):
    def negated(e, a, b):
        return e.select(e.compare("lt", a, b), b, a)  # a NaN does not win

    monkeypatch.setitem(ELEMENTWISE, np.maximum, negated)
    assert list(differences([np.maximum], "d", 4))


def test_random_remainders_are_exact():
    rng = np.random.default_rng(2)
    functions = np.fmod, np.remainder, np.floor_divide
    made = kernels({f.__name__: (rule_of(f), "dd") for f in functions})
    a = rng.normal(size=3000) * 10.0 ** rng.integers(-30, 30, 3000)
    b = rng.normal(size=3000) * 10.0 ** rng.integers(-8, 8, 3000)
    for name, run in made.items():
        for x, y in ((a, b), (np.rint(a), np.rint(b)), (b * np.rint(b), b)):
            function = getattr(np, name)
            assert same(function, run(x, y), function(x, y)).all(), name


def test_where_selects():
    run = kernels({"where": (rule_of(np.where), "?dd")})["where"]
    condition, x = np.array([True, False, True]), np.array([1.0, np.nan, -0.0])

    np.testing.assert_array_equal(run(condition, x, 2.0), np.where(condition, x, 2.0))


@pytest.mark.parametrize(("character", "width"), [("b", 4), ("l", 0), ("L", 4)])
def test_powers_of_integers(character, width):
    dtype = np.dtype(character)
    bases, exponents = operands(character), np.array([0, 1, 2, 3, 7, 30, 63, 64, 100], dtype)
    pairs = [x.ravel() for x in np.meshgrid(bases, exponents)]

    def short(exponent):
        def rule(e, x):
            return rule_of(np.power)(e, x, e.constant(exponent, dtype))

        return rule

    rules = {f"by{k}": (short(k), [dtype]) for k in exponents.tolist()}
    made = kernels({"power": (rule_of(np.power), [dtype, dtype]), **rules}, width)
    assert (made["power"](*pairs) == np.power(*pairs)).all() and not made["power"].status
    for k in exponents:
        assert (made[f"by{k}"](bases) == np.power(bases, k)).all()
    if dtype.kind == "i":  # NumPy raises
        made["power"](bases, np.array([-1], dtype))
        assert made["power"].status == 1


def test_a_product_is_rounded_before_it_is_added():
    """x*x - y*y is 0 where x is y, whatever instructions the processor has."""

    def rule(e, x, y):
        return rule_of(np.subtract)(e, rule_of(np.multiply)(e, x, x), rule_of(np.multiply)(e, y, y))

    x = np.random.default_rng(0).normal(size=100)
    assert (kernels({"f": (rule, "dd")})["f"](x, x) == 0).all()
