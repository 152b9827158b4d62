"""Derivatives of SciPy's functions beside those of JAX and autograd, where these are installed."""

import importlib
import warnings

import numpy as np
import optree
import pytest

import functier as ft
import functier.scipy.fft as sf
import functier.scipy.integrate as si
import functier.scipy.linalg as sl
import functier.scipy.signal as sg
import functier.scipy.special as sp
import functier.scipy.stats as st

RNG = np.random.default_rng(11)
A, B = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2))
POSITIVE = A @ A.T + 3 * np.eye(3)
X, Y = RNG.uniform(0.3, 0.9, 4), RNG.uniform(1.2, 2.5, 4)
IMAGE, KERNEL = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 3))
WAVE = RNG.normal(size=8)

OWN = {
    "special": sp, "linalg": sl, "fft": sf, "stats": st, "signal": sg, "integrate": si,
}  # fmt: skip

ROWS: list[tuple] = [
    *[(f"special.{name}", (X,), {}) for name in (
        "gammaln", "digamma", "erf", "erfc", "erfinv", "expit", "logit", "log_ndtr", "ndtr",
        "ndtri", "entr", "i0", "i0e", "i1", "i1e", "expi", "exp1", "spence", "bernoulli",
        "logsumexp", "softmax", "log_softmax", "factorial", "gamma", "j0", "j1", "y0", "y1",
    ) if name != "bernoulli"],
    *[(f"special.{name}", (X, Y), {}) for name in ("betaln", "beta", "xlogy", "xlog1py", "kl_div",
                                                  "rel_entr")],
    ("special.gammainc", (Y, X), {}), ("special.gammaincc", (Y, X), {}),
    ("special.zeta", (Y + 1, X), {"_by": (1,)}), ("special.polygamma", (2, X), {"_by": (1,)}),
    ("special.multigammaln", (Y + 1, 2), {}), ("special.betainc", (2.0, 3.0, X), {"_by": (2,)}),
    ("special.jv", (2, X), {"_by": (1,)}), ("special.hyp1f1", (1.5, 2.5, X), {"_by": (2,)}),
    ("special.logsumexp", (A,), {"axis": 1, "b": np.abs(A)}),
    *[(f"linalg.{name}", (A,), {}) for name in ("inv", "det", "expm", "block_diag", "toeplitz")],
    ("linalg.solve", (A, B), {}), ("linalg.solve", (POSITIVE, B), {"assume_a": "pos"}),
    ("linalg.solve_triangular", (A + 3 * np.eye(3), B), {"lower": True}),
    ("linalg.cholesky", (POSITIVE,), {"lower": True}), ("linalg.sqrtm", (POSITIVE,), {}),
    ("linalg.expm_frechet", (A, B @ B.T), {}), ("linalg.svd", (A,), {"compute_uv": False}),
    ("fft.dct", (WAVE,), {}), ("fft.idct", (WAVE,), {}), ("fft.dctn", (IMAGE,), {}),
    ("fft.dct", (WAVE,), {"norm": "ortho"}),
    ("signal.convolve", (WAVE, KERNEL[0]), {}), ("signal.correlate", (WAVE, KERNEL[0]), {}),
    ("signal.fftconvolve", (IMAGE, KERNEL), {"mode": "same"}),
    ("signal.convolve2d", (IMAGE, KERNEL), {"mode": "valid"}), ("signal.detrend", (WAVE,), {}),
    ("integrate.trapezoid", (IMAGE,), {"dx": 0.3}),
    *[(f"stats.{name}.{method}", args, {}) for name, args in (
        ("norm", (X, Y, Y)), ("expon", (X, 0.1, Y)), ("cauchy", (X, Y, Y)), ("laplace", (X, Y, Y)),
        ("logistic", (X, Y, Y)), ("uniform", (X, 0.0, Y)),
    ) for method in ("logpdf", "pdf", "cdf") if (name, method) != ("expon", "cdf")],
    ("stats.gamma.logpdf", (X, Y), {}), ("stats.beta.logpdf", (X, Y, 2.5), {}),
    ("stats.t.logpdf", (X, Y), {}), ("stats.chi2.logpdf", (X, Y), {}),
    ("stats.pareto.logpdf", (Y, X), {}), ("stats.truncnorm.logpdf", (X, -1.0, 2.0), {"_by": (0,)}),
    ("stats.vonmises.logpdf", (X, Y), {}), ("stats.gennorm.logpdf", (X, Y), {}),
    ("stats.poisson.logpmf", (2, Y), {"_by": (1,)}),
    ("stats.bernoulli.logpmf", (1, X), {"_by": (1,)}),
    ("stats.geom.logpmf", (2, X), {"_by": (1,)}),
    ("stats.multivariate_normal.logpdf", (X[:3], Y[:3], POSITIVE), {"_by": (0, 1)}),
    ("stats.dirichlet.logpdf", (X / X.sum(), Y), {"_by": (1,)}),
]  # fmt: skip
"""The name in `scipy`, the arguments, and options; `_by` says which are differentiated."""

ONE_TRIANGLE = {"linalg.cholesky": {}, "linalg.solve": {"assume_a": "pos"}}
"""Functions that read one triangle; JAX takes the symmetric gradient. See note 9."""

OTHERWISE = {("autograd", "stats.chi2.logpdf"): "autograd has no derivative by df, and says 0"}


def look_up(owner, name):
    for part in name.split(".")[1:]:
        owner = getattr(owner, part, None)
    return owner


def total(func, options, numpy):
    """A function of the arguments to one number, which weighs all results."""

    def f(*args):
        result = func(*args, **options)
        parts = [numpy.ravel(r) for r in optree.tree_leaves(result)]
        return sum(numpy.sum(numpy.real(p) * numpy.cos(numpy.arange(p.size))) for p in parts)

    return f


def compare(name, args, options, owner, numpy, grad):
    options = dict(options)
    by = options.pop("_by", tuple(i for i, x in enumerate(args) if isinstance(x, np.ndarray)))
    theirs = look_up(owner, name)
    if theirs is None:
        return False
    for i in by:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = grad(total(theirs, options, numpy), i)(*args)
            except (NotImplementedError, TypeError, ValueError, AttributeError):
                return False  # the peer has no derivative, or takes other options
        actual = ft.grad(total(look_up(OWN[name.split(".")[0]], name), options, np), i)(*args)
        if ONE_TRIANGLE.get(name, {}).items() <= options.items() and name in ONE_TRIANGLE and not i:
            actual, expected = actual + actual.T, expected + expected.T
        np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-9, err_msg=name)
    return True


def test_gradients_are_those_of_jax():
    jax = pytest.importorskip("jax", reason="JAX is in the extra bench")
    jax.config.update("jax_enable_x64", True)
    done = 0
    for name, args, options in ROWS:
        owner = importlib.import_module(f"jax.scipy.{name.split('.')[0]}")
        done += compare(name, args, options, owner, jax.numpy, jax.grad)
    assert done >= 70


def test_gradients_are_those_of_autograd():
    autograd = pytest.importorskip("autograd", reason="autograd is in the extra bench")
    done = 0
    for name, args, options in ROWS:
        try:
            owner = importlib.import_module(f"autograd.scipy.{name.split('.')[0]}")
        except ImportError:
            continue
        if ("autograd", name) in OTHERWISE:
            continue
        done += compare(name, args, options, owner, autograd.numpy, autograd.grad)
    assert done >= 20


def test_a_wrong_gradient_is_found():
    class Peer:
        erf = staticmethod(lambda x: x)

    with pytest.raises(AssertionError):
        compare("special.erf", (X,), {}, Peer, np, ft.grad)
