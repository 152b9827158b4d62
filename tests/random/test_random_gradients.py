"""Draws and derivatives: by their parameters, through vmap, and where there are none."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from faults.planted import transforms as faulty
from functier.random import default_rng
from support.basics import close, equal, has_all, message, raises

SEED = 11
same = partial(ft.vmap, randomness="same")
different = partial(ft.vmap, randomness="different")

PATHS = {
    "exponential": ((2.0,), {"size": 4}),
    "gamma": ((np.array([0.5, 3.0]), 2.0), {}),
    "gumbel": ((1.0, 2.0), {"size": 4}),
    "laplace": ((1.0, np.array([2.0, 0.5])), {"size": (3, 2)}),
    "logistic": ((1.0, 2.0), {"size": 4}),
    "lognormal": ((0.5, 0.25), {"size": 4}),
    "normal": ((np.array([1.0, -1.0]), np.array([[2.0], [0.5]])), {}),
    "pareto": ((3.0,), {"size": 4}),
    "power": ((np.array([3.0, 0.5]),), {}),
    "rayleigh": ((2.0,), {"size": 4}),
    "triangular": ((-1.0, 0.5, 4.0), {"size": 20}),
    "uniform": ((-1.0, np.array([3.0, 4.0])), {}),
    "weibull": ((2.0,), {"size": 4}),
}
"""The methods that are differentiated by their parameters."""

DISCRETE = {
    "binomial", "choice", "geometric", "hypergeometric", "integers", "logseries", "multinomial",
    "multivariate_hypergeometric", "negative_binomial", "poisson", "zipf",
}  # fmt: skip
"""Methods whose numbers are integers."""

FIXED = {
    "binomial": (None, 0.3),
    "geometric": (0.3,),
    "integers": (9.0,),
    "logseries": (0.4,),
    "multinomial": (None, np.array([0.5, 0.5])),
    "negative_binomial": (4.0, 0.3),
    "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (3.0, 4.0, 1.0),
    "poisson": (4.0,),
    "standard_t": (3.0,),
    "vonmises": (0.5, 2.0),
    "wald": (2.0, 3.0),
    "zipf": (3.0,),
}
"""The parameters that have no derivative; None for one that is none of them."""


def seeded(name, options):
    """A function of the parameters that draws the same numbers whenever it is called."""
    return lambda *params: getattr(default_rng(SEED), name)(*params, **options)


def by_difference(f, params, i, step=1e-6):
    """The derivative of ``f(*params)`` when all elements of one parameter move alike."""
    ends = [f(*params[:i], params[i] + h, *params[i + 1 :]) for h in (step, -step)]
    return (ends[0] - ends[1]) / (2 * step)


def check_paths(name, args, options):
    """Numbers, jvp and gradient of a draw by each of its parameters."""
    f = seeded(name, options)
    numpys = getattr(np.random.default_rng(SEED), name)(*args, **options)
    params = [np.asarray(a) if np.ndim(a) else a for a in args]
    weights = np.arange(1.0, 1.0 + np.size(numpys)).reshape(np.shape(numpys))
    for i, p in enumerate(params):
        if (name, i) == ("gamma", 0):  # the shape: test_random_gamma
            continue
        one = np.ones_like(p, dtype=float)
        g = lambda q, i=i: f(*params[:i], q, *params[i + 1 :])  # noqa: E731
        value, tangent = ft.jvp(g, (p,), (one[()],))
        expected = by_difference(f, params, i)
        close(value, numpys, 1e-13)
        np.testing.assert_allclose(tangent, expected, rtol=1e-7, atol=1e-8)
        gradient = ft.grad(lambda q, g=g: np.sum(weights * g(q)))(p)
        np.testing.assert_allclose(np.sum(gradient), np.sum(weights * expected), rtol=1e-7)
        curved = lambda q, g=g: np.sum(g(q) ** 2)  # noqa: E731
        second = ft.jvp(ft.grad(curved), (p,), (one[()],))[1]
        slope = lambda *ps, i=i: ft.grad(lambda q: np.sum(f(*ps[:i], q, *ps[i + 1 :]) ** 2))(ps[i])  # noqa: E731
        np.testing.assert_allclose(second, by_difference(slope, params, i), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", PATHS)
def test_a_draw_is_differentiated_by_its_parameters(name):
    check_paths(name, *PATHS[name])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda z, loc, scale: loc + 1.0001 * scale * z,  # in its numbers
        lambda z, loc, scale: ft.stop_gradient(loc) + scale * z,  # in a derivative
        lambda z, loc, scale: (
            loc
            + scale * ft.stop_gradient(z * scale) / ft.stop_gradient(scale)
            + (scale - ft.stop_gradient(scale)) ** 2
        ),  # in the second one only
    ],
)
def test_the_check_finds_a_wrong_formula(wrong, monkeypatch):
    faulty.the_check_finds_a_wrong_formula(monkeypatch, wrong)
    with pytest.raises(AssertionError):
        check_paths("normal", *PATHS["normal"])


@pytest.mark.parametrize("name", FIXED)
def test_a_parameter_without_a_derivative_raises_and_says_why(name):
    for i, p in enumerate(FIXED[name]):
        if p is None:
            continue
        args = [{"binomial": 10, "multinomial": 10}.get(name) if a is None else a
                for a in FIXED[name]]  # fmt: skip
        rng = default_rng(SEED)

        def model(p, i=i, args=args, rng=rng):
            return np.sum(getattr(rng, name)(*args[:i], p, *args[i + 1 :]))

        for call in (
            lambda p=p, model=model: ft.grad(model)(p),
            lambda p=p, model=model: ft.jvp(model, (p,), (np.ones_like(p)[()],)),
            lambda p=p, model=model: different(ft.grad(model))(np.stack([p, p])),
            lambda p=p, model=model: ft.grad(lambda q: np.sum(same(model)(q)))(np.stack([p, p])),
        ):
            with pytest.raises(ft.NoRuleError) as error:
                call()
            has_all(message(error), f"rng.{name}(...)", "stop_gradient(")
        assert ("numbers are integers" in message(error)) == (name in DISCRETE)
        assert rng.bit_generator.state == default_rng(SEED).bit_generator.state
        # What the message proposes:
        x = np.stack([p, p])
        grads = ft.grad(
            lambda q, model=model: np.sum(q) + np.sum(same(model)(ft.stop_gradient(q)))
        )(x)
        equal(grads, np.ones_like(x))


def test_orders_and_picks_are_differentiated_by_what_they_pick_from():
    x, weights = np.arange(1.0, 6.0), np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    theirs = np.random.default_rng(SEED)
    picks, order = theirs.choice(5, 3), theirs.permutation(5)
    rng = default_rng(SEED)
    counts = np.bincount(picks, weights[:3], minlength=5)
    equal(ft.grad(lambda x: np.sum(weights[:3] * rng.choice(x, 3)))(x), counts)
    equal(ft.grad(lambda x: np.sum(weights * rng.permutation(x)))(x), weights[np.argsort(order)])
    for axis in (None, 0):
        rows = ft.vmap(ft.grad(lambda x, axis=axis: np.sum(weights * rng.permuted(x, axis=axis))),
                       randomness="different")(np.stack([x] * 8))  # fmt: skip
        equal(np.sort(rows), np.stack([weights] * 8))
        assert len({row.tobytes() for row in rows}) > 4


# ---- with vmap, in every order ----

SCALES = np.array([0.5, 1.0, 2.0])


def test_vmap_of_grad_and_grad_of_vmap_and_vmap_of_jvp():
    z = np.random.default_rng(SEED).normal(size=(3, 2))

    def f(rng, scale):
        return np.sum(rng.normal(1.0, scale, size=2) ** 2)

    expected = np.sum(2 * (1 + SCALES[:, None] * z) * z, axis=1)
    rng = default_rng(SEED)
    close(different(ft.grad(partial(f, rng)))(SCALES), expected)
    rng = default_rng(SEED)
    close(ft.grad(lambda s: np.sum(different(partial(f, rng))(s)))(SCALES), expected)
    rng = default_rng(SEED)
    close(different(lambda s: ft.jvp(partial(f, rng), (s,), (1.0,))[1])(SCALES), expected)
    rng = default_rng(SEED)
    close(ft.jvp(different(partial(f, rng)), (SCALES,), (np.ones(3),))[1], expected)

    shared = np.sum(2 * (1 + SCALES[:, None] * z[0]) * z[0], axis=1)
    for transformed in (
        lambda g: same(ft.grad(g)),
        lambda g: ft.grad(lambda s: np.sum(same(g)(s))),
    ):
        close(transformed(partial(f, default_rng(SEED)))(SCALES), shared)


@given(
    modes=st.lists(st.sampled_from(["same", "different"]), min_size=1, max_size=3),
    inside=st.integers(0, 3),
    forward=st.booleans(),
)
def test_a_gradient_at_any_place_among_the_levels(modes, inside, forward):
    """The `inside` innermost levels of vmap are inside of grad, or of jvp."""
    rng, sizes = default_rng(SEED), [2, 3, 2][: len(modes)]
    inside = min(inside, len(modes))
    x = np.linspace(0.5, 2.0, int(np.prod(sizes))).reshape(sizes)

    def mapped(f, first, last):
        for mode in reversed(modes[first:last]):
            f = ft.vmap(f, randomness=mode)
        return f

    inner = mapped(lambda s: rng.normal(0.0, s) ** 2, len(modes) - inside, len(modes))
    if forward:
        derivative = lambda s: ft.jvp(inner, (s,), (np.ones_like(s),))[1]  # noqa: E731
    else:
        derivative = ft.grad(lambda s: np.sum(inner(s)))
    place = [n if mode == "different" else 1 for n, mode in zip(sizes, modes)]
    z = np.random.default_rng(SEED).normal(size=[n for n in place if n > 1])

    close(mapped(derivative, 0, len(modes) - inside)(x), 2 * x * z.reshape(place) ** 2)


def test_the_jacobians():
    def f(s):
        return default_rng(SEED).normal(0.0, s) ** 2

    z = np.random.default_rng(SEED).normal(size=3)
    close(ft.jacrev(f)(SCALES), np.diag(2 * SCALES * z**2))
    close(ft.jacfwd(f, randomness="same")(SCALES), np.diag(2 * SCALES * z**2))
    close(ft.hessian(lambda s: np.sum(f(s)), randomness="same")(SCALES), np.diag(2 * z**2))
    for transform in (ft.jacfwd, ft.hessian):
        with pytest.raises(ft.RandomnessError, match=f"write {transform.__name__}"):
            transform(lambda s: np.sum(f(s)))(SCALES)


# ---- the normal vector ----

MEAN = np.array([1.0, -2.0, 0.5])
A = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, -0.5], [0.0, -0.5, 0.7]])


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_normal_vectors_are_numpys_by_each_method(method):
    expected = np.random.default_rng(SEED).multivariate_normal(MEAN, A, (2, 2), method=method)

    def f(mean, cov):
        return default_rng(SEED).multivariate_normal(mean, cov, (2, 2), method=method)

    close(ft.jvp(lambda m: f(m, A), (MEAN,), (MEAN,))[0], expected, 1e-12)
    close(ft.jvp(lambda c: f(MEAN, c), (A,), (A,))[0], expected, 1e-12)
    close(same(lambda c: f(MEAN, c))(np.stack([A, A]))[1], expected, 1e-12)
    covs = np.stack([A, np.eye(3), 4 * A])
    rng, theirs = default_rng(SEED), np.random.default_rng(SEED)
    draws = different(lambda c: rng.multivariate_normal(MEAN, c, 5000, method=method))(covs)
    z = theirs.standard_normal((3, 5000, 3))
    close(draws[1], MEAN + z[1] @ np.linalg.svd(np.eye(3))[0].T, 1e-12)
    for own, cov in zip(draws, covs):
        np.testing.assert_allclose(np.cov(own.T), cov, atol=0.25)


def test_normal_vectors_are_differentiated_by_mean_and_covariance():
    direction = np.array([[0.2, 0.1, 0.0], [0.1, -0.3, 0.2], [0.0, 0.2, 0.5]])

    def f(c):
        return default_rng(SEED).multivariate_normal(MEAN, c, 4, method="cholesky")

    expected = (f(A + 1e-6 * direction) - f(A - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(ft.jvp(f, (A,), (direction,))[1], expected, rtol=1e-6, atol=1e-8)
    by_mean = ft.jacrev(lambda m: default_rng(SEED).multivariate_normal(m, A))(MEAN)
    close(by_mean, np.eye(3))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
@pytest.mark.parametrize("cov", [A, np.eye(3)], ids=["distinct", "equal eigenvalues"])
def test_a_draw_has_its_covariance_to_second_order(method, cov, monkeypatch):
    """Whatever factor it is: ``x = L z`` has the derivatives of ``L L^T = cov``."""
    direction = np.array([[0.2, 0.1, 0.0], [0.1, -0.3, 0.2], [0.0, 0.2, 0.5]])
    n = 3
    faulty.draw_has_its_covariance_to_second_order(monkeypatch, n)

    def factor(c):
        return default_rng(0).multivariate_normal(np.zeros(n), c, n, method=method).T

    def product(c):
        return factor(c) @ factor(c).T

    value, tangent = ft.jvp(product, (cov,), (direction,))
    close(value, cov, 1e-12)
    close(tangent, direction, 1e-12)
    second = ft.jvp(lambda c: ft.jvp(product, (c,), (direction,))[1], (cov,), (direction,))[1]
    close(second, np.zeros((n, n)), 1e-10)


def test_a_singular_covariance_and_what_is_none():
    ones = np.ones((2, 2))
    with pytest.raises(ft.NoRuleError, match=r"cov is singular.*1e-9 \* numpy.eye"):
        ft.grad(lambda c: np.sum(default_rng(0).multivariate_normal(np.zeros(2), c)))(ones)
    rows = same(lambda c: default_rng(0).multivariate_normal(np.zeros(2), c))(np.stack([ones] * 2))
    assert np.all(np.isfinite(rows))
    for method in ("svd", "eigh"):
        draw = same(lambda c, method=method: default_rng(0).multivariate_normal(
            np.zeros(2), c, check_valid="raise", method=method))  # fmt: skip
        raises(ValueError, lambda: draw(np.stack([np.eye(2), -np.eye(2)])), "positive-semidefinite")
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        same(lambda c: default_rng(0).multivariate_normal(np.zeros(2), c))(-np.eye(2)[None])
    quiet = same(lambda c: default_rng(0).multivariate_normal(np.zeros(2), c, check_valid="ignore"))
    assert quiet(-np.eye(2)[None]).shape == (1, 2)


# ---- what comes out is as random as it should be ----


def test_the_derivative_of_an_expectation():
    """d/ds E[x^2] = 2 s and d/dm E[x^2] = 2 m, of x ~ N(m, s^2)."""
    rng = default_rng(SEED)

    def f(m, s):
        return rng.normal(m, s) ** 2

    rows = different(ft.grad(f, argnums=(0, 1)), in_dims=None, axis_size=40_000)(0.5, 1.5)
    np.testing.assert_allclose(np.mean(rows[0]), 1.0, atol=0.06)
    np.testing.assert_allclose(np.mean(rows[1]), 3.0, atol=0.09)


def test_examples_are_independent_and_distributed_as_they_should_be():
    rng = default_rng(SEED)
    rows = different(lambda _: rng.normal(3.0, 2.0, size=4000))(np.zeros(8))

    correlation = np.corrcoef(rows) - np.eye(8)
    assert np.max(np.abs(correlation)) < 5 / np.sqrt(4000)
    shifted = np.mean((rows[:-1, 1:] - 3) * (rows[1:, :-1] - 3)) / 4
    assert abs(shifted) < 5 / np.sqrt(7 * 4000)
    np.testing.assert_allclose(np.mean(rows, axis=1), 3.0, atol=5 * 2 / np.sqrt(4000))
    np.testing.assert_allclose(np.std(rows, axis=1), 2.0, rtol=5 / np.sqrt(2 * 4000))

    picks = different(lambda _: rng.permutation(6))(np.zeros(6000))
    counts = np.stack([np.bincount(column, minlength=6) for column in picks.T])
    assert np.max(np.abs(counts - 1000)) < 5 * np.sqrt(1000)


def test_the_same_numbers_are_not_used_twice_in_a_row():
    """After a draw that took examples to different places, the next one is a fresh one."""
    rng = default_rng(SEED)
    first = same(lambda x: rng.standard_gamma(x, size=500))(np.array([0.1, 1.0, 30.0]))
    second = rng.standard_gamma(1.0, size=500)

    assert not np.intersect1d(first, second).size
    assert abs(np.corrcoef(first[1], second)[0, 1]) < 5 / np.sqrt(500)


def test_integers_take_no_part_in_derivatives():
    rng = default_rng(SEED)
    value, tangent = ft.jvp(lambda x: x * rng.poisson(4.0) + rng.integers(5), (2.0,), (1.0,))
    theirs = np.random.default_rng(SEED)
    k, i = theirs.poisson(4.0), theirs.integers(5)
    assert (value, tangent) == (2.0 * k + i, float(k))
