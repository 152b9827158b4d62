"""Nested dicts, tuples and lists of arrays: the form of every input and result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Labels:
    """The classes of a batch of examples, in the two forms that cross entropies take."""

    index: np.ndarray
    hot: np.ndarray


def tree_map(f: Callable, tree: Any) -> Any:
    """The same tree with `f` of each leaf."""
    if isinstance(tree, dict):
        return {key: tree_map(f, value) for key, value in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(tree_map(f, value) for value in tree)
    return f(tree)


def leaves(tree: Any) -> list:
    """The leaves, those of a dict in the order of its keys."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def to_numpy(x: Any) -> np.ndarray:
    """The float64 array of any library's array."""
    return np.asarray(x.detach() if hasattr(x, "detach") else x, np.float64)


def disagreement(result: Any, expected: Any, tolerance: float = TOLERANCE) -> str | None:
    """Return the difference of two results, or None where they agree."""
    found = [to_numpy(x) for x in leaves(result)]
    wanted = [to_numpy(x) for x in leaves(expected)]
    if [x.shape for x in found] != [x.shape for x in wanted]:
        return f"shapes {[x.shape for x in found]} instead of {[x.shape for x in wanted]}"
    for x, y in zip(found, wanted):
        error = np.max(np.abs(x - y)) / max(np.max(np.abs(y)), np.finfo(float).tiny)
        if not error < tolerance:  # so that NaN disagrees
            return f"off by {error:.1e} of the largest element"
    return None
