"""Every row of the samples as a program: traced, replayed, and equal to the last bit.

A check reports right, refused and wrong. What is refused needs a reason in `REASONS`.
"""

import re
import warnings
from collections import Counter

import numpy as np
import pytest

import checks
import functier as ft
import samples
from bits import difference
from functier._levels import backward
from functier._programs import passes, recorder, spelling
from functier._rules import elementwise
from row_cases import cases

REASONS = {
    r"constant\.(shares_memory|may_share_memory)": "it asks for the memory of an array",
    r"scipy_\w+\..*draws from NumPy's global generator": "SciPy draws for an estimate",
}
"""Rows that are refused, and why."""

TO_ROUNDING = {
    r"scipy_(integrate\.simpson|stats\.entropy).* vjp of vjp": (
        "a rule leaves a choice out where no element needs it, which changes the order of a sum"
    ),
}
"""Rows that plain arguments compute in another order than tensors, so that some last bits differ.
"""

MOST_REFUSED = 0.03


def run(rows, second=False):
    """Trace and replay some rows; return the counts, and the names of those that are not right."""
    counts, found = Counter(), {}
    for name, row in rows.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for kind, f, args in cases(row, second):
                try:
                    expected = f(*args)
                except Exception:
                    if " of " not in kind:
                        raise
                    continue  # it has no second derivative, or is not smooth there
                try:
                    program = ft.trace(f)(*args)
                except ft.LevelError as error:
                    counts["refused"] += 1
                    found[f"{name} {kind}"] = f"refused: {error}"
                    continue
                try:
                    loose = any(re.match(r, f"{name} {kind}") for r in TO_ROUNDING)
                    wrong = difference(program(*args), expected, 1e-13 if loose else 0.0)
                except Exception as error:  # which the function itself has not raised
                    wrong = f"{type(error).__name__}: {error}"
                counts["wrong" if wrong else "right"] += 1
                if wrong:
                    found[f"{name} {kind}"] = wrong
    return counts, found


def check(rows, second=False):
    counts, found = run(rows, second)

    assert not {
        k: v for k, v in found.items() if not any(re.match(r, f"{k} {v}") for r in REASONS)
    }, counts
    assert counts["refused"] <= MOST_REFUSED * sum(counts.values())


def test_rows_are_equal_to_the_last_bit(rows, request):
    if not request.config.getoption("--slow"):
        rows = dict(list(rows.items())[::5])
    check(rows)


def test_second_derivatives_are_equal_to_the_last_bit(rows, request):
    if not request.config.getoption("--slow"):
        rows = dict(list(rows.items())[1::40])
    check(rows, second=True)


def test_ways_for_large_arrays(rows, request, monkeypatch):
    """All arrays count as large: the backward pass and rules write in place."""
    for module in (backward, elementwise):
        monkeypatch.setattr(module, "BIG", 0)
    if not request.config.getoption("--slow"):
        rows = dict(list(rows.items())[2::40])
    check(rows, second=True)


def extrema():
    """Arrays in several orders, with and without ties and NaNs, and the cotangents of extrema."""
    draws = np.random.default_rng(0)
    for shape in ((), (5,), (7, 9), (2, 3, 4)):
        for dtype in (float, np.float32, complex):
            for most in (2, 1000):
                x = draws.integers(0, most, shape).astype(dtype)
                if most == 1000 and x.size:
                    x.reshape(-1)[0] = np.nan
                for order in (x, x.T, x[..., ::-1] if x.ndim else x):
                    for axis in (None, 0)[: 1 + (x.ndim > 0)]:
                        size = np.shape(np.max(order, axis=axis))
                        yield order, axis, np.asarray(draws.normal(size=size), dtype)[()]


def wrong_extrema():
    """Return the arrays for which a program shares a cotangent in another way than eager mode."""
    found = []
    for x, axis, w in extrema():
        for func in (np.max, np.nanmin):

            def f(x, w, func=func, axis=axis):
                return ft.vjp(lambda x: func(x, axis=axis), x)[1](w)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected, actual = f(x, w), ft.trace(f)(x, w)(x, w)
            a, b = np.asarray(expected), np.asarray(actual)
            signs = np.array_equal(np.signbit(a.real), np.signbit(b.real))
            if difference(actual, expected) or a.strides != b.strides or not signs:
                found.append((x.shape, x.dtype, x.strides, axis))
    return found


def test_extrema_share_a_cotangent_alike():
    assert not wrong_extrema()


def test_choices_keep_their_order():
    def f(x):
        return np.where(x > 0, x * 2, 0), np.where(x[..., :1] > 0, x, 0)

    x = np.random.default_rng(0).normal(size=(4, 5, 6))
    for y in (x, x.T, x.transpose(1, 2, 0), x[::2], x.astype(np.float32), x[0, :, 0]):
        for a, b in zip(ft.trace(f)(y)(y), f(y), strict=True):
            assert difference(a, b) is None
            assert a.strides == b.strides


# ---- planted faults ----


def test_an_array_in_another_order_is_found(monkeypatch):
    monkeypatch.setattr(spelling, "is_contiguous", lambda form: True)

    with pytest.raises(AssertionError):
        test_choices_keep_their_order()


@pytest.fixture
def some_rows():
    rows = samples.chosen()
    return {name: rows[name] for name in list(rows)[::40]}


def test_a_wrong_identity_is_found(some_rows, monkeypatch):
    monkeypatch.setitem(passes.IDENTITIES, np.cos, lambda node, args: args[0])

    assert run({n: r for n, r in samples.chosen().items() if n.startswith("elementwise.sin-")})[1]


def test_a_wrong_spelling_is_found(some_rows, monkeypatch):
    monkeypatch.setitem(spelling.OPERATORS, np.multiply, "+")

    assert run(some_rows)[1]


def test_a_value_that_is_not_recorded_is_found(some_rows, monkeypatch):
    record = recorder.RecordLevel.record

    def without(self, func, args, kwargs):
        found = record(self, func, args, kwargs)
        return self.lower(found) if func is np.sum and isinstance(found, ft.Tensor) else found

    monkeypatch.setattr(recorder.RecordLevel, "record", without)
    rows = {n: r for n, r in samples.chosen().items() if n.startswith("reduction.sum-")}
    program = {}
    for name, row in rows.items():
        f = checks.leaves_of(row)
        program[name] = ft.trace(f)(*row.leaves)
        again = [x + 1 for x in row.leaves]
        assert difference(program[name](*again), f(*again))
