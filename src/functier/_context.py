"""What a transform without a function gives, and the check of its escape mode."""

import functools
import sys
from collections.abc import Callable
from typing import Any

from ._blocks import Entry, Exit, claim
from ._level import AMBIENT, ENDED, Escape, Level


class LevelContext:
    """What a transform without a function gives: a context manager and a decorator."""

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

    def _leave(entry: Entry, *error: Any) -> None:
        if entry.undo is None:
            entry.manager._end_by_hand()
        else:
            entry.undo()

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


def check_escape(transform: str, escape: Any) -> None:
    """Raise where `escape` is no escape mode."""
    if escape not in ENDED:
        raise ValueError(f"{transform}: escape={escape!r}; write 'dead' or 'passthrough'")
