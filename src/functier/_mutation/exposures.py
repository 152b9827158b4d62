"""Plain arrays of a memory that somebody asked for: they would not see the write of a tensor."""

import weakref
from typing import Any

import numpy as np

from .._core.errors import MutationError
from .memory import Memory, View

ndarray = np.ndarray
EXPOSED: "weakref.WeakKeyDictionary[Memory, list]" = weakref.WeakKeyDictionary()


def expose(view: View, dtype: Any) -> ndarray:
    """Return the memory of a plain view as an array that can be read, and noted."""
    window = view.window
    if dtype is not None and np.dtype(dtype) != window.dtype:
        return window.astype(dtype)
    shown = ndarray(
        window.shape, window.dtype, memoryview(view.memory.flat)  # type: ignore[arg-type]
        .toreadonly(),
        view.layout[0] * window.itemsize, window.strides,
    ) if window.size else window.copy()  # fmt: skip
    EXPOSED.setdefault(view.memory, []).append(weakref.ref(shown))
    return shown


def check_exposed(memory: Memory) -> None:
    """Raise where somebody has a plain array of the memory, who would not see the write."""
    shown = EXPOSED.get(memory)
    if shown and any(ref() is not None for ref in shown):
        raise MutationError(
            "a tensor cannot be written to this array while numpy.asarray(a), a plain array of its "
            "memory, is in use and would not see it; write numpy.asarray(a).copy() there"
        )
    EXPOSED.pop(memory, None)
