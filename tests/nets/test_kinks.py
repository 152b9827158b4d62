"""The net of chosen zeros: second derivatives at kinks, numbers at branches, coefficients of zero.

A result is what differences say, or not finite, or refused. What stands still at a kink, and powers
of kinks, have to be right.
"""

import itertools
import re
from collections import Counter

import numpy as np
import pytest
import scipy
import scipy.signal
import scipy.spatial
import scipy.stats

import functier as ft
import functier.numpy as fnp
import functier.scipy
from functier._core.table import OPS
from functier._levels import fast_calls
from functier._rules.elementwise import slope
from support.basics import silent

POINTS = np.random.default_rng(0).normal(size=(4, 2))
DATA, OTHER = np.array([0.3, 0.7, 1.4, 2.2]), np.array([-0.5, 0.0, 0.6, 1.7])
NORMS = """linalg.norm(x); sqrt(x @ x); sqrt(einsum('i,i', x, x)); sqrt(vdot(x, x)); sum(x * x)**0.5
    sqrt(sum(x**2)); hypot(x[0], x[1]); abs(x[0] + 1j * x[1]); std(x); var(x)**0.5; nanstd(x)
    linalg.norm(x.reshape(1, 2)); linalg.norm(x, axis=0, keepdims=True)[0]; linalg.vector_norm(x)
    sqrt(inner(x, x)); sqrt(tensordot(x, x, 1)); power(x @ x, 0.5); linalg.norm(x, 3)
    linalg.norm(x, 1); linalg.norm(x, inf); linalg.norm(x.reshape(1, 2), 1); sqrt(mean(square(x)))
    linalg.norm(x.reshape(1, 2), inf); linalg.norm(x.reshape(1, 2), 'nuc')"""
SMOOTH = """{}**2; {}**4; cos({}); exp(-{}**2); {} * {}; log1p({}**2); square({}); 1 / (1 + {}**2)
    (1 + 5**0.5 * {} + 5 * {}**2 / 3) * exp(-(5**0.5) * {}); sqrt(1 + {}**2); power({}, 4)"""
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


def judge(run, truths):
    try:
        with silent():
            found = np.asarray(run())
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return "refused" if any(re.match(text, message) for text in FORESEEN) else message
    if not np.isfinite(found).all():
        return "not finite"
    near = [np.allclose(found, t, rtol=5e-3, atol=5e-3) for t in truths if t.shape == found.shape]
    return "right" if any(near) else "wrong"


def seconds(text, x):
    """Return the verdicts of all ways to a second derivative."""
    truth, f = second(function(text, PLAIN), x), function(text, INSIDE)
    return {
        f"{name} {i}": judge(run, [truth[i, i] if name == "taylor" else truth])
        for (name, i), run in runs_of(f, x)
    }


def firsts(text, at):
    """Return the verdicts of both modes on a derivative by a parameter at a branch."""
    plain, inside = (function(text, space, "p") for space in (PLAIN, INSIDE))
    h = 1e-5
    with silent():
        after, here, before = [np.asarray(plain(float(at) + s), float) for s in (h, 0, -h)]
    shapes = after.shape == here.shape == before.shape
    truths = [(after - before) / (2 * h), (after - here) / h, (here - before) / h] if shapes else []
    push = lambda: ft.jvp(inside, (float(at),), (1.0,))[1]  # noqa: E731
    return {"jvp": judge(push, truths), "vjp": judge(lambda: ft.jacrev(inside)(float(at)), truths)}


def counted(found):
    counts = Counter(v for verdicts in found.values() for v in verdicts.values())
    bad = {row: v for row, v in found.items() if {*v.values()} - {"right", "refused", "not finite"}}
    return counts, bad


def test_second_derivatives_are_not_wrong(full, record_property):
    texts = [s.format(*[n] * 4) for n in rows(NORMS) for s in rows(SMOOTH)]
    texts = texts if full else texts[::7]
    counts, bad = counted({text: seconds(text, np.zeros(2)) for text in texts})
    record_property("net", f"second derivatives of norms at 0: {dict(counts)}")
    assert not bad


def test_what_is_smooth_or_stands_still_is_right(record_property):
    found = {row: seconds(row, AT[at]) for at, text in RIGHT.items() for row in rows(text)}
    counts, _ = counted(found)
    record_property("net", f"second derivatives that exist: {dict(counts)}")
    assert {row: v for row, v in found.items() if {*v.values()} != {"right"}} == {}


def test_parameters_at_branches(record_property):
    found = {(text, at): firsts(text, at) for text, points in BRANCHES.items() for at in points}
    counts, bad = counted(found)
    record_property("net", f"parameters at branches: {dict(counts)}")
    assert not bad
    assert counts["right"] > counts["refused"]


def test_every_foreseen_refusal_is_met():
    calls = [lambda t=t, at=at: ft.jacrev(function(t, INSIDE, "p"))(float(at))
             for t, points in BRANCHES.items() for at in points]  # fmt: skip
    met = set()
    for call in calls:
        try:
            with silent():
                call()
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            met |= {text for text in FORESEEN if re.match(text, message)}
    assert met == FORESEEN.keys()


# ---- faults that the net finds ----


def test_an_error_that_is_not_foreseen_is_found():
    def fails():
        raise TypeError("unsupported operand")

    assert counted({"row": {"way": judge(fails, [])}})[1]


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_a_zero_that_has_a_derivative_is_found(mode, monkeypatch):
    rule = getattr(OPS[slope], mode)["x"]
    monkeypatch.setattr(rule, "fn", lambda g, y, *more: g / np.where(np.equal(y, 0), np.inf, y))
    assert "wrong" in seconds("cos(linalg.norm(x))", np.zeros(2)).values()


def test_a_branch_that_is_taken_is_found(monkeypatch):
    assert {*firsts("stats.pmean(X, p)", 0).values()} == {"refused"}
    monkeypatch.setattr(fast_calls, "OWN_CODE", {})
    assert {*firsts("stats.pmean(X, p)", 0).values()} == {"wrong"}
