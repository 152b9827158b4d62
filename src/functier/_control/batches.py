"""The chunks of a batch in a program: one is recorded, and the others of its size are a loop."""

from typing import Any

import numpy as np

from .._core.numpy_facts import Function, PyTree, Value
from .._core.pytree import flatten, unflatten
from .._transforms.chunks.chunk import Chunk
from .given import LEAST, moved, recorder
from .scan import run_scan


def loop_over_chunks(
    call: Any, dims: list[int | None], size: int, chunk_size: int
) -> tuple[Function, int]:
    """Return a function of a chunk and its arguments, and the size of the chunks that it takes.

    Where steps are recorded, the first one has all the chunks of `chunk_size`, and is a loop over
    them. But each chunk has random numbers and an index by itself, and may be in other groups of
    branches than the others; and that a result without a batch axis is equal in all is asked of
    each.
    """
    mapping, count = call.mapping, size // chunk_size
    attributes, out_dim = mapping.attributes or {}, mapping.out_dims
    alike = attributes.get("randomness", "error") == "error" and mapping.branches != "split"
    alike = alike and attributes.get("axis_name") is None and type(out_dim) is int
    if not alike or count < LEAST or recorder() is None:
        return call, chunk_size

    def called(whole: Chunk, *args: Any, **kwargs: Any) -> PyTree:
        leaves, structure = flatten(args)
        if whole.index:  # the rest
            return call(whole, *args, **kwargs)
        chunk = Chunk(whole.run, 0, count, 0, chunk_size, size, whole.outer)

        def step(_: None, mapped: list) -> tuple[None, PyTree]:
            rows = iter(mapped)
            part = [x if d is None else moved(next(rows), 0, d) for x, d in zip(leaves, dims)]
            return None, call(chunk, *unflatten(structure, part), **kwargs)

        xs = [_apart(x, d, count) for x, d in zip(leaves, dims) if d is not None]
        results, form = flatten(run_scan(mapping.label, step, None, xs)[1])
        return unflatten(form, [_together(x, out_dim) for x in results])

    return called, count * chunk_size


def _apart(x: Value, dim: int, count: int) -> Value:
    """Return an array with the chunks along a new axis 0, and their examples along axis 1."""
    x = moved(x, dim, 0)
    size, *shape = np.shape(x)
    return x.reshape(count, size // count, *shape)


def _together(x: Value, dim: int) -> Value:
    """Return the results of chunks, which lie along axis 0, along the axis of their examples."""
    dim %= np.ndim(x) - 1
    shape = np.shape(x)[1:]
    return moved(x, 0, dim).reshape(*shape[:dim], -1, *shape[dim + 1 :])
