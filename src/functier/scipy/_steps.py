"""Calls of SciPy's solvers as single steps of a program.

NOTE [a solver is one step]
    A solver chooses by values, which no trace follows. So a program calls it as a whole. The call
    is taken apart as a right-hand side is (see `_replays`): what its functions close over are the
    inputs of the step, beside the arguments. The step makes copies of the functions over plain
    values, and calls the twin. Its derivatives and batches are other steps: see `_custom.steps`.

NOTE [what a step does not see]
    Objects from outside stay as they are, and are read in each call. A value of the trace that is
    reached through an object is no input. So an object that was made inside is not taken, nor a
    function that changes what it closes over, or that computes with other values of the trace.
    Where a result has another form than in the trace, the step raises, and a new trace follows.
"""

import functools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import ConversionError, DataDependentError, LevelError, UnsupportedError
from .._core.pytree import is_value
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._cpython.functions import read_code
from .._cpython.homes import is_followed
from .._custom.steps import Step
from .._levels.lineage import levels_of
from .._mutation.array import Array, settle, was_written
from .._programs.graph import form_of
from .._programs.objects import IMMUTABLE
from .._transforms.chunks.streams import record_draws
from .._transforms.stop_gradient import stop_gradient
from ._replays import PARTED, Held, Refused, Taken, build, is_global

ndarray = np.ndarray


# ---- what a call is made of ----


class Given(Taken):
    """The arguments of a call, taken apart: see NOTE [what a step does not see]."""

    def __init__(self, x: Any, level: Any):
        self.outer = None if level.reads is None else level.reads.outer
        self.places: dict[int, int] = {}
        super().__init__(x)

    def is_input(self, x: Any) -> bool:
        return type(x) is ndarray or super().is_input(x)

    def stays(self, x: Any) -> bool:
        if type(x) is FunctionType and (is_global(x) or not (x.__closure__ or self.is_users(x))):
            return True
        if isinstance(x, (*IMMUTABLE, BuiltinFunctionType, ModuleType)):
            return True
        if self.outer is None or id(x) in self.outer:
            return type(x) not in PARTED or self.outer is not None
        if type(x) in PARTED or isinstance(x, functools.partial):
            return False
        if isinstance(x, MethodType) and self.stays(x.__self__):
            return True
        raise Refused

    def is_users(self, x: Any) -> bool:
        return is_followed(read_code(x))

    def _take(self, x: Any) -> Any:
        x = settle(x) if type(x) is Array else x
        if self.is_input(x):
            place = self.places.setdefault(id(x), len(self.tensors))
            if place == len(self.tensors):
                self.tensors.append(x)
            return Tensor, place
        return super()._take(x)

    def _divide(self, x: Any) -> tuple[Any, Any]:
        if isinstance(x, functools.partial):
            if type(x) is not functools.partial or vars(x):
                raise Refused
            return None, (x.func, x.args, x.keywords)
        return super()._divide(x)


LEAF = object()


def opened(x: Any, leaves: list) -> Any:
    """Return the structure of a result, and put its values into `leaves`."""
    kind = type(x)
    if is_value(x):
        leaves.append(x)
        return LEAF
    if x is None or kind is str:
        return x
    if isinstance(x, (tuple, list)):
        return kind, None, tuple([opened(part, leaves) for part in x])
    if isinstance(x, dict):
        return kind, tuple(x), tuple([opened(part, leaves) for part in x.values()])
    raise UnsupportedError(f"its result has a {kind.__name__}")


def closed(structure: Any, leaves: Any) -> Any:
    """Return the result of a structure, with the next values of the iterator `leaves`."""
    if structure is LEAF:
        return next(leaves)
    if type(structure) is not tuple:
        return structure
    kind, keys, parts = structure
    found = [closed(part, leaves) for part in parts]
    if keys is not None:
        made = kind.__new__(kind)  # SciPy's classes of results have other arguments
        dict.update(made, zip(keys, found))
        return made
    return kind(*found) if hasattr(kind, "_fields") else kind(found)


class Solver:
    """A call of a twin as a function of the values that its arguments have."""

    def __init__(self, twin: Callable, name: str, given: Given):
        self.twin, self.name = twin, name
        self.form, self.others = given.form, given.others
        self.structure: Any = None
        self.reads: Any = None  # those of a trace, while it runs in one

    def __call__(self, *leaves: Any, **more: Any) -> list:
        held, found = Held(), list[Any]()
        args, kwargs = build(self.form, leaves, self.others, held, self.reads is not None)
        if self.reads is not None:
            for x in (*args, *kwargs.values()):
                if callable(x):
                    self.reads.call_later(x)
        result = self.twin(*args, **kwargs, **more)
        if not held.unchanged():
            raise UnsupportedError("a function that it calls changes what it closes over")
        structure = opened(result, found)
        if self.structure is None:
            self.structure = structure
        elif structure != self.structure:
            raise UnsupportedError("its result has another structure")
        return found


# ---- the step in a program ----


class Run:
    """A function of leaves as a program calls it: its results have the forms of the trace.

    That is checked also where nobody needs the results, as Python code has seen their shapes.
    """

    checks = True

    def __init__(self, call: Callable, name: str, level: Any):
        self.call, self.level = call, level
        self.__name__, self.qualified_name = name.rpartition(".")[2], name
        self.forms: list | None = None

    def __call__(self, *leaves: Any) -> tuple:
        given = [x.view() if type(x) is ndarray else x for x in leaves]
        for x in given:
            if type(x) is ndarray:
                x.flags.writeable = False
        level = self.level
        before = level and (len(level.nodes), len(level.answers))
        try:
            outs = self.call(*given)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise UnsupportedError(
                "a function that it calls writes to what it closes over"
            ) from error
        if level and before != (len(level.nodes), len(level.answers)):
            raise UnsupportedError(
                "a function that it calls uses values of the trace that are in objects"
            )
        if classes_in(*outs):
            raise UnsupportedError("its result depends on values of the trace that are in objects")
        forms = [*map(form_of, outs)]
        if self.forms is None:
            self.forms = forms
        elif forms != self.forms:
            raise UnsupportedError("its result has other shapes")
        return tuple(outs)


def recorded(solver: Solver, level: Any, call: Callable, leaves: list) -> list:
    """Return the results of a call that is one step of the program of `level`."""
    run, before, reason = Run(call, solver.name, level), level.unanswered, ""
    solver.reads = level.reads
    try:
        with record_draws() as drawn:
            found = level.record(run, tuple(leaves), {})
        if drawn.states or drawn.seeds:
            reason = "a function that it calls draws random numbers"
    except (UnsupportedError, LevelError) as error:
        reason = str(error)
    finally:
        solver.reads = run.level = None
    if not reason:
        return list(found)
    level.unanswered = before
    if level.reads is not None:
        level.reads.unwatched(f"{solver.name} is no step of a program: {reason}")
    raise level.refusal(
        ConversionError,
        f"{solver.name} is no step of a program: {reason}; call it outside, and trace the function "
        f"that it calls",
    )


def around(cls: type[Tensor]) -> Any:
    """Return the level of the trace around, or None where a call is not a step of its program."""
    *inner, level = levels_of(cls)
    if not (level.guards and level.live) or any([
        one.off or not one.live or not (one.batches or one.differentiates in ("forward", "reverse"))
        for one in inner
    ]):  # fmt: skip
        return None
    return level


FEW = 64
"""A loop has up to so many numbers as parameters: a directional derivative for each."""


class Loop(Solver):
    """A solver that is a loop of the program.

    Its values are those of the call without derivatives, also where these have steps of their own.
    """

    own_steps = True

    def __call__(self, *leaves: Any, **more: Any) -> list:
        fixed = [stop_gradient(x) for x in leaves]
        moves = not all(map(operator.is_, fixed, leaves))
        if not (moves and self.own_steps):
            return super().__call__(*leaves, moves=moves, checked=moves)
        values = super().__call__(*fixed, moves=False, checked=True)
        found = super().__call__(*leaves, moves=True, checked=False)
        return [x + (y - stop_gradient(y)) if has_change(y) else x for x, y in zip(values, found)]


def has_change(x: Any) -> bool:
    return stop_gradient(x) is not x


def moving(given: Given) -> int:
    """Return how many numbers a call is differentiated by."""
    levels = [(np.size(x), levels_of(type(x))) for x in given.tensors if isinstance(x, Tensor)]
    return sum([size for size, found in levels if any([one.differentiates for one in found])])


def as_loop(loop: Callable, name: str, given: Given, level: Any, derivative: Any) -> Any:
    """Return the result of a loop of the program that does what a solver does; None if it cannot.

    `loop` raises `NotImplementedError` where it does not know a call.
    """
    tensors = [x for x in given.tensors if isinstance(x, Tensor)]
    if not level.repeats or moving(given) > FEW or any(map(was_written, tensors)):
        return None
    solver = Loop(loop, name, given)
    solver.own_steps = derivative != "steps"
    solver.reads = level.reads
    answers = len(level.answers)
    try:
        with AMBIENT.get().level.forgotten():
            outs = Step(solver, name).step(solver, given.tensors)
    except (NotImplementedError, UnsupportedError, DataDependentError):
        outs = None
    if outs is None or any(map(was_written, tensors)):
        del level.answers[answers:]
        return None
    return closed(solver.structure, iter(outs))


def as_step(
    twin: Callable, loop: Callable | None = None, backward: Callable | None = None
) -> Callable:
    """Return a twin whose call is one step, or a `loop`, where a program is recorded.

    ``backward(count, args, kwargs)`` tells if reverse mode by `count` numbers takes a way of its
    own, which a Jacobian would take for each row.
    """

    @functools.wraps(twin)
    def call(*args: Any, **kwargs: Any) -> Any:
        cls = AMBIENT.get()
        level = None if cls is Tensor else around(cls)
        if level is None:
            return twin(*args, **kwargs)
        try:
            given = Given((args, kwargs), level)
        except (Refused, ValueError):  # the latter for an empty cell
            return twin(*args, **kwargs)
        if not any([isinstance(x, Tensor) for x in given.tensors]):
            return twin(*args, **kwargs)
        name = f"{twin.__module__.rpartition('._')[0] or twin.__module__}.{twin.__name__}"
        if loop is not None:
            found = as_loop(loop, name, given, level, kwargs.get("derivative"))
            if found is not None:
                return found
        solver = Solver(twin, name, given)
        record = functools.partial(recorded, solver)
        alone = backward is not None and backward(moving(given), args, kwargs)
        outs = Step(solver, name, record, alone).step(solver, given.tensors)
        return closed(solver.structure, iter(outs))

    return call
