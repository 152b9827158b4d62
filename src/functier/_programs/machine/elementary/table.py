"""The table of elementwise functions, and the decorators that fill it."""

from ..text.emitter import FLOAT32, FLOAT64

__all__ = ["ELEMENTWISE", "doubles", "elementwise", "of_doubles"]

ELEMENTWISE: dict = {}
"""A rule `rule(emitter, *values) -> Value` for each function."""


def elementwise(*functions):
    """Register a rule for functions, which may differ in their names only."""

    def register(rule):
        for function in functions:
            ELEMENTWISE[function] = rule
        return rule

    return register


def doubles(rule):
    """A rule for both dtypes from one that is written for float64.

    Operands of float32 become float64, and the result is rounded once more. The body may become a
    function of the module.
    """

    def of_singles(emitter, *values):
        wide = [emitter.cast(v, FLOAT64) for v in values]
        return emitter.cast(rule(emitter, *wide), FLOAT32)

    def chosen(emitter, *values):
        body = of_singles if values[0].dtype == FLOAT32 else rule
        return emitter.call(rule.__name__, body, *values)

    return chosen


def of_doubles(*functions):
    """Register `doubles(rule)` for functions."""

    def register(rule):
        elementwise(*functions)(doubles(rule))
        return rule

    return register
