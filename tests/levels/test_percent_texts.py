"""Texts by ``%``: digits for people, as in an f-string with a format; remainders stay numbers."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import functier as ft
from support import raises

TEXTS = {
    "one number": lambda x: "%.3f" % x,  # noqa: UP031
    "several": lambda x: "%g and %5.1e of %s" % (x, x * 2, "it"),  # noqa: UP031
    "by name": lambda x: "%(a).2f" % {"a": x},  # noqa: UP031
    "a whole number": lambda x: "%d" % x,  # noqa: UP031
    "bytes": lambda x: b"%.3f" % x,
}


def augmented(x):
    text = "%.4f"
    text %= x
    return text


TEXTS["augmented"] = augmented


@pytest.mark.parametrize("name", TEXTS)
def test_a_number_is_written_for_people(name):
    seen = []

    def f(x):
        seen.append(TEXTS[name](x))
        return x**2

    x = np.float64(1.2345678)
    assert ft.grad(f)(x) == 2 * x and ft.jvp(f, (x,), (1.0,))[1] == 2 * x
    assert ft.grad(ft.grad(f))(x) == 2.0
    assert ft.vmap(f)(np.array([x, x])).tolist() == [x**2, x**2]
    assert set(seen) == {TEXTS[name](x)}
    seen.clear()
    ft.vmap(ft.grad(f), branches="split")(np.array([x, 2.5]))
    assert {TEXTS[name](x), TEXTS[name](2.5)} <= set(seen)


@pytest.mark.parametrize(
    "a", [5.0, 5, np.float64(5), np.float32(5), np.longdouble(5), np.int64(5), np.array([5.0, 4.0]),
          Decimal(5), Fraction(5, 1), [5.0, 4.0]],
    ids=lambda a: type(a).__name__,
)  # fmt: skip
def test_a_remainder_keeps_the_derivative_or_raises(a):
    for f in (lambda x: np.sum(a % x), lambda x: np.sum(x % a), lambda x: np.sum(divmod(a, x)[1])):
        try:
            found = ft.grad(f)(np.float64(1.3))
        except (TypeError, ft.LevelError):
            continue
        slope = (f(np.float64(1.3 + 1e-6)) - f(np.float64(1.3 - 1e-6))) / 2e-6
        assert np.isclose(found, float(slope))


def test_other_conversions_are_refused():
    for f in (lambda x: float(x) % 2, lambda x: np.float64(x), lambda x: "%s" % float(x)):  # noqa: UP031
        raises(ft.ConversionError, lambda: ft.grad(f)(1.3))
    with pytest.raises((TypeError, ft.ConversionError)):
        ft.jvp(lambda z: len("%g" % z) * z, (1 + 2j,), (1.0 + 0j,))  # noqa: UP031


def test_a_planted_fault_is_found(monkeypatch):
    from functier._core import tensor

    monkeypatch.setattr(tensor, "is_called_by_percent", lambda: True)
    raises(pytest.fail.Exception, test_other_conversions_are_refused)
    monkeypatch.setattr(tensor, "is_called_by_percent", lambda: False)
    raises(ft.ConversionError, lambda: test_a_number_is_written_for_people("one number"))


def test_a_python_without_the_private_table_of_operators():
    program = """
import dis, opcode
signs = [sign for _, sign in vars(opcode).pop("_nb_ops")]
from functier._cpython.frames import REMAINDERS
print(*[signs[i] for i in sorted(REMAINDERS)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["%", "%="]
