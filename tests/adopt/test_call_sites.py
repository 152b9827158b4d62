"""The call sites in code objects are those of the syntax tree, in real source files."""

import ast
import builtins
import dis
import importlib.util

import numpy as np
import pytest

from functier._cpython.call_sites import Names, rewrite
from functier._cpython.code import loads_in

CALLED = {
    "float",
    "int",
    "max",
    "min",
    "sorted",
    "isinstance",
    "str",
    "len",
    "type",
    "tuple",
    "getattr",
}
FILES = [
    "argparse", "ast", "asyncio.base_events", "contextlib", "dataclasses", "csv",
    "enum", "fractions", "functools", "inspect", "numpy.lib._function_base_impl", "statistics",
    "tarfile", "textwrap", "turtle", "typing", "unittest.mock",
]  # fmt: skip


def names():
    aliases = {id(getattr(builtins, name)): f"_functier {name}" for name in CALLED}
    nothing = lambda *_: None  # noqa: E731
    return Names({}, lambda value: aliases.get(id(value)), nothing, nothing, nothing)


def place(instruction):
    return instruction.positions.lineno, instruction.positions.col_offset


def sites(code, prefix=""):
    """The places of the globals that are looked up by a name with this prefix."""
    return {
        (i.argval.removeprefix(prefix), *place(i))
        for inner in loads_in(code)
        for i in dis.get_instructions(inner)
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME") and i.argval.startswith(prefix)
    }


@pytest.mark.parametrize("name", FILES)
def test_calls_are_those_of_the_syntax_tree(name):
    spec = importlib.util.find_spec(name)
    if spec is None:
        pytest.skip(f"no {name}")
    text = spec.loader.get_source(name)
    code, tree = compile(text, name, "exec"), ast.parse(text)
    calls = {
        (n.func.id, n.func.lineno, n.func.col_offset)
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in CALLED
    }
    new = rewrite(code, names())
    found = sites(new, "_functier ")

    assert found == calls & sites(code)
    assert found


def test_the_code_is_otherwise_the_same():
    code = np.polyfit.__wrapped__.__code__ if hasattr(np.polyfit, "__wrapped__") else None
    code = code or np.polyfit._implementation.__code__
    new = rewrite(code, names())

    assert new is not code and rewrite(new, names()) is new
    for name in dir(code):
        if name.startswith("co_") and name not in ("co_names", "co_code", "co_lnotab"):
            if not callable(getattr(code, name)):
                assert getattr(new, name) == getattr(code, name), name
    assert list(new.co_positions()) == list(code.co_positions())
