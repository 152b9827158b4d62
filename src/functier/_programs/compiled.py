"""`compile`: a function that is traced in its first call, and replayed in later ones."""

import functools
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from types import FunctionType, MethodType
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from .._core.ambient import AMBIENT
from .._core.blocks import EVENTS
from .._core.errors import ConversionError
from .._core.numpy_private import SETTINGS
from .._core.pytree import check_callable, flatten, name_of_function
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.frames import current_frame
from ..progress import during
from .arguments import opened
from .backends import has_llvm, machine_of
from .bound import Bound, Objects, calling, has_method, has_state, is_tree
from .entries import Mismatch, again, entry_of
from .guards import Guards, is_strict
from .integers import Changing
from .misses import LIMIT, Misses
from .objects import reached_from
from .outside import Unwatched
from .program import Program
from .rolling import runs_long, tell_if_slow
from .shown import Text, card_of
from .trace import record

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

LEVELS = EVENTS["level"]

MOST = 16
"""The greatest number of programs that are kept for one function."""

LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):  # else a process that is forked while it is held would wait
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )

BACKENDS = "auto", "numpy", "llvm"
CHANGES = "retrace", "raise"
UNWATCHED = "run", "keep"
HOW = "; a later call may differ, so pass it in, or write on_unwatched='keep' if it never matters"


class Variant(NamedTuple):
    """A program with its entry, and what it depends on."""

    entry: Callable
    program: Program
    guards: Guards
    notes: list[Any]
    strides: list[Any]


class Compiled(Generic[P, R]):
    """A function that `compile` made: see there."""

    stands_for = "__wrapped__"  # what a trace looks into
    _repr_html_ = card_of

    def __init__(
        self, func: Callable[P, R], backend: str, fastmath: bool, on_change: str, threads: int = 1,
        warm: bool = False, on_unwatched: str = "run",
    ):  # fmt: skip
        functools.update_wrapper(self, func, updated=())
        self.__wrapped__ = func
        self._state = has_state(func)
        self._func = calling(func) if self._state else func
        self.backend, self.fastmath, self.on_change = backend, fastmath, on_change
        self.threads, self.warm, self.on_unwatched = threads, warm, on_unwatched
        self._unwatched, self._seen = "", False  # why, and if, the function itself has run
        self._variants: tuple[Variant, ...] = ()
        self._changed = "something that the function reads"
        self._traced = 0
        self._careful = False  # whether the next trace is
        self._objects = Objects()
        self._misses, self._changing = Misses(), Changing()
        self._odd = self._state  # or it has a debt; one test then shows that a call is a common one

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            strict = SETTINGS(None) is not None and is_strict()
            if strict or LEVELS or AMBIENT.get() is not Tensor:
                # A transform or a mode sees its calls, `numpy.errstate` its errors of arithmetic.
                self._seen = True
                return self.__wrapped__(*args, **kwargs)
            if self._odd:
                if self._misses.rest():
                    return self.__wrapped__(*args, **kwargs)
                self._odd = self._state or self._misses.debt > 0
                if self._state:
                    args = self.__wrapped__, *args  # type: ignore[assignment]
            for variant in self._variants:
                try:
                    return variant.entry(*args, **kwargs)
                except (Mismatch, Exception):
                    # An error too: the function may catch it, and go on in another way.
                    continue
            return self._first(args, kwargs, current_frame(1))
        except BaseException as error:
            leave(error, f"compile({name_of_function(self._func)})", self._func, args, kwargs)
            raise

    def _first(self, args: tuple, kwargs: dict, frame: Any) -> Any:
        """Trace a call for whose arguments there is no program that holds."""
        if args and self._is_method_of(args[0]):
            return self._of(args[0])(*args[1:], **kwargs)
        func = self._func.method() if type(self._func) is Bound else self._func
        label = f"compile({name_of_function(func)})"
        leaves, structure = flatten(opened((args, kwargs), label), label, "the arguments")
        if any([isinstance(x, Tensor) for x in leaves]):
            return func(*args, **kwargs)
        self._forget()
        # No lock is held here: the function may wait for a thread that calls this one.
        numbers = self._changing.inputs(leaves, structure)
        begin = time.perf_counter()
        try:
            found = self._record(func, args, kwargs, frame, numbers)
        except ConversionError as error:
            self._rest(str(error).partition(": ")[2], "")
            return func(*args, **kwargs)
        except Unwatched as error:
            self._rest(str(error))
            return func(*args, **kwargs)
        tell_if_slow(begin, label, "recording", found.program._graph, 4)
        self._changing.note(numbers, structure, found.program)
        reads = found.watch.reads
        facts = [*reads.found.values()]
        if reads.reason:  # what the function itself changes is not a reason to trace again
            facts = [fact for fact in facts if Guards([fact]).unchanged()]
        kept = [x for x in reached_from([func]) if type(x) is FunctionType]
        guards = Guards(facts, kept, found.captured)
        found.program.read = guards.unchanged
        if found.program.mixed:  # it is right for values that are finite where those of today are
            self._careful = True
            return found.finish()
        if (reads.reason and not self._keeps) or not guards.unchanged():
            self._rest(reads.reason or f"it changes {guards.changed()[0]}")
            return found.finish()
        self._unwatched = reads.reason or ""
        reads.forget()
        notes: list[Any] = []
        cold = self._machine and not (self.warm or runs_long(found.program._graph))
        if self._machine and not cold:
            notes = self._machine_of(found.program, found.program._graph, label)
        entry = entry_of(found.program, args, kwargs, guards, found.program._checks, cold)
        if cold:
            entry = self._cold(found.program, entry, guards, notes, label)
        with LOCK:
            strides = [getattr(x, "strides", None) for x in leaves]
            others = [
                v for v in self._variants
                if v.strides != strides or not v.program.is_like(found.program)
            ]  # fmt: skip
            new = Variant(entry, found.program, guards, notes, strides)
            known = sorted((new, *others[: MOST - 1]), key=lambda v: v.program.careful)
            self._variants, self._careful = (*known,), False
            self._traced += 1
            resting, self._odd = self._misses.add(), True
        if resting:
            then = "the plain function runs, and programs are tried again from time to time"
            self._warn(f"was traced in most calls: {self._reason()}; {then}")
        plain = found.program._run is found.program._replay  # no machine code
        return found.finish() if plain else again(entry, args, kwargs, found)

    @property
    def _machine(self) -> bool:
        return self.backend == "llvm" or (self.backend == "auto" and has_llvm())

    @property
    def _keeps(self) -> bool:
        return self.on_unwatched == "keep"

    def _rest(self, reason: str, how: str = HOW) -> None:  # the function itself runs for some calls
        before, self._unwatched = self._unwatched, reason
        with LOCK:
            self._misses.add(LIMIT)
            self._odd = True
        if not before:
            self._warn(f"runs the function as it is: {reason}{how}", 5)

    def _warn(self, text: str, level: int = 4) -> None:
        label = f"compile({name_of_function(self._func)})"
        warnings.warn(f"{label} {text}", RuntimeWarning, stacklevel=level)

    def _cold(
        self, program: Program, numpys: Callable, guards: Guards, notes: list, label: str
    ) -> Callable:
        """Return an entry that makes machine code at the first call that the program is for."""
        graph: Any = program._graph

        def entry(*args: Any, **kwargs: Any) -> Any:
            result, begin = numpys(*args, **kwargs), time.perf_counter()
            notes[:] = self._machine_of(program, graph, label)
            tell_if_slow(begin, label, "machine code", graph, 4)
            warm = entry_of(program, args, kwargs, guards, program._checks)
            with LOCK:
                self._variants = tuple([
                    v._replace(entry=warm) if v.program is program else v for v in self._variants
                ])  # fmt: skip
            return result

        return entry

    def _machine_of(self, program: Program, graph: Any, label: str) -> list[Any]:
        """Let a program run as machine code; what takes long to make has to be asked for."""
        bounded = self.backend == "auto"
        with during(f"{label}: machine code"):
            return machine_of(program, graph, self.fastmath, self.threads, bounded)

    def _record(
        self, func: Callable, args: tuple, kwargs: dict, frame: Any, numbers: frozenset[int]
    ) -> Any:
        given = func, args, kwargs, frame, "compile", self._keeps
        return self._changing.traced(
            numbers, lambda *changing: record(*given, self._careful, self._machine, *changing)
        )

    def _forget(self) -> None:
        """Drop the programs whose dependencies have changed; raise where that is asked for."""
        kept = []
        for variant in self._variants:
            if variant.guards.unchanged():
                kept.append(variant)
                continue
            self._changed, ways = variant.guards.changed()
            if self.on_change == "raise":
                name = name_of_function(self.__wrapped__)
                raise RuntimeError(
                    f"compile({name}): {self._changed} has changed since the function was traced; "
                    f"pass it as an argument, or write on_change='retrace'"
                )
            if self._misses.debt > 0:  # no trace has paid
                self._changing.add(ways)
        if len(kept) < len(self._variants):
            with LOCK:
                self._variants = tuple([v for v in self._variants if v.guards.unchanged()])

    def _reason(self) -> str:
        """Return why there are many programs, in words."""
        if len(self._variants) < 2:
            return f"{self._changed} changes between the calls; pass it as an argument"
        latest, before = [variant.program for variant in self._variants[:2]]
        if latest._forms != before._forms or latest._structure != before._structure:
            return "the arguments have different structures, shapes or dtypes each time"
        longer = max(latest, before, key=lambda program: len(program._guards))
        for text, now, then in zip_longest(longer._guards, latest._given, before._given):
            if now != then:
                return f"Python code gets a different answer each time, {text}"
        return "static arguments, which are neither arrays nor numbers, have new values each time"

    @property
    def programs(self) -> list[Program]:
        """The programs that have been traced, the latest first."""
        return [variant.program for variant in self._variants]

    def explain(self) -> str:
        """Return what each program takes as given: its guards, dependencies and constants.

        It says as well which lines run again and again and have not become a loop, and why; and
        with machine code which calls stay NumPy's; and how many arms the steps of loops have.
        """
        lines = [f"not watched: {self._unwatched}"] if self._unwatched else []
        if self._seen and not self._variants:
            lines.append(
                "no program: the calls came from inside a transform, or while a mode was on, and "
                "ran the function itself; compile the outermost one, as in compile(vmap(f))"
            )
        for variant in self._variants:
            program = variant.program
            lines.append(repr(program))
            said = [text for text in map(str, variant.notes) if text]
            said += [f"no loop: {text}" for text in program._written_out]
            said += [f"arms of a loop: {text}" for text in program._arms]
            said += [f"checks: {text}" for text in program._guards]
            said += sorted([f"depends on: {text}" for text in variant.guards.words])
            lines += [
                f"    {text}" if n == 1 else f"    {text} ({n} times)"
                for text, n in Counter(said).items()
            ]
            lines += [
                f"    constant: {name}, {np.shape(value)}"
                for name, value in program.constants.items()
            ]
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        return f"<functier.{self.nested_label()}>"

    def nested_label(self) -> str:
        label = getattr(type(self.__wrapped__), "nested_label", name_of_function)
        return f"compile({label(self.__wrapped__)})"

    def __reduce__(self) -> Any:
        func = self.__wrapped__
        module = sys.modules.get(func.__module__ or "")
        name = getattr(func, "__qualname__", "")
        if name and getattr(module, name, None) is self:
            return name  # a decorated function, by its name
        return Compiled, (func, *self._options())

    def _options(self) -> tuple:
        return (
            self.backend, self.fastmath, self.on_change, self.threads, self.warm,
            self.on_unwatched,
        )  # fmt: skip

    def __deepcopy__(self, memo: dict) -> "Compiled":
        return self

    @overload
    def __get__(self, instance: None, owner: Any = None) -> "Compiled[P, R]": ...
    @overload
    def __get__(
        self: "Compiled[Concatenate[Any, Q], R]", instance: object, owner: Any = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        tree = is_tree(instance)
        made = self if tree else self._of(instance)
        found: Any = functools.partial(made, *(instance,) * tree)
        found.__self__ = instance  # which `_of` holds weakly
        found.explain = getattr(made, "explain", self.explain)
        found.programs = getattr(made, "programs", [])
        return found

    def _of(self, instance: Any) -> Callable:
        """Return the function for an object, its first argument, which is not a leaf."""
        func = self.__wrapped__
        found = self._objects.of(
            instance, lambda link: Compiled(Bound(func, link), *self._options()), func
        )
        return MethodType(func, instance) if found is None else found

    def _is_method_of(self, x: Any) -> bool:
        """Return whether an object, the first argument, has this function as a method."""
        return not self._state and has_method(x, self.__wrapped__, self)


@overload
def compile(
    func: Callable[P, R], *, backend: str = "auto", fastmath: bool = False,
    on_change: str = "retrace", threads: int = 1, warm: bool = False, on_unwatched: str = "run",
) -> Compiled[P, R]: ...  # fmt: skip
@overload
def compile(
    func: None = None, *, backend: str = "auto", fastmath: bool = False,
    on_change: str = "retrace", threads: int = 1, warm: bool = False, on_unwatched: str = "run",
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...  # fmt: skip
@checks_keywords
def compile(  # torch.compile has this name
    func: Callable | None = None, *, backend: str = "auto", fastmath: bool = False,
    on_change: str = "retrace", threads: int = 1, warm: bool = False, on_unwatched: str = "run",
) -> Any:  # fmt: skip
    """Make a function that is traced in its first call, and replayed in later ones.

    Parameters
    ----------
    func : callable, optional
        A function of arrays, numbers or pytrees, a transform of one, or a module, whose arrays
        count as arguments. Without it the result is a decorator.
    backend : {"auto", "numpy", "llvm"}
        The code that replays a program: ``"numpy"`` is generated Python code that calls NumPy, and
        ``"llvm"`` machine code, with NumPy calls for what it does not know. The latter needs
        llvmlite (``pip install functier[compile]``); results differ from NumPy's by rounding, and
        there are no floating-point warnings. If Python code asks about a value, as in ``x > 0``,
        the answer is NumPy's. ``"auto"`` uses machine code if llvmlite is installed, except for
        programs of many calls without a loop, for which it takes long to make.
    fastmath : bool
        Whether a product and a sum may be rounded once. The NumPy backend does not use it.
    on_change : {"retrace", "raise"}
        What to do if something that the function reads besides its arguments has changed since the
        trace.
    threads : int
        The number of threads that run loops in machine code over large arrays, in blocks: from
        about a hundred thousand elements on, or a million if there is little to compute. Results do
        not depend on it: the sums of blocks are added in an order that is always the same. The
        NumPy backend does not use it, and products of matrices use the threads of NumPy's own
        library.
    warm : bool
        Whether to make machine code in the first call of a program. By default it is made in the
        second call, because a program that runs only once does not need it, unless it makes over
        200,000 calls. Calls before it compute with NumPy, and later ones may differ by rounding.

    on_unwatched : {"run", "keep"}
        What to do if the function reads something that cannot be watched, such as a file, a clock
        or an iterator from outside, or changes an object from outside. With ``"run"``, the function
        itself runs in each call. With ``"keep"``, the program keeps what such objects gave in the
        trace. ``explain()`` names the object either way.

    Returns
    -------
    callable
        A function with the arguments of `func`. The first call with arguments of new forms
        (structure, shapes, dtypes, and the values of those that are neither arrays nor numbers)
        traces it, as `trace` does. Its method ``explain()`` says what each program depends on.

    Raises
    ------
    TypeError
        In a call, if an argument is an object that may change, such as a set or an instance of a
        plain class. The message says what to write.
    RandomnessError
        If it draws from a generator of NumPy or Python. Draws from `functier.random` are made anew
        in each call.

    Warns
    -----
    RuntimeWarning
        If most calls would be traced, if the function reads what cannot be watched, or if it turns
        a value into a plain number, as ``float(x)`` does; the plain function runs then.

    Notes
    -----
    The function is traced again if Python code asks whether a value is true, or for an integer, and
    gets a different answer; and if something that the function has read has changed: a global name,
    a closed-over variable, a default, an attribute of an object, a module or a class, an item of a
    list or a dict, or the code of a function. Captured arrays of floats are read in each call, as
    arguments are, even if the name now refers to another array of the same form. If elements of
    a captured array have decided something, such as an index, or plain NumPy has computed with
    captured arrays alone, they are compared; if they often change, they are read, too.

    An integer among the arguments is a constant of the first program, because it may be a size or
    an axis. Once it has had two values it is an input, and Python code that asks for it adds a
    check, as for other values. If most calls would be traced, the plain function runs, and programs
    are tried again now and then.

    Arguments that are neither arrays nor floats are either values that cannot change, which are
    compared by type and contents, or functions, classes and modules, which are compared by
    identity. The fields of dataclasses are arguments themselves. The object of a method is not an
    argument: a decorated method, or ``compile(obj.method)``, has programs for each object.

    ``isinstance(x, np.ndarray)`` and ``isinstance(x, float)`` answer as in `func`, and strings such
    as ``str(x)`` and ``f"{x:.2f}"`` are answers that are checked. A function that asks for
    ``type(x)`` runs as it is.

    Writes to arrays among the arguments happen at the end of each call. The same array may be
    passed twice, and then has its own program; other arrays that overlap cannot be written to.

    Inside another transform, or while one of functier's modes or debuggers is on, the call runs
    `func` as it is. It also does so if `numpy.errstate` asks for more than warnings. Side effects
    of the function, such as printing, happen only in the trace. NumPy's warnings appear when a
    program makes the call, and not for results that nobody needs.

    Examples
    --------
    >>> import numpy as np
    >>> import functier as ft
    >>> def f(x):
    ...     return np.sum(np.sin(x) * x)
    >>> gradient = ft.compile(ft.grad(f))
    >>> gradient(np.zeros(3))
    array([0., 0., 0.])
    """
    if func is None:
        return functools.partial(
            compile,
            backend=backend,
            fastmath=fastmath,
            on_change=on_change,
            threads=threads,
            warm=warm,
            on_unwatched=on_unwatched,
        )
    check_callable("compile", func)
    for name, value, known in (
        ("backend", backend, BACKENDS), ("on_change", on_change, CHANGES),
        ("on_unwatched", on_unwatched, UNWATCHED),
    ):  # fmt: skip
        if value not in known:
            choices = ", ".join(map(repr, known))
            raise ValueError(f"compile: {name}={value!r} is not known; write one of {choices}")
    if type(threads) is bool or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise ValueError(
            f"compile: threads={threads!r} is not a positive integer; write how many threads "
            f"may run a program, as in threads=2"
        )
    if backend == "llvm" and not has_llvm():
        raise ImportError(
            "compile: backend='llvm' needs llvmlite, which is not installed; write pip install "
            "'functier[compile]', in a checkout pip install '.[compile]', or backend='numpy'"
        )
    return Compiled(func, backend, fastmath, on_change, int(threads), bool(warm), on_unwatched)
