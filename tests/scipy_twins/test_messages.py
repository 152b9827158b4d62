"""The messages of plain SciPy inside a transform name the twin, and following them is right."""

import re

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.stats

import functier as ft

CALLS = {
    "linalg.expm": lambda scipy, x: scipy.linalg.expm(x * np.eye(2))[0, 0],
    "stats.norm.logpdf": lambda scipy, x: scipy.stats.norm.logpdf(x),
    "stats": lambda scipy, x: scipy.stats.gamma(x).cdf(1.0),
    "integrate.quad": lambda scipy, x: scipy.integrate.quad(lambda t: np.exp(-x * t), 0, 1)[0],
    "optimize.brentq": lambda scipy, x: scipy.optimize.brentq(lambda t: t**3 - x, 0, 3),
    "stats.multivariate_normal": lambda scipy, x: scipy.stats.multivariate_normal.logpdf(
        np.array([1.0, x], like=x) if isinstance(x, ft.Tensor) else [1.0, x], [0.0, 0.0]
    ),
    "sparse.coo_matrix": lambda scipy, x: np.sum(
        scipy.sparse.coo_matrix((x * np.ones(2), ([0, 1], [1, 0]))) @ (x * np.ones(2))
    ),
    "sparse.csr_array": lambda scipy, x: np.sum(scipy.sparse.csr_array(x * np.eye(2)) @ np.ones(2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_message_names_the_twin(name):
    call = CALLS[name]
    with pytest.raises(ft.ConversionError) as caught:
        ft.grad(lambda x: call(scipy, x))(1.2)
    assert re.search(rf"write (.* or )?functier\.scipy\.{name}", str(caught.value))

    slope = ft.grad(lambda x: call(ft.scipy, x))(1.2)
    step = 1e-5
    expected = (call(scipy, 1.2 + step) - call(scipy, 1.2 - step)) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
