"""Watched levels, which check the results of calls and of derivative rules.

NOTE [watched levels]
    While a debugger is on, a level that is entered gets a layer, `LOOKING`. The fast paths
    ask ``type(level) is GradLevel``, so they pass calls on to `Level.function`, which checks
    operands and results. See NOTE [the state of a level is its class] in `_levels.states`.

Only the calls of the user are checked. The intermediate values of a rule, one level out, may
be infinite if `numpy.where` drops them later.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any

import numpy as np

from .._core.blocks import Observer, block
from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.op import Call, Op
from .._core.pytree import flatten, paths
from .._core.root import classes_in
from .._core.table import OPS
from .._core.tensor import Tensor
from .._cpython.frames import Frame, current_frame, outward, variables_at
from .._levels.batch import BatchLevel
from .._levels.cotangents import fit
from .._levels.grad import GradLevel
from .._levels.jvp import JvpLevel
from .._levels.kept import compare
from .._levels.level import Level
from .._levels.lineage import AMBIENT, chain, levels_of
from .._levels.states import Layer, next_layer
from .._levels.tape import node_numbers
from .._transforms.tracing.program import Step
from ._calls import (
    RUNNING,
    WATCH,
    Location,
    Watch,
    is_elementwise,
    keeping,
    locate,
    title,
    user_frames,
)
from ._faults import Fault, counted, find_fault, parts
from ._kept import check_kept, fingerprints, name_arrays


class Edge:
    """A derivative rule on the tape that knows its forward line and checks its result."""

    __slots__ = ("elementwise", "fix", "here", "kept", "label", "names", "notes", "rule", "what")

    def __init__(
        self, rule: Callable, saved: tuple, fix: Any, label: str, op: Op, operand: str,
        here: Location,
    ):  # fmt: skip
        self.rule, self.label, self.here, self.fix = rule, label, here, fix
        self.notes, self.elementwise = noting(), is_elementwise(op.func)
        self.what = f"the derivative of {title(op.func)}"
        if operand:
            self.what += f" for its operand {operand!r}"
        if title(op.func) != here.what:
            self.what += f" (part of {here.what})"
        own = op.vjp.get(operand)
        self.names = own.needs if own is not None and own.fn is rule else ()
        self.kept = fingerprints(saved, self.names, here)

    def __call__(self, g: Value, *saved: Any) -> Value:
        if self.kept:
            check_kept(self.kept, saved, f"{self.label}: {self.what}", self.here)
        watch, outermost = WATCH.get(), RUNNING.get()
        try:
            with watch.quiet() if watch is not None else nullcontext():
                c, result = self.run(g, saved)
        except Exception as error:
            if self.notes:
                self.add_note(error)
            raise
        if outermost is None:
            known = c
            if self.elementwise and not isinstance(c, tuple) and shape_of(c) == shape_of(g):
                known = np.where(np.equal(g, 0), 0, c)  # zero may win: a second look decides
            self.look(g, known, saved)
        return result

    def look(self, g: Value, c: Value, saved: tuple) -> None:
        """Raise where the result of the rule is not finite, and a block asks for that."""
        watch = WATCH.get()
        if watch is not None and (watch.nans or watch.infs or watch.rules):
            operands = [("cotangent", g), *self.operands(saved)]
            nans = watch.nans or watch.rules
            fault = find_fault(nans, watch.infs, c, operands, self.elementwise)
            if fault is not None:
                self.report(fault, g)

    def operands(self, saved: tuple) -> Iterable:
        """Return the names and values that the rule reads beside the cotangent."""
        return zip(self.names if len(self.names) == len(saved) else [""] * len(saved), saved)

    def run(self, g: Value, saved: tuple) -> tuple[Value, Value]:
        """Return the result of the rule, as it is and in the form of the operand."""
        before, here = RUNNING.get(), Location(self.what, self.here.stack)
        try:
            RUNNING.set(here)
            c = self.rule(g, *saved)
            if c is None or isinstance(c, tuple) or isinstance(g, tuple):
                return c, c
            if self.fix:
                return c, fit(c, self.fix[0], self.fix[1])
            if shape_of(c) != shape_of(g):
                raise ValueError(
                    f"{self.label}: {self.what} returned shape {shape_of(c)}, but its operand has "
                    f"shape {shape_of(g)}, that of the cotangent; return an array of this shape"
                )
            return c, c
        finally:
            RUNNING.set(before)

    def report(self, fault: Fault, g: Value) -> None:
        """Raise the error about a fault in the result of the rule."""
        if fault.made:
            text = f"made {fault.what} out of {fault.given}"
        elif any(not np.isfinite(part.bare).all() for part in parts(g)):
            text = f"returned {fault.what}: the cotangent that came in was not finite"
        elif fault.nan:
            text = f"returned {fault.what}, which was among the values of the forward pass"
        else:
            return
        raise fault.error(f"{self.label}: {self.what} {text}", self.lines()) from None

    def add_note(self, error: Exception) -> None:
        note = f"{self.label}: raised in {self.what}, which was recorded at\n  {self.lines()}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)

    def lines(self) -> str:
        return "\n  from ".join(self.here.lines())


class CustomEdge(Edge):
    """A custom rule; the calls inside it are checked, too."""

    __slots__ = ()

    def __init__(self, rule: Callable, saved: tuple):
        level = AMBIENT.get().level
        last = level.made[0] if level.depth else None
        self.rule, self.label, self.fix, self.names = rule, str(level), None, ()
        self.here, self.elementwise = locate("a custom rule", current_frame(2), last), False
        self.notes, self.what = noting(), "a custom derivative rule"
        if keeping():
            named = name_arrays(user_frames(current_frame(2), last), saved)
            self.here = self.here._replace(arrays=named)
        self.kept = fingerprints(saved, (), self.here)

    def operands(self, saved: tuple) -> Iterable:
        return ()

    def run(self, g: Value, saved: tuple) -> tuple[Value, Value]:
        c = self.rule(g, *saved)
        return c, c


class KeepingStep:
    """The function of a recorded step, which checks the constants that the step keeps."""

    __slots__ = ("func", "given", "here", "kept", "label")

    def __init__(self, func: Callable, kept: list, given: list, label: str, here: Location):
        self.func, self.kept, self.given, self.label, self.here = func, kept, given, label, here

    @classmethod
    def around(
        cls, func: Callable, constants: tuple, given: dict, label: str, here: Location
    ) -> Callable:
        """Return a step's function, which checks where the step keeps arrays."""
        kept, options = (fingerprints(x, (), here) for x in (constants, given.values()))
        return cls(func, kept, options, label, here) if kept or options else func

    def __call__(self, /, *values: Any, **given: Any) -> Any:
        reader = f"{self.label}: the derivative of {self.here.what}"
        check_kept(self.kept, values, reader, self.here)
        check_kept(self.given, given.values(), reader, self.here)
        return self.func(*values, **given)


def noting() -> bool:
    watch = WATCH.get()
    return watch is not None and watch.notes


def watch_rule(rule: Callable, saved: tuple) -> Callable:
    return rule if WATCH.get() is None else CustomEdge(rule, saved)


@block
def unwatched(level: Level, frame: Frame) -> Iterator[None]:
    """Switch off the checks in a block, for the calls that a transform makes itself."""
    before = RUNNING.get()
    here = before or locate(str(level), frame, level.made[0])
    try:
        RUNNING.set(here)
        yield
    finally:
        RUNNING.set(before)


# ---- watched levels ----


class Watched(Level):
    """The behaviour of all watched levels: they check the result of every call."""

    flawed: tuple[str, ...] = ()  # descriptions of inputs that are not finite

    def function(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        watch = WATCH.get()
        if watch is None or RUNNING.get() is not None:
            return next_layer(Watched, self).function(func, args, kwargs)
        frame = current_frame(1)
        here = locate(title(func), frame, self.made[0])
        if watch.writes:
            names = name_arrays(user_frames(frame, self.made[0]), args, kwargs)
            here = here._replace(arrays=names)
        try:
            RUNNING.set(here)
            with watch.quiet():
                result = next_layer(Watched, self).function(func, args, kwargs)
        finally:
            RUNNING.set(None)
        if watch.nans or watch.infs:
            operands = named_operands(func, args, kwargs)
            fault = find_fault(watch.nans, watch.infs, result, operands, is_elementwise(func))
            if fault is not None:
                Watched.report(self, fault, here, [x for _, x in operands])
        return result

    def report(self, fault: Fault, here: Location, operands: list) -> None:
        """Raise the error about a fault in the result of a call."""
        cls = (*classes_in(*operands), self.cls)[0]
        levels = levels_of(cls)
        flawed = [text for level in levels for text in getattr(level, "flawed", ())]
        if fault.made:
            text = f"{here.what} made {fault.what} out of {fault.given}"
        elif flawed:
            text = f"{here.what} returned {fault.what}, from inputs: {'; '.join(flawed)}"
        elif not fault.nan:
            return  # an infinity that the user wrote, as in a mask
        else:
            text = f"{here.what} returned {fault.what}, which an operand already had"
        level = levels[0]
        where = f"{chain(level.cls)}, made at {level.where()}"
        raise fault.error(f"{level} ({where}): {text}", next(here.lines(1), "")) from None

    def look(self, leaves: Iterable) -> None:
        """Note the values that enter the level and are not finite."""
        watch = WATCH.get()
        if watch is None or not (watch.nans or watch.infs):
            return
        for x in leaves:
            if isinstance(x, Tensor) and x.level.depth:
                continue  # the levels around have checked it
            for part in parts(x):
                nan, inf = np.isnan(part.bare), np.isinf(part.bare)
                bad = (nan & watch.nans) | (inf & watch.infs)
                if bad.any():
                    where = tuple(map(int, np.argwhere(bad)[0]))
                    text = f"{argument_path(x)} of {self} holds {counted(part.bare, bad)}"
                    self.flawed = (*self.flawed, f"{text}, the first at index {where}")


class WatchedBatch(Watched, BatchLevel):
    def insert(self, leaves: Sequence, dims: Sequence, args: Any) -> list:
        Watched.look(self, [x for x, dim in zip(leaves, dims) if dim is not None])
        with unwatched(self, current_frame(1)):
            return next_layer(WatchedBatch, self).insert(leaves, dims, args)

    def unwrap(self, x: Value, *where: Any) -> Any:
        with unwatched(self, current_frame(1)):
            return next_layer(WatchedBatch, self).unwrap(x, *where)


class WatchedJvp(Watched, JvpLevel):
    def track(self, leaves: list, directions: list) -> list:
        Watched.look(self, [*leaves, *directions])
        return next_layer(WatchedJvp, self).track(leaves, directions)


class WatchedGrad(Watched, GradLevel):
    def track(self, leaves: list) -> list:
        Watched.look(self, leaves)
        return next_layer(WatchedGrad, self).track(leaves)

    def record(self, op: Op, call: Call, values: list, ans: Value) -> Value:
        start = next(node_numbers)
        names = [n for n, x in zip(call.names, call.operands) if type(x) is self.cls]
        return WatchedGrad.note_origin(
            self, next_layer(WatchedGrad, self).record(op, call, values, ans), start, op, names
        )

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        start = next(node_numbers)
        return WatchedGrad.note_origin(
            self, next_layer(WatchedGrad, self).apply_single(op, x, given), start, op, op.lead[:1]
        )

    def note_origin(self, result: Value, start: int, op: Op, names: Iterable) -> Any:
        """Return `result` with rules in its new nodes that know their origin."""
        watch = WATCH.get()
        if watch is not None:
            here = RUNNING.get() or locate(op.name, current_frame(2), self.made[0])
            known: dict[int, tuple] = {}
            for y in result if isinstance(result, (tuple, list)) else (result,):
                if type(y) is self.cls:
                    y._extra = WatchedGrad.watched_node(
                        self, y._extra, start, known, op, list(names), here
                    )
        return result

    def watched_node(self, node: tuple, start: int, known: dict, *about: Any) -> tuple:
        if node[0] < start or node[1] is None:
            return node
        if node[0] not in known:
            edges, edge = [], node[1:]
            while edge is not None:
                parent, rule, saved, fix, rest = edge
                edges.append(
                    (WatchedGrad.watched_node(self, parent, start, known, *about), rule, saved, fix)
                )
                edge = rest
            op, names, here = about
            following: tuple | None = None
            left = names if len(names) == sum(rule is not compare for _, rule, *_ in edges) else []
            for parent, rule, saved, fix in reversed(edges):
                if type(rule) is not Edge and rule is not compare:
                    operand, left = (left[-1], left[:-1]) if left else ("", left)
                    rule = Edge(rule, saved, fix, str(self), op, operand, here)
                following = (parent, rule, saved, fix, following)
            known[node[0]] = (node[0], *following)  # type: ignore[misc]
        return known[node[0]]


class WatchedTrace(Watched):
    """A level that records: it has the constants of its steps checked when the steps run."""

    def result(self, value: Value, step: Step) -> Value:
        if len(step) > 2:
            number, func, constants, places, given = step
            here = RUNNING.get() or locate(title(func), current_frame(2), self.made[0])
            func = KeepingStep.around(func, constants, given, str(self), here)
            step = number, func, constants, places, given
        return next_layer(WatchedTrace, self).result(value, step)


MIXINS: dict[Any, type[Watched]] = {"forward": WatchedJvp, "reverse": WatchedGrad}


def _mixin(kind: type[Level]) -> type[Watched]:
    if kind.batches or kind.records:
        return WatchedBatch if kind.batches else WatchedTrace
    return MIXINS.get(kind.differentiates, Watched)


LOOKING = Layer("Watched", 0, _mixin)


def watch_level(level: Any) -> None:
    """Watch a level that is live, or about to be, if checks are on in this context."""
    if WATCH.get() is not None and LOOKING.lay(level):
        level.flawed = ()


DEBUGGER = Observer(WATCH, LOOKING.lift, level=watch_level, rule=watch_rule)


@block
def watching(**options: bool) -> Iterator[None]:
    """Have the levels of this context watched inside the block, with these checks changed."""
    inside = (WATCH.get() or Watch())._replace(**options)
    yield from DEBUGGER.observing(inside, levels_of(AMBIENT.get()))


def check_flags(name: str, **flags: Any) -> None:
    """Raise where an option of the debugger `name` is not True or False."""
    for option, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(
                f"{name}: {option}={value!r}; write True or False, and @{name}() with its "
                f"parentheses as a decorator"
            )


# ---- texts for messages ----


def named_operands(func: Callable, args: tuple, kwargs: dict) -> list[tuple[str, Any]]:
    """Return the arguments of a call with the names of their parameters."""
    op = OPS.get(func)
    names = op.params if op is not None and op.bind_args is None and not op.variadic else ()
    given = [(names[i] if i < len(names) else f"argument {i}", x) for i, x in enumerate(args)]
    return [*given, *kwargs.items()]


def argument_path(leaf: Value) -> str:
    """Return the path of `leaf` among the arguments of the transform's call on the stack."""
    for frame in islice(outward(current_frame(2)), 6):
        for name in ("args", "primals", "tangents"):
            tree = variables_at(frame).get(name)
            if isinstance(tree, tuple):
                for path, x in zip(paths(tree, name), flatten(tree)[0]):
                    if x is leaf:
                        return path
    return f"an input of shape {shape_of(leaf)} and dtype {dtype_of(leaf)}"
