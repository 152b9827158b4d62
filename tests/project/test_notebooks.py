"""The notebooks in `examples` have the text and code of their pages, and what these show."""

import doctest
import importlib.util
import json
import os
import sys

import pytest

import functier
from support.site_pages import build

spec = importlib.util.spec_from_file_location("site_notebooks", build.SITE / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)

each_notebook = pytest.mark.parametrize("name", notebooks.NOTEBOOKS)


def saved(name):
    return json.loads(notebooks.path_of(name).read_text(encoding="utf-8"))


def shown(cell):
    """The text that a cell of code shows: what it prints, and the value of its last line."""
    parts = []
    for output in cell["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain")
        assert text, output["output_type"]
        parts.append("".join(text).strip("\n"))
    return "\n".join(parts)


def faults(name, made):
    """The cells of a notebook that differ from the page, or show something else."""
    cells = [(c["cell_type"], "".join(c["source"])) for c in made["cells"]]
    expected = notebooks.cells_of(name)
    if cells != [(kind, source) for kind, source, _ in expected]:
        return ["cells"]
    same = doctest.OutputChecker().check_output
    return [
        source
        for cell, (kind, source, want) in zip(made["cells"], expected)
        if kind == "code" and not same(want, shown(cell), doctest.ELLIPSIS)
    ]


def test_these_are_the_notebooks():
    assert {p.stem for p in build.EXAMPLES.glob("*.ipynb")} == {*notebooks.NOTEBOOKS}


@each_notebook
def test_a_notebook_is_that_of_its_page(name):
    """If this fails, run ``design/site/notebooks.py``."""
    assert not faults(name, saved(name))


@each_notebook
def test_the_links_of_a_notebook_lead_to_files(name):
    text = notebooks.text_of(name)
    links = [target for _, target in notebooks.LINK.findall(text) if ":" not in target]

    assert links and all((build.EXAMPLES / target).is_file() for target in links)


def test_faults_of_a_notebook_are_found():
    name = "fitting"
    other_code, other_result = saved(name), saved(name)
    other_code["cells"][1]["source"] = ["import numpy as np"]
    cell = next(c for c in other_result["cells"] if c.get("outputs"))
    cell["outputs"][0]["data"]["text/plain"] = ["(4,)"]

    assert faults(name, other_code) == ["cells"]
    assert faults(name, other_result) == ["".join(cell["source"])]


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs(name, monkeypatch):
    for module in "nbclient", "ipykernel":
        pytest.importorskip(module, reason="needs the extra docs", exc_type=ImportError)
    paths = [os.path.dirname(os.path.dirname(functier.__file__)), *filter(None, sys.path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    assert not faults(name, notebooks.run(notebooks.notebook(name)))
