"""Steps of a loop, while it is found: which are alike, and how their arguments differ."""

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from .._cpython.code import beginning_of, key_of
from .graph import Node, exact, exact_answer, form_of, mapped, same_bits
from .literals import is_weak
from .loops import Count, Loop, Table, is_loop, parts_of_count
from .stores import memory_of

ndarray = np.ndarray

FLAT = object()
LEAVES = frozenset({Node, int, float, ndarray, Count, Table})


def flatten(value: Any, leaves: list, inner: bool = False) -> Any:
    """Add the leaves of an argument to a list, and return what is around them.

    The nodes of the body of a loop are known by their numbers, and not leaves.
    """
    kind = type(value)
    if kind is Node and inner:
        return Node, value.number
    if kind in LEAVES:
        leaves.append(value)
        return FLAT
    if kind is tuple or kind is list:
        return (kind, *[flatten(part, leaves, inner) for part in value])
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return (slice, *[flatten(part, leaves, inner) for part in parts])
    if kind is dict:
        return (dict, *[(name, flatten(part, leaves, inner)) for name, part in value.items()])
    if kind is complex or isinstance(value, np.generic):
        leaves.append(value)
        return FLAT
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value


def facts_of_node(node: Node) -> tuple:
    """Return what is the same in nodes that are alike, besides functions and arguments."""
    window: Any = ()
    if node.memory and len(node.args) > 1 and type(node.args[1]) is tuple:
        window = node.args[1][1:]  # only the place of an effect may move
    place = key_of(beginning_of(node.place))
    return node.form, place, node.errors, node.memory, node.kept, window


def kind_of_loop(loop: Loop, leaves: list) -> Any:
    """Add the constants in a loop to a list of leaves, and return what is around them."""
    leaves += loop.reads
    found = []
    for node in loop.body.nodes:
        if node.func is None:
            found.append(node.form)
            continue
        func: Any = node.func
        around = flatten((node.args, node.kwargs), leaves, True)
        if type(func) is Loop:
            func = kind_of_loop(func, leaves)
        found.append((func, around, *facts_of_node(node)))
    asked = [(guard.node.number, guard.how, exact_answer(guard)) for guard in loop.body.guards]
    outputs = flatten(tuple(loop.body.outputs), leaves, True)
    facts = loop.count, loop.ends, loop.carried, loop.lasts
    return Loop, facts, tuple(found), tuple(asked), outputs


def filled(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return an argument with ``leaf(x)`` for each leaf, in the order of `flatten`."""

    def of(x: Any) -> Any:
        kind = type(x)
        return leaf(x) if kind in LEAVES or kind is complex or isinstance(x, np.generic) else x

    return mapped(value, of)


FLOAT = form_of(np.float64(0))

WHOLE = frozenset({int, Count})
"""The types of integers that may grow."""

DELAYS = 4
"""A step takes values of so many steps before it at most."""


class Inside(NamedTuple):
    """A value of the step itself: the number of its node in the body."""

    place: int


class Carried(NamedTuple):
    """A value of a step before: the node's number in the body, and what the first steps take."""

    place: int
    first: tuple


class Always(NamedTuple):
    """A value that all steps take."""

    value: Any


class Made(NamedTuple):
    """Values that steps of an earlier loop have made: of which run and node, and the step of each.

    With a first value it is what a step has got from the step before.
    """

    run: "Run"
    place: Any
    read: Count


class Grows(NamedTuple):
    """An integer that grows by a fixed number."""

    by: Count


class Listed(NamedTuple):
    """A constant for each step."""

    values: list


class Joined(NamedTuple):
    """A table for each step, of a loop in it: they become one, of whose parts each step has one."""

    table: Table


class Run:
    """Nodes one behind the other that are steps of a loop.

    Attributes
    ----------
    start, period, count : int
        The number of the first node, that of the nodes of a step, and that of the steps.
    columns : list of list
        For each node of a step, how its arguments differ from step to step.
    """

    def __init__(self, start: int, period: int, count: int, columns: list[list]):
        self.start, self.period, self.count, self.columns = start, period, count, columns

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count

    @property
    def saved(self) -> int:
        """The number of nodes that the loop saves, if no single values of it are needed."""
        return self.period * (self.count - 1)

    def begins(self, place: int) -> list[Any]:
        """Return the values before the loop that steps take for one of the step before."""
        return [
            how.first[-1] for column in self.columns for how in column
            if type(how) is Carried and how.place == place
        ]  # fmt: skip

    def delays(self) -> dict[int, int]:
        """Return how many steps before its own the last one is that takes a value."""
        found: dict[int, int] = {}
        for column in self.columns:
            for how in column:
                if type(how) is Carried:
                    found[how.place] = max(found.get(how.place, 1), len(how.first))
        return found

    def crossings(self) -> list[int]:
        """Return how many values are needed later, before each node of a step."""
        ends: dict[int, int] = {}
        for q, column in enumerate(self.columns):
            for how in column:
                if type(how) is Inside or type(how) is Carried:
                    delay = len(how.first) if type(how) is Carried else 0
                    ends[how.place] = max(ends.get(how.place, 0), q + delay * self.period)
        period = self.period
        found = [0] * period
        for place, end in ends.items():
            rounds, left = divmod(end - place, period)
            for r in range(period) if rounds else ():
                found[r] += rounds
            for t in range(place + 1, place + left + 1):
                found[t % period] += 1
        return found


class Place(NamedTuple):
    """A node of steps: its number in them, that of the first node, and how many there are.

    `nodes` are those of the program, and `homes` has the run, place and step of each in one.
    """

    number: int
    start: int
    period: int
    nodes: list[Node]
    homes: dict[Node, tuple[Run, int, int]]


def relation(column: tuple, place: Place) -> tuple[Any, int]:
    """Return how an argument differs from step to step, and for how many steps that holds.

    A text says why steps are not a loop.
    """
    second = column[1]
    if type(second) is Node:
        return relation_of_nodes(column, place)
    count = len(column)
    if type(second) in WHOLE:
        length = count
        if not WHOLE.issuperset(map(type, column)):
            length = [type(x) in WHOLE for x in column].index(False)
        return progression(column[:length]) if length > 1 else ("an argument is of another type", 1)
    if type(second) is Table:
        return relation_of_tables(column)
    alike = 1
    while alike < count and same_bits(column[alike], column[0]):
        alike += 1
    if alike == count:
        return Always(second), count
    kind = type(second)
    form = form_of(second)
    length = 0
    while length < count and type(column[length]) is kind and form_of(column[length]) == form:
        length += 1
    return Listed(list(column[:length])), length


def relation_of_tables(column: tuple) -> tuple[Any, int]:
    """Return how the constants of the steps of an inner loop differ from step to step."""
    first = [exact(x) for x in column[0].values]
    if all([x is column[0] or [*map(exact, x.values)] == first for x in column]):
        return Always(column[0]), len(column)
    forms = [form_of(x) for x in column[0].values]
    length = 0
    while length < len(column) and [*map(form_of, column[length].values)] == forms:
        length += 1
    return Joined(Table([x for each in column[:length] for x in each.values])), length


def is_memory(x: Any) -> bool:
    return type(x) is Node and x.func is memory_of


def relation_of_nodes(column: tuple, own: Place) -> tuple[Any, int]:
    """Return how a value that other nodes compute differs from step to step."""
    q, i, period, nodes, homes = own
    count = len(column)
    first, second = column[:2]
    if is_loop(second) and not inside(second, i + period):
        return "a step takes the results of another loop as a whole", 1
    if is_memory(second) and second is not first and not inside(second, i + period):
        return "a step takes the memory that another one has made", 1
    if second is column[2]:
        if first is not second or second.number >= i:
            return "the first step takes another value", 1
        return Always(second), alike(column, repeat(second))
    late = 1
    while late < min(DELAYS, count - 1) and not inside(column[late], i):
        late += 1
    if inside(column[late], i):
        distance = column[late].number - i - late * period
        base = i + distance
        delay = -(distance // period) if distance < 0 else 0
        if delay > DELAYS or delay >= count:
            return f"a step takes a value of more than {DELAYS} steps before", 1
        form = nodes[base + delay * period].form
        begin = [first_value(x, form, nodes[i + q]) for x in column[:delay]]
        if any([x is None or inside(x, i) for x in begin]):
            return "it begins with a value of another form", 1
        others = nodes[base + delay * period : base + count * period : period]
        length = delay + alike(column[delay:], others)
        place = distance + delay * period
        return Carried(place, tuple(begin)) if delay else Inside(place), length
    found = [homes.get(x) if type(x) is Node else None for x in column[:2]]
    if None in found:
        return "each step takes another value from outside of the loop", 1
    (run, place, k0), (other, its, k1) = found  # type: ignore[misc]
    if run is not other or place != its:
        return "steps take values of different loops", 1
    step, length = k1 - k0, 2
    start, size = run.start + place, run.period
    while length < count:
        k = k0 + step * length
        if not 0 <= k < run.count or column[length] is not nodes[start + k * size]:
            break
        length += 1
    if length < count and k0 + step * length == -1 and k0 < run.count - 1:
        # What the loop has begun with.
        if any([column[length] is x for x in run.begins(place)]):
            first = column[length]
            return Made(run, (place, first), Count(k0 + 1, step)), length + 1
    return Made(run, place, Count(k0, step)), length


def alike(column: Sequence, others: Iterable) -> int:
    """Return how many values of steps are these others, from the first one on."""
    same = [*map(operator.is_, column, others)]
    return len(column) if all(same) else same.index(False)


# ---- constants, and values before a loop ----


def progression(column: Sequence) -> tuple[Any, int]:
    """Return how integers grow, for as many steps as they do so."""
    if column.count(column[0]) == len(column):
        return Always(column[0]), len(column)
    starts, steps = zip(*map(parts_of_count, column))
    if steps[1] != steps[0]:
        return "an integer does not grow by the same amount in each step", 1
    step, length = starts[1] - starts[0], 2
    while length < len(column) and steps[length] == steps[0]:
        if starts[length] - starts[length - 1] != step:
            break
        length += 1
    return (Grows(Count(starts[0], step)) if step else Always(column[0])), length


def grown(x: Any, by: Count, depth: int) -> Count:
    """Return a number that is in `depth` loops, and grows with the steps of one around these."""
    if depth == 0:
        return by
    start, step = x if type(x) is Count else (x, 0)
    return Count(grown(start, by, depth - 1), step)


def inside(x: Any, i: int) -> bool:
    return type(x) is Node and x.number >= i


def first_value(x: Any, form: Any, node: Node) -> Any:
    """Return what a loop begins with, in the form of what it carries, or None.

    A number of Python's is one of NumPy's where the call gives the same bits for it.
    """
    if type(x) is Node:
        return x if x.form == form else None
    if form_of(x) == form:
        return x
    if form != FLOAT or type(x) not in (int, float) or abs(x) > 2**53:
        return None
    return np.float64(x) if is_weak(node.func) and not node.kwargs else None
