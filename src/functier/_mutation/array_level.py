"""The behaviour of an `Array`: that of a plain tensor, and writes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.blocks import CALLS
from .._core.foreign_operators import operate
from .._core.methods import PROPERTIES
from .._core.numpy_facts import UFUNC_OF, Index, Value
from .._core.root import NOBODY, RootLevel, convert_to, dispatch, opts_out, tree_map
from .._core.sharing import MEMORY, may_be_view
from .._core.subclasses import OVER_TENSORS, inside_index
from .._core.table import UNSUPPORTED, find
from .._core.tensor import Tensor, canonical
from .._core.tracebacks import checks_keywords
from .._cpython.frames import Frame
from .array import (
    HALVES,
    READ_ONLY,
    Array,
    array_of,
    close,
    made_here,
    make_writable,
    name_out,
    on_view,
    settle,
    view_of,
    write_out,
)
from .copies import SHOWN, expose, lend, note, tie_to
from .items import (
    augment,
    has_levels,
    item,
    keep_sources,
    keeps_dtype,
    reshape_window,
    view_function,
    write_item,
)
from .memory import Memory, Notes, View
from .stores import layout_of, window_of

ndarray = np.ndarray


def compute(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return new arrays, the results of a function of snapshots."""
    if func is _getitem:
        result = func(*settle(args))
    else:  # a list may hold tensors, which NumPy does not see
        result = dispatch(UFUNC_OF.get(func, func), settle(args), settle(kwargs))
    result = tree_map(made_here, keep_sources(func, args, result))
    if MEMORY.get(func) == "copied" and may_be_view(func, args):
        note(func, args, kwargs, result)
    return result


class ArrayLevel(RootLevel):
    """The behaviour of an `Array`: that of a plain tensor, and writes."""

    notes: Any = Notes({})  # its `_value` is a snapshot, which costs a copy

    def class_of(self, x: Tensor) -> type:
        return ndarray

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
        return operate(func, a, b) if opts_out(a) or opts_out(b) else self.called(func, (a, b), {})

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
        if func is np.astype and keeps_dtype(*args, **kwargs):
            return args[0]
        if MEMORY.get(func) == "each":
            return op.body(*args, **kwargs)  # type: ignore[union-attr, misc]
        if args and type(args[0]) is Array:
            written = func is np.nan_to_num or MEMORY.get(func) == "asked"
            if op is not None and (op.family == "writing" or written):
                return op.body(*args, **kwargs)  # type: ignore[misc]
        return self.called(func, args, kwargs)

    def dispatch(self, cls: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
        return self.function(func, args, kwargs)

    def called(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """Return the result of `func` on plain values or on tensors; a new array is an `Array`."""
        views: list[View] = []
        plain, halves = True, func in HALVES

        def look(value: Any) -> Any:
            nonlocal plain
            if type(value) is Array:
                views.append(view_of(value))
                whole = type(views[-1]) is View and not (halves and views[-1].dtype.kind == "c")
                plain = plain and views[-1].memory.plain and whole
            elif isinstance(value, Tensor) and value.level.depth:
                plain = False
            return value

        tree_map(look, (args, kwargs))
        if not plain:
            if kwargs and isinstance(kwargs.get("initial"), Tensor):
                float(kwargs["initial"])  # NumPy needs a number; a tensor raises
            if views and may_be_view(func, args):
                return view_function(func, args, kwargs, partial(compute, func, args, kwargs))
            return compute(func, args, kwargs)

        def window(value: Any) -> Any:
            if type(value) is not Array:
                return value
            shown = view_of(value).window.view()
            shown.flags.writeable = False  # a function that writes has to say so
            return shown

        if kwargs and "where" in kwargs and isinstance(func, np.ufunc):
            kwargs = {**kwargs, "out": None}  # NumPy has dropped it, and warns without it
        result = func(*tree_map(window, args), **tree_map(window, kwargs))

        closed = any([view.memory.closed for view in views])

        def made(value: Any) -> Any:
            if closed and isinstance(value, np.generic):
                value = np.asarray(value)
            if type(value) is ndarray:
                for view in views:
                    memory = view.memory
                    if np.may_share_memory(value, memory.flat):
                        if value.dtype != memory.flat.dtype:  # such as the real parts
                            new = make_writable(value.copy())
                            note(func, args, kwargs, new)
                            return close(new) if closed else new
                        layout = layout_of(value, memory.start)
                        shown = window_of(memory.flat, layout)
                        may_write = kwargs.get("writeable", func not in READ_ONLY)
                        shown.flags.writeable = may_write and not view.readonly
                        return on_view(View(memory, shown))
                new = make_writable(value)
                return close(new) if closed else new
            return value

        return tree_map(made, result)

    def getitem(self, x: Any, index: Index) -> Any:
        quiet = AMBIENT.get().level.quiet
        return self.read(x, index) if quiet is None else quiet.operate(self.read, x, index)

    def read(self, x: Any, index: Index) -> Any:
        index = inside_index(index) if OVER_TENSORS else index
        view = view_of(x)
        level = view.memory.store.level
        if level is None and type(view) is View and not has_levels(index):
            return self.called(_getitem, (x, index), {})
        return item(x, view, index, on_view)

    # ---- writes ----

    def setitem(self, x: Any, index: Index, value: Value) -> None:
        if CALLS and CALLS[0](Tensor.__setitem__, (x, index, value), {}) is not NOBODY:
            return
        quiet = AMBIENT.get().level.quiet
        self.write(x, index, value) if quiet is None else quiet.operate(self.write, x, index, value)

    def write(self, x: Any, index: Index, value: Value) -> None:
        write_item(x, view_of(x), index, value)

    def add_at(self, x: Any, index: Index, value: Value) -> None:
        write_item(x, view_of(x), index, value, add=True)

    def augment(self, func: Callable, x: Any, value: Value) -> Any:
        return augment(x, func, value)

    def check_shuffle(self, frame: Frame) -> None:
        level: Any = AMBIENT.get().level
        if level.depth:
            level.check_shuffle(frame)

    def window(self, x: Any) -> ndarray:
        return view_of(x).window

    def place(self, x: Any) -> Memory:
        return view_of(x).memory

    tie = tie_to

    def snapshot(self, x: Any) -> Any:
        return view_of(x).snapshot()

    def reshape(self, x: Any, shape: Any) -> None:
        view = view_of(x)
        x._cell = view.at(reshape_window(view.window, shape))

    def reorder(self, x: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
        x[...] = self.method(func, (x, *args), kwargs)
        return x

    def answers_operators(self, x: Any) -> bool:
        return isinstance(view_of(x).snapshot(), Tensor)

    def convert(self, x: Any, how: Any, *args: Any) -> Any:
        view = view_of(x)
        if how is hash:
            return hash(view.window)  # which raises, as for any array
        if view.memory.plain and view.shift is None:
            if how in SHOWN and args[1] is not True:
                return expose(view, args[0])
            if type(view) is View:
                return convert_to(view.window, how, *args)
        value: Any = view.snapshot()
        if not isinstance(value, Tensor):
            return convert_to(value, how, *args)
        if how in SHOWN:
            return lend(how, x, value.level.convert(value, how, None, True), *args)
        return value.level.convert(value, how, *args)

    def repr(self, x: Any) -> str:
        return repr(view_of(x).snapshot())

    def card(self, x: Any) -> str | None:
        value: Any = view_of(x).snapshot()
        return value._repr_html_() if isinstance(value, Tensor) else None


def _getitem(x: Any, index: Index) -> Any:
    return x[index]


Array.level = ArrayLevel()


@checks_keywords
def tensor(data: Any) -> Tensor:
    """Return `data` as a `Tensor`.

    Parameters
    ----------
    data : array_like
        A tensor, an array, a number, or nested sequences of numbers.

    Returns
    -------
    Tensor
        A tensor is returned as it is. Inside a level the result is a copy that tensors can be
        written to.

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
