"""Writes to tensors: how a tensor of a level becomes a view of a memory.

NOTE [a tensor that was written to]
    At the first write to a tensor, it and all its views that are alive become views of one new
    memory: their slots `_value` and `_extra` are emptied, and `_cell` holds the view. Who asks
    for an empty slot gets that of a snapshot, by `__getattr__`; so no operation has to know of
    writes. A level has the methods that this takes from its first write on. Tensors of other
    levels pay nothing.

NOTE [views that are alive]
    NumPy's memory tells which tensors are views of which. Before the first write of a level
    nobody keeps a list of them: all instances of the class are looked for once, which takes
    milliseconds. The label of the level is noted, and later levels of that label keep the list
    from their beginning.
"""

import gc
import math
import sys
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.methods import LAYOUT, PROPERTIES, message_on_memory
from .._core.numpy_facts import dtype_of
from .._core.tensor import Tensor
from .._core.types import Index, Value
from .._mutation.array import (
    Array,
    item,
    settle,
    view_function,
    view_of,
    was_written,
    wrap_like,
    write_item,
)
from .._mutation.layouts import address, layout_of, positions_of
from .._mutation.memory import Memory, PartView, View
from .._mutation.out import VIEWS
from .._mutation.stores import PlainStore, deepen
from .memory import owner_of

ndarray = np.ndarray
GETITEM: Callable = vars(Tensor)["__getitem__"]
WRITERS: set[str] = set()
"""The labels of levels whose tensors were written to: see NOTE [views that are alive]."""

set_view = vars(Tensor)["_cell"].__set__


def write(level: Any, x: Any, index: Index, value: Value, add: bool = False) -> None:
    """Write `value` at an index of `x`, a tensor of `level`, or add it to what stands there."""
    write_item(x, memory_view(level, x), index, value, add)


def memory_view(level: Any, x: Any) -> View:
    """Return the view that `x` is; at the first write it becomes one."""
    if AMBIENT.get() is not level.cls:
        return _view_inside(level, x)
    try:
        return view_of(x)
    except AttributeError:
        return _begin(level, x)


def _view_inside(level: Any, x: Any) -> View:
    """The same where `x` is of a level around the ambient one, which may have kept it.

    It and its views become arrays, of which inner levels see snapshots. That is refused where
    one of them is a constant on the tape of an inner level, or inside one of its tensors.
    """
    try:
        memory = view_of(x).memory
    except AttributeError:
        _begin(level, x)
        memory = view_of(x).memory
    views = [t for t in gc.get_referrers(level.cls) if type(t) is level.cls and was_written(t)]
    views = [t for t in views if view_of(t).memory is memory]
    for t in views:
        for holder in gc.get_referrers(t):
            if isinstance(holder, (tuple, Tensor)):
                raise level.refusal(
                    MutationError,
                    f"an array of this level cannot be written to inside {AMBIENT.get().level}, "
                    f"which has kept it as a constant; make a copy inside, "
                    f"y = functier.numpy.array(x), and write to that, or return the value",
                )
    for t in views:
        t.__class__ = Array
    return view_of(x)


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


# ---- the first write ----


def _begin(level: Any, x: Any) -> View:
    """Make `x` and its views that are alive views of one new memory."""
    if level.kind.records:
        raise level.refusal(
            MutationError,
            "an array whose values are not known yet cannot be written to; write numpy.where, or "
            "build the array from its parts with numpy.concatenate or numpy.stack",
        )
    tensors = alive(level, x)
    windows = [example(t) for t in tensors]
    base = max(range(len(tensors)), key=lambda i: _rank(windows[i]))
    whole = windows[base]
    owner: Any = owner_of(whole)
    if not whole.flags.writeable and owner.flags.writeable:
        raise ValueError(f"{level}: assignment destination is read-only; write y = x.copy() first")
    if whole.size and 0 in [s for s, n in zip(whole.strides, whole.shape) if n > 1]:
        raise ValueError(
            f"{level}: assignment destination is read-only: numpy.broadcast_to gives one element "
            f"several places; write y = x.copy() first"
        )
    _check_arguments(level, tensors, base)
    form = model(whole)
    flat = form if form.base is None else form.base
    store = deepen(PlainStore(np.empty(flat.size, dtype_of(tensors[base]))), tensors[base])
    memory = Memory(flat, level.cls, store)
    views = [
        View(memory, form) if i == base else _view(level, memory, window, whole, form)
        for i, window in enumerate(windows)
    ]
    store.put(views[base].layout, None, tensors[base])
    if level.taken is None:
        level.serves = False  # a later level of the class would look at writes for nothing
        arm(level)
    for t, view in zip(tensors, views):
        set_view(t, view)
        del t._value
        if _has_slot(t):
            del t._extra
    return view_of(x)


def model(window: ndarray) -> ndarray:
    """Return a view of a new flat array whose elements lie as those of `window` do.

    Whether NumPy reshapes by a view depends on that. Large gaps become small ones.
    """
    size = window.itemsize
    steps = [s // size if n > 1 else 0 for s, n in zip(window.strides, window.shape)]
    gap = math.gcd(*steps) if steps else 1
    if gap > 2:
        steps = [step // gap * 2 for step in steps]
    reach = [step * (n - 1) for step, n in zip(steps, window.shape)]
    total = 1 + sum(map(abs, reach))
    if not window.size or total > 8 * window.size:
        form = np.empty_like(window, dtype=bool)
        flat = form.ravel(order="K")
        return ndarray(form.shape, bool, flat, 0, form.strides)
    flat = np.empty(total, bool)
    return ndarray(window.shape, bool, flat, -sum(min(0, r) for r in reach), steps)


def _has_slot(t: Any) -> bool:
    try:
        EXTRA(t)
    except AttributeError:
        return False
    return True


EXTRA: Callable[[Any], Any] = vars(Tensor)["_extra"].__get__


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
    if not isinstance(value, ndarray):
        value = np.asarray(value)
    if 0 in value.shape[:axes]:
        value = np.empty((1,) * axes + value.shape[axes:], bool)
    return value[(0,) * axes + (...,)]


def _rank(window: ndarray) -> tuple:
    """Order windows: that from which the others were taken comes last."""
    low, high = np.lib.array_utils.byte_bounds(window)
    return high - low, window.itemsize, window.size, window.flags.forc, -_reversed(window)


def _reversed(window: ndarray) -> int:
    return sum(stride < 0 for stride in window.strides)


def alive(level: Any, x: Any) -> list[Any]:
    """Return the tensors of the level that are views of the same array as `x`, and itself."""
    owner = owner_of(example(x))
    if level.taken is None:
        found = [t for t in gc.get_referrers(level.cls) if type(t) is level.cls]
        WRITERS.add(level.label)
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


def _check_arguments(level: Any, tensors: list[Any], base: int) -> None:
    """Raise where two arguments of the transform are the same memory."""
    if level.kind.differentiates is None or len(tensors) == 1:
        return
    if level.kind.differentiates == "reverse":  # where an argument is a leaf of the tape
        twice = len({t._extra[0] for t in tensors if t._extra[1] is None}) > 1
    else:
        whole = example(tensors[base])
        twice = sum(np.may_share_memory(example(x), whole) for x in _arguments(level)) > 1
    if twice:
        raise level.refusal(
            MutationError,
            "an array that was given twice, or as a view of another argument, cannot be written "
            "to, as its derivative would be that of both; pass a copy, a.copy(), for one of them",
        )


def _arguments(level: Any) -> list[Any]:
    """Return the arguments that a level was made for, from the frame that runs it."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        names = frame.f_locals
        if names.get("level") is level and isinstance(names.get("leaves"), (list, tuple)):
            return [x for x in names["leaves"] if isinstance(x, (ndarray, Tensor))]
        frame = frame.f_back
    return []


def _view(level: Any, memory: Memory, window: ndarray, whole: ndarray, form: ndarray) -> View:
    """Return the view of `memory`, whose elements are those of `whole`, that shows `window`."""
    size = whole.itemsize
    low, high = np.lib.array_utils.byte_bounds(whole)
    places = np.full((high - low) // size, -1)
    steps = [s // size * 8 for s in whole.strides]
    inside = ndarray(whole.shape, int, places, (address(whole) - low) // size * 8, steps)
    inside[...] = positions_of(layout_of(form, memory.start))
    offset = address(window) - low
    part = whole.dtype.kind == "c" and window.itemsize * 2 == size
    try:
        if not part and window.itemsize != size:
            raise ValueError
        start, rest = divmod(offset, size)
        if rest not in ((0, size // 2) if part else (0,)) or offset < 0:
            raise ValueError
        found = ndarray(
            window.shape, int, places, start * 8, [s // size * 8 for s in window.strides]
        )
        if (found < 0).any():
            raise ValueError
    except (ValueError, TypeError):
        raise level.refusal(
            MutationError,
            "an array of which a view is alive that overlaps it in part cannot be written to; "
            "copy the view where it is taken, y = x[...].copy()",
        ) from None
    if found.size:
        origin = (0,) * found.ndim
        steps = [
            int(found[(*origin[:d], 1, *origin[d + 1 :])] - found[origin]) if n > 1 else 0
            for d, n in enumerate(found.shape)
        ]
        shown = ndarray(found.shape, bool, memory.flat, int(found[origin]), steps)
    else:
        shown = np.empty(found.shape, bool)
    shown.flags.writeable = window.flags.writeable or not whole.flags.writeable
    return PartView(memory, shown, rest > 0) if part else View(memory, shown)


# ---- the methods of a level whose tensors were written to ----


def arm(level: Any) -> None:
    """Give a level the methods that know of writes."""
    cls = level.cls
    if "_writes" in vars(cls):
        return
    level.taken = {}
    for name, method in METHODS.items():
        type.__setattr__(cls, name, method)


def missing_slot(x: Any, name: str) -> Any:
    """`__getattr__`: an empty slot of a tensor that was written to is that of a snapshot."""
    if name == "_value" or name == "_extra":
        return getattr(view_of(x).snapshot(), name)
    if name in LAYOUT:
        raise AttributeError(message_on_memory(x, name, LAYOUT[name]))
    return type(x).level.missing_attribute(x, name)


def getitem(x: Any, index: Index) -> Any:
    level = type(x).level
    plain = level.kind.methods.get("__getitem__") or GETITEM
    if not level.live:
        return plain(x, index)
    try:
        view = view_of(x)
    except AttributeError:
        return note_view(level, x, plain(x, index))
    return item(x, view, settle(index), wrap_like(x))


def getitem_with_dots(level: Any, x: Any, index: tuple) -> Any:
    """Return ``x[index]`` for an index with an Ellipsis; None where it has other parts.

    NumPy gives an array without axes where the other parts are an element's: it is a view.
    """
    consumed, elements = 0, True
    for part in index:
        kind = type(part)
        if kind is ndarray:
            consumed += part.ndim if part.dtype == bool else 1
        elif kind is slice or kind is int:
            consumed += 1
        elif kind is not type(None) and part is not ...:
            return None
        elements = elements and (kind is int or part is ...)
    missing = x.ndim - consumed
    places = [i for i, part in enumerate(index) if part is ...]
    if missing < 0 or len(places) != 1:
        return None
    if not missing and elements:
        y = x[tuple([part for part in index if part is not ...])]
        if type(y) is type(x):
            if was_written(x):
                return wrap_like(x)(view_of(x).at(view_of(x).window[index]))
            if level.points is None:
                level.points = {}
            level.points[id(y)] = ref(y)
            note_view(level, x, y)
        return y
    (place,) = places
    return x[(*index[:place], *(slice(None),) * missing, *index[place + 1 :])]


def note_view(level: Any, x: Any, y: Any) -> Any:
    """Note that `y` may be a view of `x`."""
    taken = level.taken
    if taken is not None and type(y) is type(x) is level.cls and not was_written(y):
        owner = owner_of(y)
        if owner is not None and owner is owner_of(x):
            taken.setdefault(id(owner), []).extend((ref(x), ref(y)))
    return y


def function(level: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """A call of a function on tensors of `level`, some of which were written to."""
    if func in VIEWS and args and type(args[0]) is level.cls and level.live:
        x = args[0]
        if was_written(x):
            return view_function(x, func, args[1:], kwargs)
        result = level.function(func, args, kwargs)
        for y in result if type(result) in (tuple, list) else (result,):
            note_view(level, x, y)
        return result
    return level.function(func, args, kwargs)


def array_function(x: Any, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    return function(type(x).level, func, args, kwargs)


def _method(name: str) -> Callable:
    plain = getattr(Tensor, name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        level = type(x).level
        if level.forwards_methods:
            return plain(x, *args, **kwargs)
        meaning = METHOD_MEANINGS[name]
        func, args, kwargs = meaning(x, *args, **kwargs)
        return function(level, func, args, kwargs)

    return call


def _property(name: str) -> property:
    plain = vars(Tensor)[name].fget

    def read(x: Any) -> Any:
        level = type(x).level
        if level.forwards_methods:
            return plain(x)
        return function(level, PROPERTIES[name], (x,), {})

    return property(read)


METHOD_MEANINGS: dict[str, Callable] = {}
METHODS: dict[str, Any] = {
    "_writes": True,
    "__getattr__": missing_slot,
    "__getitem__": getitem,
    "__array_function__": array_function,
}


def _fill() -> None:
    from .._core.tensor import CANONICAL

    for name in ("reshape", "ravel", "transpose", "swapaxes", "squeeze"):
        METHOD_MEANINGS[name] = CANONICAL[getattr(Tensor, name)]
        METHODS[name] = _method(name)
    for name in PROPERTIES:
        METHODS[name] = _property(name)


_fill()
