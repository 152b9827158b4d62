"""Type questions in code of users are answered as by the plain call; what was right stays so."""

import copy
import functools
import math
import numbers

import numpy as np
import pytest
import scipy.sparse

import functier as ft
from functier._levels.level import Level

VECTOR = np.ones(3)
MATRIX = scipy.sparse.csr_array(np.eye(3))


@functools.singledispatch
def dispatched(x):
    return 0 * x


dispatched.register(float)(lambda x: 2 * x)


def matched(x):
    match x:
        case float():
            return 2 * x
        case np.ndarray():
            return np.sum(3 * x)
    return 0 * x


PROGRAMS = {
    "float": lambda x: 2 * x if isinstance(x, float) else 0 * x,
    "math or numpy": lambda x: math.e * x if isinstance(x, float) else np.exp(x) * 0,
    "no float of NumPy": lambda x: 0 * x if isinstance(x, np.floating) else 2 * x,
    "one of several": lambda x: 2 * x if isinstance(x, (int, float)) else 0 * x,
    "a real number": lambda x: 2 * x if isinstance(x, numbers.Real) else 0 * x,
    "an integer": lambda x: 0 * x if isinstance(x, int) else 2 * x,
    "case": matched,
    "singledispatch": dispatched,
    "isscalar": lambda x: 2 * x if np.isscalar(x) else 0 * x,
    "class": lambda x: 2 * x if x.__class__ is float else 0 * x,
    "made by the class": lambda x: x * x.__class__(3.0),
    "of a product": lambda x: x if isinstance(x * 2.0, float) else 0 * x,
    "of a copy": lambda x: copy.deepcopy(x) if isinstance(copy.copy(x), float) else 0 * x,
    "of a sum of a vector": lambda x: x if isinstance(np.sum(x * VECTOR), np.floating) else 0 * x,
    "an array": lambda x: np.sum(x * VECTOR) if isinstance(x * VECTOR, np.ndarray) else 0 * x,
    "no list": lambda x: 0 * x if isinstance(x, (list, tuple, str, dict)) else x,
    "a sparse product": lambda x: np.sum(MATRIX @ (x * VECTOR)),
    "a sparse multiple": lambda x: (MATRIX * x).sum(),
    "a round": lambda x: x * round(x + 0.2) + round(x, 1),
    "divmod": lambda x: divmod(x, 2.0)[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_takes_the_path_of_the_plain_call(name):
    f = PROGRAMS[name]
    for x in (1.5, np.float64(1.5)):
        slope = (f(type(x)(1.5 + 1e-6)) - f(type(x)(1.5 - 1e-6))) / 2e-6
        for value, found in (ft.value_and_grad(f)(x), ft.jvp(f, (x,), (1.0,))):
            np.testing.assert_allclose((value, found), (f(x), slope), rtol=1e-6, atol=1e-9)
    xs = np.array([1.5, 2.5])
    if name not in ("singledispatch", "made by the class", "a sparse multiple"):
        np.testing.assert_allclose(ft.vmap(f)(xs), [f(x) for x in xs])


def test_the_class_of_the_level_is_found(monkeypatch):
    monkeypatch.setattr(Level, "class_of", lambda level, x: type(x))
    with pytest.raises(AssertionError):
        test_a_program_takes_the_path_of_the_plain_call("float")


def test_a_tensor_whose_level_has_ended_is_one():
    kept = []
    ft.grad(lambda x: (kept.append(x), x)[1])(1.0)
    assert kept[0].__class__ is type(kept[0]) and not isinstance(kept[0], float)


def test_a_tie_is_refused_where_numpy_rounds_to_another_number():
    for x, digits in ((2.675, 2), (0.15, 1)):
        with pytest.raises(ft.UnsupportedError, match="stop_gradient"):
            ft.grad(lambda x: round(x, digits) * x)(x)
        slope = ft.grad(lambda x: round(float(ft.stop_gradient(x)), digits) * x)(x)
        assert slope == round(x, digits)
