"""Tests of networks that look inside."""

import ast
import functools
import inspect
import re

import numpy as np
import pytest

import functier as ft
import functier.nn.functional as F
from functier import grad, nn
from functier.nn import _layers
from functier.nn import _operations as neural
from functier.nn._names import NAMES
from functier.testing import check_grads, operations
from support.basics import close, raises

pytestmark = pytest.mark.inside("Classes of layers and their operations are complete.")


# ---- nn ----


def test_d02_what_holds_arrays_is_a_module_and_the_rest_calls_a_function():
    """D02: modules without parameters are one call of `functional` (Flatten: of NumPy)."""
    classes = {c.name: c for c in ast.parse(inspect.getsource(_layers)).body
               if isinstance(c, ast.ClassDef)}  # fmt: skip
    holding = {n for n, c in classes.items() if "add_parameter(" in ast.unparse(c)}
    assert holding == {"Linear"}
    assert set(classes) - holding == {
        "Dropout", "Flatten", "GELU", "ReLU", "Sigmoid", "Softmax", "Tanh",
    }  # fmt: skip
    for name, tree in classes.items():
        (forward,) = [f for f in tree.body if getattr(f, "name", "") == "forward"]
        if name != "Flatten":
            assert len(forward.body) == 1
            assert ast.unparse(forward.body[0]).startswith("return F.")
    assert "their modules only call them" in nn.__doc__
    for name in F.__all__:
        function = getattr(F, name)
        assert not isinstance(function, type) and function.__doc__


# ---- nn functional ----


RNG = np.random.default_rng(7)


def draw(*shape):
    return RNG.normal(size=shape)


def test_a_wrong_rule_is_found():
    record = operations()[neural.sigmoid]
    rule = record.vjp["x"]
    before = rule.fn
    rule.fn = lambda g, ans: g * ans
    try:
        with pytest.raises(ft.GradcheckError):
            check_grads(F.sigmoid, (draw(3),), order=1, modes=("rev",))
    finally:
        rule.fn = before
    check_grads(F.sigmoid, (draw(3),), order=1, modes=("rev",))


def test_windows_and_their_sums_are_transposes():
    x, size, step, gap = draw(2, 7, 6), (3, 2), (2, 1), (1, 2)
    parts = neural.windows(x, size, step, gap)
    values = draw(*parts.shape)

    assert np.shares_memory(parts, x)
    total = neural.overlap_add(values, x.shape[1:], step, gap)
    assert np.sum(parts * values) == pytest.approx(np.sum(x * total))
    slope = grad(lambda v: np.sum(neural.overlap_add(v, (7, 6), step, gap) * x))(values)
    close(slope, np.array(parts))
    close(grad(lambda x: np.sum(neural.windows(x, size, step, gap) * values))(x), total)


# ---- names of other libraries ----


def test_a_module_answers_too():
    module = ft.nn.Linear(2, 1)
    for name, own in NAMES.items():
        assert not hasattr(module, name)
        raises(AttributeError, lambda: getattr(module, name), f"'{name}'; write {own}")
    with pytest.raises(AttributeError, match=r"^'Linear' object has no attribute 'wombat'$"):
        _ = module.wombat


def test_what_a_hint_of_a_module_names_exists():
    for text in NAMES.values():
        for path in re.findall(r"\bfunctier\.([\w.]+)", text):
            assert functools.reduce(getattr, path.rstrip(".").split("."), ft)
