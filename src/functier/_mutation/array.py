"""Arrays that a function makes inside a level, and that tensors can be written to.

NOTE [plain until it meets a tensor]
    An `Array` holds plain values, and is plain to everybody, until a tensor is written to it:
    it can index plain arrays, enter SciPy and outlive the level. From then on its values are
    those of the tensor's level. Its class stays the same: a level asks for its snapshot.
"""

import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.border import check_reach
from .._core.errors import MutationError
from .._core.methods import PROPERTIES
from .._core.numpy_facts import PLAIN, UFUNC_OF, dtype_of
from .._core.observers import CALLS
from .._core.pytree import SNAPSHOTS
from .._core.root import NOBODY, RootLevel, convert_to, opts_out, tree_map
from .._core.table import UNSUPPORTED, find
from .._core.tensor import Tensor, canonical
from .._core.types import Index, Value
from .copies import COPYING, check_partners, note
from .layouts import layout_of, parts_of, window_of
from .memory import REGION, WRITERS, Memory, View
from .out import VIEWS, name_out, write_out
from .selection import Selection, mask_of

new = object.__new__
ndarray = np.ndarray
view_of: Callable[[Any], View] = vars(Tensor)["_cell"].__get__
"""The view behind an `Array`, or behind a tensor that was written to; raises AttributeError."""


class Array(Tensor):
    """An array that values of any level can be written to; see NOTE [plain until it meets a
    tensor].
    """

    __slots__ = ()
    takes_writes = True

    def __reduce__(self) -> tuple:
        return np.array, (self.level.convert(self, "pickle.dumps"),)

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


def array_holding(value: Value) -> Array:
    """Return an array made here, of the value of a level around."""
    made = array_of(np.zeros(value.shape, value.dtype))
    view_of(made).write(..., value)
    return made


def on_view(view: View) -> Array:
    SNAPSHOTS[Array] = settle
    x = new(Array)
    x._cell = view
    return x


def writable(data: Value) -> Value:
    """Return a new plain array as one that tensors can be written to, inside a level."""
    if type(data) is ndarray and AMBIENT.get() is not Tensor and data.dtype.kind in "biufc":
        return array_of(data)
    return data


def writable_here(cls: type, result: Value) -> Value:
    """Return a result of the innermost level that is plain as one that can be written to."""
    if AMBIENT.get() is not cls or not hasattr(result, "dtype") or result.dtype.kind not in "fc":
        return result
    if type(result) is ndarray:
        return array_of(result)
    return array_holding(result) if isinstance(result, Tensor) and result.ndim else result


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


class ArrayLevel(RootLevel):
    """What an `Array` does: as a plain tensor, and writes."""

    def make(self, cls: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        return array_of(np.array(data, *args, **kwargs))

    def elem(self, x: Any) -> Any:
        return view_of(x).snapshot()

    def as_subclass(self, x: Any, cls: type) -> Any:
        return Tensor(view_of(x).snapshot()).as_subclass(cls)

    def shape(self, x: Any) -> tuple[int, ...]:
        return view_of(x).window.shape

    def dtype(self, x: Any) -> np.dtype:
        return view_of(x).dtype

    # ---- operations ----

    def unary(self, func: Any, x: Any) -> Any:
        return self.called(func, (x,), {})

    def binary(self, func: Any, a: Any, b: Any) -> Any:
        if opts_out(a) or opts_out(b):
            return NotImplemented
        return self.called(func, (a, b), {})

    def method(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        return self.function(*canonical(func, args, kwargs))

    def property(self, name: str, x: Any) -> Any:
        return self.function(PROPERTIES[name], (x,), {})

    def function(self, func: Callable, args: tuple, kwargs: dict, relevant: Any = None) -> Any:
        if CALLS:
            answer = CALLS[0](func, args, kwargs)
            if answer is not NOBODY:
                return answer
        op = None if func in UNSUPPORTED else find(func)
        args, kwargs = name_out(op, args, kwargs)
        if kwargs and kwargs.get("out") is not None:
            return write_out(func, args, kwargs)
        if func is np.astype and keeps(*args, **kwargs):
            return args[0]
        if args and type(args[0]) is Array:
            if op is not None and (op.family == "writing" or func is np.nan_to_num):
                return op.body(*args, **kwargs)  # type: ignore[misc]
            view = view_of(args[0])
            if func in VIEWS and not (view.memory.plain and is_whole(view, func)):
                return view_function(args[0], func, args[1:], kwargs)
        return self.called(func, args, kwargs)

    def called(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Return the result of `func` on plain values or on tensors; a new array is an `Array`."""
        views: list[View] = []
        plain = True

        def look(value: Any) -> Any:
            nonlocal plain
            if type(value) is Array:
                views.append(view_of(value))
                plain = plain and views[-1].memory.plain and type(views[-1]) is View
            elif isinstance(value, Tensor) and value.level.depth:
                plain = False
            return value

        tree_map(look, (args, kwargs))
        if not plain:
            if kwargs and isinstance(kwargs.get("initial"), Tensor):
                float(kwargs["initial"])  # NumPy needs a number; a tensor raises
            given = func
            op = None if func in UNSUPPORTED else find(func)
            if op is not None and op.body is not None:  # that NumPy may dispatch on like= only
                func = op.body
            result = func(*settle(args), **settle(kwargs))
            if given in COPYING:  # it may be a view of a snapshot, which lives on
                result = tree_map(lambda y: y.copy() if np.ndim(y) else y, result)
            result = tree_map(writable, result)
            if given in COPYING:
                note(given, args, kwargs, result)
            return result

        def window(value: Any) -> Any:
            if type(value) is not Array:
                return value
            shown = view_of(value).window.view()
            shown.flags.writeable = False  # a function that writes has to say so
            return shown

        result = func(*tree_map(window, args), **tree_map(window, kwargs))

        def made(value: Any) -> Any:
            if type(value) is ndarray:
                for view in views:
                    memory = view.memory
                    if np.may_share_memory(value, memory.flat):
                        layout = layout_of(value, memory.start)
                        return on_view(View(memory, window_of(memory.flat, layout)))
                return writable(value)
            return value

        return tree_map(made, result)

    def getitem(self, x: Any, index: Index) -> Any:
        view = view_of(x)
        level = view.memory.store.level
        if level is None and type(view) is View and not _has_levels(index):
            return self.called(_getitem, (x, index), {})
        return item(x, view, index if type(index) is int else settle(index), on_view)

    # ---- writes ----

    def setitem(self, x: Any, index: Index, value: Value) -> None:
        if CALLS and CALLS[0](Tensor.__setitem__, (x, index, value), {}) is not NOBODY:
            return
        write_item(x, view_of(x), index, value)

    def add_at(self, x: Any, index: Index, value: Value) -> None:
        write_item(x, view_of(x), index, value, add=True)

    def augment(self, func: Callable, x: Any, value: Value) -> Any:
        return augment(x, func, value)

    def check_shuffle(self, frame: FrameType) -> None:
        level: Any = AMBIENT.get().level
        if level.depth:
            level.check_shuffle(frame)

    def window(self, x: Any) -> ndarray:
        return view_of(x).window

    def place(self, x: Any) -> Memory:
        return view_of(x).memory

    def snapshot(self, x: Any) -> Any:
        return view_of(x).snapshot()

    def reshape(self, x: Any, shape: Any) -> None:
        view = view_of(x)
        x._cell = view.at(reshaped(view.window, shape))

    def reorder(self, x: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
        x[...] = self.method(func, (x, *args), kwargs)
        return x

    def convert(self, x: Any, how: Any, *args: Any) -> Any:
        view = view_of(x)
        if view.memory.plain and type(view) is View:
            if how == "numpy.asarray" and args[1] is not True:
                return expose(view, args[0])
            return convert_to(view.window, how, *args)
        value: Any = view.snapshot()
        if isinstance(value, Tensor):
            return value.level.convert(value, how, *args)
        return convert_to(value, how, *args)

    def repr(self, x: Any) -> str:
        return repr(view_of(x).snapshot())


def is_whole(view: View, func: Callable) -> bool:
    """True where a view, or a part of it by `func`, shows whole elements."""
    return type(view) is View and (view.dtype.kind != "c" or VIEWS.get(func) is None)


def reshaped(window: ndarray, shape: Any) -> ndarray:
    """Return a view of `window` of another shape, as assigning to ``a.shape`` makes."""
    window = window.view()
    window.shape = shape
    return window


def keeps(x: Any, dtype: Any, /, *, copy: bool = True, **options: Any) -> bool:
    """True where `numpy.astype` gives its argument."""
    return not copy and x.dtype == dtype


def _has_levels(index: Index) -> bool:
    parts = index if type(index) is tuple else (index,)
    return any(not _all_plain(part) for part in parts)


def _getitem(x: Any, index: Index) -> Any:
    return x[index]


def item(x: Any, view: View, index: Index, wrap: Callable[[View], Any]) -> Any:
    """Return the item of an array or tensor that shows `view`: a view of it, or a copy."""
    parts = parts_of(index)
    if parts is None:
        mask = mask_of(index)
        if mask is not None:
            return Selection.of(view.snapshot(), mask, type(mask).level)
        found = writable(view.read(index))
        if type(x) is Array and isinstance(found, Tensor) and type(found) is not AMBIENT.get():
            if found.level.depth and found.ndim:  # of a level around: a copy made here
                return array_holding(found)
        return found
    window = view.window[parts]
    if type(window) is not ndarray:  # one element, which NumPy gives as a scalar
        return view.element(parts)
    return wrap(view.item(window, parts))


def view_function(x: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a function that gives views, where NumPy gives one."""
    view = view_of(x)
    wrap = on_view if type(x) is Array else wrap_like(x)
    part = VIEWS[func]
    if part is not None and view.dtype.kind == "c" and type(view) is View:
        return wrap(part(view))
    result = func(view.window, *args, **kwargs)
    shared: list[bool] = []

    def made(value: Any) -> Any:
        shared.append(not value.size or np.may_share_memory(value, view.memory.flat))
        return wrap(view.at(value)) if shared[-1] else value

    result = tree_map(made, result)
    if all(shared):
        return result
    return tree_map(np.copy, func(view.snapshot(), *args, **kwargs))


def wrap_like(x: Any) -> Callable[[View], Any]:
    """Return the function that makes a tensor of the class of `x` which shows a view."""

    def wrap(view: View) -> Any:
        y = new(type(x))
        y._cell = view
        return y

    return wrap


def write_item(x: Any, view: View, index: Index, value: Value, add: bool = False) -> None:
    """Write `value` at an index of `x`, which shows `view`, or add it to what stands there."""
    level = view.memory.store.level
    mine = level is not None and type(value) is level.cls and level.live
    if not mine or type(index) is not int:
        if type(value) is type(x) and is_item(view, index, value):
            return  # the end of x[index] op= v, which has written to the item
        prepare_write(x, view, index, value)
        index, value = settle(index), settle(value)
    else:
        check_partners(view.memory)
    view.write(index, value, add)


def is_item(view: View, index: Index, value: Value) -> bool:
    """True where `value` shows the item of `view` at a basic index."""
    if not was_written(value) or view_of(value).base is not view:
        return False
    parts = parts_of(index)
    return parts is not None and parts == view_of(value).parts


def prepare_write(x: Any, view: View, index: Index, value: Value) -> None:
    """Check that the write is one that the memory takes."""
    home = view.memory.home
    check_partners(view.memory)
    if isinstance(index, ndarray) and index.dtype == bool and was_written(value):
        if view_of(value).memory is view.memory:  # NumPy reads what it has written already
            raise MutationError(
                "x[mask] = v, where v is a view of x, depends on the order in which NumPy writes; "
                "write x[mask] = v.copy()"
            )
    for v in (value, *(index if type(index) is tuple else (index,))):
        v = settle(v) if type(v) is Array else v
        if isinstance(v, Tensor) and v.level.depth:
            check_reach(home, v, x)
            if view.memory.plain:
                check_exposed(view.memory)


def augment(x: Any, func: Callable, value: Value) -> Any:
    """``x op= value`` for an array or a tensor that shows a view."""
    view = view_of(x)
    func = UFUNC_OF.get(func, func)
    simple = view.memory.plain and type(view) is View and _all_plain(value)
    if simple and not WRITERS.get() and REGION.get() < 0:
        func(view.window, settle(value), out=view.window)
        view.memory.version += 1
        return x
    if (func is np.add or func is np.subtract) and _takes(view, value):
        write_item(x, view, ..., value if func is np.add else np.negative(value), add=True)
        return x
    return write_out(func, (x, value), {"out": (x,)})


def _takes(view: View, value: Value) -> bool:
    """True where a sum with `value` has the shape of a view, and a dtype that fits."""
    dtype = view.dtype
    if dtype.kind not in "fc" or np.ndim(value) > view.window.ndim:
        return False
    number = value if type(value) in (int, float, complex) else dtype_of(value)
    return np.can_cast(np.result_type(dtype, number), dtype, "same_kind")


def _all_plain(value: Any) -> bool:
    return not isinstance(value, Tensor) or (
        not value.level.depth and (type(value) is not Array or view_of(value).memory.plain)
    )


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


Array.level = ArrayLevel()


def tensor(data: Any) -> Tensor:
    """Return `data` as a `Tensor`; a tensor of any level comes back as it is.

    Inside a level it is a copy, which tensors can be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> table = tensor([10.0, 20.0, 30.0])  # an array that a tensor may index
    >>> vmap(lambda i: table[i])(np.array([2, 0]))
    Tensor([30., 10.])
    >>> def first_ones(x):
    ...     y = tensor(np.ones(3))
    ...     y[1:] = x
    ...     return y
    >>> vmap(first_ones)(np.array([5.0, 7.0]))
    array([[1., 5., 5.],
           [1., 7., 7.]])
    """
    if isinstance(data, Tensor):
        return data
    if AMBIENT.get() is not Tensor:
        made = np.array(data)
        if made.dtype.kind in "biufc":
            return array_of(made)
    return Tensor(data)
