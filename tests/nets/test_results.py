"""The net of results: where NumPy returns a number or an array without axes, and how arrays lie.

``t = s; t += 1`` changes `s` where it is an array, and leaves a number as it is. A reshape is a
view or a copy by the order in memory, so a write to it may reach the array or not. The arguments
are those of the rows, their first elements as numbers, and arrays in other orders.
"""

import numpy as np
import pytest

import functier as ft
import samples
from functier._mutation.array import is_array, settle
from nets.test_sizes import CRASHING
from nets.verdicts import Verdicts, is_excused
from samples._batch import free
from support import checks

pytestmark = [
    pytest.mark.inside("A tensor answers as an array or a number only by its inside."),
    pytest.mark.usefixtures("quiet"),
]

NO_CASE = {"": "a row that has no such case"}


def seen(row, args, mode, look, batch):
    """The answers of `look` about results, of examples that `batch` stacks, or under jvp."""
    f, found = checks.leaves_of(row), []

    def note(*xs):
        found.extend(look(f(*xs)))
        return 0.0

    chosen = free(row) or ()
    if mode == "vmap":
        dims = tuple(0 if i in chosen else None for i in range(len(args)))
        ft.vmap(note, dims)(*[batch(x) if i in chosen else x for i, x in enumerate(args)])
        return found
    smooth = [i for i in chosen if np.asarray(args[i]).dtype.kind in "fc"]
    points = tuple(args[i] for i in smooth)

    def by_some(*xs):
        given = dict(zip(smooth, xs))
        return note(*[given.get(i, x) for i, x in enumerate(args)])

    if mode == "jvp":
        ft.jvp(by_some, points, points)
    else:
        ft.vmap(lambda *xs: ft.jvp(by_some, xs, xs)[0])(*map(batch, points))
    return found


def judge(counts, name, row, args, modes, look, batch):
    """Compare what `look` says of NumPy's results, where it says something."""
    try:
        wanted = look(checks.leaves_of(row)(*args))
    except Exception:  # not for operands in columns, such as a view of another dtype
        return

    def check(found):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            assert a is None or b is None or a == b, f"{a}, and NumPy's is {b}"

    for mode in modes if any(x is not None for x in wanted) else ():
        counts.judge(f"{name}, {mode}", lambda m=mode: seen(row, args, m, look, batch), check)


def modes_of(row, *more):
    return ["vmap"] * bool(row.vmap and not row.loop) + [*more] * checks.differentiable(row)


# ---- arrays without axes ----

OTHER = {
    "contraction": "einsumi,ij,j",
    "join": "pad_with",
    "quantile": "quantile",
    "scipy_fft": "dctn dstn fftn idctn idstn ifftn",
    "scipy_interpolate": "integral",
    "scipy_linalg": "sl.lstsq",
    "scipy_linalg_structured": "cholesky_banded",
    "scipy_ndimage": "gaussians linear places ranks",
    "scipy_splines": "operations",
    "scipy_special_functions": "diric sph_harm_y",
    "scipy_stats": "transformed",
    "scipy_stats_multivariate": "vectors",
    "scipy_stats_tests": "student",
    "shape": "copy",
    "sorting": "unique",
}
"""The functions that return a number where the library returns an array without axes, or the other
way round, in some mode or for some option."""


def is_other(name):
    return is_excused(name, OTHER)


def kinds(result):
    """For each result without axes: True for an array, False for a number; else None."""
    found = []
    for y in result if isinstance(result, list | tuple) else [result]:
        if isinstance(y, ft.Tensor) and y.shape == ():  # of which a number is one, too
            found.append(is_array(y) if y.level.depth else True)
        elif np.shape(y) != () or isinstance(y, str | bool | int | float | complex | None):
            found.append(None)
        else:
            found.append(isinstance(y, np.ndarray))
    return found


def number(x):
    return x.reshape(-1)[0] if isinstance(x, np.ndarray) and x.size else x


def judge_points(counts, chosen, others=is_other):
    for name, row in chosen.items():
        if not free(row) or others(name):
            continue
        numbers = [number(x) if i in free(row) else x for i, x in enumerate(row.leaves)]
        arrays = [number(x) if np.shape(x) == () else x for x in row.leaves]  # as examples are
        modes = modes_of(row, "jvp", "vmap over jvp")
        for kind, args in (("arrays", arrays), ("numbers", numbers)):
            judge(counts, f"{name} of {kind}", row, args, modes, kinds, lambda x: np.stack([x] * 3))


def test_results_without_axes(verdicts):
    counts = verdicts("results without axes", NO_CASE)
    judge_points(counts, {name: row for name, row in samples.named().items() if name != CRASHING})
    counts.settle()
    assert counts.right > 500


def test_other_functions_are_found():
    """Each function of the table is there for a reason."""
    counts = Verdicts("others", NO_CASE)
    judge_points(counts, samples.named(), lambda name: not is_other(name))
    for family, functions in OTHER.items():
        for function in functions.split():
            case = f"{family}.{function}"
            assert any(text.startswith(case) for text in counts.wrong), case


# ---- orders in memory ----

FAMILIES = tuple(
    f"{family}." for family in (
        "composite", "constant", "contraction", "creation", "elementwise", "indexing", "join",
        "linalg", "polynomial", "quantile", "reduction", "shape", "sorting",
    )
)  # fmt: skip
"""NumPy's families; SciPy's functions return arrays in whatever order their code ends with."""

OTHER_ORDERS = {
    "elementwise.imag": "zeros of a real array, to which NumPy lets nobody write",
    "shape.broadcast_arrays-d[]": "a number in several places, of which there is a copy here",
}
"""Results that lie in another order, and why no write tells it."""

LAYOUTS = {
    "rows": lambda ndim: range(ndim),
    "columns": lambda ndim: range(ndim)[::-1],
    "turned": lambda ndim: [*range(1, ndim), 0][:ndim],
}
"""The axes of an operand, from the outermost in memory on."""


def ranks(x):
    """The axes of an array by their steps, without those of one element."""
    return [i for _, i in sorted((abs(s), i) for i, s in enumerate(x.strides) if x.shape[i] > 1)]


def orders(result):
    """The order of each array of a result, or of an example, and if it lies in a row."""
    found = []
    for y in result if isinstance(result, list | tuple) else [result]:
        y = settle(y) if isinstance(y, ft.Tensor) else y
        y = y.level.window(y) if isinstance(y, ft.Tensor) else y
        large = isinstance(y, np.ndarray) and y.size
        found.append((ranks(y), y.flags.c_contiguous, y.flags.f_contiguous) if large else None)
    return found


def laid(x, layout, before=0):
    """An array that lies in memory so, with some axes in front that are the outermost."""
    axes = [*range(before), *[before + axis for axis in LAYOUTS[layout](x.ndim - before)]]
    return np.transpose(np.copy(np.transpose(x, axes), "C"), np.argsort(axes))


def judge_orders(counts, chosen):
    for name, row in chosen.items():
        large = free(row) and any(x.ndim > 1 for x in row.leaves)
        if not large or not name.startswith(FAMILIES) or name.startswith((*OTHER_ORDERS,)):
            continue
        for layout in LAYOUTS:
            args = [laid(x, layout) for x in row.leaves]
            batch = lambda x, layout=layout: laid(np.stack([x] * 3), layout, 1)  # noqa: E731
            judge(counts, f"{name} {layout}", row, args, modes_of(row, "jvp"), orders, batch)


def test_orders_of_results(verdicts):
    counts = verdicts("orders in memory", NO_CASE)
    judge_orders(counts, samples.named())
    counts.settle()
    assert counts.right > 500


# ---- faults that the net has to find ----

PLANTED = {
    "a choice that nobody notes": (
        judge_points, "indexing.where-", "functier._levels.views.note_box", lambda y, *args: y,
    ),
    "a number that nobody notes": (
        judge_points, "composite.nan_to_num-", "functier._levels.views.note_number",
        lambda y, *args: y,
    ),
    "a copy of rows": (
        judge_orders, "indexing.take-", "functier._rules.indexing.lies_in_row", lambda *given: True,
    ),
    "products that lie as they come": (
        judge_orders, "contraction.matmul-", "functier._levels.lying._lies_by", lambda *given: True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name, monkeypatch):
    judge_rows, prefix, part, fault = PLANTED[name]
    monkeypatch.setattr(part, fault)
    counts = Verdicts("planted", NO_CASE)
    judge_rows(counts, {n: r for n, r in samples.named().items() if n.startswith(prefix)})
    assert counts.wrong
