"""Pytrees whose keys have an order, and pytrees that are prefixes of others.

NOTE [one namespace]
    Nodes are registered in the namespace `functier` of optree, which every call here names.
    optree also finds there what is registered globally.

NOTE [keys that have moved]
    optree reads the keys of an OrderedDict as those of a dict, and does not see what
    ``move_to_end`` did. So it gets a new one, in whose order both agree. Where two trees have
    another order, it pairs the keys, in the order of the first: `entries_of` finds that of the
    second.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import optree

from .numpy_facts import PyTree

NAMESPACE = "functier"

is_ordered: Callable[[Any], bool] = OrderedDict.__instancecheck__  # in C, where a lambda is slow


def settled(tree: PyTree) -> PyTree:
    """Return the tree with its keys as optree reads them: see NOTE [keys that have moved]."""
    leaves = optree.tree_leaves(tree, is_ordered, namespace=NAMESPACE)
    return reordered(tree) if OrderedDict in map(type, leaves) else tree


def reordered(tree: PyTree) -> PyTree:
    def new(x: Any) -> Any:
        return OrderedDict({k: settled(v) for k, v in x.items()}) if type(x) is OrderedDict else x

    return optree.tree_map(new, tree, is_leaf=is_ordered, namespace=NAMESPACE)


def entries_of(prefix: PyTree, tree: PyTree, take: Callable[[Any, Any], Any]) -> list:
    """Return ``take(entry, subtree)`` of a prefix for every leaf of a tree, in the tree's order."""
    given = prefix, tree
    both = settled(given)
    found: dict[tuple, Any] = {}
    entries: list = []

    def add(entry: Any, subtree: Any) -> None:
        n = optree.tree_structure(subtree, namespace=NAMESPACE).num_leaves
        entries.extend([take(entry, subtree)] * n)

    def place(path: tuple, entry: Any, subtree: Any) -> None:
        for rest in optree.tree_paths(subtree, namespace=NAMESPACE):
            found[path + rest] = take(entry, subtree)

    # None is an entry in `prefix`, and in `tree` no leaf: broadcast_prefix knows one of both
    options: dict[str, Any] = {"is_leaf": _is_none, "namespace": NAMESPACE}
    if both is given:
        optree.tree_map_(add, prefix, tree, **options)
        return entries
    optree.tree_map_with_path_(place, *both, **options)
    return [found[path] for path in optree.tree_paths(both[1], namespace=NAMESPACE)]


def _is_none(x: Any) -> bool:
    return x is None
