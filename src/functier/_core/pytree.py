"""Pytrees are `optree`'s; here are the fast path for bare arrays, the registration of
classes, and the error paths.

NOTE [one namespace]
    Nodes are registered in the namespace `functier` of optree, which every call here names;
    what is registered with optree globally is found there, too.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from .numpy_facts import SCALARS
from .tensor import Tensor

CONTAINERS = frozenset({tuple, list, dict})
LEAF = object()
"""The structure of a bare array."""

NAMESPACE = "functier"

T = TypeVar("T", bound=type)

tree_flatten: Callable[..., tuple[list, Any]] = optree.tree_flatten


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


def flatten(tree: Any, label: Any = "functier", where: str = "a pytree") -> tuple[list, Any]:
    """Leaves and structure; ``None`` is a node without leaves.

    `label`, the transform, and `where` are what an error names.
    """
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
                return [tree[key] for key in ordered], FlatDict(tuple(tree), ordered)
            except TypeError:  # keys of several kinds
                pass
    try:
        return tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError:
        for key, part in tree.items() if kind is dict else enumerate(tree):
            if kind in (tuple, dict) and _endless(part):
                where = f"{where}[{key!r}]"
                break
        raise ValueError(
            f"{label}: {where} contains itself, or is nested too deeply for a pytree; pass arrays, "
            f"or containers of these that end"
        ) from None


def _endless(tree: Any) -> bool:
    try:
        tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError:
        return True
    return False


def unflatten(structure: Any, leaves: list) -> Any:
    return leaves[0] if structure is LEAF else structure.unflatten(leaves)


def like(sequence: Any, items: list) -> Any:
    """`items` in a sequence of the type of another: a list, a tuple or a namedtuple."""
    kind = type(sequence)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def same_structure(a: Any, b: Any) -> bool:
    """Whether two trees have one structure, whatever their leaves are."""
    return structure_of(a) == structure_of(b)


def structure_of(tree: Any) -> Any:
    return optree.tree_structure(tree, namespace=NAMESPACE)


def prefix_leaves(
    prefix: Any, tree: Any, where: str, option: str, is_tuple: bool = False, entry: str = "int"
) -> list:
    """The entry of `prefix` for every leaf of `tree`: ``None`` or an int each."""
    entries: list = []

    def add(entry: Any, subtree: Any) -> None:
        entries.extend([entry] * structure_of(subtree).num_leaves)

    try:  # None is an entry in `prefix`, and in `tree` no leaf: broadcast_prefix knows one of both
        optree.tree_map_(add, prefix, tree, is_leaf=_is_none, namespace=NAMESPACE)
        return entries
    except (ValueError, TypeError):
        raise ValueError(
            f"{where}: {option}={prefix!r} does not fit the structure of the "
            f"{'arguments' if is_tuple else 'result'}, {describe(tree)}; write one {entry}, "
            f"or a tree that is a prefix of it"
        ) from None


def leaves_or_none(given: Any, structure: Any, n: int, like: Callable[[], Any]) -> list | None:
    """The leaves of `given`, of a structure with `n` leaves, in which None may stand for parts.

    A part's leaves are None then. The result is None where `given` does not fit; ``like()``
    is a tree of the structure.
    """
    leaves, own = flatten(given)
    if own == structure and len(leaves) == n:
        return leaves
    found: list = []

    def add(entry: Any, subtree: Any) -> None:
        if entry is None:
            found.extend([None] * structure_of(subtree).num_leaves)
        elif optree.treespec_is_leaf(structure_of(subtree)):
            found.append(entry)
        else:
            raise ValueError("a leaf in the place of a node")

    try:
        optree.tree_map_(add, given, like(), is_leaf=_is_none, namespace=NAMESPACE)
    except (ValueError, TypeError):
        return None
    return found


def _is_none(x: Any) -> bool:
    return x is None


def paths(tree: Any, root: str) -> list[str]:
    """The path of every leaf as Python writes it: ``args[0]['W']``."""
    if is_value(tree):
        return [root]
    return [root + a.codify("") for a in optree.tree_accessors(tree, namespace=NAMESPACE)]


def dotted_names(tree: Any) -> list[str]:
    """The path of every leaf with dots, as torch names parameters: ``layers.0.W``."""
    if is_value(tree):
        return [""]
    return [
        ".".join(str(entry.entry) for entry in a)
        for a in optree.tree_accessors(tree, namespace=NAMESPACE)
    ]


def describe(tree: Any) -> str:
    """The structure of `tree` with a shape in each leaf's place."""
    if is_value(tree):
        return f"an array of shape {np.shape(tree)}"
    try:
        return str(optree.tree_map(_Form, tree, namespace=NAMESPACE))
    except Exception:  # of a registered class that takes its own kind of leaves only
        leaves = [_Form(x) for x in flatten(tree)[0]]
        return f"a {type(tree).__name__} with the leaves {leaves}"


class _Form:
    """A leaf in a message: ``float64[3, 2]``, or the name of its type."""

    def __init__(self, x: Any):
        self.text = f"{x.dtype}{list(x.shape)}" if hasattr(x, "shape") else type(x).__name__

    def __repr__(self) -> str:
        return self.text


def instead_of(x: Any, verb: str = "pass") -> str:
    """What a message proposes for a leaf `x` that is no array."""
    kind, arrays = type(x), f"{verb} arrays or pytrees of arrays"
    if dataclasses.is_dataclass(kind):
        return f"{arrays}, which functier.register_dataclass({kind.__name__}) makes of this one"
    if kind.__module__ == "builtins" or callable(x):
        return arrays
    return f"{arrays}; functier.register_pytree_node({kind.__name__}, ...) makes such of a class"


# ---- classes that are nodes ----


def register_pytree_node(
    cls: T,
    flatten: Callable[[Any], tuple],
    unflatten: Callable[[Any, Iterable], Any],
) -> T:
    """Make the instances of a class nodes of pytrees, for every transform.

    Parameters
    ----------
    cls : type
        The class, that one alone and not its subclasses.
    flatten : callable
        Takes an instance; returns ``(children, aux)``, an iterable of pytrees and whatever
        else an instance consists of, or ``(children, aux, names)`` with what messages call
        the children. Two instances have one structure if their ``aux`` are equal.
    unflatten : callable
        Takes ``(aux, children)`` and returns an instance. It is called with tensors, with
        whatever a function makes of the leaves, and in messages with other objects: it
        should convert and check nothing.

    Returns
    -------
    type
        `cls`.

    Raises
    ------
    TypeError
        Where `cls` is no class or one of the functions is none.
    ValueError
        Where `cls` is registered already, or is one of Python's own containers.

    See Also
    --------
    register_dataclass : the same for a dataclass, without functions.

    Notes
    -----
    What is registered globally with optree (its ``register_pytree_node`` with the global
    namespace, its ``dataclasses``) is a node here, too.

    Examples
    --------
    >>> class Line:
    ...     def __init__(self, slope, start):
    ...         self.slope, self.start = slope, start
    >>> register_pytree_node(
    ...     Line, lambda a: ((a.slope, a.start), None), lambda _, children: Line(*children)
    ... ).__name__
    'Line'
    >>> import functier
    >>> float(functier.grad(lambda a: a.slope * 2.0 + a.start)(Line(3.0, 1.0)).slope)
    2.0
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree_node: {cls!r} is no class")
    for name, given in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(given):
            raise TypeError(
                f"register_pytree_node({cls.__name__}): {name} is a {type(given).__name__}, not a "
                f"function; write register_pytree_node(cls, flatten, unflatten)"
            )
    _register("register_pytree_node", cls, flatten, unflatten, _Child)
    return cls


class _Child(optree.PyTreeEntry):
    """A child of a registered class in a message: ``.name``, or its number."""

    def codify(self, node: str = "") -> str:
        named = isinstance(self.entry, str)
        return f"{node}.{self.entry}" if named else f"{node}[{self.entry!r}]"


def _register(
    name: str, cls: type, flatten: Callable, unflatten: Callable, entry: type[Any]
) -> None:
    try:
        optree.register_pytree_node(
            cls, flatten, unflatten, path_entry_type=entry, namespace=NAMESPACE
        )
    except ValueError as error:
        raise ValueError(
            f"{name}({cls.__name__}): the class is a node of pytrees already; register each class "
            f"once"
        ) from error


def register_dataclass(
    cls: Any = None, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] = ()
) -> Any:
    """Make the instances of a dataclass nodes of pytrees, for every transform.

    Parameters
    ----------
    cls : type, optional
        The dataclass. Without it the result is a decorator.
    data_fields : sequence of str, optional
        The fields that are children: arrays or pytrees. By default all that ``__init__``
        takes but `meta_fields` and those with ``metadata={"static": True}``.
    meta_fields : sequence of str
        The fields that belong to the structure. Two instances have one structure if these
        are equal, so they should be things with a plain ``==``: no arrays.

    Returns
    -------
    type or decorator
        `cls`, so that it stands above ``@dataclass`` as a decorator.

    Raises
    ------
    TypeError
        Where `cls` is no dataclass.
    ValueError
        Where a field is in none of both, in both or not there at all, or `cls` is a node
        already.

    Notes
    -----
    A node is built again by calling `cls` with its fields, as in JAX. So ``__post_init__``
    runs with tensors, and should convert and check nothing.

    Examples
    --------
    >>> import numpy as np
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: np.ndarray
    ...     power: int = dataclasses.field(default=2, metadata={"static": True})
    >>> import functier
    >>> functier.grad(lambda p: np.sum(p.weight**p.power))(Layer(np.array([1.0, 2.0])))
    Layer(weight=array([2., 4.]), power=2)
    """
    if cls is None:
        return functools.partial(
            register_dataclass, data_fields=data_fields, meta_fields=meta_fields
        )
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        raise TypeError(
            f"register_dataclass: {cls!r} is no dataclass; write @register_dataclass above "
            f"@dataclass, or use register_pytree_node for another class"
        )
    label = f"register_dataclass({cls.__name__})"
    for option, given in (("data_fields", data_fields), ("meta_fields", meta_fields)):
        if isinstance(given, str):
            raise ValueError(f"{label}: {option}={given!r} is one str; write [{given!r}]")
    fields = {f.name: f for f in dataclasses.fields(cls)}
    needed = [name for name, f in fields.items() if f.init]
    meta = tuple(meta_fields)
    if data_fields is None:
        meta += tuple(n for n in needed if fields[n].metadata.get("static") and n not in meta)
        data = tuple(name for name in needed if name not in meta)
    else:
        data = tuple(data_fields)
    both = (*data, *meta)
    wrong = [n for n in both if n not in needed or both.count(n) > 1]
    wrong += [n for n in needed if n not in both]
    if wrong:
        raise ValueError(
            f"{label}: the field {wrong[0]!r} has to be one that __init__ takes, in data_fields "
            f"or in meta_fields, and once; the class has {needed}, got data_fields={list(data)} "
            f"and meta_fields={list(meta)}"
        )

    def parts(x: Any) -> tuple:
        return [getattr(x, n) for n in data], tuple([getattr(x, n) for n in meta]), data

    def built(aux: tuple, children: Iterable) -> Any:
        return cls(**dict(zip(data, children)), **dict(zip(meta, aux)))

    _register("register_dataclass", cls, parts, built, optree.GetAttrEntry)
    return cls


# ---- functions in messages ----


def check_callable(transform: str, func: Any) -> None:
    if not callable(func):
        raise TypeError(
            f"{transform}: func is a {type(func).__name__}, not a function; pass a function as "
            f"the first argument"
        )


def name_of_function(func: Callable) -> str:
    name = getattr(func, "__name__", None) or type(func).__name__
    owner = getattr(func, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, type) else name
