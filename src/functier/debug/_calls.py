"""The checks of a context, and the call of the user that runs: its name and its lines."""

import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from .._core.numpy_facts import Function, name_of
from .._cpython.code import Code, describe_line
from .._cpython.frames import Frame, code_at, file_at, line_at, outward

LIBRARIES = tuple(
    str(Path(str(sys.modules[name].__file__)).parent) + os.sep for name in ("numpy", "functier")
)
"""The folders whose frames are not code of the user."""


class Watch(NamedTuple):
    """The checks that are on in one context."""

    nans: bool = False
    infs: bool = False
    rules: bool = False  # NaNs of derivative rules only
    notes: bool = False  # notes on errors of derivative rules
    writes: bool = False  # arrays that a tape keeps and that are written to

    def quiet(self) -> np.errstate:
        """Switch off NumPy's warnings of values for which this raises an error."""
        named = {"invalid": self.nans, "divide": self.infs, "over": self.infs}
        return np.errstate(**{name: "ignore" for name, on in named.items() if on})  # type: ignore[arg-type]


class Given(NamedTuple):
    """An array among the arguments of a call of the user."""

    variable: str  # its name, or "" where no variable of the user has it
    is_view: bool  # whether the variable has another view of its memory
    is_operand: bool  # whether it is plain; otherwise it is inside a tensor
    shape: tuple[int, ...]


class Location(NamedTuple):
    """The name of a call of the user, and its stack, from the inside out to the transform.

    `arrays` has the arrays among its arguments, by the ids of the owners of their memory.
    """

    what: str
    stack: tuple[tuple[Code, int], ...]
    arrays: Mapping[int, Given] = MappingProxyType({})

    def lines(self, n: int | None = None) -> Iterator[str]:
        for code, line in self.stack[:n]:
            yield describe_line(code, line)


WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
RUNNING: ContextVar[Location | None] = ContextVar("running", default=None)
"""The running call of the user; calls inside it are not checked."""


def keeping() -> bool:
    """Return whether `writes` is on."""
    watch = WATCH.get()
    return watch is not None and watch.writes


def user_frames(frame: Frame | None, last: Code | None) -> Iterator[Frame]:
    """Yield the frames of the user around `frame`, up to the one that runs `last`."""
    for own in outward(frame):
        if not file_at(own).startswith(LIBRARIES):
            yield own
            if code_at(own) is last:
                return


def locate(what: str, frame: Frame | None, last: Code | None) -> Location:
    """Return the place of a call: the frames of the user around `frame`."""
    return Location(what, tuple((code_at(f), line_at(f)) for f in user_frames(frame, last)))


def is_elementwise(func: Function) -> bool:
    return func is np.where or (isinstance(func, np.ufunc) and func.signature is None)


def title(func: Callable) -> str:
    return "indexing" if func is operator.getitem else name_of(func)
