"""vmap with ``branches="split"``: groups of examples that take one path through the function.

NOTE [a path is a sequence of answers]
    The function runs for a group of examples. Where these answer differently (`if`, `while`,
    ``range(int(n))``, the length of a mask), `Split` leaves the function with the groups of equal
    answers, and each is run again, from the start. A run that is left is thrown away, so there
    are less than twice as many runs as paths. The levels around the call are those of any call:
    the parts of the arguments, and the results put together, are operations on their tensors.
"""

import re
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .._core.agreement import Split
from .._core.errors import FallbackWarning
from .._core.numpy_facts import Function, PyTree, Value
from .._core.pytree import flatten, name_of_function, unflatten
from .._mutation.stores import laid_as
from .chunks.chunk import CHUNK, Chunk, Run
from .chunks.join import Join

MANY = 8
"""From so many groups on there is a warning."""

Examples = np.ndarray
Call = Callable[[Chunk, Examples, object], PyTree]
"""A function of a chunk, the numbers of its examples, and the token that a `Split` of it has."""


def check_branches(func: Function | None, branches: Any, axis_name: Hashable) -> None:
    """Raise where the option `branches` is wrong, or stands beside an `axis_name`."""
    label = "vmap()" if func is None else f"vmap({name_of_function(func)})"
    if not isinstance(branches, str) or branches not in ("error", "split"):
        raise ValueError(f"{label}: branches={branches!r}; write 'error' or 'split'")
    if branches == "split" and axis_name is not None:
        raise ValueError(
            f"{label}: branches='split' runs groups of examples separately, and a collective over "
            f"axis_name={axis_name!r} needs all examples; leave one of the two out"
        )


def in_groups(label: str, call: Call, size: int, randomness: str) -> list[tuple[Examples, PyTree]]:
    """Return the results of all groups, each with the numbers of its examples.

    An exception that one example raises alone is found by halving its group; that of the example
    with the lowest number is raised.
    """
    run, outer, token = Run(label, None, randomness), CHUNK.get(), object()
    reports: dict[Callable, set] = {}
    waiting: list[Examples] = [np.arange(size)]
    found: list[tuple[Examples, PyTree]] = []
    failed: tuple[int, Exception] | None = None
    asked = ""  # why the first groups were made, and what to write instead
    try:
        while waiting:
            examples = waiting.pop()
            first = int(examples[0]) if size else 0
            if failed is not None and first > failed[0]:
                continue
            chunk = Chunk(run, first, size or 1, 0, len(examples), size, outer)
            try:
                CHUNK.set(chunk)
                found.append((examples, call(chunk, examples, token)))
                for merge, items in chunk.reports.items():
                    reports.setdefault(merge, set()).update(items)
            except Split as split:
                if split.token is not token:
                    raise
                waiting += reversed([examples[group] for group in split.groups])
                asked = asked or str(split.error)
            except Exception as error:
                half = (len(examples) + 1) // 2
                if len(examples) > 1:
                    waiting += [examples[half:], examples[:half]]
                else:
                    failed = first, error
            finally:
                CHUNK.set(outer)
        if failed is not None:
            raise failed[1]
    finally:
        failed = None  # its traceback has this frame
        for merge, items in reports.items():
            merge(run, items)
    if len(found) > MANY:
        warnings.warn(
            f"{label}: branches='split' ran the function for {len(found)} groups of examples that "
            f"take different paths, one after the other: "
            f"{re.split('[;,] or vmap', asked.removeprefix(label + ': '))[0]}",
            FallbackWarning,
            stacklevel=3,
        )
    return found


def take(leaf: Value, examples: np.ndarray, dim: int) -> Value:
    """Return some examples of a leaf, each of which lies in memory as in the leaf."""
    if type(leaf) is not np.ndarray or (dim == 0 and leaf.flags.c_contiguous):
        return np.take(leaf, examples, dim)
    moved = np.moveaxis(leaf, dim, 0)
    return np.moveaxis(laid_as(moved[: len(examples)], moved[examples]), 0, dim)


def join_groups(label: str, found: list[tuple[Examples, PyTree]], out_dims: PyTree) -> PyTree:
    """Put the results of groups together, each leaf along its axis in `out_dims`."""
    join = Join(label, out_dims, lambda i: f"the group of example {found[i][0][0]}")
    order = np.argsort(np.concatenate([examples for examples, _ in found]))
    run, start = Run(label), 0
    for i, (examples, result) in enumerate(found):
        stop = start + len(examples)
        join.take(Chunk(run, i, len(found), start, stop, len(order)), result)
        start = stop
    leaves, structure = flatten(join.whole())
    dims = join.dims
    return unflatten(
        structure, [x if d is None else np.take(x, order, d) for x, d in zip(leaves, dims)]
    )
