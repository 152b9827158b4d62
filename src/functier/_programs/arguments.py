"""Arguments of programs: which are trees, which are values, and which are refused.

NOTE [no user code is asked]
    A static argument is part of the program. So it is a value that cannot change, compared by its
    type and contents, or a function, class or module, compared by identity. An ``__eq__`` of the
    user's may lie, and is not called. Any other object may change between two calls, and is
    refused.

NOTE [objects that are trees]
    A dataclass, a partial function and a bound method of a tree are taken apart: what they have
    are the leaves. The function gets a copy with the leaves of the call. No code of the class runs.
"""

import functools
import struct
import sys
import types
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

import numpy as np
import optree

from .._core.key_orders import NAMESPACE
from .._core.pytree import (
    flatten,
    instead_of,
    is_value,
    register_pytree_node,
)
from .._cpython.code import Code
from .._cpython.objects import DESCRIPTORS, slots_of, space_of

HERE = __name__.partition(".")[0]
PLAIN = frozenset({int, bool, str, bytes, type(None), type(...), type(NotImplemented)})
"""Types of values that Python compares by their contents, once they have the same type."""

FIXED: tuple[type, ...] = (
    type, types.FunctionType, types.ModuleType, Code, *DESCRIPTORS, np.ufunc, type(np.sum), Enum,
    np.random.Generator, np.random.RandomState, np.random.BitGenerator,
)  # fmt: skip
"""Types of objects that are compared by identity. What a function reads is a dependency, and draws
of generators are refused."""


def is_same(x: Any, y: Any) -> bool:
    """Tell whether two static arguments are the same value, or the same function; see NOTE [no user
    code is asked].
    """
    if x is y:
        return True
    kind = type(x)
    if kind is not type(y):
        return False
    if kind in PLAIN:
        return x == y
    key = key_of(x)
    return key is not None and key == key_of(y)


def key_of(x: Any) -> Any:
    """Return texts, numbers and tuples of these, equal for the same static argument.

    None stands for an object that may change.
    """
    kind = type(x)
    if kind in PLAIN:
        return kind.__name__, x
    if kind is float:
        return "float", struct.pack("d", x)  # zeros have signs
    if kind is complex:
        return "complex", struct.pack("2d", x.real, x.imag)
    if kind is tuple or kind is frozenset:  # equal sets may have other orders
        return _keys(kind.__name__, x)
    if kind is slice:
        return _keys("slice", (x.start, x.stop, x.step))
    if kind is range:
        return "range", x.start, x.stop, x.step
    if issubclass(kind, np.dtype):
        parts = [x.fields[name] for name in x.names or ()] or x.subdtype or ()
        form = x.str, x.itemsize, x.alignment, x.flags, x.names, x.shape
        return None if x.metadata else _keys("dtype", (*form, *parts))
    if issubclass(kind, np.generic):
        return None if x.dtype.hasobject else ("number", id(kind), repr(x.dtype), x.tobytes())
    if issubclass(kind, FIXED) or _is_ours(kind):
        return "object", id(x)
    if kind is types.BuiltinFunctionType:
        return _keys(x.__name__, (x.__self__,))
    if kind is types.MethodType:  # what it reads of its object is a dependency
        return "method", id(x.__func__), id(x.__self__)
    return None


def _keys(name: str, parts: Iterable[Any]) -> Any:
    keys = tuple([key_of(part) for part in parts])
    return None if None in keys else (name, *keys)


def _is_ours(kind: type) -> bool:
    """Return whether a class is one of functier."""
    module = sys.modules.get(kind.__module__)
    known = kind.__module__.partition(".")[0] == HERE
    return known and getattr(module, kind.__qualname__, None) is kind


# ---- objects that are trees ----


class Node:
    """An object among the arguments as a node of pytrees: its class, and what it has.

    Attributes
    ----------
    kind : type
    names : tuple of str
        The attributes.
    slots : int
        The number of these that are in slots; they come first.
    parts : list
        The values of the attributes.
    """

    __slots__ = ("kind", "names", "parts", "slots")

    def __init__(self, kind: type, names: tuple[str, ...], parts: list[Any], slots: int = 0):
        self.kind, self.names, self.parts, self.slots = kind, names, parts, slots

    def made(self) -> Any:
        """Return a new object."""
        parts = [closed(part) for part in self.parts]
        if self.kind is types.MethodType:
            return types.MethodType(*parts)
        if self.kind is functools.partial:
            func, args, keywords, space = parts
            made: Any = functools.partial(func, *args, **keywords)
            vars(made).update(space)
            return made
        made = object.__new__(self.kind)
        given = list(zip(self.names, parts))
        for name, part in given[: self.slots]:
            slots_of(self.kind)[name].__set__(made, part)
        if given[self.slots :]:
            space_of(self.kind).__get__(made).update(given[self.slots :])
        return made


register_pytree_node(
    Node,
    lambda node: (node.parts, (node.kind, node.names, node.slots), node.names),
    lambda aux, parts: Node(aux[0], aux[1], list(parts), aux[2]),
)


def node_of(x: Any) -> Node | None:
    """Return the node for an object that is a tree, as it is now; None for another one."""
    kind = type(x)
    if kind is functools.partial:
        return Node(kind, ("func", "args", "keywords", "__dict__"), [*_parts_of_partial(x)])
    if kind is types.MethodType:
        own = x.__self__
        if is_value(own) or node_of(own) or not optree.tree_is_leaf(own, namespace=NAMESPACE):
            return Node(kind, ("__func__", "__self__"), [x.__func__, own])
        return None
    if not any(["__dataclass_fields__" in vars(base) for base in kind.__mro__]) or is_value(x):
        return None
    if not optree.tree_is_leaf(x, namespace=NAMESPACE):
        return None  # it is registered
    members, home = slots_of(kind), space_of(kind)
    try:
        object.__new__(kind)  # fails for a class over one in C, which may have more inside
        own = [member.__get__(x) for member in members.values()]
    except (TypeError, AttributeError):
        return None
    space = home.__get__(x) if home is not None else {}
    if not all([type(name) is str for name in space]):
        return None
    return Node(kind, (*members, *space), [*own, *space.values()], len(members))


def _parts_of_partial(x: Any) -> tuple:
    return x.func, x.args, x.keywords, vars(x)


def opened(tree: Any, label: object = "functier") -> Any:
    """Return a pytree in which a `Node` stands for each object that is a tree."""
    return _opened(tree, label, ())


def _opened(tree: Any, label: object, outer: tuple[int, ...]) -> Any:
    leaves, structure = flatten(tree, label, "the arguments")
    nodes = [None if is_value(x) else node_of(x) for x in leaves]
    if not any(nodes):
        return tree
    if not {*outer}.isdisjoint([id(x) for x, node in zip(leaves, nodes) if node]):
        raise ValueError(
            f"{label}: an object among the arguments contains itself; pass objects without cycles"
        )
    for i, node in enumerate(nodes):
        if node is not None:
            inside = (*outer, id(leaves[i]))
            node.parts = [_opened(part, label, inside) for part in node.parts]
            leaves[i] = node
    return structure.unflatten(leaves)


def closed(tree: Any) -> Any:
    """Return a pytree with a new object for each `Node`."""
    return optree.tree_map(
        lambda x: x.made() if type(x) is Node else x, tree,
        is_leaf=lambda x: type(x) is Node, namespace=NAMESPACE,
    )  # fmt: skip


# ---- what a structure has besides leaves ----


def facts_of(structure: Any) -> tuple:
    """Return what a function may see of a pytree besides its leaves, as `key_of` has it.

    These are the keys of dicts in their order, and what classes of nodes keep. They are in the
    state of a structure, which pickles have.
    """
    if not isinstance(structure, optree.PyTreeSpec):  # that of an array, or of a dict of arrays
        keys = getattr(structure, "keys", None)
        return () if keys is None else _state_of(keys, True)
    found = []
    state: Any = structure.__getstate__()
    for _, _, kept, _, _, _, _, keys in state[0]:
        if keys is not None:
            found.append(_state_of(tuple(keys), True))
        if kept is not None:
            ours = _is_ours(type(kept))  # those of others are compared by `==`, too
            found.append(_of_module(kept) if ours else _state_of(kept, False))
    return tuple(found)


def _of_module(form: Any) -> tuple:
    """Return what a module has besides arrays; its structure keeps what cannot change."""
    if getattr(form, "facts", None) is None:
        values = form.static_values()
        changing = [x for x in values if may_change(x)]
        form.facts = tuple([may_change(x) or _state_of(x, True) for x in values]), changing
    fixed, changing = form.facts
    return fixed, *[_state_of(x, True) for x in changing]


def may_change(x: Any) -> bool:
    """Return whether `_state_of` looks into an object that may have other contents later."""
    if type(x) is tuple:
        return any(map(may_change, x))
    return type(x) in (list, dict) or (not is_value(x) and node_of(x) is not None)


def _state_of(x: Any, same: bool) -> Any:
    """Return the key of an object with the contents that it has now.

    An object that has none is known by its identity where `same`.
    """
    kind = type(x)
    if kind is list or kind is tuple:
        return kind.__name__, *[_state_of(part, same) for part in x]
    if kind is dict:
        return "dict", *[_state_of(part, same) for part in (*x, *x.values())]
    node = node_of(x)
    if node is not None:
        return "node", id(kind), node.names, *[_state_of(part, same) for part in node.parts]
    return key_of(x) or ("object", id(x) if same else 0)


# ---- refusals ----

WRITTEN: dict[type, str] = {
    set: "frozenset(x), which cannot change", bytearray: "bytes(x), which cannot change",
    memoryview: "numpy.asarray(x), its array", float: "float(x)", complex: "complex(x)",
    int: "int(x)", str: "str(x)", bytes: "bytes(x)",
}  # fmt: skip
"""The remedy for an object of a class, or of a subclass."""


def check_static(label: str, leaves: list[Any], dynamic: list[bool], paths: list[str]) -> None:
    """Raise where a leaf of the arguments is an object that may change between two calls."""
    for x, on, path in zip(leaves, dynamic, paths):
        if has_objects(x) if on else key_of(x) is None:
            raise TypeError(f"{label}: the argument {path} {what_to_write(x)}")


def has_objects(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.hasobject


def what_to_write(x: Any) -> str:
    """Return why an object cannot be an argument of a program, and what to write."""
    kind = type(x)
    name = kind.__name__
    if has_objects(x):
        return (
            "is an array of objects, which may change between two calls; write "
            "numpy.array(x, float) for numbers"
        )
    head = (
        f"is {'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}, which may change between two calls"
    )
    for base, text in WRITTEN.items():
        if issubclass(kind, base):
            return f"{head}; write {text}"
    if issubclass(kind, Iterator):
        return f"{head}; write list(x)"
    if hasattr(x, "__wrapped__"):
        return f"{head}; write x.__wrapped__, the function in it"
    if (text := instead_of(x)).endswith(", its array"):
        whole = f"{kind.__module__.partition('.')[0]}.{name}"
        return (
            f"is a {whole}, which may change between two calls; write {text.removeprefix('pass ')}"
        )
    rest = "pass a tuple of what the function reads of it, or let the function close over it"
    if kind.__module__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        return f"{head}; {rest}"
    return (
        f"{head}; write @dataclasses.dataclass above the class {name}, whose fields then are "
        f"arguments, or functier.register_pytree_node({name}, ...); or {rest}"
    )
