"""Pytrees: a fast path around `optree` for bare arrays, the registration of classes, and the
paths in messages."""

import dataclasses
import functools
import numbers
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from .border import code_for_array, is_convertible, name_of_kind
from .key_orders import NAMESPACE, entries_of, is_ordered, reordered, settled
from .numpy_facts import SCALARS, Function, PyTree, named
from .tensor import Tensor

CONTAINERS = frozenset({tuple, list, dict})


class Leaf:
    """The structure of a bare array, which is one object in each process."""

    def __reduce__(self) -> str:
        return "LEAF"

    def unflatten(self, leaves: list) -> Any:
        return leaves[0]


LEAF = Leaf()
"""The structure of a bare array."""

SNAPSHOTS: dict[type, Callable[[Any], Any]] = {}
"""The class of arrays that may be written to, and what stands for one in a pytree: its value at
that moment. `_mutation.array` adds it.
"""

T = TypeVar("T", bound=type)

tree_flatten: Callable[..., tuple[list, Any]] = optree.tree_flatten


def is_value(x: Any) -> bool:
    """Return whether `x` is an array, a tensor, a NumPy or a Python number, or a duck array."""
    kind = type(x)
    return (
        kind is np.ndarray
        or kind in SCALARS
        or isinstance(x, (Tensor, np.ndarray))
        or hasattr(x, "__array_ufunc__")
    )


class FlatDict:
    """The structure of a dict of arrays, as optree has it, at a third of the cost.

    Leaves are in the order of the sorted keys, as those of optree; the dict that `unflatten`
    returns has its keys in the original order.
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


def flatten(
    tree: PyTree, label: object = "functier", where: str = "a pytree"
) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a pytree; ``None`` is a node without leaves.

    An error names `label`, the transform, and `where`.
    """
    kind = type(tree)
    if kind is np.ndarray:
        return [tree], LEAF
    if kind not in CONTAINERS and is_value(tree):
        return [SNAPSHOTS[kind](tree) if kind in SNAPSHOTS else tree], LEAF
    if kind is tuple:
        for leaf in tree:
            if type(leaf) is not np.ndarray and not _is_tensor(leaf):
                break
        else:
            return list(tree), FlatTuple(len(tree))
    elif kind is dict:
        for leaf in tree.values():
            if type(leaf) is not np.ndarray and not _is_tensor(leaf):
                break
        else:
            try:
                ordered = sorted(tree)
                return [tree[key] for key in ordered], FlatDict(tuple(tree), ordered)
            except TypeError:  # keys of several kinds
                pass
    try:
        leaves, structure = tree_flatten(tree, is_ordered, namespace=NAMESPACE)
        if OrderedDict in map(type, leaves):
            leaves, structure = tree_flatten(reordered(tree), namespace=NAMESPACE)
        if not SNAPSHOTS.keys().isdisjoint(map(type, leaves)):
            leaves = [SNAPSHOTS[type(x)](x) if type(x) in SNAPSHOTS else x for x in leaves]
        return leaves, structure
    except RecursionError:
        for key, part in tree.items() if kind is dict else enumerate(tree):
            if kind in (tuple, dict) and _is_endless(part):
                where = f"{where}[{key!r}]"
                break
        raise ValueError(
            f"{label}: {where} contains itself, or is nested too deeply for a pytree; pass arrays, "
            f"or finite containers of these"
        ) from None


def parts_of(tree: PyTree) -> tuple[list[Any], Any]:
    """Return the leaves of a pytree as the objects that they are, and the structure for any."""
    return tree_flatten(settled(tree), namespace=NAMESPACE)


def _is_tensor(leaf: Any) -> bool:
    """True for a tensor that is its own snapshot."""
    return isinstance(leaf, Tensor) and type(leaf) not in SNAPSHOTS


def _is_endless(tree: PyTree) -> bool:
    try:
        tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError:
        return True
    return False


def unflatten(structure: Any, leaves: list) -> PyTree:
    """Return the pytree of a structure with these leaves."""
    return leaves[0] if structure is LEAF else structure.unflatten(leaves)


def like(sequence: Any, items: list) -> Any:
    """Return `items` in a sequence of the type of `sequence`: a list, a tuple or a namedtuple."""
    kind = type(sequence)
    return named(kind, items) if hasattr(kind, "_fields") else kind(items)


def differing(a: PyTree, b: PyTree) -> tuple[str, str] | None:
    """Return the structures of two pytrees as text, where these differ."""
    return None if same_structure(a, b) else (describe(a), describe(b))


def same_structure(a: PyTree, b: PyTree) -> bool:
    """Return whether two pytrees have the same structure, for any leaves."""
    return structure_of(a) == structure_of(b)


def structure_of(tree: PyTree) -> Any:
    """Return the structure of a pytree, as an object of optree."""
    return optree.tree_structure(settled(tree), namespace=NAMESPACE)


def prefix_leaves(
    prefix: PyTree,
    tree: PyTree,
    where: str,
    option: str,
    is_tuple: bool = False,
    entry: str = "int",
) -> list:
    """Return the entry of `prefix` for every leaf of `tree`: an int or ``None``."""
    if type(prefix) is int or prefix is None:  # whatever the order of keys is
        return [prefix] * optree.tree_structure(tree, namespace=NAMESPACE).num_leaves
    try:
        return entries_of(prefix, tree, lambda entry, subtree: entry)
    except (ValueError, TypeError):
        remedy = f"write one {entry}, or a tree that is a prefix of it"
        try:
            if is_tuple and entries_of((prefix,), tree, lambda entry, subtree: entry):
                remedy = f"write {option}={(prefix,)!r}, a tuple with an entry for each argument"
        except (ValueError, TypeError):
            pass
        raise ValueError(
            f"{where}: {option}={prefix!r} does not fit the structure of the "
            f"{'arguments' if is_tuple else 'result'}, {describe(tree)}; {remedy}"
        ) from None


def leaves_or_none(
    given: PyTree, structure: Any, n: int, like: Callable[[], PyTree]
) -> list | None:
    """Return the leaves of `given`, a pytree of `structure` in which None may replace parts.

    The structure has `n` leaves; those of a part that is None are None, too. Return None where
    `given` does not fit. ``like()`` makes a pytree of the structure.
    """
    leaves, own = flatten(given)
    if own == structure and len(leaves) == n:
        return leaves

    def take(entry: Any, subtree: Any) -> Any:
        if entry is None or optree.treespec_is_leaf(structure_of(subtree)):
            return entry
        raise ValueError("a leaf where the structure has a node")

    try:
        return entries_of(given, like(), take)
    except (ValueError, TypeError):
        return None


def paths(tree: PyTree, root: str) -> list[str]:
    """Return the path of every leaf in Python's notation: ``args[0]['W']``."""
    if is_value(tree):
        return [root]
    return [root + a.codify("") for a in optree.tree_accessors(settled(tree), namespace=NAMESPACE)]


def places(tree: PyTree, root: str, count: int) -> list[Any]:
    """Return objects whose texts are the paths, which are worked out where a message has them."""
    return [_Place(lambda i=i: paths(tree, root)[i]) for i in range(count)]


class _Place(functools.partial):
    __str__ = functools.partial.__call__  # type: ignore[assignment]  # it returns a str


def dotted_names(tree: PyTree) -> list[str]:
    """Return the path of every leaf with dots, as torch names parameters: ``layers.0.W``."""
    if is_value(tree):
        return [""]
    return [
        ".".join(str(entry.entry) for entry in a)
        for a in optree.tree_accessors(settled(tree), namespace=NAMESPACE)
    ]


def describe(tree: PyTree) -> str:
    """Return the structure of a pytree as text, with the dtype and shape of each leaf."""
    if is_value(tree):
        return f"an array of shape {np.shape(tree)}"
    try:
        return str(optree.tree_map(_Form, tree, namespace=NAMESPACE))
    except Exception:  # raised by a registered class that takes certain leaves only
        leaves = [_Form(x) for x in flatten(tree)[0]]
        return f"a {type(tree).__name__} with the leaves {leaves}"


def short_form(x: Any) -> str:
    """Return ``float64[3, 2]`` for an array, or the name of the type of a value."""
    known = hasattr(x, "shape") and hasattr(x, "dtype") and is_value(x)
    return f"{x.dtype}{list(x.shape)}" if known else name_of_kind(x)


class _Form:
    """A leaf in a message: ``float64[3, 2]``, or the name of its type."""

    def __init__(self, x: Any):
        self.text = short_form(x)

    def __repr__(self) -> str:
        return self.text


def instead_of(x: Any, verb: str = "pass") -> str:
    """Return what to write for a leaf `x` that is not an array."""
    kind, arrays = type(x), f"{verb} arrays or pytrees of arrays"
    if dataclasses.is_dataclass(kind):
        return f"{arrays}, which functier.register_dataclass({kind.__name__}) makes of this one"
    if is_convertible(x) and not isinstance(x, (str, bytes)):
        array = "x.detach().numpy()" if hasattr(kind, "detach") else "numpy.asarray(x)"
        return f"{verb} {array}, its array"
    known = code_for_array(x)
    if known is not None:
        return f"{verb} {known[1]}, its array"
    if kind.__module__ == "builtins" or callable(x):
        return arrays
    if isinstance(x, numbers.Number):
        return f"{verb} float(x)"
    return f"{arrays}; functier.register_pytree_node({kind.__name__}, ...) makes one of this class"


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
        The class; its subclasses are not registered.
    flatten : callable
        Takes an instance; returns ``(children, aux)``, an iterable of pytrees and the other
        parts of the instance, or ``(children, aux, names)`` with names of the children for
        messages. Two instances have the same structure if their ``aux`` are equal.
    unflatten : callable
        Takes ``(aux, children)`` and returns an instance. The children may be tensors, results
        of a function of the leaves and, in messages, other objects: it should convert and
        check nothing.

    Returns
    -------
    type
        `cls`.

    Raises
    ------
    TypeError
        If `cls` is not a class or one of the functions is not callable.
    ValueError
        If `cls` is already registered, or is one of Python's containers.

    See Also
    --------
    register_dataclass : the same for a dataclass, without functions.

    Notes
    -----
    Classes that are registered globally with optree (by its ``register_pytree_node`` with the
    global namespace, or its ``dataclasses``) are nodes here, too.

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
        raise TypeError(f"register_pytree_node: {cls!r} is not a class")
    for name, given in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(given):
            raise TypeError(
                f"register_pytree_node({cls.__name__}): {name} is a {type(given).__name__}, not a "
                f"function; write register_pytree_node(cls, flatten, unflatten)"
            )
    _register("register_pytree_node", cls, flatten, unflatten, _Child)
    return cls


class _Child(optree.PyTreeEntry):
    """A child of a registered class in a message: ``.name``, or its index."""

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
            f"{name}({cls.__name__}): the class is already a node of pytrees; register each class "
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
        takes except `meta_fields` and those with ``metadata={"static": True}``.
    meta_fields : sequence of str
        The fields that belong to the structure. Two instances have the same structure if these
        are equal, so their ``==`` should return a bool: they cannot be arrays.

    Returns
    -------
    type or decorator
        `cls`, so that it stands above ``@dataclass`` as a decorator.

    Raises
    ------
    TypeError
        If `cls` is not a dataclass.
    ValueError
        If a field of ``__init__`` is in neither or in both of them, the class does not have a field
        that they name, or `cls` is already a node.

    Notes
    -----
    `unflatten` calls `cls` with the fields, as in JAX. So ``__post_init__`` runs with tensors,
    and should convert and check nothing.

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
            f"register_dataclass: {cls!r} is not a dataclass; write @register_dataclass above "
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

    def split(x: Any) -> tuple:
        return [getattr(x, n) for n in data], tuple([getattr(x, n) for n in meta]), data

    def build(aux: tuple, children: Iterable) -> Any:
        return cls(**dict(zip(data, children)), **dict(zip(meta, aux)))

    _register("register_dataclass", cls, split, build, optree.GetAttrEntry)
    return cls


# ---- functions in messages ----


def check_callable(transform: str, func: object) -> None:
    """Raise where `func`, the argument of a transform, is not callable."""
    if not callable(func):
        raise TypeError(
            f"{transform}: func is a {type(func).__name__}, not a function; pass a function as "
            f"the first argument, f and not f(x)"
        )


def name_of_function(func: Function) -> str:
    """Return the name of a function in the labels of transforms."""
    name = getattr(func, "__name__", None) or type(func).__name__
    owner = getattr(func, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, type) else name
