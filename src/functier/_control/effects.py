"""Effects of a step of a loop: changes of the objects that the functions of a user reach."""

import collections
import functools
import operator
import re
import types
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._core.reached import MOST, inside, is_generator, kinds, reached
from .._core.tensor import Tensor
from .._cpython.code import Code
from .._cpython.collector import containers_among
from .._cpython.functions import EMPTY, contents
from .._cpython.objects import DESCRIPTORS, is_fixed
from .._levels.kept import content_of
from .._mutation.array import was_written

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
}  # fmt: skip
"""Classes in C whose instances do not change, or have all that changes among their parts."""


@functools.lru_cache(1024)
def is_visible(kind: Any) -> bool:
    """Return whether all that may change in the objects of a class is among their parts."""
    base = next(each for each in kind.__mro__ if is_fixed(each))
    return base in VISIBLE or issubclass(base, (np.generic, np.dtype))


class Effects:
    """The objects that some functions reach, with the parts they had before a step."""

    def __init__(self, roots: Sequence[Any]):
        self.kinds = kinds()
        found = reached(roots)
        self.hidden = len(found) >= MOST
        self.before: list[tuple[Any, list]] = []
        self.arrays: dict[int, tuple[ndarray, tuple]] = {}
        waiting = [] if self.hidden else [*found]
        for x in waiting:
            if isinstance(x, Tensor):
                self.hidden = self.hidden or was_written(x)
                continue
            parts = inside(x)
            self.before.append((x, parts))
            self.hidden = self.hidden or self.hides(x) or any(map(self.hides, parts))
            for part in parts:
                if type(part) is ndarray and not self.hidden:
                    self.arrays[id(part)] = part, content_of(part, False)
                elif type(part) in (dict, tuple) and not [*containers_among([part])]:
                    waiting.append(part)  # the collector does not know it

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
        if self.hidden or any(
            [content_of(x, False) != before for x, before in self.arrays.values()]
        ):
            return True
        for x, parts in self.before:
            now = inside(x)
            if len(now) != len(parts) or not all(map(operator.is_, now, parts)):
                return True
        return False

    @contextmanager
    def undone(self, reads: Any) -> Iterator[None]:
        """Give the variables of functions their values from before; leave for other changes."""
        closed = [
            (cell, content) for x, parts in self.before if type(x) is types.FunctionType
            for cell, content in zip(x.__closure__ or (), parts) if content is not contents(cell)
        ]  # fmt: skip
        now = [(cell, contents(cell)) for cell, _ in closed]
        try:
            set_cells(closed)
            if self.happened():
                reads.unwatched("an object that a step of a loop uses has changed since the loop")
            yield
        finally:
            set_cells(now)


def set_cells(cells: Sequence[tuple[types.CellType, Any]]) -> None:
    """Give variables that functions share their values."""
    for cell, content in cells:
        if content is not EMPTY and contents(cell) is not EMPTY:
            cell.cell_contents = content
