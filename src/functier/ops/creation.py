"""Functions that make arrays, which NumPy dispatches on ``like=`` only.

What they make of static arguments is a plain array, a constant for every level. With
``like=x`` a value made of tensors may be given too: ``np.array([t, u], like=t)``.
"""

from collections.abc import Callable

import numpy as np

from ._families import (
    as_array,
    composite,
    strong,
)

func: Callable
for func in (
    np.zeros, np.ones, np.empty, np.eye, np.identity, np.tri, np.arange, np.fromfunction,
    np.fromiter, np.frombuffer, np.fromstring, np.fromfile, np.loadtxt, np.genfromtxt,
):  # fmt: skip
    composite(func, func)


@lambda body: composite(np.full, body)
def _full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    filled = np.multiply(np.ones(shape, np.result_type(fill_value)), fill_value)
    return filled if dtype is None else filled.astype(dtype)


def _stacked(value):
    """A nested sequence as one array; tensors may stand in it."""
    if isinstance(value, (list, tuple)):
        return np.stack([_stacked(v) for v in value]) if value else np.zeros(0)
    return value


def _converted(a, dtype=None, *args, ndmin=0, **kwargs):
    a = _stacked(a)
    if np.ndim(a) < ndmin:
        a = np.reshape(a, (1,) * (ndmin - np.ndim(a)) + np.shape(a))
    return a if dtype is None else np.astype(strong(as_array(a)), dtype)


for func in (
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
):  # fmt: skip
    composite(func, _converted)
