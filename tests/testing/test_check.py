"""check: what transforms would refuse, where, and the table that says so."""

import math
import warnings

import numpy as np
import pytest
import scipy.special

import functier as ft
from support.basics import has_all, line_of, raises

X = np.array([0.5, 1.5, 2.0])


def smooth(p, x, n):
    return {"y": np.sin(p["w"] @ x) ** n, "n": n}


def filled(x):
    y = np.zeros(2)
    y[0] = np.sum(x)
    return y


def branching(x):
    if x > 1.0:
        return x * 2.0
    return x


def opaque(x):
    return scipy.special.lqn(2, x)[0][1]


def looped(x):
    return np.apply_along_axis(np.sum, 0, x) * 2.0


def positive(x):
    if np.max(x) > 2.0:
        raise ValueError("too large")
    return np.sum(np.sqrt(x))


def test_a_function_that_runs_is_true():
    found = ft.check(smooth, {"w": np.ones((2, 3))}, X, 2)
    assert found and not found.refused
    assert str(found).splitlines() == [
        "grad        runs", "jvp         runs", "vmap        runs", "vmap(grad)  runs",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("f", "x", "transforms", "line", "kind"),
    [
        (filled, X, ("grad", "jvp", "vmap", "vmap(grad)"), "y[0] = np.sum(x)", ft.MutationError),
        (branching, 0.999, ("vmap", "vmap(grad)"), "if x > 1.0:", ft.DataDependentError),
        (opaque, 0.5, ("grad", "jvp", "vmap", "vmap(grad)"), "return scipy.special",
         ft.ConversionError),
    ],
)  # fmt: skip
def test_what_is_refused_has_its_line_and_message(f, x, transforms, line, kind):
    found = ft.check(f, x)
    assert not found
    assert tuple([refusal.transform for refusal in found.refused]) == transforms
    for refusal in found.refused:
        assert type(refusal.error) is kind
        assert refusal.where.startswith(f"{line_of(__file__, line)}, in {f.__name__}")
        assert ("_basic.py" in refusal.where) == (f is opaque)
        has_all(str(refusal.error), f"({f.__name__}): ", "; write ")
        has_all(
            str(found),
            f"{refusal.transform:10}  is refused in {refusal.where}\n    {kind.__name__}: ",
        )


def test_what_is_refused_is_what_the_transform_refuses():
    """The message of each is that of the transform itself, but for its name."""
    for f, x in ((filled, X), (opaque, 0.5)):
        said = {refusal.transform: str(refusal.error) for refusal in ft.check(f, x).refused}
        with pytest.raises(ft.LevelError) as caught:
            ft.jvp(f, (x,), (x,))
        assert said["jvp"] == str(caught.value)
        with pytest.raises(ft.LevelError) as caught:
            ft.vmap(f)(np.stack([x, 1.01 * x]))
        assert said["vmap"] == str(caught.value)


def test_the_batch_stays_where_the_function_runs():
    assert ft.check(positive, X)


def test_the_function_itself_and_its_arguments_are_checked():
    raises(ZeroDivisionError, lambda: ft.check(lambda x: 1 / 0, 1.0))
    with pytest.raises(ValueError, match=r"check\(branching\): none of the args is of a floating"):
        ft.check(branching, 1)


def test_a_loop_over_the_examples_is_said_and_allowed(monkeypatch):
    def f(x):
        if isinstance(x, ft.Tensor):
            warnings.warn("in a loop", ft.FallbackWarning, stacklevel=2)
        return np.sum(x)

    found = ft.check(f, X)
    assert found and found.refused
    has_all(str(found), "vmap        runs in a loop in ", "FallbackWarning: in a loop")


def test_code_of_others_is_named():
    text = str(ft.check(lambda x: math.exp(x) + branching(x), 0.999))
    has_all(text, "ConversionError", "write numpy.exp(x) for math.exp(x)", "in <lambda>")
