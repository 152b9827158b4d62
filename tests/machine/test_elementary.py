"""Elementary functions in machine code: errors in units in the last place, special values."""

import math
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine import elementary
from functier._programs.machine.elementary import ELEMENTWISE, coefficients, rule_of
from support import polynomials
from support.kernels import SLACK, kernel, kernels, ulps

pytestmark = [
    pytest.mark.inside(
        "Machine code of each function is called alone, with its coefficients changed."
    ),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

DRAWS = 400
EDGES = np.array([
    0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-320, 2.2250738585072014e-308, -1e-300,
    1e-17, -1e-9, 0.25, 0.5, -0.5, 1.0, -1.0, 1 - 2**-53, 1 + 2**-52, -1 - 2**-52, 2.0, -3.0, 10.0,
    27.0, 1000.0, 709.7, 709.79, 710.4, 710.5, -710.4, -708.0, -745.1, -745.2, -746.0, -800.0,
    1023.5, 1024.0, -1022.5, -1074.5, -1075.0, 1e5, 3e7, 2.0**30, 1e10, 1e22, -1e300,
    1.7976931348623157e308, np.pi / 2, np.pi, 1e6 * np.pi
])  # fmt: skip

UNIT, FEW, TINY = (-1, 1), (-50, 50), "tiny"
ONE = {
    np.exp: [UNIT, (-745, 709)], np.exp2: [UNIT, (-1074, 1024)], np.expm1: [UNIT, FEW, TINY],
    np.tanh: [UNIT, (-25, 25), TINY], np.sinh: [UNIT, (-710, 710), TINY], np.cosh: [UNIT, FEW],
    np.log: [(0.5, 2), "positive"], np.log2: [(0.5, 2), "positive"],
    np.log10: [(0.5, 2), "positive"],
    np.log1p: [(-0.99, 1), "positive", TINY], np.arctan: [(-3, 3), "any"],
    np.arcsin: [UNIT, TINY], np.arccos: [UNIT, (0.9, 1)], np.cbrt: ["any", "positive"],
    np.sin: [FEW, (-1e6, 1e6), (-1e9, 1e9), TINY, "any", "quarters"],
    np.cos: [FEW, (-1e6, 1e6), (-1e9, 1e9), "any", "quarters"],
    np.tan: [FEW, (-1e6, 1e6), (-1e9, 1e9), TINY, "any", "quarters"],
}  # fmt: skip
TWO = {
    np.power: [((0.1, 10), (-300, 300)), ((0.99, 1.01), (-5e4, 5e4)), ("positive", UNIT)],
    np.arctan2: [(UNIT, UNIT), ("any", "any"), ("subnormal", "subnormal")],
    np.hypot: [(UNIT, UNIT), ("any", "any"), ("subnormal", "subnormal")],
    np.logaddexp: [((-500, 500), (-500, 500)), ((1, 9), (1, 9))],
}
LOOSER = {np.tanh: 3.0}


def drawn(rng, kind, dtype, n=DRAWS):
    """Random arguments: of an interval, or even in their logarithms."""
    top = np.log(float(np.finfo(dtype).max)) - 1
    if isinstance(kind, tuple):
        return rng.uniform(*kind, n).astype(dtype)
    signs = rng.choice([-1.0, 1.0], n)
    if kind == "quarters":
        return (np.rint(np.exp(rng.uniform(0, top / 9, n))) * (np.pi / 2)).astype(dtype)
    if kind == "subnormal":
        tiny = float(np.finfo(dtype).smallest_subnormal)
        return (signs * rng.integers(1, 1 << 20, n) * tiny).astype(dtype)
    low, high = {"any": (-top, top), "positive": (-top - 10, top), TINY: (-27, 0)}[kind]
    return (np.exp(rng.uniform(low, high, n)) * (1 if kind == "positive" else signs)).astype(dtype)


def exact(function, *xs):
    """The function in a wider dtype."""
    wide = np.float64 if xs[0].dtype == np.float32 else np.longdouble
    return function(*(x.astype(wide) for x in xs))


def worst(function, run, rng, dtype, n=DRAWS):
    """The largest error over the intervals of a function."""
    errors = [0.0]
    for kinds in (ONE | TWO)[function]:
        kinds = kinds if function in TWO else (kinds,)
        xs = [drawn(rng, kind, dtype, n) for kind in kinds]
        errors.append(ulps(run(*xs), exact(function, *xs)).max())
    return max(errors)


def compiled(functions, dtype, width=4, **options):
    rules = {f.__name__: (rule_of(f), [dtype] * f.nin) for f in functions}
    return kernels(rules, width, **options)


def wrong(functions, dtype, rng, n=DRAWS, **options):
    """The functions whose errors are too large."""
    made = compiled(functions, dtype, **options)
    errors = {f: worst(f, made[f.__name__], rng, dtype, n) for f in functions}
    return {f.__name__: e for f, e in errors.items() if not e <= LOOSER.get(f, 2.0) + SLACK}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors_are_at_most_two_units(dtype):
    assert not wrong([*ONE, *TWO], dtype, np.random.default_rng(5))


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [0, 8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors_of_many_draws(dtype, width, seed):
    rng = np.random.default_rng(seed)
    assert not wrong([*ONE, *TWO], dtype, rng, 200_000, width=width, outlined=seed == 1)


def differences(function, run, xs):
    """The operands at which a kernel is not NumPy's function, up to a few units."""
    expected = function(*xs)
    actual = run(*xs)
    assert actual.dtype == expected.dtype
    near = np.abs(actual - expected, where=np.isfinite(actual - expected), out=np.ones_like(actual))
    scale = np.maximum(np.abs(expected), np.abs(xs[0])) if "log" in function.__name__ else expected
    near = near <= 4 * np.abs(np.spacing(scale))
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected)) | near
    same &= (np.signbit(actual) == np.signbit(expected)) | np.isnan(expected)
    return [(*(x[i] for x in xs), actual[i], expected[i]) for i in np.flatnonzero(~same)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_values_are_numpys(dtype):
    made = compiled([*ONE, *TWO], dtype)
    edges = np.unique(EDGES.astype(dtype))
    edges = np.concatenate([edges, [-0.0]]).astype(dtype)
    pairs = [x.ravel() for x in np.meshgrid(edges, edges)]
    for function in [*ONE, *TWO]:
        found = differences(
            function, made[function.__name__], pairs if function in TWO else [edges]
        )
        assert not found, (function.__name__, found[:5])


def test_the_hardest_angle_is_reduced_exactly():
    """The float64 that is nearest to a multiple of pi/2 (Muller, "Elementary Functions", 11)."""
    hardest = np.array([6381956970095103 * 2.0**797])
    expected = np.array([np.longdouble("-4.68716592425462761112e-19")])

    assert ulps(kernel(rule_of(np.cos), "d")(hardest), expected).max() <= 1
    tangent = abs(kernel(rule_of(np.tan), "d", width=0)(-hardest))
    assert ulps(tangent, abs(1 / expected)).max() <= 1


def test_a_literal_exponent_is_a_short_power():
    xs = np.concatenate([EDGES, np.random.default_rng(1).uniform(-9, 9, 500)])
    for exponent in (0, 1, 2, 3, 4, -1, 0.5, 2.5, -2):
        run = kernel(lambda e, x: rule_of(np.power)(e, x, e.constant(exponent)), "d")
        wide = exact(np.power, xs, np.array(exponent, float))
        if exponent == 0.5:  # NumPy's is sqrt
            wide = exact(np.sqrt, xs)
        assert ulps(run(xs), wide).max() <= 2.0 + SLACK, exponent


def test_functions_of_the_module_are_written_once():
    def many(e, x):
        for _ in range(40):
            x = rule_of(np.exp)(e, rule_of(np.sin)(e, x))
        return x

    text = kernel(many, "d", outlined=True)
    xs = np.linspace(-2, 2, 9)
    expected = xs
    for _ in range(40):
        expected = np.exp(np.sin(expected))
    np.testing.assert_allclose(text(xs), expected, rtol=1e-13)


# ---- coefficients -----------------------------------------------------------------------------

LONG = {"ERFC": [pytest.mark.slow]}
NAMES = [pytest.param(name, marks=LONG.get(name, [])) for name in polynomials.SPECS]


@pytest.mark.parametrize("name", NAMES)
def test_coefficients_are_those_of_the_fit(name):
    expected = polynomials.coefficients(name)

    np.testing.assert_allclose(getattr(coefficients, name), expected, rtol=1e-15)


def test_constants_are_sums_of_parts():
    for name, expected in polynomials.constants().items():
        assert np.atleast_1d(getattr(coefficients, name)).tolist() == list(expected), name


FAULTS = [
    ("exponentials", "EXP", np.exp), ("exponentials", "EXP", np.tanh),
    ("exponentials", "EXP2", np.exp2), ("exponentials", "LN2", np.exp),
    ("trigonometry", "SIN", np.sin), ("trigonometry", "COS", np.cos),
    ("trigonometry", "HALF_PI", np.tan), ("exponentials", "LOG", np.log),
    ("exponentials", "LN2", np.log1p), ("exponentials", "LOG10_2", np.log10),
    ("trigonometry", "ARCTAN", np.arctan), ("trigonometry", "ARCSIN", np.arcsin),
    ("trigonometry", "HALF_PI", np.arccos), ("exponentials", "POWER", np.power),
    ("exponentials", "TWO_THIRDS", np.power),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name", "function"), FAULTS)
def test_a_slightly_wrong_coefficient_is_found(monkeypatch, module, name, function):
    place = getattr(elementary, module)
    first, *rest = getattr(place, name)
    monkeypatch.setattr(place, name, (first * (1 + 1e-13), *rest))

    assert wrong([function], np.float64, np.random.default_rng(5))


# ---- SciPy ------------------------------------------------------------------------------------


def scipy_rows(special):
    """Functions of SciPy with intervals, where SciPy itself is within a relative 1e-13."""
    return {
        special.erf: [(-3, 3)], special.erfc: [(-3, 3)], special.ndtr: [(-3, 3)],
        special.expit: [(-30, 30)], special.logit: [(0, 1)], special.log_expit: [(-30, 30)],
        special.xlogy: [(0, 1), (0, 9)],
        special.expm1: [FEW], special.log1p: [(0, 9)], special.exp2: [FEW], special.cbrt: [FEW],
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_scipy(dtype):
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(3)
    rows = scipy_rows(special)
    made = compiled(rows, dtype)
    rtol = 2e-13 if dtype == np.float64 else 4e-7
    for function, ranges in rows.items():
        xs = [drawn(rng, r, dtype) for r in ranges]
        wide = function(*(x.astype(np.float64) for x in xs))
        actual = made[function.__name__](*xs)
        np.testing.assert_allclose(actual, wide, rtol=rtol, err_msg=function.__name__)
        assert actual.dtype == dtype
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0], dtype)
    for function in rows:
        xs = [x.ravel() for x in np.meshgrid(*[ends] * function.nin)]
        assert not differences(function, made[function.__name__], xs), function.__name__


def test_error_functions_against_those_of_c():
    special = pytest.importorskip("scipy.special")
    made = compiled([special.erf, special.erfc], np.float64)
    xs = np.random.default_rng(4).uniform(-6, 26, 3000)
    for name in ("erf", "erfc"):
        expected = np.array([getattr(math, name)(x) for x in xs]).astype(np.longdouble)
        assert ulps(made[name](xs), expected).max() <= 3


@pytest.mark.slow
def test_functions_of_scipy_to_two_units():
    special, mpmath = pytest.importorskip("scipy.special"), pytest.importorskip("mpmath")
    exact_ones = {
        special.erf: (mpmath.erf, (-6, 6)), special.erfc: (mpmath.erfc, (-6, 27)),
        special.ndtr: (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, (-38, 9)),
        special.expit: (lambda x: 1 / (1 + mpmath.exp(-x)), (-740, 40)),
        special.logit: (lambda x: mpmath.log(x / (1 - x)), (0, 1)),
        special.log_expit: (lambda x: -mpmath.log1p(mpmath.exp(-x)), (-40, 700)),
    }  # fmt: skip
    made = compiled(exact_ones, np.float64, width=8)
    rng = np.random.default_rng(8)
    for function, (reference, (low, high)) in exact_ones.items():
        xs = np.concatenate([rng.uniform(low, high, 5000), rng.uniform(max(low, -1), 1, 5000)])
        with mpmath.workdps(40):
            values = [mpmath.nstr(reference(mpmath.mpf(float(x))), 25) for x in xs]
        gaps = ulps(made[function.__name__](xs), np.array([np.longdouble(v) for v in values]))
        assert gaps.max() <= 2 + SLACK, (function.__name__, xs[gaps.argmax()], gaps.max())


def test_scipy_is_not_imported_for_its_rules():
    code = (
        "import sys, numpy as np, functier._programs.machine.elementary as e\n"
        "assert e.rule_of(np.matmul) is None and 'scipy' not in sys.modules\n"
        "assert 'llvmlite' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_table_knows_loops():
    double, single, half = map(np.dtype, (np.float64, np.float32, np.float16))
    assert elementary.knows(np.exp, [double]) and elementary.knows(np.exp, [single])
    assert not elementary.knows(np.exp, [half]) and not elementary.knows(
        np.exp, [np.dtype(complex)]
    )
    assert not elementary.knows(np.matmul, [double, double])
    assert np.exp in ELEMENTWISE
