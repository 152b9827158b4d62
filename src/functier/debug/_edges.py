"""Derivative rules on a tape that know their forward line and check what they return."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .._core.numpy_facts import Value, shape_of
from .._core.op import Op
from .._cpython.frames import current_frame
from .._levels.cotangents import fit
from .._levels.lineage import AMBIENT
from ._calls import RUNNING, WATCH, Location, is_elementwise, keeping, locate, title, user_frames
from ._faults import Fault, find_fault, parts
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
                known = np.where(np.equal(g, 0), 0, c)  # zero may win: a second look tells
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
