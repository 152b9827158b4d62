"""Every rule of the real table is made wrong once, and the chosen rows of the samples find it.

So a quick run finds each of these faults, and a run of all rows does, too.
"""

import contextlib
import functools

import numpy as np
import pytest

import checks
import samples
from functier._core.errors import DataDependentError
from functier._core.pytree import like
from functier._core.table import OPS
from planted import batched_by, replaced
from rows import run_each
from support import bare, load_all

load_all()


# ---- every derivative rule of the table, made wrong by 0.1 % ----


def every_rule():
    """Every derivative rule of the table, by its operation, its mode and its operand.

    A rule that both modes share stands here once.
    """
    found = {}
    for record in OPS.values():
        for mode in ("vjp", "jvp"):
            rules = getattr(record, mode)
            for name, rule in rules.items() if isinstance(rules, dict) else ():
                if rule not in found.values():
                    found[record.name, mode, name] = rule
        if record.joint is not None:
            found[record.name, "joint", "all"] = record.joint
    return found


def first_order(this):
    """The checks that a wrong derivative has to fail."""
    applying = checks.checks_of(this)
    return [applying[name] for name in ("jvp", "vjp", "alone") if name in applying]


@functools.cache
def rows_of_rules():
    """The chosen rows that run a rule, wherever it stands: also inside composites and rules."""
    found = {}

    def noting(key, fn):
        def noted(*args):
            found.setdefault(key, {})[id(this)] = this
            return fn(*args)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        replaced(patch, [(rule, noting(key, rule.fn)) for key, rule in every_rule().items()])
        for this in samples.chosen().values():
            for check in first_order(this):
                with np.errstate(all="ignore"), contextlib.suppress(AssertionError):
                    check(this)
    return found


WITHOUT_ROWS = {"numpy.nextafter:vjp:x", "numpy.nextafter:vjp:y"}
"""Finite differences say nothing of steps as small as these."""

ZERO = {"numpy.copysign:vjp:y", "numpy.heaviside:vjp:x", "numpy.where:vjp:condition"}
"""The rules whose results are zero, which are right when they are scaled."""


@pytest.mark.slow
def test_derivative_rules_that_are_wrong_by_a_thousandth_are_found():
    rules = {":".join(key): (key, rule) for key, rule in every_rule().items()}
    left_out = WITHOUT_ROWS | ZERO

    assert left_out <= set(rules)
    run_each(
        {name: rules[name] for name in rules if name not in left_out}, lambda r: derivative(*r)
    )
    for name in ZERO:
        with pytest.raises(AssertionError, match="no row finds the fault"):
            derivative(*rules[name])


def derivative(key, rule):
    """Require that a row finds a derivative rule whose results are 1.001 times too large."""
    right, seen = rule.fn, []

    def scaled(result):
        if isinstance(result, (tuple, list)):
            return tuple(scaled(r) for r in result)
        if result is not None:
            seen.append(result)
            result = result * np.asarray(1.001, np.result_type(result))[()]
        return result

    def wrong(g, *saved):
        return scaled(right(g, *saved))

    rows = rows_of_rules().get(key, {})
    with pytest.MonkeyPatch.context() as patch:
        replaced(patch, [(rule, wrong)])
        found = is_found(rows, first_order, AssertionError)

    assert seen, "no row runs this rule"
    assert found, "no row finds the fault"


def is_found(rows, checks_of, errors):
    """Tell if any of the checks of any of the rows raises one of these errors."""
    for this in rows.values():
        for check in checks_of(this):
            try:
                with np.errstate(all="ignore"):
                    check(this)
            except errors:
                return True
    return False


# ---- every batching rule of the table, made wrong in each element, numbers by 0.1 % ----

BATCHING = {record.name: record for record in OPS.values() if record.vmap is not None}


@functools.cache
def rows_of_batching_rules():
    """The chosen rows that run a batching rule, by the name of its operation."""
    found = {}

    def noting(record):
        rule = record.vmap

        def noted(*args, **params):
            found.setdefault(record.name, {})[id(this)] = this
            return rule(*args, **params)

        return record, noted

    with pytest.MonkeyPatch.context() as patch:
        batched_by(patch, [noting(record) for record in BATCHING.values()])
        for this in samples.chosen().values():
            for check in batching(this):
                with np.errstate(all="ignore"), contextlib.suppress(AssertionError):
                    check(this)
    return found


def batching(this):
    """The checks that a wrong batching rule has to fail."""
    applying = checks.checks_of(this)
    names = ("vmap", "refusal", "vmap_of_derivatives")
    return [applying[name] for name in names if name in applying]


@pytest.mark.slow
def test_batching_rules_that_are_wrong_are_found():
    places = "functier._rules.scipy.spatial.places."
    always_refuses = "numpy.spacing", f"{places}as_constant"
    without_rows = (f"{places}look_up_among",)  # see scipy_twins/test_sets_of_points
    left_out = {*always_refuses, *without_rows}
    run_each({k: record for k, record in BATCHING.items() if k not in left_out}, batched)


def batched(record):
    """Require that a row finds a batching rule whose results are wrong."""
    seen = []
    right = record.vmap

    def changed(result):
        if isinstance(result, (tuple, list)):
            return like(result, [changed(r) for r in result])
        kind = np.result_type(bare(result)).kind
        if kind == "b":
            result = np.logical_not(result)
        elif kind in "iu":
            result = result + np.asarray(1, np.result_type(result))[()]
        elif kind in "fc":
            result = result * np.asarray(1.001, np.result_type(result))[()]
        seen.append(result)
        return result

    def wrong(*args, **params):
        try:
            return changed(right(*args, **params))
        except DataDependentError:  # that is its result
            seen.append(True)
            return np.zeros(1)

    rows = rows_of_batching_rules().get(record.name, {})
    with pytest.MonkeyPatch.context() as patch:
        batched_by(patch, [(record, wrong)])  # a wrong index may stop NumPy
        found = is_found(rows, batching, (Exception, pytest.fail.Exception))

    assert seen, "no row runs this rule"
    assert found, "no row finds the fault"


# ---- the choice of rows ----


def test_what_is_chosen_especially_is_there_and_no_first_row():
    assert samples.ESPECIALLY <= set(samples.named()) - set(samples.firsts())
