"""The refusals that have a good reason, and the cells that are wrong today."""

import re

from .net import Cell

REASONS = {
    r"^RandomnessError: .* the numbers would be the same in each call of the program": (
        "a program makes the draws of functier.random alone anew"
    ),
    r"^MutationError: .*puts another value into a container or a module that it was given": (
        "a program would not do so"
    ),
    r"^MutationError: .*numpy.asarray\(x\) would (lose the derivative|be the same)": (
        "a plain array cannot take a value of the trace"
    ),
    r"^MutationError: .*an array that was given twice, or as a view of another argument": (
        "a program does not know that the other one sees the write"
    ),
    r"^TypeError: .*: the argument d.* may change between two calls; ": (
        "a static argument is a value, or is compared by identity"
    ),
}

ALL, BEHIND = "", "closure|global|method|self|module"
OWN, FORM, COMPUTED = "method|self|module grad", "method|self|module", r"\w+ (value|machine)"

KNOWN: dict[str, dict[str, str]] = {}
"""Faults, with the names of the ways for each pattern of a place and a mode."""


def fault_of(cell: Cell) -> str | None:
    """Return why a cell is known to be wrong, or None."""
    for fault, rows in KNOWN.items():
        for pattern, names in rows.items():
            if cell.name in names.split("; ") and re.match(pattern, f"{cell.place} {cell.mode}"):
                return fault
    return None
