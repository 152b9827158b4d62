"""Watched levels: who made a NaN, and which forward line a failing derivative belongs to.

NOTE [watched levels]
    While somebody debugs, a level that is entered gets a layer, `LOOKING`: the fast paths,
    which ask ``type(level) is GradLevel``, hand on to `Level.function`, and that looks at
    operands and results. See NOTE [the state of a level is its class] in `_levels.states`.

Only the call that the user has made is looked at. What a rule computes on its way, one
level down, may well be infinite and then be left out by `numpy.where`.
"""

import linecache
import os
import sys
from collections.abc import Callable, Iterable, Iterator
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
"""Where the frames are that are nobody's own."""


class Watch(NamedTuple):
    """What is looked for, in one context."""

    nans: bool = False
    infs: bool = False
    rules: bool = False  # NaNs of derivative rules only
    notes: bool = False  # whether errors of derivative rules get a note

    def quiet(self) -> Any:
        """NumPy's warnings of what this raises an error for are left out."""
        named = {"invalid": self.nans, "divide": self.infs, "over": self.infs}
        return np.errstate(**{name: "ignore" for name, on in named.items() if on})  # type: ignore[arg-type]


class Location(NamedTuple):
    """Where the user called what; the lines from the inside out, up to the transform's."""

    what: str
    stack: tuple[tuple[CodeType, int], ...]

    def lines(self, n: int | None = None) -> Iterator[str]:
        for code, line in self.stack[:n]:
            text = linecache.getline(code.co_filename, line).strip()
            yield f"{code.co_filename}:{line}, in {code.co_name}: {text}".rstrip(": ")


WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
RUNNING: ContextVar[Location | None] = ContextVar("running", default=None)
"""The user's call that is being computed; what happens inside it is not looked at."""


def locate(what: str, frame: FrameType | None, last: CodeType | None) -> Location:
    """The user's frames around `frame`, up to the one that runs `last`."""
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
    """What a transform does itself, with the axes of its arguments, is not looked at."""
    before = RUNNING.get()
    here = before or locate(str(level), frame, level.made[0])
    try:
        RUNNING.set(here)
        yield
    finally:
        RUNNING.set(before)


# ---- watched levels ----


class Watched(Level):
    """What all watched levels do: they look at the result of every call."""

    flawed: tuple[str, ...] = ()  # inputs that are not finite

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
        """Raise the error for a fault in the result of a call."""
        cls = (*classes_in(*operands), self.cls)[0]
        levels = levels_of(cls)
        flawed = [text for level in levels for text in getattr(level, "flawed", ())]
        if fault.made:
            text = f"{here.what} made {fault.what} out of {fault.given}"
        elif flawed:
            text = f"{here.what} returned {fault.what}, from inputs: {'; '.join(flawed)}"
        elif not fault.nan:
            return  # an infinity that the user has written, as a mask has
        else:
            text = f"{here.what} returned {fault.what}, which came in with an operand"
        level = levels[0]
        where = f"{chain(level.cls)}, made at {level.where()}"
        raise fault.error(f"{level} ({where}): {text}", next(here.lines(1), "")) from None

    def look(self, leaves: Iterable) -> None:
        """Note which of the values that enter the level are not finite."""
        watch = WATCH.get()
        if watch is None or not (watch.nans or watch.infs):
            return
        for x in leaves:
            if isinstance(x, Tensor) and x.level.depth:
                continue  # made under other levels, which looked at it
            for part in parts(x):
                nan, inf = np.isnan(part.bare), np.isinf(part.bare)
                bad = (nan & watch.nans) | (inf & watch.infs)
                if bad.any():
                    where = tuple(map(int, np.argwhere(bad)[0]))
                    text = f"{argument_path(x)} of {self} holds {counted(part.bare, bad)}"
                    self.flawed = (*self.flawed, f"{text}, the first at index {where}")


class WatchedBatch(Watched, BatchLevel):
    def insert(self, leaves: Any, dims: Any, args: Any) -> list:
        Watched.look(self, [x for x, dim in zip(leaves, dims) if dim is not None])
        with unwatched(self, sys._getframe(1)):
            return next_layer(WatchedBatch, self).insert(leaves, dims, args)

    def unwrap(self, x: Any, *where: Any) -> Any:
        with unwatched(self, sys._getframe(1)):
            return next_layer(WatchedBatch, self).unwrap(x, *where)


class WatchedJvp(Watched, JvpLevel):
    def track(self, leaves: list, directions: Any) -> list:
        Watched.look(self, [*leaves, *directions])
        return next_layer(WatchedJvp, self).track(leaves, directions)


class WatchedGrad(Watched, GradLevel):
    def track(self, leaves: list) -> list:
        Watched.look(self, leaves)
        return next_layer(WatchedGrad, self).track(leaves)

    def record(self, op: Op, call: Call, values: list, ans: Any) -> Any:
        start = next(node_numbers)
        names = [n for n, x in zip(call.names, call.operands) if type(x) is self.cls]
        return WatchedGrad.noted(
            self, next_layer(WatchedGrad, self).record(op, call, values, ans), start, op, names
        )

    def apply_single(self, op: Op, x: Any, given: dict) -> Any:
        start = next(node_numbers)
        return WatchedGrad.noted(
            self, next_layer(WatchedGrad, self).apply_single(op, x, given), start, op, op.lead[:1]
        )

    def noted(self, result: Any, start: int, op: Op, names: Iterable) -> Any:
        """`result`, the rules of whose new nodes know where they come from."""
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
    """Have a level that is live, or about to be, watched where this context asks for it."""
    if WATCH.get() is not None and LOOKING.lay(level):
        level.flawed = ()


# ---- watched derivative rules ----


class Edge:
    """A derivative rule on the tape that knows its forward line and looks at its result."""

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

    def __call__(self, g: Any, *saved: Any) -> Any:
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
        """The values that the rule reads beside the cotangent, with its names."""
        return zip(self.names if len(self.names) == len(saved) else [""] * len(saved), saved)

    def run(self, g: Any, saved: tuple) -> tuple[Any, Any]:
        """What the rule returns, and that in the form of the operand."""
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
                    f"{self.label}: {self.what} returned shape {shape_of(c)} for a cotangent of "
                    f"shape {shape_of(g)}, which is that of its operand, too"
                )
            return c, c
        finally:
            RUNNING.set(before)

    def report(self, fault: Fault, g: Any) -> None:
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
    """A rule that somebody has written: what happens inside it is looked at, too."""

    __slots__ = ()

    def __init__(self, rule: Callable):
        level = AMBIENT.get().level
        last = level.made[0] if level.depth else None
        self.rule, self.label, self.fix, self.names = rule, str(level), None, ()
        self.here, self.elementwise = locate("a custom rule", sys._getframe(2), last), False
        self.notes, self.what = noting(), "a custom derivative rule"

    def operands(self, saved: tuple) -> Iterable:
        return ()

    def run(self, g: Any, saved: tuple) -> tuple[Any, Any]:
        c = self.rule(g, *saved)
        return c, c


def noting() -> bool:
    watch = WATCH.get()
    return watch is not None and watch.notes


def watch_rule(rule: Callable) -> Callable:
    return rule if WATCH.get() is None else CustomEdge(rule)


# ---- the words of a message ----


def is_elementwise(func: Any) -> bool:
    return func is np.where or (isinstance(func, np.ufunc) and func.signature is None)


def title(func: Callable) -> str:
    name = name_of(func)
    return "indexing" if name == "_operator.getitem" else name


def named_operands(func: Callable, args: tuple, kwargs: dict) -> list[tuple[str, Any]]:
    """The values among the arguments of a call, each with the name of its parameter."""
    op = OPS.get(func)
    names = op.params if op is not None and op.bind_args is None and not op.variadic else ()
    given = [(names[i] if i < len(names) else f"argument {i}", x) for i, x in enumerate(args)]
    return [*given, *kwargs.items()]


def argument_path(leaf: Any) -> str:
    """What the arguments of a transform's call, which is on the stack, name `leaf`."""
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
