"""Copies of the values that outlive a call: a pullback or a linear function owns its values.

NOTE [what outlives a call owns its memory]
    A tape holds arrays by reference: the caller's, what the function closes over, results,
    and views of all of these. The backward pass of `grad` runs before anybody could write
    to them. A pullback runs later. So `vjp`, `linear_transpose` and `linearize` copy the
    values that the backward pass reads, once, when the function has returned: one cannot tell
    if somebody else kept a view of an array. Values that no rule reads are not copied. The
    tape is copied from the results down, so that the original is freed as its copy grows.
"""

from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from .._core.numpy_facts import PLAIN, known_array
from .._core.pytree import flatten, like, unflatten
from .._core.tensor import Tensor
from .memory import owner_of
from .tape import Node, Roots

new = object.__new__
ndarray = np.ndarray
float64 = np.float64

FIXED = np.dtype, np.ufunc, FunctionType, type
"""Types of objects that nobody writes to."""

SMALL = 64
"""The size up to which a second copy costs less than a search for the first."""


SHARED = 1 << 15
"""Copies that a tape makes early are used again if they have more bytes; see `copy_of`."""

COPIES: WeakValueDictionary[int, ndarray] = WeakValueDictionary()
"""Copies that are alive, by their own ids and by those of the arrays that were copied last."""


def copy_of(x: ndarray) -> ndarray:
    """Return a copy of `x` that nobody writes to; one that is alive and equal, if there is any."""
    if x.nbytes <= SHARED or x.dtype.hasobject:
        return x.copy()
    found = COPIES.get(id(x))
    if found is x:
        return x
    if found is not None and found.dtype == x.dtype and found.shape == x.shape:
        if found.tobytes() == x.tobytes():
            return found
    copy = x.copy()
    COPIES[id(x)] = COPIES[id(copy)] = copy
    return copy


class Copies:
    """Copies of values, one for each piece of memory."""

    def __init__(self) -> None:
        self.arrays: dict[tuple, tuple[ref, ndarray]] = {}
        self.nodes: dict[int, list] = {}
        self.objects: dict[int, tuple] = {}  # the object keeps its id from being used again

    # ---- values ----

    def value(self, x: Any) -> Any:
        """Copy a value to memory that nobody else refers to."""
        kind = type(x)
        if kind is ndarray:
            return self.array(x)
        if kind is slice:
            return slice(self.value(x.start), self.value(x.stop), self.value(x.step))
        if kind in PLAIN or isinstance(x, FIXED):
            return x
        if kind is Roots:
            return Roots(self.tape(x.copy()))
        if isinstance(x, (tuple, list)):
            for v in x:
                if type(v) is not int:
                    return like(x, [self.value(v) for v in x])
            return x if kind is tuple else like(x, list(x))
        if isinstance(x, Tensor):
            return self.tensor(x)
        if kind is dict:
            return {k: self.value(v) for k, v in x.items()}
        if hasattr(kind, "owning"):  # an object that several rules share
            if id(x) not in self.objects:
                self.objects[id(x)] = x, x.owning(self.value)
            return self.objects[id(x)][1]
        if hasattr(x, "__array_ufunc__") and hasattr(x, "copy"):  # a subclass, a duck array
            return x.copy()
        leaves, structure = flatten(x)
        if len(leaves) == 1 and leaves[0] is x:
            return x
        return unflatten(structure, [self.value(v) for v in leaves])

    def values(self, saved: tuple) -> tuple:
        """Copy the values that a rule keeps to memory that nobody else refers to."""
        if len(saved) == 1:
            (x,) = saved
            kind = type(x)
            if kind is float64:
                return saved
            if kind is ndarray and x.size <= SMALL:
                return (x.copy(),)
        return tuple([self.value(x) for x in saved])

    def array(self, x: ndarray) -> ndarray:
        if x.size <= SMALL:
            return x.copy()
        if COPIES.get(id(x)) is x:
            return x
        owner: Any = owner_of(x)
        start = _start(x)
        key = start, x.shape, x.strides, x.dtype
        found = self.arrays.get(key)
        if found is not None and found[0]() is owner:  # its memory has not been used again
            return found[1]
        if spans_memory_twice(x, owner):
            memory = self.array(owner).ravel("K").view(np.uint8)
            copy = ndarray(x.shape, x.dtype, memory, start - _start(owner), x.strides)
        else:
            copy = x.copy("K")
        self.arrays[key] = ref(owner), copy
        return copy

    def tensor(self, x: Tensor) -> Tensor:
        """Copy a tensor; the copy is of the same level, at the same place of its tape."""
        array = known_array(x)
        if array is not None and x.level.depth:  # nobody writes to it: its order counts alone
            small = array.size <= SMALL
            if array.flags.c_contiguous or (not small and array.flags.f_contiguous):
                return x
            if not small and spans_memory_twice(array, owner_of(array)):
                return x
            noted: Any = np.copy(x, "C" if small else "K")
            return noted
        y: Any = new(type(x))
        y._value = self.value(x._value)
        if hasattr(x, "_extra"):
            extra = x._extra
            if type(extra) is not tuple:  # the tangent of a jvp level
                extra = self.value(extra)
            elif not x.level.live and x.level.kind.differentiates == "reverse":
                extra = (extra[0], None)  # of the tape that is being copied: its number suffices
            y._extra = extra
        if hasattr(x, "__dict__"):
            vars(y).update(vars(x))
        return y

    # ---- tapes ----

    def tape(self, roots: list[Node | None]) -> list[Node | None]:
        """Copy the nodes `roots` and all nodes that they lead to; empty `roots`."""
        waiting: list[list] = []  # copies of nodes whose parts are still to be copied
        nodes = self.nodes
        made = [None if root is None else self.node(root, waiting) for root in roots]
        roots.clear()
        while waiting:
            mine = waiting.pop()
            parent, saved, rest = mine[1], mine[3], mine[5]
            if parent[1] is not None:
                found = nodes.get(parent[0])
                if found is None:
                    found = nodes[parent[0]] = [*parent]
                    waiting.append(found)
                mine[1] = found
            if saved:
                mine[3] = self.values(saved)
            if rest is not None:
                edges = []
                while rest is not None:
                    parent, rule, saved, fix, rest = rest
                    if parent[1] is not None:
                        found = nodes.get(parent[0])
                        if found is None:
                            found = nodes[parent[0]] = [*parent]
                            waiting.append(found)
                        parent = found
                    edges.append((parent, rule, self.values(saved) if saved else saved, fix))
                for parent, rule, saved, fix in reversed(edges):
                    rest = parent, rule, saved, fix, rest
                mine[5] = rest
        return made

    def node(self, node: Node, waiting: list[list]) -> Node:
        """Return the copy of a node; a new one is put to `waiting` for its parts."""
        if node[1] is None:
            return node
        found = self.nodes.get(node[0])
        if found is None:
            found = self.nodes[node[0]] = [*node]
            waiting.append(found)
        return found


def spans_memory_twice(x: ndarray, owner: Any) -> bool:
    """Tell if `x`, an array in the memory of `owner`, is broadcast or has overlapping windows."""
    return owner.flags.forc and not owner.dtype.hasobject and x.nbytes > owner.nbytes


def _start(x: ndarray) -> int:
    return x.__array_interface__["data"][0]


def copy_tape(roots: list[Node | None]) -> list[Node | None]:
    """Copy the tape of the nodes `roots`, so that it owns its values; empty `roots`."""
    return Copies().tape(roots)
