"""Values that outlive a call, or that a tape keeps as they were: copies, aliases, fingerprints.

NOTE [what outlives a call owns its memory]
    A tape holds arrays by reference: the caller's, what the function closes over, results,
    and views of all of these. The backward pass of `grad` runs before anybody could write
    to them. A pullback runs later. So `vjp`, `linear_transpose` and `linearize` copy the
    values that the backward pass reads, once, when the function has returned: one cannot tell
    if somebody else kept a view of an array. Values that no rule reads are not copied. The
    tape is copied from the results down, so that the original is freed as its copy grows.

NOTE [what a rule reads is as it was]
    A rule reads its operands in the backward pass. A plain array may have been refilled by then,
    and its flags are its owner's. So a tape copies the plain arrays that its rules keep: those of
    up to `COPIED` bytes, and all of whole numbers and of truth values. Of a tensor of a level
    around it keeps an alias, which the first write to the tensor does not make a view.

    A larger array is kept by reference. An edge of its own, in front of that of the rule, has a
    fingerprint, compares it in the backward pass and raises. An array that is refilled and then
    restored passes. Values inside tensors of the level are results of functier, or arguments,
    and are not copied.

NOTE [fingerprints]
    The words of an array (of 8 bytes) are laid in rows of a prime length. A fingerprint has the
    sums of the columns, and elements at equal distances. So it sees every change of one word,
    and every new order, unless elements move by whole rows alone and none of them is at such a
    distance.
    Where an operation reads its array only once, as a product of a matrix and a vector does, the
    sums would double its time, and the fingerprint has elements at equal distances alone.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import prod
from operator import itemgetter, matmul
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from .._core.blocks import RULES
from .._core.border import INTERFACES
from .._core.errors import MutationError
from .._core.numpy_facts import PLAIN, Function, Value, known_array, name_of, shape_of
from .._core.op import Call
from .._core.pytree import flatten, like, unflatten
from .._core.tensor import Tensor
from .._cpython.code import describe_line, line_of, names_of
from .._cpython.frames import current_frame, globals_at, outside, place_at
from .._mutation.array import alias_of
from .memory import owner_of
from .tape import Node, Roots, node_of, output_rule

new = object.__new__
ndarray = np.ndarray
float64 = np.float64

CONSTANT = np.dtype, np.ufunc, FunctionType, type
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


def is_memory(x: Any) -> bool:
    """Return whether NumPy reads an object as an array whose elements somebody may write to."""
    if isinstance(x, np.generic):
        return False
    try:
        return type(x) is memoryview or not memoryview(x).readonly
    except (TypeError, ValueError, BufferError):  # an object that has or makes an array
        return any([hasattr(x, name) for name in INTERFACES])


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
        if kind in PLAIN or isinstance(x, CONSTANT):
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
            return np.asarray(x).copy() if is_memory(x) else x
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
            y._extra, y._moves = extra, None
        if hasattr(x, "__dict__"):
            vars(y).update(vars(x))
        return y

    # ---- tapes ----

    def tape(self, roots: list[Node | None]) -> list[Node | None]:
        """Copy the nodes `roots` and all nodes that they lead to; empty `roots`."""
        waiting: list[list] = []  # copies of nodes whose parts are still to be copied
        made = [None if root is None else self.node(root, waiting) for root in roots]
        roots.clear()
        while waiting:
            mine = waiting.pop()
            parent, saved, rest = mine[1], mine[3], mine[5]
            if parent[1] is not None:  # as `node` does, without the call
                found = self.nodes.get(parent[0])
                if found is None:
                    found = self.nodes[parent[0]] = [*parent]
                    waiting.append(found)
                mine[1] = found
            if saved:
                mine[3] = self.values(saved)
            if rest is not None:
                edges = []
                while rest is not None:
                    parent, rule, saved, fix, rest = rest
                    parent = self.node(parent, waiting)
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


COPIED = 1 << 18
"""Arrays of up to so many bytes are copied: it costs less than two fingerprints."""

ROW, DISTANCES = 1021, (251, 257, 263)
"""The length of rows, and distances of elements; one that divides no axis of the array is taken."""

FIXED = PLAIN - {ndarray}
PARTS = FIXED | {tuple}
READ_ONCE = {np.matmul, matmul, np.dot, np.inner}
READ_ONCE |= {getattr(np, name) for name in ("matvec", "vecmat") if hasattr(np, name)}
"""Products, which read a large operand once where the other one and the result are small."""


HIDDEN = __name__.partition(".")[0], "numpy"
"""The libraries whose frames are not those of a message."""


class Fingerprint:
    """The content of a large array when a rule kept it, and the line of code that did."""

    array: ndarray | None
    failure: str | None  # what was found when the tape was copied

    def __init__(self, x: ndarray, level: Any, func: Function | str, once: bool):
        self.array, self.once, self.failure = x, once, None
        self.content = content_of(x, once)
        frame = outside(current_frame(1), HIDDEN)
        where = None if frame is None else (*place_at(frame), globals_at(frame))
        self.place = level.label, func, where

    def check(self) -> None:
        """Raise where the array has changed."""
        text = self.failure if self.array is None else self.find_change(self.array)
        if text is not None:
            raise MutationError(text, named=True)

    def find_change(self, x: ndarray) -> str | None:
        """Return the message on a change of the array, if there is one."""
        if content_of(x, self.once) == self.content:
            return None
        label, func, where = self.place
        op, name, at = func if isinstance(func, str) else name_of(func), "", ""
        if where is not None:
            code, instruction, names = where
            name = next((name for name in names_of(code) if names.get(name) is x), "")
            at = f"\n  at {describe_line(code, line_of(code, instruction))}"
        return (
            f"{label}: the derivative of {op} would read {name or 'an array'}, {x.dtype} of shape "
            f"{x.shape}, which was written to after {op} had kept it{at}\n  pass "
            f"{name or 'a'}.copy() to the operation, or make the array inside the function with "
            f"functier.numpy, which tracks writes"
        )

    def owning(self, copy: Callable[[Value], Value]) -> "Fingerprint":
        """Return one for a tape that owns its values: what it finds now it finds later."""
        own = object.__new__(Fingerprint)
        own.array, own.failure = None, self.failure
        if self.array is not None:
            own.failure = self.find_change(self.array)
        return own


@lru_cache(1024)
def _distance(shape: tuple[int, ...]) -> int:
    return next((n for n in DISTANCES if all([size % n for size in shape])), DISTANCES[-1])


def content_of(x: ndarray, once: bool) -> tuple[bytes, ...]:
    """Return the content of a fingerprint: see NOTE [fingerprints]."""
    x = np.asarray(x)
    distance = _distance(x.shape)
    flags = x.flags
    if once and not flags.forc:
        return (x.flat[::distance].tobytes(),)
    flat = x.reshape(-1) if flags.c_contiguous else x.ravel("K")
    some = flat[::distance].tobytes()
    if once:
        return (some,)
    data = flat.view(np.uint8)
    rows = data.size // (8 * ROW)
    end = rows * 8 * ROW
    sums = np.add.reduce(data[:end].view(np.uint64).reshape(rows, ROW), 0)
    return some, sums.tobytes(), data[end:].tobytes()


def compare(g: Value, kept: Fingerprint) -> None:
    """A rule without a cotangent: raise where an array has changed that the next rule reads."""
    kept.check()


def keep(x: ndarray, level: Any, func: Function | str, others: Sequence) -> tuple[ndarray, Any]:
    """Return a plain array as a rule keeps it, and its fingerprint; None for a copy.

    `others` are the result and the other operands.
    """
    if x.nbytes <= COPIED or x.dtype.kind in "biu" or x.dtype.hasobject:
        return copy_of(x), None
    once = func in READ_ONCE and all([8 * prod(shape_of(v)) <= x.size for v in others])
    return x, Fingerprint(x, level, func, once)


def given_arrays(cls: type, given: Iterable) -> list:
    """Return the arguments that may change, except tensors of `cls`, also those in containers."""
    found: list[Value] = []
    for x in given:
        kind = type(x)
        if kind is cls or kind in FIXED:
            continue
        if kind is tuple:
            if not FIXED.issuperset(map(type, x)):
                found += given_arrays(cls, x)
        else:
            found.append(x)
            if kind is list:
                inner = given_arrays(cls, x)
                found[-1:] = inner if inner or {*map(type, x)} == {cls} else [x]
    return found


def is_fixed(x: Sequence) -> bool:
    """Tell if a tuple, or a list, has plain values alone, as a shape does, or tuples of these."""
    kinds = {*map(type, x)}
    if kinds <= FIXED:
        return True
    if kinds == {tuple}:  # shapes
        return FIXED.issuperset(map(type, chain.from_iterable(x)))
    return kinds <= PARTS and all([is_fixed(y) for y in x if type(y) is tuple])


class Keeping:
    """The values that the rules of one operation keep.

    An array or a tensor that is in `given` is the caller's; where that is None, all are. `results`
    are the result and the list of the operands' values.
    """

    __slots__ = ("found", "func", "given", "level", "objects", "results")

    def __init__(self, level: Any, func: Function | str, given: list | None, results: tuple):
        self.level, self.func, self.given, self.results = level, func, given, results
        self.found: list[Fingerprint] | None = None
        self.objects: dict[int, tuple] = {}

    @classmethod
    def of_call(cls, level: Any, call: Call, results: tuple) -> "Keeping":
        """Return that of a call at `level`, with the arguments that are not its tensors."""
        given = given_arrays(level.cls, (*call.operands, *call.given.values()))
        return cls(level, call.op.func, given, results)

    def add(self, edges: list, parent: Node, rule: Function, saved: tuple, fix: Any) -> None:
        """Add the edge to `parent` to `edges`, after those that compare what it keeps."""
        if self.given == []:
            edges.append((parent, rule, saved, fix))
            return
        kept = []
        for x in saved:
            kind = type(x)
            if kind is ndarray:
                x = self.array(x)
            elif kind not in PLAIN and not (kind is tuple and is_fixed(x)):
                x = x[:] if kind is list and is_fixed(x) else Walk(self, self.objects).value(x)
            kept.append(x)
        if self.found:
            edges += [(parent, compare, (one,), None) for one in self.found]
            self.found = None
        edges.append((parent, rule, tuple(kept), fix))

    def array(self, x: ndarray) -> ndarray:
        if not self.is_given(x):
            return x
        if x.nbytes <= SHARED:
            return x.copy()
        ans, values = self.results
        others = [ans, *[v for v in values if v is not x]]
        x, found = keep(x, self.level, self.func, others)
        if found is not None:
            self.found = [*(self.found or ()), found]
        return x

    def is_given(self, x: Value) -> bool:
        if self.given is None:
            return True
        for value in self.given:
            if value is x:
                return True
        return False


class Walk(Copies):
    """A walk through values to the arrays and tensors of the caller that they consist of."""

    def __init__(self, keeping: Any, objects: dict[int, tuple]):
        self.keeping, self.objects = keeping, objects

    def value(self, x: Any) -> Any:
        if isinstance(x, ndarray):
            return self.keeping.array(x)
        if hasattr(type(x), "owning") and self.keeping is not All and self.keeping.is_given(x):
            return Walk(All, self.objects).value(x)
        return super().value(x)

    def tensor(self, x: Any) -> Any:
        return alias_of(x) if self.keeping.is_given(x) else x

    def tape(self, roots: list) -> list:
        return roots


class All:
    """The way to keep operands where all are the caller's: copies, whatever their size."""

    array = staticmethod(copy_of)

    @staticmethod
    def is_given(x: Value) -> bool:
        return True


def owned(x: Any) -> Any:
    """Return a value that no write to `x`, or to what is in it, changes."""
    kind = type(x)
    if kind is ndarray:
        return copy_of(x)
    return x if kind in PLAIN else Walk(All, {}).value(x)


def join_edges(
    parents: list[Node], rule: Function, n: int, saved: tuple = (), label: Any = "functier",
    name: str = "a function",
) -> list[Node]:  # fmt: skip
    """Return nodes for `n` results that share one rule, that of `name` at the level `label`.

    The rule takes the tuple of their cotangents and returns those of the parents; None is a
    zero in both. It also takes `saved`: every array that it needs and that somebody could write
    to.
    """
    if not parents:
        return [node_of([]) for _ in range(n)]
    split = node_of([(parent, itemgetter(i), (), None) for i, parent in enumerate(parents)])
    edges: list[tuple] = []
    Keeping(label, name, None, (None, ())).add(edges, split, rule, saved, None)
    for wrap in RULES:
        _, rule, kept, _ = edges[-1]
        edges[-1] = split, wrap(rule, kept), kept, None
    both = node_of(edges)
    return [node_of([(both, output_rule(i, n), (), None)]) for i in range(n)]
