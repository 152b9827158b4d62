"""What a transform without a function gives, and the check of its escape mode."""

import sys
from collections.abc import Callable
from typing import Any

from ._errors import reveal
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

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        current = AMBIENT.get()  # several threads may have entered one context manager
        entered = [level for level in self._entered if level.cls is current] or self._entered
        level = entered[-1]
        self._entered.remove(level)
        level.exit()
        if isinstance(error, ValueError):
            reveal(error)

    def __call__(self, func: Callable) -> Callable:
        return self._decorate(func)


def check_escape(transform: str, escape: Any) -> None:
    """Raise where `escape` is no escape mode."""
    if escape not in ENDED:
        raise ValueError(f"{transform}: escape={escape!r}; write 'dead' or 'passthrough'")
