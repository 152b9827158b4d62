"""Mistakes of the first ten minutes: a message, followed literally, gives a program that works.

A row is a program, the text in it that is wrong, and what stands in the message for it. A
traceback ends with the user's line, and no message names a line of functier's.
"""

import sys
import traceback
import types

import numpy as np
import pytest

import functier as ft
from support.basics import FILES, equal, line_of

X = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3)


def foreign(name, module, **methods):
    """Return an array of another library, which NumPy converts."""
    names = {"__array__": lambda self, dtype=None, copy=None: X, "__dlpack__": X.__dlpack__}
    return type(name, (), {"__module__": module, **names, **methods})()


def fails(self, dtype=None, copy=None):
    raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


SPACE = {
    "np": np, "numpy": np, "ft": ft, "functier": ft, "X": X, "M": M, "shape": (3,),
    "rng": ft.random.default_rng(0), "loss": lambda w, x: np.sum(w * x),
    "torch": foreign("Tensor", "torch"), "jax": foreign("ArrayImpl", "jaxlib._jax"),
    "leaf": foreign("Tensor", "torch", __array__=fails, detach=lambda x: types.SimpleNamespace(
        numpy=lambda: X)),
    "total": lambda x: np.sum(x * x),
}  # fmt: skip

ROWS = [
    ("ft.array([1.0, 2.0])", "ft.array", "numpy.array"),
    ("ft.zeros(3)", "ft.zeros", "numpy.zeros"),
    ("ft.einsum('ij->i', M)", "ft.einsum", "numpy.einsum"),
    ("ft.func.grad(np.sum)(X)", "ft.func.grad", "functier.grad"),
    ("ft.device_put(X)", "ft.device_put(X)", "X"),
    ("ft.tensor(X, requires_grad=True)", ", requires_grad=True", ""),
    ("ft.vmap(lambda x: np.sum(x, dim=0))(M)", "dim=", "axis="),
    ("ft.vmap(lambda x: x.sum(dim=0))(M)", "dim=", "axis="),
    ("ft.grad(lambda x: np.stack([x, x], dim=1).sum())(X)", "dim=", "axis="),
    ("ft.vmap(lambda x: x.mean(axis=0, keepdim=True))(M)", "keepdim=", "keepdims="),
    ("ft.vmap(lambda x: np.std(x, unbiased=True))(M)", "unbiased=True", "ddof=1"),
    ("ft.vmap(lambda x: (x * np.ones(3, requires_grad=True)))(M)", ", requires_grad=True", ""),
    ("ft.nn.relu(X)", "ft.nn.relu", "functier.nn.functional.relu"),
    ("ft.relu(X)", "ft.relu", "functier.nn.functional.relu"),
    ("ft.nn.vmap(np.sum)(M)", "ft.nn.vmap", "functier.vmap"),
    ("ft.Linear(2, 1).weight.shape", "ft.Linear", "functier.nn.Linear"),
    ("ft.randn(shape).shape", "ft.randn(shape)", "rng.normal(size=shape)"),
    ("ft.gradcheck(total, (X,))", "ft.gradcheck", "functier.testing.gradcheck"),
    ("ft.cat([X, X])", "ft.cat", "numpy.concatenate"),
    ("ft.jit(total)(X)", "ft.jit", "functier.compile"),
    ("ft.grad(lambda x: float(x) ** 2)(2.0)", "float(x)", "(x * 1.0)"),
    ("ft.vmap(ft.grad(lambda x: float(x) ** 2))(X)", "float(x)", "(x * 1.0)"),
    ("ft.hessian(lambda x: float(x) ** 2)(2.0)", "float(x)", "(x * 1.0)"),
    ("ft.compile(ft.vmap(lambda x: float(x) ** 2))(X)", "float(x)", "(x * 1.0)"),
    ("ft.vmap(lambda w, x: x @ w)(X, np.ones((10, 3)))", "x @ w)", "x @ w, in_dims=(None, 0))"),
    ("ft.vmap(total, in_axes=1)(M)", "in_axes=", "in_dims="),
    ("ft.grad(lambda x: x * 2)(X)", "x * 2", "numpy.sum(x * 2)"),
    ("ft.grad(lambda x: x * 2)(2)", "(2)", "(float(2))"),
    ("ft.grad(loss, argnum=1)(X, X)", "argnum=", "argnums="),
    ("ft.grad(lambda x: np.sum(x.detach() * x))(X)", "x.detach()", "functier.stop_gradient(x)"),
    ("ft.vmap(lambda x: x.unsqueeze(0))(M)", "x.unsqueeze(0)", "x[None]"),
    ("ft.grad(total)(torch)", "torch", "numpy.asarray(torch)"),
    ("ft.vmap(np.sin)(jax)", "jax", "numpy.asarray(jax)"),
    ("ft.grad(total)(leaf)", "leaf", "leaf.detach().numpy()"),
    ("ft.jvp(total, (X,), (torch,))", "torch", "numpy.asarray(torch)"),
    ("ft.compile(total)(torch)", "torch", "numpy.asarray(torch)"),
    ("ft.grad(np.sin)(X)", "ft.grad", "functier.jacrev"),
    ("ft.grad(ft.grad(lambda x: np.sum(x**3)))(X)", "ft.grad(ft", "functier.jacrev(ft"),
    ("ft.grad(lambda w: (M @ w - 1) ** 2)(X)", "(M @ w - 1) ** 2", "numpy.sum((M @ w - 1) ** 2)"),
    ("ft.grad(loss, argnums='w')(X, X)", "argnums='w'", "argnames='w'"),
    ("ft.autograd.grad(total)(X)", "ft.autograd.grad", "functier.grad"),
    ("ft.multigrad(loss)(X, X)", "ft.multigrad(loss)", "functier.grad(loss, argnums=(0, 1))"),
    ("ft.grad(total)(ft.Variable(X))", "ft.Variable(X)", "X"),
    ("ft.vmap(lambda x: x.mul(x))(M)", "x.mul(x)", "x * x"),
    ("ft.vmap(lambda x: x.add(1).div(2))(M)", "x.add(1).div(2)", "((x + 1) / 2)"),
    ("ft.grad(lambda x: x.clamp(0, 2).sum())(X)", "x.clamp(", "np.clip(x, "),
    ("ft.tensor(X).to('cuda')", "ft.tensor(X).to('cuda')", "ft.tensor(X)"),
    ("ft.grad(lambda x: np.relu(x).sum())(X)", "np.relu", "functier.nn.functional.relu"),
    ("ft.vmap(lambda x: np.unsqueeze(x, 0))(M)", "np.unsqueeze", "np.expand_dims"),
    ("ft.vmap(total, M)", "ft.vmap(total, M)", "ft.vmap(total)(M)"),
    ("ft.compile(total, X)", "ft.compile(total, X)", "ft.compile(total)(X)"),
    ("ft.grad(lambda x: ft.checkpoint(total, x))(X)", "(total, x)", "(total)(x)"),
    ("ft.hvp(total)(X, X)", "ft.hvp(total)(X, X)", "ft.hvp(total, (X,), (X,))"),
    ("ft.grad(lambda x: ft.cond(x > 0, x, -x))(1.0)", "x, -x", "lambda *_: x, lambda *_: -x"),
    ("ft.switch(1, [X, M])", "[X, M]", "[lambda *_: X, lambda *_: M]"),
    ("ft.vmap(lambda p: p['a'] * 2, in_dims={'a': 0})({'a': X})", "{'a': 0}", "({'a': 0},)"),
    ("ft.vmap(lambda x: x * 2)([1.0, 2.0])", "[1.0, 2.0]", "numpy.array([1.0, 2.0])"),
    ("ft.grad(lambda p, name='': total(p['w']))({'w': X, 'name': 'net'})", ", 'name': 'net'}",
     "}, 'net'"),
    ("ft.vmap(lambda x: np.sum(x, axis=1))(M)", "axis=1", "axis=0"),
    ("ft.jacfwd(lambda x: float(x) ** 2)(2.0)", "float(x)", "(x * 1.0)"),
]  # fmt: skip

SAID = {
    "X": "x itself", "": "leave it out: ", "numpy.sum(x * 2)": "return numpy.sum(y)",
    "(float(2))": "pass float(x)", "x @ w, in_dims=(None, 0))": "write in_dims=(None, 0)",
    "numpy.asarray(torch)": "a torch.Tensor, numpy.asarray(x)",
    "numpy.asarray(jax)": "a jax.Array, numpy.asarray(x)",
    "leaf.detach().numpy()": "a torch.Tensor, x.detach().numpy()",
    "ft.tensor(X)": "x itself for a device", "functier.jacrev(ft": "write functier.jacrev(f)",
    "numpy.sum((M @ w - 1) ** 2)": "return numpy.sum(y)",
    "functier.grad(loss, argnums=(0, 1))": "write functier.grad(f, argnums=(0, 1))",
    "x * x": "write x * y", "((x + 1) / 2)": "write x + y", "np.clip(x, ": "write np.clip(x, low",
    "ft.vmap(total)(M)": "in a second call, vmap(f)(x)",
    "ft.compile(total)(X)": "in a second call, compile(f)(x)",
    "(total)(x)": "in a second call, checkpoint(f)(x)",
    "ft.hvp(total, (X,), (X,))": "write hvp(f, (x,), (t,))",
    "lambda *_: x, lambda *_: -x": "lambda *_: x for a value x",
    "[lambda *_: X, lambda *_: M]": "lambda *_: x for a value x",
    "numpy.array([1.0, 2.0])": "numpy.array(x) for a list x of numbers",
    "}, 'net'": "the str by an argument other than args[0]",
    "axis=0": "it sees one example at a time, without the axes that are mapped",
}  # fmt: skip
"""The words of a message about what a row writes, where these are not the same."""


def refused(call):
    """Return the error of a call, and its text; a message that ends with the user's line."""
    with pytest.raises((AttributeError, TypeError, ValueError, ft.LevelError)) as caught:
        call()
    error = caught.value
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    places = traceback.extract_tb(error.__traceback__)
    assert not [at for at in places if at.filename.startswith(FILES)] and FILES[0] not in text
    return error, text


@pytest.mark.parametrize(("program", "wrong", "right"), ROWS, ids=[row[0] for row in ROWS])
def test_a_message_that_is_followed_literally_gives_a_program_that_works(program, wrong, right):
    assert wrong in program
    _, text = refused(lambda: eval(program, SPACE))
    for words in SAID.get(right, right).split(", ") if right in SAID else [right]:
        assert words in text
    eval(program.replace(wrong, right), SPACE)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("grad", lambda f: ft.vmap(ft.grad(f))(X)),
        ("hessian", lambda f: ft.hessian(f)(2.0)),
        ("jacfwd", lambda f: ft.jacfwd(f)(2.0)),
        ("jacrev", lambda f: ft.vmap(lambda x: ft.jacrev(f)(x))(X)),
        ("sparse_jacobian", lambda f: ft.sparse_jacobian(f)(X[:1])),
        ("grad", lambda f: ft.compile(ft.vmap(ft.grad(f)))(X)),
        ("grad", lambda f: ft.vmap(ft.grad(f), chunk_size=2)(X)),
        ("grad", lambda f: ft.grad(ft.checkpoint(f))(2.0)),
        ("grad", lambda f: ft.grad(ft.compile(f))(2.0)),
        ("linearize", lambda f: ft.linearize(f, 2.0)),
        ("hvp", lambda f: ft.hvp(f, (2.0,), (1.0,))),
    ],
)
def test_the_levels_were_made_in_the_line_of_the_user(name, call):
    error, _ = refused(lambda: call(float))

    line = call.__code__.co_firstlineno
    assert str(error).startswith((f"{name}(float): ", f"{name}(float) at depth 2: "))
    assert error.__notes__[-1].startswith("levels: Tensor <- ")
    assert error.__notes__[-1].endswith(f", made at {__file__}:{line}")


USES = {
    "operator": lambda x: x + 1, "reflected": lambda x: 1 - x, "unary": lambda x: -x,
    "compared": lambda x: x < 1, "ufunc": np.sin, "function": np.sum,
    "stack": lambda x: np.stack([x]), "rank": lambda x: x.ndim,
    "method": lambda x: x.sum(), "item": lambda x: x[0], "sort": lambda x: x.sort(),
    "property": lambda x: x.T, "shape": lambda x: x.shape, "dtype": lambda x: x.dtype,
    "size": lambda x: x.size, "float": float, "bool": bool, "array": np.asarray,
    "write": lambda x: x.__setitem__(0, 1.0), "augmented": lambda x: x.__iadd__(1.0),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("transform", [ft.grad, ft.vmap, lambda f: lambda x: ft.jvp(f, (x,), (x,))])
def test_a_tensor_that_has_escaped_shows_no_frame_of_functier(transform, use):
    kept = []
    transform(lambda x: kept.append(x) or np.sum(x))(M if transform is ft.vmap else X)

    error, text = refused(lambda: USES[use](kept[0]))
    assert type(error) is ft.EscapedTensorError
    assert "used after its level had ended; return it from the function" in text
    assert line_of(__file__, "transform(lambda x: kept") in text or transform not in (
        ft.grad,
        ft.vmap,
    )


def test_a_cell_is_named_as_the_notebook_does(monkeypatch):
    names = types.SimpleNamespace(format_code_name=lambda file: ("Cell", "In[3]"))
    shell = types.SimpleNamespace(compile=names)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    error, _ = refused(lambda: ft.grad(float)(2.0))
    assert error.__notes__[-1].partition(", made at ")[2].startswith("Cell In[3], line ")
    monkeypatch.setattr(names, "format_code_name", lambda file: None)
    assert f"made at {__file__}:" in refused(lambda: ft.grad(float)(2.0))[1]
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert f"made at {__file__}:" in refused(lambda: ft.grad(float)(2.0))[1]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [(lambda x: np.sum(x) / x.size(0), "write x.shape[0] for x.size(0)"),
     (lambda x: np.sum(x) / x.shape(0), "write x.shape[0] for x.shape(0)")],
)  # fmt: skip
def test_attributes_that_are_methods_elsewhere(wrong, right):
    _, text = refused(lambda: ft.grad(wrong)(X))

    assert right in text
    equal(ft.grad(lambda x: np.sum(x) / x.shape[0])(X), np.ones(3) / 3)


def test_an_error_of_numba_has_a_remedy():
    numba = pytest.importorskip("numba")
    doubled = numba.njit(lambda x: x * 2)
    with pytest.raises(numba.TypingError) as caught:
        ft.grad(lambda x: doubled(x))(1.0)

    assert "write h.py_func(x) for a compiled function h" in caught.value.__notes__[0]
    assert ft.grad(lambda x: doubled.py_func(x))(1.0) == 2.0
