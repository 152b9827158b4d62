"""Type questions in code of users are answered as by the plain call; libraries see the level."""

import importlib
import timeit

import numpy as np
import pytest
from branch_programs import FORESEEN, LIBRARIES, OPTIONAL, USERS

import functier as ft
from faults.planted import levels as faulty

XS = np.array([1.5, 2.5])
RUNS = {
    "value_and_grad": lambda f, x: ft.value_and_grad(f)(x),
    "jvp": lambda f, x: ft.jvp(f, (x,), (1.0,)),
    "vmap": lambda f, x: ft.vmap(f)(XS),
    "jvp of vmap": lambda f, x: ft.jvp(ft.vmap(f), (XS,), (np.ones(2),)),
    "vmap of grad": lambda f, x: ft.vmap(ft.value_and_grad(f))(XS),
}


def slope(f, x):
    return (f(type(x)(x + 1e-6)) - f(type(x)(x - 1e-6))) / 2e-6


def outcome(f, how, x):
    """Return the message of a refusal, None where the result is right; or raise."""
    try:
        found = RUNS[how](f, x)
    except Exception as error:
        return str(error)
    points = [x] if how in ("value_and_grad", "jvp") else list(XS)
    wanted = [[f(v) for v in points], [slope(f, v) for v in points]]
    for got, want in zip([found] if how == "vmap" else found, wanted):
        got = np.ravel(np.asarray(got, float))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    return None


def check(name, f):
    """Run a program by all transforms, of a number of Python's and of one of NumPy's."""
    for how in RUNS:
        for x in (1.5, np.float64(1.5)):
            refused = outcome(f, how, x)
            assert refused is None or FORESEEN.get(name, "?") in refused, (how, refused)


def test_there_are_a_hundred_programs():
    assert len({**USERS, **LIBRARIES}) + sum(map(len, OPTIONAL.values())) >= 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", {**USERS, **LIBRARIES})
def test_a_program_takes_the_path_of_the_plain_call(name):
    check(name, {**USERS, **LIBRARIES}[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", OPTIONAL)
def test_a_program_with_a_package(package):
    module = pytest.importorskip(package)
    for name, make in OPTIONAL[package].items():
        check(f"{package}: {name}", make(module))


def test_the_class_of_the_level_is_found(monkeypatch):
    faulty.class_of_the_level(monkeypatch)
    wrong = 0
    for f in USERS.values():
        try:
            outcome(f, "value_and_grad", 1.5)
        except AssertionError:
            wrong += 1
    assert wrong > 20


def test_libraries_that_are_answered_as_users_are_found(monkeypatch):
    faulty.libraries_that_are_answered_as_users(monkeypatch)
    with pytest.raises(AssertionError):
        for name, f in LIBRARIES.items():
            check(name, f)


def test_a_tensor_whose_level_has_ended_is_one():
    kept = []
    ft.grad(lambda x: (kept.append(x), x)[1])(1.0)
    assert kept[0].__class__ is type(kept[0]) and not isinstance(kept[0], float)


def test_classes_of_users_and_quantities_inside_stay():
    class Own(ft.Tensor):
        pass

    seen = []
    ft.grad(lambda x: (seen.append(isinstance(x, Own)), np.sum(x * x))[1])(Own(XS))
    assert seen == [False]  # NumPy asks so, which of two operands comes first
    pint = importlib.util.find_spec("pint") and importlib.import_module("pint")
    if pint:
        x = pint.UnitRegistry().Quantity(XS, "metre")
        ft.jvp(lambda x: (seen.append(isinstance(x, np.ndarray)), x)[1], (x,), (x,))
        assert seen == [False, False]


def test_a_tie_is_refused_where_numpy_rounds_to_another_number():
    for x, digits in ((2.675, 2), (0.15, 1)):
        with pytest.raises(ft.UnsupportedError, match="stop_gradient"):
            ft.grad(lambda x: round(x, digits) * x)(x)
        found = ft.grad(lambda x: round(float(ft.stop_gradient(x)), digits) * x)(x)
        assert found == round(x, digits)


@pytest.mark.slow
def test_what_a_question_costs():
    """At most 0.5 us on the machine of the figures: eight times a property in Python."""

    class Plain:
        @property
        def __class__(self):
            return Plain

    def costs(x):
        runs = [
            min(timeit.repeat(lambda: isinstance(y, list), number=2000, repeat=30))
            for y in (x, Plain())
        ]
        ratios.append(runs[0] / runs[1])
        return np.sum(x * x)

    ratios = []
    ft.grad(costs)(1.5), ft.grad(costs)(XS), ft.vmap(costs)(XS), ft.jvp(costs, (1.5,), (1.0,))
    assert max(ratios) < 8
