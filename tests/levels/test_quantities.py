"""Objects that carry a meaning hold tensors: quantities of pint, and labelled arrays of xarray."""

import sys

import numpy as np
import pytest

import functier as ft

pint = pytest.importorskip("pint", reason="pint is not installed")
xarray = pytest.importorskip("xarray", reason="xarray is not installed")

UNITS = pint.UnitRegistry()
KM, M, S = UNITS.kilometre, UNITS.metre, UNITS.second
Q, QS = 2.0 * KM, np.array([1.0, 2.0]) * KM
LABELLED = xarray.DataArray([1.0, 2.0], dims="a", coords={"a": [10.0, 20.0]})
X, H = 1.3, 1e-6


def metres(y):
    """Return a number in metres, as code does that takes both."""
    return y.to("metre").magnitude if hasattr(y, "magnitude") else y


FUNCTIONS = {
    "q * x": lambda x: metres(Q * x),
    "x * q": lambda x: metres(x * Q),
    "x * qs": lambda x: np.sum(metres(x * QS)),
    "x * unit": lambda x: metres(x * KM),
    "unit * x": lambda x: metres(KM * x),
    "x / q": lambda x: (x / Q).to("1/m").magnitude,
    "1 / x": lambda x: (1.0 / (x * S)).to("Hz").magnitude,
    "sums": lambda x: metres(x * KM + x * M - x * Q),
    "powers": lambda x: np.sqrt((x * Q) ** 2 + (x * M) ** 2).to("m").magnitude,
    "np.multiply": lambda x: metres(np.multiply(x, Q)),
    "np.dot": lambda x: metres(np.dot(x * np.ones(2), QS)),
    "class": lambda x: metres(x * Q) if isinstance(x * Q, UNITS.Quantity) else x,
    "units": lambda x: x * 1.0 if (x * Q).units == M else x * 1000.0,
    "compared": lambda x: x * 2.0 if x * M > 50 * UNITS.cm else x * 3.0,
    "equal": lambda x: x * 2.0 if x * M == x * M else x * 3.0,
    "sine": lambda x: np.sin(x * UNITS.degree).magnitude,
    "offset": lambda x: UNITS.Quantity(x, "degC").to("degF").magnitude ** 2,
    "offset to kelvin": lambda x: UNITS.Quantity(x, "degC").to("kelvin").magnitude ** 2,
    "list": lambda x: np.sum(metres(np.stack([x * QS, QS * x, QS]))),
    "array * x": lambda x: (LABELLED * x).sum().data,
    "x * array": lambda x: (x * LABELLED).sum().data,
    "ufunc of an array": lambda x: np.multiply(x, LABELLED).sum().data,
    "x * variable": lambda x: (x * LABELLED.variable).sum().data,
    "x * dataset": lambda x: (x * xarray.Dataset({"v": LABELLED})).v.sum().data,
    "selected": lambda x: (x * LABELLED).sel(a=20.0).data ** 2,
    "broadcast": lambda x: (x * LABELLED * xarray.DataArray([1.0, 3.0], dims="b")).sum().data,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_order_of_operands_does_not_matter(name):
    f = FUNCTIONS[name]
    slope = (f(X + H) - f(X - H)) / (2 * H)
    np.testing.assert_allclose(ft.grad(f)(X), slope, rtol=1e-6)
    value, tangent = ft.jvp(f, (X,), (1.0,))
    np.testing.assert_allclose([value, tangent], [f(X), slope], rtol=1e-6)
    batch = np.array([X, 1.7])
    np.testing.assert_allclose(ft.vmap(f)(batch), [f(x) for x in batch])
    np.testing.assert_allclose(ft.vmap(ft.grad(f))(batch)[0], slope, rtol=1e-6)


def test_adopted_code_that_asks_for_units():
    own = sys.modules[__name__]
    with ft.adopt(own, dependencies=False):
        assert ft.grad(lambda x: metres(x * Q))(X) == 2000.0
        with pytest.raises(ft.ConversionError, match=r"pass q.magnitude to the transform"):
            ft.grad(lambda x: np.sum(metres(x)))(QS)


@pytest.mark.parametrize("f", [lambda x: x * x * Q, lambda x: Q * (x * x)])
def test_results_with_units(f):
    for found, wanted in (
        (ft.grad(f)(X), 2 * X * Q),
        (ft.value_and_grad(f)(X)[0], X * X * Q),
        (ft.jvp(f, (X,), (1.0,))[1], 2 * X * Q),
        (ft.jacfwd(f)(X), 2 * X * Q),
        (ft.jacrev(f)(X), 2 * X * Q),
        (ft.hessian(f)(X), 2 * Q),
        (ft.grad(ft.grad(f))(X), 2 * Q),
        (ft.vmap(f)(np.array([1.0, 2.0])), np.array([1.0, 4.0]) * Q),
        (ft.vmap(ft.grad(f))(np.array([1.0, 2.0])), np.array([2.0, 4.0]) * Q),
        (ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(np.array([1.0, 2.0])), np.array([2.0, 4.0]) * Q),
        (ft.grad(lambda x: (x, f(x)), has_aux=True)(X)[1], X * X * Q),
        (ft.trace(f)(2.0)(X), X * X * Q),
        (ft.compile(f)(X), X * X * Q),
    ):
        assert isinstance(found, UNITS.Quantity) and found.units == wanted.units
        np.testing.assert_allclose(found.magnitude, wanted.magnitude)


def test_quantities_that_hold_tensors_beside_those_that_are_inside():
    w = np.array([1.0, 2.0])
    for join in (
        lambda x, w: x + w * Q,
        lambda x, w: np.add(x, w * Q),
        lambda x, w: np.stack([x, w * Q]),
        lambda x, w: np.concatenate([x, w * Q]),
        lambda x, w: np.where(True, x, w * Q) + np.where(False, x, w * Q),
    ):
        by_x, by_w = ft.grad(lambda x, w: np.sum(join(x, w)), argnums=(0, 1))(w * M, w)
        np.testing.assert_allclose(by_x, [1.0, 1.0])
        assert by_w.units == KM
        np.testing.assert_allclose(by_w.magnitude, [2.0, 2.0])


def test_units_that_no_derivative_has_are_refused_by_name():
    def celsius(x):
        return UNITS.Quantity(x, "degC")

    for transform in (ft.grad, ft.jacrev, ft.jacfwd):
        with pytest.raises(ft.ConversionError, match=r"a result has the unit degree_Cel"):
            transform(celsius)(X)
        assert transform(lambda x: celsius(x).to("degF").to_base_units())(X).units == UNITS.kelvin
    assert ft.vmap(celsius)(np.ones(2)).units == UNITS.degC

    def mixed(x):
        return {"way": Q * x, "time": 3 * S * x}

    with pytest.raises(ft.ConversionError, match=r"jacrev\(mixed\): the results have the"):
        ft.jacrev(mixed)(X)
    assert ft.jacfwd(mixed)(X) == {"way": Q, "time": 3 * S}
    with pytest.raises(TypeError, match=r"write x.data where it comes from"):
        ft.grad(lambda x: (x * LABELLED).sum())(X)
