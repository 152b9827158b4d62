"""Pytrees are `optree`'s; here are the fast path for bare arrays and the error paths."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from ._numpy import SCALARS
from ._tensor import Tensor

CONTAINERS = frozenset({tuple, list, dict})
LEAF = object()
"""The structure of a bare array."""


def is_value(x: Any) -> bool:
    """Whether `x` is an array, a tensor, a NumPy or a Python number, or a duck array."""
    kind = type(x)
    return (
        kind is np.ndarray
        or kind in SCALARS
        or isinstance(x, (Tensor, np.ndarray))
        or hasattr(x, "__array_ufunc__")
    )


class FlatDict:
    """The structure of a dict of arrays: what optree makes of it, at a third of the cost.

    Leaves stand in the order of the sorted keys, as optree's do; the dict that is built
    again has its keys in the order of the first.
    """

    __slots__ = ("keys", "ordered")

    def __init__(self, keys: tuple, ordered: list):
        self.keys, self.ordered = keys, ordered

    def __eq__(self, other: object) -> bool:
        return type(other) is FlatDict and self.ordered == other.ordered

    __hash__ = None  # type: ignore[assignment]

    def unflatten(self, leaves: list) -> dict:
        tree = dict(zip(self.ordered, leaves))
        return tree if self.keys == tuple(self.ordered) else {k: tree[k] for k in self.keys}


class FlatTuple:
    """The structure of a tuple of arrays."""

    __slots__ = ("n",)

    def __init__(self, n: int):
        self.n = n

    def __eq__(self, other: object) -> bool:
        return type(other) is FlatTuple and self.n == other.n

    __hash__ = None  # type: ignore[assignment]
    unflatten = staticmethod(tuple)


def flatten(tree: Any) -> tuple[list, Any]:
    """Leaves and structure; ``None`` is a node without leaves."""
    kind = type(tree)
    if kind is np.ndarray or (kind not in CONTAINERS and is_value(tree)):
        return [tree], LEAF
    if kind is tuple:
        for leaf in tree:
            if type(leaf) is not np.ndarray and not isinstance(leaf, Tensor):
                break
        else:
            return list(tree), FlatTuple(len(tree))
    elif kind is dict:
        for leaf in tree.values():
            if type(leaf) is not np.ndarray and not isinstance(leaf, Tensor):
                break
        else:
            try:
                ordered = sorted(tree)
            except TypeError:  # keys of several kinds
                return optree.tree_flatten(tree)[:2]
            return [tree[key] for key in ordered], FlatDict(tuple(tree), ordered)
    leaves, structure = optree.tree_flatten(tree)
    return leaves, structure


def unflatten(structure: Any, leaves: list) -> Any:
    return leaves[0] if structure is LEAF else structure.unflatten(leaves)


def like(sequence: Any, items: list) -> Any:
    """`items` in a sequence of the type of another: a list, a tuple or a namedtuple."""
    kind = type(sequence)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def same_structure(a: Any, b: Any) -> bool:
    """Whether two trees have one structure, whatever their leaves are."""
    return optree.tree_structure(a) == optree.tree_structure(b)


def prefix_leaves(prefix: Any, tree: Any, where: str, option: str, is_tuple: bool = False) -> list:
    """The entry of `prefix` for every leaf of `tree`: ``None`` or an int each."""
    entries: list = []

    def add(entry: Any, subtree: Any) -> None:
        entries.extend([entry] * optree.tree_structure(subtree).num_leaves)

    try:  # None is an entry in `prefix`, and in `tree` no leaf: broadcast_prefix knows one of both
        optree.tree_map_(add, prefix, tree, is_leaf=_is_none)
        return entries
    except (ValueError, TypeError):
        raise ValueError(
            f"{where}: {option}={prefix!r} does not fit the structure of the "
            f"{'arguments' if is_tuple else 'result'}, {describe(tree)}; write one int, or "
            f"a tree that is a prefix of it"
        ) from None


def _is_none(x: Any) -> bool:
    return x is None


def paths(tree: Any, root: str) -> list[str]:
    """The path of every leaf as Python writes it: ``args[0]['W']``."""
    if is_value(tree):
        return [root]
    return [root + a.codify("") for a in optree.tree_accessors(tree)]


def describe(tree: Any) -> str:
    """The structure of `tree` with a shape in each leaf's place."""
    if is_value(tree):
        return f"an array of shape {np.shape(tree)}"
    return str(optree.tree_map(_Form, tree))


class _Form:
    """A leaf in a message: ``float64[3, 2]``, or the name of its type."""

    def __init__(self, x: Any):
        self.text = f"{x.dtype}{list(x.shape)}" if hasattr(x, "shape") else type(x).__name__

    def __repr__(self) -> str:
        return self.text


def check_callable(transform: str, func: Any) -> None:
    if not callable(func):
        raise TypeError(
            f"{transform}: func is a {type(func).__name__}, not a function; pass a function as "
            f"the first argument"
        )


def name_of_function(func: Callable) -> str:
    return getattr(func, "__name__", None) or type(func).__name__
