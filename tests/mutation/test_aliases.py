"""Functions give views or copies as NumPy does: a check of each of them."""

import copy

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from rows import run_each
from turns import in_turn

X = np.array([0.7, -0.4, 1.2])
T = np.array([1.0, 0.5, -2.0])
MASK = np.array([True, False, True])

DERIVED = {
    "itself": lambda y: y,
    "copy": np.copy,
    "copy, a method": lambda y: y.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "slice": lambda y: y[1:],
    "ellipsis": lambda y: y[...],
    "newaxis": lambda y: y[None],
    "element": lambda y: y[1],
    "element with an ellipsis": lambda y: y[1, ...],
    "int array": lambda y: y[[0, 1]],
    "mask": lambda y: y[MASK],
    "true": lambda y: y[True],
    "iteration": lambda y: next(iter(y[None])),
    "unpacking": lambda y: (lambda a, b: b)(*y[None, [0, 1, 1]].repeat(2, 0)),
    "flat": lambda y: y.flat[:],
    "flatten": lambda y: y.flatten(),
    "ravel": np.ravel,
    "ravel of columns": lambda y: np.ravel(y[:, None].T),
    "ravel of a stride": lambda y: np.ravel(y[::-2]),
    "reshape": lambda y: np.reshape(y, (3, 1)),
    "reshape with a copy": lambda y: np.reshape(y, (3, 1), copy=True),
    "T": lambda y: y.T,
    "transpose": np.transpose,
    "swapaxes": lambda y: np.swapaxes(y[None], 0, 1),
    "moveaxis": lambda y: np.moveaxis(y[None], 0, 1),
    "rollaxis": lambda y: np.rollaxis(y[None], 1),
    "permute_dims": lambda y: np.permute_dims(y, (0,)),
    "matrix_transpose": lambda y: np.matrix_transpose(y[None]),
    "mT": lambda y: y[None].mT,
    "squeeze": np.squeeze,
    "squeeze of one": lambda y: np.squeeze(y[None]),
    "expand_dims": lambda y: np.expand_dims(y, 0),
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
    "flip": np.flip,
    "fliplr": lambda y: np.fliplr(y[None]),
    "flipud": np.flipud,
    "rot90": lambda y: np.rot90(y[None]),
    "rot90 four times": lambda y: np.rot90(y[None], 4),
    "split": lambda y: np.split(y, 3)[1],
    "array_split": lambda y: np.array_split(y, 2)[0],
    "hsplit": lambda y: np.hsplit(y, 1)[0],
    "vsplit": lambda y: np.vsplit(y[:, None], 3)[2],
    "dsplit": lambda y: np.dsplit(y[None, None], 3)[2],
    "unstack": lambda y: np.unstack(y[None])[0],
    "real": np.real,
    "real, a property": lambda y: y.real,
    "asarray": fnp.asarray,
    "array": fnp.array,
    "array like": lambda y: np.array(y, like=y) if isinstance(y, ft.Tensor) else np.array(y),
    "astype": lambda y: y.astype(float),
    "astype without a copy": lambda y: y.astype(float, copy=False),
    "astype, a function, without a copy": lambda y: np.astype(y, float, copy=False),
    "conj": lambda y: y.conj(),
    "conjugate": np.conjugate,
    "positive": np.positive,
    "absolute": np.abs,
    "plus": lambda y: y + 0.0,
    "round": np.round,
    "clip": lambda y: np.clip(y, -9, 9),
    "where": lambda y: np.where(True, y, y),
    "sort": np.sort,
    "concatenate": lambda y: np.concatenate([y]),
    "stack": lambda y: np.stack([y]),
    "hstack": lambda y: np.hstack([y]),
    "column_stack": lambda y: np.column_stack([y]),
    "take": lambda y: np.take(y, [0, 1, 2]),
    "tile": lambda y: np.tile(y, 1),
    "repeat": lambda y: np.repeat(y, 1),
    "pad": lambda y: np.pad(y, 0),
    "roll": lambda y: np.roll(y, 0),
    "resize": lambda y: np.resize(y, 3),
    "delete": lambda y: np.delete(y, []),
    "insert": lambda y: np.insert(y, 0, 1.0),
    "append": lambda y: np.append(y, 1.0),
    "cumsum": np.cumsum,
    "sum of one": lambda y: np.sum(y[None], axis=0),
    "max of one": lambda y: np.max(y[None], axis=0),
    "mean of one": lambda y: np.mean(y[None], axis=0),
    "nan_to_num": np.nan_to_num,
    "triu": lambda y: np.triu(y[None]),
    "tril": lambda y: np.tril(y[:, None]),
    "diag": np.diag,
    "select": lambda y: np.select([MASK], [y], 0.0),
    "choose": lambda y: np.choose(0, [y]),
    "compress": lambda y: np.compress([True] * 3, y),
    "extract": lambda y: np.extract([True] * 3, y),
    "matmul": lambda y: np.eye(3) @ y,
    "einsum": lambda y: np.einsum("ij->ji", y[None] * 1.0),
    "meshgrid": lambda y: np.meshgrid(y, [0.0])[0],
    "ix_": lambda y: np.ix_(y, [0.0])[0],
    "meshgrid without a copy": lambda y: np.meshgrid(y, [0.0], copy=False)[0],
    "einsum of one": lambda y: np.einsum("i->i", y),
    "einsum of a diagonal": lambda y: np.einsum("iij->ij", y[None, None]),
    "sliding_window_view": lambda y: np.lib.stride_tricks.sliding_window_view(y, 2, writeable=True),
    "as_strided": lambda y: fnp.lib.stride_tricks.as_strided(y),
}
READ_ONLY = {
    "broadcast_to": lambda y: np.broadcast_to(y, (2, 3)),
    "sliding_window_view, to read": lambda y: np.lib.stride_tricks.sliding_window_view(y, 2),
    "diagonal": lambda y: np.diagonal(y[None]),
    "diag of a matrix": lambda y: np.diag(y[None]),
}
"""Results that NumPy forbids to write to, or that are no views: only the array is written to."""

MADE = {
    "a result": lambda x: x * 1.0,
    "a result that was written to": lambda x: written(x * 1.0),
    "an array": lambda x: fnp.zeros(3) + 0.5,
    "an array that a tensor was written to": lambda x: filled(fnp.zeros(3), x),
    "the argument": lambda x: x,
}


def written(y):
    y[2] = 0.5
    return y


def filled(y, x):
    y[...] = x
    return y


def array_is_written(make, derive):
    def run(x):
        y = make(x)
        z = derive(y)
        y[...] = 9.0 * x
        return z * 1.0, y * 1.0

    return run


def derived_is_written(make, derive):
    def run(x):
        y = make(x)
        z = derive(y)
        if np.ndim(z):
            z[...] = 9.0
            z[..., 0] = 5.0 * x[0]
        else:
            z += 1.0
        return z * 1.0, y * 1.0

    return run


WRITTEN = array_is_written, derived_is_written
RUNS = {
    "vmap": lambda f: [y[1] for y in ft.vmap(f)(np.stack([X * 2.0, X]))],
    "vjp": lambda f: ft.vjp(f, X)[0],
    "jvp": lambda f: ft.jvp(f, (X,), (T,))[0],
    "vmap vjp": lambda f: [y[1] for y in ft.vmap(lambda x: ft.vjp(f, x)[0])(np.stack([T, X]))],
}


@pytest.mark.parametrize(
    ("how", "made", "run"),
    in_turn([pytest.param(how, made) for how in WRITTEN for made in MADE], RUNS),
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_shares_memory(how, made, run):
    """A view sees the write to the array, and the array that to a view; a copy sees neither."""

    def test(derive):
        program = how(MADE[made], derive)
        for a, b in zip(RUNS[run](program), program(X.copy()), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.shape(a) == np.shape(b)

    only = READ_ONLY if how is array_is_written else {}
    run_each({**DERIVED, **only}, test)


def test_columns_of_an_array_that_has_no_name_are_no_aliases():
    """They share no element, though each lies between the elements of the other."""

    def f(a):
        x, y = np.copy(a).T
        x[0] = 3.0 * a[0, 1]
        y[1] *= 2.0
        return x * y

    a = np.arange(6.0).reshape(3, 2) + 1.0
    np.testing.assert_array_equal(ft.vmap(f)(np.stack([a, a[::-1]])), [f(a), f(a[::-1])])
    np.testing.assert_array_equal(ft.jvp(f, (a,), (a,))[0], f(a))
    np.testing.assert_allclose(ft.jacrev(f)(a), ft.jacfwd(f)(a))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_parts_of_complex_numbers_do_not_spoil_each_other():
    """Infinities, NaN and the signs of zeros stay where they are, and derivatives pass."""

    def f(np, x):
        z = np.zeros(3, complex)
        z.real = x
        z.imag = np.stack([x[0] * 0 + np.inf, x[1], x[2] * 0 + np.nan])
        w = np.conj(z[:2])
        w.imag += x[:2]
        w.real *= -x[:2]
        return z, w

    x = np.array([0.5, -0.0, 2.0])
    for found in (
        [y[0] for y in ft.vmap(lambda x: f(fnp, x))(np.stack([x, x + 1.0]))],
        ft.jvp(lambda x: f(fnp, x), (x,), (x,))[0],
    ):
        for a, b in zip(found, f(np, x), strict=True):
            np.testing.assert_array_equal(a.view(float), b.view(float))
            np.testing.assert_array_equal(np.signbit(a.view(float)), np.signbit(b.view(float)))

    def g(x):
        z = fnp.zeros(2, complex)
        z.real, z.imag = np.sin(x), x * x
        return np.real(np.sum(z * z * (1.0 + 2.0j)))

    y = np.array([0.3, 0.7])
    step = 1e-6 * np.eye(2)
    slopes = [(g(y + e) - g(y - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(ft.grad(g)(y), slopes, rtol=1e-7)
    np.testing.assert_allclose(ft.jvp(g, (y,), (step[0] * 1e6,))[1], slopes[0], rtol=1e-7)


def test_a_view_of_another_dtype_is_a_copy_that_is_noted():
    """The real parts that `numpy.real_if_close` shows have half the items' size."""

    def f(x, n=3, write=None):
        z = fnp.zeros(n, complex)
        z[:2] = 3.0
        r = fnp.real_if_close(z)
        assert r.dtype == float and r.shape == (n,) and r[0] == 3.0
        if write is not None:
            (z if write else r)[0] = 5.0
        y = x * r[0]
        del r
        z[0] = 7.0
        return y * z[0].real

    for n in (1, 3, 10):
        assert ft.jvp(lambda x: f(x, n), (2.0,), (1.0,)) == (42.0, 21.0)
    for write in (False, True):
        with pytest.raises(ft.MutationError, match="real_if_close"):
            ft.grad(lambda x: f(x, write=write))(2.0)
