"""``x == other`` and ``x != other`` where `other` is no number: NumPy's and Python's answers."""

import dataclasses
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import functier as ft


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
