"""Lists, tuples and ranges beside a tensor: they are arrays, as they are for NumPy.

Methods that reorder a tensor in place stand last.

Every row of the sample table with two operands and more, with one of them a tensor and
the others lists; or, where these have one axis, ranges.
"""

import numpy as np
import optree
import pytest

import functier as ft
from support.basics import raises, silent
from support.rows import run_each
from support.turns import families

ASIDE = {np.take: 1, np.repeat: 1, np.pad: 1, np.select: 2}
"""The operand that NumPy does not ask whether it is a tensor, beside plain ones."""


WANTS_ARRAYS = "scipy_places.KDTree", "scipy_splines.operations"
"""Rows whose own code indexes an operand, or makes an object of a whole batch."""


def cases(rows) -> dict:
    """Each operand of each row, by the row's name and the operand's position."""
    found = {}
    for name, row in rows.items():
        if name.startswith(WANTS_ARRAYS):
            continue
        own = getattr(row.func, "__module__", "") or ""
        if len(row.leaves) < 2 or row.loop or not row.vmap or own.startswith("functier"):
            continue
        for i, x in enumerate(row.leaves):
            if x.dtype.kind in "fciub":
                found[f"{name}:{i}"] = row, i
    return found


def same(actual, expected):
    a, e = np.asarray(actual), np.asarray(expected)
    assert (a.shape, a.dtype) == (e.shape, e.dtype)
    np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("family", families())
def test_lists_are_arrays(family, rows_of):
    run_each(cases(rows_of(family)), lambda case: check_lists(*case))


@pytest.mark.parametrize("family", families())
def test_ranges_are_arrays(family, rows_of):
    found = cases(rows_of(family))
    plain = {k: (row, i) for k, (row, i) in found.items() if has_range(row, i)}
    run_each(plain, lambda case: check_lists(*case, as_range))


def has_range(row, i):
    return any(j != i and v.ndim == 1 and v.dtype.kind in "if" for j, v in enumerate(row.leaves))


def as_range(v):
    return range(1, len(v) + 1) if v.ndim == 1 and v.dtype.kind in "if" else v


def check_lists(row, i, as_list=np.ndarray.tolist):
    """With operand `i` a tensor and the others lists, the result is that with arrays."""
    x = row.leaves[i]

    def f(value):
        return row.call(*[value if j == i else as_list(v) for j, v in enumerate(row.leaves)])

    with silent():
        try:
            expected = f(x)
        except (TypeError, ValueError, AttributeError, IndexError):
            return  # NumPy wants an array here
        if any(np.asarray(v).dtype == object for v in optree.tree_leaves(expected)):
            return  # a subscript that was meant as data
        try:
            results = [optree.tree_map(lambda v: v[0], ft.vmap(f)(x[None]))]
        except ft.DataDependentError:
            return
        except ft.ConversionError:
            assert ASIDE[row.func] == i
            return
        if i in row.differentiated():
            results += [ft.vjp(f, x)[0], ft.jvp(f, (x,), (x,))[0]]
    for result in results:
        optree.tree_map(same, result, expected)


# ---- ``x.sort()`` and ``x.partition()``: they reorder the tensor, as they do an array ----


A = np.array([[3.0, 1.0, 2.0], [0.5, 2.5, 1.5]])


@pytest.mark.parametrize("name", ["sort", "partition"])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_plain_tensor_is_reordered_in_its_own_memory(name, axis):
    args = (1,) if name == "partition" else ()
    expected, memory = A.copy(), A.copy()
    getattr(expected, name)(*args, axis=axis)
    x = ft.Tensor(memory)

    assert getattr(x, name)(*args, axis=axis) is x
    np.testing.assert_array_equal(x.elem(), expected)
    np.testing.assert_array_equal(memory, expected)


def test_under_vmap_each_example_is_sorted_and_the_callers_array_is_not():
    before = A.copy()

    def f(row):
        row.sort()
        return row

    np.testing.assert_array_equal(ft.vmap(f)(A), np.sort(A))
    np.testing.assert_array_equal(A, before)


def test_the_derivative_follows_the_order():
    weights = np.array([1.0, 10.0, 100.0])

    def f(x):
        x.sort()
        return np.sum(x * weights)

    np.testing.assert_array_equal(ft.grad(f)(A[0]), [100.0, 1.0, 10.0])
    np.testing.assert_array_equal(ft.vmap(ft.grad(f))(A), [[100.0, 1.0, 10.0], [1.0, 100.0, 10.0]])
    assert ft.jvp(f, (A[0],), (np.array([1.0, 0.0, 0.0]),))[1] == 100.0


@pytest.mark.parametrize("transform", [ft.vmap, ft.grad])
def test_a_dead_tensor_is_not_reordered(transform):
    with transform() as level:
        x = level(A)

    raises(ft.EscapedTensorError, lambda: x.sort())


def test_a_tensor_that_passes_through_is_sorted_as_its_value():
    with ft.vmap(escape="passthrough") as B:
        x = B(A)

    np.testing.assert_array_equal(x.sort(), np.sort(A))
