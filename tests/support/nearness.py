"""The distance between the results of two calls, and the checks of what they have in common."""

from typing import Any

import numpy as np
import optree


def outputs(result: Any) -> list:
    """The array results of a call."""
    return [np.asarray(x) for x in optree.tree_leaves(result)]


def same(actual: Any, expected: Any, rtol: float = 1e-9) -> None:
    """Equal in structure, shape, dtype and value."""
    a, b = outputs(actual), outputs(expected)
    assert len(a) == len(b), f"{len(a)} results, expected {len(b)}"
    for x, y in zip(a, b):
        assert x.shape == y.shape, f"shape {x.shape}, expected {y.shape}"
        assert x.dtype == y.dtype, f"dtype {x.dtype}, expected {y.dtype}"
        if x.dtype.kind in "fc":
            close(x, y, rtol)
        else:
            np.testing.assert_array_equal(x, y)


def close(actual: Any, expected: Any, rtol: float) -> None:
    """Equal to a tolerance; NumPy is asked, which takes long, where that is not plain."""
    if np.shape(actual) == np.shape(expected):
        with np.errstate(all="ignore"):
            if np.all(np.abs(actual - expected) < rtol * (1 + np.abs(expected))):
                return
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def near(actual: list, expected: list, rtol: float) -> None:
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        close(a, e, rtol)


def form_of(x: Any) -> tuple:
    return np.shape(x), np.result_type(x)


def inner(a: Any, b: Any) -> float:
    """The real inner product of two lists of arrays."""
    return sum(float(np.real(np.sum(np.conjugate(x) * y))) for x, y in zip(a, b))
