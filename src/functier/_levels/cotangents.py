"""(Co)tangents: zeros, sums, and casts to the forms of the values that they belong to.

All functions work on values of any level.

NOTE [pieces of a cotangent]
    The cotangent of ``x[i]`` is zeros but for a piece. A loop over elements would make an array as
    large as `x` for each. So the backward pass keeps the pieces of a node until it visits the
    node, and one operation adds them, in the order in which they came, to zeros that nobody else
    has. What had come before them is the first piece, at `...`; what comes later is added to their
    sum. Pieces that have many more elements than `x` do not wait.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from .._core.border import check_leaf, without_derivative
from .._core.hooks import chunked_as, lazy_one
from .._core.numpy_facts import (
    FLOAT,
    SCALARS,
    SEQUENCES,
    Function,
    Index,
    Scalar,
    Shape,
    Value,
    dtype_of,
    is_lazy,
    shape_of,
    sum_to,
)
from .._core.table import FEW_PIECES, PIECES, SO_FAR
from .._core.tensor import Tensor
from .lineage import levels_of
from .tape import Continued

float64 = np.float64
new = object.__new__
ndarray = np.ndarray
ONE = float64(1.0)
SMALL = 8
"""An array of up to so many elements costs no more than a piece."""

WAITING = 1000
"""Up to so many elements of pieces wait, and as many as there are in their sum."""

Fix = tuple[Shape, np.dtype, bool] | Literal[False]


def is_inexact(value: Value) -> bool:
    """Return whether a value is of a floating-point or complex dtype."""
    if type(value) is float64:
        return True
    while isinstance(value, Tensor):  # every level keeps the dtype of what it wraps
        value = value._value
    return dtype_of(value).kind in "fc"


def one(value: Value) -> Scalar:
    """Return the cotangent 1 of a scalar output."""
    if is_lazy(value):
        return lazy_one(value)
    return ONE if type(value) is float64 or type(value) is float else dtype_of(value).type(1)


def zeros(value: Value) -> Value:
    """Return the zero (co)tangent of a value."""
    return zeros_of(form_of(value))


def form_of(value: Value) -> Any:
    """Return what `zeros_of` makes a zero (co)tangent of a value from; it takes no memory."""
    return value if is_lazy(value) else (shape_of(value), dtype_of(value))


def zeros_of(form: Any) -> Value:
    """Return the zero (co)tangent of a form."""
    return np.zeros(*form)[()] if type(form) is tuple else np.zeros_like(form)


def form_like(value: Value) -> Value:
    """Return an array of the shape and dtype of `value` that takes no memory."""
    if is_lazy(value):
        return value
    return np.broadcast_to(np.zeros((), dtype_of(value)), shape_of(value))


def add(a: Value, b: Value) -> Value:
    """Add two (co)tangents; either may be None, or both may be tuples of these."""
    if issubclass(type(a), SEQUENCES):
        return tuple([add(x, y) for x, y in zip(a, b)])
    return b if a is None else a if b is None else a + b


def fill_zeros(grads: list, values: Sequence) -> list:
    """Replace None by zeros like the values; make (co)tangents of numbers numbers.

    Those of a Dask array get its chunks.
    """
    for i, g in enumerate(grads):
        if g is None:
            grads[i] = zeros(values[i])
        elif type(values[i]) in SCALARS:
            grads[i] = g[()] if type(g) is ndarray and not g.ndim else g
        elif not isinstance(values[i], (Tensor, ndarray)) and is_lazy(values[i]):
            grads[i] = chunked_as(g, values[i])
    return grads


def complex_derivatives(grads: list) -> list:
    """Conjugate cotangents of a holomorphic function, which gives its derivatives."""
    return [g if g is None else np.conjugate(g) for g in grads]


def fix_for(ans: Value, value: Value, holomorphic: bool) -> Fix:
    """Return how the cotangent of `value` differs in form from that of `ans`, or False.

    Returns
    -------
    tuple or False
        The shape to sum down to, the dtype to cast to, and True where the rule has to be
        conjugated around (PyTorch's convention for complex numbers: the gradient of a real
        function is the conjugate Wirtinger derivative).
    """
    kind = type(ans)
    if type(value) is ndarray and (kind is ndarray or kind is float64):
        shape, dtype, own = value.shape, value.dtype, ans.dtype
        if own is dtype is FLOAT:
            return False if ans.shape == shape else (shape, FLOAT, False)
        complex_ = dtype.kind == "c" or own.kind == "c"
        if own.kind not in "fciub":
            raise without_derivative(ans)
        if own == dtype and not complex_ and ans.shape == shape:
            return False
        return shape, dtype, complex_ and holomorphic
    a, v = ans, value
    while (kind := type(a)) is type(v) and kind is not ndarray:
        if kind is float64 or kind is float:
            return False
        if kind in SCALARS or not isinstance(a, Tensor):
            break
        a, v = a._value, v._value  # one level's tensors have equal forms if these do
    if kind is float64 and type(v) is float:
        return False
    if kind is ndarray and type(v) is ndarray:  # both in tensors of one level
        if a.shape == v.shape and a.dtype is v.dtype and v.dtype.kind != "c":
            return False
    shape, dtype = shape_of(value), dtype_of(v)
    if issubclass(type(ans), SEQUENCES):
        return shape, dtype, False
    own = dtype_of(a)
    if own.kind not in "fciub":
        raise without_derivative(a)
    if shape == shape_of(ans) and dtype == own and dtype.kind != "c":
        return False
    return shape, dtype, holomorphic and "c" in (dtype.kind, own.kind)


def fit(c: Value, shape: Shape, dtype: np.dtype) -> Value:
    """Sum `c` over axes that broadcasting added, broadcast it over those it lacks, and cast it."""
    if shape_of(c) != shape:
        c = sum_to(c, shape)
        if shape_of(c) != shape:
            c = np.broadcast_to(c, shape)
    return cast(c, dtype)


def cast(c: Value, dtype: np.dtype) -> Value:
    """Cast a (co)tangent; a real dtype takes the real part of a complex one."""
    own = dtype_of(c)
    if own == dtype:
        return c
    if own.kind == "c" and dtype.kind != "c":
        c = np.real(c)
    if isinstance(c, (Tensor, ndarray)) or is_lazy(c):
        return np.astype(c, dtype)  # type: ignore[arg-type]  # a tensor dispatches
    return dtype.type(c)


def cast_from_rule(label: str, what: Callable[[], str], c: Value, dtype: np.dtype) -> Value:
    """Cast a (co)tangent from a user's rule, or raise; ``what()`` is its name in a message."""
    own = dtype_of(c)
    if own is dtype and type(c) is ndarray:
        return c
    check_leaf(label, what, c)
    if own.kind not in "biufc":
        raise TypeError(f"{label}: {what()} has dtype {own}; return an array of numbers")
    if own.kind == "c" and dtype.kind != "c":
        raise TypeError(
            f"{label}: {what()} has dtype {own}, but its value is real, of dtype {dtype}; "
            f"return its real part, numpy.real(c), where the imaginary part has no meaning"
        )
    return cast(c, dtype)


def pull(rule: Function, g: Value, saved: tuple, fix: tuple[Shape, np.dtype, bool]) -> Value:
    """Apply a complex-linear vjp rule, conjugated around, and fit the result."""
    c = rule(np.conjugate(g), *saved)
    return c if c is None else fit(np.conjugate(c), fix[0], fix[1])


class Pieces:
    """The cotangent of an array of `shape`: a sum of pieces at some places.

    There is `room` for so many more elements before it becomes an array.
    """

    __slots__ = ("places", "room", "rule", "shape", "values")

    rule: Function
    shape: Shape
    places: list[Index]
    values: list[Value]
    room: int

    def sum(self) -> Value:
        """Return the array, which nobody else has."""
        if len(self.values) > 1:
            return PIECES[self.rule](self.shape, tuple(self.places), *self.values)
        (index,), (g,) = self.places, self.values
        return g if index is ... or index is SO_FAR else self.rule(g, self.shape, index)

    def __add__(self, other: Value) -> Value:
        return add(self.sum(), other)


def is_of_loop(pieces: Pieces, last: Value) -> bool:
    """Return whether pieces are those of a loop of a program: many, or of one place again."""
    if not (isinstance(last, Tensor) and any([x.guards for x in levels_of(type(last))])):
        return False
    *others, place = pieces.places
    return len(others) >= FEW_PIECES or any([is_same(x, place) for x in others])


def is_same(a: Any, b: Any) -> bool:
    """Return whether two indices are the same, without arrays and values of a level."""
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(is_same, a, b))
    return type(a) in (int, slice) and a == b


def take_piece(
    grads: dict[int, Any], key: int, rule: Function, g: Value, saved: tuple
) -> Value | None:
    """Take `g` as a piece of the cotangent `key`; return what is to be added to that, if anything.

    This is the cotangent itself where `g` is the first part of it, and the array of the piece where
    that is small.
    """
    found = grads.get(key)
    shape, index = saved
    if type(found) is Pieces:
        found.places.append(index)
        found.values.append(g)
        found.room -= 1 if type(g) in SCALARS else prod(shape_of(g))
        if found.room < 0:
            start: Index = SO_FAR if is_of_loop(found, g) else ...
            found.places, found.values = [start], [found.sum()]
            found.room = prod(shape) + WAITING
        return None
    size = prod(shape)
    if size <= SMALL:
        return rule(g, shape, index)
    made: Any = new(Pieces)
    made.rule, made.shape, made.room = rule, shape, size + WAITING
    if found is None:
        made.places, made.values = [index], [g]
    else:
        made.places, made.values = [..., index], [found, g]
        grads[key] = made
    return made if found is None else None


def go_on(rule: Continued, g: Value, given: Any, grads: dict[int, Any], ours: set[int]) -> list:
    """Return the cotangents that `rule` finds for nodes that have none; add to the others."""
    sums = [grads.get(key) for key in rule.parents]
    sums = [c.sum() if type(c) is Pieces else c for c in sums]
    found = rule(g, given, sums)
    for i, key in enumerate(rule.parents):
        if sums[i] is not None:
            grads[key], found[i] = found[i], None
            ours.discard(key)
    return found
