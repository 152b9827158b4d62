"""Debuggers for the origin of NaNs, for errors of derivatives, and for leaked tensors.

Each is a context manager and a decorator. Code outside such a block runs at full speed.
"""

# Imports `_core`, `_levels` and `_chunks`.

from ._leaks import check_leaks
from ._nans import debug_nans, detect_anomaly

__all__ = ["check_leaks", "debug_nans", "detect_anomaly"]


def __dir__() -> list[str]:
    return sorted(__all__)
