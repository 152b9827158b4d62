"""Faults with code of packages: Dask."""

import numpy as np
import pytest

import functier as ft

REFUSED = ft.LevelError, ft.ConversionError, ft.NoRuleError, TypeError, AttributeError


def data():
    array = pytest.importorskip("dask.array")
    return array.from_array(np.arange(48.0).reshape(12, 4) % 7 - 3, chunks=(5, 4))


DASK = {
    "map_blocks": lambda x, w: ft.grad(lambda w: np.sum(x.map_blocks(lambda b, w: b * w, w)))(w),
    "unknown chunks": lambda x, w: ft.grad(lambda w: np.sum(x[x[:, 0] > 0] @ w))(w),
}


@pytest.mark.xfail(raises=REFUSED)
@pytest.mark.slow
@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in DASK.items()])
def test_a_dask_array_is_differentiated(f):
    f(data(), np.ones(4))
