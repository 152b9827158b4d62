"""Every rule of the real table is made wrong once, and the rows of the samples find it."""

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
    """The rows that run a rule, wherever it stands: also inside composites and rules."""
    found = {}

    def noting(key, fn):
        def noted(*args):
            found.setdefault(key, {})[id(this)] = this
            return fn(*args)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        replaced(patch, [(rule, noting(key, rule.fn)) for key, rule in every_rule().items()])
        for this in samples.named().values():
            for check in first_order(this):
                with np.errstate(all="ignore"), contextlib.suppress(AssertionError):
                    check(this)
    return found


WITHOUT_ROWS = {"numpy.nextafter"}
"""Finite differences say nothing of steps as small as these."""

KEYS = [key for key in every_rule() if key[0] not in WITHOUT_ROWS]


@pytest.mark.parametrize("key", KEYS, ids=":".join)
def test_rule_that_is_wrong_by_a_thousandth_is_found(key, monkeypatch):
    rule = every_rule()[key]
    right, seen = rule.fn, []

    def scaled(result):
        if isinstance(result, (tuple, list)):
            return tuple(scaled(r) for r in result)
        if result is not None:
            seen.append(bool(np.any(bare(result))))
            result = result * np.asarray(1.001, np.result_type(result))[()]
        return result

    def wrong(g, *saved):
        return scaled(right(g, *saved))

    rows = rows_of_rules().get(key, {})
    replaced(monkeypatch, [(rule, wrong)])
    found = False
    for this in rows.values():
        for check in first_order(this):
            if not found:
                try:
                    with np.errstate(all="ignore"):
                        check(this)
                except AssertionError:
                    found = True

    assert seen, "no row runs this rule"
    assert found or not any(seen), "no row finds the fault"


# ---- every batching rule of the table, made wrong in each element, numbers by 0.1 % ----

BATCHING = {record.name: record for record in OPS.values() if record.vmap is not None}


@functools.cache
def rows_of_batching_rules():
    """The rows that run a batching rule, by the name of its operation."""
    found = {}

    def noting(record):
        rule = record.vmap

        def noted(*args, **params):
            found.setdefault(record.name, {})[id(this)] = this
            return rule(*args, **params)

        return record, noted

    with pytest.MonkeyPatch.context() as patch:
        batched_by(patch, [noting(record) for record in BATCHING.values()])
        for this in samples.named().values():
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
@pytest.mark.parametrize("name", [name for name in BATCHING if name != "numpy.spacing"])
def test_batching_rule_that_is_wrong_is_found(name, monkeypatch):
    record, seen = BATCHING[name], []
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
        seen.append(kind in "biu" or bool(np.any(bare(result))))
        return result

    def wrong(*args, **params):
        try:
            return changed(right(*args, **params))
        except DataDependentError:  # that is its result
            seen.append(True)
            return np.zeros(1)

    batched_by(monkeypatch, [(record, wrong)])
    found = False
    for this in rows_of_batching_rules().get(name, {}).values():
        for check in batching(this):
            if not found:
                try:
                    with np.errstate(all="ignore"):
                        check(this)
                except (Exception, pytest.fail.Exception):  # a wrong index may stop NumPy
                    found = True

    assert seen, "no row runs this rule"
    assert found or not any(seen), "no row finds the fault"
