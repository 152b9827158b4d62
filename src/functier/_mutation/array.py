"""Arrays that a function makes inside a level, results in ``out=``, and memory that is lent.

NOTE [plain until it meets a tensor]
    An `Array` holds plain values, and is plain to everybody, until a tensor is written to it:
    it can index plain arrays, enter SciPy and outlive the level. From then on its values are
    those of the tensor's level. Its class stays the same: a level asks for its snapshot.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.adopted import ADOPTED
from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.numpy_facts import PLAIN, Value, dtype_of, is_lazy, is_writable, name_of, shape_of
from .._core.op import NO_VALUE, Op
from .._core.pytree import SNAPSHOTS
from .._core.root import classes_in, tree_map
from .._core.tensor import Tensor
from .._core.tensor import innermost as innermost
from .._core.tracebacks import explain_write
from .memory import CHOSEN, REGION, Memory, View

ndarray = np.ndarray

HALVES: dict[Callable, Any] = {
    np.real: lambda view: view.half(False), np.imag: lambda view: view.half(True),
}  # fmt: skip
"""The functions that give a view of a part of each complex number."""
READ_ONLY: set[Callable] = {
    np.diagonal, np.linalg.diagonal, np.diag, np.broadcast_to,
    np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
"""Functions whose views may not be written to."""


def name_out(op: Op | None, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call with ``out`` by name, where it was given by position."""
    if op is None:
        return args, kwargs
    place = op.out_place
    if place is None and op.body is None and "out" in op.params and not op.bind_args:
        place = op.params.index("out")
    if place is None or len(args) <= place or args[place] is None:
        return args, kwargs
    rest = (*args[:place], None, *args[place + 1 :]) if len(args) > place + 1 else args[:place]
    return rest, {**kwargs, "out": args[place]}


def plain_arguments(op: Op, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call as `name_out` does, without options that change no number."""
    if len(args) > 2:
        args, kwargs = name_out(op, args, kwargs)
    return args, {
        k: v for k, v in kwargs.items()
        if v is not NO_VALUE and k[:10] != "overwrite_" and (k != "out" or v is not None)
    }  # fmt: skip


SUMMING = {np.sum, np.mean, np.prod, np.cumsum, np.cumprod}


def write_out(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return ``func(..., out=)``: the result is written to `out`, as NumPy would do."""
    kwargs = dict(kwargs)
    given = kwargs.pop("out")
    where = kwargs.pop("where", True) if isinstance(func, np.ufunc) else True
    casting = kwargs.pop("casting", "same_kind")
    if func in SUMMING and len(args) < 3 and kwargs.get("dtype") is None:
        if hasattr(given, "dtype") and given.dtype.kind in "fc":
            kwargs["dtype"] = given.dtype  # NumPy sums in the dtype of `out`
    masked = where is not True and (type(where) is ndarray or _has_tensor(args))
    result = func(*args, where=where, out=None, **kwargs) if masked else func(*args, **kwargs)
    single = not isinstance(given, tuple) or len(given) == 1
    outs = given if isinstance(given, tuple) else (given,)
    results = result if isinstance(result, tuple) and len(outs) > 1 else (result,)
    written = [_write(func, o, r, where, casting) for o, r in zip(outs, results)]
    return written[0] if single else tuple(written)


def _has_tensor(args: tuple) -> bool:
    """Return whether an operand is a tensor, which takes a mask that is one."""
    return any(isinstance(x, Tensor) for x in args)


def _write(func: Callable, out: Any, result: Value, where: Any, casting: Any) -> Any:
    if out is None:
        return result
    if not isinstance(out, Tensor):
        if isinstance(result, Tensor) and result.level.depth:
            asked, remedy = explain_write(name_of(func))
            raise MutationError(f"{asked} would write a tensor to a plain array; write {remedy}")
        out[...] = result if where is True else np.where(where, result, out)
        return out
    own, shape = dtype_of(result), shape_of(result)
    if shape != shape_of(out):
        whole = shape_of(out)
        if not isinstance(func, np.ufunc) or not _fits(shape, whole):
            form = "non-broadcastable output operand with shape {} doesn't match the broadcast "
            raise ValueError(f"{name_of(func)}: {form.format(whole)}shape {shape}")
    if not np.can_cast(own, dtype_of(out), casting):
        raise TypeError(
            f"Cannot cast {_called(func)} output from {own!r} to {dtype_of(out)!r} with casting "
            f"rule {casting!r}"
        )
    out[...] = result if where is True else np.where(where, result, out)
    return out


def _called(func: Callable) -> str:
    return f"ufunc {func.__name__!r}" if isinstance(func, np.ufunc) else name_of(func)


def _fits(shape: tuple, whole: tuple) -> bool:
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False


class Loan(NamedTuple):
    """The arguments of a call of compiled code, with the memory of the arrays among them."""

    args: tuple
    kwargs: dict
    views: Sequence[View] = ()

    def returned(self, result: Any) -> Any:
        """Return what the code has made; inside a level, as arrays that take writes."""
        views, given = self.views, (*self.args, *self.kwargs.values())
        for view in views:
            view.memory.version += 1
        if AMBIENT.get() is Tensor:
            return result
        closed = all([type(x) in PLAIN for x in given])  # others may have arrays in them

        def writable(value: Any) -> Any:
            if type(value) is not ndarray or value.dtype.kind not in "biufc":
                return value
            for view in views:
                if np.may_share_memory(value, view.memory.flat):
                    return on_view(view.at(value))
            if not closed or any([
                type(x) is ndarray and np.may_share_memory(x, value) for x in given
            ]):  # fmt: skip
                return value
            return array_of(value)

        return tree_map(writable, result)


def lend(args: tuple, kwargs: dict) -> Loan | None:
    """Return the arguments for code that may write to the memory of arrays; None with tensors.

    It is None, too, where the memory is not that of these arrays alone.
    """
    found = classes_in(args, kwargs)
    if not found:
        return Loan(args, kwargs)
    if found != (Array,) or CHOSEN.get() or REGION.get() >= 0:
        return None
    views: list[View] = []
    for x in (*args, *kwargs.values()):
        if type(x) is Array:
            view = view_of(x)
            store = view.memory.store
            if type(view) is not View or view.readonly or not view.plain:
                return None
            if (
                store.lends
                or store.flat is not view.memory.flat
                or type(view.window) is not ndarray
            ):
                return None
            views.append(view)
    plain = [x if type(x) is not Array else view_of(x).window for x in args]
    words = {k: x if type(x) is not Array else view_of(x).window for k, x in kwargs.items()}
    return None if classes_in(plain, words) else Loan(tuple(plain), words, views)


new = object.__new__
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


def is_scalar(x: Tensor) -> bool:
    """Tell if NumPy has a scalar for a tensor: one without axes, and not a view of an array."""
    if x.ndim or type(x) is Array:
        return False
    return not (is_array(x) if x.level.depth else isinstance(x.elem(), ndarray))


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


def alias_of(x: Any) -> Any:
    """Return a value equal to `x`, a tensor of a level around, that no write to `x` changes."""
    cls = type(x)
    if cls is Array:
        return settle(x)
    if not cls.level.depth:
        return x
    y: Any = object.__new__(cls)
    y._value = x._value
    if not cls.level.kind.batches and hasattr(x, "_extra"):
        y._extra, y._moves = x._extra, getattr(x, "_moves", None)
    y._kept = True
    return y
