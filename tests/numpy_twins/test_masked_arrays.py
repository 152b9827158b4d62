"""Masked arrays over tensors: those in which nothing is masked; what would mask is refused."""

import numpy
import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp

X, H = 1.3, 1e-6


def iterated(np, x):
    return sum([v**2 for v in np.ma.masked_array([x, 2 * x])])


def written(np, x):
    a = np.ma.array([x, 2 * x])
    a[0] = x * 3
    a[1:] += x
    return (a * 2.0 - a[::-1] / a).sum()


FUNCTIONS = {
    "sum": lambda np, x: np.ma.masked_array([x, 2 * x]).sum(),
    "mean": lambda np, x: np.ma.array([[x, 1.0], [2.0, x]]).mean(axis=0).sum(),
    "functions": lambda np, x: np.ma.sum(np.ma.array([x, x])) + np.ma.mean(np.ma.array([x, 1.0])),
    "no mask": lambda np, x: np.ma.masked_array([x, 1.0], mask=False).filled(0.0).sum(),
    "mask of no element": lambda np, x: np.ma.array([x, 1.0], mask=[False, False]).std(),
    "invalid": lambda np, x: np.ma.masked_invalid(np.array([x, 1.0])).max(),
    "where": lambda np, x: np.ma.masked_where([False, False], np.array([x, 1.0])).compressed()[0],
    "questions": lambda np, x: x if not np.any(np.ma.getmask(np.ma.asarray([x, 1.0]))) else 0.0,
    "count": lambda np, x: np.ma.array([x, 1.0]).count() * x + np.ma.count(np.ma.array([x])),
    "masks": lambda np, x: (~np.ma.getmaskarray(np.ma.array([x, x]))).sum() * x,
    "data": lambda np, x: np.ma.array([x, 1.0]).data[0] + np.ma.getdata(np.ma.array([x]))[0],
    "class": lambda np, x: x if isinstance(np.ma.array([x]), np.ma.MaskedArray) else 0.0,
    "logarithm": lambda np, x: np.log(np.ma.array([x, 2 * x])).sum(),
    "quotient": lambda np, x: (1.0 / np.ma.array([x, 2 * x])).sum(),
    "power": lambda np, x: (np.ma.array([x, 2 * x]) ** 0.5).sum(),
    "product": lambda np, x: np.dot(np.eye(2), np.ma.array([x, 2 * x])).sum(),
    "forms": lambda np, x: np.ma.atleast_2d(np.ma.array([x, 2.0])).T[0, 0] * x,
    "joined": lambda np, x: np.ma.concatenate([np.ma.array([x]), np.ma.array([x])]).sum(),
    "iterated": iterated,
    "written": written,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_without_a_mask(name):
    def plain(x):
        return float(FUNCTIONS[name](numpy, x))

    def f(x):
        return FUNCTIONS[name](fnp, x)

    slope = (plain(X + H) - plain(X - H)) / (2 * H)
    np.testing.assert_allclose(ft.grad(f)(X), slope, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ft.jvp(f, (X,), (1.0,))[1], slope, rtol=1e-6, atol=1e-9)
    batch = np.array([X, 1.7])
    np.testing.assert_allclose(ft.vmap(f)(batch), [plain(x) for x in batch])
    assert f(X) == FUNCTIONS[name](numpy, X)


MASKING = {
    "mask": (lambda x: fnp.ma.array([x, 1.0], mask=[True, False]), "numpy.ma.array"),
    "masked_where": (lambda x: fnp.ma.masked_where(fnp.array([x]) > 1, fnp.array([x])), "where"),
    "invalid": (lambda x: fnp.ma.masked_invalid(fnp.array([x, np.nan])), "masked_invalid"),
    "quotient": (lambda x: fnp.ma.array([x, 1.0]) / fnp.array([x, 0.0]), "numpy.divide"),
    "logarithm": (lambda x: np.log(fnp.ma.array([-x, 1.0])), "numpy.log"),
    "power": (lambda x: fnp.ma.array([-x, 1.0]) ** 0.5, r"x \*\* y"),
    "masked": (lambda x: fnp.ma.array([x, 1.0]).__setitem__(0, np.ma.masked), "numpy.ma.masked"),
    "setting": (lambda x: setattr(fnp.ma.array([x]), "mask", True), "x.mask"),
}


@pytest.mark.parametrize("name", MASKING)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_what_would_mask_an_element_is_refused_by_its_name(name):
    f, what = MASKING[name]
    with pytest.raises(TypeError, match=f"{what}.* would mask elements"):
        ft.grad(lambda x: np.sum(f(x)))(X)
    with pytest.raises(TypeError, match=f"{what}.* would mask elements"):
        ft.vmap(f)(np.array([0.9, X]))


def test_a_masked_array_without_tensors_is_numpys():
    assert type(fnp.ma.array([1.0], mask=[True])) is np.ma.MaskedArray
    assert ft.grad(lambda x: x * fnp.ma.array([1.0, 2.0], mask=[True, False]).sum())(X) == 2.0
    assert fnp.ma.MaskedArray == np.ma.MaskedArray and fnp.ma.masked is np.ma.masked
    assert issubclass(np.ma.MaskedArray, fnp.ma.MaskedArray)


@pytest.mark.parametrize("masked", [False, True])
def test_plain_masked_arrays_beside_one_over_a_tensor(masked):
    plain = np.ma.array([2.0, 3.0], mask=[masked, False])

    def f(x):
        a = fnp.ma.array([x, 2 * x])
        return np.sum(a * plain - a + plain)

    if masked:
        with pytest.raises(TypeError, match="MaskedArray with a mask, which no transform knows of"):
            ft.grad(f)(X)
    else:
        assert ft.grad(f)(X) == 2.0 + 6.0 - 3.0


def test_a_difference_from_zero_masks_nothing():
    assert ft.grad(lambda x: np.sum(fnp.ma.array([x, 1.0]) - np.zeros(2)))(X) == 1.0
