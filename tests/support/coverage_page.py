"""The page `design/coverage.md`: each function of NumPy under each transform.

The entries follow from the declarations of the operations and from the rows of the sample table.
``python tests/support/coverage_page.py`` writes the page.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import optree

PAGE = Path(__file__).resolve().parents[2] / "design" / "coverage.md"
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where the package `support` is

import functier as ft  # noqa: E402
from functier._core.table import UNSUPPORTED  # noqa: E402
from functier.protocol import Op  # noqa: E402
from functier.testing import operations  # noqa: E402
from samples._row import Row  # noqa: E402
from support.surface import called, surface  # noqa: E402

HEAD = """\
# Coverage

This page lists every function that NumPy lets other libraries override, as
`numpy.testing.overrides` gives them, and how it behaves under each transform.
`python tests/support/coverage_page.py` writes the page from the table of operations and from the
samples that the tests run, and a test checks that it is up to date.

- **vmap**. *yes*: one call for the whole batch. *loop*: one call for each example, with a
  warning. *refuses*: the shape of the result depends on the data.
- **jvp**, **vjp**. *yes*: the function can be differentiated, any number of times unless the note
  says *first order*. *zero*: the result is constant almost everywhere, and leaves the
  differentiating level.
- *no*: the note says why.

A function that is made of other functions behaves as they do.
"""


def verdict(func: Callable, record: Op | None, rows: list) -> tuple[str, str, str, str]:
    """Return the words for vmap, jvp and vjp, and a note."""
    if func in UNSUPPORTED:
        return "no", "no", "no", UNSUPPORTED[func]
    assert record is not None
    batched = [r for r in rows if r.vmap]
    if record.family == "writing":
        vmap = "yes"
    elif rows and not batched:
        vmap = "refuses"
    elif rows:
        vmap = "loop" if all(r.loop for r in batched) else "yes"
    else:
        vmap = "loop" if record.body is None and record.vmap is None else "yes"
    if record.body is None:
        forward, backward = bool(record.jvp), bool(record.vjp)
    elif record.body is func:  # it makes an array; what else its rows call may vary
        forward = backward = False
    else:
        forward = backward = any(map(moves, rows))
    if record.family == "writing":
        words = ["yes", "yes"]
    else:
        words = ["yes" if has else "zero" for has in (forward, backward)]
    return vmap, *words, "; ".join(notes(record, rows, batched))  # type: ignore[return-value]


def moves(row: Row) -> bool:
    """Tell if the result of a row varies continuously with its operands."""
    floats = [i for i, x in enumerate(row.leaves) if x.dtype.kind in "fc"]
    try:
        return moves_by(row, floats)
    except ft.NoRuleError:
        return moves_by(row, row.differentiated())


def moves_by(row: Row, chosen: Collection[int]) -> bool:
    """The same for some of its operands."""
    with warnings.catch_warnings(), ft.grad() as G:
        warnings.simplefilter("ignore")
        out = row.call(*[G(x) if i in chosen else x for i, x in enumerate(row.leaves)])
        return any(type(y) is G for y in optree.tree_leaves(out))


def notes(record: Op, rows: list, batched: list) -> list[str]:
    found = []
    if record.family == "writing":
        found.append("writes into its first argument, a tensor or an array of `functier.numpy`")
    if max([r.order for r in rows if r.differentiated()], default=0) == 1:
        found.append("first order")
    if record.body is None and record.vjp:
        without = [n for n in record.arrays if n not in record.vjp and n not in NO_NUMBERS]
        if without:
            found.append("no derivative by " + ", ".join(f"`{n}`" for n in without))
    loops = [r for r in batched if r.loop]
    if loops and len(loops) < len(batched):
        found.append("a loop for some arguments")
    if any(not r.vmap for r in rows) and batched:
        found.append("refuses a batched argument that decides the shape")
    if record.func in ONE_TRIANGLE:
        found.append(f"the derivative is that of the triangle that is read: see {KINKS}")
    if record.func in (np.linalg.svd, np.linalg.pinv):
        found.append(f"with `hermitian=True` the same as `eigh`: see {KINKS}")
    return found


KINKS = "[note 9](0009-kinks-and-nans.md)"
ONE_TRIANGLE = {np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh}
NO_NUMBERS = {"where", "condition", "indices", "axes", "repeats", "sorter"}
"""Operands that are masks, places and counts."""


def version() -> str:
    """Return the major and minor version of NumPy."""
    return ".".join(np.__version__.split(".")[:2])


def entries(only: Collection[str] | None = None) -> dict[str, tuple]:
    """The words and the note of each function, or of some, by its name."""
    return {
        name: verdict(func, operations().get(func), called().get(func, []))
        for name, func in sorted(surface().items())
        if only is None or name in only
    }


def stored(text: str) -> dict[str, tuple]:
    """The same, as a page has it: this one or SciPy's."""
    found, owner = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            owner = line[3:]
        elif line.startswith("| `"):
            name, *words = [cell.strip() for cell in line.split("|")[1:-1]]
            prefix = owner.removeprefix("scipy.") if owner.startswith("scipy.") else "numpy"
            found[f"{prefix}.{name.strip('`')}"] = tuple(words)
    return found


def page(found: dict[str, tuple]) -> str:
    counts: Counter = Counter()
    by_module: dict[str, list[str]] = {}
    for name, (*words, note) in found.items():
        counts.update(zip(("vmap", "jvp", "vjp"), words))
        owner = name.rpartition(".")[0]
        by_module.setdefault(owner, []).append(
            f"| `{name.removeprefix('numpy.')}` | {' | '.join(words)} | {note} |"
        )
    lines = [
        HEAD,
        f"NumPy {version()}, {len(found)} functions:",
        "",
        "| | yes | zero | loop | refuses | unsupported |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for mode in ("vmap", "jvp", "vjp"):
        cells = [str(counts[mode, word]) for word in ("yes", "zero", "loop", "refuses", "no")]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    for owner, rows in by_module.items():
        lines += ["", f"## {owner}", "", "| function | vmap | jvp | vjp | note |"]
        lines += ["|---|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(entries()))
