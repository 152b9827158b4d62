"""Views: which tensors of a level are views of one array, as NumPy has them.

NOTE [views that are alive]
    NumPy's memory tells which tensors are views of which. Before the first write of a level
    nobody keeps a list of them: all instances of the class are looked for once, which takes
    milliseconds. The code that made the level is noted, and later levels that it makes keep the
    list from their beginning.
"""

import gc
from typing import Any
from weakref import ref

import numpy as np

from .._core.errors import MutationError
from .._core.op import Op
from .._core.tensor import Tensor
from .._mutation.array import was_written
from .memory import owner_of

ndarray = np.ndarray
WRITERS: set[tuple[int, str]] = set()
"""The levels whose tensors were written to, by the number of the code that made them and by their
labels: see NOTE [views that are alive]."""


def is_array(x: Any) -> bool:
    """True where NumPy has an array for the tensor `x`, and not a scalar, which never changes."""
    value, points = x, type(x).level.points
    if points and id(x) in points and points[id(x)]() is x:
        return True
    while isinstance(value, Tensor):
        if was_written(value):
            return True
        level = type(value).level
        if level.depth and level.kind.batches:
            return value.ndim > 0
        value = value._value
    return isinstance(value, ndarray)


def example(x: Any) -> ndarray:
    """Return the values of one example of `x`, as NumPy has them: their places tell the views."""
    value, axes = x, 0
    while isinstance(value, Tensor):
        level = type(value).level
        if not level.depth:
            raise MutationError(
                f"an array of the class {type(value).__name__} cannot be written to inside a "
                f"transform; pass x.elem(), its plain array"
            )
        if level.kind.batches:
            axes += level.k
        value = value._value
    if type(value) is not ndarray:
        value = value.view(ndarray) if isinstance(value, ndarray) else np.asarray(value)
    if 0 in value.shape[:axes]:
        value = np.empty((1,) * axes + value.shape[axes:], bool)
    return value[(0,) * axes + (...,)]


def find_alive(level: Any, x: Any) -> list[Any]:
    """Return the tensors of the level that are views of the same array as `x`, and itself."""
    owner = owner_of(example(x))
    if level.taken is None:
        level.taken = {}
        found = [t for t in gc.get_referrers(level.cls) if type(t) is level.cls]
        note_all(level, found)
        WRITERS.add((id(level.made[0]), level.label))
    else:
        found = [t for r in level.taken.get(id(owner), ()) if (t := r()) is not None]
    tensors: list[Any] = [x]
    others: dict[int, Any] = {}
    for t in found:
        if t is not x and not was_written(t) and hasattr(t, "_value") and is_array(t):
            if owner_of(example(t)) is owner:
                others[id(t)] = t
    windows, new = [], [example(x)]
    while new:  # those that overlap one that has been found
        windows += new
        new = []
        for key, t in list(others.items()):
            window = example(t)
            if any(np.may_share_memory(window, w) for w in windows):
                tensors.append(others.pop(key))
                new.append(window)
    return tensors


def note_all(level: Any, tensors: list[Any]) -> None:
    """Note all tensors of a level that kept no list until now."""
    for t in tensors:
        if not was_written(t) and hasattr(t, "_value") and is_array(t):
            level.taken.setdefault(id(owner_of(example(t))), []).append(ref(t))


def note_view(level: Any, x: Any, y: Any) -> Any:
    """Note that `y` may be a view of `x`."""
    taken = level.taken
    if taken is not None and type(y) is type(x) is level.cls and not was_written(y):
        owner = owner_of(y)
        if owner is not None and owner is owner_of(x):
            taken.setdefault(id(owner), []).extend((ref(x), ref(y)))
    return y


def view_result(level: Any, op: Op, x: Any, given: dict) -> Any:
    """Return the result of an operation that may be a view of `x`, its one operand."""
    y = level.apply_single(op, x, given)
    if not x.ndim and type(y) is type(x) and y.ndim and not is_array(x):
        return np.copy(y)  # NumPy makes a new array of a number
    return note_point(level, x, y)


def note_point(level: Any, x: Any, y: Any) -> Any:
    """Note that `y`, where it has no axes, is an array in NumPy and no scalar: a view of `x`."""
    if type(y) is type(x) is level.cls and not y.ndim and holds_tensor(y) and is_array(x):
        if level.points is None:
            level.points = {}
        level.points[id(y)] = ref(y)
        note_view(level, x, y)
    return y


def as_point(x: Any) -> Any:
    """Return a number as what NumPy makes of it by `numpy.asarray`: an array without axes."""
    y = x[...]
    level = type(y).level
    if type(y) is not level.cls or is_array(y):
        return y
    if level.points is None:
        level.points = {}
    level.points[id(y)] = ref(y)
    return y


def holds_tensor(x: Any) -> bool:
    """True where the class of NumPy's object does not tell if a value without axes is an array."""
    return type(x).level.kind.batches or isinstance(x._value, Tensor)
