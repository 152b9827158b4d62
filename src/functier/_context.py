"""What a transform without a function gives, and the check of its escape mode."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._level import AMBIENT, ENDED, Escape, Level


class LevelContext:
    """What a transform without a function gives: a context manager and a decorator."""

    def __init__(
        self, kind: type[Level], label: str, escape: Escape, decorate: Callable, **options: Any
    ):
        self._form, self._decorate, self._options = (kind, label, escape), decorate, options
        self._entered: list[Level] = []

    def __enter__(self) -> Any:
        kind, label, escape = self._form
        level = kind.enter(label, escape, sys._getframe(1), lexical=True)
        vars(level).update(self._options)  # a level of a with statement is not used again
        self._entered.append(level)
        return level.cls

    def __exit__(self, *exception: Any) -> None:
        current = AMBIENT.get()  # several threads may have entered one context manager
        entered = [level for level in self._entered if level.cls is current] or self._entered
        level = entered[-1]
        self._entered.remove(level)
        level.exit()

    def __call__(self, func: Callable) -> Callable:
        return self._decorate(func)


def check_escape(transform: str, escape: Any) -> None:
    """Raise where `escape` is no escape mode."""
    if not isinstance(escape, str) or escape not in ENDED:
        raise ValueError(f"{transform}: escape={escape!r}; write 'dead' or 'passthrough'")


def check_flag(transform: str, option: str, value: Any) -> None:
    """Raise where an option that is on or off is something else."""
    if not isinstance(value, (bool, np.bool)):
        raise TypeError(f"{transform}: {option} is a {type(value).__name__}; write True or False")


def check_randomness(transform: str, randomness: Any) -> None:
    """Raise where `randomness` is no way to draw."""
    if not isinstance(randomness, str) or randomness not in ("error", "different", "same"):
        plain = isinstance(randomness, (str, int, float, type(None)))
        shown = repr(randomness) if plain else f"a {type(randomness).__name__}"
        raise ValueError(f"{transform}: randomness={shown}; write 'error', 'different' or 'same'")
