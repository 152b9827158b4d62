"""Debuggers for NaNs, errors in the backward pass, leaked tensors, and refilled arrays.

Each is a context manager and a decorator. Code outside such a block runs at full speed.
`show` prints a value, `show_levels` draws the levels of a call, and `full_tracebacks` shows
functier's own frames.
"""

# Imports `_cpython`, `_core`, `_mutation`, `_levels` and `_transforms`.

import typing as _typing

from .._core.peers import answering as _answering
from ._leaks import check_leaks
from ._levels import show_levels
from ._nans import debug_nans, detect_anomaly, full_tracebacks, writes
from ._showing import show

__all__ = [
    "check_leaks", "debug_nans", "detect_anomaly", "full_tracebacks", "show", "show_levels",
    "writes",
]  # fmt: skip


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
