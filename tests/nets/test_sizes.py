"""The net of other arguments: each row of the sample table once more, with other shapes and axes.

A rule that mistakes one axis for another, or the operand for the result, is right as long as
their sizes differ. So each row is called again with operands all of whose axes have one size,
with axes of size 1, with an operand of the form of the result, and by each other axis. What NumPy
refuses of these the transforms have to refuse, too.
"""

import contextlib
import dataclasses
import functools
import math
import re
import warnings

import numpy as np
import optree

import functier as ft
import samples
from faults.planted import nets_of_programs as faulty
from functier.testing import operations
from nets.verdicts import Verdicts
from samples._batch import examples, free, placed, stacked
from samples._row import is_array
from support import checks
from support.basics import silent
from support.nearness import outputs

REASONS = {
    r"AxisError: axis (0|-1) is out of bounds for array of dimension 0": "an axis of an array "
    "that has none, which some of NumPy's functions take and others refuse",
    r"DataDependentError: .* the shape of the result of numpy.delete depends on": "the shape of "
    "the result differs from example to example",
    r"ValueError: scipy.linalg.(cho_solve|solveh)_banded: expected diagonals with two axes": (
        "SciPy solves with the first number only"
    ),
    "ValueError: scipy.linalg.solve_discrete_lyapunov: `a` and `q` must have the same shape": (
        "SciPy divides by one number"
    ),
    "LinAlgError: a derivative solves a Sylvester equation that has no unique": (
        "a singular matrix, whose polar factor jumps"
    ),
    "LinAlgError: a pseudo-inverse leaves out singular values": "rules have one rank",
    "LinAlgError: orth: the gradient depends on the basis of the space": (
        "two spaces that are the whole, whose angles are roundings of 0"
    ),
}

LEFT_OUT = {
    r"^scipy_stats\.limited-.* all 1 (vjp|vmap of vjp)$": "the deviation of one number is 0",
    r"^scipy_stats\.scores-.*(of ones|all 1) (vjp|vmap of vjp)$": "the scale of equal numbers is 0",
    r"solve-.*assume_a=her (operand 0 of ones|all 1)": "one complex number, which is not Hermitian",
    r"^scipy_stats\.angles-.*normalize=True (all 1|operand 0 like .* given) (value|vmap)$": "the "
    "deviation of one angle: the root of a rounding error, of which SciPy makes 1e-8 or 0",
    r"^scipy_stats\.correlation-d\[5\],d\[5\] operand 1 like the result, given": "the correlation "
    "with a constant is 0 / 0, of which rounding errors make a number",
    r"^scipy_stats\.angles-.* (all 1|operand 0 like .*given) (jvp|vjp|vmap of vjp)$": "the "
    "deviation of one angle is the root of 0",
    r"^scipy_stats_tests\.chi2_contingency-d\[2,3\] all 2 (jvp|vjp|vmap of vjp)$": "the "
    "correction makes the statistic 0, where the probability has an infinite slope",
    r"^scipy_stats\.one_angle-.* all [23] (jvp|vjp|vmap of vjp)$": "the deviation of equal angles "
    "is the root of 0",
    r"^scipy_stats_tests\.kstatvar-.* all 3 ": "a cumulant of three numbers divides by 0",
    r"^scipy_stats_tests\.kstat-d\[6\]-4 all [123] ": "and so does one of at most three",
    r"^scipy_interpolate\.interp1d-.* all 1 (jvp|vjp|vmap of vjp)$": "one knot has no slope",
    r"^scipy_spatial\.oftwo-d\[3,2\],.* all 1 (jvp|vjp|vmap of vjp)$": "vectors of one number are "
    "one distribution, and their distance is the root of 0",
    r"^scipy_linalg_decompositions\.schur-f.* (jvp|vjp|vmap of vjp)$": "LAPACK takes a vector in "
    "single precision and its negative in double, and differences are in double",
}
"""Checks that are not made, and why."""

ANSWERED = {
    r"^composite\.cov-.*operand [12] (of ones|like the result)": "the weights are broadcast",
    r"^histogram\.(bincount|histogram2d)-.* operand \d (of ones|like)": "so are these, and samples",
    r"^histogram\.histogramdd-": "samples of other forms are stacked",
    r"^sorting\.lexsort-.* of ones": "keys are broadcast",
    r"^sorting\.digitize-.* operand 1 like": "each example's bins may rise in another order",
    r"^composite\.interp-.* (of ones|like)": "places and values of two lengths are not compared",
    r"^contraction\.vecdot-.* (by axis|operand 1 like)": "an axis that there is not is another one",
    r"^indexing\.compress-.* operand 0 like": "a condition is flattened",
    r"^quantile\.quantile-d\[2,5\],d\[1,2\]-.* operand 1 like": "places have any number of axes",
    r"^shape\.roll-d\[2,3,4\],l\[2\]-axis": "axes without a shift stay as they are",
    r"^composite\.<lambda>-d\[3\]#2 all 1": "a mask has one element for all",
}
"""Calls that NumPy refuses and functier answers, and the answer."""

NUMPYS = (
    "composite.", "contraction.", "elementwise.", "fft.", "histogram.", "indexing.", "join.",
    "linalg.", "polynomial.", "quantile.", "reduction.", "shape.", "sorting.", "ufunc_methods.",
)  # fmt: skip
"""The families whose refusals are looked at."""

CRASHING = "scipy_splines.ends-d[7],d[7]"
"""SciPy's `make_interp_spline` of one point with ``bc_type="clamped"`` writes past its memory."""

INTERNAL = AttributeError, UnboundLocalError, KeyError, AssertionError, RecursionError, NameError
"""Errors that say nothing to a user, unless NumPy raises them."""

PARTICULAR = {
    "add_at", "add_pieces", "overlap_add", "place", "segment_sum", "windows",
}  # fmt: skip
"""Functions of the package itself whose callers see to it that their shapes fit."""


# ---- a row with other shapes ----


def refilled(x, shape, rng):
    """An array like `x` in another shape: of its dtype, between its values, sorted if it was."""
    size, pool = math.prod(shape), np.ravel(x)
    if not pool.size:
        pool = np.linspace(0.6, 1.4, 5).astype(x.dtype)
    flat = rng.permutation(np.resize(pool, size))
    if x.dtype.kind == "f":  # distinct ones, with no sign that `x` lacks
        pool = np.sort(pool)
        place = rng.integers(0, max(pool.size - 1, 1), size)
        low, high = pool[place], pool[np.minimum(place + 1, pool.size - 1)]
        part = rng.uniform(0.1, 0.9, size)
        with np.errstate(invalid="ignore"):
            whole = (low < high) & (low * high >= 0)
            between = np.where(whole, low + (high - low) * part, low * (1 - 0.2 * part))
        flat = np.where(np.isfinite(between), between, flat)
    elif x.dtype.kind == "c":
        flat = flat * (1 - 0.2 * rng.uniform(size=size))
    if x.ndim == 1 < x.size and x.dtype.kind in "iuf" and np.all(x[1:] >= x[:-1]):
        flat = np.sort(flat)
    return np.reshape(flat.astype(x.dtype), shape)


def with_shapes(row, shapes, seed, modulo=None):
    """The row with operands of these shapes; integers of it modulo a number."""
    rng = np.random.default_rng(seed)
    made = [refilled(x, shape, rng) for x, shape in zip(row.leaves, shapes)]
    if modulo is not None:
        made = [x % modulo if x.dtype.kind in "iu" else x for x in made]
    given = iter(made)
    args, kwargs = optree.tree_map(
        lambda x: next(given) if is_array(x) else x, (row.args, row.kwargs)
    )

    def like(i, x, rng):
        with contextlib.suppress(Exception):  # it may know the row's own shapes only
            other = np.asarray(row.like(i, x, rng))
            if other.shape == x.shape:
                return other
        return x

    return dataclasses.replace(row, args=args, kwargs=kwargs, like=row.like and like)


def sizings(row):
    """The shapes that the operands of a row may have, by name."""
    forms = [x.shape for x in row.leaves]
    found = {f"all {n}": [(n,) * len(form) for form in forms] for n in (1, 2, 3)}
    for i in range(len(forms) if len(forms) > 1 else 0):
        found[f"operand {i} of ones"] = [
            (1 if i == j else 3,) * len(form) for j, form in enumerate(forms)
        ]
    for base, shapes in (("given", forms), ("3", found["all 3"])):
        with contextlib.suppress(Exception):
            resized = row if shapes is forms else with_shapes(row, shapes, 0)
            result = np.shape(outputs(row.call(*resized.leaves))[0])
            for i in range(len(forms)):
                found[f"operand {i} like the result, {base}"] = [
                    result if i == j else form for j, form in enumerate(shapes)
                ]
    known, kept = {tuple(forms)}, {}
    for name, shapes in found.items():
        if tuple(shapes) not in known and max(map(len, shapes), default=0) < 6:
            known.add(tuple(shapes))
            kept[name] = shapes
    return kept


def by_other_axes(row):
    """The row by each other axis, with the name of that; there are none of the first and last."""
    axis, ndim = row.kwargs.get("axis"), max([x.ndim for x in row.leaves], default=0)
    for other in range(-ndim - 1, ndim + 1) if type(axis) is int else ():
        if other != axis:
            kwargs = {**row.kwargs, "axis": other}
            yield f"by axis {other}", dataclasses.replace(row, kwargs=kwargs)


def resized(row, shapes, seed):
    """The row with operands of these shapes, or None where NumPy does not take them."""
    if getattr(row.func, "__name__", "") in PARTICULAR:
        return None
    for modulo in (None, max([1, *(n for shape in shapes for n in shape)])):
        this = with_shapes(row, shapes, seed, modulo)
        with contextlib.suppress(Exception):
            checks.leaves_of(this)(*this.leaves)
            return this
    return None


# ---- the checks ----


class NotApplicable(Exception):
    """NumPy itself does not take this, or there is no derivative to compare with."""


def check_jvp(row):
    f, points = checks.function_of(row)
    tangents = checks.directions(points, 0)
    value, actual = ft.jvp(f, tuple(points), tangents)
    assert [checks.form_of(t) for t in actual] == [checks.form_of(v) for v in value]
    rtol = checks.precision(row, 1e-6, 2e-3)
    slopes = trusted(f, points, tangents, rtol)
    checks.near(actual, slopes, rtol)


def trusted(f, points, tangents, rtol):
    """Differences that two steps agree on: there is a derivative."""
    try:
        slopes, finer = (checks.numeric_jvp(f, points, tangents, h) for h in (1e-3, 3e-4))
        checks.near(slopes, finer, rtol / 4)
    except Exception as error:
        raise NotApplicable from error
    return slopes


def check_vjp(row):
    """The adjoint identity of each operand, too, as its cotangent alone may be wrong."""
    checks.check_vjp(row)
    if len(row.differentiated()) > 1:
        checks.check_alone(row)


def sizes_of(row):
    return sorted({n for x in row.leaves for n in x.shape if n} | {1})[-1:]


def check_vmap(row):
    """vmap over as many examples as the axes are long equals a loop."""
    for n in sizes_of(row):
        every = placed(row, (0,) * len(free(row)))
        last = placed(row, (-1,) * len(free(row)))
        alone = [placed(row, tuple(0 if i == j else None for j in free(row))) for i in free(row)]
        for dims in [every, last, *(alone if len(alone) > 1 else ())]:
            try:
                checks.vmap_against_loop(row, n, dims)
            except Exception:
                loops(row, n, dims)
                raise


def loops(row, n, dims):
    """Refuse the case where the loop itself fails, or is of examples of several forms."""
    try:
        f = checks.leaves_of(row)
        many = [
            x if d is None else examples(row, i, n)
            for i, (x, d) in enumerate(zip(row.leaves, dims))
        ]
        stacked([f(*[x if d is None else x[j] for x, d in zip(many, dims)]) for j in range(n)])
    except Exception as error:
        raise NotApplicable from error


def check_vmap_of_vjp(row):
    """vmap of vjp equals a loop, of points and cotangents and of cotangents alone."""
    f, points = checks.function_of(row)
    where = row.differentiated()
    weights = list(checks.directions(f(*points), 200))
    p = len(points)

    def reverse(*both):
        return list(ft.vjp(f, *both[:p])[1](list(both[p:])))

    for n in sizes_of(row):
        lead = [checks.direction(np.stack([w] * n), 10 + i) for i, w in enumerate(weights)]
        for varying in (True, False):
            on = [varying and i not in row.shared for i in where]
            points = [examples(row, i, n) if v else row.leaves[i] for i, v in zip(where, on)]
            inputs, dims = [*points, *lead], [*(0 if v else None for v in on), *[0] * len(lead)]
            if all(d is None for d in dims):
                continue
            try:
                loop = [
                    reverse(*[x if d is None else x[j] for x, d in zip(inputs, dims)])
                    for j in range(n)
                ]
            except Exception as error:
                raise NotApplicable from error
            with checks.quiet(row):
                actual = ft.vmap(reverse, tuple(dims))(*inputs)
            checks.same(actual, stacked(loop), checks.precision(row, 1e-8, 1e-3))


def judge_refusal(counts, name, row):
    """Refusals of NumPy are refusals in a batch of two, and where it is differentiated."""
    f = checks.leaves_of(row)
    try:
        f(*row.leaves)
        return
    except Warning:
        return
    except Exception as error:
        cause = error
    dims = tuple(0 if i in free(row) else None for i in range(len(row.leaves)))
    many = [x if d is None else np.stack([x, x]) for x, d in zip(row.leaves, dims)]
    runs = {"vmap": lambda: ft.vmap(f, dims)(*many)}
    if checks.differentiable(row):
        g, points = checks.function_of(row)
        runs["jvp"] = lambda: ft.jvp(g, tuple(points), tuple(points))
    for mode, run in runs.items():

        def refused(run=run):
            try:
                return f"returns {run()!r}"
            except Exception as error:
                plain = not isinstance(error, INTERNAL) or isinstance(error, type(cause))
                return None if plain else f"raises {type(error).__name__}: {error}"

        counts.judge(f"{name}, refused, {mode}", refused, lambda text: raised_too(text, cause))


def raised_too(text, cause):
    assert text is None, f"NumPy raises {type(cause).__name__}: {cause}; functier {text}"


def every(row):
    return True


CHECKS = {
    "value": (lambda row: checks.check_value(row, checks.precision(row, 1e-9, 1e-6)), every),
    "vmap": (check_vmap, lambda row: row.vmap and free(row)),
    "jvp": (check_jvp, checks.differentiable),
    "vjp": (check_vjp, checks.differentiable),
    "vmap of vjp": (check_vmap_of_vjp, lambda row: row.vmap and checks.differentiable(row)),
}


def outcome(check, row):
    """The verdict of a check: None, or the assertion that failed."""
    try:
        check(row)
    except AssertionError as error:
        return error
    return None


def accept(failed):
    if failed is not None:
        raise failed


# ---- the net ----


@functools.cache
def cases():
    """Every row with every sizing, by name."""
    return [case for name, row in samples.named().items() for case in cases_of(name, row)]


def cases_of(name, row):
    with silent():
        sized = [(f"{name} {sizing}", row, shapes) for sizing, shapes in sizings(row).items()
                 if (name, sizing) != (CRASHING, "all 1")]  # fmt: skip
    turned = by_other_axes(row) if name.startswith(NUMPYS) else ()
    forms = [x.shape for x in row.leaves]
    return sized + [(f"{name} {axis}", other, forms) for axis, other in turned]


def run(counts, chosen):
    """Judge cases; how many do not apply."""
    outside = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, row, shapes in chosen:
            this = resized(row, shapes, len(name))
            if this is None:
                outside += 1
                numpys = name.startswith(NUMPYS) and row.vmap and free(row)
                if numpys and not any(re.search(p, name) for p in ANSWERED):
                    largest = max([1, *(n for shape in shapes for n in shape)])
                    judge_refusal(counts, name, with_shapes(row, shapes, len(name), largest))
                continue
            for kind, (check, applies) in CHECKS.items():
                if applies(this) and not any(re.search(p, f"{name} {kind}") for p in LEFT_OUT):
                    try:
                        failed = outcome(check, this)
                    except NotApplicable:
                        outside += 1
                    except Exception as error:
                        counts.refuse(f"{name} {kind}", error)
                    else:
                        counts.judge(f"{name} {kind}", lambda failed=failed: failed, accept)
    return outside


def sliced(every, full, one_in):
    """All cases, or as many as one in so many of them, by a seed."""
    if full:
        return every
    rng = np.random.default_rng(10)
    return [every[i] for i in rng.permutation(len(every))[: len(every) // one_in]]


def test_rows_of_other_sizes(verdicts, full):
    """Values, vmap, both modes and vmap of vjp of the rows with sizes that coincide."""
    counts = verdicts("rows of other sizes and axes", REASONS)
    chosen = sliced(cases(), full, 8)
    outside = run(counts, chosen)
    counts.name += f" ({outside} that NumPy or the mathematics refuse)"
    assert outside < counts.total / 5
    counts.settle()


# ---- the faults that the net has to find ----


def wrong_with(monkeypatch, *names):
    """The faults that the net finds in the rows whose names begin so."""
    faulty.no_fast_calls(monkeypatch)
    counts = Verdicts("planted", REASONS)
    run(counts, [case for case in cases() if case[0].startswith(names)])
    return counts.wrong


def test_an_axis_that_nobody_spreads_is_found(monkeypatch):
    faulty.axis_that_nobody_spreads(monkeypatch)

    assert wrong_with(monkeypatch, "contraction.einsum")


def test_an_axis_counted_in_another_operand_is_found(monkeypatch):
    """The axis of y is another one of x where x has more axes."""

    def trapezoid(y, x=None, dx=1.0, axis=-1):
        axis %= np.ndim(y)
        if x is not None:
            dx = np.diff(x, axis=axis if np.ndim(x) > 1 else -1)
        y = np.moveaxis(y, axis, -1)
        return np.sum(np.moveaxis(dx * (y[..., 1:] + y[..., :-1]) / 2, -1, axis), axis)

    monkeypatch.setattr(operations()[np.trapezoid], "body", trapezoid)

    assert wrong_with(monkeypatch, "composite.trapezoid")


def test_a_reduction_of_one_element_is_found(monkeypatch):
    """NumPy begins with the identity of hypot, so it gives the absolute value of one number."""
    faulty.reduction_from_the_first_element(monkeypatch)

    assert wrong_with(monkeypatch, "ufunc_methods.hypot.reduce")


def test_an_axis_that_there_is_not_is_found(monkeypatch):
    def cumsum(k, a, axis=0, **given):
        return np.cumsum(a, k + axis % (a.ndim - k), **given)

    monkeypatch.setattr(operations()[np.cumsum], "vmap", cumsum)
    wrong = wrong_with(monkeypatch, "reduction.cumsum")

    assert any("NumPy raises AxisError" in text for text in wrong)


def turned(c):
    """A fault that shows where two sizes are the same only: the axes in another order."""
    return np.swapaxes(c, 0, 1) if np.ndim(c) > 1 and len(set(np.shape(c)[:2])) == 1 else c


def test_axes_that_are_exchanged_in_a_cotangent_are_found(monkeypatch):
    rule = operations()[np.cumsum].vjp["a"]
    right = rule.fn
    monkeypatch.setattr(rule, "fn", lambda g, *saved: turned(right(g, *saved)))

    assert wrong_with(monkeypatch, "reduction.cumsum")


def test_axes_that_are_exchanged_in_a_batch_are_found(monkeypatch):
    record = operations()[np.cumsum]
    right = record.vmap
    monkeypatch.setattr(record, "vmap", lambda *args, **params: turned(right(*args, **params)))

    assert wrong_with(monkeypatch, "reduction.cumsum")
