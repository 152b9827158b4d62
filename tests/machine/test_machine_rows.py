"""Some rows of the samples as machine code, and faults that they find."""

import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import samples
from functier._programs.machine.elementary import ELEMENTWISE
from functier._programs.machine.linalg import contractions
from functier._programs.machine.loops import bodies, nests
from functier._programs.machine.lowering import reductions
from functier._programs.machine.text import routines
from nets.machine_rows import Judge, drawn, long_doubles, net
from support.basics import raises

pytestmark = pytest.mark.inside("Which rows become machine code depends on tables.")

SEED = 2026


@pytest.fixture(autouse=True)
def without_files(monkeypatch):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")


def run(rows, large=False):
    found = net(SEED)
    for name, row in rows.items():
        found.run(name, row, large)
    return found


def test_rows(rows, request, full, record_property):
    share = 1 if full else 1 / 40 if request.config.getoption("--slow") else 1 / 200
    found = run(drawn(share, SEED, rows))
    record_property("net", found.counts.told(found.summary()))
    found.settle()
    assert found.parts


@pytest.mark.slow
def test_rows_of_other_sizes(rows, full, record_property):
    found = run(drawn(1 if full else 1 / 80, SEED, rows, large=True), large=True)
    record_property("net", found.counts.told(found.summary()))
    found.settle()
    assert found.parts


# ---- planted faults ----


def forget():
    """Forget the kernels that are kept."""
    for name, module in list(sys.modules.items()):
        if name.startswith("functier._programs.machine"):
            for function in vars(module).values():
                if hasattr(function, "cache_clear"):
                    function.cache_clear()


def rule(func, wrong):
    """Plant a rule that is made of the right one."""
    right = ELEMENTWISE[func]
    return lambda patch: patch.setitem(ELEMENTWISE, func, lambda e, *x: wrong(e, right, *x))


FAULTS = {
    "another function": ("elementwise.sin-", rule(np.sin, lambda e, f, x: f(e, f(e, x)))),
    "a function that is not exact": (
        "elementwise.exp-", rule(np.exp, lambda e, f, x: e.mul(f(e, x), 1 + 3e-13)),
    ),
    "a number in place of NaN": (
        "elementwise.maximum-", rule(np.maximum, lambda e, f, *x: ELEMENTWISE[np.fmax](e, *x)),
    ),
    "an infinite number in place of NaN": (
        "elementwise.sqrt-", rule(np.sqrt, lambda e, f, x: f(e, e.abs(x))),
    ),
    "zeros of one sign": ("elementwise.tan-", rule(np.tan, lambda e, f, x: e.add(f(e, x), 0.0))),
    "a sum that begins with another zero": (
        "composite.linspace-d[]-0.0,1", lambda patch: patch.setattr(nests, "NOTHING", -0.0),
    ),
    "two declarations of one function": (
        "scipy_linalg_decompositions.sl.eig_banded-d[2,4]",
        lambda patch: patch.setattr(
            routines.Routine, "declare", lambda self, name, text: DECLARE(self, name, f"{text} ;")
        ),
    ),
    "factors of the transpose": (
        "linalg.solve-d[3,3],d[3]", lambda patch: patch.setattr(
            reductions, "factors_of", lambda low, a: (*FACTORS(low, a)[:2], False)
        ),
    ),
    "axes that are joined too soon": (
        "contraction.tensordot-d[2,3,2],d[3,2,4]", lambda patch: patch.setattr(
            contractions, "follows", lambda *axes: FOLLOWS(*[axis._replace(b=0) for axis in axes])
        ),
    ),
}  # fmt: skip
DECLARE, FACTORS = routines.Routine.declare, reductions.factors_of
FOLLOWS = contractions.follows

LARGE_FAULTS = {
    "a sum that takes lanes twice": (
        "reduction.sum-d[2,3]", lambda patch: patch.setattr(bodies.Body, "needs_mask", never),
    ),
}  # fmt: skip


def never(self):
    return False


QUICK = "a function that is not exact", "a sum that begins with another zero"
LONG = [pytest.param(x, marks=pytest.mark.slow) for x in FAULTS | LARGE_FAULTS if x not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *LONG])
def test_a_planted_fault_is_found(monkeypatch, name):
    prefix, plant = (FAULTS | LARGE_FAULTS)[name]
    rows = {n: row for n, row in samples.named().items() if n.startswith(prefix)}
    first = dict(list(rows.items())[: 1 if name in QUICK else 2])
    right = run(first, name in LARGE_FAULTS)
    right.settle()
    plant(monkeypatch)
    forget()
    try:
        wrong = run(first, name in LARGE_FAULTS)
    finally:
        forget()
    assert right.parts
    assert wrong.counts.wrong


X = np.array([[0.5, -0.25, 0.0], [3.0, 1.0, 2.0]])


def judge(f=np.copy):
    return Judge(np.finfo(float).eps, long_doubles(lambda x: [f(x)]), lambda x: [f(x)])


def changed(x, i, to):
    x = x.copy()
    x.flat[i] = to
    return x


WRONG = {
    "a dtype": X.astype(np.float32),
    "a shape": X.reshape(3, 2),
    "an order": np.asfortranarray(X),
    "a value": changed(X, 3, 3 + 1e-12),
    "an infinite value": changed(X, 3, np.inf),
    "no number": changed(X, 3, np.nan),
    "a sign of zero": changed(X, 2, -0.0),
    "the memory of an input": X,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name):
    judge().check([changed(X, 3, 3 + 1e-14)], [X.copy()], [X])
    raises(AssertionError, lambda: judge().check([WRONG[name]], [X.copy()], [X]))


@pytest.mark.parametrize(
    "found, expected",
    [
        (np.float64(1), np.array(1.0)),
        (1.0, np.float64(1)),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([True]), np.array([False])),
        (np.array([1 + 1j]), np.array([1 - 1j])),
    ],
)
def test_other_kinds_and_numbers_are_found(found, expected):
    raises(AssertionError, lambda: judge(np.sum).check([found], [expected], [X]))


def test_the_error_may_be_four_times_that_of_numpy():
    """It is known from a run in long doubles."""
    poor = lambda x: x + (1e-9 if x.dtype == float else 0)  # noqa: E731

    judge(poor).check([X + 4e-9], [X + 1e-9], [X])
    raises(AssertionError, lambda: judge(poor).check([X + 5e-9], [X + 1e-9], [X]), "at most 4e-09")


def test_without_long_doubles_numpys_result_counts():
    def single(x):
        if x.dtype == np.longdouble:
            raise TypeError
        return x

    judge(single).check([X + 1e-13], [X + 0], [X])
    raises(AssertionError, lambda: judge(single).check([X + 1e-12], [X + 0], [X]), "apart")


def test_zeros_whose_sign_is_a_matter_of_rounding():
    f = lambda x: (x * 3 - x - x - x) * 0.0  # noqa: E731
    x = np.array([0.1, 0.2, 0.7])

    judge(f).check([-f(x)], [f(x)], [x])
    with pytest.raises(AssertionError, match="signs"):
        judge(lambda x: x * 0.0).check([-x * 0.0], [x * 0.0], [x])
