"""The namespace that a tensor names: its functions return tensors, with NumPy's values."""

import copy
import pickle

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import twins as faulty
from support.basics import close, equal, raises
from support.rows import run_each

X = np.array([0.3, 1.7, 0.9])


class Named(ft.Tensor):
    """A user's class, of level 0."""


PLAIN = ft.Tensor(X).__array_namespace__()

MAKING = {
    "a number": lambda xp, x: xp.asarray(2.0),
    "a list": lambda xp, x: xp.asarray([1, 2]),
    "a list of tensors": lambda xp, x: xp.asarray([x[0], 2.0, [*x][1]]),
    "nested lists": lambda xp, x: xp.asarray([[x[0], 1.0], [2.0, x[1] * x[2]]]),
    "a tensor": lambda xp, x: xp.asarray(x),
    "a copy": lambda xp, x: xp.asarray(x, copy=True),
    "another dtype": lambda xp, x: xp.asarray(x, dtype=xp.float32),
    "a plain array": lambda xp, x: xp.asarray(X),
    "a scalar of NumPy's": lambda xp, x: xp.asarray(X[0]),
    "zeros": lambda xp, x: xp.zeros(3),
    "zeros_like": lambda xp, x: xp.zeros_like(x, dtype=xp.int64),
    "ones_like": lambda xp, x: xp.ones_like(x, device=x.device),
    "empty_like": lambda xp, x: xp.empty_like(x) * 0,
    "full": lambda xp, x: xp.full((2, 3), x[1]),
    "full of a number": lambda xp, x: xp.full((2,), 7.0, device="cpu"),
    "full_like": lambda xp, x: xp.full_like(x, x[0]),
    "arange": lambda xp, x: xp.arange(3),
    "arange of a tensor": lambda xp, x: xp.arange(3) * x[0],
    "linspace": lambda xp, x: xp.linspace(x[0], x[1], 4),
    "eye": lambda xp, x: xp.eye(2) * x[0],
    "tril": lambda xp, x: xp.tril(xp.ones((2, 2))),
    "meshgrid": lambda xp, x: xp.meshgrid(x, xp.arange(2))[0],
    "from_dlpack": lambda xp, x: xp.from_dlpack(X),
    "a sum of numbers": lambda xp, x: xp.sum(xp.arange(3)),
    "an element": lambda xp, x: xp.arange(3)[1],
    "a comparison": lambda xp, x: xp.asarray(2.0) > 1.0,
    "a product of numbers": lambda xp, x: xp.asarray(2.0) * 3.0,
    "isnan": lambda xp, x: xp.isnan(x),
    "argsort": lambda xp, x: xp.argsort(x, descending=True),
    "sort": lambda xp, x: xp.sort(x, descending=True),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0])),
    "unstack": lambda xp, x: xp.unstack(x)[2],
    "nonzero": lambda xp, x: xp.nonzero(xp.asarray([0.0, 3.0]))[0],
    "a named tuple": lambda xp, x: xp.linalg.eigh(xp.eye(2)).eigenvalues,
    "linalg": lambda xp, x: xp.linalg.vector_norm(x),
    "fft": lambda xp, x: xp.abs(xp.fft.fft(x)),
    "std": lambda xp, x: xp.std(x, correction=1),
}
"""Functions of a namespace and a tensor of three elements, whose results are tensors."""

BY_NUMPY = {
    "a list of tensors": lambda x: np.array([x[0], 2.0, x[1]]),
    "from_dlpack": lambda x: X,
    "ones_like": lambda x: np.ones(3),
    "full of a number": lambda x: np.full(2, 7.0),
    "argsort": lambda x: np.argsort(x)[::-1],
    "sort": lambda x: np.sort(x)[::-1],
}
"""Names that NumPy writes otherwise."""


def value_of(name, x):
    return BY_NUMPY.get(name, lambda x: MAKING[name](np, x))(x)


def settled(y):
    return np.asarray(ft.unwrap(y, None))


def test_outside_of_levels_all_results_are_tensors():
    def check(row):
        name, make = row
        for cls in (ft.Tensor, Named):
            x = cls(X.copy())
            y = make(x.__array_namespace__(), x)
            assert isinstance(y, ft.Tensor)
            equal(settled(y), np.asarray(value_of(name, X)))
        assert np.array_equal(settled(x), X)

    run_each({name: (name, make) for name, make in MAKING.items()}, check)


def all_tensors(make, kinds):
    """Run `make` at a tensor of a level, and note if its result is a tensor."""

    def f(x):
        y = make(x.__array_namespace__(), x)
        kinds.append(isinstance(y, ft.Tensor))
        return y

    return f


def test_inside_levels_all_results_are_tensors_with_numpys_values_and_derivatives():
    t = np.array([0.5, -1.0, 2.0])

    def check(row):
        name, make = row
        kinds = []
        f = all_tensors(make, kinds)
        y, dy = ft.jvp(f, (X,), (t,))
        expected = np.asarray(value_of(name, X))
        close(np.asarray(y), expected)
        if expected.dtype.kind == "f":
            tolerance = 1e-2 if expected.dtype == np.float32 else 1e-7
            h = 1e-2 if expected.dtype == np.float32 else 1e-6
            slope = (value_of(name, X + h * t) - value_of(name, X - h * t)) / (2 * h)
            np.testing.assert_allclose(dy, slope, atol=tolerance)
            gradient = ft.grad(lambda x: np.sum(f(x) * np.cos(np.arange(expected.size)).reshape(
                expected.shape)))(X)  # fmt: skip
            weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
            np.testing.assert_allclose(gradient @ t, np.sum(weights * dy), atol=tolerance)
        xs = np.stack([X, X + 1.0])
        batch = ft.vmap(f)(xs)
        for out, x in zip(batch, xs):
            np.testing.assert_allclose(out, value_of(name, x), rtol=1e-6)
        assert kinds and all(kinds)

    run_each({name: (name, make) for name, make in MAKING.items()}, check)


def test_a_function_that_returns_a_plain_array_would_be_found(monkeypatch):
    faulty.function_that_returns_a_plain_array(monkeypatch)
    kinds = []
    ft.grad(lambda x: np.sum(x * all_tensors(MAKING["a plain array"], kinds)(x)))(X)
    ft.grad(lambda x: x[0] * all_tensors(MAKING["a sum of numbers"], kinds)(x))(X)

    assert kinds == [False, False]


def test_every_function_of_the_standard_is_there():
    info = PLAIN.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert PLAIN.__array_api_version__ == np.__array_api_version__
    names = [n for n in dir(np) if n[0] != "_" and callable(getattr(np, n))]
    assert all(callable(getattr(PLAIN, n)) for n in names if not isinstance(getattr(np, n), type))
    assert PLAIN.float64 is np.float64 and PLAIN.pi == np.pi
    assert isinstance(ft.Tensor(X), PLAIN.ndarray) == isinstance(ft.Tensor(X), fnp.ndarray)


def test_there_is_one_namespace():
    namespaces = []
    ft.vmap(ft.grad(lambda x: namespaces.append(x.__array_namespace__()) or x))(X)
    for x in (Named(X), ft.Tensor(X)):
        namespaces.append(x.__array_namespace__(api_version="2024.12"))
    namespaces += [copy.copy(PLAIN), pickle.loads(pickle.dumps(PLAIN))]
    assert {id(xp) for xp in namespaces} == {id(PLAIN)}
    assert pickle.loads(pickle.dumps(PLAIN.linalg)) is PLAIN.linalg


def test_what_is_refused():
    x = ft.Tensor(X)
    raises(ValueError, lambda: x.__array_namespace__(api_version="2017.12"), "2017")
    for make in (PLAIN.zeros, PLAIN.asarray, PLAIN.from_dlpack):
        raises(ValueError, lambda: make(3, device="gpu"), "device='gpu' | leave device= out")
    raises(ValueError, lambda: PLAIN.asarray(x, dtype=np.float32, copy=False), "copy=False")
    with pytest.raises(ValueError, match="leave copy= out"):
        ft.grad(lambda x: np.sum(x * PLAIN.asarray(X, copy=False)))(X)
    assert np.shares_memory(PLAIN.asarray(X, copy=False).elem(), X)
    for name in ("__file__", "__path__", "nothing", "special_"):
        assert not hasattr(PLAIN, name)


def test_the_text_of_the_namespace_says_how_a_plain_array_joins():
    """Libraries put it in their error for arrays of several namespaces."""
    assert "write x.__array_namespace__().asarray(a) for a plain array a" in repr(PLAIN)


def test_results_without_axes_can_be_written_to():
    """As `array_api_extra.at` does it; NumPy's scalars cannot."""

    def f(x):
        xp = x.__array_namespace__()
        y = xp.sum(x * x)
        y[...] = xp.where(y > 1.0, y, 0.0)
        y[xp.asarray(False)] = xp.nan
        return y

    close(ft.grad(f)(X), 2 * X)
    equal(ft.vmap(f)(np.stack([X, 0 * X])), np.array([np.sum(X * X), 0.0]))
    with pytest.raises(ft.MutationError, match="a number never changes"):
        ft.grad(lambda x: np.sum(x).__setitem__(..., 1.0))(X)


def test_the_callers_array_is_copied_where_it_may_be_written_to():
    given = X.copy()

    def f(x):
        y = x.__array_namespace__().asarray(given)
        y[0] = x[1]
        return y @ x

    close(ft.grad(f)(X), np.array([X[1], X[0] + X[1], X[2]]))
    equal(given, X)


def test_an_array_of_functier_numpy_keeps_its_numbers():
    def f(x):
        xp = x.__array_namespace__()
        a = fnp.asarray([1.0, 2.0])
        assert xp.asarray(a) is a
        views = xp.reshape(a, (2, 1)), xp.flip(a), xp.asarray(a)
        copies = xp.asarray(a, copy=True), xp.sin(a), a + xp.asarray(1.0)
        assert all(type(fnp.ravel(v)[0]) is np.float64 for v in (a, *views))
        assert all(isinstance(v[0], ft.Tensor) for v in copies)
        return x

    ft.vmap(f)(X)


def test_distinct_values_rise():
    """`numpy.unique_values` has its own order, and libraries take the last for the largest."""
    values = np.array([5, 3, 9, 1, 9, 4, 0, 2**40, 7])
    equal(settled(PLAIN.unique_values(values)), np.unique(values))
    seen = []
    ft.grad(lambda x: seen.append([*map(float, PLAIN.unique_values(values))]) or x)(1.0)
    assert seen[0] == sorted(seen[0])


def test_descending_order_keeps_equal_elements_in_place():
    x = ft.Tensor(np.array([[1.0, 2.0, 1.0], [0.0, 2.0, 2.0]]))
    equal(settled(PLAIN.argsort(x, descending=True)), np.array([[1, 0, 2], [1, 2, 0]]))
    equal(settled(PLAIN.argsort(x, axis=0, descending=True)), np.array([[0, 0, 1], [1, 1, 0]]))
    close(ft.jacrev(lambda x: PLAIN.sort(x, descending=True))(X), np.eye(3)[[1, 2, 0]])
