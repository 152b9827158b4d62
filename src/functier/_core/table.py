"""The table of operations, which the rules fill and the levels read."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .errors import NoRuleError, UnsupportedError
from .numpy_facts import name_of
from .op import Op

OPS: dict[Callable, Op] = {}
"""Every declared operation, by its NumPy function."""

PARTIALS: dict[Callable, tuple] = {}
"""The ufuncs (and their operators) with a whole set of elementwise rules, for the hot
paths: in a row for each operand the rule, what picks its needs from ``ans, *operands``
(None: it needs nothing), and whether to conjugate. ``operator.matmul`` has the vjp rules
of `numpy.matmul`, ``operator.getitem`` one of the operand's shape and the index; forward
mode does not look there for these."""

FRESH: set[Callable] = set()
"""The elementwise rules whose result is always a new array."""

MAKERS: dict[type, Callable[[Callable, np.ufunc], Op]] = {}
"""Functions that make the record of a ufunc (or of its method) that nobody declared."""

UNSUPPORTED: dict[Callable, str] = {}
"""Every function that is declared as not supported, with the reason a user reads."""

NAMESPACES: dict[str, dict[str, Any]] = {}
"""The custom operations, by their namespaces and names; `functier.ops` looks here."""

PENDING: dict[str | None, str] = {None: f"{__name__.partition('.')[0]}._rules"}
"""Declarations that are not imported yet: their package, and then the file of those
for a module that NumPy itself imports on demand, by the name of that module."""


def load(module: str | None = None) -> None:
    """Fill the tables, if that has not been done: import the declarations.

    They are two thirds of the package, and nothing asks for them before the first level.
    They are in a later room, which imports this one, so it knows no more of them than a name.
    Another thread waits in its own import until all are there.
    """
    for key in (None, module):
        name = PENDING.get(key)
        if name is not None:
            import_module(name)
            PENDING.pop(key, None)


def find(func: Callable) -> Op | None:
    """Look the record of `func` up; a ufunc that nobody declared gets one made.

    Raises
    ------
    UnsupportedError
        Where `func` is declared as not supported.
    """
    if None in PENDING:
        load()
    op = OPS.get(func)
    if op is None:
        owner = func if isinstance(func, np.ufunc) else getattr(func, "__self__", None)
        if isinstance(owner, np.ufunc):
            op = MAKERS[np.ufunc](func, owner)
        else:
            load(getattr(func, "__module__", None))
            op = OPS.get(func)
            if func in UNSUPPORTED:
                raise UnsupportedError(f"{name_of(func)} is not supported: {UNSUPPORTED[func]}")
    return op


def no_rule(transform: str, op: Op, operand: str) -> NoRuleError:
    """The error for an operand that has no derivative rule."""
    return NoRuleError(
        f"{transform}: {op.name} has no derivative rule for its argument {operand!r}; "
        f"write the computation with other NumPy functions, or keep that argument free "
        f"of the variables that are differentiated"
    )
