"""Captured arrays: those from outside of a trace, and how a part of one is found in it again.

NOTE [the part that was read]
    Where elements of an array decide something, a fact has those alone that were read: what a view
    shows, or what an index selects. A comparison costs something for each fact and for each byte.
    All of the array is one fact where that costs no more, and where code is given a view that may
    look beside it.
"""

import copy
from collections import Counter
from collections.abc import Callable
from operator import getitem
from typing import Any

import numpy as np

from .guards import Fact, contents_of_array, form_of_array
from .looping import index_of

ndarray = np.ndarray
Way = list[tuple[Callable, Any]]


def root_of(x: ndarray) -> ndarray:
    """Return the array that owns the memory, as far as arrays tell."""
    while type(x.base) is ndarray:
        x = x.base
    return x


def gives_view(x: ndarray, name: str) -> bool:
    """Return whether a method of an array always gives a view of it."""
    return name in ("transpose", "swapaxes", "squeeze") or (
        name in ("reshape", "ravel") and x.flags.c_contiguous
    )


def is_view(x: ndarray, key: Any) -> bool:
    """Return whether an array has a view of it at an index of plain numbers and slices."""
    parts: list[Any] = []
    for part in key if type(key) is tuple else (key,):
        parts += (part.start, part.stop, part.step) if type(part) is slice else (part,)
    if not all([part is None or part is ... or type(part) is int for part in parts]):
        return False
    try:
        return type(x[key]) is ndarray
    except IndexError:
        return False


def way_to(x: ndarray, base: ndarray) -> Way | None:
    """Return functions, and what each gets besides an array, that give a view of an array.

    None is for a view that it does not know, and for an array that is none.
    """
    order = sorted(range(x.ndim), key=lambda i: -x.strides[i])
    steps, plain = [], np.transpose(x, order)
    if not base.flags.c_contiguous:
        axes = sorted(range(base.ndim), key=lambda i: -base.strides[i])
        steps, base = [(np.transpose, tuple(axes))], np.transpose(base, axes)
    found = index_to(plain, base)
    if found is None:
        return None
    steps += found
    if order != [*range(x.ndim)]:
        steps.append((np.transpose, tuple([order.index(i) for i in range(x.ndim)])))
    return steps


def index_to(x: ndarray, base: ndarray) -> Way | None:
    """Return the same for arrays whose strides do not increase."""
    if x.dtype != base.dtype:
        return None
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    if not start and (x.shape, x.strides) == (base.shape, base.strides):
        return []
    size = x.itemsize
    if not base.flags.c_contiguous or not x.size:
        return None
    if not 0 <= start < base.nbytes or start % size or any([step % size for step in x.strides]):
        return None
    start //= size
    layout = start, x.shape, tuple([step // size for step in x.strides])
    index = index_of(base.shape, layout)
    if index is not None:
        return [(getitem, index)]
    if x.flags.c_contiguous and start + x.size <= base.size:
        row = getitem, slice(start, start + x.size)
        return [(np.reshape, (-1,)), *[row] * (x.size < base.size), (np.reshape, x.shape)]
    return None


LARGE = 16_384
"""Arrays of more bytes are compared by parts where the function reads little of them."""

FEW = 16
"""The greatest number of elements of an array that are looked at one by one."""

PART = 3_000
"""So many bytes are compared in the time that a fact of a part takes."""


def name_of_key(key: Any) -> Any:
    """Return a value that tells an index from others; None for one that has tensors."""
    kind = type(key)
    if kind is ndarray:
        return (key.dtype, key.shape, key.tobytes()) if key.dtype.kind in "bi" else None
    if kind in (tuple, list):
        parts = tuple(map(name_of_key, key))
        return None if None in parts else (kind, parts)
    known = issubclass(kind, (int, slice, np.integer)) or key is None or key is ...
    return repr(key) if known else None


def name_of_view(x: ndarray) -> tuple:
    """Return a value that tells a view from others."""
    return x.__array_interface__["data"][0], x.shape, x.strides, x.dtype


class Captured:
    """The arrays from outside that a trace has met, and what it has read of their elements."""

    fact: Callable
    bring: Callable
    open_class: Callable
    outer: dict[int, Any]
    found: dict[tuple, Fact]

    def __init__(self) -> None:
        self.memories: dict[int, list[ndarray]] = {}  # arrays, by what owns their memory
        self.parts: dict[int, set] = {}  # of an array, by names
        self.costs: Counter[int] = Counter()  # of their comparisons, as those of so many bytes
        self.moving: frozenset = frozenset()  # the ways to arrays whose elements often change
        self.inputs: set[int] = set()  # these arrays
        self.picked: dict[int, tuple[ndarray, list[int]]] = {}  # elements, where these are many

    def form(self, x: ndarray) -> None:
        """Note an array that was there before."""
        self.memories.setdefault(id(root_of(x)), []).append(x)
        self.fact("form", x, "", form_of_array(x), f"the form of an array {x.shape}")

    def array(self, x: ndarray, part: bool = True) -> None:
        """Note the elements of an array from outside, or those that a view of one shows.

        Without `part` they are all that a view can be made to show.
        """
        for each in self.those_of(x):
            if self.is_whole(each):
                continue
            way = way_to(x, each) if part and x is not each else None
            if not (way and self.part(each, way, name_of_view(x), x)):
                self.whole(each)

    def selected(self, x: ndarray, key: Any) -> None:
        """Note the elements that an index selects of an array from outside, or of a view of one."""
        name = name_of_key(key)
        try:
            found = None if name is None else x[key]
        except IndexError:
            found = None
        if type(found) is not ndarray:
            single = type(found) is x.dtype.type and x.dtype.kind in "biufc"
            return self.array(x[*(key if type(key) is tuple else (key,)), ...] if single else x)
        step, name = (getitem, copy.deepcopy(key)), (name_of_view(x), name)
        for each in self.those_of(x):
            way = [] if x is each else way_to(x, each)
            if way is None or not self.part(each, [*way, step], name, found):
                self.whole(each)
        return None

    def part(self, base: ndarray, way: Way, name: Any, x: ndarray) -> bool:
        """Note a part, to which there is a way; False is for all of the array."""
        if base.nbytes <= LARGE or base.dtype.hasobject:
            return False
        parts = self.parts.setdefault(id(base), set())
        if name in parts or self.is_whole(base):
            return True
        parts.add(name)
        key = way[0][1]
        single = x.ndim == 0 and len(way) == 1 and base.flags.c_contiguous
        self.costs[id(base)] += PART // 10 if single else PART + 3 * x.nbytes
        if self.costs[id(base)] > base.nbytes:
            return False
        if not single:
            words = f"the contents of a part {x.shape} of an array {base.shape}"
            self.fact("contents", base, tuple(way), contents_of_array(x), words)
        elif len(parts) <= FEW:
            self.fact("index", base, key, base[key], f"the item {key} of an array")
        else:
            self.picked.setdefault(id(base), (base, []))[1].append(key)
        return True

    def pick(self) -> None:
        """Note elements that are too many for a fact each."""
        for base, keys in self.picked.values():
            places = np.ravel_multi_index(tuple(zip(*keys)), base.shape)
            found = contents_of_array(np.take(base, places))
            words = f"the contents of {len(keys)} elements of an array {base.shape}"
            self.fact("contents", base, ((np.take, places),), found, words)

    def is_whole(self, x: ndarray) -> bool:
        """Return whether all elements of an array are a fact."""
        return ("contents", id(x), (str, "")) in self.found

    def whole(self, x: ndarray) -> None:
        """Note all elements of an array from outside, and nothing of its parts."""
        if self.is_whole(x):
            return
        self.picked.pop(id(x), None)
        for place in [*self.found] if self.parts.pop(id(x), ()) else ():
            if place[0] in ("contents", "index") and place[1] == id(x):
                del self.found[place]
        words = f"the contents of an array {x.shape}"
        self.fact("contents", x, "", contents_of_array(x), words)
        if x.dtype.hasobject:
            for part in x.flat:
                self.bring(part)
                self.open_class(type(part))

    def moves(self, x: Any) -> bool:
        """Tell if an array is an input from its first use on, as its elements often change."""
        return bool(self.inputs) and type(x) is ndarray and any(
            [id(each) in self.inputs for each in self.those_of(x)]
        )  # fmt: skip

    def identity(self, x: ndarray) -> None:
        """Note which arrays from outside there are, as another one would not do."""
        for each in self.those_of(x):
            self.fact("identity", each, "", None, f"which array {each.shape} it is")

    def arrays(self) -> list[ndarray]:
        """Return the arrays from outside."""
        return [x for x in self.outer.values() if type(x) is ndarray]

    def those_of(self, x: ndarray) -> list[ndarray]:
        """Return the arrays from outside that an array is one of, or shares memory with."""
        return [x] if id(x) in self.outer else self.memories.get(id(root_of(x)), [])
