"""A kind of level for Taylor series, by public names of the protocol alone.

A tensor has the value of a function of t at 0 and, beside it, the coefficients of t, t^2 and so on.

NOTE [a derivative is enough]
    A rule of forward mode gives the derivative of an operation, ``y' = rule(x', x, y)``, as NumPy
    code. This level calls the rule with series. The coefficient k of `y` is that of k - 1 of
    ``y'``, over k, and that one needs no coefficients of `x'`, `x` and `y` beyond k - 1. So the
    rule is called once, with a series `y` whose coefficients are computed as they are asked for:
    it becomes the recurrence of the operation. Only operations by which that would lead from one
    operation to the next, as the derivative of a quotient has a quotient, are in `recurrences`.

NOTE [lazy inside, eager outside]
    What a function computes gets all of its coefficients at once, as arrays may be written to
    afterwards. What a rule of the table computes does not: it writes to nothing, and what it
    computes twice is computed once. A rule of a user is a function like any other; it runs with
    all coefficients but one.
"""

from collections.abc import Callable
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np

from ...errors import NoRuleError
from ...protocol import Call, Level, Op
from . import simple
from .norms import has_kink, power_rate, recurrence_of, smooth_power
from .recurrences import convolve

Term = Callable[[int], Any]
"""The coefficient of t^k by k, from 1; None is zero."""
WEAK = bool, int, float, complex


class Series:
    """The coefficients of t, t^2 and so on, of which None is zero.

    Attributes
    ----------
    known : list
        Those that are known, from that of t.
    term : callable or None
        Computes the next one, until all are known.
    twins : dict
        What rules have computed of this one: sin and cos are made of each other.
    kinks : dict
        For each function with a kink at 0 on the way to it, whether it was there.
    half : callable or None
        Of a norm: returns the derivative of half its square, for the tensor of the norm.
    """

    __slots__ = ("half", "kinks", "known", "term", "twins")

    def __init__(self, term: Term | None, known: list | None = None):
        self.term, self.known = term, known or []
        self.twins: dict[Any, Any] = {}
        self.kinks: dict[object, Any] = {}
        self.half: Callable[[Any], Any] | None = None


class SeriesLevel(Level):
    """A level of jet: the parts of a tensor are the value at t = 0 and a `Series`."""

    differentiates = "series"
    order: int
    inside = False  # a rule of the table is running

    # ---- operations ----

    def apply(self, op: Op, call: Call) -> Any:
        moving = [i for i, x in enumerate(call.operands) if type(x) is self.cls]
        if op.constant or not (self.inside and moving and call.direct) or call.given:
            return self.compute(op, call, moving)
        key = (op.func, *[(type(x), repr(x)) if type(x) in WEAK else id(x) for x in call.operands])
        twins = call.operands[moving[0]].parts()[1].twins
        if key not in twins:  # with the operands, so that no other one has the identity of these
            twins[key] = self.compute(op, call, moving), call.operands
        return twins[key][0]

    def compute(self, op: Op, call: Call, moving: list[int]) -> Any:
        """Return the result of an operation, of which some operands are tensors of this level."""
        values = [self.lower(x) for x in call.operands]
        ans = call.run(values)
        if op.constant or not moving:
            return ans
        lacking = [call.names[i] for i in moving if call.names[i] not in rules_of(op)]
        if lacking:
            term: Term | None = self.refuse(op, lacking[0])
        elif op.jvp == "linear":
            term = self.linear(op, call, values)
        elif op.jvp == "multilinear":
            term = self.product(call, values, moving)
        else:
            find = recurrence_of(op.func) if call.direct and not call.given else None
            term = find(self, call.operands, ans) if find else self.steady(op, call, moving)
        if term is None or self.smooth_power(call, op) is not None:
            derivative = partial(self.derivative, op, call, moving)
            made = self.integrate(ans, derivative, simple.checker(op, ans))
        else:
            made = self.join(ans, term)
        if type(made) is self.cls:
            own = made.parts()[1]
            for i in moving:
                own.kinks |= call.operands[i].parts()[1].kinks
            if has_kink(op, call):
                own.kinks |= {object(): np.any(np.equal(ans, 0))}
            if not lacking and all(rules_of(op)[call.names[i]].square for i in moving):
                call = copy(call)  # the operands may be written to
                call.operands = [
                    self.cls.join(*x.parts()) if type(x) is self.cls else x for x in call.operands
                ]
                own.half = partial(self.derivative, op, call, moving, square=True)
        return self.close(made)

    def smooth_power(self, call: Call, op: Op) -> Any:
        """Return the exponent of a power of a norm that has no kink, or None."""
        x = call.operands[0]
        return smooth_power(op, call, x.parts()[1].half) if type(x) is self.cls else None

    def tensor(self, value: Any, coefficients: list) -> Any:
        """Return the tensor of a value and its coefficients, all of them one level out."""
        known = [None if c is None else self.lower(c) for c in coefficients]
        return self.cls.join(self.lower(value), Series(None, known))

    def coefficient(self, x: Any, k: int) -> Any:
        """Return the coefficient of t^k, or None where it is zero."""
        if type(x) is not self.cls:
            return None if k else self.lower(x)
        value, series = x.parts()
        known, term = series.known, series.term
        while len(known) < k:  # without further calls: rules inside rules are deep enough
            assert term is not None, "a coefficient beyond the order of the series"
            known.append(fit(term(len(known) + 1), value))
        return known[k - 1] if k else value

    def refuse(self, op: Op, name: str) -> Term:
        """Return the terms of an operation that has no rule, for which nobody may ask."""

        def term(k: int) -> Any:
            raise NoRuleError(
                f"{self}: {op.name} has no derivative rule for its argument {name!r}, and so no "
                f"Taylor series; write the computation with other NumPy functions, or keep that "
                f"argument free of the variables"
            )

        return term

    def linear(self, op: Op, call: Call, values: list) -> Term:
        """Return the terms of an operation that is linear in all operands that have a rule."""

        def term(k: int) -> Any:
            given = [self.coefficient(x, k) for x in call.operands]
            if all(c is None for c in given):
                return None
            return call.run([
                c if c is not None else zero(v) if name in op.vjp else v
                for c, v, name in zip(given, values, call.names)
            ])  # fmt: skip

        return term

    def steady(self, op: Op, call: Call, moving: list[int]) -> Term | None:
        """Return the terms by rules that need no operand that moves; else None."""
        rules = [rules_of(op)[call.names[i]] for i in moving]
        saved = [rule.save(self, call, call.operands, i) for rule, i in zip(rules, moving)]
        if any(self.moves(v) for row in saved for v in row):
            return None

        def term(k: int) -> Any:
            found = None
            for i, rule, row in zip(moving, rules, saved):
                c = self.coefficient(call.operands[i], k)
                if c is not None:
                    found = both(add, found, rule.fn(c, *row))
            return found

        return term

    def moves(self, saved: Any) -> bool:
        """Return whether a saved value is a tensor of this level, or `self`, for the result."""
        if isinstance(saved, (tuple, list)):
            return any(map(self.moves, saved))
        return saved is self or type(saved) is self.cls

    def product(self, call: Call, values: list, moving: list[int]) -> Term:
        """Return the terms of an operation that is linear in each operand."""

        def multiply(*parts: Any) -> Any:
            given = list(values)
            for i, part in zip(moving, parts):
                given[i] = part
            return call.run(given)

        at, factors = self.coefficient, [call.operands[i] for i in moving]
        return lambda k: convolve(multiply, [[at(x, j) for j in range(k + 1)] for x in factors])

    def integrate(
        self,
        value: Any,
        derivative: Callable[[Any], Any],
        check: Callable | None = None,
        by_user: bool = False,
    ) -> Any:
        """Return the result that has a value and a derivative: see NOTE [a derivative is enough].

        `derivative` takes the result, and runs once. `check` takes each coefficient beyond that
        of t. `by_user`: see NOTE [lazy inside, eager outside].
        """
        rates = self.once(lambda: derivative(made), by_user)

        def term(k: int) -> Any:
            rate = rates()
            if isinstance(rate, (tuple, list)):
                found: Any = [over(self.coefficient(r, k - 1), k) for r in rate]
            else:
                found = over(self.coefficient(rate, k - 1), k)
            return found if k == 1 or check is None else each(check, found)

        made = self.join(value, term)
        return made

    def once(self, make: Callable[[], Any], by_user: bool = False) -> Callable[[], Any]:
        """Return a function that computes something of tensors, as a rule does, and keeps it."""
        order = self.order

        @cache
        def made() -> Any:
            around = self.inside, self.order
            try:
                self.inside, self.order = not by_user, order - by_user
                return make()
            finally:
                self.inside, self.order = around

        return made

    def lazily(self, make: Callable[[], Any]) -> Term:
        """Return the terms of what `make` computes of tensors."""
        made = self.once(make)
        return lambda k: self.coefficient(made(), k)

    def derivative(
        self, op: Op, call: Call, moving: list[int], ans: Any, square: bool = False
    ) -> Any:
        """Return the derivative of a result by its rules, as a tensor or a tuple of these.

        `square`: that of half the square of a norm.
        """
        rules, found = rules_of(op), None
        exponent = self.smooth_power(call, op)
        if exponent is not None:
            x = call.operands[0]
            return power_rate(x.parts()[1].half, x, exponent)
        for i in moving:
            rule = rules[call.names[i]]
            saved = rule.save(ans, call, call.operands, i)
            fn = rule.square if square else rule.fn
            found = both(add, found, fn(self.rate(call.operands[i]), *saved))
        return found

    def rate(self, x: Any) -> Any:
        """Return the derivative of a tensor with respect to t."""
        value, series = x.parts()
        if "rate" not in series.twins:
            at, first = self.coefficient, self.coefficient(x, 1)
            terms = Series(lambda k: times(k + 1, at(x, k + 1)))
            series.twins["rate"] = self.cls.join(zero(value) if first is None else first, terms)
        return series.twins["rate"]

    def join(self, value: Any, term: Term) -> Any:
        """Return the tensor of a value and the terms of its series, or a tuple of such."""
        if isinstance(value, (tuple, list)):
            known: list = []

            def part(i: int, k: int) -> Any:
                while len(known) < k:
                    known.append(term(len(known) + 1))
                return None if known[k - 1] is None else known[k - 1][i]

            return like(value, [self.join(v, partial(part, i)) for i, v in enumerate(value)])
        if (kind := kind_of(value)) not in "fc":
            if kind not in "iub":
                raise NoRuleError(
                    f"{self}: an array of dtype {value.dtype} has no Taylor series; compute with "
                    f"arrays of numbers, x.astype(float)"
                )
            return value
        return self.cls.join(value, Series(term))

    def close(self, made: Any) -> Any:
        """Compute all coefficients: see NOTE [lazy inside, eager outside]."""
        if not self.inside:
            for part in made if isinstance(made, (tuple, list)) else (made,):
                if type(part) is self.cls:
                    self.coefficient(part, self.order)
                    series = part.parts()[1]
                    series.term, series.twins = None, {}
        return made


# ---- coefficients ----


def rules_of(op: Op) -> Any:
    """Return rules of an operation by its operands: those of forward mode, or which tell of one."""
    return op.vjp if isinstance(op.jvp, str) else (op.jvp or {})


def like(sequence: Any, items: list) -> Any:
    """Return the items as a sequence of this type."""
    kind = type(sequence)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def each(func: Callable, parts: Any) -> Any:
    """Return the function of a value, or of each value of a tuple."""
    return [func(part) for part in parts] if isinstance(parts, (tuple, list)) else func(parts)


def both(func: Callable, a: Any, b: Any) -> Any:
    """Return the function of two values, or of each pair of two tuples; None is zero."""
    if a is None:
        return b
    if isinstance(a, (tuple, list)):
        return [func(x, y) for x, y in zip(a, b)]
    return func(a, b)


def add(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def over(c: Any, k: int) -> Any:
    return c if c is None or k == 1 else c / k


def times(k: int, c: Any) -> Any:
    return c if c is None or k == 1 else k * c


def kind_of(value: Any) -> str:
    """Return the kind of the dtype of a value."""
    return value.dtype.kind if hasattr(value, "dtype") else np.dtype(type(value)).kind


def zero(value: Any) -> Any:
    """Return a zero of the form of a value."""
    return type(value)(0) if type(value) in WEAK else np.zeros_like(value)


def fit(c: Any, value: Any) -> Any:
    """Return a coefficient in the shape and dtype of the value that it belongs to."""
    if c is None:
        return None
    if np.shape(c) != np.shape(value):
        c = np.broadcast_to(c, np.shape(value))
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(c, "dtype", None) != dtype:
        c = np.astype(c, dtype) if hasattr(c, "dtype") else dtype.type(c)
    return c
