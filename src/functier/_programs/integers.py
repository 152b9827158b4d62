"""Whole numbers of Python's among the arguments, and arrays from outside: which are inputs.

NOTE [whole numbers]
    A whole number among the arguments is part of the first program, as it may be a size, an axis or
    a power. Where a later call has another one, it is an input of the programs from then on, until
    a trace has asked for the number itself. As an input it is an operand of operators and ufuncs,
    and weak, as Python's numbers are. All else asks for its value, which is an answer then.

NOTE [arrays that change]
    The elements of a captured array are part of the first program where plain NumPy has computed
    with such arrays alone: a dear constant is computed once. If they change before the trace has
    paid, the array is an input from its first use on, wherever it is found in the same way.
"""

import operator
from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import Any

import numpy as np

from .._core.numpy_facts import UFUNC_OF
from .._core.tensor import Tensor
from .._cpython.code import names_of
from .dependencies import Watch
from .graph import Guard, Node
from .outside import Unwatched
from .program import Program

MOST = 64
"""The numbers of so many structures of arguments are known."""

EXACT = "__index__", "int", "round"
"""Questions whose answer is the number itself."""

QUESTIONS = frozenset({"type", "isinstance", "__class__", "int", "Integral"})
"""Names by which code asks for the type of a value; the last two also stand in ``case int():``."""

OPERANDS = {np.where: 3, np.reshape: 1}
"""Functions that are neither operators nor ufuncs: how many of their arguments are operands."""

LOADING = (
    "importlib inspect enum re weakref abc contextlib functools typing types zipimport "
    "_collections_abc"
).split()
OURS = {__name__.partition(".")[0], "numpy", "optree", *LOADING}
"""The homes of code that asks for other reasons, as modules do that are loaded."""


class Changing:
    """The integers among the arguments and the arrays from outside that are known to change."""

    def __init__(self) -> None:
        self.known: dict[Any, dict[int, Any]] = {}
        self.arrays, self.fixed = frozenset[tuple](), frozenset[tuple]()  # by the ways to them

    def add(self, ways: set[tuple]) -> None:
        """Note ways to an array that has changed, unless the function does not take it so."""
        self.arrays |= ways - self.fixed

    def traced(self, numbers: frozenset[int], record: Callable) -> Any:
        """Return a record with these inputs, or with fewer if the function does not take them."""
        none: frozenset = frozenset()
        for whole, arrays in product((numbers, none), (self.arrays, none)):
            if not (whole or arrays):
                break
            try:
                found = record(whole, arrays)
                if not whole or not asks_for_type(found.watch):
                    return found
                found.watch.reads.take_back()  # the next trace runs the function again
            except (Unwatched, Exception):  # as by a function that takes only Python's own numbers
                self.fixed |= arrays
                self.arrays -= arrays
        return record(none, none)

    def inputs(self, leaves: Sequence[Any], structure: Any) -> frozenset[int]:
        """Return the places of those that are inputs of the next program."""
        numbers = [i for i, x in enumerate(leaves) if type(x) is int]
        found: set[int] = set()
        if numbers:
            if len(self.known) > MOST:
                self.known = {}
            known = self.known.setdefault(structure, {})
            for i in numbers:
                before = known.setdefault(i, leaves[i])
                if before is not Asked and before != leaves[i]:
                    known[i] = Varies
                    if fits(leaves[i]):
                        found.add(i)
        return frozenset(found)

    def note(self, numbers: frozenset[int], structure: Any, program: Program) -> None:
        """Note which of these inputs are part of the program that was traced for them."""
        if numbers:
            graph: Any = program._graph
            whole = {guard.node for guard in graph.guards if guard.how in EXACT}
            places = [i for i, form in enumerate(program._forms) if form is not None]
            free = {i for i, node in zip(places, graph.inputs) if node not in whole}
            self.known.setdefault(structure, {}).update(dict.fromkeys(numbers - free, Asked))


class Varies:
    """Stands for a number that has had several values."""


class Asked:
    """Stands for a number that is part of each program."""


def fits(x: int) -> bool:
    """Return whether an int is one of NumPy's, which all that machine code and arrays take."""
    return -(2**63) <= x < 2**63


def asks_for_type(watch: Watch, since: int = 0) -> bool:
    """Tell if code that a trace has entered may ask if a value is an `int`, which no tensor is.

    Where it names a way to ask, whole numbers stay part of the program. What ran before `since` is
    not meant.
    """
    for code, names in watch.codes[since:]:
        home = names.get("__name__", "").partition(".")[0]
        if home not in OURS and not QUESTIONS.isdisjoint(names_of(code)):
            return True
    return False


def settled(level: Any, func: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call with the integers by which its result has its form.

    These are sizes, axes and other parameters. The form of a power depends on the sign of the
    exponent, and that of an array of a number on its size, where it is no input.
    """
    count = len(args) if isinstance(func, np.ufunc) and not kwargs else OPERANDS.get(func, 0)
    if func in UFUNC_OF:
        if func is operator.pow and all([kind_of(level, x) is int for x in args]):
            args = asked(level, args)
    elif count and all([kind_of(level, x) is int for x in args[:count]]):
        args = tuple(
            [x if i < count and is_input(level, x) else asked(level, x) for i, x in enumerate(args)]
        )
    elif func is operator.getitem and level.samples.open:
        args = asked(level, args, counts=True)
    else:
        args = args[:count] + asked(level, args[count:])
        kwargs = asked(level, kwargs)
    return args, kwargs


def is_input(level: Any, x: Any) -> bool:
    """Return whether a value is an argument of the program."""
    return type(x) is level.cls and x.parts()[1].func is None


def kind_of(level: Any, x: Any) -> type:
    """Return the type of a value, or of the value of a tensor."""
    return type(x.parts()[0]) if type(x) is level.cls else type(x)


def asked(level: Any, x: Any, counts: bool = False, carried: bool = True) -> Any:
    """Return an argument with each integer of Python's in it as itself, and guarded.

    With `counts` those stay that grow with the counter of a loop; or with a number that a step
    carries, but in slices, whose length may differ then.
    """
    kind = type(x)
    if kind is level.cls:
        if kind_of(level, x) is not int:
            return x
        if counts and level.samples.is_moving(x, carried):
            return x
        return number(level, x)
    if kind is tuple or kind is list:
        return kind([asked(level, part, counts, carried) for part in x])
    if kind is dict:
        return {name: asked(level, part) for name, part in x.items()}
    if kind is slice:
        return slice(*[asked(level, part, counts, False) for part in (x.start, x.stop, x.step)])
    return x


def grows(
    node: Any, counters: Collection, known: dict[Node, tuple[int, int] | None] | None = None
) -> tuple[int, int] | None:
    """Return factor and summand of an integer that grows with a counter of loops.

    `known` has what was found for other nodes: a value may be used many times.
    """
    if type(node) is int:
        return 0, node
    if type(node) is not Node:
        return None
    if node in counters:
        return 1, 0
    if node.func not in AFFINE:
        return None
    known = {} if known is None else known
    if node not in known:
        parts = [grows(x, counters, known) for x in node.args]
        known[node] = None if None in parts else AFFINE[node.func](*parts)
    return known[node]


AFFINE: dict[Any, Any] = {
    operator.neg: lambda x: (-x[0], -x[1]),
    operator.add: lambda x, y: (x[0] + y[0], x[1] + y[1]),
    operator.sub: lambda x, y: (x[0] - y[0], x[1] - y[1]),
    operator.mul: lambda x, y: None if x[0] and y[0] else (x[0] * y[1] + y[0] * x[1], x[1] * y[1]),
}
"""The operators that keep a number growing, with factor and summand of the result."""


def number(level: Any, x: Tensor) -> int:
    """Return the value of an integer, which the program is for."""
    value, node = x.parts()
    level.answers.append(Guard(node, "__index__", value, level.where_now()))
    return value
