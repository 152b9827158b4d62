"""The methods of a level whose tensors were written to."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._core.methods import HIDDEN, LAYOUT, PROPERTIES, call_function, message_on_hidden
from .._core.methods import METHODS as MEANINGS_OF
from .._core.numpy_facts import Index
from .._core.sharing import is_fresh, may_be_view
from .._core.subclasses import OVER_TENSORS, inside_index
from .._core.tensor import CANONICAL, Tensor
from .._mutation.array import view_of, was_written
from .._mutation.items import item, keep_sources, keeps_dtype, view_function, wrap_like
from .._mutation.memory import notes_of
from .views import note_view, note_views

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
    if not level.live or is_fresh(func):
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
        meaning = MEANINGS[name]
        func, args, kwargs = meaning(x, *args, **kwargs)
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
