"""Names of NumPy with an underscore: those that functier reads, and what happens without.

NumPy promises none of them. A test looks each up in the installed release, and finds out if another
file has one. So a new release of NumPy is a change of this file.
"""

import sys
from typing import Any

UMATH = "numpy._core.umath"
"""The module of all ufuncs, public or not."""

PYTHONS = "numpy._core.numeric", "numpy._core.function_base"
"""Modules of Python code whose public names are elsewhere."""

SPECIAL = "scipy.special._ufuncs"
"""The module of SciPy's ufuncs, for files that import no SciPy: see `scipy._private`."""

PRIVATE: dict[str, str] = {
    UMATH: "a ufunc that is not public has no place in the source of a program",
    **dict.fromkeys(PYTHONS, "functions in them refuse tensors in lists"),
    "numpy._core.umath.clip": "numpy.clip alone has rules, and the method of an array has none",
    "numpy._core.umath._extobj_contextvar": "settings are asked of numpy.geterr, which is slower",
    "numpy._core._multiarray_umath._ARRAY_API": "there is no machine code",
    "numpy._NoValue": "a parameter that is left out is passed on as such to functier alone",
    "numpy._CopyMode": "numpy.array takes copy=True, False and None",
    "numpy.sum._implementation": "functions that NumPy's own code computes have no rules",
    "numpy.vectorize._vectorize_call": "numpy.vectorize refuses tensors",
    "numpy.random.mtrand._rand": "draws of NumPy's own generator are not seen",
    "numpy.random.RandomState._bit_generator": "a RandomState is not known as a generator",
}
"""The names, and what happens in a release without one."""


def look_up(name: str) -> Any:
    """Return what a name stands for, or None where it does not exist."""
    module, *parts = name.split(".")
    value: Any = sys.modules[module]
    for part in parts:
        value = getattr(value, part, None)
    return value


NO_VALUE: Any = look_up("numpy._NoValue") or object()
"""NumPy passes it for a parameter that was left out."""

ALWAYS: Any = getattr(look_up("numpy._CopyMode"), "ALWAYS", True)
"""The value of ``copy`` besides True for which `numpy.array` copies."""

CLIP: Any = look_up("numpy._core.umath.clip")
"""The ufunc behind `numpy.clip`."""

ARRAY_API: Any = look_up("numpy._core._multiarray_umath._ARRAY_API")
"""The capsule of NumPy's functions of C."""

_settings = look_up("numpy._core.umath._extobj_contextvar")
SETTINGS: Any = getattr(_settings, "get", lambda default: True)
"""Return None where no settings of `numpy.errstate` hold."""
