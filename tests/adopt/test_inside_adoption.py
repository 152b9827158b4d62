"""Tests of adoption that look inside: what is bound, and that nothing is left."""

import importlib

import numpy as np
import pytest

import functier as ft
from faults.planted import adoption as faulty
from functier._adopt.operators import SLOTS

pytestmark = pytest.mark.inside("Twins and what they are bound to have no public name.")


# ---- contents ----


NUMBERS = (2.5, -0.5, 0.0, 3, np.float64(1.5), float("nan"), float("inf"))


OTHERS = (*NUMBERS, True, 1j, "text", None, np.int64(2), [1.0])


def outcome(function, *args):
    """The result of a call, or the kind of its error."""
    try:
        with np.errstate(all="ignore"):
            result = function(*args)
    except Exception as error:
        return type(error)
    return result if result is NotImplemented else (type(result), repr(result))


@pytest.mark.parametrize("slot", SLOTS, ids=lambda slot: slot.__name__)
def test_an_operator_is_python_s_without_tensors(slot):
    for x in OTHERS:
        for args in ((), (x,), *[(x, y) for y in OTHERS]):
            assert outcome(SLOTS[slot], *args) == outcome(slot, *args), args


@pytest.mark.parametrize("slot", SLOTS, ids=lambda slot: slot.__name__)
def test_an_operator_of_tensors_is_that_of_floats(slot):
    """Also its refusals: other things than numbers, and a division by zero in one example."""
    twin = SLOTS[slot]
    assert twin.__name__ == slot.__name__
    unary = slot.__name__ in ("__neg__", "__pos__", "__abs__", "__int__", "__trunc__")
    for x in (2.5, 0.5, 4.0):
        if unary:
            assert float(ft.vmap(twin)(np.array([x]))[0]) == slot(x)
            continue
        for y in (1.5, 2.0, 3):
            got = ft.vmap(lambda x, y=y: twin(x, y))(np.array([x, 1.25]))
            assert got.tolist() == [slot(x, y), slot(1.25, y)]
            got = ft.vmap(lambda y, x=x: twin(x, y))(np.array([float(y)]))
            assert got.tolist() == [slot(x, float(y))]
        assert ft.grad(lambda x: x if twin(x, "text") is NotImplemented else 0 * x)(x) == 1.0
        integers = ft.vmap(lambda n, x=x: 1.0 * (twin(x, n) is NotImplemented))(np.arange(3))
        assert integers.all()  # as of NumPy's integers, which are none of Python's
    with pytest.raises(TypeError):
        ft.vmap(lambda v: twin(v) if unary else twin(v, 1.0))(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["truediv", "floordiv", "mod", "rtruediv"])
def test_a_division_by_zero_in_an_example_raises(name):
    twin = SLOTS[getattr(float, f"__{name}__")]
    args = (0, 1) if name[0] == "r" else (1, 0)
    ys = np.array([[1.0, 2.0], [1.0, 0.0]])
    with pytest.raises(ZeroDivisionError):
        ft.vmap(lambda v: twin(v[args[1]], v[args[0]]) if name[0] == "r" else twin(v[0], v[1]))(ys)


# ---- uses ----


def test_importlib_is_not_needed_for_the_names_of_aliases():
    """An alias of an import cannot be typed, and is found without a finder."""
    from functier._adopt.meanings import alias_of_module

    alias = alias_of_module("numpy.linalg")
    assert alias == "functier-numpy.linalg"
    assert importlib.import_module(alias).norm is ft.numpy.linalg.norm
    assert alias_of_module("numpy.nothing") is None
    assert alias_of_module("scipy.nothing") is None


# ---- contents ----


def test_a_planted_fault_of_an_operator_is_found(monkeypatch):
    slot = float.__sub__
    faulty.fault_of_an_operator(monkeypatch, slot)
    with pytest.raises(AssertionError):
        test_an_operator_of_tensors_is_that_of_floats(slot)
