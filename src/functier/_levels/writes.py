"""Writes to tensors: how one becomes a view of a memory, with its aliases, and what is armed then.

NOTE [a tensor that was written to]
    At the first write to a tensor, it and all its views that are alive become views of one new
    memory: their slots `_value` and `_extra` are emptied, and `_cell` holds the view. Who asks
    for an empty slot gets that of a snapshot, by `__getattr__`; so no operation has to know of
    writes. A level has the methods that this takes from its first write on. Tensors of other
    levels pay nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import MutationError, NumberError
from .._core.hidden import HIDDEN, LAYOUT, message_on_hidden
from .._core.hooks import set_lazy_item
from .._core.methods import METHODS as MEANINGS_OF
from .._core.methods import PROPERTIES, call_function
from .._core.numpy_facts import Index, Value, dtype_of, is_lazy
from .._core.pytree import flatten
from .._core.sharing import is_fresh, may_be_view
from .._core.subclasses import OVER_TENSORS, inside_index
from .._core.tensor import CANONICAL, Tensor
from .._cpython.collector import holders_of, instances_of
from .._mutation.array import Array, innermost, view_of, was_written
from .._mutation.copies import check_partners, inherit
from .._mutation.items import item, keep_sources, keeps_dtype, view_function, wrap_like, write_item
from .._mutation.memory import Memory, PartView, View, notes_of
from .._mutation.shifts import shifted_item
from .._mutation.stores import (
    PlainStore,
    address,
    deepen,
    layout_of,
    model_layout,
    positions_of,
    window_of,
)
from .lineage import home_of, levels_of
from .lying import example
from .memory import meet, owner_of
from .views import (
    Row,
    copy_of_row,
    find_alive,
    form_in_numpy,
    is_array,
    is_row,
    note_view,
    note_views,
)

ndarray = np.ndarray
GETITEM: Callable = vars(Tensor)["__getitem__"]


def arm(level: Any) -> None:
    """Give a level the methods that know of writes."""
    cls = level.cls
    if "_writes" in vars(cls):
        return
    notes = notes_of(level)
    if notes.taken is None:
        notes.taken = {}
    for name, method in (METHODS if level.quiet is None else level.quiet.methods(METHODS)).items():
        type.__setattr__(cls, name, method)


def missing_slot(x: Any, name: str) -> Any:
    """`__getattr__`: an empty slot of a tensor that was written to is that of a snapshot."""
    if name in ("_value", "_extra", "_moves"):
        return getattr(view_of(x).snapshot(), name)
    if name in LAYOUT:
        raise AttributeError(message_on_hidden(x, name))
    try:
        return type(x).level.missing_attribute(x, name)
    except AttributeError:
        if name not in HIDDEN:
            raise
    raise AttributeError(message_on_hidden(x, name))


def getitem(x: Any, index: Index) -> Any:
    level = type(x).level
    index = inside_index(index) if OVER_TENSORS else index
    plain = level.kind.methods.get("__getitem__") or GETITEM
    if not level.live:
        return plain(x, index)
    try:
        view = view_of(x)
    except AttributeError:
        return note_view(level, x, plain(x, index))
    return item(x, view, index, wrap_like(x))


def function(level: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """A call of a function on tensors of `level`, some of which were written to."""
    if not level.live or is_fresh(func) or (kwargs and kwargs.get("out") is not None):
        return level.function(func, args, kwargs)
    if func is np.astype and keeps_dtype(*args, **kwargs):
        return args[0]
    if may_be_view(func, args) and any(map(was_written, args)):
        return view_function(func, args, kwargs, partial(level.function, func, args, kwargs))
    result = level.function(func, args, kwargs)
    return note_views(level, args, keep_sources(func, args, result))


def call_undispatched(level: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Compute a function that NumPy has not dispatched; an armed level notes its views, too."""
    compute = function if "_writes" in vars(level.cls) else type(level).function
    return compute(level, func, args, kwargs)


def array_function(x: Any, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    return call_function(partial(function, type(x).level), func, types, args, kwargs)


def _method(name: str) -> Callable:
    plain = getattr(Tensor, name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        level = type(x).level
        if level.forwards_methods and not level.kind.guards:  # which notes views, too
            return plain(x, *args, **kwargs)
        func, args, kwargs = MEANINGS[name](x, *args, **kwargs)
        return function(level, func, args, kwargs)

    return call


def _property(name: str) -> property:
    plain = vars(Tensor)[name].fget

    def read(x: Any) -> Any:
        level = type(x).level
        if level.forwards_methods and not level.kind.guards:  # which notes views, too
            return plain(x)
        return function(level, PROPERTIES[name], (x,), {})

    return property(read, vars(Tensor)[name].fset)


METHODS: dict[str, Any] = {
    "_writes": True,
    "__getattr__": missing_slot,
    "__getitem__": getitem,
    "__array_function__": array_function,
}
"""The members that the class of such a level gets."""

MEANINGS: dict[str, Callable] = {
    name: CANONICAL[getattr(Tensor, name)]
    for name, meaning in MEANINGS_OF.items()
    if not is_fresh(meaning) and name[0] != "_"
}
"""The calls of methods whose results may share memory."""
for _name in MEANINGS:
    METHODS[_name] = _method(_name)
for _name in PROPERTIES:
    METHODS[_name] = _property(_name)


def rank(window: ndarray) -> tuple:
    """Order windows: that from which the others were taken comes last."""
    low, high = np.lib.array_utils.byte_bounds(window)
    return (
        window.flags.writeable,
        high - low,
        window.itemsize,
        window.size,
        window.flags.forc,
        -sum([stride < 0 for stride in window.strides]),
    )


READ_ONLY = "assignment destination is read-only"


def check_arguments(level: Any, window: ndarray, owner: Any) -> None:
    """Raise where `window` is read-only in an argument, or its elements are those of two arguments.

    `owner` has the memory of the window.
    """
    for outer in levels_of(level.cls)[1:] if level.depth > 1 else ():
        if outer.guards and owners_of(outer)[id(owner)]:
            outer.asked.add("memory")
    count = owners_of(level)[id(owner)]
    if not count:
        return
    if not owner.flags.writeable:
        raise ValueError(f"{level}: {READ_ONLY}; write y = x.copy() first")
    leaves, sources, _ = level.arguments
    if (count == 1 and sources is None) or len(leaves) < 2:
        return
    found = [
        i for i, x in enumerate(leaves)
        if isinstance(x, (ndarray, Tensor)) and meet(example(x), window)
    ]  # fmt: skip
    if len(found) > 1 or (sources and any(_is_shared(sources, i) for i in found)):
        raise level.refusal(
            MutationError,
            "an array that was given twice, or as a view of another argument, cannot be written "
            "to, as the other one would not see it; pass a copy, a.copy(), for one of them",
        )


def owners_of(level: Any) -> Counter:
    """Return how many arguments of a level have the memory of an array, by its number.

    A level has the trees of the arguments of its function, the arrays of which groups of
    examples are parts, or None, and this count, which is made when it is asked for.
    """
    if level.arguments is None:
        return Counter()
    given, _, owners = level.arguments
    if owners is None:
        leaves = level.arguments[0] = flatten(given)[0]  # which has the trees until then
        owners = level.arguments[2] = Counter([id(owner_of(x)) for x in leaves])
    return owners


def _is_shared(sources: Sequence, i: int) -> bool:
    """Return whether one of several arrays shares memory with another one."""
    if i >= len(sources):
        return False
    own = innermost(sources[i])
    return any([j != i and meet(own, innermost(x)) for j, x in enumerate(sources)])


def view_in(
    level: Any, memory: Memory, window: ndarray, whole: ndarray, form: ndarray
) -> View | None:
    """Return the view of `memory`, whose elements are those of `whole`, that shows `window`.

    None where the two share no element, as columns of one array do.
    """
    size = whole.itemsize
    bounds = [np.lib.array_utils.byte_bounds(x) for x in (whole, window)]
    low, high = min([b[0] for b in bounds]), max([b[1] for b in bounds])
    low = address(whole) - (address(whole) - low + size - 1) // size * size
    places = np.full((high - low + size - 1) // size, -1)
    steps = [s // size * 8 for s in whole.strides]
    inside = ndarray(whole.shape, int, places, (address(whole) - low) // size * 8, steps)
    inside[...] = positions_of(layout_of(form, memory.start))
    part = whole.dtype.kind == "c" and window.itemsize * 2 == size
    try:
        if not part and window.itemsize != size:
            raise ValueError
        start, rest = divmod(address(window) - low, size)
        if rest not in ((0, size // 2) if part else (0,)):
            raise ValueError
        found = ndarray(
            window.shape, int, places, start * 8, [s // size * 8 for s in window.strides]
        )
        if found.size and (found < 0).all():
            return None
        if (found < 0).any():
            raise ValueError
    except (ValueError, TypeError):
        raise level.refusal(
            MutationError,
            "an array cannot be written to while a view that overlaps part of it is in use; "
            "write y = x[...].copy() where the view is taken",
        ) from None
    if found.size:
        origin = (0,) * found.ndim
        steps = [
            int(found[(*origin[:d], 1, *origin[d + 1 :])] - found[origin]) if n > 1 else 0
            for d, n in enumerate(found.shape)
        ]
        shown = window_of(memory.flat, (int(found[origin]), found.shape, tuple(steps)))
    else:
        shown = np.empty(found.shape, memory.flat.dtype)
    shown.flags.writeable = window.flags.writeable or not whole.flags.writeable
    return PartView(memory, shown, rest > 0) if part else View(memory, shown)


set_view = vars(Tensor)["_cell"].__set__
EXTRA: Callable[[Any], Any] = vars(Tensor)["_extra"].__get__


def write(level: Any, x: Any, index: Index, value: Value, add: bool = False) -> None:
    """Write `value` at an index of `x`, a tensor of `level`, or add it to what stands there."""
    if is_lazy(x):
        set_lazy_item(x, index, x[index] + value if add else value)
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
        raise ValueError(f"{level}: {READ_ONLY}; write y = x.copy() first")
    if whole.size and 0 in [s for s, n in zip(whole.strides, whole.shape) if n > 1]:
        raise ValueError(
            f"{level}: {READ_ONLY}: numpy.broadcast_to gives one element several places; write "
            f"y = x.copy() first"
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
        yield t, (shifted if view.whole else shifted.half(view.imaginary)).at(view.window)


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
