"""Items, views and writes of arrays and of tensors that were written to."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.agreement import settle_masks
from .._core.ambient import AMBIENT
from .._core.border import check_reach, code_for_array
from .._core.errors import MutationError
from .._core.numpy_facts import PLAIN, UFUNC_OF, Index, Value, dtype_of, is_writable, order_of
from .._core.root import tree_map
from .._core.sharing import is_fresh
from .._core.table import find
from .._core.tensor import Tensor
from .array import (
    HALVES,
    Array,
    alias_of,
    array_holding,
    innermost,
    is_array,
    made_here,
    make_writable,
    on_view,
    settle,
    view_of,
    was_written,
    write_out,
)
from .copies import check_exposed, check_partners, func_on, tie
from .memory import CHOSEN, REGION, View
from .selection import Selection, choice_of
from .shifts import is_number, numbers_in, shifted_item
from .stores import address, parts_of, rank_at

new = object.__new__
ndarray = np.ndarray


def item(x: Any, view: View, index: Index, wrap: Callable[[View], Any]) -> Any:
    """Return the item of an array or tensor that shows `view`: a view of it, or a copy."""
    parts = parts_of(index)
    if parts is None:
        index = with_numbers(index, view.window.ndim)
        parts = parts_of(index)
    if parts is None:
        numbers = numbers_in(index)
        shifted = None if numbers is None else shifted_item(view, numbers)
        if shifted is not None:
            mine = issubclass(type(x), type(shifted.shift))  # of the shift's level, or inside it
            return (wrap if mine else on_view)(shifted)
        index = settle(index)
        choice = choice_of(index, view.window.ndim)
        if choice is not None:
            index = settle_masks(index)
            choice = choice_of(index, view.window.ndim)
        if choice is not None:
            shown = view.at(choice.shown(view.window)).snapshot()
            return Selection.of(shown, choice, alias_of(choice.mask))
        found = make_writable(view.read(index))
        if type(x) is Array and isinstance(found, Tensor) and type(found) is not AMBIENT.get():
            if found.level.depth and found.ndim:  # of a level around: a copy made here
                return array_holding(found)
        return found
    window = view.window[parts]
    if type(window) is not ndarray:  # one element, which NumPy gives as a scalar
        return view.element(parts)
    return wrap(view.item(window, parts))


def with_numbers(index: Index, ndim: int) -> Index:
    """Return an index with a number for each tensor of one, where a level notes what was asked.

    NumPy has a view at such an index, to which the function may write.
    """
    parts = index if type(index) is tuple else (index,)
    if not any([_is_number(part) for part in parts]) or rank_at(ndim, parts) <= 0:
        return index
    return tuple([operator.index(part) if _is_number(part) else part for part in parts])


def _is_number(part: Any) -> bool:
    return is_number(part) and part.level.kind.guards


def view_function(func: Callable, args: tuple, kwargs: dict, compute: Callable[[], Any]) -> Any:
    """Return the results of a function that may give views of arrays that were written to.

    NumPy tells which they are by the places of one example. `compute` gives the new arrays.
    """
    part, sources = HALVES.get(func), []
    if part is not None and view_of(args[0]).window.dtype.kind == "c":
        if view_of(args[0]).dtype.kind == "c":
            return _wrapping(args[0])(part(view_of(args[0])))
        return args[0] if func is np.real else compute()  # of a part, which is real

    def places(value: Any) -> Any:
        if was_written(value):
            sources.append((_wrapping(value), view_of(value)))
            window = sources[-1][1].window
            return window.view(np.int8) if window.dtype == bool else window  # else a mask
        return value.level.window(value) if isinstance(value, Tensor) else value

    with np.errstate(all="ignore"):
        result = func_on(func, args)(*tree_map(places, args), **tree_map(places, kwargs))
    found: list[Any] = []  # views, or orders of new arrays; None for what is read-only

    def look(value: Any) -> None:
        for wrap, view in sources:
            if np.may_share_memory(value, view.memory.flat) or not np.size(value):
                return found.append(wrap(view.at(value.view(view.window.dtype))))
        kept = isinstance(value, np.generic) or 0 in value.strides
        return found.append(not kept and (order_of(value) if is_writable(value) else None))

    def choose(value: Any) -> Any:
        view = next(each)
        if isinstance(view, Tensor):
            return view
        if view is None and type(value) is Array:
            view_of(value).window.flags.writeable = False
            return on_view(view_of(value).at(view_of(value).window))
        return np.copy(value, view) if view else value

    tree_map(look, result)
    each = iter(found)
    return tree_map(choose, result if all(isinstance(y, Tensor) for y in found) else compute())


def keep_sources(func: Callable, args: tuple, result: Any) -> Any:
    """Return the results of a function of snapshots, which may be one of these or a part of it."""
    if is_fresh(func) or (func.__module__ or "").partition(".")[0] not in ("numpy", "scipy"):
        return result
    sources = [x for x in args if was_written(x)]

    def keep(value: Any) -> Any:
        for x in sources if value is not None and not was_written(value) else ():
            view, shown = view_of(x), innermost(value)
            if value is view.value or is_same(shown, innermost(view.value)):
                return _wrapping(x)(view)
            if np.may_share_memory(shown, innermost(view.value)):
                value = made_here(np.copy(value))
                tie(func, x.level.place(x), value)
        return value

    return tree_map(keep, result) if sources else result


def is_same(x: Any, y: Any) -> bool:
    """Return whether two values are one array, or views of the same elements."""
    if type(x) is not ndarray or type(y) is not ndarray or not x.size:
        return False
    return address(x) == address(y) and (x.shape, x.strides, x.dtype) == (
        y.shape, y.strides, y.dtype
    )  # fmt: skip


def _wrapping(x: Any) -> Callable[[View], Any]:
    """Return the function that makes a value of the class of `x`, which shows a view."""
    return on_view if type(x) is Array else wrap_like(x)


def wrap_like(x: Any) -> Callable[[View], Any]:
    """Return the function that makes a tensor of the class of `x` which shows a view."""

    def wrap(view: View) -> Any:
        y = new(type(x))
        y._cell = view
        return y

    return wrap


def write_item(x: Any, view: View, index: Index, value: Value, add: bool = False) -> None:
    """Write `value` at an index of `x`, which shows `view`, or add it to what stands there."""
    if type(value) is list or type(value) is tuple:
        value = stacked(value)
    level = view.memory.store.level
    mine = level is not None and type(value) is level.cls and level.live and view.shift is None
    if not mine or type(index) is not int:
        if not add and type(value) is type(x) and is_item(view, index, value):
            return  # the end of x[index] op= v, which has written to the item
        prepare_write(x, view, index, value)
        index, value = settle(index), settle(value)
    if isinstance(value, Tensor) and not add and view.dtype.kind in "iu" and not value.ndim:
        check_range(view.dtype, index, value)
    else:
        check_partners(view.memory)
    view.write(index, value, add)


def check_range(dtype: np.dtype, index: Index, value: Any) -> None:
    """Raise where the number of an example does not fit into an integer of an array, as NumPy does.

    Of arrays, and at indices that are arrays, NumPy takes the lowest bits.
    """
    if parts_of(index) is None or is_array(value) or np.can_cast(value.dtype, dtype, "safe"):
        return
    x: Any = value
    while isinstance(x, Tensor) and x.level.depth and x.level.kind.batches:
        x = x._value
    if x is value or value.dtype.kind not in "iuf":
        return
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    fits = (x >= low) & (x <= high) if x.dtype.kind != "f" else (x > low - 1.0) & (x < high + 1.0)
    if not bool(np.all(fits)):
        raise OverflowError(
            f"{value.level}: a number that is written to an array of {dtype} is out of its bounds "
            f"in an example, which NumPy refuses; write to an array of {value.dtype}, or write "
            f"number.astype(numpy.{dtype}) where its lowest bits are wanted"
        )


def stacked(value: Any) -> Value:
    """Return a nest of lists as one array; tensors may be in it."""
    op = find(np.array)
    return op.body(settle(value))  # type: ignore[union-attr, misc]


def is_item(view: View, index: Index, value: Value) -> bool:
    """True where `value` shows the item of `view` at a basic index."""
    if not was_written(value) or view_of(value).base is not view:
        return False
    own: Any = view_of(value).parts
    given = index if type(index) is tuple else (index,)
    if parts_of(given) is None:
        return len(own) == len(given) and all([a is b for a, b in zip(own, given)])
    return own == given


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
    for v in (value, view.shift, *(index if type(index) is tuple else (index,))):
        v = settle(v) if type(v) is Array else v
        if isinstance(v, Tensor) and v.level.depth:
            check_reach(home, v, x)
            if view.memory.plain:
                check_exposed(view.memory)


def augment(x: Any, func: Callable, value: Value) -> Any:
    """``x op= value`` for an array or a tensor that shows a view."""
    view = view_of(x)
    if type(value) is list or type(value) is tuple:
        value = stacked(value)
    elif type(value) not in PLAIN and not isinstance(value, Tensor):
        if hasattr(value, "__array__") and code_for_array(value):
            value = np.asarray(value)  # its labels cannot be kept, as in NumPy
    func = UFUNC_OF.get(func, func)
    simple = view.memory.plain and type(view) is View and _all_plain(value)
    if simple and not CHOSEN.get() and REGION.get() < 0:
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
        not value.level.depth and (type(value) is not Array or view_of(value).plain)
    )


def has_levels(index: Index) -> bool:
    parts = index if type(index) is tuple else (index,)
    return any(not _all_plain(part) for part in parts)


def reshape_window(window: ndarray, shape: Any) -> ndarray:
    """Return a view of `window` of another shape, as assigning to ``a.shape`` makes."""
    window = window.view()
    window.shape = shape
    return window


def keeps_dtype(x: Any, dtype: Any, /, *, copy: bool = True, **options: Any) -> bool:
    """True where `numpy.astype` gives its argument."""
    return not copy and x.dtype == dtype
