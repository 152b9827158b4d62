"""Modes: context managers that see every call while they are on.

Inherit from `TensorFunctionMode` or `TensorDispatchMode` to write one. `LoggingMode`
and `FlopCounterMode` are ready to use. All names here are public and stable.
"""

# Imports `_core`, `_levels` and `_mutation`.

from ._asking import TensorDispatchMode, TensorFunctionMode
from ._ready import FlopCounterMode, LoggingMode

__all__ = [
    "FlopCounterMode",
    "LoggingMode",
    "TensorDispatchMode",
    "TensorFunctionMode",
]


def __dir__() -> list[str]:
    return sorted(__all__)
