"""Methods of Dask's arrays as operations: a tensor of a level has them where a Dask array is in it.

NOTE [functions of chunks]
    The derivative of `map_blocks` is that of its function, taken in each chunk when the graph is
    computed. So the function has to be given what it depends on: a tensor in its closure would
    be computed too late, and is refused.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from .._core.errors import MutationError, UnsupportedError
from .._core.numpy_facts import Index, Value, dtype_of, is_lazy
from .._core.tensor import Tensor
from .._mutation.array import innermost
from .._rules.constructors import linear, op, primitive
from .._rules.indexing import transpose_read
from .._transforms.jvp import jvp
from .._transforms.vjp import vjp
from .._transforms.vmap import vmap
from .array import FUNCTIONS, DaskArray, inside, plain
from .hidden import check_graph, check_hidden

METHODS: dict[str, Callable] = {}
"""The methods of a tensor that is chunked, as functions of it."""


def _as_method(name: str) -> Callable[[Callable], Callable]:
    def note(function: Callable) -> Callable:
        METHODS[name] = function
        return function

    return note


def _same_numbers(function: Callable) -> Callable:
    """Declare an operation that has the numbers of its first operand in another form."""
    made = primitive(function)
    FUNCTIONS[made] = function

    def batched(k: int, x: Value, options: dict) -> Any:
        if "chunks" in options:
            options = {"chunks": x.chunks[:k] + options["chunks"]}
        return made(x, **options)

    linear(
        made,
        "x options",
        bind=lambda x, **options: {"x": x, "options": options},
        kernel=lambda x, options: made(x, **options),
        vmap=batched,
        vjp={"x": lambda g: g},
    )
    return made


@_same_numbers
def rechunk(x: Any, *, chunks: tuple) -> Any:
    """Return the array in other chunks."""
    return da.asarray(plain(x)).rechunk(chunks)


@_as_method("persist")
@_same_numbers
def persist(x: Any, **options: Any) -> Any:
    """Return the array with its chunks computed, where a scheduler may do so at once."""
    return plain(x).persist(**options)


@_as_method("compute")
@_same_numbers
def compute(x: Any, **options: Any) -> Any:
    """Return an array of NumPy."""
    return plain(x).compute(**options)


@_as_method("rechunk")
def _rechunk(x: Any, chunks: Any = "auto", *args: Any, **options: Any) -> Any:
    """Give it other chunks; see `dask.array.rechunk`."""
    form = da.zeros(x.shape, dtype=x.dtype, chunks=x.chunks)
    return rechunk(x, chunks=form.rechunk(chunks, *args, **options).chunks)


# ---- functions of chunks ----


class OfBlocks:
    """A function of chunks that is made of another one, for its operand or axes `k`."""

    def __init__(self, func: Callable, k: int):
        self.func, self.k = func, k

    def on_one(self, blocks: tuple, x: Value) -> Any:
        """Call the function with another operand."""
        return self.func(*blocks[: self.k], x, *blocks[self.k + 1 :])

    def __call__(self, *blocks: np.ndarray) -> Any:
        raise NotImplementedError


class Mapped(OfBlocks):
    """The function for chunks that have `k` axes of a batch in front."""

    def __call__(self, *blocks: np.ndarray) -> Any:
        k, func = self.k, self.func
        batch = np.broadcast_shapes(*[b.shape[:k] for b in blocks])
        for _ in range(k):
            func = vmap(func)
        return func(*[np.broadcast_to(b, batch + b.shape[k:]) for b in blocks])


class Pushed(OfBlocks):
    """The tangent of the result, for that of the operand `k`, which comes first."""

    def __call__(self, *blocks: np.ndarray) -> Any:
        t, *rest = blocks
        return jvp(partial(self.on_one, tuple(rest)), (rest[self.k],), (t,))[1]


class Pulled(OfBlocks):
    """The cotangent of the operand `k`, for that of the result, which comes first."""

    def __call__(self, *blocks: np.ndarray) -> Any:
        g, *rest = blocks
        return vjp(partial(self.on_one, tuple(rest)), rest[self.k])[1](g)[0]


class Apart(Pulled):
    """The same for an operand that all chunks share: each has its own, along axes in front."""

    def __call__(self, *blocks: np.ndarray) -> Any:
        c = super().__call__(*blocks)
        return c.reshape((1,) * blocks[0].ndim + c.shape)


@primitive
def apply_blocks(func: Callable, *arrays: Value, **options: Any) -> Any:
    """Apply a function to the chunks of arrays; those that are not chunked are given to each."""
    return _apply(func, *arrays, **options)


def _apply(func: Callable, *arrays: Any, like: int | None = None, **options: Any) -> Any:
    values = [plain(x) for x in arrays]
    if like is not None:
        x = values[like]
        options = {"dtype": x.dtype, "meta": np.empty((0,) * x.ndim, x.dtype)}
        if isinstance(x, da.Array):
            options["chunks"] = x.chunks
        else:
            blocks = values[0].numblocks
            options["meta"] = np.empty((0,) * (x.ndim + len(blocks)), x.dtype)
            options["new_axis"] = list(range(len(blocks), len(blocks) + x.ndim))
            options["chunks"] = (*[(1,) * n for n in blocks], *[(n,) for n in x.shape])
    elif type(func) is Mapped:
        options["chunks"] = _chunks_of_batch(func, values)
    return da.map_blocks(func, *values, **options)


def _chunks_of_batch(func: Any, values: Sequence[Any]) -> tuple:
    """Return the chunks of a result: only some operands may have the whole axes of a batch."""
    k, lazy = 0, [x for x in values if isinstance(x, da.Array)]
    while isinstance(func, OfBlocks):
        k += func.k if type(func) is Mapped else 0
        func = func.func
    n = max([x.ndim for x in lazy]) - k
    batch = [
        [
            x.chunks[i] if isinstance(x, da.Array) else (x.shape[i],)
            for x in values
            if np.ndim(x) > i
        ]
        for i in range(k)
    ]
    rest = [[x.chunks[i] for x in lazy if x.ndim - k + i >= 0] for i in range(-n, 0)]
    return tuple([max(forms, key=sum) for forms in (*batch, *rest)])


def _bind(func: Callable, *arrays: Value, **options: Any) -> dict[str, Any]:
    return {"func": func, "arrays": arrays, "options": options}


def _apply_vmap(k: int, func: Callable, arrays: Sequence[Value], options: dict) -> Any:
    if options.keys() - {"dtype", "meta"}:
        raise UnsupportedError(
            "map_blocks under vmap takes no chunks and no axes; write the function with "
            "functier.vmap in it, and map_blocks outside of vmap"
        )
    return apply_blocks(Mapped(func, k), *arrays, dtype=options.get("dtype"))


def _pull(
    g: Value, ans: Value, arrays: Sequence[Value], index: int, func: Callable, options: dict
) -> Value:
    x, g = arrays[index], rechunk(g, chunks=ans.chunks)
    if is_lazy(x):
        if x.numblocks != g.numblocks:
            raise UnsupportedError(
                f"map_blocks of operands with different numbers of chunks, {x.numblocks} and "
                f"{g.numblocks}, has no derivative; give the operand the chunks of the result by "
                f"rechunk, or pass it as an array of NumPy"
            )
        return apply_blocks(Pulled(func, index), g, *arrays, like=index + 1)
    apart = apply_blocks(Apart(func, index), g, *arrays, like=index + 1)
    return np.sum(apart, axis=tuple(range(np.ndim(g))))


def _push(t: Value, arrays: Sequence[Value], index: int, func: Callable, options: dict) -> Value:
    return apply_blocks(Pushed(func, index), t, *arrays, **options)


op(
    apply_blocks,
    "func arrays options",
    "arrays",
    variadic="arrays",
    bind=_bind,
    kernel=lambda func, arrays, options: apply_blocks(func, *arrays, **options),
    vmap=_apply_vmap,
    jvp={"arrays": _push},
    vjp={"arrays": _pull},
)
FUNCTIONS[apply_blocks] = _apply


@_as_method("map_blocks")
def _map_blocks(x: Any, func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to each chunk; see `dask.array.map_blocks`."""
    options = {name: kwargs.pop(name) for name in OPTIONS & kwargs.keys()}
    func = partial(func, **kwargs) if kwargs else func
    check_hidden(func, "the function that map_blocks was given")
    if isinstance(x, Tensor) or any([isinstance(a, Tensor) for a in args]):
        args = tuple([np.asarray(a) if isinstance(a, (int, float)) else a for a in args])
    return apply_blocks(func, x, *args, **options)


DaskArray.map_blocks = _map_blocks  # type: ignore[method-assign, assignment]


OPTIONS = {"chunks", "drop_axis", "new_axis", "dtype", "meta", "enforce_ndim", "name", "token"}


def attribute(x: Any, name: str) -> Any:
    """Return an attribute of a tensor with a Dask array in it."""
    if name in METHODS:
        return partial(METHODS[name], x)
    value = innermost(x)
    if name in ("chunks", "numblocks"):
        return getattr(value, name)[value.ndim - x.ndim :]
    if not hasattr(value, name):
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")
    raise AttributeError(
        f"a tensor with a Dask array in it has no {name!r}; write the function of NumPy, or "
        f"x.map_blocks(f) with a function of single chunks"
    )


# ---- entering a level, and writing ----


def taken_in(level: Any, x: Any) -> Any:
    """Return a Dask array as it is inside a level; raise where its graph has a tensor in it."""
    return x if type(x) is DaskArray else inside(check_graph(x))


def as_argument(x: Any) -> Any:
    """Return an argument that a level does not track as it is inside; writes reach the caller's."""
    made = taken_in(None, x)
    if type(x) is da.Array:
        made.argument = x
    return made


def set_item(x: Any, index: Index, value: Value) -> None:
    """Write to a tensor, which from then on has another Dask array in it, as one of Dask has."""
    if not np.can_cast(dtype_of(value), x.dtype, "same_kind"):
        raise TypeError(f"{x.level}: cannot write {dtype_of(value)} to an array of {x.dtype}")
    if dtype_of(index) == np.dtype(bool) and (is_lazy(index) or isinstance(index, Tensor)):
        if np.ndim(value) or np.shape(index) != x.shape:
            raise _refused(x, "at a mask that is not known yet takes one number, and a mask like x")
        mask = index
    else:
        for part in index if type(index) is tuple else (index,):
            if np.ndim(part) > 1 or np.size(np.unique(part)) != np.size(part):
                raise _refused(x, "takes each place once, by arrays with one axis")
        mask = inside(da.zeros(x.shape, dtype=bool, chunks=x.chunks))
        mask[index] = True
        if np.ndim(value):
            form = np.ones_like(x[index], dtype=bool)
            value = transpose_read(np.where(form, value, 0), x.shape, index)
    y = np.astype(np.where(mask, value, x), x.dtype)
    if type(y) is not type(x):
        raise _refused(x, "takes no tensor of an inner level")
    for name in ("_value", "_extra", "_moves"):
        if hasattr(y, name):
            setattr(x, name, getattr(y, name))


def _refused(x: Any, why: str) -> MutationError:
    return x.level.refusal(
        MutationError,
        f"a write to a Dask array {why}; write y = numpy.where(mask, value, x)",
    )
