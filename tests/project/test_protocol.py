"""The public protocol: its names are few, documented, and all that outsiders need."""

import ast
import importlib.metadata
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from functier import protocol
from functier._core import table
from functier._core.numpy_facts import HOMES, name_of
from support.sources import tree_of

pytestmark = pytest.mark.inside("An entry point is looked up anew.")

ROOT = Path(__file__).parents[2]
NOTE = (ROOT / "design" / "0018-the-protocol.md").read_text("utf-8")
OUTSIDERS = "package_rules", "single_precision"


def listed():
    """Return the names of the protocol by the table of the note, with their attributes."""
    section = NOTE.partition("## Packages and kinds of level")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|(.*)\|$", section, re.MULTILINE)
    return {
        name: re.findall(r"`(\w+)`", attributes)
        for names, attributes in rows
        for name in re.findall(r"`(\w+)`", names)
    }


def test_at_most_40_names():
    names = listed()

    assert set(names) == {*protocol.__all__}
    assert len(protocol.__all__) + sum(map(len, names.values())) <= 40


def test_each_attribute_exists_and_has_a_text():
    op = table.find(np.sin)
    samples = {"Op": op, "Rule": op.vjp["x"], "Call": op.bind((1.0,), {}), "Tensor": ft.Tensor}
    samples["Level"] = protocol.run(protocol.Level, "level", [], lambda level: level)
    for name, attributes in listed().items():
        for attribute in attributes:
            found = getattr(samples[name], attribute)
            text = getattr(protocol, name, ft.Tensor).__doc__
            if isinstance(found, type) or not callable(found) or name == "Op":
                assert re.search(rf"^ +(\w+, )*{attribute}(, \w+)* : ", text, re.MULTILINE), (
                    attribute
                )
            else:
                assert found.__doc__ or name == "Rule", attribute


def test_dir_of_a_kind_shows_what_is_promised_and_what_it_adds():
    class Counting(protocol.Level):
        count = 0

    promised = {name for name in dir(protocol.Level) if not name.startswith("_")}
    assert promised == {*listed()["Level"]}
    assert {*dir(Counting)} - {*dir(protocol.Level)} - {*vars(Counting)} == set()
    assert "count" in dir(Counting)


def test_the_examples_are_outsiders():
    for name in OUTSIDERS:
        path = ROOT / "examples" / f"{name}.py"
        nodes = list(ast.walk(tree_of(path)))
        modules = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module}
        private = [
            n.attr for n in nodes if isinstance(n, ast.Attribute) and re.match("_[^_]", n.attr)
        ]

        assert {m for m in modules if "functier" in m} <= {"functier", "functier.protocol"}
        assert not private
        assert len(path.read_text("utf-8").splitlines()) <= 72


def test_rules_of_a_ufunc_are_found_by_an_entry_point(monkeypatch):
    """A ufunc does not know its package, so all packages with rules are asked."""
    package = types.ModuleType("kinks")
    package.twice = twice = np.frompyfunc(lambda x: x + x, 1, 1)
    setattr(package, twice.__name__, twice)
    entry = importlib.metadata.EntryPoint("kinks", "kinks.rules", "functier.rules")
    imported = []

    def load(name):
        imported.append(name)
        protocol.op(twice, "x", vjp={"x": lambda g: g + g})

    monkeypatch.setitem(sys.modules, "kinks", package)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [entry])
    monkeypatch.setattr(table, "packages", table.packages.__wrapped__)
    monkeypatch.setattr(table, "import_module", load)
    try:
        found, name = table.find(twice), name_of(twice)
    finally:
        HOMES.remove("kinks")
        table.OPS.pop(twice, None)

    assert imported == ["kinks.rules"] and list(found.vjp) == ["x"]
    assert name == f"kinks.{twice.__name__}"
