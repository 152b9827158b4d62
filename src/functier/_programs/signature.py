"""Arguments and results of a program: pytrees of plain containers, as code."""

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

from .._core.pytree import flatten, name_of_function
from .._cpython.functions import cells_of


class Slot:
    """A place in a structure."""

    def __init__(self, number: int):
        self.number = number

    __array_ufunc__ = None  # counts as a leaf


def slots(structure: Any, size: int) -> Any:
    """Return a pytree with a `Slot` for each leaf."""
    return structure.unflatten([Slot(i) for i in range(size)])


def write_tree(tree: Any, leaf: Callable[[int], str]) -> str | None:
    """Return the source of a pytree of plain containers; None for another one."""
    kind = type(tree)
    if kind is Slot:
        return leaf(tree.number)
    if kind is dict:
        parts = {k: write_tree(v, leaf) for k, v in tree.items()}
        if None in parts.values() or not all([type(k) is str for k in parts]):
            return None
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in parts.items()) + "}"
    if kind is tuple or kind is list:
        own = [write_tree(v, leaf) for v in tree]
        if None in own:
            return None
        text = ", ".join(own)  # type: ignore[arg-type]
        return f"[{text}]" if kind is list else f"({text}{',' if len(own) == 1 else ''})"
    return "None" if tree is None else None


def read_tree(tree: Any, path: str, leaf: Callable[[int], str]) -> list[tuple[str, str]]:
    """Return the leaves of a pytree of plain containers: (name, where it is in `path`)."""
    kind = type(tree)
    if kind is Slot:
        return [(leaf(tree.number), path)]
    if kind is dict:
        items = [(f"{path}[{k!r}]", v) for k, v in tree.items()]
    elif kind is tuple or kind is list:
        items = [(f"{path}[{i}]", v) for i, v in enumerate(tree)]
    else:
        return []
    return [found for own, v in items for found in read_tree(v, own, leaf)]


def unpacking(tree: Any, root: str, leaf: Callable[[int], str]) -> list[str]:
    """Return the lines that give each leaf of an argument its name."""
    target = write_tree(tree, leaf) if is_sequence(tree) else None
    if target is not None and len(target) < 80:
        return [f"{target[1:-1]} = {root}"]
    return [f"{name} = {path}" for name, path in read_tree(tree, root, leaf) if name != "_"]


def is_sequence(tree: Any) -> bool:
    """Return whether a pytree is made of tuples and lists alone, which an assignment unpacks."""
    kind = type(tree)
    return kind is Slot or (kind in (tuple, list) and bool(tree) and all(map(is_sequence, tree)))


def title_of(func: Any) -> str:
    """Return a name for the function of a program: ``grad_f`` for ``grad(f)``."""
    parts: list[str] = []
    outer = func
    while getattr(outer, "__wrapped__", None) is not None:
        label = cells_of(outer).get("label")  # of the transforms to sparse matrices
        text = label.cell_contents if label else ""
        if prefix := getattr(outer, "transform", "") or text.partition("(")[0]:
            parts.append(prefix)
        outer = outer.__wrapped__
    return identifier("_".join([*parts, name_of_function(outer).strip("<>")]))


def identifier(text: str) -> str:
    """Return a text as a name of Python."""
    found = re.sub(r"\W+", "_", text).strip("_")
    odd = not found or found[0].isdigit() or keyword.iskeyword(found)
    return f"program_{found}".rstrip("_") if odd else found


def arguments_of(structure: Any, size: int, keywords: Sequence[str]) -> list[Any]:
    """Return the arguments with a `Slot` for each leaf, those by keyword last and sorted."""
    found = slots(structure, size)
    if not keywords:
        return list(found)
    args, kwargs = found
    return [*args, *[kwargs[name] for name in sorted(keywords)]]


def short_names(
    trees: Sequence[Any], roots: Sequence[str], paths: Sequence[str], dynamic: Sequence[bool]
) -> list[str]:
    """Return a name for each leaf that is an input: ``W1`` for ``params["W1"]``."""
    found: list[str] = []
    place = 0
    for tree, root in zip(trees, roots):
        own = list(paths[place : place + len(flatten(tree, "trace", "an argument")[0])])
        place += len(own)
        short = [path.removeprefix(f"{root}_") for path in own]
        usable = [text.isidentifier() and not keyword.iskeyword(text) for text in short]
        found += short if type(tree) is not Slot and all(usable) else own
    return [name for name, on in zip(found, dynamic) if on]


def parameters_of(
    trees: Sequence[Any], dynamic: Sequence[bool], roots: Sequence[str], leaf: Callable[[int], str]
) -> tuple[list[str], list[str]]:
    """Return the parameters of a program, and the lines that take their pytrees apart.

    A pytree of other containers than dicts, lists and tuples is given as its leaves.
    """
    parameters: list[str] = []
    lines: list[str] = []
    for tree, root in zip(trees, roots):
        if type(tree) is Slot:
            parameters.append(leaf(tree.number) if dynamic[tree.number] else root)
        elif write_tree(tree, str) is not None:
            parameters.append(root)
            lines += unpacking(tree, root, lambda i: leaf(i) if dynamic[i] else "_")
        else:
            found = flatten(tree, "trace", "an argument")[0]
            parameters += [leaf(x.number) for x in found if dynamic[x.number]]
    return parameters, lines
