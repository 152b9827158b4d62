"""Programs that write through views, and into every kind of array that a program makes."""

import numpy as np

import functier as ft
import functier.numpy as fnp
from support.write_programs import grid, ones, zeros

# ---- views ----

VIEWS = {
    "slice": lambda y: y[1:],
    "step": lambda y: y[:, ::2],
    "reversed": lambda y: y[::-1],
    "row": lambda y: y[0],
    "column": lambda y: y[:, 1],
    "newaxis": lambda y: y[:, None],
    "ellipsis": lambda y: y[...],
    "one element with an ellipsis": lambda y: y[1:, 1, None],
    "reshape": lambda y: np.reshape(y, (3, 2)),
    "reshape, a method": lambda y: y.reshape(6),
    "ravel": np.ravel,
    "ravel, a method": lambda y: y.ravel(),
    "T": lambda y: y.T,
    "mT": lambda y: y.mT,
    "transpose": np.transpose,
    "transpose, a method": lambda y: y.transpose(1, 0),
    "swapaxes": lambda y: np.swapaxes(y, 0, 1),
    "swapaxes, a method": lambda y: y.swapaxes(0, 1),
    "moveaxis": lambda y: np.moveaxis(y, 0, -1),
    "flip": np.flip,
    "rot90": np.rot90,
    "expand_dims": lambda y: np.expand_dims(y, 1),
    "squeeze": lambda y: np.squeeze(y[:, None]),
    "squeeze, a method": lambda y: y[None].squeeze(),
    "atleast_3d": np.atleast_3d,
    "split": lambda y: np.split(y, 3, axis=1)[1],
    "real": lambda y: y.real,
    "real, a function": np.real,
    "asarray": fnp.asarray,
    "a view of a view": lambda y: y.T[1:][:, ::-1],
    "of a transposed view": lambda y: np.reshape(y.T, (2, 3)),  # a copy
    "rows backwards": lambda y: y[:, 1:][::-1],
    "view, a method": lambda y: y.view(),
    "copy": lambda y: y.copy(),
    "flatten": lambda y: y.flatten(),
    "int array": lambda y: y[[1, 0]],  # a copy
}
"""Functions of a matrix, most of which give views in NumPy."""

MATRICES = {
    "a result": grid,
    "a result in Fortran order": lambda x: np.outer(x, x[:2]).T,
    "zeros": zeros(2, 3),
    "a copy": lambda x: fnp.copy(grid(x)),
}


def through(make, view):
    """A program that writes through a view, and reads the array, the view and another view."""

    def run(x):
        y = make(x)
        shown = view(y)
        kept = np.sum(shown * x[0])
        shown *= x[0]
        shown[..., 0] += x[1] * x[2]
        return np.sum(y * y * 0.5) + np.sum(view(y) ** 3) + np.sum(shown * x[1]) + kept

    return run


def beside(make, view):
    """A program that takes a view, writes into the array, and reads the view."""

    def run(x):
        y = make(x)
        shown = view(y)
        y[0, 1:] = x[1:] * x[0]
        y += x[2]
        later = view(y)
        y[1, 0] *= 3.0
        return np.sum(shown**2) + np.sum(later**3)

    return run


THROUGH_VIEWS = {
    f"{how.__name__} {v} of {m}": how(MATRICES[m], VIEWS[v])
    for how in (through, beside)
    for v in VIEWS
    for m in MATRICES
}

# ---- what is written into ----


def like(x):
    """A copy of `x` as NumPy's own function makes it."""
    return np.array(x, like=x) if isinstance(x, ft.Tensor) else np.array(x)


def tensor(x):
    """A plain array that becomes a tensor inside a level."""
    return ft.tensor(np.ones(3)) if isinstance(x, ft.Tensor) else np.ones(3)


MADE = {
    "the argument": lambda x: x,
    "zeros_like": fnp.zeros_like,
    "empty_like": fnp.empty_like,
    "ones_like": fnp.ones_like,
    "full_like": lambda x: fnp.full_like(x, 2.0),
    "full_like of a value": lambda x: fnp.full_like(x, x[0]),
    "copy, a method": lambda x: x.copy(),
    "copy": fnp.copy,
    "astype": lambda x: x.astype(float),
    "array": fnp.array,
    "array of a list": lambda x: fnp.array([x[0], 1.0, x[2]]),
    "array of lists": lambda x: fnp.array([[x[0], 1.0], [0.0, x[2]], [x[1], x[1]]]).T[0],
    "array like": like,
    "tensor": tensor,
    "zeros": zeros(3),
    "empty": lambda x: fnp.empty(3),
    "ones": ones(3),
    "full": lambda x: fnp.full(3, 2.0),
    "full of a value": lambda x: fnp.full(3, x[1]),
    "eye": lambda x: fnp.eye(3)[1],
    "identity": lambda x: fnp.identity(3)[:, 1],
    "arange": lambda x: fnp.arange(3.0),
    "linspace": lambda x: fnp.linspace(0.0, 1.0, 3),
    "linspace of values": lambda x: fnp.linspace(x[0], x[1], 3),
    "asarray of a list": lambda x: fnp.asarray([1.0, 2.0, 3.0]),
    "asarray of scalars": lambda x: fnp.asarray([x[0], x[1], 3.0]),
    "ufunc": np.exp,
    "sum of an axis": lambda x: np.sum(np.outer(x, x), axis=0),
    "concatenate": lambda x: np.concatenate([x[:1], x[1:]]),
    "where": lambda x: np.where(x > 0, x, 1.0),
    "take": lambda x: x[[2, 1, 0]],
    "matmul": lambda x: fnp.ones((3, 3)) @ x,
    "sort": np.sort,
    "stack": lambda x: np.stack([x[0], x[1], x[2]]),
    "zeros and a value": lambda x: fnp.zeros(3) + x[0],
    "a slice of a result": lambda x: np.tile(x, 2)[1:4],
}


def filled(make):
    """A program that fills an array, and goes on writing into it."""

    def run(x):
        x = x * 1.0
        weights = x * x
        y = make(x)
        y[...] = weights
        y[1:] += y[:-1] * weights[0]
        y[0] *= 2.0
        return y * y

    return run


def kept(make):
    """A program that uses an array before and after it writes into it."""

    def run(x):
        y = make(x)
        before = y * y
        y[1:] = x[:-1] * y[:-1]
        y *= x[2]
        return before + y

    return run


INTO = {
    f"{how.__name__} {name}": how(make)
    for how in (filled, kept)
    for name, make in MADE.items()
    if how is filled or "empty" not in name
}
