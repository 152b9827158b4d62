"""Facts about objects of NumPy: types, names of types, operators of ufuncs, shapes, dtypes."""

import operator
import sys
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from .numpy_private import SPECIAL

Value: TypeAlias = Any
"""An operand: a tensor of any level, an array, a NumPy scalar or a Python number."""

PyTree: TypeAlias = Any
"""Nested tuples, lists, dicts and registered nodes, with values as leaves."""

Structure: TypeAlias = Any
"""The structure of a pytree without its leaves, as `flatten` returns it."""

Index: TypeAlias = Any
"""The index in ``x[index]``: ints, slices, None, an ellipsis, arrays, or a tuple of these."""

Axis: TypeAlias = int | tuple[int, ...] | None
"""The axis argument of a reduction."""

Shape: TypeAlias = tuple[int, ...]

Function: TypeAlias = Callable[..., Any]
"""A function of NumPy or of the user, with any parameters."""

Scalar: TypeAlias = np.generic | complex
"""A number of NumPy or of Python."""


SCALARS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
VALUES = SCALARS | {np.ndarray}
SEQUENCES = (tuple, list)
"""Asked for by `issubclass` of a type, as `isinstance` asks a tensor what it is, which is slow."""

PLAIN = VALUES | {str, type(None), slice, type(Ellipsis)}
"""Types that are plain values for certain: hot paths ask for these first."""

BASIC_PARTS = frozenset({int, slice, type(None), type(Ellipsis)})
INDEX_PARTS = BASIC_PARTS | {np.ndarray}
FAST_PARTS = BASIC_PARTS - {type(Ellipsis)}
"""The types of the parts of an index that holds no tensor."""

SIMPLE = frozenset(
    f
    for f in vars(np).values()
    if isinstance(f, np.ufunc) and f.signature is None and f.nout == 1 and f.nin < 3
)
"""NumPy's elementwise ufuncs with one result: those with a fast path."""

SPELLED: dict[Callable, Callable] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.divide: operator.truediv, np.floor_divide: operator.floordiv,
    np.remainder: operator.mod, np.power: operator.pow,
    np.left_shift: operator.lshift, np.right_shift: operator.rshift,
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor, np.less: operator.lt, np.less_equal: operator.le,
    np.equal: operator.eq, np.not_equal: operator.ne, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.negative: operator.neg,
    np.positive: operator.pos, np.absolute: operator.abs, np.invert: operator.invert,
    np.matmul: operator.matmul,
}  # fmt: skip
"""The operator of a ufunc. It is called where a tensor's operator was: on a NumPy scalar it costs
a tenth of the ufunc, and on a tensor of an outer level it avoids NumPy's dispatch."""

UFUNC_OF = {spelling: ufunc for ufunc, spelling in SPELLED.items()}

FLOAT = np.dtype(float)
DTYPES = {float: FLOAT, complex: np.dtype(complex), bool: np.dtype(bool)}
"""The dtypes of Python's numbers; that of an integer depends on its size."""

BIG = 1 << 14
"""The size from which on a new array costs so much for page faults that reuse of memory pays."""


def lies_in_row(value: Any, ndim: int) -> bool:
    """Return whether the elements along the last `ndim` axes lie one after the other in memory.

    Of a tensor it is the memory of the array that it holds, whose last axes are its own.
    """
    while hasattr(value, "_value"):
        value = value._value
    if is_lazy(value):
        return True
    step = getattr(value, "itemsize", 0)
    for n, stride in zip(value.shape[::-1][:ndim], value.strides[::-1]):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


def is_lazy(x: Any) -> bool:
    """Return whether the array in `x` is computed later, as those of Dask are."""
    while hasattr(x, "_value"):
        x = x._value
    return hasattr(type(x), "__dask_graph__") and hasattr(type(x), "rechunk")  # pint has the first


def is_writable(value: np.ndarray) -> bool:
    """Return whether an array can be written to, without the warning that NumPy has for some."""
    return bool(value.flags.num & 0x400)


def order_of(value: np.ndarray) -> Literal["C", "F", "K"]:
    """Return the order in memory of a new array."""
    return "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "K"


def shape_of(value: Value) -> Shape:
    """Return the shape of a value; ``()`` for a Python number."""
    try:
        return value.shape
    except AttributeError:
        return () if type(value) in SCALARS else np.shape(value)


def dtype_of(value: Value) -> np.dtype:
    """Return the dtype of a value, or of the array that NumPy makes of a number or a list."""
    try:
        return value.dtype
    except AttributeError:
        return DTYPES[type(value)] if type(value) in DTYPES else np.asarray(value).dtype


def align(k: int, values: Sequence[Value]) -> list[Value]:
    """Give operands that broadcast the same rank, by axes of size 1 after `k` batch axes.

    Numbers, and values with fewer axes than the batch, stay as they are.
    """
    shapes = [shape_of(v) for v in values]
    ndim = max([len(s) for s in shapes])
    return [
        v if len(s) in (0, ndim) or len(s) < k else stretch(k, v, s, ndim)
        for v, s in zip(values, shapes)
    ]


def stretch(k: int, value: Value, shape: Shape, ndim: int) -> Value:
    """Give `value` `ndim` axes: insert axes of size 1 after the first `k`."""
    wanted = (*shape[:k], *(1,) * (ndim - len(shape)), *shape[k:])
    if type(value) is np.ndarray:  # the method takes a third of the function's time
        return value.reshape(wanted)
    return np.reshape(value, wanted)


def sum_to(value: Value, shape: Shape) -> Value:
    """Sum `value` over the axes that broadcasting added to an operand of `shape`.

    An axis that the value lacks, or has with size 1, stays so: the result broadcasts to `shape`.
    """
    own = shape_of(value)
    if own == shape:
        return value
    extra = len(own) - len(shape)
    total = np.add.reduce if type(value) is np.ndarray else np.sum
    if extra > 0 and own[extra:] == shape:
        return total(value, axis=0 if extra == 1 else tuple(range(extra)))
    axes = [i for i, n in enumerate(own) if i < extra or (shape[i - extra] == 1 != n)]
    if axes:
        value = total(value, axis=tuple(axes), keepdims=True)
    return np.reshape(value, shape_of(value)[extra:]) if extra > 0 else value


HOMES = ["numpy", SPECIAL]
"""The modules that have ufuncs under their names."""


def home_of(ufunc: np.ufunc) -> str:
    """Return the module that has a ufunc under its name; the ufunc itself does not know it."""
    for module in HOMES:
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return module.removesuffix("._ufuncs")
    return ""


def name_of(func: Callable) -> str:
    """Return the name of a function in messages: ``numpy.linalg.solve``."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{name_of(owner)}.{func.__name__}"
    if isinstance(owner, property) and owner.fget is not None:
        return f"{name_of(owner.fget)}.{func.__name__}"
    module = getattr(func, "__module__", None) or ""
    if isinstance(func, np.ufunc):
        module = home_of(func)
    elif module.startswith("scipy."):
        module = module.partition("._")[0]
    name: Any = getattr(func, "__qualname__", None) or getattr(func, "__name__", repr(func))
    return f"{module}.{name}" if module and module != "builtins" else name


@lru_cache(maxsize=256)
def _fields_of(kind: type) -> type:
    """Return a namedtuple of the name and the fields of a class that takes more than these."""
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]

    def missing(self: Any, name: str) -> Any:
        raise AttributeError(
            f"this {kind.__name__} has {', '.join(fields)} alone, and no {name!r}: a recorded "
            f"program keeps the items of a tuple, and no attributes; compute {name!r} outside of "
            f"functier.compile, or from the arrays"
        )

    base: Any = namedtuple(kind.__name__, fields)  # type: ignore[misc]
    return type(kind.__name__, (base,), {"__slots__": (), "__getattr__": missing})


def named(kind: type, items: Sequence[Any]) -> Any:
    """Return a namedtuple of `kind`, or one of its name and fields where `kind` takes more.

    The results of some functions of SciPy are such: they keep the arguments of the call, too.
    """
    try:
        return kind(*items)
    except TypeError:
        return _fields_of(kind)(*items)


def attributed(kind: type, items: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Return a namedtuple of `kind` with attributes, as the results of some tests of SciPy are."""
    result: Any = tuple.__new__(kind, items)  # type: ignore[type-var]
    vars(result).update(attributes)
    return result


def known_array(x: Value) -> np.ndarray | None:
    """Return the array that `x` is, or that a level which notes calls has for it, else None.

    A rule that takes another way for plain arrays asks this for their strides, so that a program
    takes the same way, to the last bit.
    """
    if type(x) is np.ndarray:
        return x
    value = _known_value(x)
    return value if type(value) is np.ndarray else None


def known_type(x: Value) -> type:
    """Return the class of `x`, or of the value that a level which notes calls has for it."""
    value = _known_value(x)
    return type(x) if value is None else type(value)


def _known_value(x: Value) -> Value:
    level = getattr(type(x), "level", None)
    if level is None or not level.depth or not level.kind.guards:
        return None
    return getattr(x, "_value", None)


def has_form_of(x: Value, y: np.ndarray) -> bool:
    """Return whether `x` is an array of the shape, the dtype and the strides of `y`.

    A result of both may then be written to either, and lies in memory as a new one would.
    """
    return (
        type(x) is np.ndarray and x.shape == y.shape and x.dtype == y.dtype
        and x.strides == y.strides
    )  # fmt: skip


def copy_in_rows(x: Value) -> Value:
    """Return a copy, in C order where `x` is an array or a known one; see `known_array`."""
    if type(x) is np.ndarray:
        return x.copy()
    return np.copy(x) if known_array(x) is None else np.copy(x, "C")


def are_known(x: Value, y: Value) -> bool:
    """Return whether both are arrays, or known ones of a level that notes calls."""
    return known_array(x) is not None and known_array(y) is not None


def has_counts(index: Any) -> bool:
    """Return whether an index has integers of a program, and besides these no array."""
    found = False
    for x in index if type(index) is tuple else (index,):
        if type(x) in BASIC_PARTS:
            continue
        while hasattr(type(x), "_value"):
            x = x._value
            found = True
        if type(x) is not int:
            return False
    return found
