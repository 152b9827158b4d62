"""``x.sort()`` and ``x.partition()``: they reorder the tensor, as they do an array."""

import numpy as np
import pytest

import functier as ft

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

    with pytest.raises(ft.EscapedTensorError):
        x.sort()


def test_a_tensor_that_passes_through_is_sorted_as_its_value():
    with ft.vmap(escape="passthrough") as B:
        x = B(A)

    np.testing.assert_array_equal(x.sort(), np.sort(A))
