"""Messages about values that leave a level, blocks and functions without a rule: what to write."""

import ctypes
import ctypes.util
import decimal
import io
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import functier as ft
from support.basics import silent


def text(call):
    """Return the message and the notes of the error that a call raises."""
    with silent(), pytest.raises(Exception) as error:
        call()
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


def in_block(use):
    with ft.grad() as G:
        x = G(2.0)
        y = x * x
    return use(G, y, x)


def without_x():
    with ft.grad() as G:
        G.gradient(G(2.0) * 2.0)


def unwrap_outer():
    with ft.vmap() as outer, ft.vmap() as inner:
        outer.unwrap(outer(np.ones(2)) + inner(np.ones(3)))


def with_function():
    with ft.vmap(np.sum):
        pass


def without_rule():
    cube = np.frompyfunc(lambda x: x**3, 1, 1)
    return ft.grad(lambda x: cube(x))(2.0)


def c_function():
    """Of the package ctypes, which does not know the name of what it loads."""
    halved = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x / 2)
    return ft.grad(lambda x: halved(x))(2.0)


def plot(transform, draw):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    try:
        transform(lambda x: (draw(axes, x), x)[1])(np.array(2.0))
    finally:
        pyplot.close(figure)


def line():
    plot(ft.grad, lambda axes, x: axes.plot([0, 1], [0, x]))


def points():
    """A function of matplotlib's that makes a masked array."""
    plot(ft.grad, lambda axes, x: axes.scatter(0, x))


SAYS = {
    "a decimal": (lambda: ft.grad(lambda x: x * x)(decimal.Decimal("1.5")), "float(x)"),
    "a float for json": (lambda: ft.grad(lambda x: json.dumps(float(x)))(1.0), "stop_gradient"),
    "gradient without x": (without_x, "gradient(y, x)"),
    "deriv": (lambda: ft.deriv, "grad"),
    "print": (lambda: ft.debug.print, "functier.debug.show(x)"),
    "a ufunc": (without_rule, "functier.protocol.elementwise(f, lambda g, x: g * df(x))"),
    "its own rule": (without_rule, "g.defvjp(lambda x: (f(x), x), lambda x, t: (t * df(x),))"),
    "a C function": (c_function, "g = functier.finite_difference(lambda x: halved(...))"),
    "a number of a batch": (lambda: ft.vmap(lambda x: float(x))(np.eye(2)[0]), "debug.show(x)"),
    "a pickle": (lambda: ft.grad(pickle.dumps)(1.0), "functier.stop_gradient(x) to pickle"),
    "bytes": (
        lambda: ft.grad(lambda x: x.tobytes())(np.array(1.0)),
        "store functier.stop_gradient",
    ),
    "places": (lambda: ft.vmap(np.where)(np.eye(2)), "functier.numpy.nonzero(condition, size=n)"),
    "points of a plot": (points, "functier.stop_gradient(x) for x in axes.scatter(...)"),
    "a block of jvp": (lambda: ft.jvp(np.sin).__enter__(), "with functier.jvp() as J:"),
    "unwrap": (unwrap_outer, ".unwrap("),
    "a block": (with_function, "vmap()"),
}


@pytest.mark.parametrize("call, says", [pytest.param(*row, id=name) for name, row in SAYS.items()])
def test_a_message_says_what_to_write(call, says):
    assert says in text(call)


SAYS_NOT = {
    "a plot": (line, "finite_difference"),
    "points of a plot": (points, "mask"),
    "an ended block": (lambda: in_block(lambda G, y, x: G.gradient(y, x)), "return it from"),
}


@pytest.mark.parametrize(
    "call, says", [pytest.param(*row, id=name) for name, row in SAYS_NOT.items()]
)
def test_a_message_says_nothing_that_does_not_work(call, says):
    assert says not in text(call)


LINES = """
import numpy as np, functier as ft
f, df = np.frompyfunc(lambda x: x**3, 1, 1), lambda x: 3 * x**2
g = ft.custom_vjp(f)
g.defvjp(lambda x: (f(x), x), lambda x, t: (t * df(x),))
ft.protocol.elementwise(f, lambda g, x: g * df(x))
for h in (f, g):
    assert ft.grad(lambda x: 5 * h(x))(2.0) == ft.jvp(h, (2.0,), (5.0,))[1] == 60.0
"""


def test_the_lines_of_a_rule_work():
    """In another process, as a rule stays in the table."""
    subprocess.run([sys.executable, "-c", LINES], check=True)


@pytest.mark.parametrize("rule", [lambda x: 3 * x**2, lambda ans, x: 3 * x**2])
def test_a_rule_that_does_not_take_the_cotangent_is_refused(rule):
    with pytest.raises(TypeError, match="write `lambda g, x: g"):
        ft.protocol.elementwise(np.frompyfunc(lambda x: x**3, 1, 1), rule)


def test_a_function_of_ctypes_has_finite_differences():
    library = ctypes.CDLL(ctypes.util.find_library("m") or "msvcrt")
    library.sqrt.restype, library.sqrt.argtypes = ctypes.c_double, [ctypes.c_double]
    g = ft.finite_difference(lambda x: library.sqrt(x))

    assert np.isclose(ft.grad(g)(4.0), 0.25)
    assert np.allclose(ft.vmap(ft.grad(g))(np.full(2, 4.0)), 0.25)


def test_a_number_of_a_batch_is_not_offered_to_be_stored():
    """Under levels that have no single number `stop_gradient` gives none, so nothing says so."""
    said = "functier.stop_gradient"

    def f(x):
        return float(x) * x

    assert said in text(lambda: ft.grad(f)(1.0))
    assert said in text(lambda: ft.grad(ft.grad(f))(1.0))
    assert said not in text(lambda: ft.vmap(ft.grad(f))(np.ones(2)))
    assert said not in text(lambda: ft.trace(ft.grad(f))(1.0))


OUT = {
    "float": float,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "bytes": lambda x: x.tobytes(),
    "an array": np.array,
    "json": lambda x: json.dumps({"x": float(x)}),
    "a pickle": pickle.dumps,
    "a file": lambda x: np.save(io.BytesIO(), x),
    "text": lambda x: f"{x:.3f}",
}
"""Ways out of a transform that messages name for ``functier.stop_gradient(x)``."""


@pytest.mark.parametrize("way", OUT.values(), ids=OUT)
@pytest.mark.parametrize("nest", [
    ft.grad, lambda f: ft.grad(ft.grad(f)), lambda f: ft.compile(ft.grad(f)), ft.hessian,
    lambda f: lambda x: ft.jvp(f, (x,), (1.0,))[1], lambda f: lambda x: ft.linearize(f, x)[1](1.0),
    lambda f: lambda x: ft.vjp(f, x)[1](1.0)[0], lambda f: lambda x: ft.taylor(f, x, 2),
], ids=["grad", "twice", "compile", "hessian", "jvp", "linearize", "vjp", "taylor"])  # fmt: skip
def test_a_value_without_its_derivative_goes_anywhere(way, nest):
    seen = []

    def f(x):
        x = x * 1.0
        seen.append(way(ft.stop_gradient(x)))
        return x**3

    found = nest(f)(np.array(2.0))
    np.testing.assert_allclose(found, nest(lambda x: (x * 1.0) ** 3)(np.array(2.0)))
    assert seen[0] == way(np.float64(2.0))


def test_bytes_that_code_can_do_without_are_refused_or_those_of_the_plain_call():
    def f(x):
        try:
            return 2 * x * len(x.tobytes())
        except Exception:
            return x

    one = np.array(1.0)
    for refused in (ft.grad, ft.vmap, ft.trace, lambda f: lambda x: ft.jvp(f, (x,), (x,))):
        with pytest.raises(ft.ConversionError, match="store the result"):
            refused(f)(np.ones(2) if refused is ft.vmap else one)
    with silent():
        assert ft.compile(f)(one) == f(one) == 16.0


def fall_back(call):
    """Return a function that catches what `call` raises, and returns another number."""

    def f(x):
        try:
            return np.sum(call(x))
        except Exception:
            return x * 0.0

    return f


PLAIN = np.arange(3.0)
CAUGHT = {
    "asarray": lambda x: np.asarray(x) * 2.0,
    "a list": lambda x: np.array([x, x]),
    "full": lambda x: np.full(3, x),
    "a method of a plain array": lambda x: PLAIN.dot(x),
    "an index of a plain array": lambda x: PLAIN.searchsorted(x),
    "out": lambda x: np.multiply(x, PLAIN, out=np.empty(3)),
    "a file": lambda x: np.savetxt(io.StringIO(), x * np.ones(2)),
    "an object": lambda x: (x * np.ones(2)).astype(object),
    "no rule": lambda x: np.frompyfunc(lambda v: v * v, 1, 1)(x),
    "the length": lambda x: np.nonzero(x > np.array([0.0, 1.2]))[0] * x,
}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_function_that_catches_a_refusal_and_goes_on_is_refused(name):
    f, xs = fall_back(CAUGHT[name]), np.array([1.0, 1.5])
    for run in (
        lambda: ft.grad(f)(1.5), lambda: ft.jvp(f, (1.5,), (1.0,)), lambda: ft.vmap(f)(xs),
        lambda: ft.vmap(ft.grad(f))(xs), lambda: ft.linearize(f, 1.5),
    ):  # fmt: skip
        with silent():
            try:
                found = run()
            except (ft.LevelError, ft.NoRuleError, ft.UnsupportedError):
                continue
        assert np.any(np.asarray(found[0] if isinstance(found, tuple) else found)), found


def test_an_error_of_numpy_that_code_catches_is_an_answer():
    """The plain function catches it, too."""

    def f(x):
        try:
            return np.sum(np.linalg.inv(x * np.zeros((2, 2))))
        except np.linalg.LinAlgError:
            return 2.0 * x

    def g(x):
        try:
            return -x if x in ("b", x[:1]) else x
        except (ValueError, ft.DataDependentError):
            return 2.0 * x

    assert ft.grad(f)(1.5) == 2.0 and ft.vmap(f)(np.ones(2)).tolist() == [2.0, 2.0]
    assert ft.vmap(g)(np.ones((2, 3))).tolist() == [[2.0] * 3] * 2
