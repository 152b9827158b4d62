"""A program that writes: its source, and the function that it is."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import functier.numpy as fnp

NAME = re.compile(r"(?<![\w.])[a-z]\w*")


@dataclass
class Line:
    """One statement, which may be a loop; `tags` are its pairs (kind of write, kind of place)."""

    text: str
    tags: tuple[tuple[str, str], ...] = ()
    made: str = ""


@dataclass
class Program:
    """Statements, the arguments at one point, and the names of the results.

    `main` are the arguments that the program writes to, or makes its arrays of. `outside`: it
    may write to what another level, or none, has made. `single`: it has values of single
    precision.
    """

    args: dict[str, np.ndarray]
    main: tuple[str, ...]
    lines: list[Line]
    results: list[str]
    outside: bool = False
    single: bool = False
    _compiled: dict = field(default_factory=dict, repr=False)

    def text(self) -> str:
        body = [line for each in self.lines for line in each.text.splitlines()]
        body.append(f"return [{', '.join(self.results)}]")
        return "\n    ".join([f"def f({', '.join(self.args)}):", *body])

    def function(self, numpy_only: bool) -> Callable[[dict], list]:
        """The program as a function of a dict of its arguments."""
        if numpy_only not in self._compiled:
            space: dict[str, Any] = {"np": np, "fnp": np if numpy_only else fnp}
            exec(compile(self.text(), "<program>", "exec"), space)
            f = space["f"]
            self._compiled[numpy_only] = lambda args: list(f(**args))
        return self._compiled[numpy_only]

    def with_lines(self, lines: Sequence[Line], results: Iterable[str]) -> "Program":
        return Program(self.args, self.main, list(lines), list(results), self.outside, self.single)

    def indexes(self) -> bool:
        """True where it has masks, or indices that are computed."""
        return any(re.search(" [<>]=? |np.arg", line.text) for line in self.lines)

    def tags(self) -> list[tuple[str, str]]:
        return [tag for line in self.lines for tag in line.tags]


def names_in(text: str) -> set[str]:
    """The names of variables in a text."""
    return set(NAME.findall(text)) - {"np", "fnp", "for", "in", "if", "del", "range"}
