"""Blocks: context managers whose state ends with them, and the observers that register in one.

NOTE [a block ends by what the with statement holds]
    A signal's handler may raise anywhere, also before the first line of `__exit__`, which then
    never runs; so may an exception that another thread sends. But the ``with`` statement
    always lets go of the exit that it holds. So `Exit` makes a new object for each statement,
    which nobody else holds, and a weak reference to it undoes the block where the exit did not.
    Python calls `__exit__`'s descriptor before `__enter__`.

NOTE [what cannot be interrupted]
    CPython looks for signals when a Python function starts, after a call, and where a loop
    turns back. So ``finally: VARIABLE.set(old)`` cannot be interrupted before it has set, and
    ``try: VARIABLE.set(new)`` has the ``finally`` around it when it has set. A line between
    ``set`` and ``try``, or a function of our own that calls ``set``, can.

NOTE [nobody observes]
    Each event has a list of the functions that it calls. The lists belong to the process and
    are empty where nobody observes, so that an event costs no more than a look at a list. An
    observer is on in one context: its functions in the lists ask its context variable, and do
    nothing in other contexts.
"""

import functools
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar, Token
from inspect import signature
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakSet, ref

from .numpy_facts import Function

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Callable)


class Entry:
    """One entering of a context manager: what to undo, once it is known."""

    def __init__(self, manager: Any):
        self.manager = manager
        self.undo: Callable[[], Any] | None = None
        self.guard: Guard | None = None


class Guard(ref):
    """A weak reference to the exit that a ``with`` statement holds; true while it does."""

    undo: Callable[[], Any]

    def __bool__(self) -> bool:
        return self() is not None


class Exit:
    """A descriptor for `__exit__` of a class of context managers.

    It calls ``leave(entry, kind, error, traceback)``. `entry` has the manager and the function
    that its `__enter__` gave to `claim`, or None where somebody called `__enter__` by hand.
    """

    def __init__(self, leave: Callable[..., Any]):
        self.leave = leave

    def __get__(self, manager: Any, owner: type | None = None) -> Callable[..., Any]:
        end = functools.partial(self.bound if manager is not None else self.unbound, Entry(manager))
        _LAST.end = ref(end)
        return end

    def bound(self, entry: Entry, *error: Any) -> Any:
        """Leave the block; nobody calls the function that `claim` was given any more."""
        result = self.leave(entry, *error)
        entry.guard = None
        return result

    def unbound(self, entry: Entry, manager: Any, *error: Any) -> Any:
        """Leave the block for a `contextlib.ExitStack`, which asks the class for its exit."""
        entry.manager = manager
        return self.bound(entry, *error)


_LAST = threading.local()
"""The exit that this thread asked for last."""


def claim(manager: Any, undo: Callable[[], Any]) -> Guard | None:
    """Have `undo` called when the program leaves the ``with`` statement that enters `manager`.

    Return None where there is no such statement, as somebody calls `__enter__` by hand. Where
    the exit raises, `undo` is called after it, too.
    """
    _reach(ROOM)
    last = vars(_LAST).pop("end", None)
    end: Any = last() if last is not None else None
    if end is None:
        return None
    entry = end.args[0]
    if entry.guard is not None or (entry.manager is not manager and entry.manager is not None):
        return None
    entry.undo, entry.guard = undo, Guard(end, _undo)
    entry.guard.undo = undo
    return entry.guard


ROOM = 12
"""The depth of calls that leaving a block may need; no block is entered without that room."""


def _reach(depth: int) -> None:
    """Raise `RecursionError` now where the exit would raise it later."""
    if depth:
        _reach(depth - 1)


def _undo(guard: Guard) -> None:
    guard.undo()


class User:
    """A token of somebody who uses something, as long as the token lives."""

    __slots__ = ("__weakref__",)


def _by_hand(manager: Any) -> Callable[[], None] | None:
    """Return the function that closes the generator entered last by hand in `manager`, or None."""
    found = [pair for pair in manager._by_hand if pair[0] == id(manager)]
    if not found:
        return None
    manager._by_hand.remove(found[-1])
    return found[-1][1]


def _resume(
    entry: Entry,
    kind: type | None = None,
    error: BaseException | None = None,
    trace: TracebackType | None = None,
) -> bool:
    """Leave the block of a `Manager`: its generator goes on after the ``yield``."""
    undo: Any = entry.undo or _by_hand(entry.manager)
    if undo is None:
        return False
    generator = undo.__self__
    if error is None:
        for _ in generator:
            raise RuntimeError(f"{generator.__name__} yielded twice")
        return False
    try:
        generator.throw(error)
    except StopIteration as stop:
        return stop is not error
    except BaseException as raised:
        stopped = isinstance(error, StopIteration) and raised.__cause__ is error
        if raised is not error and not stopped:
            raise
        error.__traceback__ = trace
        return False
    raise RuntimeError(f"{generator.__name__} yielded twice")


class Manager(Generic[T]):
    """A context manager that runs the generator of `_inside`, which yields once."""

    _by_hand: list[tuple[int, Callable]]  # closes generators that no ``with`` entered

    def _inside(self) -> Generator[T]:
        raise NotImplementedError

    def __enter__(self) -> T:
        generator = self._inside()
        if claim(self, generator.close) is None:
            self._by_hand.append((id(self), generator.close))
        return next(generator)

    __exit__ = Exit(_resume)


class Block(Manager[T]):
    """A context manager and decorator, from a function that makes the generator."""

    def __init__(self, make: Callable[[], Any]):
        self._make = make
        self._by_hand = []

    def _inside(self) -> Any:
        return self._make()

    def __call__(self, func: C) -> C:
        make = self._make

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with Block(make):
                return func(*args, **kwargs)

        return inside  # type: ignore[return-value]


def block(func: Callable[P, Iterator[T]]) -> Callable[P, Block[T]]:
    """Make a function of context managers from a generator function that yields once.

    It is like `contextlib.contextmanager`, but the ``finally`` around the ``yield`` also runs
    where a signal interrupts the exit; see NOTE [a block ends by what the with statement holds].
    """

    name, count = func.__name__, len(signature(func).parameters)

    @functools.wraps(func)
    def make(*args: P.args, **kwargs: P.kwargs) -> Block[T]:
        if len(args) > count:
            raise TypeError(
                f"{name}() takes {count} arguments and got {len(args)}; write @functier.{name}() "
                f"above a function, with parentheses, or `with functier.{name}():`"
            )
        return Block(functools.partial(func, *args, **kwargs))

    return make


def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Run the body of a block in which a context variable has a value."""
    before = variable.get()
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)


LEVELS: list[Callable[[Any], object]] = []
"""Functions that are shown each level that begins, or begins again for a backward pass."""

RULES: list[Callable[[Function, tuple], Function]] = []
"""Functions that take each custom rule which goes on a tape, and the values that it keeps, and
return the rule to put there.
"""

CALLS: list[Callable[[Function, tuple, dict], Any]] = []
"""Functions that are asked for the result of each call on tensors, before any hook. They return
`NOBODY` of `_core.root` to leave the call to the hooks.
"""

OPERATIONS: list[Callable] = []
"""Functions that compute each operation on tensors of level 0, before the lower hook."""

EVENTS: dict[str, list] = {"level": LEVELS, "rule": RULES, "call": CALLS, "operation": OPERATIONS}


class Observer:
    """A debugger or a mode that observes events, and the switch for it.

    `state` is the context variable with the settings of a context. The functions in `told` are
    called for the events that are their keys. `done` is called when nobody observes any more.
    """

    def __init__(
        self, state: ContextVar, done: Callable[[], None] = lambda: None, **told: Callable
    ):
        self.state, self.done = state, done
        self.level = told.get("level", lambda level: None)
        self.told = [(EVENTS[event], function) for event, function in told.items()]
        self.users: WeakSet[User] = WeakSet()
        self.lock = threading.RLock()  # the collector may end another block meanwhile

    def observing(
        self, inside: Any, levels: Iterable = (), without: Callable[[Any], Any] | None = None
    ) -> Generator[None, None, None]:
        """Run the body of a block in which the observer's state is `inside`.

        The observer is shown `levels`, which are live, at the start. Where blocks do not end in
        order, ``without(state)`` takes the part of this block out of the state of another one.
        """
        user, before = User(), self.state.get()
        try:
            self.on(user)
            self.state.set(inside)
            for level in levels:
                self.level(level)
            yield
        finally:
            found = self.state.set(before).old_value
            if without is not None and found is not inside and found is not Token.MISSING:
                self.state.set(without(found))
            self.off(user)

    def on(self, user: User) -> None:
        """Have the functions called as long as `user` lives."""
        with self.lock:
            self.users.add(user)
            for told, function in self.told:
                if function not in told:
                    told.append(function)

    def off(self, user: User) -> None:
        """Stop calling the functions, unless there is another user.

        Where this is interrupted they stay, and do nothing, until the next user is done.
        """
        with self.lock:
            self.users.discard(user)
            if not self.users:
                for told, function in self.told:
                    if function in told:
                        told.remove(function)
                self.done()
