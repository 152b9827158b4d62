"""Effects of a step of a loop: changes of the objects that the functions of a user reach."""

import collections
import functools
import operator
import re
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from optree import PyTreeSpec

from .._core.errors import MutationError
from .._core.reached import MOST, dict_of, inside, is_generator, kinds, reached
from .._core.tensor import Tensor
from .._cpython.code import Code
from .._cpython.collector import containers_among
from .._cpython.functions import EMPTY, contents
from .._cpython.objects import DESCRIPTORS, is_fixed
from .._levels.kept import COPIED, content_of
from .._mutation.array import alias_of, was_written

ndarray = np.ndarray

VISIBLE: set[Any] = {
    object, type, list, dict, set, frozenset, tuple, int, float, complex, bool, str, bytes, range,
    slice, property, staticmethod, classmethod, type(None), type(...), type(NotImplemented),
    collections.deque, collections.OrderedDict, collections.defaultdict, functools.partial,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, Code, types.CellType,
    types.ModuleType, types.SimpleNamespace, types.MappingProxyType, types.GenericAlias,
    types.UnionType, types.MethodWrapperType, *DESCRIPTORS, weakref.ref, re.Pattern,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
    type(functools.lru_cache(lambda: None)), np.ndarray, np.dtype, np.ufunc, type(np.sum),
    PyTreeSpec,
}  # fmt: skip
"""Classes in C whose instances do not change, or have all that changes among their parts."""


@functools.lru_cache(1024)
def is_visible(kind: Any) -> bool:
    """Return whether all that may change in the objects of a class is among their parts."""
    base = next(each for each in kind.__mro__ if is_fixed(each))
    if base.__module__ == "_ctypes":  # functions in C, whose types are among their parts
        return base.__name__ == "CFuncPtr" or issubclass(base, type)
    return base in VISIBLE or issubclass(base, (np.generic, np.dtype))


def state_of(x: Any) -> list[Any]:
    """Return the parts of an object that may be other ones later, as `SETTERS` takes them."""
    kind = type(x)
    if kind is types.FunctionType:  # its cells are objects
        return inside(x)[len(x.__closure__ or ()) :]
    if kind is types.CellType:
        return [contents(x)]
    if kind is dict:
        return [*x, *x.values()]
    return [*x] if kind in SETTERS else inside(x)


def _set_cell(cell: types.CellType, parts: list) -> None:
    if parts[0] is not EMPTY:
        cell.cell_contents = parts[0]
    elif contents(cell) is not EMPTY:
        del cell.cell_contents


def _set_dict(x: dict, parts: list) -> None:
    x.clear()
    x.update(zip(parts[: len(parts) // 2], parts[len(parts) // 2 :]))


SETTERS: dict[type, Callable] = {
    list: lambda x, parts: x.__setitem__(slice(None), parts),
    set: lambda x, parts: (x.clear(), x.update(parts)),
    collections.deque: lambda x, parts: (x.clear(), x.extend(parts)),
    dict: _set_dict, types.CellType: _set_cell,
    ndarray: lambda x, parts: np.copyto(x, parts[0], casting="no"),
}  # fmt: skip
"""Functions that give objects of a class the parts that they had."""
KINDS = tuple(SETTERS)
FOLLOWED = {*SETTERS, tuple, types.FunctionType, types.MethodType, functools.partial}
"""The classes that are looked into where a function reaches many objects."""


class Effects:
    """The objects that some functions reach, with the parts they had before a step, or a call."""

    def __init__(self, roots: Sequence[Any]):
        self.kinds = kinds()
        found = reached(roots)
        self.hidden = len(found) >= MOST
        self.what = ""  # what hides its changes; of many objects some are compared
        self.before: list[tuple[Any, list]] = []
        self.arrays: dict[int, tuple[ndarray, tuple, ndarray | None]] = {}
        self.tensors: dict[int, tuple[Tensor, Tensor, bool]] = {}  # with aliases
        waiting = [*(roots if self.hidden else found)]
        met = {id(x) for x in waiting}
        for x in waiting:
            if isinstance(x, Tensor):
                self.tensors[id(x)] = x, alias_of(x), was_written(x)
                continue
            if isinstance(x, ndarray):
                self._note_array(x)
                continue
            more: list[Any] = [] if isinstance(x, (type, types.ModuleType)) else [dict_of(x)]
            parts = state_of(x)
            self.before.append((x, parts))
            more += x.__closure__ or () if type(x) is types.FunctionType else ()
            for part in (x, *parts):
                if not self.what and self.hides(part):
                    self.hidden, self.what = True, f"an object of the class {type(part).__name__}"
                if isinstance(part, ndarray):
                    self._note_array(part)
                elif type(part) in (dict, tuple) and not [*containers_among([part])]:
                    more.append(part)  # the collector does not know it
            if self.hidden and type(x) is not types.FunctionType:
                more += [part for part in parts if type(part) in FOLLOWED]
            for part in more:
                if part is not None and id(part) not in met:
                    met.add(id(part))
                    waiting.append(part)

    def _note_array(self, x: ndarray) -> None:
        if not self.what and id(x) not in self.arrays:
            copy = x.copy() if x.nbytes <= COPIED else None
            self.arrays[id(x)] = x, content_of(x, False), copy

    def hides(self, x: Any) -> bool:
        """Return whether an object has a state that is not among its parts."""
        kind: Any = type(x)
        if kind is ndarray:
            return x.dtype.hasobject
        return not is_visible(kind) or any(
            [hasattr(kind, "__next__"), hasattr(kind, "_own"), is_generator(x, self.kinds)]
        )

    def happened(self) -> bool:
        """Return whether an object has changed, or may have."""
        if self.hidden or any([written for _, _, written in self.tensors.values()]):
            return True
        return any([setter is None or now for _, setter, _, now in self._changes()])

    def _changes(self) -> Iterator[tuple[Any, Callable | None, list, list]]:
        """Yield what has changed, with how to change it back, and the parts of then and of now."""
        for x, content, copy in self.arrays.values():
            if content_of(x, False) != content:
                can = copy is not None and x.flags.writeable
                yield x, SETTERS[ndarray] if can else None, [copy], [x.copy()] if can else []
        told: set[int] = set()
        for x, parts in self.before:
            setter, now = SETTERS.get(type(x)), state_of(x)
            then = parts if setter is None else [*map(self._then, parts)]
            if setter is not None:
                told.update(map(id, flat(parts)))
            if len(now) != len(then) or not all(map(operator.is_, now, then)):
                if type(x) is not types.CellType or then[0] is not EMPTY:
                    yield x, setter, then, now
        for tensor, _, written in self.tensors.values():
            if was_written(tensor) and not written and id(tensor) not in told:
                yield tensor, None, [], []

    def _then(self, part: Any) -> Any:
        """Return a part of an object, as it was: tensors that were written to are aliases."""
        if type(part) is tuple and any([was_written(x) for x in flat(part)]):
            return tuple(map(self._then, part))
        return self.tensors[id(part)][1] if was_written(part) and id(part) in self.tensors else part

    @contextmanager
    def undone(self, refuse: Callable[[str], Any], kinds: tuple = KINDS) -> Iterator[None]:
        """Give objects of these kinds the contents from before; refuse if others have changed."""
        if self.what:
            refuse(f"a function that runs again uses {self.what}, whose changes are not seen")
        changes: list[Any] = [*self._changes()]
        for x, setter, _, _ in changes:
            if setter is None or not isinstance(x, kinds):
                refuse(
                    f"a function that runs again uses an object of the class {type(x).__name__} "
                    f"that has changed since"
                )
        changes = [change for change in changes if change[1] is not None]
        try:
            for x, setter, parts, _ in changes:
                setter(x, parts)
            yield
        finally:
            for x, setter, _, parts in reversed(changes):
                setter(x, parts)

    def again(self, label: str) -> Any:
        """Give objects the contents from before, for a call in the backward pass of `label`."""

        def refuse(what: str) -> None:
            raise MutationError(
                f"{label}: in the backward pass {what}; make it inside the function, or "
                f"copy it before each call",
                named=True,
            )

        return self.undone(refuse)


def flat(parts: Iterable) -> Iterator[Any]:
    """Yield some objects, and those in tuples among them."""
    for part in parts:
        if type(part) is tuple:
            yield from flat(part)
        else:
            yield part
