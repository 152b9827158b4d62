"""Objects and code of other libraries: quantities of pint and labelled arrays of xarray;
code that asks for the module of a class; comparisons with objects that are not numbers.
"""

import dataclasses
import importlib
import inspect
import operator
import pickle
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import functier as ft
from support.differences import check

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
    for f in (ft.vmap(celsius), ft.vmap(celsius, out_dims=-1), ft.compile(ft.vmap(celsius))):
        assert f(np.ones(2)).units == UNITS.degC
    assert ft.vmap(ft.vmap(celsius))(np.ones((2, 3))).units == UNITS.degC

    def mixed(x):
        return {"way": Q * x, "time": 3 * S * x}

    with pytest.raises(ft.ConversionError, match=r"jacrev\(mixed\): the results have the"):
        ft.jacrev(mixed)(X)
    assert ft.jacfwd(mixed)(X) == {"way": Q, "time": 3 * S}
    with pytest.raises(TypeError, match=r"write x.data where it comes from"):
        ft.grad(lambda x: (x * LABELLED).sum())(X)


# ---- Code that finds the functions for an array by the module of its class, which is NumPy's ----


X_MODULES = np.array([0.7, 1.3, 2.1])
NESTINGS = [("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "vmap")]


def library(x):
    return sys.modules[x.__class__.__module__.split(".")[0]]


def by_name(x):
    return {"numpy": np}[type(x).__module__.split(".")[0]]


def imported(x):
    return importlib.import_module(getattr(type(x), "__module__").partition(".")[0])  # noqa: B009


HELPERS = {
    "a table": by_name,
    "sys.modules": library,
    "an import": imported,
    "its beginning": lambda x: np if type(x).__module__.startswith("numpy") else None,
    "inspect": lambda x: inspect.getmodule(type(x)),
    "its namespace": lambda x: x.__array_namespace__(),
    "of what is made": lambda x: library(np.zeros_like(x)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("name", HELPERS)
def test_the_functions_are_found(name, nesting):
    find = HELPERS[name]
    check(
        nesting,
        lambda x: find(x).sqrt(x) * find(x[0]).sum(x),
        X_MODULES,
        lambda x: np.sqrt(x) * x.sum(),
    )


def test_classes_say_whose_they_are():
    seen = []
    ft.grad(lambda x: (seen.append((repr(type(x)), type(x).__name__, f"{type(x)}")), x)[1])(1.0)
    assert seen == [("<class 'functier grad(<lambda>) at depth 1'>", "grad(<lambda>)", seen[0][0])]


def test_a_class_is_still_not_pickled():
    classes = []
    ft.grad(lambda x: (classes.append(type(x)), x)[1])(1.0)
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(classes[0])


HOME = ".".join(("functier", "_levels", "level"))
"""The module that the classes of levels seem to come from, in a fault."""


def test_a_fault_is_found(monkeypatch):
    for name in ("a table", "sys.modules", "an import", "its beginning"):
        find = HELPERS[name]

        def f(x, find=find):
            type.__setattr__(type(x), "__module__", HOME)
            return find(x).sqrt(x)

        with pytest.raises((KeyError, AttributeError)):
            ft.grad(f)(1.5)


# ``x == other`` and ``x != other`` where `other` is not a number: NumPy's and Python's answers


class Thing:
    pass


@dataclasses.dataclass
class Point:
    x: float


OTHERS = [
    "a", b"a", np.str_("a"), None, Thing(), Point(2.0), int, np.sum, ..., slice(1), {}, {"a": 1},
    {1}, frozenset(), [], (), ["a"], ["a", "b"], ("a", "b"), [["a", "b"]], ["a", 1.0], [[1], 2],
    [2.0, 1.0], range(2), range(1, 3), Fraction(2), Fraction(1, 3), Fraction(10**400), Decimal(2),
    Decimal("0.1"), np.array(["a", "b"]), np.array("a"), np.datetime64("2020"),
    np.timedelta64(2, "D"),
]  # fmt: skip
VALUES = [2.0, np.array([2.0, 1.0]), np.array([[2.0, 1.0], [3.0, 0.1]]), np.array([2, 1])]
FORMS = {
    "==": lambda x, other: x == other,
    "!=": lambda x, other: x != other,
    "other ==": lambda x, other: other == x,
    "other !=": lambda x, other: other != x,
    "in a tuple": lambda x, other: x in ("b", other),
    "has": lambda x, other: other in [x],
}
MODES = {
    "grad": lambda f, x: ft.grad(f)(x),
    "jvp": lambda f, x: ft.jvp(f, (x,), (x,)),
    "vmap": lambda f, x: ft.vmap(f)(np.stack([x, x])),
    "vmap of grad": lambda f, x: ft.vmap(ft.grad(f))(np.stack([x, x])),
    "trace": lambda f, x: ft.trace(f)(x),
}


def attempt(form, x, other):
    """Return the answer, or None where it raises."""
    try:
        return form(x, other)
    except Exception:
        return None


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mode", MODES)
def test_operands_that_no_number_equals(mode, name):
    form = FORMS[name]
    for value in VALUES:
        if value is VALUES[-1] and mode != "vmap":
            continue  # whole numbers have no derivative
        # NumPy's own texts and times, on the left, ask a tensor for its values.
        for other in OTHERS if name in ("==", "!=") else OTHERS[:-4]:
            # An example of a batch of numbers is one of NumPy's.
            plain = np.float64(value) if mode.startswith("vmap") and np.ndim(value) == 0 else value
            wanted, seen = attempt(form, plain, other), []

            def f(x, other=other, seen=seen):
                answer = attempt(form, x, other)
                if isinstance(answer, ft.Tensor):
                    return np.sum(np.where(answer, 3.0, 5.0) * x)
                seen.append(answer)
                return np.sum(x * 1.0)

            try:
                result = MODES[mode](f, value)
            except ft.ConversionError:  # a fraction asks a float for its digits
                assert mode == "trace" and isinstance(other, Fraction)
                continue
            if seen and seen[0] is None:
                assert wanted is None, (value, other)
            elif seen:
                assert np.shape(seen[0]) == np.shape(wanted), (value, other)
                np.testing.assert_array_equal(seen[0], wanted, err_msg=repr((value, other)))
            elif mode == "vmap":
                expected = np.sum(np.where(wanted, 3.0, 5.0) * value)
                np.testing.assert_array_equal(result, [expected, expected])
            elif mode == "grad":
                expected = np.broadcast_to(np.where(wanted, 3.0, 5.0), np.shape(wanted))
                assert np.sum(result) == np.sum(expected * np.ones_like(value)), (value, other)


def test_an_object_that_compares_itself_with_numbers_is_asked():
    class Asked:
        def __eq__(self, other):
            return "asked"

    for value in (2.0, np.ones(2)):
        seen = []
        ft.grad(lambda x, seen=seen: seen.append(x == Asked()) or np.sum(x))(value)
        assert seen == ["asked"]


def test_the_ufunc_refuses_a_text_as_numpys_does():
    with pytest.raises(TypeError, match="did not contain a loop"):
        ft.grad(lambda x: x * np.equal(x, "a"))(1.0)


ORDERINGS = operator.lt, operator.le, operator.gt, operator.ge


@pytest.mark.parametrize("of_sympy", [False, True])
@pytest.mark.parametrize("compare", ORDERINGS)
def test_a_tensor_is_ordered_by_a_number_that_is_a_float(compare, of_sympy):
    make = pytest.importorskip("sympy").Rational if of_sympy else Fraction
    for x in (0.25, 0.5, np.float32(0.75)):
        plain = bool(compare(x, Fraction(1, 2)))

        def f(x):
            return x * 2.0 if compare(x, make(1, 2)) else x

        assert ft.grad(f)(x) == ft.jvp(f, (x,), (type(x)(1.0),))[1] == (2.0 if plain else 1.0)
        assert ft.vmap(lambda x: compare(x, make(1, 2)))(np.array([x, x])).tolist() == [plain] * 2
        got = ft.vmap(lambda x: compare(x, make(1, 2)))(np.full((2, 1), x))
        assert got.tolist() == [[plain]] * 2


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(10**400), Decimal(1)])
@pytest.mark.parametrize("compare", ORDERINGS)
def test_an_ordering_by_a_number_between_two_floats_is_refused(compare, number):
    with pytest.raises(TypeError, match="not supported between"):
        ft.grad(lambda x: x if compare(x, number) else 2.0 * x)(float(Fraction(1, 3)))
