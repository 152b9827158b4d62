"""Roots of products of SciPy at 0: the second look finds that nothing moves them."""

import numpy as np
import pytest

import functier as ft
from functier.scipy import ndimage, signal
from support.basics import equal

ROOTS = {
    "slopes": (lambda x: np.sum(ndimage.gaussian_gradient_magnitude(x, 1.0)), np.zeros((6, 5))),
    "samples": (lambda x: np.sqrt(np.sum(signal.upfirdn(x, [2.0, 1.0], 2) ** 2)), np.zeros(3)),
    "taps": (lambda x: np.sqrt(np.sum(signal.upfirdn([2.0, 1.0], x, 2) ** 2)), np.zeros(3)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ROOTS)
def test_a_root_of_a_product_is_flat_at_zero(name):
    f, x = ROOTS[name]
    equal(ft.grad(f)(x), np.zeros_like(x))
