"""The life of a level: a body runs in it, and it ends even after an exception.

`run` does so for a function, `LevelContext` for a ``with`` block.
See NOTE [what cannot be interrupted] in `_core.blocks`.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .._core.blocks import Entry, Exit, claim
from .._core.errors import REPLACING, reveal
from .._core.tensor import Tensor
from .._core.tracebacks import leave
from .._cpython.frames import current_frame
from .._mutation.copies import check_lent
from .level import ENDED, Escape, Level
from .lineage import AMBIENT
from .spares import give_back

T = TypeVar("T")


def run(level: Level, body: Callable[..., T], given: Any = ()) -> T:
    """Return ``body(level, given)``; `level` is ambient meanwhile, and ends after it.

    A later level may have its class: see `spares`. `given` is one value, as unpacking costs
    0.1 us.
    """
    cls, outer = level.cls, level.outer
    try:
        AMBIENT.set(cls)
        result = body(level, given)
        if level.notes is not None and level.notes.partners:
            check_lent(level)
        if level.unanswered is not None:
            level.check_answered()
    except REPLACING as error:
        reveal(error, level.unanswered)
        raise
    finally:
        # Not `level.end()`, as a signal can interrupt a call before its first line.
        level.__class__ = ENDED[level.escape]  # type: ignore[assignment]
        inner = AMBIENT.set(outer).old_value
        if inner is not cls or not outer.level.live:
            level.restore_ambient(inner)
        if level.notes is not None:
            level.notes.rows = {}
        level.arguments = None
        del cls, inner  # they refer to the class
    if level.serves:
        give_back(level)
    return result


def within(cls: type[Tensor], call: Callable[..., T], *args: Any) -> T:
    """Return ``call(*args)``; `cls` is ambient meanwhile."""
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
    if isinstance(error, BaseException):
        leave(error)
    if isinstance(error, REPLACING):
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
        level = kind.prepare(label, escape, current_frame(1), lexical=True)
        vars(level).update(self._options)  # no later level has this class
        guard = claim(self, functools.partial(_end, level))
        if guard is None:
            self._by_hand.append(level)
        else:
            vars(level)["live"] = guard  # false once the program has left the block
        AMBIENT.set(level.cls)
        return level.cls

    __exit__ = Exit(_leave)

    def _end_by_hand(self) -> None:
        current = AMBIENT.get()  # several threads may be in one context manager
        entered = [level for level in self._by_hand if level.cls is current] or self._by_hand
        level = entered[-1]
        self._by_hand.remove(level)
        _end(level)

    def __call__(self, func: Callable) -> Callable:
        return self._decorate(func)


def _end(level: Level) -> None:
    level.end()  # does nothing where it has ended
    if level.notes is not None:
        level.notes.rows = {}
    vars(level).pop("live", None)  # the guard need not call this again
