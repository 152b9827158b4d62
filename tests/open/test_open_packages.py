"""Faults with code of packages: SciPy, SymPy, Numba, Dask, caches."""

import numpy as np
import pytest

import functier as ft
from support.basics import close

REFUSED = ft.LevelError, ft.ConversionError, ft.NoRuleError, TypeError, AttributeError


SPARSE = """
import numpy as np
from scipy.sparse import csr_matrix
BASE = csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0]]))
def by_data(x):
    a = BASE.copy()
    a.data[[0, 1]] = x * np.array([1.0, 2.0])
    return (a @ np.array([1.0, 1.0])).sum()
def by_item(x):
    a = BASE.copy()
    a[0, 0] = 3 * x
    return (a @ np.array([1.0, 1.0])).sum()
"""


@pytest.mark.xfail(raises=REFUSED)
@pytest.mark.parametrize("name", ["by_data", "by_item"])
def test_a_sparse_matrix_takes_tensors(name, adopted):
    close(ft.grad(getattr(adopted(SPARSE), name))(0.5), 3.0)


@pytest.mark.xfail(raises=TypeError)
def test_a_tensor_is_compared_with_a_number_of_sympy():
    zero = pytest.importorskip("sympy").Integer(0)
    assert ft.grad(lambda x: x * 2.0 if x >= zero else x)(1.5) == 2.0


NUMBA = """
import numba
import numpy as np
@numba.njit
def total(x, k):
    s = 0.0
    for i in range(np.ceil(k - 1.0), np.floor(k + 1.0) + 1):
        s += x[i]
    return s
"""


@pytest.mark.slow
@pytest.mark.xfail(raises=TypeError)
def test_numbas_range_takes_floats(adopted):
    module = adopted(NUMBA)
    close(ft.grad(lambda x: module.total(x, 2.3))(np.arange(6.0)), np.eye(6)[[2, 3]].sum(0))


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
