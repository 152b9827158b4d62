"""Classes of users and of other libraries: attributes of what is inside of a tensor, and objects
with units or labels, which have tensors inside.

NOTE [what carries a meaning holds tensors]
    A tensor has no units and no labels, and code asks for them: ``(x * q).to("m")``. So an operator
    of a tensor and such an object is the object's to compute, whatever their order, and the
    tensor is inside of the result. A transform whose argument is a quantity has it inside of its
    tensors instead; these compute with other quantities themselves. Where a quantity that holds
    a tensor leaves a transform, it is made a tensor that has a quantity inside.
"""

from types import FunctionType
from typing import Any

import numpy as np

from .._core.border import converted, operand
from .._core.errors import ConversionError, LevelError
from .._core.numpy_facts import PLAIN, Function, Value, is_lazy
from .._core.root import tree_map
from .._core.table import OPS, later
from .._core.tensor import Tensor
from .._mutation.array import settle


def attribute_inside(level: Any, x: Tensor, name: str) -> Any:
    """Look up an attribute in the user's class inside `x`; methods get `x` as `self`."""
    value: Any = x
    while isinstance(value, Tensor) and value.level.depth:
        value = value._value
    if is_lazy(value):
        return later("_dask").attribute(x, name)
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
    if isinstance(x, Tensor):
        return type(x) is not Tensor and not x.level.depth
    return is_quantity(x)


def foreign(level: Any, x: Value) -> Value:
    """Return an operand of another library, checked; a Dask array as it is inside a level."""
    level.forward_attributes(x)
    x = operand(level, x)
    return later("_dask").taken_in(level, x) if is_lazy(x) else x


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

    Functions that are no ufuncs take a labelled array for its numbers.
    """
    others = [x for x in operands if holds(x)]
    if not others or not all([is_plain(x) for x in operands if isinstance(x, Tensor)]):
        return False
    labelled = not all([hasattr(type(x), "dimensionality") for x in others])
    return not labelled or getattr(func, "__module__", "") == "_operator" or type(func) is np.ufunc


def is_plain(x: Any) -> bool:
    """Return whether there is no quantity inside a tensor."""
    while isinstance(x, Tensor):
        x = x._value
    return not is_quantity(x)


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
    if derives and type(x)(0.0, x.units).to_base_units().magnitude != 0.0:
        raise level.refusal(
            ConversionError,
            f"a result has the unit {x.units}, whose zero is not zero in the base units, so its "
            f"derivative has a different unit; return y.to_base_units(), or y.magnitude",
        )
    operands = settle(x.magnitude), type(x)(1.0, x.units)
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
