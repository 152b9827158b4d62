"""The table of operations is complete, and what it says of a function is NumPy's own."""

import inspect

import numpy as np
import pytest
from numpy.testing.overrides import allows_array_function_override

import functier as ft
from functier._core.numpy_facts import name_of
from functier._core.rule import FORMS
from functier._core.table import OPS, UNSUPPORTED
from functier.protocol import linear, primitive
from support.rows import run_each
from support.surface import called, surface

pytestmark = pytest.mark.inside(
    "The table of functions without rules is compared with NumPy's functions."
)

RECORDS = list(OPS.values())
OF_NUMPY = [r for r in RECORDS if r.name.startswith(("numpy.", "_operator.", "scipy."))]
"""And of SciPy. The others are functions of our own, and ufuncs that NumPy keeps to itself."""


LATER = {
    "numpy.trim_zeros": {"axis"},
    "scipy.stats.kendalltau": {"axis", "keepdims"},
    "numpy.lib.stride_tricks.as_strided": {"check_bounds"},
}
"""Parameters that came with a NumPy after 2.1, or a SciPy after 1.14."""

GONE = {
    "numpy.corrcoef": {"bias", "ddof"},
    "numpy.quantile": {"interpolation"},
    "numpy.percentile": {"interpolation"},
    "numpy.nanquantile": {"interpolation"},
    "numpy.nanpercentile": {"interpolation"},
    "numpy.reshape": {"newshape"},
}
"""Parameters that NumPy 2.1 has deprecated, and later NumPy has no more."""


def signature(func):
    """NumPy's parameters, or None where NumPy states none."""
    if type(func).__name__ == "MultiUFunc":  # SciPy's says in its documentation what it takes
        stated = func.__doc__.partition("(")[2].partition(")")[0]
        return inspect.signature(eval(f"lambda {stated}: None")).parameters
    try:
        return inspect.signature(func).parameters
    except ValueError:
        return None


def has_stars(parameters):
    return any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values())


# ---- every function of NumPy has its place ----


def test_every_function_is_declared_or_listed():
    """F10: each that NumPy lets others override has a record, or a reason for none."""
    undeclared = {n for n, f in surface().items() if f not in OPS and f not in UNSUPPORTED}

    assert not undeclared


def test_no_function_has_two_places():
    assert not set(OPS) & set(UNSUPPORTED)


def test_unsupported_has_a_reason():
    def check(func):
        assert len(UNSUPPORTED[func].split()) >= 3

    run_each({name_of(v): v for v in list(UNSUPPORTED)}, check)


@pytest.mark.parametrize(
    "name", ["amax", "amin", "around", *sorted(set(np.linalg.__all__) & set(np.__all__))]
)
def test_aliases_that_are_other_objects_are_both_declared(name):
    pairs = {"amax": np.max, "amin": np.min, "around": np.round}
    a = getattr(np, name)
    b = pairs.get(name) or getattr(np.linalg, name)

    assert (a in OPS) == (b in OPS)
    assert (a in UNSUPPORTED) == (b in UNSUPPORTED)
    assert a in OPS or a in UNSUPPORTED


# ---- a record says what NumPy's signature says ----


def test_parameters_are_those_of_numpy():
    def check(record):
        func = record.func
        parameters = signature(func)
        if isinstance(func, np.ufunc) or parameters is None or record.bind_args is not None:
            return  # a ufunc's signature says nothing, and bind= is called like the function
        if record.body is not None:
            own = signature(record.body)
            if has_stars(parameters) or has_stars(own):
                return
            later, gone = LATER.get(record.name, ()), GONE.get(record.name, ())
            expected = [n for n in parameters if n not in gone]
            assert [n for n in own if n in parameters or n not in later] == expected
            return

        assert not has_stars(parameters), "a signature with stars needs bind="
        later, gone = LATER.get(record.name, ()), GONE.get(record.name, ())
        expected = tuple(n for n in parameters if n not in gone)
        assert tuple(n for n in record.params if n in parameters or n not in later) == expected

    run_each({record.name: record for record in OF_NUMPY}, check)


def test_bodies_and_binders_have_the_defaults_of_numpy():
    def check(record):
        given = record.body or record.bind_args
        parameters = signature(record.func)
        if given is None or parameters is None or isinstance(record.func, np.ufunc):
            return
        own = signature(given)
        for name, parameter in parameters.items():
            if name in own and parameter.default is not np._NoValue:
                if own[name].default is inspect.Parameter.empty:
                    assert parameter.default is inspect.Parameter.empty, name

    run_each({record.name: record for record in OF_NUMPY}, check)


def test_record_is_consistent():
    def check(record):
        if record.body is not None:
            return
        operands, parameters = set(record.arrays), set(record.params)

        assert operands <= parameters
        assert record.variadic is None or record.variadic in operands
        assert set(record.vjp) <= operands
        if isinstance(record.jvp, dict):
            assert set(record.jvp) == set(record.vjp)
        else:
            assert record.jvp in (None, "linear", "multilinear")
            assert bool(record.jvp) == bool(record.vjp)
        assert not (record.constant and record.vjp)
        assert record.jvp != "multilinear" or saves_factors(record), record.name
        for rules in (record.vjp, record.jvp if isinstance(record.jvp, dict) else {}):
            for rule in rules.values():
                for need in rule.needs:
                    known = need in parameters | {"ans", *rule.defaults}
                    known |= need in ("index", "shapes") and record.variadic is not None
                    operand, _, form = need.rpartition("_")
                    known |= form in FORMS and operand in operands
                    known |= form == "item" and operand in parameters - operands
                    assert known, f"a rule needs {need!r}, which is nothing of {record.name}"
                    if need in parameters - operands:
                        assert need in rule.defaults or is_required(record.func, need), need

    run_each({record.name: record for record in RECORDS}, check)


def saves_factors(record):
    """Whether each rule of a product saves first the other factor, which the second look reads."""
    return all(rule.needs[0] in record.arrays for rule in record.vjp.values())


def test_the_check_finds_a_product_that_saves_a_shape_first():
    func = primitive(lambda x, y: x * y)
    rules = {"x": lambda g, y, x_shape: g * y, "y": lambda g, y_shape, x: g * x}
    record = linear(func, "x y", "x y", jvp="multilinear", vjp=rules)
    del OPS[func]
    assert not saves_factors(record)
    assert saves_factors(OPS[np.dot])


def is_required(func, name):
    parameters = signature(func)
    if parameters is None or has_stars(parameters) or name not in parameters:
        return True  # stated by bind=, which gives it always
    return parameters[name].default is inspect.Parameter.empty


# ---- every operation has a sample ----


SAMPLED = called()


def test_operation_has_a_sample():
    def check(record):
        refuses = record.family == "writing"  # to be called at all
        makes = "like : array_like" in (record.func.__doc__ or "")  # asks nobody but like=
        silent = not allows_array_function_override(record.func)  # one that `functier.numpy` calls

        assert record.func in SAMPLED or refuses or makes or silent

    run_each({record.name: record for record in OF_NUMPY}, check)


# ---- what runs example by example ----

IN_A_LOOP = {"scipy.stats.kendalltau", "scipy.stats.spearmanr"}
"""Overridable functions of NumPy and SciPy that vmap applies in the loop fallback.

Nothing of NumPy is left: a new function that has no batching rule gets its name in here, or a
rule.
"""

IN_PART = {
    "scipy.signal.lfilter", "scipy.signal.peak_prominences",
    "scipy.signal.peak_widths",
}  # fmt: skip
"""Functions that have a batching rule, which takes the loop for some calls."""

CALLBACKS = {
    "numpy.apply_along_axis": lambda f, x: np.apply_along_axis(f, 0, x),
    "numpy.apply_over_axes": lambda f, x: np.apply_over_axes(lambda a, axis: f(a), x, 0),
    "numpy.piecewise": lambda f, x: np.piecewise(x, [x > 0], [f, lambda a: -a]),
    "numpy.fromfunction": lambda f, x: np.fromfunction(lambda i: f(i * x), (3,)),
}
"""Functions that call one of the user: for a batch as often as for one example."""


def test_what_runs_in_the_loop_fallback():
    by_records = {
        record.name
        for record in OPS.values()
        if record.body is None and record.vmap is None and record.family != "writing"
    }
    by_rows = {
        name_of(f) for f, rows in SAMPLED.items() if f in OPS and any(row.loop for row in rows)
    }

    assert by_records == IN_A_LOOP
    assert by_rows == IN_A_LOOP | IN_PART


@pytest.mark.parametrize("call", CALLBACKS.values(), ids=CALLBACKS)
def test_callbacks_are_called_once_for_the_whole_batch(call):
    calls = []

    def callback(x):
        calls.append(x)
        return x * 2

    counts = []
    for n in (1, 2, 5):
        xs = np.arange(3.0 * n).reshape(n, 3)
        expected = np.stack([call(lambda x: x * 2, x) for x in xs])
        calls.clear()
        np.testing.assert_array_equal(ft.vmap(lambda x: call(callback, x))(xs), expected)
        counts.append(len(calls))

    assert len(set(counts)) == 1
