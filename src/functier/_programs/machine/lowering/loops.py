"""The rule of loops: a body becomes steps of a part inside the part, which a routine repeats.

NOTE [what a routine of a loop gets]
    Its operands are the first values of what is carried, sequences as arrays with the steps as
    first axis, and all else that a step takes from outside. Its results are the last values, and
    lists as arrays with the steps as first axis.

NOTE [small and large values]
    A small value that a step makes is in a variable, which is a register where the routines of the
    step are written in line. At the end of a step it is copied to what is carried, and to its list.
    A large one is written once: to its list, or to one of some buffers by turns. There are as
    many of these as the steps that its value outlives, and one more. What is carried is then a
    pointer.

NOTE [loops of any length]
    A loop that ends by a flag, or after a number of steps that is a value, looks before each step
    whether it runs. All that it carries has a place for its last value, which is copied there. A
    list is moved to the end of its memory: see `parts.lengths`.
"""

import operator
from typing import Any

import numpy as np

from ...._core.numpy_facts import UFUNC_OF
from ...._rules import indexing
from ...dead import goes_on
from ...graph import Form, Node, changed
from ...loops import Count, Loop, Table
from ...stores import add, get, memory_of, put
from .effects import Memory, memory_at
from .nodes import DTYPES, INT, Lowering, array_of, dtype_of, is_whole, rule
from .products import at
from .steps import (
    LARGEST,
    Buffer,
    Growing,
    Literal,
    Place,
    Ref,
    Unknown,
    growing_in,
    lies_so,
    strides_out,
)

SMALL = 128
"""Values of so many bytes are in variables."""


class Made:
    """A value that each step makes: what a routine does with it.

    `lists`, `ring` and `last` are the numbers of results: the lists that it is in, the buffers that
    it is written to by turns, and the place of its last value.
    """

    def __init__(self, node: Node):
        self.form = array_of(node.form)
        self.dtype, self.strides = dtype_of(self.form), strides_out(self.form)
        self.size = int(np.prod(self.form.shape, dtype=int))
        self.bytes = self.size * self.dtype.itemsize
        self.small = self.bytes <= SMALL
        self.lists: list[int] = []
        self.ring: list[int] = []
        self.last: int | None = None
        self.outlives = 0


class Carried(Made):
    """A value that is carried: `source` is a `Made`, or another one whose value it takes over.

    `begin` is the number of the operand with its first value.
    """

    def __init__(self, node: Node, begin: int):
        super().__init__(node)
        self.begin = begin
        self.source: Any = None

    def root(self) -> tuple[Made, int]:
        """Return what makes its values, and how many steps later it has them."""
        found, before = self, {self}
        while type(found.source) is Carried:
            found = found.source
            if found in before:
                raise Unknown("values that are carried change places, and no step makes them")
            before.add(found)
        return found.source, len(before)


class Body(Lowering):
    """The body of a loop, and what its routine gets and returns.

    Attributes
    ----------
    operands : list of Ref
        Values outside.
    results : list of Place
        Places outside.
    slots : dict of Growing to Place
        Whole numbers that steps take as values.
    memories : list of tuple
        Memories outside, and what they are in the body.
    """

    def __init__(self, outer: Lowering, loop: Loop):
        super().__init__()
        self.outer, self.loop = outer, loop
        self.counts = (*outer.counts, loop.count)
        self.operands: list[Ref] = []
        self.results: list[Place] = []
        self.given_as: dict[Any, Buffer] = {}
        self.slots: dict[Growing, Place] = {}
        self.carried: dict[int, Carried] = {}
        self.made: dict[Node, Made] = {}
        self.memories: list[tuple[Memory, Memory]] = []
        self.writers: list[Any] = []
        self.test: Ref | None = None  # whether the one step of an arm runs
        self.length: Ref | None = None  # how many steps there are, if that is a value
        self.is_free = goes_on(loop)
        self.levels: list[Ref] = []
        self.levels += [self.given(outer.index(level)) for level in range(len(outer.counts))]

    # ---- what comes from outside ----

    def rule_for(self, node: Node) -> Any:
        return self.outer.rule_for(node)

    def given(self, value: Ref) -> Ref:
        """Return a value from outside."""
        place = value.place
        key = place.buffer, place.offset, value.steps
        buffer = self.given_as.get(key)
        if buffer is None:
            buffer = self.given_as[key] = Buffer(0, "input", len(self.operands))
            self.operands.append(value)
        return Ref(value.shape, value.dtype, Place(buffer, 0, place.strides), ())

    def constant(self, value: np.ndarray) -> Ref:
        return self.given(self.outer.constant(value))

    def growing(self, count: Count) -> Growing:
        return Growing(count, self.counts)

    def index(self, level: int) -> Ref:
        """Return the counter of a level, as a number in memory."""
        if level < len(self.levels):
            return self.levels[level]
        return self.counter(self.growing(Count(0, 1)), INT)

    def counter(self, x: Growing, want: np.dtype) -> Ref:
        exact = 1 << 24 if want == np.float32 else LARGEST
        if max(map(abs, x.ends)) > exact:
            raise Unknown("an integer may not fit")
        place = self.slots.get(x)
        if place is None:
            place = self.slots[x] = Place(Buffer(8, "counter", len(self.slots)), 0, ())
        return Ref((), INT, place, ())

    def begin(self, args: tuple) -> None:
        """Give the inputs of the body their values."""
        outer, loop = self.outer, self.loop
        carried, elements, rest = loop.parts()
        for i, (x, arg) in enumerate(zip(carried, args)):
            if is_whole(x):
                raise Unknown("it carries a Python integer")
            form, value = array_of(x.form), outer.value(arg)
            shape, strides = form.shape, strides_out(form)
            if type(value) is Literal or not lies_so(value, strides):
                value = outer.copied(value, shape, strides)
            self.carried[i] = Carried(x, self.given(value).place.buffer.index)
            buffer = Buffer(0, "carried", i)
            self.values[x] = Ref(shape, value.dtype, Place(buffer, 0, strides), ())
        args = args[len(carried) :]
        for x, arg, read in zip(elements, args, loop.reads):
            self.values[x] = at(self.given(self.sequence(arg, x.form)), (self.growing(read),))
        for x, arg in zip(rest, args[len(elements) :]):
            memory = memory_at(outer, arg)
            if memory is not None:
                buffer = self.given(memory.whole()).place.buffer
                own = self.shared[x] = Memory(self, memory.size, memory.dtype, buffer)
                self.memories.append((memory, own))
                continue
            value = outer.operand(arg, INT) if is_whole(arg) else outer.value(arg)
            self.values[x] = value if type(value) is Literal else self.given(value)
        if loop.ends == "arm":
            self.test = self.value(rest[0])
        elif loop.ends == "length":
            self.length = self.values[rest[-1]]

    def sequence(self, arg: Any, form: Any) -> Ref:
        """Return a sequence, with elements of a form, as an array with the steps as first axis."""
        outer = self.outer
        if type(arg) is list:
            return self.listed([outer.value(x) for x in arg], array_of(form))
        if type(arg) is not Table:
            return outer.value(arg)
        found = np.stack(arg.values)
        if found.dtype not in DTYPES:
            raise Unknown(f"a constant has the dtype {found.dtype}")
        return outer.constant(found)

    def listed(self, values: list, form: Form) -> Ref:
        """Return single values as an array."""
        shape, dtype, strides = form.shape, dtype_of(form), strides_out(form)
        size = dtype.itemsize * int(np.prod(shape, dtype=int))
        place = Place(Buffer(len(values) * size), 0, (size, *strides))
        steps: list = []
        for i, value in enumerate(values):
            goal = Place(place.buffer, i * size, strides)
            steps += self.outer.copied(value, shape, place=goal).steps
        return Ref((len(values), *shape), dtype, place, tuple(steps))

    def lower(self, node: Node) -> None:
        """Add the steps of a node of the body."""
        if node.func is memory_of:
            return
        args, kwargs = changed((node.args, node.kwargs), Count, self.growing)
        if not growing_in((args, kwargs)):
            super().lower(node)
            return
        if not takes_growing(node.func):
            raise Unknown("the function takes an integer that grows")
        own = node.like(args, kwargs)
        super().lower(own)
        self.values[node] = self.values.pop(own)

    # ---- what it makes ----

    def make(self, node: Node) -> Made:
        """Return what each step makes as an output of the body."""
        found = self.made.get(node)
        if found is None:
            found = Made(node)
            value = self.value(node)
            if not self.is_whole(value, found.strides):
                value = self.copied(value, found.form.shape, found.strides)
            buffer = value.place.buffer
            buffer.kind, buffer.index = "output", len(self.made)
            self.made[node] = found
            self.writers += value.steps
        return found

    def result(self, made: Made, steps: int = 0) -> int:
        """Return the number of a new place for a value, or for the values of some steps."""
        self.results.append(Place(Buffer(max(steps, 1) * made.bytes), 0, made.strides))
        return len(self.results) - 1

    def finish(self) -> list[Ref]:
        """Add the routine to the steps outside, and return the results."""
        loop = self.loop
        inputs, outputs = loop.parts()[0], loop.body.outputs
        own = {inputs[i]: carried for i, carried in self.carried.items()}
        for i, carried in self.carried.items():
            y = outputs[i]
            carried.source = own[y] if y in own else self.make(y)
            if loop.ends == "arm" and (y in own or (outputs.count(y) > 1 and not carried.small)):
                raise Unknown("a choice returns what it takes, or an array twice")
        for carried in self.carried.values():
            made, far = carried.root()
            made.outlives = max(made.outlives, far)
        others = [self.make(y) for y in outputs[loop.carried :]]
        lists = [made for made in others[loop.lasts - loop.carried :]]
        if self.is_free and not all([x.small for x in others[: loop.lasts - loop.carried]]):
            raise Unknown("the last step of a loop of any length makes a large array")
        numbers = []
        for made in lists:
            numbers.append(self.result(made, loop.count))
            made.lists.append(numbers[-1])
        for made in self.made.values():
            if not made.small and not made.lists:
                made.ring = [self.result(made) for _ in range(made.outlives + 1)]
        for made in (*self.carried.values(), *others[: loop.lasts - loop.carried]):
            if (made.small or self.is_free) and made.last is None:
                made.last = self.result(made)
        found = []
        for i in range(loop.carried):
            made, far = self.carried[i].root()
            last: Made = self.carried[i] if made.small or self.is_free else made
            found.append(self.value_at(last, loop.count - far))
        found += [self.value_at(x, loop.count - 1) for x in others[: len(others) - len(lists)]]
        for made, number in zip(lists, numbers):
            place, shape = self.results[number], (loop.count, *made.form.shape)
            place = place._replace(strides=(made.bytes, *place.strides))
            found.append(Ref(shape, made.dtype, place, ()))
        for _, inner in self.memories:
            self.writers += [access.step for access in inner.writes]
        if loop.ends == "flag":  # the number of steps
            self.results.append(Place(Buffer(INT.itemsize), 0, ()))
        step = self.outer.routine(self, self.operands, self.results)
        for memory, inner in self.memories:
            memory.pass_to(step, bool(inner.writes))
        if loop.ends == "flag":
            found.append(Ref((), INT, self.results[-1], ()))
        return [x if x.steps else x._replace(steps=(step,)) for x in found]

    def value_at(self, made: Made, step: int) -> Ref:
        """Return the value that a step has made, which is the last one if it is small."""
        if made.last is not None:
            number, offset = made.last, 0
        elif made.lists:
            number, offset = made.lists[0], step * made.bytes
        else:
            number, offset = made.ring[-step % len(made.ring)], 0
        place = self.results[number]._replace(offset=offset)
        return Ref(made.form.shape, made.dtype, place, ())


GROWING = frozenset({*UFUNC_OF, operator.getitem, indexing.place, get, put, add})


def takes_growing(func: Any) -> bool:
    """Return whether a rule knows integers that grow among the arguments of a function."""
    return isinstance(func, np.ufunc) or func in GROWING


@rule(Loop)
def _loop(low: Lowering, node: Node) -> Any:
    loop: Any = node.func
    if loop.body.guards:
        raise Unknown("Python code chooses in a step")
    if not loop.count:
        raise Unknown("the loop had no steps in the trace")
    own = Body(low, loop)
    own.begin(node.args)
    for x in loop.body.nodes:
        if x.func is not None:
            own.lower(x)
    return tuple(own.finish())
