"""The strategies of `functier.testing` draw what they say."""

import numpy as np
import optree
import pytest
from hypothesis import given

from functier.testing import arrays, pytrees, with_tangents

DTYPES = ["f8", "f4", "f2", "c16", "i4"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_have_the_dtype_and_the_bounds(dtype):
    @given(arrays(dtype=dtype, min_dims=1, max_dims=2, max_side=2, low=-1, high=1))
    def draw(x):
        assert x.dtype == dtype and x.ndim in (1, 2) and 1 <= min(x.shape) <= max(x.shape) <= 2
        assert np.all(np.abs(x.real) <= 1) and np.all(np.abs(x.imag) <= 1)

    draw()


@given(with_tangents(pytrees(arrays() | arrays(dtype="i4"))))
def test_a_tangent_has_the_form_of_its_value(pair):
    values, tangents = map(optree.tree_leaves, pair)
    assert optree.tree_structure(pair[0]) == optree.tree_structure(pair[1])
    for x, t in zip(values, tangents, strict=True):
        assert (x.shape, x.dtype) == (t.shape, t.dtype)
        assert x.dtype.kind == "f" or not np.any(t)
