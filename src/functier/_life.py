"""The life of a level: a body runs in it, and it ends whatever happens.

See NOTE [what cannot be interrupted] in `_core.blocks`.
"""

from collections.abc import Callable
from typing import Any

from ._core.errors import reveal
from ._level import AMBIENT, ENDED
from ._spares import give_back


def run(level: Any, body: Callable[..., Any], given: Any = ()) -> Any:
    """Return ``body(level, given)``, with `level` ambient while it runs and ended after it.

    The class is then a spare: see `_spares`. `given` is one value, as unpacking costs 0.1 us.
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
