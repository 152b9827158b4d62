"""Tests of values at the border of a transform, one after the other; the net has them all."""

import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from support import close, equal, raises

X = np.array([3.0, 5.0])


# ---- object arrays ----


def fill_array(x):
    out = np.empty(2, dtype=object)
    out[0], out[1] = x[0] * 2.0, x[1] * x[0]
    return out


@pytest.mark.parametrize(
    "run",
    [
        lambda: ft.jacrev(fill_array)(X),
        lambda: ft.jacfwd(fill_array)(X),
        lambda: ft.jvp(fill_array, (X,), (X,)),
        lambda: ft.vjp(fill_array, X),
        lambda: ft.linearize(fill_array, X),
        lambda: ft.vmap(fill_array)(np.ones((3, 2))),
        lambda: ft.vmap(fill_array, chunk_size=1)(np.ones((3, 2))),
        lambda: ft.vmap(lambda x: x * fill_array(x))(np.ones((3, 2))),
        lambda: ft.grad(lambda x: np.sum(x * fill_array(x)))(X),
        lambda: ft.grad(lambda x: (x[0], fill_array(x)), has_aux=True)(X),
        lambda: ft.grad(lambda x: np.sum(ft.checkpoint(fill_array)(x)))(X),
        lambda: ft.grad(lambda x: np.sum(ft.vmap(lambda v: v * 2.0)(fill_array(x))))(X),
    ],
)
def test_tensors_in_an_object_array(run):
    with pytest.raises(ft.ConversionError, match=r"numpy\.stack\(list\(a"):
        run()


def test_an_object_array_inside_of_a_function():
    close(ft.grad(lambda x: np.sum(fill_array(x)))(X), [7.0, 3.0])
    close(ft.jacrev(lambda x: np.stack(list(fill_array(x))))(X), [[2.0, 0.0], [5.0, 3.0]])
    equal(ft.vmap(lambda x: x * 2)(np.array([1, 2.5], dtype=object)).astype(float), [2.0, 5.0])


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


def test_other_subclasses_are_arrays(tmp_path):
    x = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=2)
    x[:] = X
    equal(ft.vmap(lambda v: v * v)(x), X * X)
    equal(ft.grad(lambda v: np.sum(v * v * x))(x), 2 * X * X)


class Labelled(np.lib.mixins.NDArrayOperatorsMixin):
    """As an array of pandas or xarray: it knows ufuncs, and not NumPy's functions."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Labelled(getattr(ufunc, method)(*[getattr(x, "values", x) for x in inputs]))


def test_half_a_protocol():
    x = Labelled(X)
    for run in (
        lambda: ft.grad(lambda v: np.add.reduce(v * v))(x),
        lambda: ft.vmap(lambda v: v * v)(x),
        lambda: ft.grad(lambda v: np.sum(v * x))(X),
        lambda: ft.grad(lambda v: np.sum(x * v))(X),
    ):
        raises(TypeError, run, "Labelled", "__array_function__", "numpy.asarray(x)")


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


def test_complex_results_of_rules():
    """Those of `custom_vjp` and `custom_jvp` stand in `test_custom`."""

    class Double(ft.Function):
        forward = staticmethod(lambda x: 2.0 * x)
        setup_context = staticmethod(lambda ctx, inputs, output: None)
        backward = staticmethod(lambda ctx, g: 2j * g)
        jvp = staticmethod(lambda ctx, t: 2j * t)

    raises(TypeError, lambda: ft.grad(Double.apply)(1.0), "Double", "argument 0", "numpy.real")
    raises(TypeError, lambda: ft.jvp(Double.apply, (1.0,), (1.0,)), "Double", "output 0")
    op = ft.custom_op("border::double", lambda x: 2.0 * x)
    op.register_vjp(lambda ctx, g: 2j * g)
    raises(TypeError, lambda: ft.grad(op)(1.0), "border::double", "argument 0", "complex128")
    op.unregister()

    def root(a):
        return ft.custom_root(lambda x: x - a, 1.0, lambda f, x: x - f(x), lambda g, y: y * 1j)

    for run in (lambda: ft.grad(root)(2.0), lambda: ft.jvp(root, (2.0,), (1.0,))):
        raises(TypeError, run, "custom_root", "linear solver", "complex128")


def test_object_arrays_of_rules():
    f = ft.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: ((x * 2.0).astype(object), None), lambda _, g: (g * 2.0,))
    raises(ft.ConversionError, lambda: ft.grad(lambda x: np.sum(f(x)))(X), "dtype object")
    f.defvjp(lambda x: (x * 2.0, None), lambda _, g: (g * 2.0,))
    with pytest.raises(ft.ConversionError, match=r"<lambda>: an argument is an object array"):
        ft.grad(lambda x: np.sum(f(fill_array(x))))(X)


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
            with pytest.raises(TypeError, match="made of one array, and not of a dict"):
                made({"a": X}, *args)
        for level in (G, J):
            with pytest.raises(TypeError, match="takes one tensor, array or number"):
                level.unwrap({"a": G(X)})


def test_containers_in_themselves():
    endless: list = [X]
    endless.append(endless)
    for run, name, where in (
        (lambda: ft.vmap(np.sin)(endless), "vmap(sin)", "args[0]"),
        (lambda: ft.grad(np.sum)(endless), "grad(sum)", "args[0]"),
        (lambda: ft.jvp(np.sum, (X, endless), (X, X)), "jvp(sum)", "primals[1]"),
        (lambda: ft.vjp(np.sum, endless), "vjp(sum)", "primals[0]"),
        (lambda: ft.vmap(lambda x, c: x)(X, c=endless), "vmap(<lambda>)", "kwargs['c']"),
        (lambda: ft.vmap(lambda x: endless)(X), "vmap(<lambda>)", "the result"),
        (lambda: ft.jacrev(lambda x: endless)(X), "jacrev(<lambda>)", "the result"),
        (lambda: ft.vjp(np.sin, X)[1](endless), "vjp(sin)", "the cotangents"),
        (lambda: ft.grad(lambda x: (x, endless), has_aux=True)(1.0), "grad(<lambda>)", "aux"),
    ):
        raises(ValueError, run, f"{name}: {where} contains itself")


def test_a_tensor_whose_level_has_ended_has_no_answers():
    kept = []
    ft.grad(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(ft.EscapedTensorError, match="grad"):
        ft.requires_grad(kept[0])
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
    with pytest.raises(ValueError, match=r"to_device\('gpu'\)"):
        ft.Tensor(X).to_device("gpu")


def test_like_with_tensors():
    close(ft.grad(lambda x: np.sum(np.fromiter(x, float, like=x) * X))(X), X)
    close(ft.vmap(lambda x: np.fromiter([x, 2 * x], float, 2, like=x))(X), np.outer(X, [1, 2]))
    with pytest.raises(ValueError, match="iterator too short"):
        ft.grad(lambda x: np.sum(np.fromiter([x], float, 2, like=x)))(1.0)
    close(ft.grad(lambda x: np.sum(np.arange(0.0, 2 * x, x, like=x)))(2.0), 1.0)
    close(ft.jvp(lambda x: np.arange(x, 3 + x, like=x), (2.0,), (1.0,))[0], [2.0, 3.0, 4.0])
    equal(ft.grad(lambda x: np.sum(np.arange(3, like=x) * x))(2.0), 3.0)
    with pytest.raises(ft.DataDependentError):
        ft.vmap(lambda x: np.arange(0.0, x, like=x))(X)


# ---- one triangle ----

LOWER = np.array([[2.0, 0.0, 0.0], [0.3, 1.0, 0.0], [-0.4, 0.2, 3.0]])
WEIGHTS = np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize("a", [LOWER, LOWER + np.tril(LOWER, -1).T], ids=["lower", "symmetric"])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(np.array([0.3, -1.0, 2.0]) * np.linalg.eigvalsh(a)),
        lambda a: np.sum(np.linalg.eigh(a)[1] ** 2 * WEIGHTS),
        lambda a: np.sum(np.linalg.cholesky(a) * WEIGHTS),
        lambda a: np.sum(np.linalg.pinv(a, hermitian=True) * WEIGHTS),
    ],
    ids=["eigvalsh", "eigh", "cholesky", "pinv"],
)
def test_the_triangle_that_is_read(f, a):
    """As finite differences by each element have it, also of those that are not read."""
    differences, h = np.zeros((3, 3)), 1e-6
    for i in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[i] = h
        differences[i] = (f(a + step) - f(a - step)) / (2 * h)
    direction = np.cos(WEIGHTS)
    np.testing.assert_allclose(ft.grad(f)(a), differences, atol=1e-6)
    close(ft.jvp(f, (a,), (direction,))[1], np.sum(ft.grad(f)(a) * direction))
    assert ft.testing.gradcheck(f, (a,))
    whole = ft.grad(lambda a: f((a + a.T) / 2))(a)
    equal(whole, whole.T)


# ---- the modules of functier.numpy ----


def test_modules_inside_of_numpys():
    before = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "numpy"}
    la = importlib.import_module("functier.numpy.linalg")
    scimath = importlib.import_module("functier.numpy.lib.scimath")
    fft = importlib.import_module("functier.numpy.fft")
    assert la is fnp.linalg is sys.modules["functier.numpy.linalg"]
    assert scimath is fnp.emath is fnp.lib.scimath
    assert all(sys.modules[n] is m for n, m in before.items())
    for f in (la.norm, np.linalg.norm):
        close(ft.grad(f)(X), X / np.linalg.norm(X))
    close(ft.grad(lambda x: np.sum(scimath.arcsin(x)))(X / 10), 1 / np.sqrt(1 - (X / 10) ** 2))
    close(ft.grad(lambda x: np.sum(np.abs(fft.rfft(x))))(X), [0.0, 2.0])
    for f in (la.norm, scimath.arcsin, fft.rfft, fnp.random.default_rng, fnp.emath.sqrt):
        assert pickle.loads(pickle.dumps(f)) is f
    assert importlib.reload(la) is fnp.linalg
    for name in ("functier.numpy._core", "functier.numpy.nothing", "functier.numpy.emath"):
        with pytest.raises(ModuleNotFoundError, match="No module named"):
            importlib.import_module(name)


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
