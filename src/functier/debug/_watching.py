"""Watched levels, which check the results of calls and of derivative rules.

NOTE [watched levels]
    While a debugger is on, a level that is entered gets a layer, `LOOKING`. The fast paths
    ask ``type(level) is GradLevel``, so they pass calls on to `Level.function`, which checks
    operands and results. See NOTE [the state of a level is its class] in `_levels.states`.

Only the calls of the user are checked. The intermediate values of a rule, one level out, may
be infinite if `numpy.where` drops them later.
"""

import linecache
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from .._core.blocks import block
from .._core.numpy_facts import dtype_of, name_of, shape_of
from .._core.op import Call, Op
from .._core.pytree import flatten, paths
from .._core.root import classes_in
from .._core.table import OPS
from .._core.tensor import Tensor
from .._core.types import Function, Value
from .._levels.batch import BatchLevel
from .._levels.cotangents import fit
from .._levels.grad import GradLevel
from .._levels.jvp import JvpLevel
from .._levels.level import Level
from .._levels.lineage import AMBIENT, chain, levels_of
from .._levels.states import Layer, next_layer
from .._levels.tape import node_numbers
from ._faults import Fault, counted, find_fault, parts

LIBRARIES = tuple(
    str(Path(str(sys.modules[name].__file__)).parent) + os.sep for name in ("numpy", "functier")
)
"""The folders whose frames are not code of the user."""


class Watch(NamedTuple):
    """The checks that are on in one context."""

    nans: bool = False
    infs: bool = False
    rules: bool = False  # NaNs of derivative rules only
    notes: bool = False  # notes on errors of derivative rules

    def quiet(self) -> np.errstate:
        """Switch off NumPy's warnings of values for which this raises an error."""
        named = {"invalid": self.nans, "divide": self.infs, "over": self.infs}
        return np.errstate(**{name: "ignore" for name, on in named.items() if on})  # type: ignore[arg-type]


class Location(NamedTuple):
    """The name of a call of the user, and its stack, from the inside out to the transform."""

    what: str
    stack: tuple[tuple[CodeType, int], ...]

    def lines(self, n: int | None = None) -> Iterator[str]:
        for code, line in self.stack[:n]:
            text = linecache.getline(code.co_filename, line).strip()
            yield f"{code.co_filename}:{line}, in {code.co_name}: {text}".rstrip(": ")


WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
RUNNING: ContextVar[Location | None] = ContextVar("running", default=None)
"""The running call of the user; calls inside it are not checked."""


def locate(what: str, frame: FrameType | None, last: CodeType | None) -> Location:
    """Return the frames of the user around `frame`, up to the one that runs `last`."""
    stack = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(LIBRARIES):
            stack.append((code, frame.f_lineno))
            if code is last:
                break
        frame = frame.f_back
    return Location(what, tuple(stack))


@block
def unwatched(level: Level, frame: FrameType) -> Iterator[None]:
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
        here = locate(title(func), sys._getframe(1), self.made[0])
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
        with unwatched(self, sys._getframe(1)):
            return next_layer(WatchedBatch, self).insert(leaves, dims, args)

    def unwrap(self, x: Value, *where: Any) -> Any:
        with unwatched(self, sys._getframe(1)):
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
            here = RUNNING.get() or locate(op.name, sys._getframe(2), self.made[0])
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
            for i, (parent, rule, saved, fix) in reversed([*enumerate(edges)]):
                if type(rule) is not Edge:
                    operand = names[i] if len(names) == len(edges) else ""
                    rule = Edge(rule, str(self), op, operand, here, fix)
                following = (parent, rule, saved, fix, following)
            known[node[0]] = (node[0], *following)  # type: ignore[misc]
        return known[node[0]]


MIXINS: dict[Any, type[Watched]] = {"forward": WatchedJvp, "reverse": WatchedGrad}


def _mixin(kind: type[Level]) -> type[Watched]:
    return WatchedBatch if kind.batches else MIXINS.get(kind.differentiates, Watched)


LOOKING = Layer("Watched", 0, _mixin)


def watch_level(level: Any) -> None:
    """Watch a level that is live, or about to be, if checks are on in this context."""
    if WATCH.get() is not None and LOOKING.lay(level):
        level.flawed = ()


# ---- watched derivative rules ----


class Edge:
    """A derivative rule on the tape that knows its forward line and checks its result."""

    __slots__ = ("elementwise", "fix", "here", "label", "names", "notes", "rule", "what")

    def __init__(self, rule: Callable, label: str, op: Op, operand: str, here: Location, fix: Any):
        self.rule, self.label, self.here, self.fix = rule, label, here, fix
        self.notes, self.elementwise = noting(), is_elementwise(op.func)
        self.what = f"the derivative of {title(op.func)}"
        if operand:
            self.what += f" for its operand {operand!r}"
        if title(op.func) != here.what:
            self.what += f" (part of {here.what})"
        own = op.vjp.get(operand)
        self.names = own.needs if own is not None and own.fn is rule else ()

    def __call__(self, g: Value, *saved: Any) -> Value:
        watch, outermost = WATCH.get(), RUNNING.get()
        try:
            with watch.quiet() if watch is not None else nullcontext():
                c, result = self.run(g, saved)
        except Exception as error:
            if self.notes:
                self.add_note(error)
            raise
        if watch is not None and outermost is None and (watch.nans or watch.infs or watch.rules):
            operands = [("cotangent", g), *self.operands(saved)]
            nans = watch.nans or watch.rules
            fault = find_fault(nans, watch.infs, c, operands, self.elementwise)
            if fault is not None:
                self.report(fault, g)
        return result

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
            if self.fix is not None:
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

    def __init__(self, rule: Callable):
        level = AMBIENT.get().level
        last = level.made[0] if level.depth else None
        self.rule, self.label, self.fix, self.names = rule, str(level), None, ()
        self.here, self.elementwise = locate("a custom rule", sys._getframe(2), last), False
        self.notes, self.what = noting(), "a custom derivative rule"

    def operands(self, saved: tuple) -> Iterable:
        return ()

    def run(self, g: Value, saved: tuple) -> tuple[Value, Value]:
        c = self.rule(g, *saved)
        return c, c


def noting() -> bool:
    watch = WATCH.get()
    return watch is not None and watch.notes


def watch_rule(rule: Callable) -> Callable:
    return rule if WATCH.get() is None else CustomEdge(rule)


# ---- texts for messages ----


def is_elementwise(func: Function) -> bool:
    return func is np.where or (isinstance(func, np.ufunc) and func.signature is None)


def title(func: Callable) -> str:
    name = name_of(func)
    return "indexing" if name == "_operator.getitem" else name


def named_operands(func: Callable, args: tuple, kwargs: dict) -> list[tuple[str, Any]]:
    """Return the arguments of a call with the names of their parameters."""
    op = OPS.get(func)
    names = op.params if op is not None and op.bind_args is None and not op.variadic else ()
    given = [(names[i] if i < len(names) else f"argument {i}", x) for i, x in enumerate(args)]
    return [*given, *kwargs.items()]


def argument_path(leaf: Value) -> str:
    """Return the path of `leaf` among the arguments of the transform's call on the stack."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(6):
        if frame is None:
            break
        for name in ("args", "primals", "tangents"):
            tree = frame.f_locals.get(name)
            if isinstance(tree, tuple):
                for path, x in zip(paths(tree, name), flatten(tree)[0]):
                    if x is leaf:
                        return path
        frame = frame.f_back
    return f"an input of shape {shape_of(leaf)} and dtype {dtype_of(leaf)}"
