"""The NumPy calls of a program, as a function that is written when somebody calls it.

NOTE [at the first call]
    A trace ends with a graph. Its source and Python's compilation of it cost as much as the trace,
    and who reads a program, or runs it as machine code, needs neither.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .draws import restoring, sources_of
from .graph import Graph
from .source import Source

ndarray = np.ndarray


class Changed(BaseException):
    """An answer of Python code that differs from that of the trace; `number` is that of the guard.

    Only the calls of `Program` and `compile` see it.
    """


class Replay:
    """A function of the inputs of a program, which makes its NumPy calls.

    Attributes
    ----------
    sources : list
        The generators from which it draws.
    function : callable
        The function itself, whose calls cost least.
    """

    def __init__(self, graph: Graph, name: str, inputs: Sequence[str]):
        self.name = name
        self.sources = sources_of(graph)
        self._graph: Graph | None = graph
        self._inputs = inputs
        self._written: tuple[str, dict[str, Any]] | None = None
        self._function: Callable | None = None

    def written(self) -> tuple[str, dict[str, Any]]:
        """Return the source, which nobody reads, and the values of the names it leaves open."""
        graph = self._graph
        if graph is not None:  # else it is written, perhaps by another thread
            source = Source(graph, self.name, self._inputs)
            self._written = source.text, source.constants
            self._graph = None
        assert self._written is not None
        return self._written

    @property
    def function(self) -> Callable:
        found = self._function
        if found is None:
            text, constants = self.written()
            space: dict[str, Any] = {"CONSTANTS": constants, "Changed": Changed}
            exec(compile(text, f"<functier program {self.name}>", "exec"), space)
            run: Any = space[self.name]
            found = self._function = restoring(run, self.sources) if self.sources else run
        return found

    def is_like(self, other: "Replay") -> bool:
        """Return whether another function makes the same calls."""
        (text, ours), (other_text, theirs) = self.written(), other.written()
        return text == other_text and all(map(is_same, ours.values(), theirs.values()))

    def __call__(self, *inputs: Any) -> Any:
        return self.function(*inputs)

    def __getstate__(self) -> dict[str, Any]:
        self.written()
        return vars(self) | {"_function": None}


def is_same(a: Any, b: Any) -> bool:
    """Return whether two constants are the same, or arrays of the same contents."""
    if type(a) is ndarray and type(b) is ndarray and a.dtype == b.dtype:
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if type(a) is list and type(b) is list:
        return len(a) == len(b) and all(map(is_same, a, b))
    return a is b or type(a) is not ndarray
