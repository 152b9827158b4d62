"""Transformed functions as objects: what they say, copies, pickles, methods, versions."""

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import issparse

import functier as ft

XS = np.arange(1.0, 4.0)


def f(x):
    """A function of a module, which pickles by its name."""
    return np.sum(x * x)


def shifted(x, by):
    return x + by


MADE = {
    "grad(f)": ft.grad(f),
    "grad(<lambda>)": ft.grad(lambda x: x),
    "value_and_grad(f)": ft.value_and_grad(f, escape="passthrough"),
    "grad_and_value(f)": ft.grad_and_value(f),
    "vmap(grad(f))": ft.vmap(ft.grad(f)),
    "vmap(shifted)": ft.vmap(shifted, in_dims=(0, None), chunk_size=2),
    "vmap(sin)": ft.vmap(np.sin, branches="split"),
    "jacrev(f)": ft.jacrev(f, chunk_size=1),
    "jacfwd(grad(f))": ft.jacfwd(ft.grad(f)),
    "hessian(f)": ft.hessian(f),
    "elementwise_grad(sin)": ft.elementwise_grad(np.sin),
    "checkpoint(f)": ft.checkpoint(f),
    "grad(checkpoint(f))": ft.grad(ft.checkpoint(f)),
    "compile(vmap(grad(f)))": ft.compile(ft.vmap(ft.grad(f)), backend="numpy"),
    "grad(compile(f))": ft.grad(ft.compile(f)),
    "sparse_jacobian(sin)": ft.sparse_jacobian(np.sin, mode="fwd"),
    "sparse_hessian(f)": ft.sparse_hessian(f, chunk_size=2),
    "jacobian_pattern(sin)": ft.jacobian_pattern(np.sin),
    "trace(grad(f))": ft.trace(ft.grad(f)),
}


@ft.vmap(in_dims=(0, None))
def decorated(x, by):
    """A decorated function."""
    return x + by


class Model:
    """A class with a transformed method."""

    @ft.vmap(in_dims=(None, 0))
    def doubled(self, x):
        return 2 * x


@pytest.mark.parametrize("name", MADE)
def test_the_text_says_what_it_is_and_of_what(name):
    assert repr(MADE[name]) == f"<functier.{name}>"


@pytest.mark.parametrize("name", [name for name in MADE if "lambda" not in name])
def test_it_pickles_where_the_function_does(name):
    made = MADE[name]
    args = (XS, 1.0) if "shifted" in name else (np.ones((2, 3)),) if "vmap(grad" in name else (XS,)
    again = pickle.loads(pickle.dumps(made))

    assert again is not made and repr(again) == repr(made)
    results = [g(*args) for g in (again, made)]
    if name.startswith("trace"):
        results = [program(*args) for program in results]
    if issparse(results[0]):
        results = [matrix.toarray() for matrix in results]
    np.testing.assert_equal(*results)
    if getattr(made, "options", None) is not None:
        assert all(
            getattr(again.options, key) == getattr(made.options, key)
            for key in ("escape", "chunk_size", "has_aux", "in_dims")
            if hasattr(made.options, key)
        )


def test_a_lambda_does_not_pickle_and_a_decorated_function_is_found_by_its_name():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(MADE["grad(<lambda>)"])
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.copy(decorated) is copy.deepcopy([decorated])[0] is decorated


def test_it_has_the_form_of_the_function():
    assert decorated.__name__ == "decorated" and decorated.__doc__ == "A decorated function."
    assert [*inspect.signature(decorated).parameters] == ["x", "by"]
    assert inspect.unwrap(MADE["grad(checkpoint(f))"]) is f
    np.testing.assert_array_equal(Model().doubled(XS), 2 * XS)
    assert Model.doubled is vars(Model)["doubled"]


def test_a_call_adds_no_frame():
    """The function that computes is in a slot of the object: a method would cost a frame."""
    depths = []

    def depth(x):
        depths.append(len(inspect.stack()))
        return x

    ft.vmap(depth)(XS)
    ft.vmap(depth).__call__(XS)
    assert depths[0] == depths[1]


def test_what_compile_explains_is_shown_line_by_line():
    compiled = ft.compile(f, backend="numpy")
    compiled(XS)
    text = compiled.explain()

    assert repr(text) == str(text) and "\n" in repr(text)


def test_versions_are_printed_by_a_function_and_by_the_package(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FUNCTIER_CACHE", str(tmp_path))
    (tmp_path / "a.functier").write_bytes(b"x" * 2**20)
    ft.show_versions()
    text = capsys.readouterr().out
    done = subprocess.run([sys.executable, "-m", "functier"], capture_output=True, encoding="utf-8")

    assert done.stdout == text
    assert f"functier {ft.__version__}\nPython " in text and f"\nnumpy {np.__version__}\n" in text
    assert f"{tmp_path}, 1 files, 1.0 MB" in text
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    monkeypatch.setattr("importlib.metadata.version", missing)
    ft.show_versions()
    text = capsys.readouterr().out
    assert "off (FUNCTIER_CACHE=0)" in text
    assert "llvmlite is not installed (extra compile)" in text


def missing(name):
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)
