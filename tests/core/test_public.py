"""The public modules: `dir`, stars, and the form of the docstrings."""

import importlib
import inspect
import re
import types

import numpy as np
import pytest
import scipy

import functier as ft
from support.public import LISTED, MODULES, shown

SECTIONS = [
    "Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes",
    "References", "Examples",
]  # fmt: skip
"""The sections of numpydoc, in their order."""


def test_these_are_the_public_modules():
    expected = (
        "debug errors modes nn nn.functional nn.init numpy ops optim overrides progress "
        "protocol random scipy testing"
    ).split()
    assert MODULES == ["functier", *[f"functier.{name}" for name in expected]]


def test_dir_shows_public_names_only():
    for name in LISTED:
        module = importlib.import_module(name)
        assert dir(module) == sorted(module.__all__)
    assert {*dir(ft)} == {*ft.__all__, *ft._MODULES, "compile", "map"}
    assert dir(ft.numpy) == dir(np)
    assert dir(ft.scipy) == dir(scipy)
    assert {*dir(ft.ops)} >= {"numpy", "scipy"}


@pytest.mark.parametrize("name", ["functier", *LISTED])
def test_what_is_shown_belongs_to_the_package(name):
    """No module but those inside of it, and nothing that was imported from elsewhere."""
    for n, value in shown(name).items():
        assert n[0] != "_"
        if isinstance(value, types.ModuleType):
            assert value.__name__ == f"{name}.{n}"
        else:
            assert value.__module__.partition(".")[0] == "functier", n


def test_all_errors_are_in_one_module_and_at_the_top():
    found, waiting = set(), [Exception]
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        if error.__module__.partition(".")[0] == "functier" and error.__name__ != "Broken":
            found.add(error)
    assert {*shown("functier.errors").values()} >= found
    for name, error in shown("functier.errors").items():
        assert getattr(ft, name) is error and f"`{name}`" in ft.errors.__doc__


@pytest.mark.parametrize("name", ["functier", *LISTED])
def test_docstrings_are_numpydoc(name):
    """Functions have examples; sections stand in the order of numpydoc."""
    for n, value in shown(name).items():
        if isinstance(value, types.ModuleType):
            continue
        text = inspect.getdoc(value)
        titles = re.findall(r"^(.+)\n-{3,}$", text, re.MULTILINE)
        assert re.match(r"\S", text) and not set(titles) - set(SECTIONS), n
        assert titles == sorted(titles, key=SECTIONS.index), n
        assert isinstance(value, type) or "Examples" in titles, n


NOT_CALLED = {
    "Call", "Exported", "Function", "Level", "Op", "Program", "RemovableHandle", "Rule",
}  # fmt: skip
"""Classes that users do not make instances of: one is subclassed, functier makes the others."""


def names_in(text, section):
    """The names of a section of a docstring in the form of numpydoc."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}$|\Z)", text, re.M | re.S)
    lines = re.findall(r"^(\S[^:\n]*?)(?: : .*)?$", found[1] if found else "", re.M)
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def parameters_that_differ(value):
    """The parameters that only the signature has, or only the docstring."""
    taken = {*inspect.signature(value).parameters}
    if value is ft.Tensor:
        taken -= {"args", "kwargs"}  # of subclasses
    said = names_in(inspect.getdoc(value), "Parameters")
    if isinstance(value, type) and issubclass(value, tuple):
        said = names_in(inspect.getdoc(value), "Attributes")  # of a tuple with names
    return taken ^ said


@pytest.mark.parametrize("name", ["functier", *LISTED])
def test_docstrings_have_each_parameter(name):
    for n, value in shown(name).items():
        error = isinstance(value, type) and issubclass(value, BaseException)
        if callable(value) and not error and n not in NOT_CALLED:
            assert not parameters_that_differ(value), n


def test_a_parameter_that_is_not_documented_is_found():
    def f(x, *rest, y=1):
        """Return one.

        Parameters
        ----------
        x : array
            With a: colon.
        *rest, z : array

        Examples
        --------
        >>> 1
        1
        """

    assert parameters_that_differ(f) == {"y", "z"}
