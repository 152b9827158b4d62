"""The sample table: one module a family, each with a list `ROWS`."""

import functools
import importlib
import pkgutil

from ._row import Row

ESPECIALLY = {
    "by_value.power-d[3],l[3]",
    "elementwise.clip-d[2,3],d[3],d[2,1]",
    "elementwise.heaviside-d[3],d[3]#2",
    "elementwise.remainder-d[2,1],d[3]",
    "elementwise.sign-D[3]",
    "histogram.histogram-d[9]-fd#2",
    "indexing.delete-d[4],l[3]",
    "indexing.where-d[3],d[3]-0.0",
    "linalg.cond-d[3,3]-1",
    "reduction.nanmax-d[2,3]-axis=0,keepdims=True",
    "reduction.nanmin-d[2,3]-axis=0,keepdims=True",
    "scipy_special.chdtr-d[3]-3.0",
    "scipy_special.gammaincinv-d[3]-1.5",
    "scipy_special.stdtr-d[3]-3.0",
}
"""The rows that run a rule, and find it wrong, which the first row of no function does."""


@functools.cache
def families() -> dict[str, list[Row]]:
    """The rows of every family module in this folder, by the module's name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_")
    return {name: importlib.import_module(f"{__name__}.{name}").ROWS for name in names}


def named() -> dict[str, Row]:
    """Every row by an id that does not change from run to run: family, call, number."""
    return dict(_named())


@functools.cache
def _named() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for family, members in families().items():
        for row in members:
            name, number = f"{family}.{row}", 2
            while name in rows:
                name, number = f"{family}.{row}#{number}", number + 1
            rows[name] = row
    return rows


def firsts() -> dict[str, Row]:
    """The first row of each function."""
    found: dict = {}
    for name, row in named().items():
        found.setdefault(row.name or row.func, (name, row))
    return dict(found.values())


def chosen() -> dict[str, Row]:
    """The rows of a quick run, which find every wrong rule: `test_planted_rules` sees to it."""
    first = firsts()
    return {name: row for name, row in named().items() if name in first or name in ESPECIALLY}


def of(rows: dict[str, Row], family: str) -> dict[str, Row]:
    """Those of some rows that are of one family."""
    return {name: row for name, row in rows.items() if name.startswith(f"{family}.")}
