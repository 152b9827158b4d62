"""The sample table: one module a family, each with a list `ROWS`."""

import functools
import importlib
import pkgutil

from ._row import Row

ESPECIALLY = {
    "by_value.power-d[3],l[3]",
    "composite.gradient-d[3,4],d[4]-2.0-edge_order=2",
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
"""The rows that find a fault which the first row of no function finds."""


LEFT_OUT: set[str] = set()
"""What the families begin with that nobody asks for: a check of one function saves their time."""


def families() -> list[str]:
    """The names of the family modules in this folder; none is imported for it."""
    left_out = ("_", *LEFT_OUT)
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith(left_out))


def is_of_scipy(family: str) -> bool:
    """Tell if a family, or a row by its id, is about SciPy's functions."""
    return family.startswith("scipy_")


@functools.cache
def of(family: str) -> dict[str, Row]:
    """The rows of a family by an id that does not change from run to run: family, call, number."""
    rows: dict[str, Row] = {}
    for row in importlib.import_module(f"{__name__}.{family}").ROWS:
        name, number = f"{family}.{row}", 2
        while name in rows:
            name, number = f"{family}.{row}#{number}", number + 1
        rows[name] = row
    return rows


@functools.cache
def chosen_of(family: str) -> dict[str, Row]:
    """The rows of a family in a quick run: the first of each function, and `ESPECIALLY` these.

    They find every wrong rule: `test_planted_rules` sees to it.
    """
    first = firsts(is_of_scipy(family))
    return {n: row for n, row in of(family).items() if n in first or n in ESPECIALLY}


@functools.cache
def firsts(scipy: bool) -> dict[str, Row]:
    """The first row of each function of NumPy, or of SciPy."""
    found: dict = {}
    for family in families():
        for name, row in of(family).items() if is_of_scipy(family) is scipy else ():
            found.setdefault(row.name or row.func, (name, row))
    return dict(found.values())


def named() -> dict[str, Row]:
    """Every row by its id."""
    return {name: row for family in families() for name, row in of(family).items()}


def chosen() -> dict[str, Row]:
    """All rows of a quick run."""
    return {name: row for family in families() for name, row in chosen_of(family).items()}
