"""The graph of a program: its nodes, in order, each a call of a NumPy function.

NOTE [three kinds of node]
    An *input* has no function. A *call* computes a value of others, and nothing else. An *effect*
    writes to a memory, or reads one at its time; its first argument is the node of the memory.
    Effects of one memory stay in their order.
"""

import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

ndarray = np.ndarray


class Form(NamedTuple):
    """The form of a value: a Python number has no dtype, and what is not an array no strides."""

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None
    kind: type


class Node:
    """One step of a program.

    Attributes
    ----------
    func : callable or None
        The function; None for an input.
    args, kwargs : tuple, dict
        What it is called with: nodes stand for their values, also inside tuples, lists and slices.
    form : Form, or a tuple of them
        The form of the result.
    place : tuple or None
        The code and the instruction of the user's line that computed it, and those of its caller.
    first : bool
        True for the first call of its function by one run of its line.
    memory : bool
        True for an effect, and for the making of a memory.
    kept : bool
        True for an effect outside of the program, such as a draw: it is never dropped.
    errors : tuple
        The settings of `numpy.errstate` around it that the function has made.
    """

    __slots__ = (
        "args", "errors", "first", "form", "func", "kept", "kwargs", "memory", "number", "place",
    )  # fmt: skip

    def __init__(
        self, func: Callable | None, args: tuple, kwargs: dict, form: Any, place: Any = None,
        memory: bool = False, kept: bool = False,
    ):  # fmt: skip
        self.func, self.args, self.kwargs, self.form = func, args, kwargs, form
        self.place, self.memory, self.kept = place, memory, kept
        self.errors: tuple = ()
        self.number = -1
        self.first = False

    def like(self, args: tuple = (), kwargs: dict | None = None) -> "Node":
        """Return a node of the same call, with other arguments."""
        given = kwargs or {}
        found = Node(self.func, args, given, self.form, self.place, self.memory, self.kept)
        found.errors, found.first = self.errors, self.first
        return found

    def itself(self) -> "Node":
        return self

    def parents(self) -> list["Node"]:
        """Return the nodes among the arguments."""
        found: list[Node] = []
        for x in self.args:
            kind = type(x)
            if kind is Node:
                found.append(x)
            elif kind in CONTAINERS:
                _collect((x,), found)
        if self.kwargs:
            _collect(self.kwargs.values(), found)
        return found

    @property
    def may_raise(self) -> bool:
        """True of a check, and where errors of arithmetic are an effect: code may catch them."""
        if getattr(self.func, "checks", False):
            return True
        return bool(self.errors) and not {how for _, how in self.errors} <= QUIET

    def __repr__(self) -> str:
        name = "input" if self.func is None else getattr(self.func, "__name__", repr(self.func))
        return f"<{self.number}: {name}>"


QUIET = frozenset({"ignore", "warn"})
"""The settings of `numpy.errstate` under which a call that nobody needs may be dropped."""

CONTAINERS = frozenset({tuple, list, slice, dict})
"""Types of arguments that nodes may be in."""


def nodes_in(value: Any) -> list[Node]:
    """Return the nodes in an argument, in tuples, lists, dicts and slices."""
    found: list[Node] = []
    _collect((value,), found)
    return found


def _collect(values: Iterable, found: list[Node]) -> None:
    for x in values:
        kind = type(x)
        if kind is Node:
            found.append(x)
        elif kind is tuple or kind is list:
            _collect(x, found)
        elif kind is slice:
            _collect((x.start, x.stop, x.step), found)
        elif kind is dict:
            _collect(x.values(), found)


def replace(
    value: Any, new: Callable[[Node], Any], whole: Callable[[list], Any] | None = None
) -> Any:
    """Return an argument with ``new(node)`` for each node in it.

    ``whole(values)`` may return what stands for a list; None is for its parts.
    """
    kind = type(value)
    if kind is Node:
        return new(value)
    if whole is not None and kind is list:
        found = whole(value)
        if found is not None:
            return found
    if kind is tuple or kind is list:
        return kind([
            new(x) if type(x) is Node else replace(x, new, whole) if type(x) in CONTAINERS else x
            for x in value
        ])  # fmt: skip
    if kind is slice:
        return slice(*[replace(part, new, whole) for part in (value.start, value.stop, value.step)])
    if kind is dict:
        return {name: replace(part, new, whole) for name, part in value.items()}
    return value


def instances_in(value: Any, kind: type) -> list[Any]:
    """Return the instances of a type in an argument, in tuples, lists, dicts and slices."""
    own = type(value)
    if own is kind:
        return [value]
    if own is slice:
        value = value.start, value.stop, value.step
    elif own is dict:
        value = value.values()
    elif own not in CONTAINERS:
        return []
    return [x for part in value for x in instances_in(part, kind)]


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return an argument with ``leaf(x)`` for each part of it that is not a container, in order."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([mapped(part, leaf) for part in value])
    if kind is slice:
        return slice(*[mapped(part, leaf) for part in (value.start, value.stop, value.step)])
    if kind is dict:
        return {name: mapped(part, leaf) for name, part in value.items()}
    return leaf(value)


def changed(value: Any, kind: type, new: Callable[[Any], Any]) -> Any:
    """Return an argument with ``new(x)`` for each instance of a type in it."""
    return mapped(value, lambda x: new(x) if type(x) is kind else x)


class Guard(NamedTuple):
    """An answer that Python code has got: the program holds as long as it is the same."""

    node: Node
    how: str
    answer: Any
    place: Any


class Graph:
    """The nodes of a program in order, its inputs, what it returns, and its guards.

    `reasons` says for places of the user's code why steps there have not become a loop.
    """

    def __init__(
        self, nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Any],
        guards: Sequence[Guard] = (),
    ):  # fmt: skip
        self.nodes, self.inputs = list(nodes), list(inputs)
        self.outputs, self.guards = list(outputs), list(guards)
        self.reasons: dict[Any, str] = {}
        self.renumber()

    def renumber(self) -> None:
        for number, node in enumerate(self.nodes):
            node.number = number

    def roots(self) -> list[Node]:
        """Return the nodes that have to be computed: those of outputs, guards and effects."""
        effects = [node for node in self.nodes if node.kept or node.may_raise]
        return [*nodes_in(self.outputs), *[guard.node for guard in self.guards], *effects]


SCALARS: frozenset[Any] = frozenset(
    {bool, int, float, complex, *np.sctypeDict.values()} - {np.object_}
)
"""The types of numbers, and of what else NumPy has scalars for."""

TRUTH = Form((), np.dtype(bool), None, np.bool_)
"""The form of what NumPy finds true or false."""

NUMBERS = {kind: Form((), None, None, kind) for kind in (bool, int, float, complex)} | {
    kind: Form((), np.dtype(kind), None, kind) for kind in (np.bool_, np.float64, np.complex128)
}
"""The forms of numbers of the commonest types."""


def form_of(value: Any) -> Any:
    """Return the form of a value; of a tuple or list that of each part."""
    kind = type(value)
    form = NUMBERS.get(kind)
    if form is not None:
        return form
    if kind is ndarray:
        return Form(value.shape, value.dtype, value.strides, ndarray)
    if kind is tuple or kind is list or hasattr(kind, "_fields"):
        return tuple([form_of(part) for part in value])
    if isinstance(value, (ndarray, np.generic)):
        return Form(value.shape, value.dtype, None, kind)
    return Form((), None, None, kind)


def mark_first(nodes: list[Node]) -> None:
    """Mark the first call of each function in each run of a line; the others are its derivatives.

    A line of a loop runs again where a call takes the result of the run before.
    """
    place, heads = None, {}  # type: ignore[var-annotated]
    for node in nodes:
        if node.place != place:
            place, heads = node.place, {}
        if place is not None:
            items = node.func is operator.getitem and type(node.args[1]) is int
            call = (node.func, node.args[1]) if items else node.func
            before = heads.get(call)
            if before is None or any([x is before for x in node.args]):
                node.first = True
                heads[call] = node


def exact(value: Any) -> Any:
    """Return something hashable that is equal for arguments of the same values, to the last bit.

    All tables that are looked up by a value of the program have such keys: 0.0, -0.0, 0 and False
    are equal, and a NaN is not equal to itself. Large arrays and objects are known by identity.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind, *[part if type(part) is Node else exact(part) for part in value])
    if kind is int or kind is str or value is None:
        return kind, value
    if kind is Node:
        return value
    if kind is slice:
        return slice, exact(value.start), exact(value.stop), exact(value.step)
    if kind is float:
        return kind, value if value and value == value else struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("2d", value.real, value.imag)
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if kind is ndarray:
        if value.size <= 64 and not value.dtype.hasobject:
            return kind, value.dtype, value.shape, value.strides, value.tobytes()
        return kind, id(value)
    if isinstance(value, tuple):
        return (kind, *map(exact, value))
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two constants, or answers, are the same to the last bit."""
    if a is b:
        return True
    if type(a) is ndarray is type(b) and not a.dtype.hasobject:
        return form_of(a) == form_of(b) and a.tobytes() == b.tobytes()
    return bool(exact(a) == exact(b))


def exact_answer(guard: Guard) -> Any:
    """Return the answer of a guard as something that is equal for equal ones."""
    answer = guard.answer
    if type(answer) is ndarray:
        answer = (form_of(answer), answer.tobytes()) if answer.ndim else answer.item()
    return answer if type(answer) in (bool, int) else exact(answer)
