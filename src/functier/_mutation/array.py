"""Arrays that a function makes inside a level, and that tensors can be written to.

NOTE [plain until it meets a tensor]
    An `Array` holds plain values, and is plain to everybody, until a tensor is written to it:
    it can index plain arrays, enter SciPy and outlive the level. From then on its values are
    those of the tensor's level. Its class stays the same: a level asks for its snapshot.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.numpy_facts import PLAIN, Value, is_lazy, is_writable
from .._core.pytree import SNAPSHOTS
from .._core.root import tree_map
from .._core.tensor import Tensor
from .memory import Memory, View

new = object.__new__
ndarray = np.ndarray
view_of: Callable[[Any], View] = vars(Tensor)["_cell"].__get__
"""The view behind an `Array`, or behind a tensor that was written to; raises AttributeError."""


class Array(Tensor):
    """An array that values of any level can be written to; see NOTE [plain until it meets a
    tensor].
    """

    __slots__ = ()
    __module__ = "numpy"  # see NOTE [the module of a class] in `_levels.level`
    takes_writes = True

    def __reduce__(self) -> tuple:
        return np.array, (self.level.convert(self, "pickle.dumps"),)

    def __str__(self) -> str:
        return ADOPTED.text_for(self, str) or str(view_of(self).snapshot())

    _value = property(lambda self: view_of(self).snapshot())  # type: ignore[assignment]


def was_written(x: Any) -> bool:
    """True where a tensor, or an array, is a view of a memory."""
    if not isinstance(x, Tensor):
        return False
    try:
        view_of(x)
    except AttributeError:
        return False
    return True


def innermost(x: Any) -> Any:
    """Return the value inside all levels of `x`; of an array, a snapshot."""
    while isinstance(x, Tensor):
        x = x._value
    return x


def is_array(x: Any) -> bool:
    """True where NumPy has an array for the tensor `x`, and not a scalar, which never changes."""
    value, notes = x, type(x).level.notes
    if notes is not None and id(x) in notes.points and notes.points[id(x)]() is x:
        return True
    while isinstance(value, Tensor):
        if was_written(value):
            return True
        level = type(value).level
        if level.depth and level.kind.batches:
            return bool(level.shape(value)) and not is_lazy(value)
        value = value._value
    return isinstance(value, ndarray)


def array_of(data: ndarray) -> Array:
    """Return an `Array` of the memory of `data`, which nobody else may refer to."""
    flat = data.ravel(order="K")
    if flat.size and not np.shares_memory(flat, data):  # whose flags NumPy may warn of
        data = data.copy()
        flat = data.reshape(-1)
    elif not data.flags.writeable:
        data = data.copy()
        flat = data.ravel(order="K")
    return on_view(View(Memory(flat, AMBIENT.get()), data))


def close(x: Any) -> Any:
    """Have the elements and the sums of an `Array` be arrays, too; see `Memory`."""
    if type(x) is Array:
        view_of(x).memory.closed = True
    return x


def array_holding(value: Value) -> Array:
    """Return an array made here, of a value of a level around: it lies in memory as that."""
    try:
        like = value.level.window(value)
    except MutationError:  # of an array of this class, whose values lie in rows
        like = np.empty(value.shape)
    made = array_of(np.zeros_like(like, value.dtype))
    view_of(made).write(..., value)
    return made


def on_view(view: View) -> Array:
    x = new(Array)
    x._cell = view
    return x


def make_writable(data: Value) -> Value:
    """Return a new plain array as one that tensors can be written to, inside a level.

    One that NumPy has made read-only, as `numpy.imag` of a real array is, stays as it is.
    """
    if type(data) is ndarray and AMBIENT.get() is not Tensor and data.dtype.kind in "biufc":
        return array_of(data) if is_writable(data) or not data.size else data
    return data


def make_result_writable(cls: type, result: Value) -> Value:
    """Return a result of the innermost level that is plain as one that can be written to."""
    if AMBIENT.get() is not cls or not hasattr(result, "dtype") or result.dtype.kind not in "fc":
        return result
    if type(result) is ndarray:
        return array_of(result)
    return array_holding(result) if isinstance(result, Tensor) and result.ndim else result


def made_here(value: Value) -> Value:
    """Return a result of a call at the ambient level as an array that can be written to there."""
    if isinstance(value, Tensor) and value.ndim:
        cls = type(value)
        if cls.level.depth and cls is not AMBIENT.get() and issubclass(AMBIENT.get(), cls):
            return array_holding(value)
    return make_writable(value)


def settle(value: Any) -> Any:
    """Return `value` with the snapshots of the arrays that are in it, in any containers."""
    kind = type(value)
    if kind is Array:
        return view_of(value).snapshot()
    if kind in PLAIN:
        return value
    if kind is tuple or kind is list or kind is dict:
        return tree_map(settle, value)
    return value


SNAPSHOTS[Array] = settle
