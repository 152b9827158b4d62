"""The facts by which derivative rules tell a zero that wins over infinity from one that does not.

NOTE [zero wins]
    The product of a zero (co)tangent and an infinite derivative is NaN. It is zero only where
    the element does not depend on what is infinite: it is not read, another branch was chosen, a
    factor without derivative is zero there, or the direction was given as zero. A zero that came
    by a derivative which is zero at this point, as that of ``cos`` at 0, does not win.

    So rules compute plain products, and the levels look at results that are not finite a second
    time: with each (co)tangent they pass on where it moves. This table says how a rule does that.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .rule import times
from .types import Function

Kind = Literal[
    "each", "factor", "kink", "linear", "sum", "selection", "choice", "product", "root", "power"
]


class Zeros(NamedTuple):
    """The zeros of a rule's results.

    Attributes
    ----------
    kind : str
        "each": an element depends on that of the (co)tangent; "root", "power" and "kink" are such
        rules, of square roots, powers and norms, and "factor" one that multiplies by the first
        value that it saves, which may be constant. "product" is a sum of such products. "linear":
        the result of the rule for positive numbers tells, as that of a "selection", or of a
        "choice" among numbers that may be equal, and of a "sum", whose last saved value is its
        ``where``: all of it moves where all of its operand does, unless that is empty or masked.
    masked : bool
        True where the last but one of the saved values is the ``where`` of a ufunc.
    """

    kind: Kind
    masked: bool = False


ZEROS: dict[Function, Zeros] = {}
"""The zeros of rules. A result of a rule that is not here depends on all of its (co)tangent."""


def zeros_of(rule: Function) -> Zeros | None:
    """Return the zeros of a rule; an observer has the one that it observes as its `rule`."""
    return ZEROS.get(rule) or ZEROS.get(getattr(rule, "rule", None))  # type: ignore[arg-type]


def kind_of(rule: Function) -> Kind | None:
    """Return the kind of a rule's zeros, if it is declared."""
    found = ZEROS.get(rule) or zeros_of(rule)
    return found and found.kind


STEEP: set[Function] = set()
"""The elementwise functions whose derivative is infinite at a point."""


def declare_zeros(kind: Kind, rules: Iterable[Function], masked: bool = False) -> None:
    """Declare the zeros of rules; the first declaration of a rule that operations share stays."""
    for rule in rules:
        ZEROS.setdefault(rule, Zeros("factor" if rule is times else kind, masked))
