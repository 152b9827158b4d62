"""Views: which tensors of a level are views of one array, as NumPy has them.

NOTE [views that are alive]
    NumPy's memory tells which tensors are views of which. Before the first write of a level
    nobody keeps a list of them: all instances of the class are looked for once, which takes
    milliseconds. The code that made the level is noted, and later levels that it makes keep the
    list from their beginning.

NOTE [a row is noted where it is read]
    In NumPy ``x[i]`` is a view. Here it is a copy until the array or one of its rows is written
    to: reading is what nearly all code does. The level notes the array that owns the copy's
    memory, by which all views of the copy are found, and the tensor and the index that it was read
    with, which live as long as it does: NumPy's view has its base, too. The first write to one
    of them makes views of all, as it does of other views of the memory; see `_mutation.shifts`.
    So it is with other copies of what NumPy has as a view, as windows, and a reshape of examples
    that lie among each other: NumPy's own function then takes their views from that of the source.
"""

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from .._core.numpy_facts import Index, Shape, is_lazy
from .._core.op import Op
from .._core.tensor import Tensor
from .._cpython.collector import instances_of
from .._mutation.array import innermost, is_scalar, view_of, was_written
from .._mutation.array import is_array as is_array
from .._mutation.copies import taking, tie
from .._mutation.memory import notes_of
from .._mutation.shifts import BOXES, numbers_in
from .._mutation.shifts import note_box as note_whole
from .._mutation.stores import address
from .lying import (
    example,
    in_order,
    is_hidden,
    made_in_order,
    model,
    moved,
    steps_in_numpy,
    values_of,
)
from .memory import meet, owner_of

ndarray = np.ndarray
WRITERS: set[tuple[int, str]] = set()
"""The levels whose tensors were written to, by the number of the code that made them and by their
labels: see NOTE [views that are alive]."""


def find_alive(level: Any, x: Any) -> tuple[list[Any], list[ndarray]]:
    """Return the tensors of the level that are views of the same array as `x`, and itself.

    The second list has an example of each.
    """
    own = example(x)
    owner = owner_of(own)
    notes = level.notes
    if notes.taken is None:
        notes.taken = {}
        found = instances_of(level.cls)
        note_all(level, found)
        WRITERS.add((id(level.made[0]), level.label))
    else:
        found = [t for r in notes.taken.get(id(owner), ()) if (t := r()) is not None]
    tensors: list[Any] = [x]
    others: dict[int, tuple[Any, ndarray]] = {}
    for t in found:
        if hasattr(t, "_kept"):
            continue  # a record keeps it as it is
        if t is not x and not was_written(t) and hasattr(t, "_value") and is_array(t):
            window = example(t)
            if owner_of(window) is owner:
                others[id(t)] = t, window
    windows, new = [], [own]
    while new:  # those that overlap one that has been found
        windows += new
        new = []
        for key, (t, window) in list(others.items()):
            if any(meet(window, w) for w in windows):
                del others[key]
                tensors.append(t)
                new.append(window)
    return tensors, windows


def note_all(level: Any, tensors: list[Any]) -> None:
    """Note all tensors of a level that kept no list until now."""
    taken = level.notes.taken
    for t in tensors:
        if not was_written(t) and hasattr(t, "_value") and is_array(t):
            taken.setdefault(id(owner_of(example(t))), []).append(ref(t))


def note_view(level: Any, x: Any, y: Any) -> Any:
    """Note that `y` may be a view of `x`."""
    taken = None if level.notes is None else level.notes.taken
    if taken is not None and type(y) is type(x) is level.cls and not was_written(y):
        owner = owner_of(y)
        if owner is not None and owner is owner_of(x):
            taken.setdefault(id(owner), []).extend((ref(x), ref(y)))
    return y


def note_views(level: Any, args: tuple, result: Any) -> Any:
    """Return a result; note which of its tensors may be views of one of `args`."""
    for y in result if type(result) in (tuple, list) else (result,):
        if type(y) is level.cls:
            for x in args:
                if y is not x:
                    note_view(level, x, y)
    return result


def view_result(level: Any, op: Op, x: Any, given: dict) -> Any:
    """Return the result of an operation that may be a view of `x`, its one operand."""
    y = level.apply_single(op, x, given)
    if op.views and not x.ndim and (op.boxes or np.ndim(y)) and is_scalar(x):
        x = np.copy(x)  # NumPy makes a new array of a number
        y = level.apply_single(op, x, given)
    if op.views == "either" and (
        level.batches or type(x._value) is not ndarray
        or ((notes := level.notes) is not None and (notes.laid or notes.rows))
    ):  # fmt: skip
        y = as_in_numpy(level, op, x, y, given)
    if op.order is not None:
        y = in_order(op.order, op.func, (x,), given, y)
        if not op.views and not op.boxes:
            return y
    if is_array(x):
        return note_point(level, x, y)
    if op.func is np.copy and "order" not in given:  # unlike the method, which gives an order
        return note_box(y)
    return note_result(op, (x,), y)


def window(level: Any, x: Any) -> ndarray:
    """Return an array that lies in memory as NumPy's does: an example of `x`, where that does."""
    if was_written(x):
        return view_of(x).window
    form = form_in_numpy(level, x)
    return example(x) if form is None else form


def form_in_numpy(level: Any, x: Any) -> ndarray | None:
    """Return an array that lies as NumPy's does; None where an example of `x` does."""
    if level.notes is not None and level.notes.rows:
        owner = owner_of(x)
        row = level.notes.rows.get(id(owner))
        if row is not None and is_row(row, owner):
            return model(x, _steps_of_row(x, row, owner))
    steps = steps_in_numpy(x)
    return None if steps is None else model(x, steps)


def _steps_of_row(x: Any, row: "Row", owner: Any) -> list[int]:
    """Return the strides that NumPy has for `x`, whose memory is that of a row's copy."""
    there = row.steps
    if there is None:
        index: Any = tuple([0 if isinstance(part, Tensor) else part for part in row.way])
        there = type(row.source).level.window(row.source)[index].strides
    whole = copy_of_row(row, owner, len(there))
    pairs = [(a, b) for a, b, n in zip(whole.strides, there, whole.shape) if n > 1 and a]
    own = example(x)
    pairs.sort(reverse=True)
    return [moved(s, pairs) if n > 1 else 0 for s, n in zip(own.strides, own.shape)]


def as_in_numpy(level: Any, op: Op, x: Any, y: Any, given: dict) -> Any:
    """Return `y`, a reshape of `x`: a copy, or noted as a view, where it is one in NumPy alone."""
    value = x._value
    if type(value) is not ndarray and is_hidden(x):
        return y
    notes = level.notes
    if notes is None or not (notes.laid or notes.rows):
        value, k = (value, level.k) if type(value) is ndarray else values_of(x)
        strides = value.strides
        if not k or value.flags.c_contiguous or min(strides[:k]) >= max(strides[k:], default=0):
            if min(strides, default=0) >= 0:
                return y
    form = form_in_numpy(level, x)
    if form is None:
        return y
    shown = op.func(form, **given)
    view = np.may_share_memory(shown, form)
    if view == (owner_of(x) is owner_of(y)):
        return y
    if not view:
        return np.copy(y)
    if not note_lost(level, x, y, taking(op.func, (form,), given, form, 0), shown.strides):
        tie(op.func, level.place(x), y)
    return y


def note_made(op: Op, args: tuple, kwargs: dict, y: Any) -> Any:
    """Return the result of a body, as it lies in memory in NumPy, and an array or a number."""
    if op.order is not None and not (args and y is args[0]):
        y = made_in_order(op, args, kwargs, y)
    if op.boxes:
        return note_box(np.copy(y) if any([y is x for x in args]) and is_scalar(y) else y)
    return note_number(y, args)


def note_box(y: Any) -> Any:
    """Note that `y`, where it has no axes, is an array in NumPy and no number; return it."""
    if isinstance(y, Tensor) and not y.ndim:
        if not is_array(y) and type(y) is type(y).level.cls:
            if holds_tensor(y):
                add_point(y)
            elif not is_lazy(y._value):
                y._value = np.asarray(y._value)  # type: ignore[misc]
        if y.dtype.kind in "iub":
            note_whole(y)
    return y


def add_point(y: Any) -> Any:
    """Note that `y`, which has no axes, is an array; return it."""
    notes_of(type(y).level).points[id(y)] = ref(y)
    return y


def note_number(y: Any, args: tuple) -> Any:
    """Note that `y`, where a body has made it and it has no axes, is a number in NumPy; return it.

    A body computes with arrays as it likes, such as those of `numpy.where`.
    """
    if not isinstance(y, Tensor) or y.ndim or any([y is x for x in args]):
        return y
    x: Any = y
    while is_array(x) and not was_written(x):
        level = type(x).level
        if level.notes is not None:
            level.notes.points.pop(id(x), None)
        if level.kind.batches:
            break
        if not isinstance(x._value, Tensor):
            x._value = x._value[()]
            break
        x = x._value
    return y


def note_result(op: Op, args: tuple, y: Any, options: dict | None = None) -> Any:
    """Note an integer that is an array in NumPy, as the first operand is; return it.

    A result of a batch, computed with some options, comes as it lies in memory in NumPy.
    """
    if not (op.boxes or op.views or op.order):
        return y
    if op.order and options is not None and isinstance(y, Tensor) and y.level.batches:
        y = in_order(op.order, op.func, args, options, y)
    x = args[0] if args else None
    if op.boxes or id(x) in BOXES or (isinstance(x, Tensor) and not x.ndim and is_array(x)):
        note_box(y)
    return y


def note_point(level: Any, x: Any, y: Any) -> Any:
    """Note that `y`, where it has no axes, is an array in NumPy and no scalar: a view of `x`.

    Of a number it is a new array.
    """
    if type(y) is type(x) is level.cls and holds_tensor(y):
        if is_scalar(x):
            return np.copy(y)
        if not y.ndim:
            note_view(level, x, add_point(y))
    return y


def point(level: Any, x: Any) -> Any:
    """Return a number as what NumPy makes of it by `numpy.asarray`: an array without axes."""
    value = innermost(x)
    y: Any = x[...] if hasattr(value, "dtype") else np.reshape(x, ())  # of Python's, in a program
    return y if type(y) is not type(y).level.cls or is_array(y) else add_point(y)


class Row(ref):
    """A reference to the array that owns the memory of a copy, which is a view in NumPy.

    It is ``source[way]``, or `way` takes its view from that of the source, with `steps`. `layout`
    is the shape and the strides of the copy, where that is a view of its owner.
    """

    source: Any
    way: Any  # tuple | Callable[[View], View | None]
    steps: tuple[int, ...] | None
    key: int
    rows: dict[int, "Row"]
    layout: tuple[Shape, tuple[int, ...]] | None


def _forget(row: Row) -> None:
    row.rows.pop(row.key, None)


def note_item(x: Any, index: Index, y: Any) -> Any:
    """Return `y`, which is ``x[index]``; note it where NumPy has a view or an array without axes.

    It is a copy where it was a view, and NumPy has a copy.
    """
    parts = index if type(index) is tuple else (index,)
    dots = numbers = False
    for part in parts:
        if isinstance(part, Tensor):
            level = part.level
            if getattr(part._value, "ndim", 0) == (level.k if level.batches else 0):
                numbers = True
        elif part is ... or part is None:
            dots = True
        elif type(part) is ndarray and not part.ndim:
            numbers = True
    if not (numbers or dots) or not isinstance(y, Tensor):
        return y
    if numbers and y.level.depth:
        value, axes = y, 0
        while isinstance(value, Tensor):
            level = value.level
            if level.batches:
                axes += level.k
            value = value._value
        if type(value) is ndarray and (dots or value.ndim > axes):
            if value.base is None:
                _note_row(x, parts, y, value, None)
            else:
                y = _note_view(x, parts, y, value)
    return note_point(y.level, x, y) if dots else y


def _note_view(x: Any, parts: tuple, y: Any, value: ndarray) -> Any:
    """Note a row that may be a view of its source, as all examples share the numbers.

    `value` is the array in `y`.
    """
    owner: Any = owner_of(value)
    if owner is owner_of(x):
        return np.copy(y) if any([_is_point(part) for part in parts]) else y
    _note_row(x, parts, y, owner, (value.shape, value.strides))
    return y


def note_lost(level: Any, x: Any, y: Any, way: Callable, steps: tuple[int, ...]) -> bool:
    """Note that `y` is a copy of what is a view of `x` in NumPy, with strides of `steps` bytes.

    False where that cannot be.
    """
    if not type(x) is type(y) is getattr(level, "cls", None) or was_written(x) or was_written(y):
        return False
    value, owner = innermost(y), owner_of(y)
    if owner is None or owner.dtype != innermost(x).dtype or value.dtype != owner.dtype:
        return False
    if address(value) != address(owner) or id(owner) in notes_of(level).rows:
        return False
    _note_row(x, way, y, owner, (value.shape, value.strides)).steps = steps
    return True


def _note_row(x: Any, way: Any, y: Any, owner: Any, layout: Any) -> Row:
    """Note that `y`, whose memory is that of `owner`, is a row of `x`; see `Row`."""
    notes = notes_of(y.level)
    rows, key = notes.rows, id(owner)
    rows[key] = row = Row(owner, _forget)
    row.source, row.way, row.key, row.rows, row.layout = x, way, key, rows, layout
    row.steps = None
    if notes.taken is not None:
        notes.taken.setdefault(key, []).append(ref(y))
    return row


def copy_of_row(row: Row, owner: ndarray, ndim: int) -> ndarray:
    """Return an example of the copy of a row, whose memory is that of `owner`."""
    layout = (owner.shape, owner.strides) if row.layout is None else row.layout
    whole: ndarray = np.lib.stride_tricks.as_strided(owner, *layout)
    return whole[(0,) * (whole.ndim - ndim) + (...,)]


def is_row(row: Row, owner: Any) -> bool:
    """Return whether a row is a view in NumPy, and its copy has the memory of `owner`."""
    found: Any = row()
    if found is not owner or not found.size:
        return False
    return callable(row.way) or numbers_in(row.way) is not None


def _is_point(part: Any) -> bool:
    """True for an array without axes."""
    return type(part) is ndarray or (isinstance(part, Tensor) and is_array(part))


def holds_tensor(x: Any) -> bool:
    """True where the class of NumPy's object does not tell if a value without axes is an array."""
    return type(x).level.kind.batches or isinstance(x._value, Tensor)
