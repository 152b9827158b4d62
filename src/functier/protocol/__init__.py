"""The protocol: rules for the functions of a package, and new kinds of level.

This module has everything that another package needs for either. Its names, and the attributes that
the table of design note 18 lists, change only with `__version__`.

A package declares rules for its functions in an entry point of the group ``functier.rules``. The
name of the entry point is the name of the package, and its value is a module that calls
`elementwise`, `linear`, `constant`, `composite` or `op` for each function. functier imports this
module when it first meets a function without a rule.

A kind of level is a subclass of `Level`. `run` calls a function at a new level of it.
"""

# Imports `_cpython`, `_core`, `_rules` and `_levels`.

from .._core.op import Call, Op
from .._core.rule import Rule
from .._core.tensor import Tensor
from .._rules.constructors import (
    composite,
    constant,
    elementwise,
    linear,
    op,
    primitive,
    unsupported,
)  # fmt: skip
from ._kinds import Level, run

__all__ = [
    "Call", "Level", "Op", "Rule", "Tensor", "composite", "constant", "elementwise", "linear", "op",
    "primitive", "run", "unsupported",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


__version__ = "1"
"""The version of the protocol: it grows where a name or an attribute changes or goes."""
