"""Steps of a part as routines: steps of one space are one loop.

NOTE [groups]
    Steps are taken in order. Each joins the first loop over its space that runs late enough: after
    the routines that write what it reads from memory, and not before those whose values it takes
    in registers. So loops that have nothing to do with each other join, too.

NOTE [later is better]
    A step whose users are all in one later loop moves there, if what it takes is in memory anyway,
    and at most one array lives longer for it.
"""

from bisect import bisect_left, insort
from typing import Any, NamedTuple

from ..loops.kernels import routine_of, work_of
from ..loops.nests import (
    Apply,
    ArgReduce,
    Gather,
    Literal,
    Load,
    Nest,
    Pad,
    Reduce,
    Scatter,
    Store,
    Stream,
)
from ..lowering.steps import APART, Buffer, Part, Place, Ref, Step, squeezed
from ..text.routines import Kernel

MOST = 2500
"""The greatest number of steps in one loop."""

WIDE = 128
"""A loop takes no more steps if it has so many arrays."""


class Call(NamedTuple):
    """A routine, and the places that it gets.

    Attributes
    ----------
    kernel : Kernel, or Body
        Of a loop its body: see `loops`.
    places : list of Place
    scratch : Buffer or None
        The memory that it needs during the call.
    work : float
        About how many instructions it takes, for each number by itself.
    nest : Nest or None
        The loop over elements that it is.
    loop : Routine or None
        The loop over steps that it is: see `loops`.
    """

    kernel: Any
    places: list[Place]
    scratch: Buffer | None
    work: float
    nest: Nest | None = None
    loop: Any = None


class Group:
    """Steps of one space: the body of a loop. `axis` is the one that has to be the last, if any."""

    __slots__ = ("arrays", "axis", "space", "steps")

    def __init__(self, space: tuple[int, ...]):
        self.space = space
        self.axis: int | None = None
        self.steps: list[Step] = []
        self.arrays: set[int] = set()

    def takes(self, step: Step) -> bool:
        """Return whether a step may join."""
        if len(self.steps) >= MOST or len(self.arrays) >= WIDE:
            return False
        return step.kind != "extremum" or self.axis in (None, last_axis(step))

    def add(self, step: Step) -> None:
        self.steps.append(step)
        self.arrays |= {
            id(x.place.buffer) for i, x in enumerate(step.args)
            if type(x) is Ref and not (in_register(step, i, x) and x.steps[0].group == step.group)
        }  # fmt: skip
        if step.kind == "reduce":
            self.arrays.add(id(step.place.buffer))
        if step.kind == "extremum":
            self.axis = last_axis(step)


def last_axis(step: Step) -> int:
    """Return the axis, among those of a loop, that an extremum is along."""
    return steps_in(step.place, step.shape, step.shape).index(0)


REGISTERS = frozenset({"element", "gather", "pad"})
"""Kinds of steps whose values are in registers."""


def in_register(step: Step, i: int, x: Any) -> bool:
    """Return whether a step may take its argument number `i` from a register of the same loop."""
    return (
        type(x) is Ref and x.straight and len(x.steps) == 1 and x.steps[0].kind in REGISTERS
        and step.kind != "call" and x.steps[0].space == step.space
        and squeezed(x.shape) == step.space and not (i == 0 and step.kind in ("gather", "pad"))
    )  # fmt: skip


def needed(steps: list[Step], outputs: list[Step]) -> list[Step]:
    """Return the steps that the outputs need."""
    found: set[Step] = set()
    waiting = list(outputs)
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            for x in step.refs():
                waiting += x.steps
    return [step for step in steps if step in found]


def reorder(steps: list[Step], live: list[Step]) -> None:
    """Let steps run after all that those run after which nobody needs, and which they follow.

    A write notes the last ones that it disturbs alone: those have noted the ones before.
    """
    alive = set(live)
    through: dict[Step, dict[Step, bool]] = {}
    for step in steps:
        if not step.after:
            continue
        found: dict[Step, bool] = {}
        for other, together in step.after.items():
            before = {other: True} if other in alive else through.get(other, {})
            for each, same in before.items():
                found[each] = found.get(each, True) and together and same
        if step in alive:
            step.after = found
        else:
            through[step] = found


def grouped(steps: list[Step]) -> list[Any]:
    """Return groups and single calls, in the order in which they run."""
    order: list[Any] = []
    places: dict[tuple, list[int]] = {}
    for step in steps:
        need = same = -1
        for i, x in enumerate(step.args):
            if type(x) is Ref and x.steps:
                if in_register(step, i, x):
                    same = max(same, x.steps[0].group)
                else:
                    need = max(need, *[s.group for s in x.steps])
        for other, together in step.after.items():
            if other.group is not None:
                if together:
                    same = max(same, other.group)
                else:
                    need = max(need, other.group)
        if step.kind == "call":
            step.group = len(order)
            order.append(step)
            continue
        own = places.setdefault((step.space, step.info == APART), [])
        k = bisect_left(own, max(need + 1, same))
        while k < len(own) and not order[own[k]].takes(step):
            k += 1
        if k == len(own):
            insort(own, len(order))
            step.group = len(order)
            order.append(Group(step.space))
        else:
            step.group = own[k]
        order[step.group].add(step)
    return order


def sink(steps: list[Step], order: list[Any], outputs: set[Step]) -> None:
    """Move steps to the loop that uses them: see NOTE [later is better]."""
    users: dict[Step, list[tuple[Step, bool]]] = {}
    for step in steps:
        for i, x in enumerate(step.args):
            if type(x) is Ref:
                for source in x.steps:
                    users.setdefault(source, []).append((step, in_register(step, i, x)))
    for step in reversed(steps):
        own = users.get(step, [])
        if step.kind == "element" and not (step.stored or step.effect or step in outputs) and own:
            target = own[0][0].group
            if target != step.group and all([fits and s.group == target for s, fits in own]):
                ends = {x.steps for x in step.refs() if ends_before(x, step, users, target)}
                if len(ends) < 2 and all([is_kept(x, step, users, outputs) for x in step.refs()]):
                    order[step.group].steps.remove(step)
                    step.group = target
                    order[target].steps.append(step)
    for step in steps:
        if step.kind in REGISTERS and not step.stored:
            step.stored = step in outputs or any(
                [not fits or s.group != step.group for s, fits in users.get(step, ())]
            )


def ends_before(x: Ref, step: Step, users: dict, target: int) -> bool:
    """Return whether nobody but a step takes an argument as late as in a loop."""
    return bool(x.steps) and all(
        [s.group < target for source in x.steps for s, _ in users[source] if s is not step]
    )


def is_kept(x: Ref, step: Step, users: dict, outputs: set[Step]) -> bool:
    """Return whether an argument is in memory also for others."""
    return all(
        [
            source.stored or source.group != step.group or source in outputs
            or any([s.group != step.group or not fits for s, fits in users[source]])
            for source in x.steps
        ]
    )  # fmt: skip


# ---- groups as nests ----


def steps_in(place: Place, shape: tuple[int, ...], space: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, along the axes of a loop over `space`, of an array of `shape`."""
    lead = len(space) - len(shape)
    return tuple(
        [
            0 if k < lead or shape[k - lead] == 1 else place.strides[k - lead]
            for k, n in enumerate(space)
            if n != 1
        ]
    )


class Nesting:
    """A group as a nest while it is put together."""

    def __init__(self, group: Group):
        self.group = group
        self.streams: list[list] = []
        self.places: list[Place] = []
        self.keys: dict[Any, int] = {}
        self.loaded: dict[int, int] = {}
        self.values: dict[Step, int] = {}
        self.body: list[Any] = []
        group.steps.sort(key=lambda step: step.number)
        for step in group.steps:
            self.add(step)

    def nest(self) -> Nest:
        written = {id(p.buffer) for p, s in zip(self.places, self.streams) if s[2]}
        owners: dict[int, int] = {}
        for place in self.places:
            owners[id(place.buffer)] = owners.get(id(place.buffer), 0) + 1
        streams = []
        for place, (dtype, strides, writes, size) in zip(self.places, self.streams):
            alone = id(place.buffer) not in written or owners[id(place.buffer)] == 1
            streams.append(Stream(dtype, strides, writes, size, alone))
        return Nest(self.group.space, tuple(streams), tuple(self.body))

    def stream(self, place: Place, strides: tuple, dtype: Any, writes: bool, size: int = 0) -> int:
        key = id(place.buffer), place.offset, strides, dtype
        found = self.keys.get(key)
        if found is None:
            found = self.keys[key] = len(self.streams)
            self.streams.append([dtype, strides, writes, size])
            self.places.append(place)
        elif writes:
            self.streams[found][2] = True
        return found

    def line(self, line: Any) -> int:
        self.body.append(line)
        return len(self.body) - 1

    def value(self, step: Step, i: int) -> Any:
        """Return an argument of a step: the number of a line, or a literal."""
        x = step.args[i]
        if type(x) is Literal:
            return x
        if in_register(step, i, x) and x.steps[0] in self.values:
            return self.values[x.steps[0]]
        strides = steps_in(x.place, x.shape, step.shape)
        stream = self.stream(x.place, strides, x.dtype, False)
        found = self.loaded.get(stream)
        if found is None:
            found = self.loaded[stream] = self.line(Load(stream))
        return found

    def add(self, step: Step) -> None:
        getattr(self, f"add_{step.kind}")(step)

    def finish(self, step: Step, value: int) -> None:
        """Note the value of a step, and store it where others read it."""
        self.values[step] = value
        if step.stored:
            strides = steps_in(step.place, step.shape, step.shape)
            stream = self.stream(step.place, strides, step.dtype, True)
            self.line(Store(stream, value))
            if step.effect:
                self.loaded.clear()

    def add_element(self, step: Step) -> None:
        args = tuple([self.value(step, i) for i in range(len(step.args))])
        self.finish(step, self.line(Apply(step.func, args, step.wants, step.dtype, step.checked)))

    def add_reduce(self, step: Step) -> None:
        (dtype,) = step.wants
        value = self.value(step, 0)
        x = step.args[0]
        if x.dtype != dtype:
            value = self.line(Apply("cast", (value,), (x.dtype,), dtype))
        strides = steps_in(step.place, step.shape, step.shape)
        stream = self.stream(step.place, strides, dtype, True, step.info)
        self.line(Reduce(step.func, stream, value))

    def add_extremum(self, step: Step) -> None:
        value = self.value(step, 0)
        strides = steps_in(step.place, step.shape, step.shape)
        stream = self.stream(step.place, strides, step.dtype, True)
        self.line(ArgReduce(step.func, stream, value, step.args[0].dtype))

    def add_gather(self, step: Step) -> None:
        base, *_ = step.args
        strides, axes = step.info
        stream = self.stream(base.place, strides, base.dtype, False)
        self.finish(step, self.line(Gather(stream, self.indices(step, 1, axes))))

    def indices(self, step: Step, first: int, axes: Any) -> tuple:
        return tuple(
            [(self.value(step, first + i), size, stride) for i, (size, stride) in enumerate(axes)]
        )

    def add_scatter(self, step: Step) -> None:
        strides, axes, adds = step.info
        value = self.value(step, 0)
        x = step.args[0]
        if x.dtype != step.dtype:
            value = self.line(Apply("cast", (value,), (x.dtype,), step.dtype))
        stream = self.stream(step.place, strides, step.dtype, True)
        self.line(Scatter(stream, self.indices(step, 1, axes), value, adds))
        self.loaded.clear()

    def add_pad(self, step: Step) -> None:
        (base,) = step.args
        strides, bounds, wraps = step.info
        stream = self.stream(base.place, strides, base.dtype, False)
        self.finish(step, self.line(Pad(stream, bounds, wraps)))


def items_of(part: Part, outputs: list[Step]) -> list[Any]:
    """Return groups and single calls that compute the outputs, in the order in which they run."""
    steps = needed(part.steps, outputs)
    reorder(part.steps, steps)
    order = grouped(steps)
    sink(steps, order, set(outputs))
    return [item for item in order if type(item) is Step or item.steps]


def call_of(item: Any, native: int, contract: bool, threads: int = 1) -> Call:
    """Return the call of the routine of a group, or of a single call, with its places."""
    if type(item) is Step:
        places = [x.place for x in item.refs()] + item.info
        work = max([x.size for x in item.refs()], default=1) ** 1.5  # of square matrices
        return called(item.func, places, work)
    nesting = Nesting(item)
    nest = nesting.nest()
    kernel = routine_of(nest, native, contract, threads)
    return called(kernel, nesting.places, work_of(nest), nest)


def called(kernel: Any, places: list[Place], work: float, nest: Nest | None = None) -> Call:
    """Return the call of a routine, with the memory that it needs."""
    scratch = kernel.scratch if type(kernel) is Kernel else 0
    return Call(kernel, places, Buffer(scratch) if scratch else None, work, nest)
