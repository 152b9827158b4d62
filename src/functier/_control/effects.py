"""Effects of a step of a loop: changes of the objects that the functions of a user reach."""

import operator
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._core.reached import MOST, inside, is_generator, kinds, reached
from .._core.tensor import Tensor
from .._cpython.collector import containers_among
from .._levels.kept import content_of
from .._mutation.array import was_written

ndarray = np.ndarray

UNSEEN = bytearray, ContextVar
"""Types of objects whose state is not among what they refer to."""


class Effects:
    """What the objects that some functions reach refer to, before a step."""

    def __init__(self, roots: Sequence[Any]):
        self.kinds = kinds()
        found = reached(roots)
        self.hidden = len(found) >= MOST
        self.before: list[tuple[Any, list]] = []
        self.arrays: dict[int, tuple[ndarray, tuple]] = {}
        waiting = [] if self.hidden else [*found]
        for x in waiting:
            if isinstance(x, Tensor):
                self.hidden = self.hidden or was_written(x)
                continue
            parts = inside(x)
            self.before.append((x, parts))
            self.hidden = self.hidden or self.hides(x) or any(map(self.hides, parts))
            for part in parts:
                if type(part) is ndarray and not self.hidden:
                    self.arrays[id(part)] = part, content_of(part, False)
                elif type(part) in (dict, tuple) and not [*containers_among([part])]:
                    waiting.append(part)  # the collector does not know it

    def hides(self, x: Any) -> bool:
        """Tell if an object has a state that is not among its parts."""
        kind = type(x)
        if kind is ndarray:
            return x.dtype.hasobject
        return issubclass(kind, UNSEEN) or any(
            [hasattr(kind, "__next__"), hasattr(kind, "_own"), is_generator(x, self.kinds)]
        )

    def happened(self) -> bool:
        """Tell if an object has changed, or may have."""
        if self.hidden or any(
            [content_of(x, False) != before for x, before in self.arrays.values()]
        ):
            return True
        for x, parts in self.before:
            now = inside(x)
            if len(now) != len(parts) or not all(map(operator.is_, now, parts)):
                return True
        return False
