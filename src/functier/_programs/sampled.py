"""A step that is recorded for later ones of a loop: its calls, of stand-ins for what it takes.

NOTE [a step depends on what it takes]
    The sample gets stand-ins: new inputs for the values that change from step to step, and for the
    counter. So each of its calls tells if it depends on them. Python code that asks for a
    value has its answer as a guard of every step, and nothing may ask for the counter. All else
    that the step reads stays as it is, if the sample leaves no trace: each object that the user's
    functions reach refers to what it referred to before, and arrays have their contents.
"""

import operator
from collections.abc import Container, Sequence
from typing import Any
from weakref import ref

import numpy as np

from .._core.ambient import AMBIENT
from .._mutation.array import was_written
from .dead import drop_dead
from .graph import Graph, Guard, Node, form_of, replace
from .integers import AFFINE, asks_for_type, grows
from .looping import counting_of
from .loops import Loop, stacked
from .replays import Changed, Replay
from .stores import gives_view

FEWEST = 4
"""The least number of steps that make a loop."""


def same_in(x: Any, count: int, axis: int, length: Any = None) -> Any:
    """Return an array of a value of some steps, which is the same in all."""
    shape = np.shape(x)
    return np.broadcast_to(np.expand_dims(x, axis), (*shape[:axis], count, *shape[axis:]))


def known_values(samples: Any, nodes: Sequence[Any]) -> list | None:
    """Return the values of nodes of a trace, from the tensors that have them; None if one is lost.

    Others than nodes are themselves.
    """
    found: dict[Node, Any] = {}
    wanted = {x for x in nodes if type(x) is Node}
    for names in (wanted, samples.real):  # a stand-in may be alive where what it stands for is not
        for node in names if len(found) < len(wanted) else ():
            real = samples.real_of(node)
            tensor = samples.operands[node]() if node in samples.operands else None
            if tensor is not None and type(real) is Node:
                found[real] = tensor.parts()[0]
    if not wanted.issubset(found):
        return None
    return [found[x] if type(x) is Node else x for x in nodes]


def run(body: Any, most: int, values: list) -> tuple[int, list, list] | None:
    """Run a loop until an answer differs; return how often, the last values, and arrays of all.

    None is for a call that raises. Too few steps are none, and those of a loop whose length is a
    value, where an answer differs.
    """
    try:
        with AMBIENT.get().level.forgotten():
            found = call(body, most, values)
            if type(found) is int and found >= FEWEST and not body.ending:
                found = call(body, found, values)
    except Exception:
        return None
    return (0, [], []) if type(found) is int else found  # type: ignore[return-value]


def call(body: Any, count: int, values: list) -> tuple[int, list, list] | int:
    """Return what `run` does; or after how many steps an answer differs."""
    inputs = [Node(None, (), {}, form_of(x)) for x in values]
    node = body.node(count, inputs)
    ends, rows, steps = body.results(node)
    lists = [(rows[i], axis) for i, axis in body.lists.values()]
    stacks = [
        body.stack(row, axis) if row.form.form.shape else Node(np.array, (row,), {}, None)
        for row, axis in lists
    ]  # of a million numbers `numpy.stack` makes a million arrays
    nodes = [*inputs, node, *ends, *rows, *steps, *stacks]
    graph = drop_dead(Graph(nodes, inputs, [*ends, *stacks, *steps]), further=True)
    try:
        made = Replay(graph, "loop", [f"x{i}" for i in range(len(inputs))])(*values)
    except Changed as changed:
        counting = counting_of(node.func, "i")  # type: ignore[arg-type]
        return (changed.args[1] - counting.first) * counting.way
    last, arrays = made[: body.carried], made[body.carried :][: len(stacks)]
    return made[-1] if steps else count, [*last], [*arrays]


ndarray = np.ndarray

WEAK = {bool, int, float, complex}

ENDED = 1 << 60
"""More nodes than a trace has."""


class Samples:
    """The samples of a trace.

    Attributes
    ----------
    open : list
        Those that are recorded, the innermost last.
    counters : set
        The nodes that stand for the numbers of steps.
    operands : dict of Node to weak reference
        A tensor of each node that was an operand, as far as a sample may ask for it.
    """

    def __init__(self, level: Any):
        self.level = level
        self.open: list[Sampled] = []
        self.counters: set[Node] = set()
        self.real: dict[Node, Any] = {}  # what the stand-ins of others stand for
        self.operands: dict[Node, ref] = {}
        self.reasons: dict[Any, str] = {}  # why steps at places in the user's code are not a loop

    def begin(self, values: list, number: Any, effects: Any, since: int) -> "Sampled | None":
        """Begin a sample, unless its code may ask for the type of a plain value that it takes."""
        plain = number is not None or any([type(x) is not self.level.cls for x in values])
        if plain and asks_for_type(self.level.watch, since):
            return None
        if WEAK.intersection(map(type, values)) and any(map(self.is_small, values)):
            return None  # the numbers that a loop keeps are NumPy's, which are not weak
        return Sampled(self.level, values, number, effects, since)

    def is_small(self, x: Any) -> bool:
        """Return whether a value has a dtype that a Python number has not, but takes."""
        dtype = getattr(self.level.concrete(x), "dtype", None)
        return dtype is not None and dtype.kind in "fc" and dtype.char not in "dD"

    def real_of(self, node: Any, known: Container = ()) -> Any:
        """Return what a node stands for, which is mostly itself; or the first of those `known`."""
        while type(node) is Node and node in self.real and node not in known:
            node = self.real[node]
        return node

    def seen(self, x: Any) -> Node:
        """Return the node of a tensor of the level, and note who has its value."""
        node = x.parts()[1]
        known = self.operands.get(node)
        if known is None or known() is None:
            self.operands[node] = ref(x)
        return node

    def forget(self, first: int) -> None:
        """Forget the tensors for arrays from outside that nodes from `first` on have made.

        These may be taken out.
        """
        lifted, made = self.level.lifted, {*self.level.nodes[first:]}
        for place in [place for place, x in lifted.items() if x.parts()[1] in made]:
            del lifted[place]

    def take_out(self, sample: "Sampled", needed: Sequence = ()) -> None:
        """Take all out of the trace that was recorded since a sample began, but what is needed."""
        made = self.level.nodes[sample.first :]
        waiting, inside, kept = [x for x in needed if type(x) is Node], {*made}, set()
        while waiting:
            node = waiting.pop()
            if node in inside and node not in kept:
                kept.add(node)
                waiting += node.parents()
        self.forget(sample.first)
        self.level.nodes[sample.first :] = [node for node in made if node in kept]
        del self.level.answers[sample.answers :]

    def growth(self, x: Any) -> tuple[int, int] | None:
        """Return factor and summand of a number that grows with that of a step."""
        return grows(x.parts()[1], self.counters) if type(x) is self.level.cls else None

    def grows(self, index: Any) -> bool:
        """Return whether a number in an index grows with that of a step."""
        parts = index if type(index) is tuple else (index,)
        if any([type(x) is self.level.cls and is_listed(x.parts()[1]) for x in parts]):
            return True
        return bool(self.open) and any([self.is_moving(part) for part in parts])

    def is_moving(self, x: Any, carried: bool = True) -> bool:
        """Tell if a number grows with that of a step, or with an integer that is `carried`."""
        moving = self.counters.union(*[sample.wholes for sample in self.open if carried])
        return type(x) is self.level.cls and grows(x.parts()[1], moving) is not None

    def spread(self, x: Any, count: int, axis: int, length: Any) -> Any:
        """Return an array of a value that is the same in all steps, whose number is a value."""
        level, shape = self.level, np.shape(x)
        one, whole = [same_in(level.concrete(x), n, axis) for n in (1, count)]
        own = level.add(Node(np.expand_dims, (level.symbol(x), axis), {}, form_of(one)))
        shape = (*shape[:axis], level.symbol(length), *shape[axis:])
        node = level.add(Node(np.broadcast_to, (own, shape), {}, form_of(whole)))
        return level.tensor(whole, node)

    def have_plain(self, x: Any) -> bool:
        """Return whether a value is plain but for a sample."""
        return any([sample.is_plain(x) for sample in self.open])

    def answer(self, value: Any, how: Any, *args: Any) -> Any:
        """Convert such a value; later steps may have another answer."""
        for sample in self.open:
            sample.asked = True
        if how == "numpy.asarray":
            return np.asarray(value, *args[:1])
        if not callable(how):
            self.level.reads.unwatched(f"a step of a loop asks for {how} of a plain value")
        return how(value, *args)

    def settle(self, nodes: list[Node], answers: list[Guard], outputs: list) -> tuple[list, list]:
        """Put what stand-ins stand for in their places, and return answers and outputs."""
        if not self.real:
            return answers, outputs
        for node in nodes:
            node.args = replace(node.args, self.real_of)
            node.kwargs = replace(node.kwargs, self.real_of)
            if self.counters and node.func in AFFINE and {*map(type, node.args)} == {int}:
                self.real[node] = node.func(*node.args)  # type: ignore[misc]
        found = [guard._replace(node=self.real_of(guard.node)) for guard in answers]
        found = [guard for guard in found if type(guard.node) is Node]
        return found, replace(outputs, self.real_of)


class Sampled:
    """The sample of a loop, which is recorded from now on.

    Attributes
    ----------
    values : list
        The stand-ins for the values that it takes.
    counter : tensor or None
        The stand-in for its number, if it has one.
    made : set of Node
        The nodes of the step, once it has run.
    wholes : set of Node
        The stand-ins for whole numbers.
    """

    def __init__(self, level: Any, values: Sequence, number: int | None, effects: Any, since: int):
        self.level, self.effects, self.since = level, effects, since
        self.originals = values
        self.asked = False  # for a value of a stand-in for a plain one
        self.draws = False
        self.real: dict[Node, Any] = {}
        self.inputs = [self.stand_in(x, level.symbol(x)) for x in values]
        self.values = [level.tensor(level.concrete(x), n) for x, n in zip(values, self.inputs)]
        self.plain = {n for x, n in zip(values, self.inputs) if type(x) is not level.cls}
        self.wholes = {n for x, n in zip(values, self.inputs) if is_whole(level.concrete(x))}
        self.index: Node | None = None
        self.counter: Any = None
        if number is not None:
            self.index = self.stand_in(number, number)
            self.counter = level.tensor(number, self.index)
            level.samples.counters.add(self.index)
            self.plain.add(self.index)
        self.given = {*self.plain}
        level.samples.open.append(self)
        self.first, self.answers = len(level.nodes), len(level.answers)
        self.seen = self.first  # up to which node it is known which ones are plain
        self.made: set[Node] = set()
        self.nodes: list[Node] = []
        self.guards: list[Guard] = []
        self.fits = False

    def stand_in(self, x: Any, real: Any) -> Node:
        node = Node(None, (), {}, form_of(self.level.concrete(x)))
        self.real[node] = real
        return node

    def end(self) -> None:
        """Let the stand-ins be what they stand for: nothing more is recorded with them."""
        self.level.samples.open.remove(self)
        self.level.samples.real.update(self.real)

    def is_plain(self, x: Any) -> bool:
        """Return whether a value of the sample depends on no value of the program."""
        nodes = self.level.nodes
        if self.seen < len(nodes):
            self.plain = plain_of(self.plain, nodes[self.seen :])
            self.seen = len(nodes)
        return type(x) is self.level.cls and x.parts()[1] in self.plain

    def without(self, values: Sequence) -> list:
        """Return values, those that are plain without the level."""
        return [x.parts()[0] if self.is_plain(x) else x for x in values]

    def check(self, leaves: Sequence) -> bool:
        """Leave the program where the step has done to its stand-ins what nobody would see.

        False is for a step that has to run again without them, as if it had not run.
        """
        reads, self.made = self.level.reads, {*self.level.nodes[self.first :]}
        if any(map(was_written, (*leaves, *self.values))):
            reads.unwatched("a step of a loop writes to a value that it takes")
        if not (self.plain and asks_for_type(self.level.watch, self.since)):
            return True
        if self.effects.happened():
            reads.unwatched("a step of a loop may ask for the type of a number that it takes")
        self.level.samples.take_out(self)
        return False

    def memory_of(self, node: Any) -> tuple[Any, bool]:
        """Return the node of the array that a value is a view of, and if the step has made that."""
        own = self.made
        while node in own and node.args and type(node.args[0]) is Node and gives_view(node.func):
            if getattr(node.form, "kind", None) is not ndarray:
                return node, True  # a number, which has no memory
            node = node.args[0]
        return node, node in own

    def check_views(self, values: Sequence) -> None:
        """Leave the program where a step returns a view of what it takes, as a write may follow."""
        for x in values:
            node = self.level.symbol(x)
            if type(node) is Node and node not in self.inputs:
                if self.memory_of(node)[0] in self.inputs:
                    self.level.reads.unwatched("a step of a loop returns a view of what it takes")

    def close(self, after: Sequence, lists: Sequence[tuple[Any, int]], hidden: bool) -> None:
        """End the sample of a whole step, and note if it may stand for later ones.

        `after` are the values that it has made of the first that it took. `lists` are values that
        it has taken or made, each with the new axis of the array of all steps'. Values that are
        `hidden` from Python code may be plain in some steps alone.
        """
        level = self.level
        self.after, self.lists, self.hidden = after, lists, hidden
        for x in (*after, *[x for x, _ in lists]):
            self.is_plain(x)
        self.nodes, self.seen = level.nodes[self.first :], ENDED
        self.turn(set())
        pairs = zip(self.inputs, after)
        self.guards = level.answers[self.answers :]
        if self.asked or any([guard.node is self.index for guard in self.guards]):
            self.no_loop("the number of a step, or another plain value, is asked for itself")
        elif any([n not in self.plain and self.is_plain(x) for n, x in pairs]):
            self.no_loop("plain values change places with others")
        elif self.draws:
            self.no_loop("a step draws random numbers, which keep their order")
        elif any(map(has_effects, self.nodes)):
            self.no_loop("a step uses an array that is written to")
        elif self.effects.happened():
            self.no_loop("a step changes an object, or may")
        else:
            self.fits = True

    def turn(self, turned: set[Node]) -> None:
        """Take some plain values for values of the program, and those that become such ones."""
        while True:
            self.given -= turned
            self.plain = plain_of(self.given, self.nodes)
            pairs = zip(self.inputs, self.after)
            turned = {n for n, x in pairs if n in self.plain and not self.is_plain(x)}
            if not turned:
                return

    def no_loop(self, reason: str) -> None:
        """Note why the sample does not stand for later steps."""
        for node in self.nodes:
            self.level.samples.reasons[node.place] = reason


def has_effects(node: Node) -> bool:
    """Return whether a node draws, or uses a memory; also in the steps of a loop."""
    if type(node.func) is Loop:
        return any(map(has_effects, node.func.body.nodes))
    return node.memory or node.kept


def is_listed(node: Any) -> bool:
    """Tell if a value is that of a step, from an array of those of all, whose number is a value."""
    while node.func is operator.getitem:
        node = node.args[0]
    return node.func is stacked


def is_whole(x: Any) -> bool:
    """Return whether a value is an integer, of Python or NumPy."""
    return type(x) is int or (isinstance(x, np.integer) and not isinstance(x, np.timedelta64))


def plain_of(plain: set[Node], nodes: Sequence[Node]) -> set[Node]:
    """Return plain values, and those that some nodes compute of them alone."""
    found = {*plain}
    for node in nodes:
        if not (node.memory or node.kept) and found.issuperset(node.parents()):
            found.add(node)
    return found
