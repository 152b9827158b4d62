"""jet and taylor: what they take and return, under and around other transforms, what is refused."""

import ast
import math
import types
from pathlib import Path

import numpy as np
import pytest
from taylor_support import along, derivatives, nested

import functier as ft
from functier import scipy as ft_scipy
from functier._transforms import series
from support.basics import calls_of
from support.rows import run_each
from support.sources import tree_of

pytestmark = pytest.mark.inside(
    "The level of series takes public names alone, which its source shows."
)

X, V = np.array([0.3, 0.4, 0.5]), np.array([1.0, 2.0, -1.0])
NOTHING = np.zeros(3)


def smooth(x):
    return np.sum(np.sin(x) * np.exp(x))


def third(x):
    """The third derivative along `V`."""
    return ft.jet(smooth, (x,), ([V, NOTHING, NOTHING],))[1][2]


def of_nested(f, order, x=X, v=V):
    """The derivatives of orders 0 to `order` along a line."""
    return nested(along(f, [x], [[v]]), order)


# ---- arguments and results ----


def test_derivatives_and_coefficients():
    series = [np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 1.0]), np.array([-1.0, 2.0, 0.0])]
    value, found = ft.jet(smooth, (X,), (series,))
    scaled = [d / math.factorial(k + 1) for k, d in enumerate(series)]
    again, coefficients = ft.jet(smooth, (X,), (scaled,), factorial_scaled=False)

    np.testing.assert_allclose([value, *found], nested(along(smooth, [X], [series]), 3), rtol=1e-13)
    assert value == again == smooth(X)
    np.testing.assert_allclose(np.array(coefficients) * [1, 2, 6], found)


def test_pytrees():
    """The series have the structure of what they belong to, with a list for each array."""

    def f(p, y):
        return {"product": p["a"] * y, "pair": (np.sum(p["b"][0]), np.argmax(y))}

    primals = {"a": X, "b": (2.0,)}, 3.0
    series = {"a": [V, V], "b": ([1.0, 0.0],)}, (1.0, 0.0)
    with pytest.raises(ValueError, match="does not have the structure of primals"):
        ft.jet(f, primals, series)  # a list and a tuple
    value, found = ft.jet(f, primals, (series[0], list(series[1])))

    np.testing.assert_allclose(value["product"], 3 * X)
    np.testing.assert_allclose(found["product"], [3 * V + X, 3 * V + 2 * V])
    np.testing.assert_allclose(found["pair"][0], [1, 0])
    assert found["pair"][1] == [0, 0] and value["pair"][1] == 0


def test_order_0_and_a_constant():
    assert ft.jet(np.sin, (1.0,), ([],)) == (np.sin(1.0), [])
    assert ft.jet(lambda x: 2.0, (1.0,), ([1.0],)) == (2.0, [0.0])
    np.testing.assert_allclose(ft.taylor(lambda x: 2.0, 1.0, 2), [2, 0, 0])


def test_dtypes_stay():
    x = X.astype(np.float32)
    value, found = ft.jet(lambda x: np.exp(x) / (1 + x**2.5), (x,), ([V, V, V],))

    assert {y.dtype for y in (value, *found)} == {np.dtype(np.float32)}


def test_results_have_memory_of_their_own():
    terms = [V.copy(), V.copy()]
    _, (first, second) = ft.jet(lambda x: x, (X,), (terms,))
    first[:] = second[:] = 0

    np.testing.assert_array_equal(terms, [V, V])


def test_taylor_adds_one_number_to_all_elements():
    c = ft.taylor(lambda x: np.cumprod(x), X, 4)

    assert c.shape == (5, 3)
    np.testing.assert_allclose(
        np.polynomial.polynomial.polyval(0.1, c), np.cumprod(X + 0.1), rtol=1e-12
    )


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: ft.jet(np.sin, 1.0, [[1.0]]), TypeError, r"write jet\(f, \(x,\)"),
        (lambda: ft.jet(np.sin, (), ()), ValueError, "no primals"),
        (lambda: ft.jet(np.sin, (1,), ([1.0],)), TypeError, r"pass float\(x\)"),
        (lambda: ft.jet(np.sin, (X,), ([1.0],)), ValueError, r"the term of primals\[0\] has shape"),
        (lambda: ft.jet(np.add, (X, X), ([V], [V, V])), ValueError, "pass lists of one length"),
        (lambda: ft.jet(3, (X,), ([V],)), TypeError, "not a function"),
        (lambda: ft.jet(np.sin, (X,), ([V],), scaled=1), TypeError, "has no argument 'scaled'"),
        (lambda: ft.taylor(np.sin, 1.0, -1), ValueError, "the order is -1"),
        (lambda: ft.taylor(float, 1.0, 1), ft.ConversionError, "would lose the derivative of x"),
    ],
    ids=map(str, range(9)),
)  # fmt: skip
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_tensor_that_escapes():
    kept = []
    ft.jet(lambda x: kept.append(x) or x, (X,), ([V],))
    with pytest.raises(ft.EscapedTensorError, match=r"return it from the function\n"):
        kept[0] + 1


def test_subclasses_and_observers():
    class Angle(ft.Tensor):
        def chord(self):
            return 2 * np.sin(self / 2)

    value, (first,) = ft.jet(lambda x: x.chord(), (Angle(X),), ([V],))
    assert type(value) is type(first) is Angle
    with ft.debug.debug_nans(), pytest.raises(ft.NonFiniteError, match=r"numpy\.log made 1 NaN"):
        ft.jet(np.log, (-1.0,), ([1.0],))


# ---- other transforms ----


def test_under_other_transforms():
    x = np.stack([X, X + 0.1])
    orders = of_nested(smooth, 5)

    np.testing.assert_allclose(ft.vmap(third)(x), [third(row) for row in x])
    np.testing.assert_allclose(ft.grad(third)(X) @ V, orders[4])
    np.testing.assert_allclose(ft.jvp(third, (X,), (V,))[1], orders[4])
    np.testing.assert_allclose(ft.jet(third, (X,), ([V, NOTHING],))[1], orders[4:])
    np.testing.assert_allclose(ft.hessian(third)(X) @ V @ V, orders[5])


@pytest.mark.parametrize(
    "f",
    [
        ft.grad(smooth),
        ft.value_and_grad(smooth),
        lambda x: ft.jvp(smooth, (x,), (V,))[1],
        ft.vmap(np.sin),
        lambda x: ft.vmap(ft.grad(smooth))(np.stack([x, x * x])),
        ft.jacrev(np.sort),
        lambda x: ft.linearize(smooth, x)[1](V),
        ft.checkpoint(smooth),
        lambda x: ft.stop_gradient(x) * x,
        lambda x: ft.scan(lambda c, a: (np.sin(c * a) + c, c), x, np.arange(1.0, 4.0)),
        lambda x: ft.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1],
        lambda x: ft.vmap(lambda y: ft.cond(y > 0.35, np.sin, np.cos, y))(x),
        lambda x: ft.map(np.tan, x),
    ],
    ids=map(str, range(13)),
)
def test_around_other_transforms(f):
    def flat(x):
        return ft.ravel_pytree(f(x))[0]

    for found, expected in zip(derivatives(flat, X, V, 3), of_nested(flat, 3), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", None])
def test_compile(backend):
    pytest.importorskip("llvmlite")
    options = {"backend": backend} if backend else {}
    compiled = ft.compile(third, **options)

    for x in (X, X + 0.1, X * 2):
        np.testing.assert_allclose(compiled(x), third(x), rtol=1e-13)
    inside = ft.compile(smooth, **options)
    np.testing.assert_allclose(derivatives(inside, X, V, 3), of_nested(smooth, 3), rtol=1e-13)


def writes(x):
    y = x * 1.0
    y[0] = x[1] * x[2]
    y[1:] += np.sin(y[0])
    mask = y > 0.5
    mask[0] = True
    y[mask] *= 2
    return y


def test_writes():
    for found, expected in zip(derivatives(writes, X, V, 3), of_nested(writes, 3), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_array_that_is_written_to_later_is_not_read_again():
    factor = np.array([1.0, 2.0, 3.0])

    def f(x):
        y = np.arctan2(x, factor) * factor
        factor[:] = 0
        return y

    found = derivatives(f, X, V, 4)
    factor[:] = [1, 2, 3]
    expected = derivatives(lambda x: np.arctan2(x, factor) * factor, X, V, 4)
    np.testing.assert_array_equal(found, expected)


def test_adopted_code():
    module = types.ModuleType("decay")
    exec("import math\ndef f(x):\n    return math.exp(-x) * math.sin(x) + float(x)", vars(module))
    with ft.adopt(module):
        found = ft.taylor(module.f, 0.3, 3)
    np.testing.assert_allclose(found, ft.taylor(lambda x: np.exp(-x) * np.sin(x) + x, 0.3, 3))


# ---- rules of users, and solvers ----


@ft.custom_jvp
def twice_as_steep(x):
    return np.sin(x)


@twice_as_steep.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    slope = 2 * np.cos(x)
    slope += 0  # a rule may write
    return twice_as_steep(x), slope * t


@ft.custom_vjp
def thrice_as_steep(x):
    return np.sin(x)


thrice_as_steep.defvjp(lambda x: (np.sin(x), x), lambda x, g: (3 * g * np.cos(x),))


class Cubed(ft.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 5 * g * x**2

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 5 * t * x**2


def newton(f, x):
    for _ in range(12):
        x = x - f(x) / ft.grad(f)(x)
    return x


def cube_root(a):
    return ft.custom_root(lambda x: x**3 - a, 1.0, newton, lambda g, y: y / g(1.0))


def linear_solution(a):
    def matvec(x):
        return np.stack([a * x[0] + x[1], a * a * x[1]])

    def solve(f, b):
        return np.linalg.solve(ft.jacfwd(f)(b), b)

    return ft.custom_linear_solve(matvec, np.stack([a, np.sin(a)]), solve, solve)


@pytest.mark.parametrize(
    "f",
    [
        twice_as_steep, thrice_as_steep, Cubed.apply, cube_root, linear_solution,
        lambda x: np.exp(twice_as_steep(x * x)) * x,
        lambda x: ft.vmap(cube_root)(np.stack([x, 2 * x])),
        lambda x: ft.vmap(twice_as_steep)(np.stack([x, 2 * x])),
    ],
    ids=map(str, range(8)),
)  # fmt: skip
def test_custom_rules_and_solvers(f):
    for found, expected in zip(derivatives(f, 0.7, 1.0, 4), of_nested(f, 4, 0.7, 1.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_functions_of_scipy_that_solve():
    optimize = pytest.importorskip("scipy.optimize") and ft_scipy.optimize

    def root(a):
        return optimize.brentq(lambda x: x**3 - a, 0, 5)

    def least(a):
        return optimize.minimize(lambda x: np.sum((x - a) ** 2 + x**4), np.array([1.0])).x[0]

    def area(a):
        return ft_scipy.integrate.quad(lambda x: np.exp(-a * x * x), 0, 1)[0]

    for f in (root, least):
        np.testing.assert_allclose(
            derivatives(f, 0.7, 1.0, 4), of_nested(f, 4, 0.7, 1.0), rtol=1e-9
        )
    with pytest.raises(ft.ConversionError, match="no Taylor series; write nested jvp"):
        derivatives(area, 0.7, 1.0, 2)


# ---- corners ----


def test_equal_eigenvalues():
    """The vectors may turn, and the values split, where no rule of forward mode sees it."""
    turning, still = np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros((2, 2))
    for f in (np.linalg.eigvalsh, np.linalg.svdvals, lambda a: np.linalg.eigh(a)[1]):
        with pytest.raises(np.linalg.LinAlgError, match="no Taylor series beyond the first"):
            ft.jet(f, (np.eye(2),), ([still, turning],))
    first = ft.jet(np.linalg.eigvalsh, (np.eye(2),), ([np.diag([1.0, 0.0])],))[1][0]
    assert list(first) == [0.5, 0.5]  # equal values share it, as with jvp
    with pytest.raises(np.linalg.LinAlgError, match="no Taylor series beyond the first"):
        ft.compile(lambda a: ft.jet(np.linalg.eigvalsh, (a,), ([still, turning],))[1])(np.eye(2))


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (np.abs, 0.0, [0, 0, 0, 0]),
        (lambda x: np.maximum(x, 0.0) * x, 0.0, [0, 0, 1, 0]),
        (lambda x: np.sqrt(x * x), 0.0, [0, 0, np.nan]),  # a chosen zero has no derivative
        (lambda x: x**3, 0.0, [0, 0, 0, 6]),
        (lambda x: x**2.0, 0.0, [0, 0, 2, 0]),
        (lambda x: x**0, 0.0, [1, 0, 0, 0]),
        (lambda x: np.power(x, np.array([0.0, 1.0, 3.0])).sum(), 0.0, [1, 1, 0, 6]),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, [0, 0, 0, 0]),
        (lambda x: np.where(x > 0, np.log(x), 0.0), 0.0, [0, 0, 0, 0]),
        (np.sinc, 0.0, [1, 0, -(np.pi**2) / 3, 0]),
        (lambda x: np.copysign(x, -0.0) + np.copysign(x, 0.0), 2.0, [0, 0, 0, 0]),
        (lambda x: np.floor(x) * x, 1.5, [1.5, 1, 0, 0]),
    ],
    ids=map(str, range(12)),
)
def test_kinks(f, x, expected):
    with np.errstate(all="ignore"):
        order = len(expected) - 1
        np.testing.assert_allclose(derivatives(f, x, 1.0, order), expected, atol=1e-14)
        np.testing.assert_allclose(of_nested(f, order, x, 1.0), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["level", "recurrences", "simple"])
def test_the_level_takes_public_names_alone(name):
    """It is a kind of level as an outsider would write it."""
    tree = tree_of(Path(series.__file__).with_name(f"{name}.py"))
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level > 1}
    private = {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")
    }

    assert modules <= {"protocol", "errors"}
    assert private <= {"_fields"}


@pytest.mark.parametrize(
    "f", [np.abs, lambda x: np.sqrt(x * x), lambda x: np.hypot(x, 2 * x)], ids=map(str, range(3))
)
def test_the_root_of_another_norm_is_not_flat(f):
    with np.errstate(all="ignore"):
        assert not np.isfinite(derivatives(lambda x: np.sqrt(f(x)), 0.0, 1.0, 2)[1])
        assert not np.isfinite(ft.jvp(lambda x: np.sqrt(f(x)), (0.0,), (1.0,))[1])


# ---- cost ----


def network(x):
    for i in range(4):
        x = np.tanh(np.random.default_rng(i).normal(size=(20, 20)) / 5 @ x)
    return np.sum(np.sin(x) * np.exp(x))


def test_order_10_costs_little_more_than_twice_order_5():
    x, v = np.full(20, 0.3), np.ones(20)
    low, high = [calls_of(lambda n=n: derivatives(network, x, v, n)) for n in (5, 10)]

    assert high < 3.5 * low
    assert high < 30_000


def test_towers_are_climbed_once():
    """The rule of one Bessel function calls two others: without a memory it is 2^20 calls."""
    special = pytest.importorskip("scipy.special")

    assert calls_of(lambda: ft.taylor(special.j0, 1.3, 20)) < 400_000


# ---- drawn programs ----

UNARY = [np.sin, np.cos, np.exp, np.tanh, np.arctan, np.sqrt, np.log, np.square, np.reciprocal]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.hypot, np.arctan2]
LINEAR = [np.cumsum, np.flip, np.sort, lambda x: np.roll(x, 1), lambda x: x[::-1] * x[0]]


def draw(seed):
    """A program of 8 operations, with values between 0.5 and 2 so that all of them are defined."""
    rng = np.random.default_rng(seed)
    steps = []
    for n in range(8):
        kind = [UNARY, BINARY, LINEAR][rng.integers(3)]
        steps.append((kind, kind[rng.integers(len(kind))], rng.integers(0, n + 1, size=2)))

    def program(x):
        values = [x]
        for kind, func, (i, j) in steps:
            y = func(values[i], values[j]) if kind is BINARY else func(values[i])
            values.append(1.25 + 0.75 * np.tanh(y))
        return np.stack(values[-3:])

    return program


def check_program(seed):
    rng = np.random.default_rng(seed)
    f, x = draw(seed), rng.uniform(0.6, 1.9, 3)
    series = [rng.normal(size=3) for _ in range(4)]
    value, terms = ft.jet(f, (x,), (series,))
    for found, expected in zip([value, *terms], nested(along(f, [x], [series]), 4), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "part", [0, *[pytest.param(n, marks=pytest.mark.slow) for n in range(1, 11)]]
)
def test_drawn_programs(part):
    run_each({str(n): n for n in range(20 * part, 20 * part + 20)}, check_program)
