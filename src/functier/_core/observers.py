"""Observers: debuggers, modes and the leak checker say here what they want to be told.

NOTE [nobody observes]
    Each event has a list of the functions that are told of it. The lists belong to the
    process and are empty where nobody observes, so that an event costs the question
    whether a list is empty. An observer is switched on for one context: what it has in the
    lists asks the observer's context variable, and does nothing in other contexts.

Imports nothing of the package but `_core.blocks`.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from typing import Any
from weakref import WeakSet

from .blocks import User

LEVELS: list[Callable[[Any], Any]] = []
"""Functions that are shown each level that begins, or begins again for a backward pass."""

RULES: list[Callable[[Callable], Callable]] = []
"""Functions that take each custom rule which goes on a tape, and return the rule to put there."""

CALLS: list[Callable[[Callable, tuple, dict], Any]] = []
"""Functions that are asked for the result of each call on tensors, before any hook. `NOBODY` of
`_core.root` leaves it to the hooks.
"""

OPERATIONS: list[Callable] = []
"""Functions that compute each operation on tensors of level 0, before the lower hook."""

EVENTS: dict[str, list] = {"level": LEVELS, "rule": RULES, "call": CALLS, "operation": OPERATIONS}


class Observer:
    """Somebody who wants to be told, and the one switch for that.

    `state` is the context variable that says what is on in a context. The functions in `told` are
    told of the events by whose names they come, and `done` is called when nobody observes any
    more.
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
    ) -> Iterator[None]:
        """The body of a block in which the observer's state is `inside`.

        `levels` are live and are shown to the observer at the start. Where blocks do not end in
        order, `without` gives the state that another one has made without this one's part.
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
        """Have the functions told, as long as `user` lives."""
        with self.lock:
            self.users.add(user)
            for told, function in self.told:
                if function not in told:
                    told.append(function)

    def off(self, user: User) -> None:
        """Have them told no longer, if nobody else wants it.

        Where this was interrupted they stay, and do nothing, until the next user is done.
        """
        with self.lock:
            self.users.discard(user)
            if not self.users:
                for told, function in self.told:
                    if function in told:
                        told.remove(function)
                self.done()
