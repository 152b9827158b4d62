"""Make the notebooks in ``examples`` from tutorials of the site, and run them.

    .venv/bin/python design/site/notebooks.py

Each has the text and the code of its page, as cells, and the results of running them. The tests
compare both with the page. A page that makes a ``picture`` shows that, from the folder ``design``.
It needs the extra ``docs``.
"""

import doctest
import json
import os
import posixpath
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import build

NOTEBOOKS = {
    "autodiff": "tutorials/autodiff.md",
    "fitting": "tutorials/fitting.md",
    "per_sample_gradients": "tutorials/per-sample-gradients.md",
}
"""The notebooks in ``examples``, and the pages that they have the text of."""

LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def path_of(name: str) -> Path:
    return build.EXAMPLES / f"{name}.ipynb"


def text_of(name: str) -> str:
    """Return the text of a page, with links that lead to files from the folder of examples."""
    page = NOTEBOOKS[name]
    files = {build.place(path): path for path in build.PAGES.rglob("*.md")} | build.sources()
    root = build.ROOT.as_posix()

    def link(match: re.Match) -> str:
        if re.match(r"[a-z]+:", match[2]):
            return match[0]
        found = files[posixpath.normpath(posixpath.join(posixpath.dirname(page), match[2]))]
        return f"[{match[1]}]({posixpath.relpath(found.as_posix(), f'{root}/examples')})"

    text = (build.PAGES / page).read_text(encoding="utf-8")
    return LINK.sub(link, text)


def code_cells(block: str) -> list[tuple[str, str]]:
    """Return the cells of a block: (code, what it shows). A result ends a cell."""
    if ">>>" not in block:
        return [(block.strip("\n"), "")]
    cells, code, last = [], "", ""
    for example in doctest.DocTestParser().get_examples(block):
        if example.exc_msg:
            raise ValueError(f"a notebook cannot go on after an error: {example.source}")
        apart = any(re.match("def |class |@", source) for source in (last, example.source))
        code += "\n" * bool(code and apart) + example.source
        last = example.source
        if example.want:
            cells.append((code.strip("\n"), example.want.strip("\n")))
            code = ""
    return [*cells, (code.strip("\n"), "")] if code else cells


def cells_of(name: str) -> list[tuple[str, str, str]]:
    """Return the cells of a notebook: (kind, source, what it shows)."""
    cells: list[tuple[str, str, str]] = []
    for i, part in enumerate(BLOCK.split(text_of(name))):
        if i % 2:
            cells += [("code", *cell) for cell in code_cells(textwrap.dedent(part))]
        elif part.strip():
            cells.append(("markdown", part.strip("\n"), ""))
    return cells


def notebook(name: str) -> dict[str, Any]:
    """Return a notebook without results."""
    cells = []
    for n, (kind, source, _) in enumerate(cells_of(name)):
        cell = {"cell_type": kind, "id": f"cell-{n}", "metadata": {}, "source": source}
        cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def run(made: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the results of its code."""
    import nbformat
    from nbclient import NotebookClient

    node = nbformat.from_dict(made)
    metadata = made["metadata"]
    folder = {"metadata": {"path": str(build.EXAMPLES)}}
    client = NotebookClient(node, timeout=300, record_timing=False, resources=folder)
    client.execute(env={**os.environ, "FUNCTIER_PROGRESS": "0"})  # a bar is of one run alone
    return {**json.loads(nbformat.writes(node)), "metadata": metadata}


def write(name: str) -> None:
    made = run(notebook(name))
    text = json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True)
    path_of(name).write_text(text + "\n", encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    for kind, source, _ in cells_of(name):
        if kind == "code":
            exec(source, names)
    if picture := names.get("picture"):
        (build.DESIGN / f"{name}.png").write_bytes(picture.getvalue())


if __name__ == "__main__":
    for name in NOTEBOOKS:
        print(path_of(name))
        write(name)
