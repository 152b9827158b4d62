"""Values at the border of a transform that the net on borders does not have, and messages."""

import subprocess
import sys

import numpy as np
import pytest

import functier as ft
from support.basics import close, equal, raises

X = np.array([3.0, 5.0])


# ---- classes and dtypes ----


def test_a_matrix_and_a_masked_array():
    matrix = np.ones((2, 2)).view(np.matrix)
    masked = np.ma.array(X, mask=[0, 1])
    raises(TypeError, lambda: ft.vmap(lambda x: x * x)(matrix), "vmap", "args[0]", "numpy.matrix",
           "numpy.asarray(x)")  # fmt: skip
    raises(TypeError, lambda: ft.vjp(lambda x: x * x, matrix), "primals[0]", "numpy.matrix")
    raises(TypeError, lambda: ft.value_and_grad(np.sum)(masked), "args[0]",
           "numpy.ma.MaskedArray", "x.filled(value)")  # fmt: skip
    raises(TypeError, lambda: ft.grad(lambda x: np.sum(x * masked))(X), "an operand is a numpy.ma")
    pullback = ft.vjp(lambda x: x * x, np.ones((2, 2)))[1]
    raises(TypeError, lambda: pullback(matrix), "the cotangent of output is a numpy.matrix")
    raises(TypeError, lambda: ft.scan(lambda c, x: (c, x), 0.0, matrix), "xs", "numpy.matrix")
    raises(TypeError, lambda: ft.trace(np.sum)(matrix), "trace(sum)", "argument a", "numpy.matrix")
    raises(TypeError, lambda: ft.Tensor(matrix), "numpy.matrix")


def test_a_structured_array():
    records = np.zeros(3, [("a", float), ("b", int)])
    raises(TypeError, lambda: ft.vmap(lambda x: x["a"])(records), "args[0]", "structured",
           "{name: x[name] for name in x.dtype.names}")  # fmt: skip
    fields = {name: records[name] for name in records.dtype.names}
    equal(ft.vmap(lambda x: x["a"])(fields), np.zeros(3))


METHODS = {
    "clip": lambda s, x: np.clip(s, x, x),
    "dot": lambda s, x: np.dot(s, x),
    "searchsorted": lambda s, x: np.searchsorted(s, x),
    "all": lambda s, x: np.all(s, where=x > 4.0),
    "any": lambda s, x: np.any(s, where=x > 4.0),
    "mean": lambda s, x: np.mean(s, where=x > 4.0),
    "std": lambda s, x: np.std(s, where=x > 4.0),
    "var": lambda s, x: np.var(s, where=x > 4.0),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_function_that_calls_a_method_keeps_labels(name):
    """NumPy calls that of a series, so the result may have labels, which no transform knows of."""
    series = pytest.importorskip("pandas").Series(X, index=[5, 3])

    raises(TypeError, lambda: ft.vmap(lambda x: METHODS[name](series, x))(np.stack([X, X])),
           "an operand is a pandas.Series", "write x.to_numpy()")  # fmt: skip


def test_other_dtypes():
    dates = np.array([1, 2], "M8[s]")
    raises(TypeError, lambda: ft.jvp(np.sin, (X,), (dates,)), "the tangent of", "datetime64")
    raises(TypeError, lambda: ft.jvp(np.sin, (1.0,), (np.array("1.5"),)), "the tangent of", "<U3")
    raises(TypeError, lambda: ft.vjp(np.sin, X)[1](np.array(["1", "2"])), "the cotangent of")
    raises(TypeError, lambda: ft.jvp(lambda x: (x, dates), (X,), (X,)), "the result[1]", "aux")
    with pytest.raises(ft.ConversionError, match=r"dtype timedelta64\[s\], which has no deriv"):
        ft.grad(lambda x: np.sum(x * np.array([1, 2], "m8[s]") / np.timedelta64(1, "s")))(X)
    _, tangent = ft.jvp(np.square, (X,), (np.array([1, 0]),))
    equal(tangent, [6.0, 0.0])
    assert tangent.dtype == float


# ---- results of a user's rules ----


def test_rules_that_take_other_arguments():
    f = ft.custom_vmap(lambda x: x)
    f.def_vmap(lambda x: x)
    raises(TypeError, lambda: ft.vmap(f)(X), "<lambda>: the vmap rule is called with 3 arguments",
           "write rule(axis_size, in_batched, *args)")  # fmt: skip

    def unfinished(**methods):
        static = {name: staticmethod(f) for name, f in methods.items()}
        return type("Own", (ft.Function,), static).apply

    setup = lambda ctx, inputs, output: None  # noqa: E731
    raises(TypeError, lambda: unfinished(forward=lambda x: x)(1.0), "Own: forward is called with 2",
           "setup_context(ctx, inputs, output)")  # fmt: skip
    own = unfinished(forward=lambda x: x, setup_context=setup, vmap=lambda x: x)
    raises(TypeError, lambda: ft.vmap(own)(X), "the vmap rule", "vmap(info, in_dims, *args)")
    own = unfinished(forward=lambda x: x, setup_context=setup, backward=lambda g: g)
    raises(TypeError, lambda: ft.grad(own)(1.0), "backward(ctx, *grad_outputs)")
    own = unfinished(forward=lambda x: x, setup_context=setup, backward=lambda ctx, g: g[0][0] + {})
    with pytest.raises((TypeError, IndexError)) as error:
        ft.grad(own)(1.0)
    assert "is called with" not in str(error.value)  # its own error


def test_a_name_of_an_operation_is_given_once():
    def one(x):
        return x

    def other(x):
        return x

    op = ft.custom_op("border::once", one)
    raises(ValueError, lambda: ft.custom_op("border::once", other), "border::once",
           "unregister()", "replaced(fn)")  # fmt: skip
    assert ft.ops.border.once is op
    exec_of = {"__name__": "again"}
    made = []
    for _ in range(2):  # as a cell that is run again
        exec("def f(x): return x", exec_of)
        made.append(ft.custom_op("border::cell", exec_of["f"]))
    assert ft.ops.border.cell is made[1]
    op.unregister()
    op = ft.custom_op("border::once", other)
    assert op is ft.ops.border.once
    op.unregister()
    made[1].unregister()


# ---- options and arguments ----


def test_options_of_another_kind():
    f = np.sum
    raises(ValueError, lambda: ft.vmap(f, escape=X), "vmap(sum): escape is a ndarray")
    raises(ValueError, lambda: ft.vmap(f, escape=[]), "vmap(sum): escape=[]", "'passthrough'")
    raises(
        ValueError, lambda: ft.vmap(f, randomness=X), "vmap(sum): randomness is a ndarray", "'same'"
    )
    raises(ValueError, lambda: ft.jacfwd(f, randomness=X), "jacfwd(sum): randomness is a ndarray")
    raises(TypeError, lambda: ft.vmap(f, progress=[]), "vmap(sum): progress is a list")
    raises(TypeError, lambda: ft.grad(f, 0, X), "grad(sum): has_aux is a ndarray", "True or False")
    raises(TypeError, lambda: ft.jacrev(f, holomorphic=1), "jacrev(sum): holomorphic is a int")
    for transform in (ft.grad, ft.value_and_grad, ft.jacrev, ft.hessian, ft.elementwise_grad):
        raises(TypeError, lambda t=transform: t(f, X), f"{transform.__name__}(f)(x)")
    raises(TypeError, lambda: ft.grad(f, [0]), "argnums=[0]; write an int or a tuple")
    raises(TypeError, lambda: ft.vmap(f, in_dims="lol")(X), "in_dims of args[0] is str 'lol'")
    raises(
        TypeError,
        lambda: ft.vmap(f, out_dims="lol")(np.ones((2, 2))),
        "out_dims of the result is str 'lol'",
    )


def test_what_makes_a_tensor():
    with ft.vmap() as B, ft.grad() as G, ft.jvp() as J:
        for made, form in ((B, "B(x, in_dim=0)"), (G, "G(x)"), (J, "J(x, tangent)")):
            args = (1.0,) if made is J else ()
            with pytest.raises(
                TypeError, match="was called with foo=1, which it does not take"
            ) as error:
                made(X, *args, foo=1)
            assert form in str(error.value)
            raises(TypeError, lambda: made({"a": X}, *args), "made of one array, and not of a dict")
        for level in (G, J):
            with pytest.raises(TypeError, match="takes one tensor, array or number"):
                level.unwrap({"a": G(X)})


def test_a_tensor_whose_level_has_ended_has_no_answers():
    kept = []
    ft.grad(lambda x: kept.append(x) or x)(1.0)
    raises(ft.EscapedTensorError, lambda: ft.requires_grad(kept[0]), "grad")
    with pytest.raises(ft.EscapedTensorError, match="grad"):
        kept[0].device  # noqa: B018


def test_out_by_position():
    for method in (lambda x: x.clip(0, 1, X), lambda x: x.compress([True, False], 0, X)):
        raises(ft.MutationError, lambda m=method: ft.vmap(m)(np.ones((3, 2))), "out=")
    equal(ft.vmap(lambda x: x.clip(0, 1, None))(X), np.ones(2))


def test_the_device():
    devices = []
    ft.vmap(ft.grad(lambda x: devices.append(x.device) or x.to_device("cpu") * x))(X)
    assert devices == ["cpu"]
    raises(ValueError, lambda: ft.Tensor(X).to_device("gpu"), "to_device('gpu')")


def test_like_with_tensors():
    close(ft.grad(lambda x: np.sum(np.fromiter(x, float, like=x) * X))(X), X)
    close(ft.vmap(lambda x: np.fromiter([x, 2 * x], float, 2, like=x))(X), np.outer(X, [1, 2]))
    with pytest.raises(ValueError, match="iterator too short"):
        ft.grad(lambda x: np.sum(np.fromiter([x], float, 2, like=x)))(1.0)
    close(ft.grad(lambda x: np.sum(np.arange(0.0, 2 * x, x, like=x)))(2.0), 1.0)
    close(ft.jvp(lambda x: np.arange(x, 3 + x, like=x), (2.0,), (1.0,))[0], [2.0, 3.0, 4.0])
    equal(ft.grad(lambda x: np.sum(np.arange(3, like=x) * x))(2.0), 3.0)
    raises(ft.DataDependentError, lambda: ft.vmap(lambda x: np.arange(0.0, x, like=x))(X))


# ---- the modules of functier.numpy ----


def test_statements_that_import():
    program = """
from functier.numpy.linalg import norm
import functier.numpy.polynomial.polynomial as P
from functier.numpy import linalg, fft
import functier.numpy as np
import importlib, numpy
assert norm is linalg.norm is np.linalg.norm and norm.__wrapped__ is numpy.linalg.norm
assert P is np.polynomial.polynomial
importlib.reload(np)
assert np.linalg.norm is norm
from functier.numpy import *
assert linalg.norm is norm
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
