"""Powers and slopes of norms in a Taylor series: a power may have no kink, though the norm has one.

A level of another package has to say which of its results are at a kink, or that none is. So this
file takes the names by which the two modes say so, and the level those of the protocol alone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..._core.hooks import slope
from ..._core.rule import POWERS, by_square, is_bent, smooth_exponent
from ...protocol import Call, Op
from .recurrences import KINKED, RECURRENCES, divide


def recurrence_of(func: Callable) -> Callable | None:
    """Return the recurrence of a function that has one; a slope has one as the quotient has."""
    return partial(divide, quotient=func) if func is slope.answer else RECURRENCES.get(func)


def smooth_power(op: Op, call: Call, half: Any) -> Any:
    """Return the exponent of a power without a kink, or None; `half` is that of its operand."""
    return None if op.func not in POWERS or half is None else smooth_exponent(call)


def power_rate(half: Any, x: Any, exponent: Any) -> Any:
    """Return the derivative of a power of the norm `x` by that of half its square."""
    return by_square(half(x), x, exponent)


def has_kink(op: Op, call: Call) -> bool:
    """Return whether the result of an operation has a kink where it is zero."""
    return op.func in KINKED or (op.func in POWERS and is_bent([*call.operands, 2][1]))
