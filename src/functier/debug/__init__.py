"""Debuggers: where a NaN comes from, which line a failing derivative belongs to, what leaks.

Each is a context manager and a decorator. Code that runs outside of such a block pays nothing.
"""

# Imports `_core`, `_levels` and `_chunks`.

from ._leaks import check_leaks
from ._nans import debug_nans, detect_anomaly

__all__ = ["check_leaks", "debug_nans", "detect_anomaly"]


def __dir__() -> list[str]:
    return sorted(__all__)
