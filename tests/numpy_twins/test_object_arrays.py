"""Object arrays of tensors: each element is a value by itself."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from differences import check

X = np.array([0.7, -1.3, 2.1, 0.4])

FUNCTIONS = {
    "unequal lengths": lambda np, x: np.sum(np.array([x[:1], x[1:]], dtype=object)[1] ** 2),
    "equal lengths": lambda np, x: np.array([x[:2], x[2:]], dtype=object)[1, 0] ** 2 * x[0],
    "scalars": lambda np, x: np.array([x[0], 2.0, x[3]], dtype=object)[2] * x,
    "pieces": lambda np, x: np.stack(
        [np.sum(p) ** 2 for p in np.array(np.split(x, [1, 3]), dtype=object)]
    ),
    "asarray": lambda np, x: np.asarray([x[:1], [x[0], x[1] ** 2]], dtype=object)[1][1] * x[2],
    "arithmetic": lambda np, x: (np.array([x[:1], x[1:]], dtype=object) * 2 + 1)[1] * x[0],
    "a sum": lambda np, x: np.sum(np.array([x[0], x[1] * x[2]], dtype=object)) ** 2,
    "a tensor": lambda np, x: np.array(x, dtype=object)[1] ** 2,
    "a loop": lambda np, x: sum(
        p[-1] * i for i, p in enumerate(np.array([x, x[1:]], dtype=object))
    ),
    "concatenated": lambda np, x: np.concatenate(np.array([x[:1] ** 2, x], dtype=object)),
    "numbers again": lambda np, x: np.array(np.array([x[0], x[1]], dtype=object), dtype=float) ** 2,
    "a matrix of numbers": lambda np, x: np.array([[x[0], 1], [2, x[1]]], dtype="O")[1, 1] ** 2,
    "strings beside": lambda np, x: np.array(["a", x[:2]], dtype=object)[1] ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("nesting", [("grad",), ("jvp",), ("vmap",), ("vmap", "grad")])
def test_elements_keep_what_transforms_know(name, nesting):
    f = FUNCTIONS[name]
    check(nesting, lambda x: f(fnp, x), X, lambda x: f(np, x))


def test_forms_are_those_of_numpy():
    def f(x):
        for make in (
            lambda x: [x, x], lambda x: [x, x[:1]], lambda x: [[x], [x]], lambda x: [(x, 1), x[:2]],
            lambda x: x, lambda x: x[0], lambda x: [x[0], [x[1]]], lambda x: [[], x],
        ):  # fmt: skip
            found, wanted = fnp.array(make(x), dtype=object), np.array(make(X), dtype=object)
            assert found.shape == wanted.shape and found.dtype == wanted.dtype == object
        return np.sum(x)

    ft.grad(f)(X)
    ft.vmap(f)(X[None])


def test_an_object_array_is_no_result():
    with pytest.raises(ft.LevelError, match=r"numpy\.stack"):
        ft.jvp(lambda x: fnp.array([x[:1], x], dtype=object), (X,), (X,))


def test_numbers_of_objects_have_a_remedy_that_works():
    def f(x):
        objects = fnp.array([2 * x], dtype=object)[0]
        return objects.astype(float)

    def g(x):
        objects = fnp.array([2 * x], dtype=object)[0]
        return fnp.asarray(objects, dtype=float)

    x = np.array([1.0, 2.0])
    with pytest.raises(ft.ConversionError, match=r"write functier.numpy.asarray\(objects, dtype=f"):
        ft.jvp(f, (x,), (x,))
    assert np.array_equal(ft.jvp(g, (x,), (x,))[1], 2 * x)
