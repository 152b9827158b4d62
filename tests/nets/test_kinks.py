"""The net of chosen zeros: second derivatives at kinks, numbers at branches, coefficients of zero.

A result is what differences say, or not finite, or refused. What stands still at a kink, and powers
of kinks, have to be right.
"""

import itertools

import numpy as np
import pytest
import scipy
import scipy.signal
import scipy.spatial
import scipy.stats

import functier as ft
import functier.numpy as fnp
import functier.scipy
from faults.planted import nets as faulty
from nets.verdicts import Verdicts
from support.basics import silent

POINTS = np.random.default_rng(0).normal(size=(4, 2))
DATA, OTHER = np.array([0.3, 0.7, 1.4, 2.2]), np.array([-0.5, 0.0, 0.6, 1.7])
NORMS = """linalg.norm(x); sqrt(x @ x); sqrt(einsum('i,i', x, x)); sqrt(vdot(x, x)); sum(x * x)**0.5
    sqrt(sum(x**2)); hypot(x[0], x[1]); abs(x[0] + 1j * x[1]); std(x); var(x)**0.5; nanstd(x)
    linalg.norm(x.reshape(1, 2)); linalg.norm(x, axis=0, keepdims=True)[0]; linalg.vector_norm(x)
    sqrt(inner(x, x)); sqrt(tensordot(x, x, 1)); power(x @ x, 0.5); linalg.norm(x, 3)
    linalg.norm(x, 1); linalg.norm(x, inf); linalg.norm(x.reshape(1, 2), 1); sqrt(mean(square(x)))
    linalg.norm(x.reshape(1, 2), inf); linalg.norm(x.reshape(1, 2), 'nuc'); linalg.norm(1j * x)
    exp(0.5 * log(x @ x)); arccosh(1 + x @ x); cbrt(x @ x)**1.5; sqrt(sqrt(x @ x)); abs(1j * x[0])
    2 * arcsin(sqrt(sin(x[0])**2 + x[1]**2)); linalg.norm(outer(x, x))"""
SMOOTH = """{}**2; {}**4; cos({}); exp(-{}**2); {} * {}; log1p({}**2); square({}); 1 / (1 + {}**2)
    (1 + 5**0.5 * {} + 5 * {}**2 / 3) * exp(-(5**0.5) * {}); sqrt(1 + {}**2); power({}, 4)"""
INNER = "2 * {}; {} + 1; tanh({}); exp({}); reshape({}, 1)[0]; where({} > 9, 1, {})"
RIGHT = {
    "zero": """sum(abs(x)**2); sum(abs(x)**3); sum(x * abs(x)); linalg.norm(x)**4; sqrt(x @ x)**2
        linalg.norm(x)**2; std(x)**2; hypot(x[0], x[1])**2; sum(abs(x)**3.5); sum(square(abs(x)))
        sum(abs(x[0] + 1j * x[1])**2); sum(abs(fft.fft(x))**2); sum(power(abs(x), 2))""",
    "one": """sum(linalg.norm((P[:, None] - P) / x, axis=-1)**3); sum(exp(-matern(P / x)))
        sum(exp(-linalg.norm((P[:, None] - P) / x, axis=-1))); sum(exp(-pairs(P * x)))
        sum(exp(-sqrt(sum(((P[:, None] - P) / x)**2, -1)))); sum(exp(-distance.cdist(P * x, P * x)))
        sum(exp(-hypot((P[:, None] - P)[..., 0] * x[0], (P[:, None] - P)[..., 1] * x[1])))""",
    "points": """sum(pairs(x.reshape(4, 2))); sum(exp(-pairs(x.reshape(4, 2))))
        sum(exp(-pairs(x.reshape(4, 2))**2)); sum(matern(x.reshape(4, 2)))""",
}  # fmt: skip
AT = {"zero": np.zeros(2), "one": np.array([1.3, 0.8]), "points": POINTS.ravel() + 0.1}

BRANCHES = {
    "stats.pmean(X, p)": (0, 1, -1), "stats.power_divergence(X, lambda_=p).statistic": (0, 1, -1),
    "signal.chirp(X, p, 2.0, 1.0, method='log')": (1,), "signal.chirp(X, p, 2.0, 1.0)": (1,),
    "signal.chirp(X, p, 2.0, 1.0, method='hyperbolic')": (1,), "stats.boxcox_llf(p, X)": (0, 1),
    "distance.minkowski(X, Y, p)": (1, 2), "distance.minkowski(X, Y, p, X)": (1, 2),
    "distance.cdist(X[None], Y[None], 'minkowski', p=p)": (1, 2), "stats.yeojohnson(Y, p)": (0, 2),
    "linalg.norm(Y, p)": (1, 2), "stats.yeojohnson_llf(p, X)": (0, 1, 2), "X**p": (0, 1, 2),
    "stats.yeojohnson_llf(0.4, stack([2.0, p, -1.0]))": (0,), "special.boxcox(X, p)": (0, 1),
    "stats.genextreme.logpdf(X, p)": (0,), "stats.genpareto.cdf(X, p)": (0,),
    "stats.t.logpdf(X, p)": (1, 2), "stats.gennorm.pdf(X, p)": (1, 2),
    "signal.firwin(5, p)": (0.5,),
    "signal.lfilter([p, 1.0], [1.0, 0.5], X)": (0, 1), "signal.lfilter([1.0], [p, 0.5], X)": (1,),
    "signal.tf2zpk([1.0, p], [1.0, 0.3])[2]": (0,),
    "polyval(poly1d(stack([p, 1.0, 2.0])), X)": (0,),
    "polymul(stack([p, 1.0]), [1.0, 2.0])[-2:]": (0,),
    "polyval(polyadd(stack([p, 1.0]), [1.0, 2.0]), X)": (0,), "poly(stack([p, 1.0]))": (0,),
    "polynomial.Polynomial(stack([1.0, p]))(X)": (0,), "special.xlogy(p, X)": (0,),
    "(polynomial.Polynomial(stack([1.0, p])) * polynomial.Polynomial([1.0, 1.0]))(X)": (0,),
    "(polynomial.Chebyshev(stack([1.0, p])) ** 2)(X)": (0,), "float_power(X, p)": (0, 1, 2),
    "convolve(trim_zeros(stack([1.0, p])), [1.0, 1.0])[:2]": (0,), "signal.sawtooth(X, p)": (0.5,),
    "signal.windows.tukey(8, p)": (0.5,), "signal.freqz([p, 1.0], [1.0, 0.5], X)[1].real": (0, 1),
}  # fmt: skip
"""Calls with a parameter `p`, and the numbers that the code of NumPy or SciPy compares it with."""


FORESEEN = {
    r"ConversionError: .* computes another formula where two numbers are the same": "a branch",
    "UnsupportedError: a coefficient that is 0 is dropped": "code that strips zeros",
    r"TypeError: unsupported operand type\(s\) for \*: 'Polynomial' and 'Polynomial'": "an error "
    "inside of NumPy's classes, which they hide",
}
"""The refusals of the net, and their reasons; another error is a verdict of its own."""


def rows(text):
    return [part.strip() for part in text.replace("\n", ";").split(";")]


def names(np, package):
    """Return what the expressions mean, for plain code or for that inside transforms."""
    pairs = lambda x: np.sqrt(np.sum((x[:, None] - x) ** 2, -1))  # noqa: E731
    found = {name: getattr(np, name) for name in dir(np) if name[0] != "_"}
    found |= {name: getattr(package, name) for name in ("stats", "signal", "special")}
    found |= {"distance": package.spatial.distance, "P": POINTS, "X": DATA, "Y": OTHER}
    matern = lambda x: (1 + pairs(x) + pairs(x) ** 2 / 3) * np.exp(-pairs(x))  # noqa: E731
    return found | {"pairs": pairs, "matern": matern}


PLAIN, INSIDE = names(np, scipy), names(fnp, functier.scipy)


def function(text, space, name="x"):
    return eval(f"lambda {name}: {text}", dict(space))


def second(f, x, h=1e-4):
    """Return the Hessian by differences."""
    steps = h * np.eye(len(x))
    four = lambda a, b: f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)  # noqa: E731
    return np.array([[four(a, b) for b in steps] for a in steps]) / (4 * h * h)


def runs_of(f, x):
    """Yield ways to the Hessian."""
    for a, b in itertools.product((ft.jacfwd, ft.jacrev), (ft.jacfwd, ft.jacrev, ft.grad)):
        yield (f"{a.__name__} {b.__name__}", 0), lambda: a(b(f))(x)
    yield ("vmap", 0), lambda: ft.vmap(ft.hessian(f))(x[None])[0]
    for i, e in enumerate(np.eye(len(x))):
        yield ("taylor", i), lambda: 2 * ft.taylor(lambda t: f(x + t * e), 0.0, 2)[2]


def judge(net, case, run, truths):
    """Count a case as right, not finite, refused or wrong."""

    def check(found):
        if np.isfinite(found).all():
            fitting = [t for t in truths if t.shape == found.shape]
            assert any(np.allclose(found, t, rtol=5e-3, atol=5e-3) for t in fitting), found
        else:
            net.seen["not finite"] += 1

    with silent():
        return net.judge(case, lambda: np.asarray(run()), check)


def seconds(net, text, x):
    """Count all ways to a second derivative."""
    with silent():
        truth, f = second(function(text, PLAIN), x), function(text, INSIDE)
    for (name, i), run in runs_of(f, x):
        judge(net, f"{text}: {name} {i}", run, [truth[i, i] if name == "taylor" else truth])


def firsts(net, text, at):
    """Count both modes on a derivative by a parameter at a branch."""
    plain, inside = (function(text, space, "p") for space in (PLAIN, INSIDE))
    h = 1e-5
    with silent():
        after, here, before = [np.asarray(plain(float(at) + s), float) for s in (h, 0, -h)]
    shapes = after.shape == here.shape == before.shape
    truths = [(after - before) / (2 * h), (after - here) / h, (here - before) / h] if shapes else []
    for name, run in SLOPES.items():
        judge(net, (text, at, name), lambda run=run: run(inside, float(at)), truths)


def of_batch(f):
    return lambda p: ft.vmap(f)(np.stack([p, p]))[1]


def of_steps(f):
    return lambda p: ft.scan(lambda c, x: (c, f(c)), p, np.ones(2))[1][1]


SLOPES = {
    "jvp": lambda f, p: ft.jvp(f, (p,), (1.0,))[1],
    "vjp": lambda f, p: ft.jacrev(f)(p),
    "vmap(jvp)": lambda f, p: of_batch(ft.jacfwd(f))(np.float64(p)),
    "vmap(vjp)": lambda f, p: of_batch(ft.jacrev(f))(np.float64(p)),
    "vjp(vmap)": lambda f, p: ft.jacrev(of_batch(f))(p),
    "jvp(vmap)": lambda f, p: ft.jvp(of_batch(f), (p,), (1.0,))[1],
    "compile(vjp)": lambda f, p: ft.compile(ft.jacrev(f), backend="numpy")(p),
    "compile(jvp)": lambda f, p: ft.compile(ft.jacfwd(f), backend="numpy")(p),
    "vjp(scan)": lambda f, p: ft.jacrev(of_steps(f))(p),
}  # fmt: skip
"""The derivative by a number, in each way."""


def test_second_derivatives_are_not_wrong(full, verdicts):
    texts = [s.format(*[n] * 4) for n in rows(NORMS) for s in rows(SMOOTH)]
    net = verdicts("second derivatives of norms at 0")
    for text in texts if full else texts[::7]:
        seconds(net, text, np.zeros(2))
    net.settle()


def test_functions_of_norms_elsewhere_are_right(full, verdicts):
    inner = [f"({i.format(n, n)})" for n in rows(NORMS) for i in rows(INNER)]
    texts = [s.format(*[i] * 4) for i in inner for s in rows(SMOOTH)]
    net = verdicts("second derivatives of functions of norms elsewhere")
    for text in texts if full else texts[::31]:
        seconds(net, text, np.array([0.3, -0.7]))
    net.settle()
    assert not net.seen["not finite"]


def test_what_is_smooth_or_stands_still_is_right(verdicts):
    net = verdicts("second derivatives that exist")
    for at, text in RIGHT.items():
        for row in rows(text):
            seconds(net, row, AT[at])
    net.settle()
    assert not net.seen["not finite"]


def test_parameters_at_branches(verdicts):
    net = verdicts("parameters at branches", FORESEEN)
    for text, points in BRANCHES.items():
        for at in points:
            firsts(net, text, at)
    assert not net.wrong
    assert net.refused.keys() == FORESEEN.keys()  # each is met
    assert net.right > net.refused.total()


def test_code_of_scipy_that_runs_as_it_is_is_refused_at_a_branch():
    """It is a function without a twin here, whose code computes with tensors by itself."""
    net = Verdicts("SciPy's own function", FORESEEN)
    for name, run in SLOPES.items():
        judge(net, name, lambda run=run: run(lambda p: scipy.stats.boxcox_llf(p, DATA), 0.0), [])
    assert net.refused.total() == net.total


# ---- faults that the net finds ----


def test_an_error_that_is_not_foreseen_is_found():
    net = Verdicts("a fault", FORESEEN)
    judge(net, "a row", lambda: 1 / 0, [])

    assert net.wrong


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_a_zero_that_has_a_derivative_is_found(mode, monkeypatch):
    faulty.zero_that_has_a_derivative(monkeypatch, mode)
    net = Verdicts("a fault")
    seconds(net, "cos(linalg.norm(x))", np.zeros(2))

    assert net.wrong


def test_a_function_of_a_norm_that_counts_as_the_norm_is_found(monkeypatch):
    faulty.function_of_a_norm_that_counts_as_the_norm(monkeypatch)
    net = Verdicts("a fault")
    seconds(net, "square(2 * linalg.norm(x))", np.array([0.3, -0.7]))

    assert net.wrong


def test_a_branch_that_is_taken_is_found(monkeypatch):
    net = Verdicts("a fault", FORESEEN)
    firsts(net, "stats.pmean(X, p)", 0)
    assert net.refused.total() == len(SLOPES)

    faulty.code_of_libraries_that_is_not_known(monkeypatch)
    firsts(net, "stats.pmean(X, p)", 0)
    assert len(net.wrong) == len(SLOPES)
