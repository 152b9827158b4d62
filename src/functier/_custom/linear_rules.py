"""Whether a rule for forward mode is linear in the tangents, as its transpose supposes.

NOTE [a rule is checked once]
    The tape of a jvp rule begins at tangents that are zero. That is right for a linear rule alone,
    and nothing in a later call would show another one. So the first call in reverse mode that has
    values is followed by some of plain numbers, of one example, which are checked as
    `linear_transpose` checks. Their draws are of copies, so that a rule may draw. Forward mode
    does what the rule says, and the form of its result is checked alone.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.numpy_facts import shape_of
from .._core.pytree import is_value
from .._core.reached import Generators, generators_of
from .._core.tensor import Tensor
from .._levels.cotangents import zeros
from .._levels.runs import within
from .._mutation.array import innermost
from .._transforms.chunks.streams import rehearse_draws
from .._transforms.tracing.linearize import transpose_at_zero
from .pytree_rules import PytreeCall
from .rules import inexact, placed

REMEDY = "return (out, tangent_out), where tangent_out is a linear function of the tangents"


def check_rule(call: PytreeCall, leaves: list, outs: list, form: Any, linear: bool) -> bool:
    """Raise where a jvp rule has another result or is not linear; return if that could be seen.

    `outs` and `form` are what the rule has returned.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            within(Tensor, _check, call, list(map(_example, leaves)), outs, form, linear)
    except NotImplementedError:  # where something has no finite plain value
        return False
    return True


def _check(call: PytreeCall, values: list, outs: list, form: Any, is_linear: bool) -> None:
    custom = call.custom
    own = [i for i in inexact(values) if i not in call.fixed]
    starts = [zeros(values[i]) for i in own]
    reached = [x for x, _ in generators_of(custom.fun, custom._jvp, custom._partials)]

    def rehearse(func: Callable, *args: Any) -> Any:
        try:
            with AMBIENT.get().level.forgotten(), rehearse_draws(), Generators.put_back(reached):
                return func(*args)
        except Exception as error:  # such as a collective, whose level is not here
            raise NotImplementedError from error

    def linear(tangents: list) -> list:
        outs, form, results = rehearse(call.jvp, values, placed(len(values), own, tangents))
        found = [results[i] for i in call.differentiable(outs, form) if results[i] is not None]
        if not all([np.all(np.isfinite(innermost(y))) for y in found]):
            raise NotImplementedError
        return found

    usual, structure = rehearse(call.run, values)
    shapes = [[shape_of(x) if is_value(x) else None for x in each] for each in (outs, usual)]
    if form != structure or shapes[0] != shapes[1]:
        raise ValueError(
            f"{call.name}: the jvp rule returned a result of the shapes {shapes[0]}, in the "
            f"structure {form}, but the function returns {shapes[1]} in {structure}; {REMEDY}, and "
            f"out is what the function returns"
        )
    if own and is_linear:
        transpose_at_zero(f"{call.name}: the jvp rule", linear, starts, REMEDY, rtol=1e-4)


def _example(x: Any) -> Any:
    """Return the plain value of an argument, of the first example; raise where it has none."""
    value = innermost(x)
    if isinstance(x, Tensor):
        lead = np.ndim(value) - x.ndim
        if type(value) is np.ndarray and 0 in value.shape[:lead]:
            raise NotImplementedError
        value = value[(0,) * lead] if lead else value
    if is_value(value) and not isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        raise NotImplementedError
    return value
