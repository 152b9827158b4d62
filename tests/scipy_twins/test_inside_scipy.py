"""Tests of SciPy's twins that look inside."""

import importlib
import warnings

import numpy as np
import pytest
import scipy.signal
import scipy.sparse as sp
import scipy.stats
from programs_of_functions import verdict
from programs_of_matrices import direct

import functier as ft
import functier.numpy as fnp
import functier.scipy.special as special
import functier.scipy.stats as st
from functier._core.remedies import twin_name
from functier._cpython import functions
from functier.scipy import _copies, _namespaces, signal
from functier.scipy._rules.declare import declare_composite
from functier.scipy._rules.sparse import systems
from functier.scipy._rules.stats.normality import kolmogorov_probability
from functier.scipy.spatial.transform import Rotation
from functier.testing import operations

pytestmark = pytest.mark.inside(
    "Copies of SciPy's code and forms of its objects have no public name."
)


# ---- copies ----


GRID = np.linspace(0.0, 2.0, 7)


def test_names_of_a_copy_mean_twins():
    copy = _copies.copy_of(scipy.signal.iirfilter, _namespaces.twin_of)
    names = copy.__globals__
    assert names["np"] is fnp and names["float_factorial"] is not None
    assert names["buttap"] is signal.buttap and names["filter_dict"]["butter"][0] is signal.buttap
    assert scipy.signal.iirfilter.__globals__["np"] is np
    assert copy.__code__.co_code is not scipy.signal.iirfilter.__code__


def test_compiled_code_refuses_by_name():
    with pytest.raises((ft.UnsupportedError, ft.ConversionError), match="symiirorder1"):
        ft.grad(lambda a: fnp.sum(signal.symiirorder1(a * GRID, 0.3, 0.5)))(1.0)
    with pytest.raises(ft.UnsupportedError, match="compiled code, which takes no tensors"):
        _copies.plain_only(np.bincount)(ft.Tensor(np.arange(3)))


# ---- multivariate ----


X, MEAN = np.array([0.3, -0.4]), np.array([0.1, 0.2])


def test_copies_of_scipys_code_are_made_once():
    slope = ft.grad(lambda m: st.multivariate_normal.logpdf(X, m, np.eye(2)))
    slope(MEAN)
    made = len(functions.COPIES), len(functions.GLOBALS)
    slope(MEAN)
    assert made == (len(functions.COPIES), len(functions.GLOBALS))


# ---- rotation ----


@pytest.mark.parametrize("length", [0.0, 1e-12, 9e-4, 1.1e-3, 2.0])
def test_derivatives_of_vectors_and_back(length):
    """A vector and its quaternion are each other's inverse, to the third order, also at 0."""

    def there_and_back(t):
        v = fnp.stack([length + t, 2 * t, t * t])
        return Rotation.from_rotvec(v).as_rotvec()

    f, found = there_and_back, []
    for _ in range(3):
        f = ft.jacfwd(f)
        found.append(f(0.0))
    np.testing.assert_allclose(found[0], [1, 2, 0], atol=1e-12)
    np.testing.assert_allclose(found[1], [0, 0, 2], atol=1e-9)
    np.testing.assert_allclose(found[2], 0, atol=1e-6)


def test_a_fault_in_a_form_is_found(monkeypatch):
    """The derivatives near 0 are not those of a series with another term."""
    from functier.scipy import _quaternions

    whole = _quaternions.near_zero
    monkeypatch.setattr(
        _quaternions, "near_zero", lambda s, small, series, formula: whole(
            s, small, lambda s: series(s) + s, formula
        ),
    )  # fmt: skip
    with pytest.raises(AssertionError):
        test_derivatives_of_vectors_and_back(9e-4)


# ---- scipy functions ----


def test_a_body_is_a_function_for_other_rules_too():
    def body(x):
        return x

    assert declare_composite(special, "a function of no release")(body) is body


# ---- sparse systems ----


def judge(program, nesting):
    with warnings.catch_warnings():
        for kind in (sp.SparseEfficiencyWarning, PendingDeprecationWarning):  # of numpy.matrix
            warnings.simplefilter("ignore", kind)
        return verdict(program, nesting, 1.1, 2e-6)


@pytest.mark.parametrize("mode, operand", [("jvp", "a"), ("vjp", "a"), ("jvp", "b"), ("vjp", "b")])
def test_wrong_rules_are_found(mode, operand, monkeypatch):
    record = operations()[systems.solution]
    rules = [getattr(record, mode)[operand], *([record.joint] if mode == "vjp" else [])]
    for rule in rules:
        right = rule.fn
        monkeypatch.setattr(
            rule, "fn",
            lambda *args, right=right: tuple(
                None if v is None else 1.001 * v for v in _tuple(right(*args))
            ) if isinstance(right(*args), tuple) else 1.001 * right(*args),
        )  # fmt: skip
    nesting = "jvp" if mode == "jvp" else "grad"

    assert judge(direct, nesting) == "wrong"


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


# ---- stats ----


@pytest.mark.parametrize("n", [3, 5, 8, 60])
def test_the_density_of_kolmogorov_holds_next_to_its_knots(n):
    """SciPy takes differences there, whose steps may be as small as rounding errors."""
    slope = ft.grad(lambda d: kolmogorov_probability(d, n, 0))
    for knot, away in ((0.5, -1), (1 / n, 1)):
        for distance in (1e-16, 1e-15, 1e-12, 1e-9):
            near, clear = slope(knot + away * distance), slope(knot + away * 1e-6)
            if distance > 1e-16 or away < 0:  # else it is the knot
                np.testing.assert_allclose(near, clear, rtol=2e-3, atol=1e-4)


# ---- messages ----


@pytest.mark.parametrize("module", ["integrate", "interpolate", "optimize", "ndimage", "spatial"])
def test_each_twin_without_a_record_is_known(module):
    importlib.import_module(f"scipy.{module}")
    file = "trees" if module == "spatial" else module
    for original, _ in importlib.import_module(f"functier.scipy._{file}").TWINS:
        name = f"scipy.{module}.{original.__name__}"
        if getattr(getattr(scipy, module), original.__name__, None) is original:
            assert twin_name(name) == name
    assert not twin_name("scipy.special.lqn") and not twin_name("scipy.interpolate.BPoly")
    assert not twin_name("scipy.stats._kendall_dis")  # in Cython
