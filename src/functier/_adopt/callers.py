"""Functions that look at their callers: code that waits for its first call is none of these."""

import functools
import sys
import warnings
from typing import Any

from .._cpython.first_calls import LOOKING, depth_of


@functools.wraps(warnings.warn)
def warn(
    message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **words: Any
) -> None:
    """Do as `warnings.warn`."""
    warnings.warn(message, category, depth_of(stacklevel - 1) + 2, source, **words)


MEMBERS: dict[Any, dict[str, Any]] = {sys: LOOKING, warnings: {"warn": warn}}
"""Functions of Python's modules, by their names, and what adopted code calls for them."""
