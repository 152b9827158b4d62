"""Derivative rules: the values that they save, and the rules that the engine knows by name.

NOTE [a rule's parameters name what it saves]
    A derivative rule is a function whose first parameter is the (co)tangent and whose
    other parameters are *names*: an operand of the operation (`x`), a parameter of the
    NumPy call (`axis`), the result (`ans`), the shape or dtype of an operand
    (`x_shape`, `x_dtype`), the position in a sequence of operands and the shapes of
    all of them (`index`, `shapes`), the sequence itself (the name of its parameter), or the
    item of another sequence at that position (`places_item`). A tape keeps the named values, and
    nothing else. A default value stands for a parameter that the caller left out.

NOTE [zero wins]
    The product of a zero (co)tangent and an infinite derivative is NaN. It is zero only where
    the element does not depend on what is infinite: it is not read, another branch was chosen, a
    factor without derivative is zero there, or the direction was given as zero. A zero that came
    by a derivative which is zero at this point, as that of ``cos`` at 0, does not win.

    So rules compute plain products, and the levels look at results that are not finite a second
    time: with each (co)tangent they pass on where it moves. This table says how a rule does that.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .._cpython.code import parameters_of
from .numpy_facts import Function, Value, dtype_of, shape_of

FORMS: dict[str, Any] = {
    "static": None, "ans": True, "operand": True, "shape": shape_of, "dtype": dtype_of,
}  # fmt: skip
"""The ways to keep a source: None, as a parameter; True, as the value; else by this function."""


class Rule:
    """A derivative rule, with the names of the values that it needs.

    Attributes
    ----------
    fn : callable
        The rule: a function of the (co)tangent and of these values.
    holomorphic : bool
        Whether it multiplies by a complex-linear factor; if complex numbers are involved, the
        engine then conjugates around it.
    """

    def __init__(self, fn: Any, operands: Sequence[str], holomorphic: bool = False):
        if isinstance(fn, tuple):  # a function that several rules share, and their names
            fn, *names = fn
            self.needs = tuple(names)
        else:
            first, self.needs = parameters_of(fn)[:1], parameters_of(fn)[1:]
            if {*first} & {"ans", *operands}:  # a derivative alone: it would be silently wrong
                raise TypeError(
                    f"a rule gets the (co)tangent first, and {first[0]!r} is a value that it may "
                    f"ask for after it; write `lambda g, x: g * df(x)` for the derivative df(x)"
                )
        self.fn = fn
        given = fn.__defaults__ or ()
        self.defaults = dict(zip(self.needs[len(self.needs) - len(given) :], given))
        self.holomorphic = holomorphic
        where = {"ans": 0, **{name: i + 1 for i, name in enumerate(operands)}}
        self.pick = _picker([where.get(name) for name in self.needs])
        self._plan: list | None = None
        self._direct: list | None = None

    @property
    def square(self) -> Function | None:
        """The rule of half the square, if this one is that of a norm."""
        return SQUARED.get(self.fn)

    def save(self, ans: Value, call: Any, values: list[Value], position: int) -> tuple:
        """Collect the values that the rule needs for the operand at `position`."""
        if call.direct and self._direct is not None:
            return self.save_direct(ans, call.given, values)
        return self._save(ans, call, values, position)

    def save_direct(self, ans: Value, given: dict, values: Sequence[Value]) -> tuple:
        """Collect the values for a direct call, once `save` has made its plan."""
        saved: list[Any] = []
        for form, where, default in self._direct:  # type: ignore[union-attr]
            if form is None:
                saved.append(given.get(where, default))
            elif where is None:
                saved.append(ans)
            else:
                saved.append(values[where] if form is True else form(values[where]))
        return tuple(saved)

    def _save(self, ans: Value, call: Any, values: list[Value], position: int) -> tuple:
        """Collect the values for any call; make the plans, which depend on names only."""
        plan = self._plan
        if plan is None:
            plan = self._plan = [self._source(name, call.op) for name in self.needs]
            lead = call.op.lead
            self._direct = [
                # An operand that does not lead is absent from a direct call: its default.
                (None, n, d)
                if s == "static" or (s == "operand" and n not in lead)
                else (FORMS[s], None if s == "ans" else lead.index(n), d)
                for s, n, d in plan
                if s in FORMS and (s in ("ans", "static", "operand") or n in lead)
            ]
            if len(self._direct) != len(plan):
                self._direct = None
        saved: list[Any] = []
        for source, name, default in plan:
            if source == "static":
                saved.append(call.given.get(name, default))
            elif source == "ans":
                saved.append(ans)
            elif source == "index":
                saved.append(position - call.names.index(call.names[position]))
            elif source == "item":
                saved.append(call.given[name][position - call.names.index(call.names[position])])
            elif source == "shapes":
                if call.shapes is None:  # one tuple for all operands: there may be many
                    same = zip(call.names, values)
                    call.shapes = tuple([shape_of(v) for n, v in same if n == call.op.variadic])
                saved.append(call.shapes)
            elif source == "sequence":
                saved.append([v for n, v in zip(call.names, values) if n == name])
            elif name not in call.names:
                saved.append(default)
            else:
                value = values[call.names.index(name)]
                form = FORMS[source]
                saved.append(value if form is True else form(value))
        return tuple(saved)

    def _source(self, name: str, op: Any) -> tuple[str, str, Any]:
        """Return the source of a value, its name, and its default.

        See NOTE [a rule's parameters name what it saves].
        """
        default = self.defaults.get(name)
        operand, _, form = name.rpartition("_")
        if name in ("ans", "index", "shapes") and name not in op.params:
            return name, name, None
        if name == op.variadic:
            return "sequence", name, None
        if name in op.arrays:
            return "operand", name, default
        if operand in op.arrays and form in FORMS and name not in op.params:
            return form, operand, default
        if form == "item" and operand in op.params:
            return form, operand, None
        if name not in op.params and name not in self.defaults and op.bind_args is None:
            raise TypeError(f"a rule of {op.name} needs {name!r}, which its call does not have")
        return "static", name, default


def _picker(where: list) -> Callable[..., tuple] | None:
    """Return a fast function from ``ans, *operands`` to the tuple of values that a rule needs."""
    if None in where or not where:
        return None
    common = PICKERS.get(tuple(where))
    if common is not None:
        return common
    get = operator.itemgetter(*where)
    return (lambda *values: get(values)) if len(where) > 1 else (lambda *values: (get(values),))


PICKERS: dict[tuple[int, ...], Callable[..., tuple]] = {
    (0,): lambda ans, x, y=None: (ans,),
    (1,): lambda ans, x, y=None: (x,),
    (2,): lambda ans, x, y: (y,),
    (0, 1): lambda ans, x, y=None: (ans, x),
    (0, 2): lambda ans, x, y: (ans, y),
    (1, 2): lambda ans, x, y: (x, y),
    (0, 1, 2): lambda ans, x, y: (ans, x, y),
}
"""Written out for operations of up to two operands, as each of their calls makes one."""


# The rules that the backward pass knows: it sums over broadcast axes before a minus sign,
# and computes in place what it owns.


def unchanged(g: Any) -> Any:
    return g


def negated(g: Value) -> Value:
    return -g


def times(g: Value, factor: Value) -> Value:
    return g * factor


def times_ans(g: Value, ans: Value) -> Value:
    return g * ans


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


SQUARED: dict[Function, Function] = {}
"""The rules of half the squares of norms, by those of the norms, with the same values. They have no
kink. So the powers of a norm are differentiated by its square."""

POWERS = np.power, np.float_power, np.square


def smooth_exponent(call: Any) -> Any:
    """Return the exponent of a power of one operand that moves; None below 2, or if it may be so.

    Between 2 and 3 another power of a norm would have an infinite slope.
    """
    y = call.operands[1] if len(call.operands) > 1 else 2
    if call.given or not isinstance(y, (int, float, np.number, np.ndarray)):
        return None
    return y * 1 if np.all((np.equal(y, 2)) | np.greater_equal(y, 3)) else None


def is_bent(y: Any) -> bool:
    """Return whether a power may have an exponent between 1 and 2: flat at 0, and yet no square."""
    if not isinstance(y, (int, float, np.number, np.ndarray)):
        return True
    return bool(np.any(np.greater(y, 1) & np.less(y, 2)))


def by_square(g: Value, x: Value, y: Value) -> Value:
    """Return the cotangent of half the square of x, or the tangent of the power by that of it."""
    return g * (y * x ** (y - 2))


STEEP: set[Function] = set()
"""The elementwise functions whose derivative is infinite at a point."""


def declare_zeros(kind: Kind, rules: Iterable[Function], masked: bool = False) -> None:
    """Declare the zeros of rules; the first declaration of a rule that operations share stays."""
    for rule in rules:
        ZEROS.setdefault(rule, Zeros("factor" if rule is times else kind, masked))
