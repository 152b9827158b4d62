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
import time
from pathlib import Path

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from functier._core import hidden, methods

pytestmark = pytest.mark.inside("Stubs are compared with the tables of methods.")

PACKAGE = Path(ft.__file__).parent
CODE = Path(__file__).parent.parent / "typed" / "user_code.py"
CALLS = CODE.with_name("calls.py")
STUB = (PACKAGE / "_core" / "declared.pyi").read_text("utf-8")


def declared(text):
    """The functions that the class of a stub declares, by name."""
    (body,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return {node.name: node for node in body.body if isinstance(node, ast.FunctionDef)}


def tables():
    """The names of what `Tensor` gets from tables, without what raises."""
    made = {f"__{name}__" for name in (*methods.BINARY, *methods.COMPARISON, *methods.UNARY)}
    made |= {f"__{side}{name}__" for name in methods.BINARY for side in "ri"}
    made |= {*methods.METHODS, *methods.PROPERTIES, *methods.ORDERING, *hidden.FORM}
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


# ---- the types of calls ----


def expected(place):
    """The types that the comments of the calls have, by lines: those of mypy, or of pyright."""
    lines = enumerate(CALLS.read_text("utf-8").splitlines(), 1)
    said = {n: text.rpartition("  # ")[2] for n, text in lines if text.startswith("reveal_type(")}
    return {n: text.split("; ")[place if "; " in text else 0] for n, text in said.items()}


def shortened(text):
    """A type as the comments have it: an array by this word, and names without their modules."""
    text = re.sub(r"tuple\[.*, fallback=(.*)\]", r"\1", text)
    text = re.sub(r"[a-zA-Z_]\w*\.(?=\w)", "", text)
    while (found := text.find("ndarray[")) >= 0:
        end, depth = found + len("ndarray["), 1
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = f"{text[:found]}array{text[end:]}"
    return text


def revealed(pattern, text):
    return {int(line): shortened(kind) for line, kind in re.findall(pattern, text)}


def fits(value, kind):
    """Tell if a value has a type that a comment says."""
    if kind.endswith("]"):
        head, _, items = kind[:-1].partition("[")
        if head == "dict":
            return all(fits(x, items.split(", ")[1]) for x in value.values())
        items = re.split(r", (?![^\[]*\])", items)
        items = items[:1] * len(value) if items[-1] == "..." else items
        return type(value) is tuple and all(map(fits, value, items))
    kinds = {"array": np.ndarray, "float64": np.float64, "float": float, "str": str}
    kinds["Generator"] = ft.random.Generator
    return type(value).__name__ == kind or isinstance(value, kinds.get(kind, ()))


def test_calls_have_the_types_that_checkers_reveal(monkeypatch):
    found = []
    monkeypatch.setattr("typing.reveal_type", found.append)
    runpy.run_path(str(CALLS))
    kinds = [*expected(0).values()]

    assert len(found) == len(kinds) > 30
    wrong = [(x, kind) for x, kind in zip(found, kinds) if kind != "Any" and not fits(x, kind)]
    assert not wrong
    assert not fits(1.0, "array") and not fits((1.0, found[0]), "tuple[array, float]")


@pytest.mark.slow
def test_mypy_reveals_the_types_of_calls():
    code, text = check(*mypy(), str(CALLS))

    assert code == 0, text
    assert revealed(r'py:(\d+): note: Revealed type is "(.*)"', text) == expected(0)


@pytest.mark.slow
def test_pyright_reveals_the_types_of_calls():
    code, text = check(*pyright(), str(CALLS))

    assert code == 0, text
    assert revealed(r"py:(\d+):\d+ - information: Type of .* is \"(.*)\"", text) == expected(1)


def completions(text):
    """The names that jedi completes at the end of a program."""
    jedi = pytest.importorskip("jedi", reason="jedi is in the extra test")
    here = jedi.create_environment(sys.prefix, safe=False)
    found = jedi.Script(text, environment=here).complete()
    return {name.name for name in found if name.name[0] != "_"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "names"),
    [*[(f"import functier as ft\nft.{name}.", getattr(ft, name).__all__)
       for name in ("debug", "errors", "modes", "nn", "optim", "overrides", "progress",
                    "protocol", "random", "testing")],
     ("import functier.nn.functional as F\nF.", ft.nn.functional.__all__),
     ("import functier.nn.init as init\ninit.", ft.nn.init.__all__),
     ("import functier as ft\nft.vma", ["vmap"]),
     ("import functier as ft\nft.vmap(abs, chunk", ["chunk_size="]),
     ("import functier as ft\nft.grad(abs, argn", ["argnames=", "argnums="]),
     ("import functier as ft\nft.jacfwd(abs, randomn", ["randomness="]),
     ("import functier as ft\nft.vjp(abs, 1.0, allow", ["allow_int="]),
     ("import functier as ft\nft.optim.adam(p, g, s, learn", ["learning_rate="]),
     ("import functier as ft\nwith ft.vmap() as B:\n    B.unw", ["unwrap"]),
     ("import functier as ft\nwith ft.grad() as G:\n    G.grad", ["gradient"]),
     ("import functier as ft\nft.compile(abs).expl", ["explain"]),
     ("import functier.numpy as np\nnp.arcta", ["arctan", "arctan2", "arctanh"]),
     ("import functier.numpy as np\nnp.arr", ["array", "array2string", "array_equal",
      "array_equiv", "array_repr", "array_split", "array_str"]),
     ("import functier.numpy as np\nnp.zer", ["zeros", "zeros_like"]),
     ("import functier.numpy as np\nnp.linalg.sv", ["svd", "svdvals"]),
     ("import functier.numpy as np\nnp.fft.rf", ["rfft", "rfft2", "rfftfreq", "rfftn"]),
     ("import functier.numpy as np\nnp.zeros(3).su", ["sum"]),
     ("import functier.scipy.special as sp\nsp.logsum", ["logsumexp"])],
)  # fmt: skip
def test_jedi_completes_public_names(text, names):
    assert completions(text) == {*names}


@pytest.mark.slow
@pytest.mark.parametrize("module", [ft, fnp, fnp.fft, fnp.linalg, ft.scipy.stats])
def test_jedi_lists_a_namespace_in_two_seconds(module):
    text = f"import {module.__name__} as module\nmodule."
    completions(text)  # what jedi reads is kept
    start = time.process_time()
    found = completions(text)

    assert time.process_time() - start < 2
    assert found ^ {n for n in dir(module) if n[0] != "_"} <= UNTYPED


UNTYPED = {"core", "f2py", "float128", "complex256", "Generator"}
"""Names of NumPy that are deprecated, or of some machines; and a class that NumPy has elsewhere."""


@pytest.mark.slow
def test_jedi_knows_the_names_in_calls():
    jedi = pytest.importorskip("jedi", reason="jedi is in the extra test")
    text = CALLS.read_text("utf-8")
    script = jedi.Script(text, environment=jedi.create_environment(sys.prefix, safe=False))
    used = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    own = [n for n in used if isinstance(n.value, ast.Name) and n.value.id in ("ft", "fnp", "fla")]
    unknown = [n.attr for n in own if not script.infer(n.end_lineno, n.end_col_offset - 1)]

    assert len(own) > 40 and not unknown


# ---- typed code ----


def check(*command):
    """Run a type checker on the code; it must find nothing."""
    env = {**os.environ, "MYPYPATH": str(PACKAGE.parent), "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", cwd=CODE.parent)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_accepts_typed_code_of_a_user(tmp_path):
    code, text = check(*mypy(), str(CODE))
    assert code == 0, text
    assert mistakes(tmp_path, r"wrong\.py:(\d+): error", *mypy()) == WRONG


WRONG = {5, 7, 8, 10, 15, 16, 17}
"""The lines of `mistakes` that a checker refuses."""


def mistakes(folder, pattern, *command):
    """The lines in which a checker finds mistakes: one that takes all for Any would find none."""
    wrong = folder / "wrong.py"
    wrong.write_text(
        "# pyright: standard\nimport functier as ft\n\ndef f(x: ft.Tensor) -> None:\n"
        "    x.detach()\n\nft.vmap(3)\nft.grad(f, argnum=1)\n"
        "with ft.vmap() as B:\n    B.unwraps(1.0)\n\ndef scalar(x: float) -> float:\n"
        "    return x * x\n\nft.grad(scalar)('a')\nft.value_and_grad(scalar)('a')\n"
        "ft.grad_and_value(scalar)('a')\n"
    )
    code, text = check(*command, str(wrong))
    assert code
    return {int(line) for line in re.findall(pattern, text)}


def pyright():
    """The command of pyright on the path, or of basedpyright, which is in the extra dev."""
    if command := shutil.which("pyright"):
        return command, "--pythonpath", sys.executable
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("pyright is not on the path, and basedpyright is in the extra dev")
    return sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable


def mypy():
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is in the extra dev")
    return sys.executable, "-m", "mypy", "--strict", "--config-file="


@pytest.mark.slow
def test_pyright_accepts_typed_code_of_a_user(tmp_path):
    command = pyright()
    code, text = check(*command, str(CODE))
    assert code == 0, text
    assert mistakes(tmp_path, r"wrong\.py:(\d+):\d+ - error", *command) == WRONG
