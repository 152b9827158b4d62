"""Values and derivatives beside JAX's, where JAX is installed (the extra ``bench``)."""

import inspect
import re
from importlib import import_module

import numpy as np
import optree
import pytest

import functier as ft
import samples
from support.basics import silent
from support.checks import directions, function_of

jax = pytest.importorskip("jax", reason="JAX is in the extra bench")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
import_module("jax.test_util")

OWNERS = {"numpy": jnp, "numpy.linalg": jnp.linalg, "numpy.fft": jnp.fft}

OTHERWISE = {
    r"sorting\.(unique|union|setxor|setdiff1d-d\[3\],d\[2\]$)": "no gradient through equal values",
    r"histogram\.histogram(-d\[2,3\]-3|2d-d\[7\],d\[7\](-3|,d\[4\])|dd-d\[7,3\])": (
        "counts are floating-point numbers"
    ),
    r"lstsq\.lstsq-d\[(2,2\],d\[2\]|2,4\]|4,3\])": "residuals where the rank is not full, too",
    r"polynomial\.polydiv-.\[4\]": "leading zeros stay",
    r"composite\.logspace-.*d\[1\]": "a base of one element is a scalar",
    r"elementwise\.power-d\[4\],d\[4\]|composite\.vander-.*increasing|polynomial\.polyfit": (
        "NaN from 0 to the power of 0"
    ),
    r"eig\.eigvals-d\[2,2,2\]|polynomial\.(roots-d\[4\]#2|poly-d\[3,3\])": "always complex",
    r"fft\.fftn(-.*axes=\(\)|ofanumber)": "complex also where nothing is transformed",
}
"""Rows for which JAX has another answer, and which it is."""


def counterpart(func):
    """JAX's function of the name and the module of NumPy's, or None."""
    name = getattr(func, "__name__", "")
    for module, owner in OWNERS.items():
        numpy_owner = np
        for part in module.split(".")[1:]:
            numpy_owner = getattr(numpy_owner, part)
        if getattr(numpy_owner, name, None) is func:
            return getattr(owner, name, None)
    return None


def comparable(row):
    """JAX differentiates real functions alike; it has another convention for complex ones."""
    kinds = {x.dtype.char for x in row.leaves}
    return kinds and kinds <= set("d?lq") and row.order and row.differentiated()


ROWS = {
    name: row
    for name, row in samples.named().items()
    if comparable(row) and counterpart(row.func) is not None
}


def test_there_is_something_to_compare():
    assert len(ROWS) > 300


def marked(name):
    for pattern, reason in OTHERWISE.items():
        if re.match(pattern, name):
            return pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=f"JAX: {reason}"))
    return name


@pytest.mark.parametrize("name", [marked(name) for name in ROWS])
def test_value_and_gradient(name):
    row = ROWS[name]
    theirs = counterpart(row.func)
    f, points = function_of(row)
    own = type(row)(theirs, row.args, row.kwargs, row.diff, row.order)
    g, _ = function_of(own)
    with silent():
        value, pullback = ft.vjp(f, *points)
        try:
            expected, their_pullback = jax.vjp(g, *map(jnp.asarray, points))
        except Exception as error:
            pytest.skip(f"JAX does not do this: {type(error).__name__}")
        cotangents = list(directions(value, 100))
        close(value, expected)
        # JAX pulls a complex cotangent back without conjugating, PyTorch and functier with.
        given = [jnp.conjugate(jnp.asarray(c)) for c in cotangents]
        close(pullback(cotangents), their_pullback(given))


def close(actual, expected):
    actual, expected = optree.tree_leaves(actual), jax.tree_util.tree_leaves(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-7, atol=1e-9)


# ---- collectives ----

ZS = np.sin(np.arange(24.0)).reshape(2, 3, 4)


def both(f, inner, between=lambda g: g):
    """A function of examples of two named axes."""
    return f.vmap(between(f.vmap(inner, axis_name="j")), axis_name="i")


def gathering(lax, names, **options):
    return lambda x: lax.all_gather(x * x, names, **options)


COLLECTIVES = {
    "gradient inside": lambda f, lax, xp: both(
        f, f.grad(lambda x: xp.sum(lax.psum(x * x, "i") * xp.cos(x)))
    ),
    "gradient of a sum alone": lambda f, lax, xp: both(
        f, f.grad(lambda x: xp.sum(lax.psum(x * x, ("j", "i"))))
    ),
    "gradient between": lambda f, lax, xp: both(
        f,
        lambda x: lax.psum(xp.sin(x), "i") / lax.pmean(xp.exp(x), "j"),
        lambda g: f.grad(lambda x: xp.sum(g(x) ** 2)),
    ),
    "gradient outside": lambda f, lax, xp: f.grad(
        lambda x: xp.sum(both(f, lambda x: x**3 * lax.pmean(x, "j"))(x))
    ),
    "forward inside": lambda f, lax, xp: both(
        f, lambda x: f.jvp(lambda x: lax.psum(x * x, "j"), (x,), (xp.cos(x),))[1]
    ),
    "jacrev inside": lambda f, lax, xp: both(f, f.jacrev(lambda x: lax.psum(xp.sin(x), "i"))),
    "jacfwd inside": lambda f, lax, xp: both(f, f.jacfwd(lambda x: lax.psum(xp.sin(x), "i"))),
    "hessian inside": lambda f, lax, xp: both(
        f, f.hessian(lambda x: xp.sum(lax.psum(x**3, "i") * x))
    ),
    "extremes": lambda f, lax, xp: both(f, lambda x: lax.pmax(x, "i") - lax.pmin(x, ("i", "j"))),
    "index and size": lambda f, lax, xp: both(
        f, lambda x: x * lax.axis_index("j") + lax.axis_index("i") * lax.psum(1, ("i", "j"))
    ),
    "gather": lambda f, lax, xp: both(f, gathering(lax, "i")),
    "gather last": lambda f, lax, xp: both(f, gathering(lax, "j", axis=1)),
    "gather tiled": lambda f, lax, xp: both(f, gathering(lax, "j", tiled=True)),
    "gradient of gather": lambda f, lax, xp: both(
        f, f.grad(lambda x: xp.sum(lax.all_gather(x * x, "i", axis=1) @ xp.cos(xp.arange(2.0))))
    ),
    "scatter": lambda f, lax, xp: both(f, lambda x: lax.psum_scatter(x[:3], "j")),
    "scatter tiled": lambda f, lax, xp: both(f, lambda x: lax.psum_scatter(x, "i", tiled=True)),
    "gradient of scatter": lambda f, lax, xp: both(
        f, f.grad(lambda x: xp.sum(lax.psum_scatter(xp.sin(x), "i", tiled=True) ** 2))
    ),
    "a tree": lambda f, lax, xp: both(f, lambda x: lax.pmean({"a": x, "b": (x[0], 2.0)}, "i")),
}
"""Functions of an array, for the transforms `f`, the collectives `lax` and the arrays `xp`.

JAX's vmap cannot gather along two names ("axis size doesn't match").
"""


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(name):
    theirs = COLLECTIVES[name](jax, jax.lax, jnp)
    close(COLLECTIVES[name](ft, ft, np)(ZS), theirs(jnp.asarray(ZS)))


# ---- checkers ----


def test_checkers_have_the_arguments_of_jaxs():
    theirs = list(inspect.signature(jax.test_util.check_grads).parameters)
    ours = list(inspect.signature(ft.testing.check_grads).parameters)
    assert [n for n in theirs if n != "err_msg"] == ours


@pytest.mark.parametrize("factor", [1.0, 1.01])
@pytest.mark.parametrize(("order", "modes"), [(1, ["rev"]), (2, ["rev"])])
def test_check_grads_decides_as_jaxs(factor, order, modes):
    def planted(f, xp):
        @f.custom_vjp
        def sine(x):
            return xp.sin(x)

        sine.defvjp(lambda x: (xp.sin(x), x), lambda x, g: (g * xp.cos(x) * factor,))
        return sine

    x = np.linspace(0.5, 1.0, 3)
    for check, f in (
        (jax.test_util.check_grads, planted(jax, jnp)),
        (ft.testing.check_grads, planted(ft, np)),
    ):
        if factor == 1.0:
            check(f, (x,), order, modes)
        else:
            with pytest.raises(AssertionError):
                check(f, (x,), order, modes)


@pytest.mark.parametrize(
    "name", ["log of negative", "finite", "0 / 0", "gradient at 0", "batch", "mean"]
)
def test_nans_are_found_where_jaxs_are(name):
    def run(f, xp):
        x = xp.asarray([-1.0, 0.0, 4.0])
        return {
            "log of negative": lambda: f.vmap(lambda v: xp.log(v + 0.5))(x),
            "finite": lambda: f.grad(lambda v: xp.sum(xp.sqrt(v + 2.0)))(x),
            "0 / 0": lambda: f.grad(lambda v: xp.sum(v / v))(x),
            "gradient at 0": lambda: f.grad(lambda v: xp.sum(xp.sqrt(v * v) * 0.0))(x),
            "batch": lambda: f.vmap(f.grad(lambda v: xp.sqrt(v)))(x[1:]),
            "mean": lambda: f.grad(lambda v: xp.mean(v))(x),
        }[name]()

    found = []
    for f, xp, on in (
        (jax, jnp, lambda: jax.debug_nans(True)),
        (ft, np, lambda: ft.debug.debug_nans(infs=False)),
    ):
        with on(), np.errstate(all="ignore"):
            try:
                run(f, xp)
            except FloatingPointError:
                found.append(f)
    assert found in ([], [jax, ft])


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 8.0, 300.0, 1e5])
def test_gamma_numbers_follow_their_shape_as_jaxs(a):
    numbers = ft.jvp(lambda b: ft.random.default_rng(0).standard_gamma(b, 500), (a,), (1.0,))
    z, rate = [part[numbers[0] > 1e-30] for part in numbers]
    theirs = jax.lax.random_gamma_grad(np.full(z.shape, a), z)

    np.testing.assert_allclose(rate, theirs, rtol=1e-9)


def test_taylor_series_are_those_of_jaxs_jet():
    """The names, their order and the scaling are the same; compiled, so are the numbers."""
    jet = import_module("jax.experimental.jet").jet

    def network(np):
        def f(x, w):
            return np.sum(np.sin(np.tanh(w @ x)) * np.exp(x)), np.tanh(x) / (1 + x * x)

        return f

    rng = np.random.default_rng(0)
    primals = rng.normal(size=3), rng.normal(size=(3, 3))
    series = tuple([[rng.normal(size=p.shape) for _ in range(6)] for p in primals])
    ours = ft.compile(lambda p, s: ft.jet(network(np), p, s))(primals, series)
    theirs = jax.jit(lambda p, s: jet(network(jnp), p, s))(primals, series)

    for found, expected in zip(optree.tree_leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert inspect.signature(ft.jet).parameters["factorial_scaled"].default
    assert len(ours[1][0]) == len(theirs[1][0]) == 6
