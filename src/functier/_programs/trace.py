"""`trace`: a function at some arguments as a program."""

import functools
import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Container, Iterator
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._core.ambient import AMBIENT
from .._core.border import check_leaf
from .._core.errors import LevelError, MutationError, RandomnessError
from .._core.pytree import (
    check_callable,
    flatten,
    is_value,
    name_of_function,
    parts_of,
    paths,
)  # fmt: skip
from .._core.reached import Generators
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from .._cpython.functions import set_hook
from .._levels.memory import meet
from .._levels.runs import run
from .._mutation.array import settle, was_written
from ..progress import during
from .arguments import check_static, closed, facts_of, is_same, opened
from .dependencies import Watch
from .outside import Unwatched
from .passes import optimized
from .program import Program
from .recorder import RecordLevel
from .signature import title_of
from .trusted import settle_trust
from .watching import watched

DYNAMIC = float, complex


def is_dynamic(x: Any) -> bool:
    """Return whether a leaf of the arguments is an input of the program; others are part of it."""
    return isinstance(x, (np.ndarray, np.generic)) or type(x) in DYNAMIC


@checks_keywords
def trace(func: Callable) -> Callable[..., Program]:
    """Make a function that records a call of `func` as a flat program of NumPy calls.

    Parameters
    ----------
    func : callable
        A function of arrays, numbers or pytrees, or a transform of one, such as
        ``functier.vmap(functier.grad(f))``.

    Returns
    -------
    callable
        ``trace(func)(*args, **kwargs)`` calls `func` and returns the `Program` for arguments of
        this form. Arrays, NumPy scalars, and Python's float and complex numbers are its inputs. All
        other arguments are built into it.

    Raises
    ------
    ConversionError
        If the function turns a value into a plain number, as ``float(x)`` does.
    LevelError
        If it is called inside another transform or while a mode or a debugger is on, or if the
        function returns an object that holds values but is not a pytree.
    MutationError
        If the function uses a large plain array and writes to it later, or puts a value into a
        container or a module that it was given.
    RandomnessError
        If the function draws from a NumPy generator or from Python's `random`, or makes a generator
        without a seed. Draws from `functier.random` are made anew in each call.

    Notes
    -----
    What the function reads besides its arguments is built in with its present value: closed-over
    arrays, globals, files, attributes. Where Python code asks whether a value is true, or for an
    integer, the program checks in each call that the answer is the same.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> def f(x):
    ...     return np.sum(np.sin(x) * x)
    >>> program = ft.trace(ft.grad(f))(np.ones(3))
    >>> program(np.zeros(3))
    array([0., 0., 0.])
    """
    check_callable("trace", func)

    return Traced(func)


class Traced:
    """A function of the arguments of another one, which returns its program for them."""

    __wrapped__: Callable

    def __init__(self, func: Callable):
        functools.update_wrapper(self, func, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Program:
        func = self.__wrapped__
        try:
            return record(func, args, kwargs, current_frame(1)).program
        except BaseException as error:
            leave(error, f"trace({name_of_function(func)})", func, args, kwargs)
            raise

    def __repr__(self) -> str:
        return f"<functier.{self.nested_label()}>"

    def nested_label(self) -> str:
        label = getattr(type(self.__wrapped__), "nested_label", name_of_function)
        return f"trace({label(self.__wrapped__)})"


class Record(NamedTuple):
    """A program, the result of the call that was traced, and what that entered."""

    program: Program
    values: Any
    watch: Watch
    leaves: list
    captured: list

    def finish(self) -> Any:
        """Return the result of the call that was traced, after its writes to the arguments."""
        program = self.program
        if not program.writes:
            return program._out.unflatten(self.values)
        written = [self.leaves[i] for i in program.writes]
        if not all([x.flags.writeable for x in written]):
            raise ValueError("assignment destination is read-only")  # as NumPy says it
        for x, value in zip(written, self.values[-len(written) :]):
            x[...] = value
        values = [self.leaves[program.same[k]] if k in program.same else y
                  for k, y in enumerate(self.values)]  # fmt: skip
        return program._out.unflatten(values)[0]


def record(
    func: Callable, args: tuple, kwargs: dict, frame: Any, transform: str = "trace",
    keep: bool | None = None, careful: bool = False, flags: bool = False,
    numbers: Container[int] = (), moving: frozenset = frozenset(), wholes: Any = None,
) -> Record:  # fmt: skip
    """Record a call, for the transform that the user has called.

    What the function reads is noted if `keep` is no None: see `Watch`. `numbers` has the places of
    the whole numbers among the leaves that are inputs, too. A `careful` one trusts no value to be
    finite as it is in the trace; `flags` say what is: see `trusted`. The ways in `moving` lead to
    arrays that are inputs from their first use on. Functions of libraries that are made of others
    are recorded as these, but for those in `wholes`, if that is given.
    """
    name = name_of_function(func)
    label = f"{transform}({name})"
    given = opened((args, kwargs) if kwargs else args, label)
    leaves, structure = flatten(given, label, "the arguments")
    roots = roots_of(func, args, kwargs)
    places = paths_of_leaves(roots, given, tuple(kwargs))
    for x, path in zip(leaves, places):
        if isinstance(x, Tensor) and x.level.depth:
            if not x.level.live:
                x.level.release(x, Tensor.level)  # which raises
            raise LevelError(
                f"{label}: an argument is a tensor of {x.level}, and a trace must be outermost; "
                f"call functier.trace(functier.vmap(f)), the trace of the transform",
                named=True,
            )
        if type(x) is not np.ndarray and isinstance(x, np.ndarray):
            check_leaf(label, f"the argument {path}", x)
    outer = AMBIENT.get()
    if outer is not Tensor and outer.level.live:
        raise LevelError(
            f"{label}: the call is inside {outer.level}, and a trace must be outermost; make the "
            f"program outside, or call functier.compile(f), which is f itself inside a transform",
            named=True,
        )
    dynamic = [is_dynamic(x) or i in numbers for i, x in enumerate(leaves)]
    check_static(label, leaves, dynamic, places)
    names = [re.sub(r"\W+", "_", path).strip("_") for path in places]
    level = RecordLevel.prepare(label, "dead", frame, [])
    before = global_state()
    recording = during(
        f"{label}: recording", lambda: len(getattr(level, "nodes", ())), unit=" calls"
    )
    watched_call = Watch(
        func, *leaves, given=(args, kwargs), keep=keep, tries=bool(numbers or moving)
    )
    with recording, watched_call as watch:
        level.watch, level.note, level.reads = watch, watch.noting, watch.reads
        level.careful, level.wholes = careful, wholes
        if watch.reads is not None:
            watch.reads.level, watch.reads.moving = level, moving
        writes = transform != "trace"
        static = tuple(kwargs), dynamic, writes, (args, kwargs) if kwargs else args
        recorded = run(level, _record, (func, leaves, structure, *static))
        graph, values, out, trusted, careful, written, same, twins, asked = recorded
        others = watch.reads is not None and not watch.reads.draws  # other threads
        check_draws(label, watch, not others and global_state() != before)
        outside = [] if watch.reads is None else watch.reads.arrays()
        if any([meet(leaves[i], x) for i in written for x in outside]):
            raise Unwatched(
                "it writes to an argument that shares memory with an array that it reads"
            )
    captured = [x for x, _ in level.captured.values()]
    for x in captured if written else ():
        level.reads.identity(x)  # now that it is known which memory the writes do not touch
    doubts = settle_trust(graph, trusted, values, flags) if writes else ""
    with during(f"{label}: simplifying {len(graph.nodes):,} calls"):
        graph = optimized(graph)
    program = Program(
        title_of(func), graph, structure, leaves, dynamic, out, names,
        roots, tuple(kwargs), facts_of(structure), captured,
    )  # fmt: skip
    program._size = len(values)
    program.careful, program.doubts, program.mixed = careful, doubts, careful and bool(trusted)
    program.writes, program.same = written, same
    program.twins, program.asked = twins, asked
    program.outside = [ref(x) for x in outside] if written else []
    return Record(program, values, watch, leaves, captured)


def check_draws(label: str, watch: Watch, moved: bool) -> None:
    """Raise where the numbers of the trace would be the same in each call of the program."""
    found = watch.moved()
    if moved or any([id(x) in Generators.of_modules().states for x in found]):
        what = "draws from NumPy's global generator, or Python's"
        remedy = "draw outside, and pass the numbers in; or draw from functier.random.default_rng"
    elif found:
        what = f"draws from NumPy's {type(found[0]).__name__}"
        remedy = "write functier.random.default_rng(seed) where it is made"
    elif watch.entropy:
        what = "asks the system for a seed, as a generator without one does"
        remedy = "write functier.random.default_rng(seed)"
    else:
        return
    raise RandomnessError(
        f"{label}: the function {what}, and the numbers would be the same in each call of the "
        f"program; {remedy}",
        named=True,
    )


def _record(level: RecordLevel, given: tuple) -> tuple:
    """Return the graph, the values and the structure of the result, and facts of the program.

    With `writes` the result is a pair, where the function writes to arrays among its arguments: the
    function's own, and what these arrays have at the end.
    """
    func, leaves, structure, keywords, dynamic, writes, original = given
    set_hook(None)  # the code that makes and flattens pytrees does not belong to the function
    places = [i for i, on in enumerate(dynamic) if on]
    inner = list(leaves)
    for i, x in zip(places, level.begin([leaves[i] for i in places])):
        inner[i] = x
    twins = twins_in(leaves) if writes else {}
    for i, first in twins.items():
        inner[i] = inner[first]
    args = closed(structure.unflatten(inner))
    opened_leaves = flatten(opened(args), level, "the arguments")[0]
    level.arguments = [[x for i, x in enumerate(opened_leaves) if i not in twins], None, None]
    before = parts_of(opened(args))[1]
    if level.reads is not None:
        level.reads.given(original, args)
    if keywords:
        named = {name: args[1][name] for name in keywords}
        result = watched(level, func, args[0], named)
    else:
        result = watched(level, func, args, {})
    written = [i for i in places if was_written(inner[i]) and i not in twins] if writes else []
    own = {id(inner[i]): i for i in written}
    same = {k: own[id(y)] for k, y in enumerate(parts_of(result)[0]) if id(y) in own} if own else {}
    if written:
        result = result, [inner[i] for i in written]
    outputs, out = flatten(settle(result), level, "the result")
    outputs = [level.taken_out(y) for y in outputs]
    if any([was_written(x) for _, x in level.captured.values()]):
        level.reads.unwatched("it writes to an array that was made outside")
    check_unchanged(level, args, inner, before)
    check_result(level, outputs)
    values = [level.lower(y) if isinstance(y, Tensor) else y for y in outputs]
    graph, asked = level.graph(outputs), level.asked
    return graph, values, out, level.trusted, level.careful, written, same, twins, asked


def twins_in(leaves: list) -> dict[int, int]:
    """Return the places of arrays that were given before, and where; they are one tensor."""
    first: dict[int, int] = {}
    found = {}
    for i, x in enumerate(leaves):
        if type(x) is np.ndarray and first.setdefault(id(x), i) != i:
            found[i] = first[id(x)]
    return found


def check_unchanged(level: RecordLevel, args: Any, leaves: list, structure: Any) -> None:
    """Raise where the function has changed a container or a module among its arguments."""
    found, now = parts_of(opened(args))
    if now != structure or not all(map(is_same, found, leaves)):
        raise level.refusal(
            MutationError,
            "the function puts another value into a container or a module that it was given, which "
            "later calls of the program would not do; return the value, or change a copy",
        )


def check_result(level: RecordLevel, outputs: list) -> None:
    """Raise where the function returns an object that may have values of the trace inside."""
    for y in outputs:
        over = type(y) in OVER_TENSORS
        if over and level.reads is not None:
            level.reads.unwatched(f"it returns an array of the class {type(y).__name__}")
        if (is_value(y) and not over) or isinstance(y, (Tensor, type, Enum, ModuleType)):
            continue
        inside = getattr(y, "__closure__", None) if isinstance(y, FunctionType) else has_parts(y)
        if over or inside or isinstance(y, (Iterator, Awaitable, MethodType, functools.partial)):
            raise level.refusal(
                LevelError,
                f"the function returns a {type(y).__name__}, whose values would be those of the "
                f"trace; return arrays, or containers of them (functier.register_pytree_node "
                f"makes a class one)",
            )


def has_parts(x: Any) -> bool:
    """Return whether an object of a class of Python code has attributes."""
    home = type(x).__module__.partition(".")[0]
    if home == "numpy":
        return False
    if getattr(x, "__dict__", None):
        return True
    return home not in sys.stdlib_module_names and any(
        [hasattr(base, "__slots__") for base in type(x).__mro__]
    )


def global_state() -> Any:
    """Return the places in the streams of the global generators of NumPy and of Python."""
    return Generators.of_modules().states


def roots_of(func: Callable, args: tuple, kwargs: dict) -> list[str]:
    """Return a name for each argument: that of its parameter."""
    try:
        parameters = list(inspect.signature(func).parameters)
    except (TypeError, ValueError):
        parameters = []
    roots = [parameters[i] if i < len(parameters) else f"x{i}" for i in range(len(args))]
    return roots + sorted(kwargs)


def paths_of_leaves(roots: list[str], given: Any, keywords: tuple[str, ...]) -> list[str]:
    """Return the path of each leaf of the arguments, from the name of its parameter on."""
    args, named = given if keywords else (given, {})
    values = *args, *[named[k] for k in sorted(keywords)]
    return [path for name, x in zip(roots, values) for path in paths(x, name)]
