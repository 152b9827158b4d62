"""Batch levels: tensors that carry leading batch axes.

NOTE [contiguous levels share one wrapper]
    Nested vmaps with nothing between them are one group. The tensor of a level at
    contiguous depth `k` wraps one value with `k` leading batch axes, outermost first,
    each of size 1 (the tensor does not vary along that level) or of the level's size.
    A rule is written for `k` leading axes, so an operation costs one NumPy call at any
    depth. The value under the group (a plain array, a tensor of a grad level around it)
    has no batch axes.
"""

import warnings
from collections.abc import Callable, Hashable, Sequence
from operator import getitem, matmul
from typing import Any, Literal, NoReturn

import numpy as np

from .._core.agreement import (
    Split,
    agreed,
    answer,
    examples_of,
    splits,
    varying_levels,
)
from .._core.border import OBJECT, check_leaf, one_array, unexpected
from .._core.errors import (
    ConversionError,
    DataDependentError,
    FallbackWarning,
    LevelError,
    MutationError,
)
from .._core.hints import explain
from .._core.numpy_facts import (
    FAST_PARTS,
    PLAIN,
    SCALARS,
    SIMPLE,
    SPELLED,
    Function,
    Shape,
    Value,
    align,
    name_of,
    shape_of,
    stretch,
)
from .._core.op import Call, Op
from .._core.pytree import describe, flatten, instead_of, is_value, same_structure, unflatten
from .._core.root import tree_map
from .._core.subclasses import inside
from .._core.table import OPS
from .._core.tensor import Tensor
from .._mutation.array import Array, innermost, settle
from .._mutation.copies import lend
from .axes import check_axis, check_mapped, short, wrong_size
from .conversions import PICKLED
from .fast_calls import MET, SAME, FastCalls
from .level import Level
from .lying import copy_apart, product_in_order
from .operands import has_methods, taken_out
from .raised import raise_of_examples
from .stores import EVERYTHING, BatchStore
from .wholes import WHOLE

new = object.__new__
ndarray = np.ndarray
Randomness = Literal["error", "different", "same"]
_warned: set[str] = set()


class BatchLevel(Level):
    """A level of vmap; `k` is its contiguous depth, `size` its batch size."""

    batches, differentiates, records, guards = True, None, False, False
    quiet = True
    store = BatchStore
    settle_product = staticmethod(product_in_order)
    whole = WHOLE  # the layer for integers that stand for Python's

    randomness: Randomness = "error"  # the effect of a draw of `functier.random`
    axis_name: Hashable = None  # the name for collectives
    chunk: Any = None  # the `_transforms.chunks.Chunk` that it computes, where it has a name
    branches: Any = None  # the token of a call that runs groups of examples separately

    size: int | None
    k: int
    parent: "BatchLevel | None"

    def nest_in(self, outer: Level) -> None:
        if type(outer) is type(self):  # a level that debugging watches is of another class
            self.parent, self.k = outer, outer.k + 1
        else:
            self.parent, self.k = None, 1
        self.size = None
        if self.randomness != "error":  # set by the level that had this class before
            self.randomness = "error"
        if self.branches is not None:
            self.branches = None

    def group(self) -> "list[BatchLevel]":
        """Return the contiguous levels that share its tensors, from the outermost to this one."""
        return [*(BatchLevel.group(self.parent) if self.parent is not None else ()), self]

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(kind, align=align, stretch=stretch, ndarray=ndarray, EVERYTHING=EVERYTHING)
        makers = {
            1: fast.unary("func", "try: y._value = func(x._value)\n" + AGAIN + "unary(func, x)"),
            2: fast.binary("func", BINARY),
        }
        calls: dict[Callable, Callable] = {}
        for ufunc in SIMPLE:
            for func in (ufunc, SPELLED.get(ufunc, ufunc)):
                calls[func] = makers[ufunc.nin](func)
        same = fast.binary("func, same, also", BINARY | {"result": BINARY["result"] + MET})
        calls |= {func: same(func, *SAME[func]) for func in SAME}
        product = fast.product("func, rule", PRODUCT)
        for func in (np.matmul, matmul):
            calls[func] = product(func, OPS[np.matmul].vmap)
        calls[getitem] = fast.getitem("", FAST_PARTS - {type(None)}, GETITEM, WITHOUT_AXES)()
        return calls

    def apply(self, op: Op, call: Call) -> Value:
        if op.vmap is None:
            return self.loop(op.name, call.run, (call.operands,), {})
        values = [self.lift(x) for x in call.operands]
        try:
            return self.wrap(call.run(values, op.vmap, self.k))
        except LevelError as error:
            raise self.name_error(error) from None
        except Exception as error:
            raise_of_examples(self, op.name, values, call.run, error)
            raise

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        if op.vmap is None:
            return Level.apply_single(self, op, x, given)
        try:
            result = op.vmap(self.k, x._value, **given)
        except Exception as error:
            raise_of_examples(self, op.name, [x._value], lambda v: op.kernel(*v, **given), error)
            raise
        return self.wrap(result)

    def missing(self, func: Function, args: tuple, kwargs: dict) -> Any:
        return self.loop(name_of(func), func, args, kwargs)

    def physical(self, x: Value) -> Value | None:
        """Return the value of `x` with `k` batch axes, or None where `x` does not vary."""
        kind = type(x)
        if kind is self.cls:
            return x._value
        if kind in PLAIN or not isinstance(x, Tensor):
            return None
        level: Any = kind.level
        if not (level.live and self.depth > level.depth > self.depth - self.k):
            return None
        if not issubclass(self.cls, kind):
            return None
        value, j = x._value, level.k
        shape = value.shape
        return value.reshape(shape[:j] + (1,) * (self.k - j) + shape[j:])

    def lift(self, x: Value) -> Value:
        """Give `x` `k` leading batch axes; a Python scalar stays one, as it is weak."""
        value = self.physical(x)
        if value is not None:
            return value
        if type(x) is Array:
            return self.lift(settle(x))
        value = self.lower(x)
        if type(innermost(value)) in (bool, int, float, complex):  # also the level of a program
            return value
        if type(value) is not ndarray and not (
            hasattr(value, "shape") and hasattr(value, "reshape")
        ):
            if hasattr(value, "__array_ufunc__"):
                return value  # a duck array around a number
            value = np.asarray(value)
        return value.reshape((1,) * self.k + value.shape)

    def wrap(self, result: Any) -> Any:
        """Return the tensor, or the container of tensors, of a rule's result."""
        if isinstance(result, (tuple, list)):
            return tree_map(self.wrap, result)
        x = new(self.cls)
        x._value = result
        return x

    def loop(self, name: str, func: Function, args: tuple, kwargs: dict) -> Any:
        """Apply a function without a batching rule to one example after the other."""
        if name not in _warned:
            _warned.add(name)
            warnings.warn(
                f"{self}: {name} has no batching rule, so it is applied to one example after the "
                f"other; write functier.custom_vmap for a rule, or functier.sequential_vmap to "
                f"have the loop without this warning",
                FallbackWarning,
                stacklevel=4,
            )
        k, found = self.k, []

        def collect(x: Any) -> Any:
            value = self.physical(x)
            if value is None:
                return self.lower(x)
            found.append(value)
            return _Slot(len(found) - 1)

        args, kwargs = tree_map(collect, (args, kwargs))
        batch = np.broadcast_shapes(*(v.shape[:k] for v in found))

        def example(index: tuple) -> Any:
            def fill(x: Any) -> Any:
                if type(x) is not _Slot:
                    return x
                v = found[x.index]
                if 0 in batch:
                    return np.zeros(v.shape[k:], v.dtype)
                return v[tuple(i if n > 1 else 0 for i, n in zip(index, v.shape[:k]))]

            a, kw = tree_map(fill, (args, kwargs))
            return flatten(func(*a, **kw))

        rows = [example(index) for index in np.ndindex(*batch)] or [example(())]
        structure, forms = rows[0][1], [shape_of(v) for v in rows[0][0]]
        first = unflatten(structure, rows[0][0])
        for leaves, own in rows:
            fits = own == structure or same_structure(unflatten(own, leaves), first)
            if not fits or [shape_of(v) for v in leaves] != forms:
                raise self.refusal(
                    DataDependentError,
                    f"{name}, applied in a loop, gave results of differing shapes, such as "
                    f"{describe(first)} and {describe(unflatten(own, leaves))}; write it with "
                    f"numpy.where, which keeps all elements",
                )
        columns = []
        for column in zip(*(leaves for leaves, _ in rows)):
            stacked = np.stack(column)
            if 0 in batch:
                stacked = stacked[:0]
            columns.append(self.wrap(stacked.reshape(batch + stacked.shape[1:])))
        return unflatten(structure, columns)

    # ---- the form of a tensor, and leaving ----

    def shape(self, x: Tensor) -> Shape:
        return x._value.shape[self.k :]

    def dtype(self, x: Tensor) -> np.dtype:
        return x._value.dtype

    def make(self, cls: type, data: Any, in_dim: int = 0, *more: Any, **options: Any) -> Any:
        if more or options:
            raise unexpected(self, "B(x, in_dim=0)", more, options)
        if not is_value(data):
            data = one_array(self, data)
        elif has_methods(data):
            self.forward_attributes()
        return self.insert([data], [in_dim], f"the argument of {cls.__name__}")[0]

    def insert(self, leaves: Sequence[Any], dims: Sequence[int | None], args: tuple | str) -> list:
        """Return tensors batched along `dims`; None leaves one as it is. Errors name `args`."""
        cls, parent = self.cls, self.parent
        outer, k = (None, 0) if parent is None else (parent.cls, parent.k)
        inner = []
        for leaf, dim in zip(leaves, dims):
            if dim is None:
                inner.append(leaf)
                continue
            value, size, kind = None, -1, type(leaf)
            if dim == 0:
                if kind is ndarray:
                    if leaf.ndim and leaf.dtype.kind not in "OV":
                        size = leaf.shape[0]
                        value = leaf if leaf.flags.c_contiguous else copy_apart(leaf)
                        value = value if not k else value.reshape((1,) * k + value.shape)
                elif kind is outer and leaf._value.ndim > k:
                    if type(leaf._value) is not ndarray or leaf._value.flags.c_contiguous:
                        value = leaf._value
                        size = value.shape[k]
            if value is None:
                leaf = settle(leaf)
                check_mapped(self, leaf, dim, args, dims)
                moved = copy_apart(np.moveaxis(leaf, dim, 0) if dim else leaf)
                size = moved.shape[0]
                value = self._lower_physical(moved)
            if size != self.size:
                if self.size is not None:
                    why = f"the level has batch size {self.size}"
                    raise wrong_size(self, leaf, args, size, why, dims)
                self.size = size
            x = new(cls)
            x._value = value
            inner.append(x)
        return inner

    def _lower_physical(self, leaf: Value) -> Value:
        """Put the outer batch axes in front of `leaf`, whose axis 0 is that of this level."""
        if self.parent is None:
            return self.lower(leaf)
        value = self.parent.physical(leaf)
        if value is None:
            value = self.lower(leaf)
            value = value.reshape((1,) * (self.k - 1) + value.shape)
        return value

    def elem(self, x: Tensor) -> Value:
        """Return the value one level out, with the batch axis of this level as axis 0."""
        # `self` may have ended; its class is not `BatchLevel` then.
        return x._value if self.parent is None else BatchLevel._outer(self, x._value)

    def _outer(self, value: Value) -> Value:
        """Return the tensor of the level around this one that has `value`, or `value` itself."""
        parent: Any = self.parent
        shape, j = value.shape, parent.k
        level = parent
        while level is not None and shape[level.k - 1] == 1 and level.size != 1:
            level = level.parent
        keep = level.k if level is not None else 0
        if keep < j:
            value = value.reshape(shape[:keep] + shape[j:])
        if level is None:
            return value
        y = new(level.cls)
        y._value = value
        return y

    def unwrap(self, x: Value, out_dim: int | None = 0, where: str = "the result") -> Any:
        """Take `x` out of this level; its batch axis becomes the axis `out_dim` of the result."""
        if type(x) is self.cls:
            value, k = x._value, self.k
            shape = value.shape
            if type(value) is ndarray and value.dtype is OBJECT:
                check_leaf(self, where, value)
            if out_dim == 0 and shape[k - 1] == self.size:
                parent = self.parent
                if parent is None:
                    return value
                if shape[k - 2] != 1 or parent.size == 1:
                    y = new(parent.cls)
                    y._value = value
                    return y
        elif (made := taken_out(self, settle(inside(x)) if is_value(x) else x)) is not x:
            return self.unwrap(made, out_dim, where)
        else:
            value = None
            check_leaf(self, where, x)
            x = self.lower(x)
            if out_dim is None:
                return x
            if not is_value(x):
                raise TypeError(
                    f"{self}: {where} is {short(x)}, not an array; {instead_of(x, 'return')}"
                )
            x = np.asarray(x) if type(x) in SCALARS else x
            if self.size is None:
                raise ValueError(
                    f"{self}: the level has no batch size yet; make a tensor of it first, "
                    f"B(xs), or write out_dim=None"
                )
            x = np.copy(np.broadcast_to(x, (self.size, *x.shape)))
        if value is not None:
            if out_dim is None:
                raise ValueError(
                    f"{self}: out_dims is None for {where}, which varies along the batch; "
                    f"write the axis that the batch should have in the result"
                )
            if shape[k - 1] != self.size:
                whole = (*shape[: k - 1], self.size, *shape[k:])
                value = np.copy(np.broadcast_to(value, whole))  # type: ignore[arg-type]
            x = value if self.parent is None else self._outer(value)
        check_axis(self, "out_dim", out_dim, x, where)
        if not out_dim:
            return x
        if not -x.ndim <= out_dim < x.ndim:
            raise ValueError(
                f"{self}: out_dim {out_dim} is out of range for {where}, which has shape "
                f"{x.shape[1:]} for each example; write an axis from {-x.ndim} to {x.ndim - 1}"
            )
        return np.moveaxis(x, 0, out_dim)

    def convert(self, x: Tensor, how: str | Function, *args: Any) -> Any:
        if how is hash:
            return Level.convert(self, x, how)
        shown = how == "format" and bool(args[0])  # for people, also where there is a derivative
        if how in CONVERSIONS:
            found = answer(x, how)
            if found:
                return found[0]
        elif shown or ((how in TEXTS or splits(x)) and examples_of(x, False) is not None):
            shared = agreed(x, how in TEXTS)
            if shared is not None:
                return lend(how, x, shared, *args)
        name = how if isinstance(how, str) else how.__name__
        (asked, remedy, writing), before = explain(name, True, x.dtype.kind), self.unanswered
        if how in (bool, int, "__index__"):
            why = "differs from example to example" if self.size else "has no example to answer it"
            refusal = self.refusal(
                DataDependentError,
                f"{asked} {why}, so Python cannot branch or index on it; write {remedy}; or "
                f"vmap(..., branches='split') to run groups of examples separately",
            )
            self.unanswered = before  # noted where examples differ; arrays raise NumPy's error
            self.run_apart(x, how, refusal)
        error = self.refusal(
            MutationError if writing else ConversionError,
            f"{asked} would turn a batch of examples into one plain value; write {remedy}",
        )
        self.unanswered = before if how == PICKLED else error
        if (how in CONVERSIONS or splits(x)) and examples_of(x, shown) is not None:
            self.run_apart(x, float, error)
        raise error

    def has_text(self, x: Tensor) -> bool:
        """The same of any number that all examples share, or whose examples may run apart."""
        if Level.has_text(self, x):
            return True
        return examples_of(x, False) is not None and (splits(x) or agreed(x, True) is not None)

    def run_apart(self, x: Value, how: str | Function, error: Exception) -> NoReturn:
        """Have a transform run the examples apart whose answers of `x` differ, or raise `error`.

        All levels along which they differ have to allow it; the innermost one is split first. The
        error is noted for the function's return: its code may catch it, and go on.
        """
        varying = varying_levels(x, how)
        for level, _ in varying:
            level.unanswered = error
        if varying and all([level.branches is not None for level, _ in varying]):
            raise Split(varying[0].level.branches, varying[0].groups(), error)
        raise error

    def name_error(self, error: Exception) -> Exception:
        error, pattern = Level.name_error(self, error), getattr(error, "pattern", None)
        if pattern is not None:
            vars(error)["pattern"] = None
            self.run_apart(self.wrap(pattern), bool, error)
        return error


CONVERSIONS = {bool, int, float, complex, "__index__"}
TEXTS = "format", "str", "repr"


class _Slot:
    """A placeholder of a batched argument of a looped function."""

    def __init__(self, index: int):
        self.index = index


# ---- the hot path ----

AGAIN = "except Exception: return level."  # of single examples: see `raised`
BINARY = {
    "both": """
        x, y = a._value, b._value
        m, n = x.ndim, y.ndim
        if m < n:
            x = stretch(level.k, x, x.shape, n)
        elif n < m:
            y = stretch(level.k, y, y.shape, m)
    """,
    "left": """
        x, y = a._value, b
        if other is ndarray and b.ndim > x.ndim - level.k:
            return level.binary(func, a, b)
    """,
    "right": """
        x, y = a, b._value
        if cls is ndarray and a.ndim > y.ndim - level.k:
            return level.binary(func, a, b)
    """,
    "left_inner": "x, y = align(level.k, (a._value, level.lift(b)))",
    "right_inner": "x, y = align(level.k, (level.lift(a), b._value))",
    "result": f"try: z._value = func(x, y)\n{AGAIN}binary(func, a, b)",
}

PRODUCT = {
    "both": "ans = rule(level.k, a._value, b._value)",
    "left": "ans = rule(level.k, a._value, level.lift(b))",
    "right": "ans = rule(level.k, level.lift(a), b._value)",
    "result": "z._value = ans\nif type(ans) is not ndarray or not ans.flags.c_contiguous or "
    "ans.ndim > level.k + 2: z = level.settle_product(a, b, z)",
}

WITHOUT_AXES = "level.k in (x._value.ndim, y._value.ndim)"
GETITEM = """
if type(x._value) is not ndarray: parts = known(parts)
try:
    y._value = x._value[(*EVERYTHING * level.k, *parts)]
except IndexError:  # its text counts the batch axes, too
    return level.getitem(x, index)
"""
