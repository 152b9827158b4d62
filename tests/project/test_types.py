"""Types: what `Tensor` is declared to have, and typed code of a user, checked and run."""

import ast
import importlib.util
import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import functier as ft
from functier._core import methods

PACKAGE = Path(ft.__file__).parent
CODE = Path(__file__).parent.parent / "typed" / "user_code.py"
STUB = (PACKAGE / "_core" / "declared.pyi").read_text("utf-8")


def declared(text):
    """The functions that the class of a stub declares, by name."""
    (body,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return {node.name: node for node in body.body if isinstance(node, ast.FunctionDef)}


def tables():
    """The names of what `Tensor` gets from tables, without what raises."""
    made = {f"__{name}__" for name in (*methods.BINARY, *methods.COMPARISON, *methods.UNARY)}
    made |= {f"__{side}{name}__" for name in methods.BINARY for side in "ri"}
    made |= {*methods.METHODS, *methods.PROPERTIES, *methods.ORDERING, *methods.FORM}
    return made | {*methods.SIZES, "__getitem__", "dtype"}


def strange_parameters(text):
    """The parameters that a stub declares and that NumPy's function does not have."""
    for name, node in declared(text).items():
        meaning = {**methods.METHODS, **methods.ORDERING}.get(name)
        module = getattr(meaning, "__module__", "") or ""
        if module.partition(".")[0] != "numpy":
            continue
        taken = inspect.signature(meaning).parameters
        for argument in [*node.args.args[1:], *node.args.kwonlyargs]:
            if argument.arg not in taken:
                yield name, argument.arg


def test_tensors_are_declared_as_they_are():
    assert {*declared(STUB)} == tables()
    assert not list(strange_parameters(STUB))
    assert {*declared(STUB)} <= {*vars(ft.Tensor)}
    assert ft.Tensor.__base__ is object


@pytest.mark.parametrize(
    ("old", "new"),
    [("def ravel(self", "def ravels(self"), ("decimals: int = 0", "digits: int = 0"),
     ("    def conj(self) -> Self: ...\n", "")],
)  # fmt: skip
def test_a_wrong_declaration_is_found(old, new):
    text = STUB.replace(old, new)

    assert text != STUB
    assert {*declared(text)} != tables() or list(strange_parameters(text))


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").is_file()


def test_typed_code_of_a_user_runs():
    found = runpy.run_path(str(CODE))

    assert found["finished"].shape == (2, 3) and found["number"] == 12.0


def check(*command):
    """Run a type checker on the code; it must find nothing."""
    env = {**os.environ, "MYPYPATH": str(PACKAGE.parent), "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", cwd=CODE.parent)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_accepts_typed_code_of_a_user():
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is in the extra dev")
    mypy = sys.executable, "-m", "mypy", "--strict", "--config-file="
    code, text = check(*mypy, str(CODE))
    assert code == 0, text


def pyright():
    """The command of pyright on the path, or of basedpyright, which is in the extra dev."""
    own = Path(sys.executable).parent
    return shutil.which("pyright") or shutil.which("basedpyright", path=own)


@pytest.mark.slow
def test_pyright_accepts_typed_code_of_a_user(tmp_path):
    """It is asked for mistakes, too: a checker that takes everything for Any would find none."""
    command = pyright()
    if command is None:
        pytest.skip("pyright is not on the path, and basedpyright is in the extra dev")
    code, text = check(command, "--pythonpath", sys.executable, str(CODE))
    assert code == 0, text
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "# pyright: standard\nimport functier as ft\n\ndef f(x: ft.Tensor) -> None:\n"
        "    x.detach()\n\nft.vmap(3)\nft.grad(f, argnum=1)\n"
    )
    code, text = check(command, "--pythonpath", sys.executable, str(wrong))
    lines = {int(line) for line in re.findall(r"wrong\.py:(\d+):\d+ - error", text)}
    assert code and lines == {5, 7, 8}, text
