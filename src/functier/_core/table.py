"""The table of operations, which the rules fill and the levels read."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from .errors import NoRuleError, UnsupportedError
from .hooks import PACKAGE
from .numpy_facts import HOMES, Function, Value, name_of
from .op import Op

OPS: dict[Function, Op] = {}
"""Every declared operation, by its NumPy function."""

PARTIALS: dict[Function, tuple] = {}
"""The facts that hot paths need of the ufuncs (and their operators) with a full set of elementwise
rules.

A row has for each operand the rule, a function that picks its values from ``ans, *operands``
(None where it needs none), and True where a complex value is conjugated. ``operator.matmul`` has
the vjp rules of `numpy.matmul`, ``operator.getitem`` a rule of the operand's shape and the index;
forward mode does not use these two rows."""

PIECES: dict[Function, Callable[..., Value]] = {}
"""For a rule ``rule(g, shape, index)``, whose result is zeros but for `g` at an index, the function
that adds many of them: ``add(shape, places, *pieces)`` adds each to zeros, in their order."""

FEW_PIECES = 16
"""Up to so many pieces, as those of a stencil, are added as arrays in a program."""

SO_FAR = (...,)
"""The index of a sum of pieces that a program goes on with: all of the array, as `...` is."""

MAKERS: dict[type, Callable[[Function, np.ufunc], Op]] = {}
"""Functions that make the record of a ufunc (or of its method) that nobody declared."""

UNSUPPORTED: dict[Function, str] = {}
"""Every function that is declared as not supported, with the reason for the message."""

NAMESPACES: dict[str, dict[str, Any]] = {}
"""The custom operations, by their namespaces and names; `functier.ops` looks here."""

PENDING: dict[str | None, tuple[str, ...]] = {}
"""The modules with declarations that are not imported yet: those for a package, by its name, and of
the ufuncs and functions of NumPy by None. `functier._rooms` has them."""


def load(module: str | None = None) -> None:
    """Import the declarations, which fill the tables, unless that has been done.

    `module` may be inside one that they are for: ``scipy.linalg._basic`` in ``scipy.linalg``.
    They are a large part of the package, and nothing needs them before the first level. They are
    in a later room, which imports this one, so this room knows their name only. Another thread
    waits in its import until all are there.
    """
    keys: list[str | None] = [None]
    while module:
        keys.append(module)
        module = module.rpartition(".")[0]
    for key in keys:
        for name in PENDING.get(key, ()):
            import_module(name)
        PENDING.pop(key, None)


@cache
def packages() -> list[str]:
    """Return the names of the installed packages that bring rules, and note where these are.

    An entry point of the group ``functier.rules`` has the name of a package and the module that
    declares rules for its functions. To look for them takes a while, so this is done where a
    function has no record yet.
    """
    from importlib.metadata import entry_points

    entries = entry_points(group=f"{PACKAGE}.rules")
    PENDING.update({entry.name: (entry.value,) for entry in entries})
    HOMES.extend([entry.name for entry in entries])
    return [entry.name for entry in entries]


def find(func: Function) -> Op | None:
    """Look up the record of `func`; make one for a ufunc that nobody declared.

    Raises
    ------
    UnsupportedError
        If `func` is declared as not supported.
    """
    if None in PENDING:
        load()
    op = OPS.get(func)
    if op is None:
        owner = func if isinstance(func, np.ufunc) else getattr(func, "__self__", None)
        found = packages()
        if isinstance(owner, np.ufunc):
            for name in found:  # a ufunc does not know its package
                load(name)
            op = OPS.get(func) or MAKERS[np.ufunc](func, owner)
        else:
            load(getattr(func, "__module__", None))
            op = OPS.get(func)
            if func in UNSUPPORTED:
                raise UnsupportedError(f"{name_of(func)} is not supported: {UNSUPPORTED[func]}")
    return op


def no_rule(transform: str, op: Op, operand: str) -> NoRuleError:
    """Return the error for an operand that has no derivative rule."""
    ufunc = "functier.protocol.elementwise(f, rule), " * isinstance(op.func, np.ufunc)
    error = NoRuleError(
        f"{transform}: {op.name} has no derivative rule for its argument {operand!r}; "
        f"write the computation with other NumPy functions, give it a derivative by {ufunc}"
        f"functier.custom_vjp or functier.finite_difference, or keep that argument free of the "
        f"variables that are differentiated"
    )
    error.add_note(OF_A_RULE if ufunc else OF_A_RULE.partition("\nor")[0])
    return error


OF_A_RULE = """\
for a function f of one array, with the derivative df:
    g = functier.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, t: (t * df(x),))
    g(x)
or, for all calls of a ufunc f:
    functier.protocol.elementwise(f, lambda g, x: g * df(x))"""
