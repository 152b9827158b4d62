"""Tests of levels that look inside."""

import cmath
import linecache
import math
from contextlib import ExitStack

import numpy as np
import pytest
import scipy.linalg

import functier as ft
from functier._core import hints as _hints
from functier._core.remedies import CALLS, GENERAL
from functier._levels import level as _level
from functier._levels.lying import example
from functier._mutation.array import settle
from support.arranged import ORDERS, TRANSFORMS
from support.arranged import X as X_OF_ORDERS
from support.basics import equal, raises
from support.mistake_runs import run
from support.mistakes import ROWS

pytestmark = pytest.mark.inside("States of levels and tables of remedies have no public name.")


# ---- essay ----


XS = np.arange(20.0).reshape(10, 2)


YS = 100 * np.arange(30.0).reshape(15, 2)


def test_an_outer_level_that_ended_first_is_dead_for_the_inner_one():
    """B25: its tensors raise while the inner level stays live."""
    outer, inner = ft.vmap(), ft.vmap()
    B0 = outer.__enter__()
    B1 = inner.__enter__()
    x, y = B0(XS), B1(YS)
    outer.__exit__(None, None, None)
    try:
        for use in (lambda: y + x, lambda: x + y, lambda: np.multiply(y, x)):
            raises(ft.EscapedTensorError, use)
        assert _level.AMBIENT.get() is B1
    finally:
        inner.__exit__(None, None, None)
    with ft.vmap() as B:
        assert B.__bases__ == (ft.Tensor,)


# ---- mistakes ----


KNOWN = {name.removeprefix("math.") for name in CALLS}


INTEGERS = {"gcd": 6, "lcm": 6}


TWO = {"atan2", "copysign", "fmod", "hypot", "nextafter", "pow"} | INTEGERS.keys()


OTHER = {"ldexp", "frexp", "modf", "trunc", "ceil", "floor", "prod"}
"""Of which `math` asks for something else than one float, or gives a pair; `prod` runs."""


NAMES = [n for n in dir(math) if callable(getattr(math, n)) and hasattr(np, n) and n[0] != "_"]


def compile_source(source):
    """Return the function of a source without a file, as a notebook makes it."""
    name = f"<source {source}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    found = {}
    exec(compile(source, name, "exec"), {"math": math, "cmath": cmath}, found)
    return found["program"]


@pytest.mark.parametrize("name", sorted({*NAMES} - KNOWN - OTHER))
def test_numpy_has_what_math_has_under_the_name(name):
    """The message says `numpy.<name>` without knowing what that does."""
    second = INTEGERS.get(name, 0.75)
    xs = np.array([4, 9]) if name in INTEGERS else np.array([0.5, 0.25]) + (name == "acosh")
    args = f"x, {second}" if name in TWO else "x"
    slow, fast = getattr(math, name), getattr(np, name)
    rest = (second,) if name in TWO else ()

    with pytest.raises(ft.LevelError) as error:
        ft.vmap(compile_source(f"def program(x):\n    return math.{name}({args})\n"))(xs)
    assert f"write numpy.{name}({args}) for math.{name}({args})" in str(error.value)
    result = ft.vmap(lambda x: fast(x, *rest))(xs)
    np.testing.assert_allclose(result, [slow(x, *rest) for x in xs], rtol=1e-15)


@pytest.mark.parametrize("name", [n for n in dir(cmath) if hasattr(np, n) and n[0] != "_"])
def test_numpy_has_what_cmath_has_under_the_name(name):
    if not callable(getattr(cmath, name)) or name == "isclose":
        return
    xs = np.array([0.5, -0.25])

    with pytest.raises(ft.LevelError) as error:
        ft.vmap(compile_source(f"def program(x):\n    return cmath.{name}(x)\n"))(xs)
    assert f"write numpy.{name}(x + 0j) for cmath.{name}(x)" in str(error.value)
    result = ft.vmap(lambda x: getattr(np, name)(x + 0j))(xs)
    np.testing.assert_allclose(result, [getattr(cmath, name)(x) for x in xs], rtol=1e-12)


def test_without_positions_the_remedy_is_a_general_one(monkeypatch):
    """As with ``python -X no_debug_ranges``."""
    monkeypatch.setattr(_hints, "node_at", lambda frame: None)
    for row in ROWS:
        if row.table is not GENERAL:
            with pytest.raises(ft.LevelError, match="; write "):
                run(row.modes[0], row.wrong, row.xs)
    with pytest.raises(ft.ConversionError, match=r"write functier\.scipy\.linalg\.solve for scipy"):
        ft.grad(lambda b: np.sum(scipy.linalg.solve(np.eye(2), b)))(np.ones(2))


def test_a_reader_that_fails_does_not_hide_the_error(monkeypatch):
    monkeypatch.setattr(_hints, "node_at", lambda frame: 1 / 0)
    raises(ft.ConversionError, lambda: ft.grad(lambda x: float(x))(1.0), GENERAL["float"])


# ---- levels ----


XS_OF_LEVELS = np.arange(6.0).reshape(3, 2)


def boom(*args):
    raise ZeroDivisionError


RAISING = {
    "vmap": lambda: ft.vmap(boom)(XS_OF_LEVELS),
    "vmap_in": lambda: ft.vmap(lambda x, y: x)(XS_OF_LEVELS, XS_OF_LEVELS.T),
    "vmap_out": lambda: ft.vmap(lambda x: x, out_dims=7)(XS_OF_LEVELS),
    "grad": lambda: ft.grad(boom)(1.0),
    "grad_out": lambda: ft.grad(lambda x: x)(XS_OF_LEVELS),
    "value_and_grad": lambda: ft.value_and_grad(boom)(1.0),
    "vjp": lambda: ft.vjp(boom, XS_OF_LEVELS),
    "vjp_out": lambda: ft.vjp(lambda x: "text", XS_OF_LEVELS),
    "jvp": lambda: ft.jvp(boom, (XS_OF_LEVELS,), (XS_OF_LEVELS,)),
    "jacrev": lambda: ft.jacrev(boom)(XS_OF_LEVELS),
    "jacfwd": lambda: ft.jacfwd(lambda x: {"a": "text"})(XS_OF_LEVELS),
    "linearize": lambda: ft.linearize(boom, XS_OF_LEVELS),
    "jvp_aux": lambda: ft.jvp(lambda x: x, (XS_OF_LEVELS,), (XS_OF_LEVELS,), has_aux=True),
    "nested": lambda: ft.vmap(lambda x: ft.grad(lambda y: ft.vmap(boom)(XS_OF_LEVELS))(1.0))(
        XS_OF_LEVELS
    ),
}


@pytest.mark.parametrize("case", RAISING)
def test_the_ambient_level_is_restored_when_a_transform_raises(case):
    assert _level.AMBIENT.get() is ft.Tensor
    with pytest.raises((ZeroDivisionError, ValueError, TypeError)):
        RAISING[case]()
    assert _level.AMBIENT.get() is ft.Tensor
    with ft.vmap() as B:
        with pytest.raises((ZeroDivisionError, ValueError, TypeError)):
            RAISING[case]()
        assert _level.AMBIENT.get() is B


@pytest.mark.parametrize("enter", [ft.vmap, ft.grad, ft.jvp])
def test_a_with_block_that_raises_ends_its_level(enter):
    with pytest.raises(ZeroDivisionError), enter() as B:
        raise ZeroDivisionError
    assert _level.AMBIENT.get() is ft.Tensor
    assert not B.level.live


XS_WITH = np.arange(20.0).reshape(10, 2)


SUMS = XS_WITH[:, None] + YS[None]


def test_exit_stacks_nest():
    with ExitStack() as stack:
        B0 = stack.enter_context(ft.vmap())
        B1 = stack.enter_context(ft.vmap())
        assert B1.__bases__ == (B0,)
        equal((B0(XS_WITH) + B1(YS)).elem().elem(), SUMS)
    assert _level.AMBIENT.get() is ft.Tensor


# ---- orders ----


CALLS_OF_ORDERS = {
    "copy": lambda x: x.copy(),
    **{f"copy {order}": lambda x, order=order: x.copy(order) for order in "CFAK"},
    **{f"np.copy {order}": lambda x, order=order: np.copy(x, order) for order in "CFAK"},
    "np.copy": lambda x: np.copy(x),
    "flatten": lambda x: x.flatten(),
    "flatten F": lambda x: x.flatten("F"),
    "ravel": lambda x: x.ravel(),
    "ravel F": lambda x: x.ravel("F"),
    "astype": lambda x: x.astype(np.float32),
    "astype same": lambda x: x.astype(float),
    "conj": lambda x: x.conj(),
    "clip": lambda x: x.clip(2, 9),
    "cumsum": lambda x: x.cumsum(0),
    "repeat": lambda x: x.repeat(2, 0),
    "take": lambda x: x.take([1, 0], 0),
    "take 1": lambda x: x.take([1, 0], 1),
    "take of all": lambda x: np.take(x, [[1, 0], [2, 3]]),
    "sum": lambda x: x.sum(0),
    "max": lambda x: x.max(0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "transpose by an array": lambda x: x.transpose(np.array([1, 2, 0])),
}


def ranks(x):
    """The axes of an array by their steps, without those of one element."""
    steps = [(abs(s), s < 0, i) for i, (s, n) in enumerate(zip(x.strides, x.shape)) if n > 1]
    return [(i, negative) for _, negative, i in sorted(steps)]


def other_orders(calls):
    """Return the calls whose result lies in another order inside a transform than in NumPy."""
    found = []
    for order, arrange in ORDERS.items():
        for name, call in calls.items():
            for transform, called in TRANSFORMS.items():
                wanted = ranks(call(arrange(X_OF_ORDERS)))

                def f(x, call=call, arrange=arrange, seen=None):
                    y = call(arrange(x))
                    seen.append(ranks(example(settle(y))))
                    return y

                seen = []
                called(lambda x, f=f, seen=seen: f(x, seen=seen), X_OF_ORDERS)
                if seen != [wanted]:
                    found.append((name, order, transform, seen, wanted))
    return found


def test_methods_give_the_order_of_numpy():
    assert not other_orders(CALLS_OF_ORDERS)


def test_a_copy_that_keeps_the_order_is_found(monkeypatch):
    monkeypatch.setattr(ft.Tensor, "copy", lambda x, order="K": np.copy(x, order))

    assert other_orders({"copy": CALLS_OF_ORDERS["copy"]})
