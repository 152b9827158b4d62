"""The sample table: one module a family, each with a list `ROWS`."""

import importlib
import pkgutil

from ._row import Row


def families() -> dict[str, list[Row]]:
    """The rows of every family module in this folder, by the module's name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_")
    return {name: importlib.import_module(f"{__name__}.{name}").ROWS for name in names}


def named() -> dict[str, Row]:
    """Every row by an id that does not change from run to run: family, call, number."""
    rows: dict[str, Row] = {}
    for family, members in families().items():
        for row in members:
            name, number = f"{family}.{row}", 2
            while name in rows:
                name, number = f"{family}.{row}#{number}", number + 1
            rows[name] = row
    return rows
