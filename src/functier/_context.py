"""What a transform without a function gives, and the check of its escape mode."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._core.blocks import Entry, Exit, claim
from ._core.errors import reveal
from ._core.pytree import name_of_function
from ._level import AMBIENT, ENDED, Escape, Level


def _leave(entry: Entry, kind: Any = None, error: Any = None, trace: Any = None) -> None:
    if entry.undo is None:
        entry.manager._end_by_hand()
    else:
        entry.undo()
    if isinstance(error, ValueError):
        reveal(error)


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


def called(transform: str, func: Any) -> str:
    """A transform with its function, if there is one, as messages name them."""
    return f"{transform}({name_of_function(func)})" if callable(func) else transform


def stated(option: str, value: Any) -> str:
    """An option and its wrong value, as messages show them; of an array only the class."""
    if hasattr(value, "shape"):
        return f"{option} is a {type(value).__name__}"
    return f"{option}={value!r:.60}"


def check_escape(transform: str, func: Any, escape: Any) -> None:
    """Raise where `escape` is no escape mode."""
    if not isinstance(escape, str) or escape not in ENDED:
        raise ValueError(
            f"{called(transform, func)}: {stated('escape', escape)}; write 'dead' or 'passthrough'"
        )


def check_flag(transform: str, func: Any, option: str, value: Any) -> None:
    """Raise where an option that is on or off is something else."""
    if not isinstance(value, (bool, np.bool)):
        raise TypeError(
            f"{called(transform, func)}: {option} is a {type(value).__name__}; write True or False"
        )


def check_randomness(transform: str, func: Any, randomness: Any) -> None:
    """Raise where `randomness` is no way to draw."""
    if not isinstance(randomness, str) or randomness not in ("error", "different", "same"):
        raise ValueError(
            f"{called(transform, func)}: {stated('randomness', randomness)}; write 'error', "
            f"'different' or 'same'"
        )
