"""Writes to tensors: how a tensor of a level becomes a view of a memory.

NOTE [a tensor that was written to]
    At the first write to a tensor, it and all its views that are alive become views of one new
    memory: their slots `_value` and `_extra` are emptied, and `_cell` holds the view. Who asks
    for an empty slot gets that of a snapshot, by `__getattr__`; so no operation has to know of
    writes. A level has the methods that this takes from its first write on. Tensors of other
    levels pay nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError, NumberError
from .._core.numpy_facts import Index, Value, dtype_of, is_lazy
from .._core.table import later
from .._core.tensor import Tensor
from .._cpython.collector import holders_of, instances_of
from .._mutation.array import Array, view_of, was_written
from .._mutation.copies import check_partners, inherit
from .._mutation.items import write_item
from .._mutation.layouts import model_layout
from .._mutation.memory import Memory, View, notes_of
from .._mutation.shifts import shifted_item
from .._mutation.stores import PlainStore, deepen
from .aliases import check_arguments, rank, view_in
from .armed import arm
from .lineage import levels_of
from .lying import example
from .memory import owner_of
from .origin import home_of
from .views import Row, copy_of_row, find_alive, form_in_numpy, is_array, is_row

ndarray = np.ndarray
set_view = vars(Tensor)["_cell"].__set__
EXTRA: Callable[[Any], Any] = vars(Tensor)["_extra"].__get__


def write(level: Any, x: Any, index: Index, value: Value, add: bool = False) -> None:
    """Write `value` at an index of `x`, a tensor of `level`, or add it to what stands there."""
    if is_lazy(x):
        later("_dask").set_item(x, index, x[index] + value if add else value)
        return
    write_item(x, memory_view(level, x), index, value, add)


def memory_view(level: Any, x: Any) -> View:
    """Return the view that `x` is; at the first write it becomes one."""
    if AMBIENT.get() is not level.cls:
        return _view_inside(level, x)
    return view_of(x) if was_written(x) else _begin(level, x)


def _view_inside(level: Any, x: Any) -> View:
    """The same where `x` is of a level around the ambient one, which may have kept it.

    It and its views become arrays, of which inner levels see snapshots. That is refused where
    one of them is inside a tensor of an inner level. A tape keeps aliases, which do not change.
    """
    begins = not was_written(x)
    if begins:
        _begin(level, x)
    memory = view_of(x).memory
    views = [t for t in instances_of(level.cls) if was_written(t)]
    views = [t for t in views if view_of(t).memory is memory]
    holders = [h for h in holders_of(views) if h is not views]
    if any([isinstance(h, Tensor) for h in holders]) or _has_rows(level, memory):
        raise level.refusal(
            MutationError,
            f"an array of this level cannot be written to inside {AMBIENT.get().level}, "
            f"which has kept it as a constant; make a copy inside, "
            f"y = functier.numpy.array(x), and write to that, or return the value",
        )
    if begins:
        memory.home = home_of(views, holders)
    for t in views:
        t.__class__ = Array
    return view_of(x)


def _begin(level: Any, x: Any) -> View:
    """Make `x` and its views that are alive views of one new memory."""
    if not is_array(x):
        raise level.refusal(
            NumberError,
            "a number never changes in NumPy, so it cannot be written to; write x = v, or make an "
            "array of it, y = functier.numpy.array(x)",
        )
    if level.kind.records:
        raise level.refusal(
            MutationError,
            "an array whose values are not known yet cannot be written to; write numpy.where, or "
            "build the array from its parts with numpy.concatenate or numpy.stack",
        )
    notes = notes_of(level)
    root = _source_of(level, x) if notes.rows else x
    begins = notes.taken is None
    tensors, windows = find_alive(level, root)
    if begins:  # at once, so that no view is taken without a note
        level.serves = False  # a later level of the class would look at writes for nothing
        arm(level)
    for t in tensors:
        note_place(t)
    base = max(range(len(tensors)), key=lambda i: rank(windows[i])) if len(tensors) > 1 else 0
    source, whole = tensors[base], windows[base]
    owner: Any = owner_of(whole)
    if not whole.flags.writeable and owner.flags.writeable:
        raise ValueError(f"{level}: assignment destination is read-only; write y = x.copy() first")
    if whole.size and 0 in [s for s, n in zip(whole.strides, whole.shape) if n > 1]:
        raise ValueError(
            f"{level}: assignment destination is read-only: numpy.broadcast_to gives one element "
            f"several places; write y = x.copy() first"
        )
    check_arguments(level, whole, owner)
    check_partners(owner)
    laid, dtype = form_in_numpy(level, source), dtype_of(source)
    form = model_layout(whole if laid is None else laid, dtype)
    flat = form if form.base is None else form.base
    store = deepen(PlainStore(np.empty(flat.size, dtype)), source)
    memory = Memory(flat, level.cls, store)
    inherit(owner, memory)
    views = [
        View(memory, form) if i == base else view_in(level, memory, window, whole, form)
        for i, window in enumerate(windows)
    ]
    plan = {id(t): (t, view) for t, view in zip(tensors, views) if view is not None}
    rows = _plan_rows(level, memory, plan) if notes.rows else ()
    store.put(views[base].layout, None, source)  # type: ignore[union-attr]  # it is all of it
    for key in rows:
        del notes.rows[key]
    for t, view in plan.values():
        set_view(t, view)
        del t._value
        if _has_slot(t):
            del t._extra
    return view_of(x)


def _source_of(level: Any, x: Any) -> Any:
    """Return the tensor that `x` is a row of, or a view of a row; else `x`."""
    while True:
        owner: Any = owner_of(x)
        row = level.notes.rows.get(id(owner))
        if row is None or not is_row(row, owner):
            return x
        if type(row.source) is not level.cls:
            raise level.refusal(
                MutationError,
                "x[i], for an i that differs from example to example, cannot be written to where "
                "x was made outside of this level; write y = x[i].copy() where it is taken",
            )
        x = row.source


def _plan_rows(level: Any, memory: Memory, plan: dict[int, tuple[Any, View]]) -> list[int]:
    """Add the rows of tensors that become views of a memory to `plan`, and their own rows.

    Return the keys of those that were noted.
    """
    done: list[int] = []
    more = True
    while more:
        more = False
        for key, row in list(level.notes.rows.items()):
            owner = row()
            if key in done or owner is None or id(row.source) not in plan:
                continue
            if not is_row(row, owner):
                continue
            more = True
            done.append(key)
            check_partners(owner)
            inherit(owner, memory)
            for t, view in _views_of_row(level, row, owner, plan[id(row.source)][1]):
                plan[id(t)] = t, view
    return done


def _views_of_row(level: Any, row: Row, owner: ndarray, source: View) -> Iterator[tuple]:
    """Return the tensors that are views of the copy of a row, with the views that they become."""
    shifted: Any = row.way(source) if callable(row.way) else shifted_item(source, row.way)
    form = shifted.window
    whole = copy_of_row(row, owner, form.ndim)
    alive = {id(t): t for r in level.notes.taken.get(id(owner), ()) if (t := r()) is not None}
    for t in alive.values():
        if was_written(t) or not hasattr(t, "_value") or not is_array(t):
            continue
        if owner_of(t) is not owner:
            continue
        view = view_in(level, shifted.memory, example(t), whole, form)
        if view is None:
            continue
        view.window.flags.writeable = not (view.readonly or shifted.readonly)
        own = shifted if view.whole else shifted.half(view.imaginary)
        yield t, own.at(view.window)


def _has_rows(level: Any, memory: Memory) -> bool:
    """Return whether an inner level has a row of an array of `level` that is in a memory."""
    for inner in levels_of(AMBIENT.get()):
        if inner is level:
            break
        for row in list(inner.notes.rows.values()) if inner.notes is not None else ():
            source, owner = row.source, row()
            if owner is not None and was_written(source) and view_of(source).memory is memory:
                if is_row(row, owner):
                    return True
    return False


def note_place(x: Any) -> None:
    """Note which part of an array `x` shows, where a level notes what Python code has seen."""
    while isinstance(x, Tensor) and not was_written(x):
        level = type(x).level
        if level.depth and level.kind.guards:
            return level.guard_place(x)
        x = x._value


def _has_slot(t: Any) -> bool:
    try:
        EXTRA(t)
    except AttributeError:
        return False
    return True
