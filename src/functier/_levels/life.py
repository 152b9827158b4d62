"""The life of a level: a body runs in it, and it ends whatever happens.

`run` does so for a function, `LevelContext` for a ``with`` block.
See NOTE [what cannot be interrupted] in `_core.blocks`.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

from .._core.blocks import Entry, Exit, claim
from .._core.errors import reveal
from .level import ENDED, Escape, Level
from .lineage import AMBIENT
from .spares import give_back


def run(level: Any, body: Callable[..., Any], given: Any = ()) -> Any:
    """Return ``body(level, given)``, with `level` ambient while it runs and ended after it.

    The class is then a spare: see `spares`. `given` is one value, as unpacking costs 0.1 us.
    """
    cls, outer = level.cls, level.outer
    try:
        AMBIENT.set(cls)
        result = body(level, given)
    except ValueError as error:
        reveal(error)
        raise
    finally:
        # Not `level.end()`: a call of a function could be interrupted before its first line.
        level.__class__ = ENDED[level.escape]
        inner = AMBIENT.set(outer).old_value
        if inner is not cls or not outer.level.live:
            level.settle(inner)
        del cls, inner  # which hold the class
    if level.serves:
        give_back(level)
    return result


def within(cls: type, call: Callable[..., Any], *args: Any) -> Any:
    """Return ``call(*args)``, with `cls` ambient while it runs."""
    outer = AMBIENT.get()
    try:
        AMBIENT.set(cls)
        return call(*args)
    finally:
        AMBIENT.set(outer)


def _leave(entry: Entry, kind: Any = None, error: Any = None, trace: Any = None) -> None:
    if entry.undo is None:
        entry.manager._end_by_hand()
    else:
        entry.undo()
    if isinstance(error, ValueError):
        reveal(error)


class LevelContext:
    """A context manager and a decorator: the result of a transform without a function."""

    def __init__(
        self, kind: type[Level], label: str, escape: Escape, decorate: Callable, **options: Any
    ):
        self._form, self._decorate, self._options = (kind, label, escape), decorate, options
        self._by_hand: list[Level] = []

    def __enter__(self) -> Any:
        kind, label, escape = self._form
        level = kind.prepare(label, escape, sys._getframe(1), lexical=True)
        vars(level).update(self._options)  # a level of a with statement is not used again
        guard = claim(self, functools.partial(_end, level))
        if guard is None:
            self._by_hand.append(level)
        else:
            vars(level)["live"] = guard  # false once the block was left, in whatever way
        AMBIENT.set(level.cls)
        return level.cls

    __exit__ = Exit(_leave)

    def _end_by_hand(self) -> None:
        current = AMBIENT.get()  # several threads may have entered one context manager
        entered = [level for level in self._by_hand if level.cls is current] or self._by_hand
        level = entered[-1]
        self._by_hand.remove(level)
        level.end()

    def __call__(self, func: Callable) -> Callable:
        return self._decorate(func)


def _end(level: Level) -> None:
    level.end()  # which does nothing where it has ended
    vars(level).pop("live", None)  # the guard, which need not call this again
