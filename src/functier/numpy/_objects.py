"""Object arrays whose elements are tensors: each is a value by itself."""

from typing import Any

import numpy as np

from .._core.border import has_tensors
from .._core.root import classes_in
from .._core.tensor import Tensor

SEQUENCES = (list, tuple)


def object_array(a: Any) -> np.ndarray:
    """Return ``numpy.array(a, dtype=object)``, where lists hold tensors.

    NumPy finds the form from arrays of the tensors' shapes. So lists of arrays of one shape make
    an array of their scalars, and others an array of arrays.
    """
    form = np.array(_template(a), dtype=object)
    made = np.empty(form.shape, object)
    for index in np.ndindex(form.shape):
        element = a
        for i in index:
            element = element[i]
        made[index] = element
    return made


def _template(a: Any) -> Any:
    """Return lists with plain arrays for tensors."""
    if type(a) in SEQUENCES:
        return [_template(x) for x in a]
    return np.zeros(a.shape) if isinstance(a, Tensor) else a


def is_object_array(a: Any, dtype: Any) -> bool:
    """Tell if an object array is asked for, of tensors that are in lists or that are `a`."""
    if dtype is None or not (isinstance(a, Tensor) or type(a) in SEQUENCES):
        return False
    return np.dtype(dtype) == object and bool(classes_in(a))


def elements_of(a: Any) -> Any:
    """Return the elements of an object array with tensors as lists; all else as it is."""
    if type(a) is np.ndarray and a.dtype == object and has_tensors(a):
        return a.tolist()
    return a
