"""Rules that gave other dtypes and numbers than NumPy, put back: the net of dtypes finds each."""

import random
import re
from typing import Any

import numpy as np
import pytest

import samples
from checks import check_vmap
from functier._core.op import Op
from functier._core.table import OPS, find
from functier._rules import elementwise, polynomial, quantile, repeat, shape
from functier._rules import ufunc_methods as methods
from functier._rules.linalg import linear_systems as linalg
from functier._transforms import grad as _grad
from nets.test_dtypes import (
    gradient_cases,
    judge_gradient,
    judge_row,
    judge_ufunc,
    quiet,
    row_cases,
    shown,
    ufunc_cases,
)
from nets.verdicts import Verdicts

special = pytest.importorskip("scipy.special")
find(special.jv)  # has the rules of SciPy's functions loaded
from functier.scipy._rules import special_formulas as _scipy_formulas  # noqa: E402

# ---- the rules as they were ----


def convolution(a: Any, v: Any) -> Any:
    """Summed up in the dtype that `numpy.sum` takes for small numbers."""
    n, m = np.shape(a)[0], np.shape(v)[0]
    rows = np.multiply(np.reshape(a, (n, 1)), np.reshape(v, (1, m)))
    rows = np.concatenate([rows, np.zeros((n, n), rows.dtype)], axis=1)
    shifted = np.reshape(np.reshape(rows, (-1,))[: n * (n + m - 1)], (n, n + m - 1))
    return np.sum(shifted, axis=0)


def polyval(p: Any, x: Any) -> Any:
    y = np.multiply(x, 0)
    for i in range(np.shape(p)[0]):
        y = y * x + p[i]
    return y


def median(a: Any, axis: Any = None, **options: Any) -> Any:
    """The quantile 1/2, which interpolates."""
    return np.quantile(a, 0.5, axis=axis, **options)


def outer(a: Any, b: Any, **kwargs: Any) -> Any:
    """With a number that stays weak."""
    return np.add(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b, **kwargs)


def log_of_sum(a: Any, axis: Any, keepdims: Any, initial: Any = -np.inf, **dtype: Any) -> Any:
    """With a maximum in the dtype of whole numbers."""
    shift = np.rint(np.max(a, axis=axis, keepdims=True, initial=-np.inf))
    total = np.sum(np.exp(a - shift), axis=axis, keepdims=keepdims, **dtype)
    return np.log(total) + np.reshape(shift, np.shape(total))


def bessel(x: Any) -> Any:
    nodes = elementwise.I0_NODES.astype(x.dtype)
    return np.mean(nodes * np.exp(np.reshape(x, (*np.shape(x), 1)) * nodes), axis=-1)


def composed(func: Any, body: Any) -> tuple:
    return OPS, func, Op(func, "", "", family="composite", body=body)


def weak(q: Any) -> Any:
    """A NumPy number for Python's, whose class it inherits from."""
    return 0.5 if isinstance(q, float) else q


FAULTS = {
    "convolve of narrow integers": (
        r"polynomial\.convolve", [(polynomial, "_convolution", convolution)]),
    "correlate of narrow integers": (
        r"polynomial\.correlate", [(polynomial, "_convolution", convolution)]),
    "polymul of narrow integers": (
        r"polynomial\.polymul", [(polynomial, "_convolution", convolution)]),
    "polyval of bool": (r"polynomial\.polyval", [composed(np.polyval, polyval)]),
    "median of bool": (r"quantile\.median.* as bool", [composed(np.median, median)]),
    "median of complex64": (r"quantile\.median.* as complex64", [composed(np.median, median)]),
    "quantile of a float64 q": (
        r"quantile\.quantile-f.*numbers as arrays: 1 as float64|"
        r"quantile\.quantile-d.*numbers as arrays: 1 as float64 by float32",
        [(quantile, "promotion_operand", weak)]),
    "outer of a Python number": (
        r"ufunc_methods\.add\.outer.*: 1 as a float by float32",
        [(find(np.add.outer), "body", outer)]),
    "logaddexp.reduce of integers": (
        r"ufunc_methods\.logaddexp\.reduce.* as int",
        [composed(np.logaddexp.reduce, methods._reduce_body(log_of_sum, -np.inf))]),
    "cond of a singular matrix": (
        r"linalg\.cond.*: 0 as bool", [(linalg, "inverses", np.linalg.inv)]),
    "the gradient of i0 for a Python number": (
        r"elementwise\.i0.* as a float", [(elementwise, "_bessel_i1", bessel)]),
    "an unsigned order of a Bessel function": (
        r"scipy_special\.jv.* as uint8",
        [(_scipy_formulas, "prepare_operands", lambda *saved: saved)]),
}  # fmt: skip


def plant(monkeypatch: Any, target: Any, name: Any, value: Any) -> None:
    if isinstance(target, dict):
        monkeypatch.setitem(target, name, value)
    else:
        monkeypatch.setattr(target, name, value)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, monkeypatch):
    """The cases of the net that the fault concerns: right as they are, wrong with it."""
    pattern, plants = FAULTS[name]
    cases = [case for case in row_cases() if re.match(pattern, shown(case))]
    cases = random.Random(4).sample(cases, min(len(cases), 120))
    before, after = Verdicts("before"), Verdicts("after")
    with quiet():
        for case in cases:
            judge_row(before, case, random.Random(1), True)
        for target in plants:
            plant(monkeypatch, *target)
        for case in cases:
            judge_row(after, case, random.Random(1), True)

    assert (before.right and not before.wrong) or name == "polymul of narrow integers"
    assert len(after.wrong) > len(before.wrong), after.summary()


UFUNC_FAULTS = {
    "reduce of logaddexp": (
        ("reduce", np.logaddexp),
        composed(np.logaddexp.reduce, methods._reduce_body(log_of_sum, -np.inf)),
    ),
    "a whole exponent": (("ufunc", np.power), (elementwise, "_match_precision", lambda y, g: y)),
}


@pytest.mark.parametrize("name", UFUNC_FAULTS)
def test_a_planted_fault_of_a_ufunc_is_found(name, monkeypatch):
    which, fault = UFUNC_FAULTS[name]
    cases = [c for c in ufunc_cases() if c[:2] == which and c[2][-1] in ("bool", "int8")]
    plant(monkeypatch, *fault)
    counts = Verdicts("ufuncs")
    with quiet():
        for case in cases:
            judge_ufunc(counts, case, random.Random(1), True)

    assert counts.wrong


def test_an_array_for_the_gradient_of_a_number_is_found(monkeypatch):
    monkeypatch.setattr(_grad, "fill_zeros", lambda grads, values: grads)
    counts = Verdicts("numbers")
    with quiet():
        for name in gradient_cases():
            judge_gradient(counts, name)

    assert any("atleast_1d" in text for text in counts.wrong)


OLD = {
    "repeat-d[0]-[]": (np.repeat, "vmap", lambda k, a, repeats, axis=None: np.repeat(
        repeat.flatten_examples(k, a), np.reshape(repeats, repeats.shape[k:]), k)),
    "repeat-d[]-2-axis=0": (np.repeat, "vmap", lambda k, a, repeats, axis=None: np.repeat(
        a, repeats, shape.shift(axis, k, np.ndim(a) - k))),
    "transpose-d[3]-0": (np.transpose, "vmap", lambda k, a, axes=None: np.transpose(
        a, (*range(k), *[shape.shift(i, k, a.ndim - k) for i in axes]))),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD)
def test_the_rows_of_the_table_find_it(name, monkeypatch):
    """Faults that the checks of every row find, since the row is there."""
    row = samples.named()[f"shape.{name}"]
    check_vmap(row)
    func, attribute, rule = OLD[name]
    monkeypatch.setattr(OPS[func], attribute, rule)
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check_vmap(row)
