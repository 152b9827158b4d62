"""Differences of two results, to the last bit: values, signs of zeros, the order in memory."""

import numpy as np
import optree


def difference(actual, expected, rtol=0.0):
    """Say how two results differ, else return None; all NaNs are alike.

    The order in memory counts, as it is that of later sums.
    """
    a, b = ([np.asarray(x) for x in optree.tree_leaves(tree)] for tree in (actual, expected))
    if [(x.shape, x.dtype) for x in a] != [(x.shape, x.dtype) for x in b]:
        return "another form"
    for x, y in zip(a, b):
        if x.dtype.kind in "fc":
            if not np.allclose(x, y, rtol, 0.0, equal_nan=True):
                return "another value"
            if not rtol and not np.array_equal(signs(x), signs(y)):
                return "a zero of another sign"
        elif not np.array_equal(x, y):
            return "another value"
        if order_of(x) != order_of(y):
            return "another order in memory"
    return None


def signs(x):
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    return [np.signbit(part) & (part == part) for part in parts]


def order_of(x):
    """The strides of a copy: those of a view of a larger array are lost in a result."""
    return [abs(step) for step, n in zip(np.copy(x).strides, x.shape) if n > 1 and x.size]
