"""Calls that a program makes as a whole: custom operations, and rules that take plain arrays alone.

NOTE [first on tensors]
    A user's rule is NumPy code mostly, and its calls are recorded one by one. Code in C fails on
    tensors. The rule is then one call of the program, which has plain arrays as in eager mode.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.errors import LevelError, MutationError, RandomnessError
from .._core.pytree import name_of_function
from .._core.tensor import Tensor
from .._transforms.chunks.streams import record_draws

ndarray = np.ndarray


class Rule:
    """A rule of a custom function as a step of a program: it takes and returns lists of leaves.

    What the rule returns besides, such as the structure of the result, is that of the trace.
    """

    def __init__(self, call: Callable):
        owner = getattr(call, "__self__", None)
        if owner is not None:  # its state may change between the levels of the trace
            call = getattr(copy.copy(owner), call.__name__)
        self.call = call
        self.__name__ = name_of_function(call)
        self.qualified_name = getattr(owner, "name", self.__name__)
        self.first: Any = None

    def __call__(self, *args: Any) -> tuple:
        self.first = self.call(*args)
        return tuple([x for part in self.lists(self.first) for x in part])

    def lists(self, result: Any) -> list[list]:
        """Return the lists of values in a result."""
        if type(result) is list:
            return [result]
        found = [part for part in result if type(part) is list]
        return found[:1] if self.__name__.endswith("vmap") else found  # its axes stay as they are

    def rebuilt(self, leaves: tuple) -> Any:
        """Return the result of the trace with other leaves."""
        parts, start = {}, 0
        for own in self.lists(self.first):
            parts[id(own)] = list(leaves[start : start + len(own)])
            start += len(own)
        first, self.first = self.first, None
        if type(first) is list:
            return parts[id(first)]
        return tuple([parts.get(id(part), part) for part in first])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "first": None}


def follow(level: Any, call: Callable, *args: Any) -> Any:
    """Return the result of a rule of lists; see NOTE [first on tensors]."""
    parts = [x for part in args if type(part) is list for x in part if isinstance(x, Tensor)]
    nodes, answers, before = len(level.nodes), len(level.answers), level.unanswered
    streams = dict(level.streams)
    try:
        return call(*args)
    except RandomnessError:
        raise
    except Exception as error:
        if any([type(x) is not level.cls for x in parts]):
            raise refused(level, call, error) from error
        del level.nodes[nodes:], level.answers[answers:]
        level.unanswered, level.streams = before, streams
    rule = Rule(call)
    return rule.rebuilt(whole(level, rule, args))


def refused(level: Any, call: Callable, error: Exception) -> Exception:
    """Return the error for a rule that takes plain arrays alone, and has tensors of a batch."""
    if isinstance(error, LevelError):
        return error
    name = getattr(getattr(call, "__self__", None), "name", name_of_function(call))
    return level.refusal(
        LevelError,
        f"a rule of {name} fails on tensors of this level beside those of another transform "
        f"({type(error).__name__}: {error}); write it in NumPy functions, or have it call a "
        f"functier.custom_op",
    )


def whole(level: Any, func: Callable, args: tuple) -> Any:
    """Record a call of a function that gets plain arrays, and does not change them."""
    name = getattr(func, "qualified_name", name_of_function(func))
    kept = [(x, x.copy()) for x in arrays_in(level.concrete(args))]
    outer, reads = AMBIENT.get(), level.reads
    try:
        AMBIENT.set(Tensor)
        if reads is not None:
            reads.declared += 1
        with record_draws() as drawn:
            result = level.record(func, args, {})
    finally:
        if reads is not None:
            reads.declared -= 1
        AMBIENT.set(outer)
        changed = [(x, old) for x, old in kept if x.tobytes() != old.tobytes()]
        for x, old in changed:
            x[...] = old
    if changed:
        raise level.refusal(
            MutationError,
            f"{name} has changed an argument in place, which would change the caller's array; "
            f"compute a new array there",
        )
    if drawn.states or drawn.seeds:
        raise level.refusal(
            RandomnessError,
            f"{name} draws random numbers where the program cannot see it; draw before, and pass "
            f"the numbers to it as an argument",
        )
    leaves = result if isinstance(result, (tuple, list)) else [result]
    if any([isinstance(x.parts()[0], Tensor) for x in leaves if isinstance(x, Tensor)]):
        raise level.refusal(
            LevelError,
            f"{name} takes plain arrays, but closes over a tensor of this level; pass the value to "
            f"it as an argument",
        )
    return result


def arrays_in(value: Any) -> list[ndarray]:
    """Return the arrays among the arguments of a rule, in lists, tuples and dicts."""
    if type(value) is ndarray:
        return [value]
    if type(value) is dict:
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in arrays_in(part)]
    return []
