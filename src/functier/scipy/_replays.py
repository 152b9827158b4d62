"""Replays of a right-hand side: a program computes its value and its first derivatives.

NOTE [copies in a trace]
    A solver calls a right-hand side a thousand times, and each call in Python costs 20 times what
    its numbers do. A program has to be recorded outside of levels, and the function closes over
    tensors of the levels around it. So it is taken apart: its code is one thing, and what is in its
    cells, defaults and arguments are inputs. In the trace a copy closes over values of the trace.
    The next gradient has other tensors, and the same program.

NOTE [when the function itself runs]
    First for a few calls, which may be all. Then where a cell or a container has changed, or a
    tensor was written to; and from then on where the trace finds an effect, a draw or an object
    that cannot be watched, or where a new program does not give what the function gives. So a
    tensor that is reached in another way is met: its derivative is missing.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from threading import get_ident
from types import CellType, FunctionType
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._cpython.functions import LIVE, SOURCES, function_of, read_code
from .._mutation.array import was_written
from .._programs.compiled import LEVELS, LOCK, Compiled
from .._programs.entries import Mismatch
from .._programs.guards import is_strict
from .._programs.misses import Misses
from .._programs.outside import Unwatched
from .._transforms.jvp import jvp
from .._transforms.stop_gradient import stop_gradient
from .._transforms.vmap import vmap
from ._parts import Layout, NewBatch
from ._systems import System, as_state

FIRST = 64
"""The calls of the function itself before a trace pays."""

WARM = 2000
"""The replays before machine code pays."""

FEW = 4
"""The directions that are differentiated one after the other, as numbers; more are a batch."""

FLOAT = np.dtype(np.float64)
NEAR = 1e-6


class Refused(BaseException):
    """The function itself has to run, this time."""


# ---- what a function is made of ----


class Held:
    """The parts of a function that may change, with their values: cells, defaults and containers.

    A tensor that is written to has another value.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[Callable, Any, Any]] = []
        self.boxes: list[tuple[Any, list]] = []

    def add(self, x: Any, *getters: Callable) -> None:
        self.parts += [(get, x, get(x)) for get in getters]

    def add_box(self, x: Any) -> None:
        self.boxes.append((x, items_of(x)))

    def unchanged(self) -> bool:
        try:
            for get, x, before in self.parts:
                if get(x) is not before:
                    return False
        except ValueError:  # a cell is empty now
            return False
        for x, items in self.boxes:
            now = items_of(x)
            if len(now) != len(items) or not all(map(operator.is_, now, items)):
                return False
        return True


CONTENTS, VALUE, DEFAULTS, NAMED = map(
    operator.attrgetter, ("cell_contents", "_value", "__defaults__", "__kwdefaults__")
)


def items_of(x: list | dict) -> list:
    return [*x, *x.values()] if type(x) is dict else [*x]


class Taken:
    """A function and its arguments, taken apart: see NOTE [copies in a trace].

    `form` says how to make a copy, and can be compared; it refers to `tensors` and to `others` by
    their numbers. `held` is what may change, with the items that it has now.
    """

    def __init__(self, x: Any):
        self.tensors: list[Any] = []
        self.others: list[Any] = []
        self.held = Held()
        self._inside: set[int] = set()
        self.form = self._take(x)

    def is_input(self, x: Any) -> bool:
        return isinstance(x, Tensor) and bool(x.level.depth)

    def stays(self, x: Any) -> bool:
        """Return whether the copy has an object as it is."""
        return type(x) not in PARTED or is_global(x)

    def _take(self, x: Any) -> Any:
        kind = type(x)
        if self.is_input(x):
            self.tensors.append(x)
            self.held.add(x, VALUE)
            return Tensor, len(self.tensors) - 1
        if self.stays(x):
            self.others.append(x)
            return None, len(self.others) - 1
        if id(x) in self._inside:
            raise Refused
        self._inside.add(id(x))
        key, parts = self._divide(x)
        form = kind, key, tuple(map(self._take, parts))
        self._inside.discard(id(x))
        return form

    def _divide(self, x: Any) -> tuple[Any, Any]:
        """Return what is compared of an object, and its parts; note what may change."""
        kind = type(x)
        if kind is FunctionType:
            self.held.add(x, DEFAULTS, NAMED)
            key = (
                read_code(x),
                x.__globals__.get,
                x.__qualname__,
            )  # no trace looks into a method in C
            more = vars(x) or None
            return key, (x.__defaults__, x.__kwdefaults__, more, *(x.__closure__ or ()))
        if kind is CellType:
            self.held.add(x, CONTENTS)
            return None, (CONTENTS(x),)
        if kind is not tuple:
            self.held.add_box(x)
        return (tuple(x), x.values()) if kind is dict else (None, x)


PARTED = frozenset({tuple, list, dict, FunctionType, CellType})


def is_global(x: Any) -> bool:
    """Return whether a function is one of a module, which a program knows by its name."""
    return type(x) is FunctionType and x.__globals__.get(x.__name__) is x


def build(form: Any, tensors: Sequence, others: Sequence, held: Held, tells: bool = True) -> Any:
    """Return a copy of what was taken apart, over other values; note in `held` what may change.

    A function that was made in a trace `tells` that what it reads, or has the code as written.
    """
    kind, *rest = form
    if kind is Tensor or kind is None:
        return (others if kind is None else tensors)[rest[0]]
    key, parts = rest
    found: Any = [build(part, tensors, others, held, tells) for part in parts]
    if kind is tuple:
        return tuple(found)
    if kind is FunctionType:
        code, names, title = key
        code = code if tells else SOURCES.get(code, code)
        defaults, named, more, *cells = found
        made = function_of(code, names.__self__, title, defaults, named, tuple(cells))
        vars(made).update(more or ())
        held.add_box(vars(made))
        return made
    if kind is CellType:
        cell = CellType(*found)
        held.add(cell, CONTENTS)
        return cell
    if kind is functools.partial:
        func, args, named = found
        return functools.partial(func, *args, **named)
    if kind is dict:
        found = dict(zip(key, found))
    held.add_box(found)
    return found


# ---- programs ----


class Debts(Misses):
    """Misses that warn nobody: the function itself runs for a while."""

    def add(self, *cost: int) -> bool:
        super().add(*cost)
        return False


class Program(Compiled):
    """A compiled function for a solver, which is recorded or refused.

    `count` is that of its traces. One for an example of several may not ask for an answer, which
    the function itself would give for all or refuse.
    """

    def __init__(self, func: Callable, backend: str, batched: bool):
        super().__init__(func, backend, False, "retrace")
        self._misses, self.count, self.batched = Debts(), 0, batched

    @property
    def rests(self) -> bool:
        """Return whether the function itself runs for some calls, after many traces."""
        return self._odd

    def replay(self, *given: Any) -> Any:
        """Return what the function gives outside of levels; the program that held last is first."""
        for variant in () if self._odd else self._variants:
            try:
                found = variant.entry(*given)
            except (Mismatch, Exception):
                continue
            if variant is not self._variants[0]:
                with LOCK:
                    self._variants = tuple(sorted(self._variants, key=lambda v: v is not variant))
            return found
        outer = AMBIENT.get()
        try:
            AMBIENT.set(Tensor)
            return self(*given)
        finally:
            AMBIENT.set(outer)

    def _record(self, *given: Any) -> Any:
        self.count += 1
        found = super()._record(*given)
        if found.program.writes or (self.batched and found.program._guards):
            raise Unwatched("it writes to an array, or asks for an answer")
        return found

    def _rest(self, reason: str, how: str = "") -> None:
        raise Unwatched(reason)


class Programs:
    """The programs of a right-hand side for directions of these sizes.

    `backends` are that of NumPy, and the one for many calls. `calls` counts, and `refused` tells
    that the function itself has to run.
    """

    def __init__(self, key: Any, n: int, sizes: tuple[int, ...], vectorized: bool):
        self.calls, self.refused = 0, False
        form, _, batched = key

        def slope(t: Any, vector: Any, xs: tuple, tangents: tuple, others: tuple) -> Any:
            level: Any = AMBIENT.get().level
            if not level.guards:
                raise Refused  # a compiled function runs as it is
            level.reads.strict = True
            y = vector[:n]

            def value(y: Any, *xs: Any) -> Any:
                held = Held()
                fun, args = build(form, xs, others, held)
                level.reads.call_later(fun)
                if sizes:
                    found = System(fun, args, vectorized)(t, y)
                else:
                    found = as_state(fun(t, y, *args))
                if not held.unchanged() or any(map(was_written, (y, *xs))):
                    raise Unwatched("it changes what it closes over")
                return found

            if not sizes:
                return value(vector, *xs)

            def along(direction: Any, *tangents: Any) -> Any:
                return jvp(value, (y, *xs), (direction, *tangents))

            rows = np.reshape(vector[n:], (-1, n))
            if len(rows) <= FEW:
                pairs = [along(row, *[x[k] for x in tangents]) for k, row in enumerate(rows)]
                return np.concatenate([pairs[0][0], *[d for _, d in pairs]])
            first, found = vmap(along, out_dims=(None, 0))(rows, *tangents)
            return np.concatenate([first, np.reshape(found, -1)])

        names = "numpy", "auto" if sizes else "numpy"
        self.backends = [Program(slope, name, batched) for name in names]


programs_of = functools.lru_cache(128)(Programs)


class Replay:
    """A function of time and vector that replays the right-hand side of an example.

    `run` is that function as it is. `sizes` has the paths of the vector behind the value, with the
    number of directions of each; it is empty for the value alone. `start` is the place in the slope
    from which on it is asked for.
    """

    def __init__(
        self, run: Callable, system: Any, layout: Layout, e: tuple, sizes: dict, start: int = 0
    ):
        self.run, self.system, self.layout, self.e = run, system, layout, e
        self.sizes, self.start = sizes, start
        self.bound = False
        self.programs: Programs | None = None
        self.given: tuple = ()
        self.held = Held()

    def __call__(self, t: Any, vector: Any) -> Any:
        if not self.bound:
            found = self.run(t, vector)
            self.bound = True
            self._bind(vector)
            return found
        programs = self.programs
        if programs is None or programs.refused:
            return self.run(t, vector)
        programs.calls += 1
        if programs.calls < FIRST or not self.held.unchanged():
            return self.run(t, vector)
        program = programs.backends[programs.calls > WARM]
        count = program.count
        try:
            with AMBIENT.get().level.forgotten():
                found = program.replay(t, vector, *self.given)
                found = found[self.start :] if self.start else found
        except (Exception, Unwatched, Refused) as error:
            programs.refused = type(error) is not Refused or not program.rests
            return self.run(t, vector)
        if program.count == count:
            return found
        programs.refused = True  # if the function itself raises
        own = self.run(t, vector)
        programs.refused = not self._is_same(found, own)
        return own

    def _is_same(self, found: Any, own: Any) -> bool:
        if not self.sizes:
            return np.array_equal(found, own, equal_nan=True)
        return np.allclose(found, own, NEAR, NEAR * np.max(np.abs(own), initial=0.0))

    def _bind(self, vector: Any) -> None:
        """Find the programs of the function, and what they are called with."""
        system, layout, used = self.system, self.layout, {*self.layout.used}
        kinds = [level.differentiates or level.batches for level in layout.stages]
        if (
            type(system) is not System or layout.order > 1 or vector.dtype != FLOAT
            or not all(kinds) or "series" in kinds or LEVELS or is_strict()
            or get_ident() in LIVE  # a trace is on
        ):  # fmt: skip
            return
        try:
            taken = Taken((system.fun, system.args))
            pairs = [self._parts(x) for x in taken.tensors]
        except (Refused, NewBatch, ValueError):  # the last for an empty cell
            layout.used = used
            return
        sizes = tuple(self.sizes.values())
        values, tangents, unmet = zip(*pairs) if pairs else ((), (), ())
        self.given, self.held = (values, tangents, tuple(taken.others)), taken.held
        n = len(vector) // (1 + sum(sizes))
        key = taken.form, unmet, bool(self.e)
        self.programs = programs_of(key, n, sizes, system.vectorized)

    def _parts(self, x: Any) -> tuple[Any, Any, bool]:
        """Return the value of a tensor, its tangents in all directions, and if it has others."""
        if was_written(x):
            raise Refused
        layout, e, zero = self.layout, self.e, self.layout.zero
        parts = layout.parts(x) if self.sizes else layout.parts(stop_gradient(x))
        if any([part.dtype != FLOAT for part in parts.values()]):
            raise Refused
        value = parts.pop(zero)[e]
        shape = np.shape(value)
        rows = [np.zeros((*shape, 0))]
        for path, size in self.sizes.items():
            part = parts.pop(path, None)
            part = np.zeros((*shape, size)) if part is None else part[e]
            rows.append(np.reshape(part, (*shape, size)))
        return value, np.moveaxis(np.concatenate(rows, -1), -1, 0), bool(parts)
