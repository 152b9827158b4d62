"""Plain arrays that somebody asked of a tensor: they would not see its writes, nor it theirs."""

import weakref
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.frames import asking_frames
from .._core.hints import explain
from .._core.root import convert_to
from .array import is_array
from .copies import tie
from .layouts import laid_as, may_meet
from .memory import Memory, View

ndarray = np.ndarray
EXPOSED: "weakref.WeakKeyDictionary[Memory, list]" = weakref.WeakKeyDictionary()
SHOWN = "numpy.asarray", "__dlpack__"
"""The conversions whose result shares the memory of an array in NumPy."""


class Owner:
    """The memory of an array that is exposed, which all views of that keep alive."""

    def __init__(self, window: ndarray):
        self.window = window
        place, _ = window.__array_interface__["data"]
        self.__array_interface__ = {**window.__array_interface__, "data": (place, True)}


def expose(view: View, how: str, dtype: Any) -> ndarray:
    """Return the memory of a plain view as an array that can be read, and noted."""
    if dtype is not None and np.dtype(dtype) != view.dtype:
        return view.snapshot().astype(dtype)  # type: ignore[union-attr]
    owner = Owner(view.window)
    shown = np.asarray(owner)
    check_request(how, shown)
    EXPOSED.setdefault(view.memory, []).append(weakref.ref(owner))
    return shown if view.whole else shown.imag if view.imaginary else shown.real


def check_exposed(memory: Memory) -> None:
    """Raise where somebody has a plain array of the memory, who would not see the write."""
    shown = EXPOSED.get(memory)
    if shown and any(ref() is not None for ref in shown):
        raise MutationError(
            "a tensor cannot be written to this array while numpy.asarray(a), a plain array of its "
            "memory, is in use and would not see it; write numpy.asarray(a).copy() there"
        )
    EXPOSED.pop(memory, None)


def lend(how: Any, x: Any, value: Any, *args: Any) -> Any:
    """Convert `value`, what `x` shows in each example; an array of it is a view of `x` in NumPy.

    It lies in memory as that does, so that NumPy itself tells what is a copy. It cannot be written
    to, as the write would not come back to `x`, and is tied to it.
    """
    if how not in SHOWN or not is_array(x):
        return convert_to(value.copy(), how, *args)
    shown = laid_as(x.level.window(x), value)
    found = convert_to(shown, how, *args)
    if found is shown:
        check_request(how, shown)
        shown.flags.writeable = False
        tie(how, x.level.place(x), shown.base)
    return found


def check_request(how: str, shown: ndarray) -> None:
    """Raise where who asks copies `shown`, as it cannot be written to, and NumPy's array is not."""
    inside = asking_frames()[1]
    if not inside or inside[-1].f_code is not np.require.__code__:
        return
    asked = inside[-1].f_locals
    if not shown.size or may_meet(shown.shape, shown.strides, shown.itemsize):
        return  # which cannot be written to in NumPy, too
    kept = np.array(shown, order=asked.get("order", "K"), copy=None) is shown
    if kept and not {"W", "O"}.isdisjoint(asked["requirements"] or ()):
        name, remedy, _ = explain(how)
        level: Any = AMBIENT.get().level
        text = f"{name} would make a plain copy of an array, which writes do not reach; write "
        text += remedy
        raise level.refusal(MutationError, text) if level.depth else MutationError(text)
