"""Operands other than arrays: objects of users and of libraries, lists, unequal objects.

NOTE [what carries a meaning holds tensors]
    A tensor has no units and no labels, and code asks for them: ``(x * q).to("m")``. So an operator
    of a tensor and such an object is the object's to compute, whatever their order, and the
    tensor is inside of the result. A transform whose argument is a quantity has it inside of its
    tensors instead; these compute with other quantities themselves. Where a quantity that holds
    a tensor leaves a transform, it is made a tensor that has a quantity inside.
"""

import math
from collections.abc import Callable
from numbers import Number
from operator import eq, getitem, index, mul, ne
from types import FunctionType
from typing import Any

import numpy as np

from .._core.border import converted, has_tensors, is_labelled, operand, without_labels
from .._core.errors import ConversionError, LevelError
from .._core.foreign_operators import operate
from .._core.hooks import lazy_attribute, take_in
from .._core.numpy_facts import PLAIN, UFUNC_OF, Function, Value, dtype_of, is_lazy, shape_of
from .._core.op import Call, Op
from .._core.root import classes_in, opts_out, tree_map
from .._core.table import OPS
from .._core.tensor import Tensor
from .._mutation.array import innermost, is_array, settle
from .._mutation.items import stacked


def attribute_inside(level: Any, x: Tensor, name: str) -> Any:
    """Look up an attribute in the user's class inside `x`; methods get `x` as `self`."""
    value: Any = x
    while isinstance(value, Tensor) and value.level.depth:
        value = value._value
    if is_lazy(value):
        return lazy_attribute(x, name)
    if isinstance(value, Tensor):
        for cls in type(value).__mro__:
            member = vars(cls).get(name)
            if isinstance(member, (FunctionType, property)):
                return member.__get__(x, type(x))
        found = getattr(value, name)
        if not isinstance(found, (np.ndarray, Tensor)):
            return found
        raise level.refusal(
            LevelError,
            f"x.{name} is an array that a {type(value).__name__} has beside its value, and the "
            f"transform does not track it; pass it to the function as an argument",
        )
    if is_quantity(value) and hasattr(value, name):  # hasattr(x, "magnitude") must not say no
        raise level.refusal(
            ConversionError,
            f"x.{name} is an attribute of a {type(value).__name__}, which is inside the tensor x, "
            f"and a tensor has no units; pass q.magnitude to the transform, and write "
            f"x = x * q.units in the function, so that the quantity has the tensor inside",
        )
    raise AttributeError(f"a tensor of {level} has no attribute {name!r}")


def has_methods(x: Any) -> bool:
    """Return whether `x` is of a user's class, which may have more methods and attributes."""
    return type(x) is not Tensor and not x.level.depth if isinstance(x, Tensor) else is_quantity(x)


def foreign(level: Any, x: Value) -> Value:
    """Return an operand of another library, checked; a Dask array as it is inside a level."""
    level.forward_attributes(x)
    x = operand(level, x)
    return take_in(level, x) if is_lazy(x) else x


def forward_attributes(level: Any, x: Any = None) -> None:
    """Give tensors of a level the methods and attributes of the class inside.

    Only for a user's class, as `__getattr__` costs each attribute 10 ns. With `x`, only if that is
    a quantity or a Dask array.
    """
    if x is not None and not is_quantity(x) and not is_lazy(x):
        return
    level.forwards = True
    if "_writes" not in vars(level.cls):  # an armed class has its own
        type.__setattr__(level.cls, "__getattr__", forward_attribute)


def forward_attribute(x: Tensor, name: str) -> Any:
    """Look up an attribute for `__getattr__` of a level; see `Level.attribute`."""
    if name.startswith("__") or name in Tensor.__slots__:
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")
    return x.level.attribute(x, name)


# ---- units and labels ----


def is_quantity(x: Any) -> bool:
    """Return whether `x` is a number, or an array, with a unit."""
    return hasattr(type(x), "magnitude") and hasattr(type(x), "units")


def holds(x: Any) -> bool:
    """Tell if `x` is a quantity, a unit or an array of xarray: what may have a tensor inside."""
    kind = type(x)
    if kind in PLAIN or issubclass(kind, Tensor):
        return False
    return hasattr(kind, "dimensionality") or (
        hasattr(kind, "dims") and kind.__module__.partition(".")[0] == "xarray"
    )


def defers(func: Function, *operands: Any) -> bool:
    """Tell if a call is not a tensor's to compute: see NOTE [what carries a meaning holds tensors].

    Other functions than ufuncs take a labelled array for its numbers.
    """
    others = [x for x in operands if holds(x)]
    if not others or not all([is_plain(x) for x in operands if isinstance(x, Tensor)]):
        return False
    labelled = not all([hasattr(type(x), "dimensionality") for x in others])
    return not labelled or getattr(func, "__module__", "") == "_operator" or type(func) is np.ufunc


def is_plain(x: Any) -> bool:
    """Return whether there is no quantity inside a tensor."""
    return not is_quantity(innermost(x))


def taken_out(level: Any, x: Any) -> Any:
    """Return a result that is a quantity around a tensor of `level` as a tensor; others as given.

    Raises
    ------
    ConversionError
        If the result is differentiated, and its unit has an offset, as degrees Celsius.
    """
    if not is_quantity(x) or isinstance(x, Tensor) or type(settle(x.magnitude)) is not level.cls:
        return x
    derives = not (level.kind.batches or level.kind.guards)
    number, kind, units = settle(x.magnitude), type(x), x.units
    has_offset = kind(0.0, units).to_base_units().magnitude != 0.0
    if derives and has_offset:
        raise level.refusal(
            ConversionError,
            f"a result has the unit {units}, whose zero is not zero in the base units, so its "
            f"derivative has a different unit; return y.to_base_units(), or y.magnitude",
        )
    if has_offset:  # numbers do not multiply such a unit
        if level.kind.guards:
            return level.record(kind, (number, units), {})
        value = kind(number.parts()[0], units)
        inner = settle(value.magnitude)
        return level.cls.join(taken_out(inner.level, value) if isinstance(inner, Tensor) else value)
    operands = number, kind(1.0, units)
    if level.kind.guards:  # a program, which has calls of functions
        return level.record(np.multiply, operands, {})
    op = OPS[np.multiply]
    return level.apply(op, op.bind(operands, {}))


def _array_of(x: Any) -> Any:
    """Return the array of an object with ``__array__``, and anything else as it is."""
    return converted(x) if hasattr(type(x), "__array__") else x


def meaning(level: Any, func: Function, args: tuple, kwargs: dict) -> Any:
    """Return the answer of a call with a quantity around a tensor, or None.

    It is NotImplemented where the quantity has to answer. Where another operand has a quantity
    inside, those around tensors become tensors. Of other objects with ``__array__`` the array is
    taken, as a rule would ask them for axes, and get whatever their classes make of these.
    """
    cls, foreign = level.cls, False
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind not in PLAIN and kind is not cls:
            if any(map(holds, x)) if kind is list or kind is tuple else holds(x):
                break
            foreign = foreign or _array_of(x) is not x
    else:
        if not foreign:
            return None
        return func(*map(_array_of, args), **{key: _array_of(x) for key, x in kwargs.items()})
    if defers(func, *args, *kwargs.values()):
        return NotImplemented
    found = False

    def convert(x: Any) -> Any:
        nonlocal found
        if isinstance(x, Tensor) or not is_quantity(x) or not isinstance(x.magnitude, Tensor):
            return x
        found = True
        return taken_out(settle(x.magnitude).level, x)

    args, kwargs = tree_map(convert, (args, kwargs))
    return level.function(func, args, kwargs) if found else None


def check_units(label: object, results: list) -> None:
    """Raise where results have units of several kinds, as reverse mode adds their derivatives."""
    units = {getattr(x, "dimensionality", None): getattr(x, "units", "none") for x in results}
    if len(units) > 1:
        raise ConversionError(
            f"{label}: the results have the units {', '.join(map(str, units.values()))}, and "
            f"reverse mode adds what belongs to each of them; write jacfwd, or return one of them"
        )


ndarray = np.ndarray
LISTS = frozenset({list, tuple})
NUMBERS = frozenset({int, type(None)})
"""The types of most bounds of slices."""

REPEATED = frozenset({list, tuple, str, bytes, bytearray})
"""Sequences that an integer repeats."""

SEQUENCES: dict[Callable, tuple[tuple[int, str], ...]] = {
    np.hstack: ((0, "tup"),),
    np.vstack: ((0, "tup"),),
    np.dstack: ((0, "tup"),),
    np.column_stack: ((0, "tup"),),
    np.select: ((0, "condlist"), (1, "choicelist")),
    np.histogramdd: ((0, "sample"), (1, "bins")),
    np.histogram2d: ((2, "bins"),),
    np.linalg.multi_dot: ((0, "arrays"),),
}
"""Parameters of composites that take a sequence of arrays. An `Op` has its own in `variadic`."""

NESTED = {
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
    np.block, np.piecewise, np.fromiter, getitem,
}  # fmt: skip
"""Functions that look into lists themselves, or hand them on."""

WITHOUT = "at", "_contract"
"""The names of functions whose lists are an index, of a ufunc, or labels of axes."""

ALONE: dict[Callable, tuple[int, str]] = {np.apply_along_axis: (2, "arr")}
"""The one parameter that takes an array, of functions that hand the others on."""


def repeat_sequence(func: Callable, a: Any, b: Any) -> Any:
    """Return ``[v] * n`` for an integer that is not an array, such as NumPy's; None for others."""
    sequence, number = (a, b) if type(a) in REPEATED else (b, a)
    if type(sequence) not in REPEATED or number.dtype.kind not in "iu" or is_array(number):
        return None
    return sequence * index(number)


def stack_lists(func: Callable, op: Op | None, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call with an array for each list of numbers that holds tensors."""
    if func in NESTED or getattr(func, "__name__", "") in WITHOUT:
        return args, kwargs
    if func in ALONE:
        place, name = ALONE[func]
        args = tuple([_stack(v, False) if i == place else v for i, v in enumerate(args)])
        return args, {key: _stack(v, False) if key == name else v for key, v in kwargs.items()}
    sequences = SEQUENCES.get(func, ())
    if op is not None and op.variadic is not None and op.variadic in op.params:
        sequences = ((op.params.index(op.variadic), op.variadic),)
    places = {key for pair in sequences for key in pair}
    args = tuple([_stack(v, i in places) for i, v in enumerate(args)])
    return args, {name: _stack(v, name in places) for name, v in kwargs.items()}


def _stack(value: Any, sequence: bool) -> Any:
    """Return a list that holds tensors as an array, or as the sequence of arrays that it is."""
    if type(value) not in LISTS:
        return value
    if sequence:
        return type(value)([_stack(v, False) for v in value])
    return stacked(value) if has_tensors(value) else value


SEQUENCES_OF_PYTHON = {str, bytes, list, tuple, range}
NUMBERS_OF_PYTHON = {float, complex, int, bool}


def answer_unlike(func: Callable, a: Any, b: Any) -> Any:
    """Return the answer of ``==`` or ``!=`` where one operand is a thing that no number equals:
    a text, a time or an object that is compared by its identity. None stands for all others.

    NumPy answers with an array for an array. Python answers for its numbers, to which a list is
    such a thing, too.
    """
    x, other = (a, b) if isinstance(a, Tensor) else (b, a)
    kind: Any = type(other)
    if isinstance(other, Tensor) or kind in NUMBERS_OF_PYTHON:
        return None
    form = shape_of(x)
    if kind in SEQUENCES_OF_PYTHON:
        if not form and type(innermost(x)) in NUMBERS_OF_PYTHON:
            return func is ne
        if kind in LISTS and has_tensors(other):
            return None
        other = np.asarray(other)
    elif opts_out(other):
        if isinstance(other, Number):  # a fraction, which a float may equal
            return func(x, _as_float(other))
        library = hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_priority__")
        if library or not form or kind.__eq__(other, 1.0) is not NotImplemented:
            return None  # Python asks the object
        return np.full(form, func is ne)
    if not isinstance(other, (ndarray, np.generic)):
        return None
    if other.dtype.kind not in ("USTmM" if x.dtype.kind in "fc" else "UST"):
        return None  # integers equal spans of time
    return np.full(np.broadcast_shapes(form, other.shape), func is ne)[()]


def _as_float(number: Any) -> float:
    """Return the float that equals a number, or NaN, which equals none."""
    try:
        nearest = float(number)
    except OverflowError:
        return math.nan
    return nearest if nearest == number else math.nan


def by_ufunc(level: Any, func: Callable, a: Any, b: Any) -> Value:
    """Compute an operator by its ufunc; of Python's numbers the value, or error, is Python's."""
    x, y = innermost(a), innermost(b)
    plain = None
    if type(x) in NUMBERS_OF_PYTHON and type(y) in NUMBERS_OF_PYTHON:
        plain = func(x, y)
        check_real(level, plain, x, y)
    a, b = [_from_list(v) if type(v) in LISTS else converted(v) for v in (a, b)]
    found = level.function(UFUNC_OF.get(func, func), (a, b), {})
    if plain is None or not isinstance(found, Tensor):
        return found if plain is None else plain
    inner = found
    while isinstance(inner._value, Tensor):
        inner = inner._value
    inner._value = plain
    return found


def check_real(level: Any, ans: Value, x: Value, y: Value) -> None:
    """Raise where real numbers have a complex power, whose derivative needs a complex one."""
    if type(ans) is ndarray or type(ans) is np.float64 or dtype_of(ans).kind != "c":
        return
    if "c" not in (dtype_of(x).kind, dtype_of(y).kind):
        text = "a power of a negative Python float is complex; write (x + 0j) ** y"
        raise level.refusal(ConversionError, text)


SPECIAL: dict[Callable, Callable] = {mul: repeat_sequence, eq: answer_unlike, ne: answer_unlike}
"""Functions that answer operators, for operands of other kinds than numbers; None for others."""


def answer_special(func: Callable, a: Any, b: Any) -> Any:
    """Return the answer of an operator for an operand of another kind; None for numbers."""
    answer = SPECIAL[func](func, a, b) if func in SPECIAL else None
    if answer is None and defers(func, a, b):
        return NotImplemented
    return operate(func, a, b) if answer is None and (opts_out(a) or opts_out(b)) else answer


def _from_list(value: Any) -> Value:
    """Return a list as the array that NumPy makes of it."""
    return stacked(value) if has_tensors(value) else np.asarray(value)


def drop_labels(label: object, func: Callable, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return arguments of a composite with arrays for those with labels, as its parts would take
    these for positions.
    """
    for value in (*args, *kwargs.values()):
        if type(value) not in PLAIN and not isinstance(value, Tensor) and is_labelled(value):
            plain = without_labels(func, args, kwargs)
            if plain is None:
                operand(label, value)  # raises
            return plain or (args, kwargs)
    return args, kwargs


def check_static(op: Op, call: Call) -> None:
    """Raise where a parameter beside the operands is a tensor, which nobody takes out."""
    for name, value in call.given.items():
        if name not in op.arrays and classes_in(value):
            raise ConversionError(
                f"{op.name}: its parameter {name!r} is a tensor, and has to be a plain value; "
                f"write int({name}) for an integer that all examples share"
            )


def is_anywhere(found: Value, truth: bool) -> bool:
    """Return whether a truth value is this one now, in any example of the levels around."""
    while isinstance(found, Tensor):
        found = found._value
    return bool(np.any(np.equal(found, truth)))


def known(parts: tuple) -> tuple:
    """Return the parts of an index with a number for each bound of a slice that is a batch.

    A level around notes the index, and cannot ask a tensor of one inside it.
    """
    for x in parts:
        if type(x) is slice and not NUMBERS.issuperset(map(type, (x.start, x.stop, x.step))):
            return tuple([
                slice(*map(_bound, (x.start, x.stop, x.step))) if type(x) is slice else x
                for x in parts
            ])  # fmt: skip
    return parts


def _bound(x: Any) -> Any:
    return index(x) if isinstance(x, Tensor) and x.level.batches else x
