"""Patterns of sparse Jacobians: their forms and colourings, levels around, and errors."""

import functools
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sparse_support import X, bands, of_pattern, same_as_dense, tridiagonal

import functier as ft
from support.basics import close, equal, loss, model, raises

# ---- colours ----


def check_colours(rows, cols, colours):
    """No two columns of one colour have entries in one row."""
    assert len(cols) == 0 or colours[cols].min() >= 0
    seen = set(zip(rows.tolist(), colours[cols].tolist()))
    assert len(seen) == len(set(zip(rows.tolist(), cols.tolist()))), "two of a colour in a row"


def test_a_wrong_colouring_is_found():
    rows, cols = bands(6, -1, 0, 1)

    check_colours(rows, cols, np.arange(6) % 3)
    with pytest.raises(AssertionError, match="two of a colour"):
        check_colours(rows, cols, np.arange(6) % 2)
    with pytest.raises(AssertionError):
        check_colours(rows, cols, np.array([0, 1, 2, 0, 1, -1]))


# ---- patterns ----


def test_kinds_of_patterns():
    dense = np.diag(np.ones(4, bool)) | np.eye(4, k=1, dtype=bool)
    f = of_pattern(dense)
    expected = ft.jacfwd(f)(X)
    rows, cols = np.nonzero(dense)
    shuffled = np.array([3, 1, 0, 6, 5, 2, 4, 4])
    kinds = [dense, dense.astype(int), dense.tolist(), (rows, cols), (list(rows), list(cols))]
    kinds += [(rows[shuffled].astype(np.uint8), cols[shuffled])]
    for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        kinds += [
            sp.csr_array(dense).asformat(form),
            sp.csr_matrix(dense.astype(float)).asformat(form),
        ]
    for pattern in kinds:
        out = ft.sparse_jacobian(f, pattern=pattern)(X)
        same_as_dense(out, expected)
        assert out.nnz == 7


def test_stored_zeros_of_a_pattern_are_entries():
    pattern = sp.csr_array((np.zeros(3), ([0, 1, 3], [0, 1, 3])), shape=(4, 4))
    out = ft.sparse_jacobian(lambda x: x * x, pattern=pattern)(X)
    assert out.nnz == 3
    equal(out.diagonal(), np.where(np.arange(4) == 2, 0, 2 * X))


def test_arrays_of_a_library_that_computes_later():
    dask = pytest.importorskip("dask.array", reason="an extra")
    x = dask.from_array(X, chunks=2)
    for pattern in (None, bands(4, -1, 0, 1)):
        out = ft.sparse_jacobian(lambda x: x * x, pattern=pattern)(x)
        same_as_dense(out, np.diag(2 * X))


def test_places_of_a_pattern_may_leave_rows_out():
    for rows, cols in [([0], [1]), ([], [])]:
        out = ft.sparse_jacobian(lambda x: x[::-1] * [1, 0, 0, 0], pattern=(rows, cols))(X)
        assert out.shape == (4, 4) and out.nnz == len(rows)


def test_a_larger_pattern_is_as_good():
    everything = np.ones((4, 4), bool)
    for mode in ("auto", "fwd", "rev"):
        out = ft.sparse_jacobian(tridiagonal, pattern=everything, mode=mode, check=True)(X)
        same_as_dense(out, ft.jacfwd(tridiagonal)(X))
        assert out.nnz == 16


def test_a_pattern_that_lacks_entries_is_found_by_a_check():
    diagonal = np.eye(4, dtype=bool)
    for mode, where in (("auto", "4 rows, such as 0"), ("rev", "4 columns, such as 0")):
        jacobian = ft.sparse_jacobian(tridiagonal, pattern=diagonal, mode=mode, check=True)
        raises(ValueError, lambda j=jacobian: j(X), "sparse_jacobian(tridiagonal)", where)
    full = ft.sparse_jacobian(tridiagonal, pattern=bands(4, -1, 0, 1), check=True)
    same_as_dense(full(X), ft.jacfwd(tridiagonal)(X))


def test_what_a_caller_does_to_a_result_or_a_pattern_stays_there():
    pattern = sp.csr_array(np.eye(4))
    for jacobian in (
        ft.sparse_jacobian(lambda x: x * x, pattern=pattern),
        ft.sparse_jacobian(lambda x: x * x),
    ):
        first = jacobian(X)
        first.data[:] = 0
        first.indices[:] = 0
        first.indptr[:] = 0
        pattern.data[:] = 0
        pattern.indices[:] = 3
        same_as_dense(jacobian(X), np.diag(2 * X))
    rows, cols = np.arange(4), np.arange(4)
    jacobian = ft.sparse_jacobian(lambda x: x * x, pattern=(rows, cols))
    rows[:] = 0
    same_as_dense(jacobian(X), np.diag(2 * X))


def test_patterns_of_several_points_add_up():
    def f(x):
        return np.where(x > 0, x * x[::-1], x[0])

    points = [X, -X, X - 1]
    pattern = functools.reduce(lambda a, b: a + b, [ft.jacobian_pattern(f)(x) for x in points])
    assert pattern.dtype == bool
    jacobian = ft.sparse_jacobian(f, pattern=pattern, check=True)
    for x in points:
        same_as_dense(jacobian(x), ft.jacfwd(f)(x))


# ---- levels ----

PATTERN = np.eye(4, dtype=bool) | np.eye(4, k=1, dtype=bool)


def chained(x):
    return np.concatenate([x[:-1] * np.sin(x[1:]), x[-1:] ** 2]) * x[0] ** 0


def dense_entries(x):
    return ft.jacfwd(chained)(x)[np.nonzero(PATTERN)]


WEIGHTS = np.arange(7.0)
XS = np.stack([X, X + 1, X * 2])
NESTED = {
    "grad": (lambda f: ft.grad(lambda x: WEIGHTS @ f(x) ** 2), X),
    "jvp": (lambda f: lambda x: ft.jvp(f, (x,), (x,))[1], X),
    "vjp": (lambda f: lambda x: ft.vjp(f, x)[1](WEIGHTS)[0], X),
    "jacrev": (ft.jacrev, X),
    "jacfwd": (ft.jacfwd, X),
    "vmap": (ft.vmap, XS),
    "vmap of grad": (lambda f: ft.vmap(ft.grad(lambda x: WEIGHTS @ np.sin(f(x)))), XS),
    "grad of vmap": (lambda f: ft.grad(lambda x: np.sum(ft.vmap(f)(x) ** 2)), XS),
    "vmap of vmap": (lambda f: ft.vmap(ft.vmap(f)), np.stack([XS, XS + 1])),
}


@pytest.mark.parametrize("nesting", NESTED)
@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("chunk", [None, 1])
def test_the_entries_alone_work_under_every_level(nesting, mode, chunk):
    transform, x = NESTED[nesting]
    entries = ft.sparse_jacobian(chained, pattern=PATTERN, mode=mode, chunk_size=chunk, form="data")
    close(entries(X), dense_entries(X))
    close(transform(entries)(x), transform(dense_entries)(x))


@pytest.mark.parametrize("pattern", [None, np.eye(4, dtype=bool)])
def test_a_matrix_under_a_level_is_refused(pattern):
    def model(x):
        return x * x

    jacobian = ft.sparse_jacobian(model, pattern=pattern)
    w = np.ones(4)
    for call in (
        lambda: ft.grad(lambda x: np.sum(jacobian(x).data))(X),
        lambda: ft.vmap(lambda x: jacobian(x).data)(np.ones((3, 4))),
        lambda: ft.jvp(lambda x: jacobian(x).data, (X,), (X,)),
        lambda: ft.grad(
            lambda w: np.sum(ft.sparse_jacobian(lambda x: model(x) * w, pattern=pattern)(X))
        )(w),
        lambda: ft.vmap(lambda w: ft.sparse_jacobian(lambda x: x * w, pattern=pattern)(X))(
            np.ones((3, 4))
        ),
        lambda: ft.vmap(lambda w: ft.sparse_jacobian(lambda x, w: x * w, pattern=pattern)(X, w))(
            np.ones((3, 4))
        ),
    ):
        raises(ft.ConversionError, call, "sparse_jacobian(", "form='data'", "jacfwd")
    if pattern is None:
        call = lambda: ft.grad(lambda x: x @ ft.jacobian_pattern(model)(x) @ x)(X)  # noqa: E731
        raises(ft.ConversionError, call, "jacobian_pattern(model)")


def test_tensors_of_no_level_have_a_class_to_keep():
    sub = type("Sub", (ft.Tensor,), {})(X)
    for pattern in (None, np.eye(4)):
        raises(
            TypeError, lambda p=pattern: ft.sparse_jacobian(model, pattern=p)(sub), "Sub | x.elem()"
        )
    out = ft.sparse_jacobian(lambda x: x * x, pattern=np.eye(4), form="data")(sub)
    assert type(out) is type(sub)
    equal(out.elem(), 2 * X)


def test_a_constant_function_of_an_outer_level():
    """The function uses tensors of a level around, but does not depend on them."""
    entries = ft.sparse_jacobian(lambda x: 2 * x, pattern=np.eye(4), form="data")
    equal(ft.vmap(entries)(np.ones((3, 4))), np.full((3, 4), 2.0))
    equal(ft.grad(lambda x: np.sum(entries(x)))(X), np.zeros(4))


# ---- errors ----


def test_errors_of_options():
    eye = np.eye(4)
    for kind, call, *parts in [
        (TypeError, lambda: ft.sparse_jacobian(3), "sparse_jacobian", "int"),
        (ValueError, lambda: ft.sparse_jacobian(model, mode="both"), "mode='both'", "'rev'"),
        (ValueError, lambda: ft.sparse_jacobian(model, form="csc"), "form='csc'", "'data'"),
        (TypeError, lambda: ft.sparse_jacobian(model, chunk_size=1.5), "chunk_size=1.5"),
        (TypeError, lambda: ft.sparse_jacobian(model, chunk_size=True), "chunk_size=True"),
        (ValueError, lambda: ft.sparse_jacobian(model, chunk_size=0), "chunk_size=0"),
        (ValueError, lambda: ft.sparse_jacobian(model, form="data"), "jacobian_pattern(model)(x)"),
        (
            ValueError,
            lambda: ft.sparse_jacobian(model, pattern=eye, form="data", check=True),
            "check=True",
        ),
        (ValueError, lambda: ft.sparse_jacobian(model, escape="never"), "escape"),
        (
            TypeError,
            lambda: ft.sparse_jacobian(model, pattern="diagonal"),
            "pattern is a str",
            "(rows, cols)",
        ),
        (TypeError, lambda: ft.sparse_jacobian(model, pattern=[[1], [1, 2]]), "pattern is a list"),
        (
            TypeError,
            lambda: ft.sparse_jacobian(model, pattern=(1.5, 2.5)),
            "tuple of other objects",
        ),
        (ValueError, lambda: ft.sparse_jacobian(model, pattern=([1, 2], [1])), "(2,) and (1,)"),
        (ValueError, lambda: ft.sparse_jacobian(model, pattern=([1], [-1])), "negative"),
        (ValueError, lambda: ft.sparse_jacobian(model, pattern=np.ones(4)), "shape (4,)"),
        (
            ValueError,
            lambda: ft.sparse_jacobian(model, pattern=sp.coo_array(np.ones(4))),
            "shape (4,)",
        ),
        (ValueError, lambda: ft.sparse_jacobian(model, argnums=1, argnames="x"), "argnames"),
    ]:
        raises(kind, call, "sparse_jacobian", *parts)


def test_errors_of_calls():
    eye = np.eye(4)
    for kind, call, *parts in [
        (
            ValueError,
            lambda: ft.sparse_jacobian(model, pattern=np.eye(3))(X),
            "shape (3, 3)",
            "4 columns",
        ),
        (
            ValueError,
            lambda: ft.sparse_jacobian(model, pattern=np.ones((3, 4)))(X),
            "(3, 4)",
            "(4, 4)",
        ),
        (
            ValueError,
            lambda: ft.sparse_jacobian(model, pattern=([0], [4]))(X),
            "(0, 4)",
            "4 columns",
        ),
        (ValueError, lambda: ft.sparse_jacobian(model, pattern=([4], [0]))(X), "(4, 0)", "(4, 4)"),
        (
            TypeError,
            lambda: ft.sparse_jacobian(model, pattern=eye)(np.arange(4)),
            "args[0]",
            "int64",
        ),
        (TypeError, lambda: ft.sparse_jacobian(model)(["a"]), "args[0][0]"),
        (ValueError, lambda: ft.sparse_jacobian(model, argnums=1)(X), "argnums=1"),
        (ValueError, lambda: ft.sparse_jacobian(model, argnums=(0, 0))(X), "argnums=(0, 0)"),
    ]:
        raises(kind, call, "sparse_jacobian(model)", *parts)
    raises(TypeError, lambda: ft.sparse_jacobian(lambda x: "text")(X), "the result", "str")
    raises(TypeError, lambda: ft.sparse_jacobian(lambda x: x, has_aux=True)(X), "has_aux")
    raises(ValueError, lambda: ft.sparse_hessian(model)(X), "scalar")


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    for call in (
        lambda: ft.sparse_jacobian(model),
        lambda: ft.sparse_hessian(loss),
        lambda: ft.jacobian_pattern(model)(X),
    ):
        raises(ImportError, call, "SciPy", "functier[scipy]")
    entries = ft.sparse_jacobian(lambda x: x * x, pattern=(np.arange(4), np.arange(4)), form="data")
    equal(entries(X), 2 * X)


def test_an_error_of_the_function_leaves_nothing_behind():
    def f(x):
        if len(calls) == 2:
            raise RuntimeError("mine")
        calls.append(1)
        return tridiagonal(x)

    calls = []
    jacobian = ft.sparse_jacobian(f)
    raises(RuntimeError, lambda: jacobian(X), "mine")
    calls.append(1)
    same_as_dense(jacobian(X), ft.jacfwd(tridiagonal)(X))


@pytest.mark.parametrize("transform", [ft.sparse_jacobian, ft.sparse_hessian])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_pattern_at_the_place_of_argnums(transform, make):
    pattern = make(np.eye(3, dtype=bool))
    with pytest.raises(TypeError, match=r"a \w+ of shape \(3, 3\); write pattern="):
        transform(np.square, pattern)
