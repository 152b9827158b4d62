"""Lists that hold tensors, anywhere: functier.numpy takes them as NumPy takes lists of numbers.

Every row of the sample table, with each of its operands taken apart into nested lists.
"""

import numpy as np
import optree
import pytest

import functier as ft
import functier.numpy as fnp
from samples._row import is_array
from support.basics import silent
from support.rows import run_each
from support.turns import families

TWINS = {
    id(getattr(module, name)): getattr(twin, name)
    for module, twin in ((np, fnp), (np.linalg, fnp.linalg), (np.fft, fnp.fft))
    for name in dir(module)
    if name[0] != "_" and callable(getattr(module, name))
    if getattr(twin, name) is not getattr(module, name)
}
"""The twins of NumPy's functions."""

ARRAYS_ONLY = {
    np.histogram2d, np.split, np.array_split,
    np.histogramdd, np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis,
    np.unstack, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
"""Functions to which a list means something else than an array (`numpy.split` counts its rows
whatever the axis), or that write to it."""


def apart(x):
    """A tensor as nested lists of its elements."""
    return [apart(row) for row in x] if np.ndim(x) else x


def cases(rows):
    """Each operand with axes of each row, by the row's name and the operand's position."""
    return {
        f"{name}:{i}": (row, i)
        for name, row in rows.items()
        if id(row.func) in TWINS and row.func not in ARRAYS_ONLY and row.vmap and not row.loop
        for i, x in enumerate(row.leaves)
        if 0 < x.ndim and 0 < x.size < 30 and x.dtype.kind == "f"
    }


def same(actual, expected):
    a, e = np.asarray(actual), np.asarray(expected)
    assert (a.shape, a.dtype) == (e.shape, e.dtype)
    np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-8)


def check(row, i):
    """With operand `i` in lists the result is NumPy's of lists, under vmap and jvp."""
    x = row.leaves[i]

    def f(value, func):
        operands = [apart(value) if j == i else v for j, v in enumerate(row.leaves)]
        given = iter(operands)
        args, kwargs = optree.tree_map(
            lambda v: next(given) if is_array(v) else v, (row.args, row.kwargs)
        )
        return func(*args, **kwargs)

    with silent():
        try:
            expected = f(x, row.func)
        except (TypeError, ValueError, AttributeError, IndexError):
            return  # NumPy wants an array here
        twin = TWINS[id(row.func)]
        results = [optree.tree_map(lambda v: v[0], ft.vmap(lambda x: f(x, twin))(x[None]))]
        if i in row.differentiated():
            results.append(ft.jvp(lambda x: f(x, twin), (x,), (x,))[0])
    for result in results:
        optree.tree_map(same, result, expected)


@pytest.mark.parametrize("family", families())
def test_lists_of_tensors_are_arrays(family, rows_of):
    run_each(cases(rows_of(family)), lambda case: check(*case))
