"""NumPy's elementwise functions as instructions of the processor, and a few of SciPy.

Each file holds one family, whose rules register themselves in `ELEMENTWISE`. The operands of
a rule have the dtypes of the loop that NumPy picks for them, and so has the result.

Imports `_core` and `text`.
"""

import importlib
import sys

import numpy as np

from . import arithmetic as arithmetic
from . import exponentials as exponentials
from . import trigonometry as trigonometry
from .table import ELEMENTWISE

__all__ = ["ELEMENTWISE", "ROUNDED", "knows", "rule_of"]

ROUNDED = frozenset({
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.tanh,
    np.sinh, np.cosh, np.arctan, np.arctan2, np.arcsin, np.arccos, np.cbrt, np.hypot, np.power,
    np.float_power, np.logaddexp,
})  # fmt: skip
"""Functions whose rules may round in another way than NumPy. All others give the same bits."""

DTYPES = "?bBhHiIlLqQfd"
"""The characters of the dtypes that rules are written for."""


def rule_of(function):
    """Return the rule of a function, or None. SciPy's are there once SciPy is."""
    if function not in ELEMENTWISE and "scipy.special" in sys.modules:
        importlib.import_module(".special", __name__)
    return ELEMENTWISE.get(function)


def knows(function, dtypes):
    """Return whether `rule_of(function)` is for a loop of these dtypes, given as NumPy's dtypes."""
    return rule_of(function) is not None and all(np.dtype(d).char in DTYPES for d in dtypes)
