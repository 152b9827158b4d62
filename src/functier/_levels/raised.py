"""Errors that code may catch: of single examples, and of levels.

NOTE [an error is an answer]
    ``try: np.linalg.inv(a) except LinAlgError: ...`` is a branch. If some examples of a batch
    raise and others do not, the code that catches the error goes on for all of them. So these
    examples run apart, as where they differ in the answer of an `if`. Where that is not allowed
    the error is raised, and if the code catches it, the return of the function raises. What all
    examples raise, such as for their shape, is raised as it is.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._core.agreement import varying_levels
from .._core.errors import (
    DataDependentError,
    LevelError,
    NoRuleError,
    NumberError,
    UnsupportedError,
)
from .._core.numpy_facts import Value
from .._core.tensor import Tensor
from .lineage import chain


class Outcomes:
    """The errors of the examples of a batch: `raised` has a number for each kind, 0 for none."""

    def __init__(self, batch: tuple[int, ...]):
        self.raised = np.zeros(batch, np.int64)
        self.error: Exception | None = None
        self._kinds: dict[str, int] = {}

    def of(self, index: tuple[int, ...], run: Callable[[Any], Any], *args: Any) -> Any:
        """Return ``run(index)``, or None where it raises an error that code may catch."""
        try:
            return run(*args or (index,))
        except LevelError:
            raise
        except Exception as error:
            kind = type(error).__name__
            self.raised[index] = self._kinds.setdefault(kind, len(self._kinds) + 1)
            self.error = self.error or error
            return None

    def raise_error(self, raised: Any, name: str) -> None:
        """Raise the first error, or have the examples of a tensor like `raised` run apart."""
        assert self.error is not None
        self.run_apart(raised, name, self.error)
        raise self.error

    @staticmethod
    def run_apart(raised: Any, name: str, error: Exception) -> None:
        """Have examples run apart where `raised`, a tensor of theirs, differs; else return."""
        varying = varying_levels(raised, int) if isinstance(raised, Tensor) else []
        if varying:
            level = varying[0].level
            refusal = level.refusal(
                DataDependentError,
                f"{name} raises {type(error).__name__} for some examples alone, and the function "
                f"goes on with all of them; write numpy.where for the values that raise, or "
                f"vmap(..., branches='split') to run groups of examples separately",
            )
            refusal.of = error  # where nobody catches that, it is the function's
            with suppress(LevelError):
                level.run_apart(raised, int, refusal)


def raise_of_examples(
    level: Any, name: str, values: Sequence[Value], run: Callable[[list], Any], error: Exception
) -> None:
    """Have the examples run apart of which some raise in ``run(values)``, as NOTE says.

    `values` have the batch axes of `level` in front; `run` computes one example. It returns
    where all examples raise, and `error` is to be raised, or where it is a refusal.
    """
    if isinstance(error, LevelError):
        return
    shapes = [np.shape(v)[: level.k] for v in values if np.ndim(v) >= level.k]
    batch = np.broadcast_shapes(*shapes)
    outcomes = Outcomes(batch)
    for index in np.ndindex(*batch):
        with suppress(LevelError), level.forgotten():  # a refusal is not an error of the function
            outcomes.of(index, run, [_example(v, index) for v in values])
    outcomes.run_apart(level.wrap(outcomes.raised), name, error)


def _example(v: Value, index: tuple) -> Value:
    if np.ndim(v) < len(index):
        return v
    return v[tuple([i if n > 1 else 0 for i, n in zip(index, np.shape(v))])]


# ---- errors of levels, after which no code may go on ----

REFUSALS = LevelError, NoRuleError, UnsupportedError
"""The errors of functions that are called in a level, which do not come without it."""


def note_levels(level: Any, error: LevelError) -> LevelError:
    """Return an error with a note on the levels, from the outside in, and the user's line."""
    error.add_note(f"levels: {chain(level.cls)}, made at {level.where()}")
    return name_error(level, error)


def name_error(level: Any, error: Exception) -> Any:
    """Return an error of a rule with the name of a level, which the rule did not know.

    The level notes it, as the function may catch it. NumPy raises a `NumberError` without the
    level, too: as a TypeError.
    """
    if isinstance(error, LevelError) and not error.named:
        return level.refusal(type(error), str(error))
    if not isinstance(error, NumberError):
        level.unanswered = error
    return error


def check_answered(level: Any) -> None:
    """Raise where the function has caught an error of the level, and has returned.

    It has taken a path that the plain function would not have taken.
    """
    if level.unanswered is not None:
        error, level.unanswered = level.unanswered, None
        raise error
