"""Lists of tensors in calls of ufuncs, Python's numbers out of tensors, and `cmath`."""

import cmath
import math
import pickle
import warnings

import numpy as np
import pytest
from adopt_support import module_of, outcome
from test_uses import NESTINGS, body, compare

import functier as ft
from functier._adopt import complex_mathematics, meanings, twins
from functier._adopt.calls import round_
from functier._adopt.complex_mathematics import CMATH, FORMULAS
from functier._core import adopted
from support.basics import raises
from support.tables import sources

pytestmark = pytest.mark.inside(
    "Each formula of the twin of `cmath` is compared with the function."
)

USES = sources("""
ufunc of a list :: return np.sqrt([x[0], 2.0]) * np.hypot([x[1]], (x[2], 1.0))
ufunc of nested lists :: return np.multiply([[x[0], 1.0], [2.0, x[1]]], x[2])
ufunc of a list with options :: return np.add([x[0], x[1]], 1.0, dtype=float) * np.abs((x[1], x[2]))
a method of a ufunc :: return np.maximum.reduce([x, x * 2, x + 1]) * np.add.reduce([x[0], x[1]])
other methods of a ufunc :: return np.multiply.outer([1.0, x[0]], x).sum(1) *
    np.add.accumulate([x[1], x[2]])
a truth value of a list :: return x * np.logical_and.reduce([x > 0, x < 5])
a ufunc by its own name :: from numpy import exp // return exp(x) * absolute([x[0], x[1], 1.0])
item :: return x[0].item() * x.item(1) + x[2:].item() * x.reshape(3, 1).item(2, 0)
item of a place :: return x.reshape(3, 1).item((1, 0)) ** 2 + x.item(-1)
item of an integer :: return x[(x > 1).sum().item()] * x.argmax().item()
tolist :: return sum(v * v for v in x.tolist()) * np.array(x.reshape(1, 3).tolist())[0, 1]
a list of integers :: return x[np.argsort(x).tolist()] * x[0].tolist()
a complex item :: return (x * 1j + x).item(0).imag * np.array((x * 1j).tolist()).imag
round :: n = round(x[2] + 0.7) // return np.arange(10.0)[:n].sum() * x + round(x[0] * 4) * x[:n]
round to digits :: return round(x[2], 1) * x + round(number=x[1], ndigits=None) * x[0] +
    round(2.675, 2)
cmath :: z = complex(x[0], x[1]) //
    return abs(cmath.sqrt(z)) * cmath.phase(z) + cmath.log(z, 2.0).real * cmath.polar(z)[0]
cmath of a real number :: return cmath.sqrt(x[1]).imag * cmath.exp(1j * x[0]).real +
    cmath.rect(x[2], x[0]).imag
cmath truth :: return x * 2 if cmath.isfinite(x[0]) and not cmath.isnan(x[1]) else x
""")


def text_of(name):
    return "import cmath\nfrom numpy import absolute\n" + body(USES[name])


@pytest.mark.parametrize("name", USES)
def test_a_use_takes_tensors(name, tmp_path):
    compare(tmp_path, text_of(name), NESTINGS)


@pytest.mark.parametrize("name", USES)
def test_without_tensors_a_use_is_what_it_was(name, tmp_path):
    module, reference = module_of(tmp_path, text_of(name)), module_of(tmp_path, text_of(name))
    x = np.array([0.7, -1.3, 2.1])
    with ft.adopt(module):
        found = module.f(x)
    expected = reference.f(x)

    assert type(found) is type(expected)
    np.testing.assert_equal(found, expected)


def test_only_adopted_code_gets_tensors_from_item(tmp_path):
    module = module_of(tmp_path, "def f(x):\n    return x.item() ** 2, [v * 2 for v in x.tolist()]")
    x = np.array([3.0])
    for _ in range(2):
        raises(ft.ConversionError, lambda: ft.jvp(module.f, (x,), (x,)), "item")
        with ft.adopt(module), pytest.raises(ft.ConversionError, match="item"):
            ft.grad(lambda x: x.item())(x)
    with ft.adopt(module):
        assert ft.jvp(module.f, (x,), (x,)) == ((9.0, [6.0]), (18.0, [6.0]))


@pytest.mark.parametrize(
    "args, error", [((), ValueError), ((3,), IndexError), ((0, 0), ValueError), (("a",), TypeError)]
)
def test_item_raises_as_numpy_does(args, error, tmp_path):
    module = module_of(tmp_path, f"def f(x):\n    return x.item(*{args!r})")
    with ft.adopt(module):
        for x in (np.ones(3), np.ones((2, 3))):
            f = module.f if x.ndim == 1 else ft.vmap(module.f)
            raises(error, lambda: f(x))
            raises(error, lambda: ft.jvp(f, (x,), (x,)))


def test_a_function_with_many_names_still_has_its_calls_of_float(tmp_path):
    names = "".join([f"v{i} = {i / 100}\n" for i in range(200)])
    total = " + ".join([f"v{i}" for i in range(200)])
    text = f"import numpy as np\n{names}def f(x):\n    k = np.pi\n    return float(x) * ({total})"
    module = module_of(tmp_path, f"{text} + np.sin(x) * k")
    with ft.adopt(module):
        slope = ft.grad(module.f)(1.0)
    np.testing.assert_allclose(slope, sum(range(200)) / 100 + np.pi * math.cos(1.0))


WITHOUT_AXES = """
import numpy as np
def f(x):
    y, z = np.asarray(x), np.array(x)
    seen.append((type(y), isinstance(y, np.ndarray), type(z), np.isscalar(y)))
    seen.append((type(y + 1), type(y[()])))
    y = y.copy()
    y[y > 0] *= 3
    y += x
    return y * x
def g(x):
    y = x * 2
    try:
        y[y > 0] = 1.0
    except TypeError:
        if y > 0:
            y = -y
    return y * x
seen = []
"""


@pytest.mark.parametrize("name", "fg")
def test_an_array_of_a_number_takes_writes_and_a_number_raises_a_type_error(name, tmp_path):
    module, reference = module_of(tmp_path, WITHOUT_AXES), module_of(tmp_path, WITHOUT_AXES)
    f, plain = getattr(module, name), getattr(reference, name)
    plain(1.5)
    with ft.adopt(module):
        np.testing.assert_allclose(ft.grad(f)(1.5), (plain(1.5 + 1e-6) - plain(1.5 - 1e-6)) / 2e-6)
        xs = np.array([1.5, -0.5])
        assert ft.vmap(f, branches="split")(xs).tolist() == [plain(x) for x in xs]
        slopes = ft.vmap(ft.grad(f), branches="split")(xs)
        np.testing.assert_allclose(slopes, [ft.grad(f)(x) for x in xs])
    assert all(kinds in reference.seen for kinds in module.seen)


def test_a_view_as_numpys_array_is_the_tensor():
    x = np.array([1.0, 2.0])
    assert ft.grad(lambda x: np.sum(x.view(np.ndarray) ** 2))(x).tolist() == [2.0, 4.0]


def test_round_is_pythons():
    values = [0.5, 1.5, -0.5, 2.5, -2.6, 7.0]
    assert ft.vmap(round_)(np.array(values)).tolist() == [round(v) for v in values]
    assert ft.vmap(round_)(np.array(values)).dtype == np.int64
    assert [ft.jvp(round_, (v,), (1.0,)) for v in values] == [(round(v), 0) for v in values]
    assert round_(2.5) == 2 and type(round_(2.5)) is int and round_(2.25, 1) == round(2.25, 1)
    for bad, error in ((np.nan, ValueError), (np.inf, OverflowError)):
        raises(error, lambda: ft.vmap(round_)(np.array([1.0, bad])))
    raises(TypeError, lambda: ft.vmap(round_)(np.ones((2, 3))))


# ---- cmath ----

POINTS = [
    0.0, -0.0, 1.0, -1.0, 2.5, -0.3j, 1j, -1j, 0.4 + 0.3j, -2.0 + 0.0j, complex(-2.0, -0.0),
    complex(2.0, -0.0), 1e3 - 2j, 750.0, complex(math.inf, 0.0), complex(math.nan, 1.0),
]  # fmt: skip
ONE = [*FORMULAS, "phase", "polar", "isfinite", "isinf", "isnan"]


def check_point(name, z):
    """Check a function at a point: plainly, in a batch with a good example, under derivatives."""
    twin, func = getattr(CMATH, name), getattr(cmath, name)
    expected = outcome(func, z)
    assert repr(outcome(twin, z)) == repr(expected)
    with warnings.catch_warnings(action="error"):
        found = outcome(ft.vmap(twin), np.array([z, 0.5 + 0.2j]))
        under = outcome(lambda: ft.jvp(twin, (z,), (0 * z if z == z else 0.0 * 1j,))[0])
    if isinstance(expected, tuple) and isinstance(expected[0], type):
        assert found == expected == under, (name, z, found, under, expected)
        return
    if isinstance(found, tuple) and found[0] is ArithmeticError:  # no wrong value is returned
        assert not cmath.isfinite(z) or z == 0.0, (name, z)
        return
    first = tuple(v[0] for v in found) if isinstance(found, tuple) else found[0]
    for result in (first, under):
        np.testing.assert_allclose(result, expected, rtol=1e-14, err_msg=f"{name} {z}")
        for part in (np.real, np.imag):
            a, b = part(result), part(expected)
            assert np.all((np.signbit(a) == np.signbit(b)) | np.isnan(b)), (name, z, result)


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_cmath(name):
    for z in POINTS:
        check_point(name, z)


def test_functions_of_cmath_with_two_arguments():
    r, phi = np.array([1.0, 2.5]), np.array([0.3, -4.0])
    for name in ("rect", "log"):
        found = ft.vmap(getattr(CMATH, name))(r + 1.0, phi + 6.0)
        expected = [getattr(cmath, name)(a + 1.0, b + 6.0) for a, b in zip(r, phi)]
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert CMATH.isclose(1j, 1j) and CMATH.pi == cmath.pi and CMATH.__name__ == "cmath"
    assert pickle.loads(pickle.dumps(CMATH)) is CMATH
    assert pickle.loads(pickle.dumps(CMATH.sqrt)) is CMATH.sqrt


# ---- planted faults ----


@pytest.mark.parametrize(
    "name, where, key, mistake",
    [
        ("item", adopted.ADOPTED.methods, "item", lambda x, *args: x.reshape(-1)[0]),
        ("tolist", adopted.ADOPTED.methods, "tolist", lambda x: list(2 * x)),
        (
            "ufunc of a list",
            vars(meanings.ALIASES["_functier numpy"]),
            "sqrt",
            meanings.UFUNC_CALLERS[np.cbrt],
        ),
        (
            "a method of a ufunc",
            vars(meanings.ALIASES["_functier numpy"]),
            "maximum",
            meanings.UFUNC_CALLERS[np.minimum],
        ),
        ("cmath", complex_mathematics.FORMULAS, "sqrt", np.exp),
        ("cmath", complex_mathematics.OTHERS, "phase", lambda z: np.imag(z)),
    ],
)
def test_a_wrong_twin_is_found(name, where, key, mistake, tmp_path, monkeypatch):
    monkeypatch.setitem(where, key, mistake)
    monkeypatch.setattr(twins, "ELEMENTS", dict(adopted.ADOPTED.methods))
    with pytest.raises(AssertionError):
        compare(tmp_path, text_of(name), NESTINGS)


def test_a_wrong_branch_is_found(monkeypatch):
    monkeypatch.setitem(complex_mathematics.FORMULAS, "sqrt", lambda z: -np.sqrt(z))
    with pytest.raises(AssertionError):
        for z in POINTS:
            check_point("sqrt", z)
