"""The net of orders in memory: results lie as NumPy's do, also where operands lie in columns.

A reshape of a result is a view or a copy by its order, so a write to it may reach the result or
not. The functions in `OTHER` have rules that compute in another order, and the page of limits
says so.
"""

import numpy as np
import pytest

import checks
import functier as ft
import samples
from functier._mutation.array import settle
from nets.verdicts import Verdicts, is_excused
from samples._batch import free

pytestmark = pytest.mark.usefixtures("quiet")

OTHER = {
    "composite": "packbits sliding_window_view",
    "contraction": "dot inner matmul matvec vecmat",
    "linalg": "matrix_power",
    "quantile": "nanquantile",
    "shape": "roll",
}
"""The functions whose results lie in another order for some operands that lie in columns."""
FAMILIES = tuple(
    f"{family}." for family in (
        *OTHER, "constant", "creation", "elementwise", "indexing", "join", "polynomial",
        "reduction", "sorting",
    )
)  # fmt: skip
"""NumPy's families; SciPy's functions return arrays in whatever order their code ends with."""


def ranks(x):
    """The axes of an array by their steps, without those of one element."""
    return [i for _, i in sorted((abs(s), i) for i, s in enumerate(x.strides) if x.shape[i] > 1)]


def orders(result):
    """The order of each array of a result, and of an example of each tensor."""
    found = []
    for y in result if isinstance(result, list | tuple) else [result]:
        y = settle(y) if isinstance(y, ft.Tensor) else y
        y = y.level.window(y) if isinstance(y, ft.Tensor) else y
        found.append(ranks(y) if isinstance(y, np.ndarray) and y.size else None)
    return found


def in_columns(x):
    return np.asfortranarray(x) if isinstance(x, np.ndarray) else x


def batch(x):
    """Three examples that each lie as `x` does."""
    rows = np.stack([np.asarray(x).T] * 3)
    return rows.transpose(0, *range(rows.ndim - 1, 0, -1))


def seen(row, mode):
    """The orders of the row's results in a batch, or under jvp."""
    f, found = checks.leaves_of(row), []
    args = [in_columns(x) for x in row.leaves]

    def look(*xs):
        found.extend(orders(f(*xs)))
        return 0.0

    chosen = free(row) or ()
    if mode == "vmap":
        dims = tuple(0 if i in chosen else None for i in range(len(args)))
        ft.vmap(look, dims)(*[batch(x) if i in chosen else x for i, x in enumerate(args)])
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


def is_other(name):
    return is_excused(name, OTHER)


def judge(counts, chosen, others=is_other):
    for name, row in chosen.items():
        large = any(isinstance(x, np.ndarray) and x.ndim > 1 for x in row.leaves)
        if not name.startswith(FAMILIES) or not large or not free(row) or others(name):
            continue
        try:
            wanted = orders(checks.leaves_of(row)(*[in_columns(x) for x in row.leaves]))
        except Exception:
            continue  # not for operands in columns, such as a view of another dtype
        modes = ["vmap"] * bool(row.vmap and not row.loop) + ["jvp"] * checks.differentiable(row)
        for mode in modes:
            counts.judge(
                f"{name} {mode}",
                lambda row=row, mode=mode: seen(row, mode),
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


def test_functions_of_another_order_are_found():
    """Each function of the table is there for a reason."""
    counts = Verdicts("others", {"": ""})
    judge(counts, samples.named(), lambda name: not is_other(name))
    found = {case.partition("-")[0] for case in counts.wrong}
    for family, functions in OTHER.items():
        for function in functions.split():
            assert any(name.startswith(f"{family}.{function}") for name in found), function


def test_a_copy_in_another_order_is_found(monkeypatch):
    monkeypatch.setattr("functier._rules.indexing.lies_in_row", lambda value, ndim: True)
    counts = Verdicts("planted", {"": ""})
    judge(counts, {n: r for n, r in samples.named().items() if n.startswith("indexing.take-")})
    assert counts.wrong
