"""Observers: debuggers, modes and the leak checker register here for the events of levels.

NOTE [nobody observes]
    Each event has a list of the functions that it calls. The lists belong to the process and
    are empty where nobody observes, so that an event costs no more than a look at a list. An
    observer is on in one context: its functions in the lists ask its context variable, and do
    nothing in other contexts.

Imports nothing of the package but `_core.blocks` and `_core.types`.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from typing import Any
from weakref import WeakSet

from .blocks import User
from .types import Function

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
    ) -> Iterator[None]:
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
