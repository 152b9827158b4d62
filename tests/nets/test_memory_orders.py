"""The net of orders in memory: results lie as NumPy's do, however the operands lie.

A reshape of a result is a view or a copy by its order, so a write to it may reach the result or
not.
"""

import itertools

import numpy as np
import pytest

import checks
import functier as ft
import samples
from functier._mutation.array import settle
from nets.verdicts import Verdicts
from samples._batch import free

pytestmark = pytest.mark.usefixtures("quiet")

FAMILIES = tuple(
    f"{family}." for family in (
        "composite", "constant", "contraction", "creation", "elementwise", "indexing", "join",
        "linalg", "polynomial", "quantile", "reduction", "shape", "sorting",
    )
)  # fmt: skip
"""NumPy's families; SciPy's functions return arrays in whatever order their code ends with."""


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


OTHER = {
    "elementwise.imag": "zeros of a real array, to which NumPy lets nobody write",
    "shape.broadcast_arrays-d[]": "a number in several places, of which there is a copy here",
}
"""Results that lie in another order, and why no write tells it."""
LAYOUTS = {
    "rows": lambda ndim: range(ndim),
    "columns": lambda ndim: range(ndim)[::-1],
    "turned": lambda ndim: [*range(1, ndim), 0],
}
"""The axes of an operand, from the outermost in memory on."""


def laid(x, layout, before=0):
    """An array that lies in memory so, with some axes in front that are the outermost."""
    if not isinstance(x, np.ndarray):
        return x
    axes = [*range(before), *[before + axis for axis in LAYOUTS[layout](x.ndim - before)]]
    return np.transpose(np.copy(np.transpose(x, axes), "C"), np.argsort(axes))


def batch(x, layout):
    """Three examples that each lie so."""
    return laid(np.stack([np.asarray(x)] * 3), layout, 1)


def seen(row, mode, layout):
    """The orders of the row's results in a batch, or under jvp."""
    f, found = checks.leaves_of(row), []
    args = [laid(x, layout) for x in row.leaves]

    def look(*xs):
        found.extend(orders(f(*xs)))
        return 0.0

    chosen = free(row) or ()
    if mode == "vmap":
        dims = tuple(0 if i in chosen else None for i in range(len(args)))
        ft.vmap(look, dims)(*[batch(x, layout) if i in chosen else x for i, x in enumerate(args)])
    else:
        smooth = [
            i for i in chosen if isinstance(args[i], np.ndarray) and args[i].dtype.kind in "fc"
        ]

        def by_some(*xs):
            given = dict(zip(smooth, xs))
            return look(*[given.get(i, x) for i, x in enumerate(args)])

        points = tuple(args[i] for i in smooth)
        ft.jvp(by_some, points, points)
    return found


def judge(counts, chosen):
    for name, row in chosen.items():
        large = any(isinstance(x, np.ndarray) and x.ndim > 1 for x in row.leaves)
        if (
            not name.startswith(FAMILIES)
            or name.startswith((*OTHER,))
            or not large
            or not free(row)
        ):
            continue
        modes = ["vmap"] * bool(row.vmap and not row.loop) + ["jvp"] * checks.differentiable(row)
        for mode, layout in itertools.product(modes, LAYOUTS):
            try:
                wanted = orders(checks.leaves_of(row)(*[laid(x, layout) for x in row.leaves]))
            except Exception:
                continue  # not for operands in columns, such as a view of another dtype
            counts.judge(
                f"{name} {mode} {layout}",
                lambda row=row, mode=mode, layout=layout: seen(row, mode, layout),
                lambda found, wanted=wanted: compare(found, wanted),
            )


def compare(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert a is None or b is None or a == b, f"the axes lie as {a}, and NumPy's as {b}"


def test_orders_of_results(verdicts):
    counts = verdicts("orders in memory", {"": "a row that has no such case"})
    judge(counts, samples.named())
    counts.settle()
    assert counts.right > 500


PLANTED = {
    "a copy of rows": ("indexing.take-", "functier._rules.indexing.lies_in_row"),
    "products that lie as they come": ("contraction.matmul-", "functier._levels.lying._lies_by"),
    "bodies whose results lie as they come": (
        "contraction.inner-",
        "functier._levels.lying._lies_by",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_result_in_another_order_is_found(name, monkeypatch):
    prefix, part = PLANTED[name]
    monkeypatch.setattr(part, lambda *given: True)
    counts = Verdicts("planted", {"": ""})
    judge(counts, {n: r for n, r in samples.named().items() if n.startswith(prefix)})
    assert counts.wrong
