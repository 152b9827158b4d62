"""Rules put in for those of the table, as planted faults, and the rows that find them."""

import contextlib
import itertools

import numpy as np
import pytest

import functier as ft
from functier._core.methods import methods_of
from functier._core.pytree import like
from functier._levels.batch import BatchLevel
from functier._levels.grad import GradLevel
from functier._levels.jvp import JvpLevel
from functier.errors import DataDependentError
from functier.testing import operations
from support import checks
from support.basics import bare


def replaced(patch, rules):
    """Put functions in the places of rules, and have every operation ask for its rules."""
    for rule, fn in rules:
        patch.setattr(rule, "fn", fn)
    for kind in (GradLevel, JvpLevel):  # the fast calls have the same formulas, without the record
        patch.setattr(kind, "methods", methods_of({}))
    patch.setattr(ft.Tensor.level, "spare", {})  # the classes there have them as methods


def batched_by(patch, rules):
    """Put functions in the places of batching rules, and have every operation ask for its own."""
    for record, rule in rules:
        patch.setattr(record, "vmap", rule)
    patch.setattr(BatchLevel, "methods", methods_of({}))
    patch.setattr(ft.Tensor.level, "spare", {})


def found_by(rows, checks_of, errors):
    """Yield the rows of which a check raises one of these errors, each with the first that does."""
    for name, row in rows.items():
        for kind, check in checks_of(row).items():
            try:
                with np.errstate(all="ignore"):
                    check(row)
            except errors:
                yield name, kind
                break


def running(rows, checks_of, plant):
    """Return the rows that run each rule: ``plant(patch, note)`` replaces rules by noting ones."""
    found, current = {}, []

    def note(key, rule):
        def noting(*args, **params):
            found.setdefault(key, {})[current[-1]] = rows[current[-1]]
            return rule(*args, **params)

        return noting

    with pytest.MonkeyPatch.context() as patch:
        plant(patch, note)
        for name, row in rows.items():
            current[:] = [name]
            for check in checks_of(row).values():
                with (
                    np.errstate(all="ignore"),
                    contextlib.suppress(AssertionError, ft.RandomnessError),
                ):
                    check(row)
    return found


RULES = "functier._rules.", "functier.scipy._rules.", "functier.nn._operations"


def home_of(func):
    """Return the module that declares the rules of a function, or nothing."""
    if func in operations():
        rules = [rule.fn for rule in every_rule([operations()[func]]).values()]
        for fn in (operations()[func].body, *rules, operations()[func].vmap):
            home = getattr(fn, "__module__", None) or ""
            if home.startswith(RULES) and not home.endswith(".constructors"):
                return home
    return ""


def room_of(func):
    """Return the folder of the rules of a function, or the module where it is in none."""
    home = home_of(func).replace("scipy._rules.", "_rules.scipy.")
    home = home.replace("nn._operations", "_rules.neural")
    folder, _, file = home.removeprefix("functier._rules.").rpartition(".")
    return folder or file


# ---- derivative rules, wrong by 0.1 % ----

WITHOUT_ROWS = {"numpy.nextafter:vjp:x", "numpy.nextafter:vjp:y"}
"""Finite differences say nothing of steps as small as these."""

DRAWN = {f"functier.random._gamma.follow:{rule}" for rule in ("vjp:a", "vjp:z", "vmap")}
"""Differences hold a draw fixed; `tests/random` compares it with the distribution."""

ZERO = {
    "numpy.copysign:vjp:y", "numpy.heaviside:vjp:x", "numpy.where:vjp:condition",
    *[f"functier._rules.linalg.norm._at_zero:{rule}:x" for rule in ("jvp", "vjp")],
}  # fmt: skip
"""The rules whose results are zero in each row, which are right when they are scaled."""


def all_records():
    """The table without what is declared where Dask is: `tests/dask_arrays` plants those faults."""
    return [
        record for record in operations().values() if not record.name.startswith("functier._dask.")
    ]


def every_rule(records=None):
    """Every derivative rule of the table or of some records: by operation, mode and operand.

    A rule that both modes share stands here once.
    """
    found = {}
    for record in all_records() if records is None else records:
        for mode in ("vjp", "jvp"):
            rules = getattr(record, mode)
            for name, rule in rules.items() if isinstance(rules, dict) else ():
                if rule not in found.values():
                    found[f"{record.name}:{mode}:{name}"] = rule
        if record.joint is not None:
            found[f"{record.name}:joint:all"] = record.joint
    return found


FIRST_ORDER = "jvp", "vjp", "alone"
"""The checks that a wrong derivative has to fail."""


def first_order(row):
    """Those of them that apply to a row."""
    applying = checks.checks_of(row)
    return {name: applying[name] for name in FIRST_ORDER if name in applying}


def rows_of_rules(rules, rows):
    """The rows that run a rule, wherever it stands: also inside composites and rules."""

    def plant(patch, note):
        replaced(patch, [(rule, note(key, rule.fn)) for key, rule in rules.items()])

    return running(rows, first_order, plant)


def wrong_derivative(rule, rows, most=1):
    """Tell if rows run a rule whose results are 1.001 times too large, and which of them find it.

    These are the first `most`, each with the check that found it.
    """
    right, seen = rule.fn, []

    def scaled(result):
        if isinstance(result, (tuple, list)):
            return tuple(scaled(r) for r in result)
        if result is not None:
            seen.append(result)
            result = result * np.asarray(1.001, np.result_type(result))[()]
        return result

    with pytest.MonkeyPatch.context() as patch:
        replaced(patch, [(rule, lambda g, *saved: scaled(right(g, *saved)))])
        found = [*itertools.islice(found_by(rows, first_order, AssertionError), most)]
    return bool(seen), found


# ---- batching rules, wrong in each element, numbers by 0.1 % ----

PLACES = "functier.scipy._rules.spatial.places."
NOT_BATCHED = {
    "numpy.spacing:vmap": "it always refuses",
    "functier._rules.linalg.norm._at_zero:vmap": "its result is zero",
    f"{PLACES}as_constant:vmap": "it always refuses",
    f"{PLACES}look_up_among:vmap": "scipy_twins/test_sets_of_points runs it",
    "functier._transforms.series.simple._check:vmap": "tests/taylor runs it",
    "functier._rules.linalg.gaps._check_cut:vmap": "it raises or not, and its result is not used",
}
"""The operations whose batching rules no row finds wrong, and why."""


BATCHING = "vmap", "refusal", "vmap_of_derivatives"
"""The checks that a wrong batching rule has to fail."""

OF_DERIVATIVES = {"scipy_special", "scipy_fft", "scipy_stats_continuous", "scipy_stats_discrete"}
"""The families of SciPy's functions with faults that only the last of these checks finds."""


def is_quick(family, check):
    """Tell if a quick run takes a check for the chosen rows of a family of SciPy's functions."""
    if check == "vmap_of_derivatives":
        return family in OF_DERIVATIVES
    return check in {"value", *FIRST_ORDER, *BATCHING}


def batching(row):
    """Those of them that apply to a row."""
    applying = checks.checks_of(row)
    return {name: applying[name] for name in BATCHING if name in applying}


def batched(records=None):
    """The records with a batching rule, by names like those of derivative rules."""
    every = all_records() if records is None else records
    return {f"{record.name}:vmap": record for record in every if record.vmap is not None}


def rows_of_batching_rules(records, rows):
    """The rows that run a batching rule, by the name of its operation."""

    def plant(patch, note):
        batched_by(patch, [(r, note(name, r.vmap)) for name, r in records.items()])

    return running(rows, batching, plant)


def wrong_batch(record, rows, most=1):
    """Tell if rows run a batching rule whose results are wrong, and which of them find it."""
    seen, right = [], record.vmap

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

    with pytest.MonkeyPatch.context() as patch:
        batched_by(patch, [(record, wrong)])  # a wrong index may stop NumPy
        errors = Exception, pytest.fail.Exception
        found = [*itertools.islice(found_by(rows, batching, errors), most)]
    return bool(seen), found


LEFT_OUT = {
    **dict.fromkeys(WITHOUT_ROWS, "finite differences say nothing of such small steps"),
    **dict.fromkeys(DRAWN, "differences of a draw see no change of its parameter"),
    **dict.fromkeys(ZERO, "its results are zero, and remain so"),
    **NOT_BATCHED,
}
"""The rules whose faults no row finds, and why."""
