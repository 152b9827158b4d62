"""The run of the net: the cells, and what becomes of each.

A cell is a way at a place in a mode. Its source is written to a file and run twice: one twin stays
plain, the other is compiled. Both are called, changed, called, changed back, and so on; each call
has to give the same, and to leave the same behind.
"""

import importlib.util
import itertools
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import functier as ft

from ..verdicts import Verdicts
from .ways import ARGUMENT, CLOSURE, GLOBAL, HEAD, METHOD, MODULE, PARTS, PLACES, SELF, WAYS

TOP = (
    "d = {make}\ndef f(x%s):\n{body}\ncall, get = lambda f: f(X%s), lambda: d\n"
    "def change(V):\n    global d\n{change}\n"
)
CLASS = "class Model%s:\n    def %s(self, x):\n{deep_body}\nm = Model()\nm.d = {make}\nf = %s\n"
ENDS = "call = lambda f: f(%s)\ndef change(V):\n{change}\nget = lambda: m.d\n"
SOURCES = {
    ARGUMENT: TOP % (", d", ", d"),
    GLOBAL: TOP % ("", ""),
    CLOSURE: "def begin(d):\n    def f(x):\n{deep_body}\n    def change(V):\n        nonlocal d\n"
             "{deep_change}\n    return f, change, lambda: d\nf, change, get = begin({make})\n"
             "call = lambda f: f(X)\n",
    METHOD: CLASS % ("", "f", "m.f") + ENDS % "X",
    SELF: CLASS % ("", "f", "Model.f") + ENDS % "m, X",
    MODULE: CLASS % ("(ft.nn.Module)", "forward", "m") + ENDS % "X",
}  # fmt: skip
"""The source of a cell by the place of `d`."""

MODES = "value", "grad", *["machine"] * bool(importlib.util.find_spec("llvmlite"))
"""A compiled function, a compiled `grad` of it, and the function as machine code."""

REASONS = {
    r"^RandomnessError: .* the numbers would be the same in each call of the program": (
        "a program makes the draws of functier.random alone anew"
    ),
    r"^MutationError: .*puts another value into a container or a module that it was given": (
        "a program would not do so"
    ),
    r"^MutationError: .*numpy.asarray\(x\) would (lose the derivative|be the same)": (
        "a plain array cannot take a value of the trace"
    ),
    r"^MutationError: .*an array that was given twice, or as a view of another argument": (
        "a program does not know that the other one sees the write"
    ),
    r"^TypeError: .*: the argument d.* may change between two calls; ": (
        "a static argument is a value, or is compared by identity"
    ),
    r"^TypeError: .*: the argument d is a (numpy.matrix|structured array|numpy.ma.MaskedArray)": (
        "a transform takes no arrays of such classes"
    ),
    r"^ConversionError: .*numpy.asarray\(x\) would be the same in each call": "it is a tensor then",
}
"""The refusals that have a good reason."""

STEPS = None, None, 3.0, None, 2.0, 3.0
"""The change before each call; None is none."""

numbers = itertools.count()


class Unfit(BaseException):
    """The plain function fails from the start, or the change does not change it."""


class Cell(NamedTuple):
    name: str
    place: str
    mode: str

    def __str__(self) -> str:
        return " | ".join(self)

    def source(self) -> str:
        way = WAYS[self.name]
        *lines, value = way.value.split(" // ")
        both = "np.sum(x * x * value)" if self.mode == "grad" else "x * x * value, value"
        body = "\n".join([*lines, f"value = {value}", f"return {both}"])
        there, _, back = way.change.partition(" | ")
        change = f"if V == 3.0:\n    {there}\nelse:\n    {back}" if back else there
        if self.place in (METHOD, SELF, MODULE):
            body, change = re.sub(r"\bd\b(?!')", "self.d", body), re.sub(r"\bd\b", "m.d", change)
        blocks = {
            prefix + name: textwrap.indent(text, " " * width)
            for name, text in (("body", body), ("change", change))
            for prefix, width in (("", 4), ("deep_", 8))
        }
        return with_parts(SOURCES[self.place].format(make=way.make, **blocks))


def with_parts(text: str) -> str:
    """Return a source with the classes and functions that it names before it."""
    for part in reversed(re.split(r"\n(?=\S)", PARTS.strip())):
        heads = re.findall(r"\w+", re.match(r"(?:class |def )?([\w, ]+)", part)[1])
        if not {*heads}.isdisjoint(re.findall(r"\w+", text)):
            text = f"{part}\n\n{text}"
    return HEAD + text


class Twin:
    """A run of the source of a cell, with its own state."""

    def __init__(self, cell: Cell, path: Path, code: Any, compiled: bool):
        self.space = vars(types.ModuleType(path.stem))
        self.space["__file__"] = self.path = str(path)
        exec(code, self.space)
        self.f = self.space["f"]
        if cell.mode == "grad":
            self.f = ft.grad(self.f, argnums=1 if cell.place == SELF else 0)
        if compiled:
            self.f = ft.compile(self.f, backend="llvm" if cell.mode == "machine" else "numpy")

    def step(self, change: float | None) -> tuple:
        """Change, and call; the result, or the error, and the state before and after the call."""
        if change is not None:
            self.space["change"](change)
        before = self.state()
        try:
            result = self.space["call"](self.f)
        except Exception as error:
            result = error
        return result, before, self.state()

    def state(self) -> Any:
        return shown(self.space["get"]()), self.space["count"]

    def enters(self) -> bool:
        """Tell if a call runs the function itself."""
        entered, before = set(), sys.getprofile()
        sys.setprofile(lambda frame, event, argument: entered.add(frame.f_code))
        try:
            self.step(None)
        finally:
            sys.setprofile(before)
        names = {code.co_name for code in entered if code.co_filename == self.path}
        return not names.isdisjoint(("f", "forward"))


def shown(x: Any, depth: int = 6) -> Any:
    """Return the contents of an object as something that is compared."""
    if not depth or isinstance(x, (ft.Tensor, type, types.FunctionType)):
        return type(x).__name__
    if isinstance(x, np.ndarray):
        return str(x.dtype), x.shape, x.flags.writeable, shown(x.tolist(), depth - 1)
    if isinstance(x, (list, tuple)):
        return [shown(y, depth - 1) for y in x]
    if isinstance(x, dict):  # a library may keep something of its own
        return [(k, shown(y, depth - 1)) for k, y in x.items() if str(k)[0] != "_"]
    if hasattr(x, "__dict__"):
        return type(x).__name__, shown(vars(x), depth - 1)
    return re.sub(" at 0x.*", "", repr(x))


def same(x: Any, y: Any, exact: bool) -> bool:
    """Tell if two results are the same to the last bit, or but for rounding; or two errors."""
    if type(x) is not type(y) or isinstance(y, Exception):
        return type(x) is type(y)
    if type(y) is tuple:
        return all(same(v, w, exact) for v, w in zip(x, y))
    if isinstance(y, (np.ndarray, np.generic, float)) and np.shape(x) == np.shape(y):
        x, y = np.asarray(x), np.asarray(y)
        close = not exact and np.allclose(x, y, 1e-12, 1e-12, equal_nan=True)
        return x.dtype == y.dtype and (close or x.tobytes() == y.tobytes())
    return bool(np.all(x == y))


class Outcome(NamedTuple):
    """How the call after the change was computed: by a program, a new trace or the function itself.

    `fault` is None where all calls were right.
    """

    how: str
    fault: str | None


def run(cell: Cell, folder: Path) -> Outcome:
    """Run a cell. A refusal is raised, and `Unfit`."""
    path = folder / f"user_{next(numbers)}.py"
    path.write_text(cell.source())
    code = compile(path.read_text(), str(path), "exec")
    plain, compiled = twins = [Twin(cell, path, code, which) for which in (False, True)]
    calls: list[tuple] = []
    traced, fault, how = [0], None, "program"
    try:
        for change in STEPS:
            calls.append(plain.step(change))
            if isinstance(calls[0][0], Exception):
                raise Unfit
            fault = fault or differs(compiled.step(change), calls[-1], cell.mode != "machine")
            traced.append(compiled.f._traced)
        if all(same(x, calls[0][0], True) and before == after for x, before, after in calls):
            raise Unfit
        if isinstance(fault, Exception):
            raise fault
        if traced[3] > traced[2]:
            how = "trace"
        elif not fault and compiled.enters():
            how = "function"
        return Outcome(how, fault)
    finally:
        for twin in twins:
            twin.space["change"](2.0)


def differs(found: tuple, wanted: tuple, exact: bool) -> Exception | str | None:
    """Return how a call differs from the plain one, or the error that it has raised alone."""
    if isinstance(found[0], Exception) and not isinstance(wanted[0], Exception):
        return found[0]
    if not same(found[0], wanted[0], exact):
        return f"{found[0]!r}, plain {wanted[0]!r}"
    return None if found[1:] == wanted[1:] else f"{found[1:]}, plain {wanted[1:]}"


def judge(counts: Verdicts, cell: Cell, folder: Path) -> tuple[str, str]:
    """Run a cell and count it; the verdict, and how a right one was computed."""
    outcomes: list[Outcome] = []

    def start() -> Outcome:
        outcomes.append(run(cell, folder))
        return outcomes[0]

    def check(outcome: Outcome) -> None:
        assert outcome.fault is None, outcome.fault

    return counts.judge(cell, start, check), outcomes[0].how if outcomes else ""


def cells(full: bool) -> Iterator[Cell]:
    """All cells; of a slice each way at each place is in one mode, in turn."""
    for n, (name, way) in enumerate(WAYS.items()):
        for k, place in enumerate(PLACES):
            if place == (way.place or place):
                if full:
                    yield from [Cell(name, place, mode) for mode in MODES]
                else:
                    yield Cell(name, place, MODES[-1 if (n + k) % 16 == 0 else (n + k) % 2])
