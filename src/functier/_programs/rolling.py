"""Finding the loops of a program: steps that repeat become one body.

NOTE [the same calls in the same order]
    A loop stands where its steps stood, one right behind the other, and makes their calls in their
    order. So a program keeps its bits and its effects, whatever the steps do.

NOTE [a step like the one before]
    Two steps are alike if their nodes are: the functions, the forms and the lines. Their arguments
    may differ in four ways. A value comes from the step itself, or from one that is a fixed number
    of steps before. All steps take the same value. Each takes the value that a step of an earlier
    loop has made, in order or in reverse. A whole number grows by a fixed number, and other
    constants are listed. Where a step differs in another way the loop ends, and another one may
    begin.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .costs import bytes_of
from .dead import live_in
from .graph import Graph, Guard, Node, form_of, nodes_in, replace
from .literals import is_weak
from .loops import Count, Loop, is_loop

ndarray = np.ndarray

FEWEST = 3
"""So many steps at least are a loop."""

TRIES = 8
"""So many lengths of a step are tried at a place."""

PEELED = 4
"""So many steps less one may stand before a loop, as they differ."""

WORTH = 4
"""So many nodes less make a loop worth it."""

FLOAT = form_of(np.float64(0))

DELAYS = 4
"""A step takes values of so many steps before it at most."""

SMALL = 1 << 12
"""Values of up to so many bytes are kept for all steps, also if few are needed."""

FLAT = object()
LEAVES = frozenset({Node, int, float, ndarray, Count})


# ---- arguments as lists ----


def flatten(value: Any, leaves: list, inner: bool = False) -> Any:
    """Add the leaves of an argument to a list, and return what is around them.

    The nodes of the body of a loop are no leaves: they are known by their numbers.
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
        found.append((func, around, node.form, node.place, node.errors, node.memory, node.kept))
    asked = [(guard.node.number, guard.how, repr(guard.answer)) for guard in loop.body.guards]
    outputs = flatten(tuple(loop.body.outputs), leaves, True)
    return Loop, loop.count, loop.carried, loop.lasts, tuple(found), tuple(asked), outputs


def filled(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return an argument with ``leaf(x)`` for each leaf, in the order of `flatten`."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([filled(part, leaf) for part in value])
    if kind is slice:
        return slice(*[filled(part, leaf) for part in (value.start, value.stop, value.step)])
    if kind is dict:
        return {name: filled(part, leaf) for name, part in value.items()}
    if kind in LEAVES or kind is complex or isinstance(value, np.generic):
        return leaf(value)
    return value


def same_bits(a: Any, b: Any) -> bool:
    """Tell if two constants are the same to the last bit."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is ndarray:
        if form_of(a) != form_of(b):
            return False
        return a.size == 0 or (not a.dtype.hasobject and a.tobytes() == b.tobytes())
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return repr(a) == repr(b) if type(a) in (float, complex) else a == b


def progression(column: Sequence) -> tuple[Any, int]:
    """Return how whole numbers grow, for as many steps as they do so."""
    starts, steps = zip(*map(parts_of_count, column))
    if steps[1] != steps[0]:
        return None, 1
    step, length = starts[1] - starts[0], 2
    while length < len(column) and steps[length] == steps[0]:
        if starts[length] - starts[length - 1] != step:
            break
        length += 1
    return (Grows(Count(starts[0], step)) if step else Always(column[0])), length


def parts_of_count(x: Any) -> tuple[int, tuple[int, ...]]:
    """Return a number at the beginning of all loops that it is in, and its steps there."""
    steps = []
    while type(x) is Count:
        steps.append(x.step)
        x = x.start
    return x, tuple(steps)


def grown(x: Any, by: Count, depth: int) -> Count:
    """Return a number that is in `depth` loops, and grows with the steps of one around these."""
    if depth == 0:
        return by
    start, step = x if type(x) is Count else (x, 0)
    return Count(grown(start, by, depth - 1), step)


# ---- how steps differ ----


class Inside(NamedTuple):
    """A value of the step itself: the number of its node in the body."""

    place: int


class Carried(NamedTuple):
    """A value of a step before: the node's number in the body, and what the first steps take."""

    place: int
    first: tuple


class Always(NamedTuple):
    """What all steps take."""

    value: Any


class Made(NamedTuple):
    """What steps of an earlier loop have made: which one, of which node, and the step of each.

    With a first value it is what a step has got from the step before.
    """

    run: "Run"
    place: Any
    read: Count


class Grows(NamedTuple):
    """A whole number that grows by a fixed number."""

    by: Count


class Listed(NamedTuple):
    """A constant for each step."""

    values: list


class Run:
    """Nodes one behind the other that are steps of a loop.

    Attributes
    ----------
    start, period, count : int
        The number of the first node, that of the nodes of a step, and that of the steps.
    columns : list of list
        For each node of a step, how its arguments differ from step to step.
    kept : dict of int to None
        The nodes of a step of which later nodes take the values of several steps.
    """

    def __init__(self, start: int, period: int, count: int, columns: list[list]):
        self.start, self.period, self.count, self.columns = start, period, count, columns
        self.kept: dict[int, None] = {}
        self.lasts: dict[int, None] = {}

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count

    def begins(self, place: int) -> list[Any]:
        """Return the values before the loop that steps take for one of the step before."""
        return [
            how.first[-1] for column in self.columns for how in column
            if type(how) is Carried and how.place == place
        ]  # fmt: skip

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


class Finder:
    """The loops of a graph."""

    def __init__(self, graph: Graph, banned: set[tuple[int, int]]):
        self.graph, self.banned = graph, banned
        self.live = live_in(graph)
        self.nodes = graph.nodes
        self.guards: dict[Node, list[Guard]] = {}
        for guard in graph.guards:
            self.guards.setdefault(guard.node, []).append(guard)
        self.leaves: list[list] = []
        self.kinds = self.kinds_of_nodes()
        self.leave_out()
        self.runs: list[Run] = []
        self.homes: dict[Node, tuple[Run, int, int]] = {}  # the run, place and step of a node
        self.ends: dict[int, int] = {}
        self.last_use = self.last_uses()
        self.find()

    def kinds_of_nodes(self) -> list[int]:
        """Return a number for each node, which is that of nodes like it."""
        known: dict[Any, int] = {}
        found = []
        for node in self.nodes:
            leaves: list = []
            self.leaves.append(leaves)
            if node.func is None:
                found.append(-1 - len(found))
                continue
            around = flatten(node.args, leaves), flatten(node.kwargs, leaves)
            func: Any = node.func
            if type(func) is Loop:
                func = kind_of_loop(func, leaves)
            asked: list[Any] = [guard.how for guard in self.guards.get(node, ())]
            if func is operator.getitem and is_loop(node.args[0]):
                asked.append(node.args[1])  # which result it is
            key = (
                func, around, node.form, node.place, node.errors, node.memory, node.kept, *asked,
            )  # fmt: skip
            try:
                found.append(known.setdefault(key, len(known)))
            except TypeError:
                found.append(-1 - len(found))
        return found

    def leave_out(self) -> None:
        """Leave out the nodes that nobody needs, where nobody needs any other of their kind."""
        live = self.live
        kinds = {kind for node, kind in zip(self.nodes, self.kinds) if node in live}
        own = [k for k, kind in enumerate(self.kinds) if kind in kinds]
        if len(own) < len(self.kinds):
            self.kinds = [self.kinds[k] for k in own]
            self.leaves = [self.leaves[k] for k in own]
            graph = self.graph
            nodes = [self.nodes[k] for k in own]
            self.graph = Graph(nodes, graph.inputs, graph.outputs, graph.guards)
            self.nodes = self.graph.nodes

    def last_uses(self) -> dict[Node, int]:
        found: dict[Node, int] = {}
        for node, leaves in zip(self.nodes, self.leaves):
            for x in leaves:
                if type(x) is Node:
                    found[x] = node.number
        for node in nodes_in(self.graph.outputs):
            found[node] = len(self.nodes)
        return found

    # ---- runs ----

    def find(self) -> None:
        """Find the runs, from the first node on."""
        kinds, i = self.kinds, len(self.graph.inputs)
        total = len(kinds)
        following: list[int] = [total] * total  # the next node of the kind
        seen: dict[int, int] = {}
        for j in range(total - 1, -1, -1):
            following[j] = seen.get(kinds[j], total)
            seen[kinds[j]] = j
        while i < total:
            run = self.run_at(i, following, total)
            if run is None:
                i += 1
                continue
            run = self.inner(run, following) or run
            self.accept(run)
            i = run.stop

    def inner(self, run: Run, following: list[int]) -> Run | None:
        """Return a run in the first step of another one; the inner loops are found first."""
        stop = run.start + run.period
        for i in range(run.start, stop):
            found = self.run_at(i, following, run.period // FEWEST)
            if found is not None and found.stop <= stop + found.period:
                return self.inner(found, following) or found
        return None

    def run_at(self, i: int, following: list[int], longest: int) -> Run | None:
        """Return the run that begins at a node, or a step later, if there is one."""
        j = following[i]
        for _ in range(TRIES):
            period = j - i
            if j >= len(self.kinds) or period > longest:
                return None
            count = self.steps(i, period)
            for peeled in range(min(count - FEWEST + 1, PEELED)):
                start = i + peeled * period
                if (start, period) in self.banned:
                    continue
                run = self.fit(start, period, count - peeled)
                if run is not None:
                    return self.turned(run)
            j = following[j]
        return None

    def steps(self, i: int, period: int) -> int:
        """Return how many steps of this length are of the same kinds from a node on."""
        end = self.ends.get(period, -1)
        if not i <= end:
            kinds, end = self.kinds, i
            last = len(kinds) - period
            while end < last and kinds[end] == kinds[end + period]:
                end += 1
            self.ends[period] = end
        return (end - i) // period + 1

    def turned(self, run: Run) -> Run:
        """Return a run that begins at another node of a step, where steps carry fewer values."""
        crossings = run.crossings()
        best = min(range(run.period), key=lambda r: (crossings[r], r))
        if best:
            i = run.start + best
            other = self.fit(i, run.period, self.steps(i, run.period))
            if other is not None and other.count >= run.count - 1:
                return other
        return run

    def fit(self, i: int, period: int, count: int) -> Run | None:
        """Return the run of as many of these steps as differ in the known ways, if any."""
        if count > FEWEST and self.fit(i, period, FEWEST) is None:
            return None
        for _ in range(8):
            columns, fits = [], count
            for q in range(period):
                rows = [self.leaves[i + k * period + q] for k in range(fits)]
                found = []
                for column in zip(*rows):
                    how, length = self.relation(column, i, period, q)
                    if length < FEWEST:
                        return None
                    fits = min(fits, length)
                    found.append(how)
                columns.append(found)
                fits = min(fits, self.same_answers(i, period, q, fits))
                fits = self.until_needed(i, period, q, fits)
                fits = self.until_dead(i, period, q, fits)
                if fits < FEWEST:
                    return None
            if fits == count:
                return Run(i, period, count, columns)
            count = fits  # whose columns are shorter
        return None

    def same_answers(self, i: int, period: int, q: int, count: int) -> int:
        """Return in how many steps Python code has got the answers of the first one."""
        first = self.guards.get(self.nodes[i + q])
        if first is None:
            return count
        for k in range(1, count):
            for a, b in zip(first, self.guards[self.nodes[i + k * period + q]]):
                if not same_bits(a.answer, b.answer):
                    return k
        return count

    def until_dead(self, i: int, period: int, q: int, count: int) -> int:
        """Return after how many steps a loop has to end, as few of its values are needed at all."""
        flags = [self.nodes[i + k * period + q] in self.live for k in range(count)]
        if flags.count(False) <= 1 + count // 8:
            return count
        other = not flags[0]
        return flags.index(other) if other in flags else count

    def until_needed(self, i: int, period: int, q: int, count: int) -> int:
        """Return after how many steps a loop has to end, as few of its large values are needed."""
        form = self.nodes[i + q].form
        if type(self.nodes[i + q].func) is Loop:
            return count  # its results have nodes
        if bytes_of(form) <= SMALL:
            return count
        stop, uses = i + count * period, self.last_use
        needed = [
            k for k in range(count - 1) if uses.get(self.nodes[i + k * period + q], -1) >= stop
        ]  # fmt: skip
        return needed[0] + 1 if 0 < 4 * len(needed) < count else count

    def relation(self, column: tuple, i: int, period: int, q: int) -> tuple[Any, int]:
        """Return how an argument differs from step to step, and for how many steps that holds."""
        second = column[1]
        if type(second) is Node:
            return self.relation_of_nodes(column, i, period, q)
        count = len(column)
        if type(second) is int or type(second) is Count:
            kinds = [type(x) in (int, Count) for x in column]
            length = count if all(kinds) else kinds.index(False)
            return progression(column[:length]) if length > 1 else (None, 1)
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

    def relation_of_nodes(self, column: tuple, i: int, period: int, q: int) -> tuple[Any, int]:
        nodes, count = self.nodes, len(column)
        first, second = column[:2]
        if second is column[2]:
            if first is not second or second.number >= i:
                return None, 1
            length = 3
            while length < count and column[length] is second:
                length += 1
            return Always(second), length
        late = 1
        while late < min(DELAYS, count - 1) and not inside(column[late], i):
            late += 1
        if inside(column[late], i):
            distance = column[late].number - i - late * period
            base = i + distance
            delay = -(distance // period) if distance < 0 else 0
            if delay > DELAYS or delay >= count:
                return None, 1
            form = nodes[base + delay * period].form
            begin = [first_value(x, form, nodes[i + q]) for x in column[:delay]]
            if any([x is None or inside(x, i) for x in begin]):
                return None, 1
            length = delay
            while length < count and column[length] is nodes[base + length * period]:
                length += 1
            place = distance + delay * period
            return Carried(place, tuple(begin)) if delay else Inside(place), length
        homes = [self.homes.get(x) if type(x) is Node else None for x in column[:2]]
        if None in homes:
            return None, 1
        (run, place, k0), (other, its, k1) = homes
        if run is not other or place != its:
            return None, 1
        step, length = k1 - k0, 2
        start, size = run.start + place, run.period
        while length < count:
            k = k0 + step * length
            if not 0 <= k < run.count or column[length] is not nodes[start + k * size]:
                break
            length += 1
        if length < count and k0 + step * length == -1:  # what the loop has begun with
            if any([column[length] is x for x in run.begins(place)]):
                first = column[length]
                return Made(run, (place, first), Count(k0 + 1, step)), length + 1
        return Made(run, place, Count(k0, step)), length

    def all_of(self, values: list) -> tuple[Run, int] | None:
        """Return the run and the node whose values of all steps a list has, if it is so."""
        home = self.homes.get(values[0]) if values and type(values[0]) is Node else None
        if home is None or home[2] != 0 or len(values) != home[0].count:
            return None
        run, place, _ = home
        start, period = run.start + place, run.period
        same = all([x is self.nodes[start + k * period] for k, x in enumerate(values)])
        return (run, place) if same else None

    def without(self, values: list) -> Any:
        return () if self.all_of(values) else None

    def accept(self, run: Run) -> None:
        """Note a run, and what it needs of others."""
        self.runs.append(run)
        for k in range(run.count):
            for q in range(run.period):
                self.homes[self.nodes[run.start + k * run.period + q]] = run, q, k
        for column in run.columns:
            for how in column:
                if type(how) is Made:
                    how.run.kept[how.place] = None


    def poor(self) -> list[Run]:
        """Return the runs whose loops are hardly shorter: many single values of them are needed."""
        single: dict[int, set[Node]] = {}
        taken = [x for node in self.nodes if node not in self.homes
                 for x in nodes_in(replace(node.args, same, self.without))]  # fmt: skip
        for run in self.runs:
            for column in run.columns:
                for how in column:
                    taken += how.first if type(how) is Carried else ()
                    taken += [how.value] if type(how) is Always else ()
        for x in [*taken, *nodes_in(self.graph.outputs)]:
            home = self.homes.get(x) if type(x) is Node else None
            if home is not None and home[2] < home[0].count - 1:
                single.setdefault(id(home[0]), set()).add(x)
        return [
            run for run in self.runs
            if (run.count - 1) * run.period - len(single.get(id(run), ())) < WORTH
        ]  # fmt: skip


def same(node: Node) -> Node:
    return node


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
