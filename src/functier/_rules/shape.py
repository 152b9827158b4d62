"""Operations that change the form of an array, or the order of its axes and elements."""

import math
from typing import Any, Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import DTypeLike

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Axis, Function, Shape, Value, lies_in_row
from .axes import as_whole, flatten_examples, ignore_scalar_axis, shift, shift_all
from .constructors import composite, linear
from .own_code import by_own_code

# ---- the same elements in another shape ----


ORDERS: dict[str | None, Literal["C", "F"]] = {"C": "C", "c": "C", None: "C", "F": "F", "f": "F"}


def _resolve_order(func: str, order: str | None, shape: Shape) -> Literal["C", "F"]:
    """Return the order of elements, which may be that of the memory where there is one axis.

    With more, rules may have another one than NumPy's.
    """
    if order in ORDERS:
        return ORDERS[order]
    free = ("A", "a") if func == "reshape" else ("A", "a", "K", "k")
    if order in free and sum([n > 1 for n in shape]) < 2:
        return "C"
    if isinstance(order, int):
        raise TypeError(
            f"numpy.{func}(..., order={order!r}): the order is a str, as in NumPy; write "
            f"x.reshape(*x.shape[:{order!r}], -1) where all axes from {order!r} on become one"
        )
    raise UnsupportedError(
        f"numpy.{func}(..., order={order!r}) depends on how an array lies in memory, which a "
        f"tensor does not know; write order='C' or order='F'"
    )


def _reshape(
    a: Value, shape: int | Shape | None = None, order: Literal["C", "F"] = "C", **options: Any
) -> Value:
    if shape is None:
        raise TypeError("numpy.reshape needs a shape")
    order = _resolve_order("reshape", order, np.shape(a))
    if type(a) is np.ndarray:  # a third of the function's cost
        return a.reshape(shape, order=order, **options)
    return np.reshape(a, shape, order=order, **options)


def _reshape_vmap(
    k: int,
    a: Value,
    shape: int | Shape | None = None,
    order: Literal["C", "F"] = "C",
    **options: Any,
) -> Value:
    """Reshape the axes after the batch's; Fortran order leaves the leading axes as they are."""
    if shape is None:
        return _reshape(a)
    batch, size = a.shape[:k], math.prod(a.shape[k:])
    wanted = _as_tuple(shape)
    given = math.prod(wanted)
    if -1 in wanted and given:
        i = wanted.index(-1)
        wanted = (*wanted[:i], size // -given, *wanted[i + 1 :])
        given = math.prod(wanted)
    if given != size or (wanted and min(wanted) < 0):
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    order = _resolve_order("reshape", order, a.shape[k:])
    return _reshape(a, (*batch, *wanted), order, **options)


def _as_tuple(shape: int | Shape) -> Value:
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _reshape_vjp(g: Value, a_shape: Shape, order: str | None = "C") -> Value:
    return np.reshape(g, a_shape, order=_resolve_order("ravel", order, a_shape))


linear(
    np.reshape,
    "a shape order copy",
    kernel=_reshape,
    vmap=_reshape_vmap,
    vjp={"a": _reshape_vjp},
)


def _ravel_vmap(k: int, a: Value, order: Any = "C") -> Value:
    """Copy where NumPy copies an example: where its elements do not lie in a row."""
    if _resolve_order("ravel", order, a.shape[k:]) == "F":
        a = np.transpose(a, (*range(k), *range(a.ndim - 1, k - 1, -1)))
    row = flatten_examples(k, a)
    return row if lies_in_row(a, a.ndim - k) else np.copy(row)


linear(
    np.ravel,
    "a order",
    kernel=lambda a, order="C": np.ravel(a, _resolve_order("ravel", order, np.shape(a))),
    vmap=_ravel_vmap,
    vjp={"a": _reshape_vjp},
)


def _squeeze_vmap(k: int, a: Value, axis: Axis = None) -> Value:
    if axis is None:
        axes = tuple(i for i in range(k, a.ndim) if a.shape[i] == 1)
    else:
        ndim = a.ndim - k
        axes = shift_all(ignore_scalar_axis(axis, ndim), k, ndim)
    return np.squeeze(a, axes)


linear(
    np.squeeze, "a axis", vmap=_squeeze_vmap, vjp={"a": lambda g, a_shape: np.reshape(g, a_shape)}
)


def _expanded_shape(shape: Shape, axis: int | tuple[int, ...]) -> Value:
    """Return the shape with axes of length 1 at the places that `axis` names in the result."""
    if isinstance(axis, (tuple, list)):
        ndim = len(shape) + len(axis)
        axes, rest = normalize_axis_tuple(axis, ndim), iter(shape)
        return tuple(1 if i in axes else next(rest) for i in range(ndim))
    i = normalize_axis_index(axis, len(shape) + 1)
    return (*shape[:i], 1, *shape[i:])


linear(
    np.expand_dims,
    "a axis",
    # NumPy's function takes several times as long as the reshape that it makes.
    kernel=lambda a, axis: np.reshape(a, _expanded_shape(np.shape(a), axis)),
    vmap=lambda k, a, axis: np.reshape(a, a.shape[:k] + _expanded_shape(a.shape[k:], axis)),
    vjp={"a": lambda g, a_shape: np.reshape(g, a_shape)},
)


def _at_least_body(least: int) -> Function:
    """Return the body of atleast_1d, 2d or 3d: it adds axes of length 1, the first two in front."""

    def one(a: Value) -> Value:
        shape = np.shape(a)
        if len(shape) < least:
            shape = (1,) * (min(least, 2) - len(shape)) + shape + (1,) * (least - 2)
        return a if hasattr(a, "shape") and a.shape == shape else np.reshape(a, shape)

    def body(*arys: Value) -> Value:
        return one(arys[0]) if len(arys) == 1 else tuple([one(a) for a in arys])

    return body


composite(np.atleast_1d, _at_least_body(1))
composite(np.atleast_2d, _at_least_body(2))
composite(np.atleast_3d, _at_least_body(3))

# ---- the order of axes ----


def _transpose_vmap(k: int, a: Value, axes: Shape | None = None) -> Value:
    ndim = a.ndim
    if axes is None:
        return np.transpose(a, (*range(k), *range(ndim - 1, k - 1, -1)))
    return np.transpose(a, (*range(k), *[shift(i, k, ndim - k) for i in _as_tuple(axes)]))


def _transpose_vjp(g: Value, axes: Shape | None = None) -> Value:
    if axes is None:
        return np.transpose(g)
    axes = _as_tuple(axes)
    inverse = [0] * len(axes)
    for place, axis in enumerate(axes):
        inverse[axis] = place
    return np.transpose(g, inverse)


linear(np.transpose, "a axes", vmap=_transpose_vmap, vjp={"a": _transpose_vjp})
linear(
    np.swapaxes,
    "a axis1 axis2",
    vmap=lambda k, a, axis1, axis2: np.swapaxes(
        a, shift(axis1, k, a.ndim - k), shift(axis2, k, a.ndim - k)
    ),
    vjp={"a": lambda g, axis1, axis2: np.swapaxes(g, axis1, axis2)},
)


by_own_code(np.matrix_transpose, np.linalg.matrix_transpose, np.moveaxis, np.rollaxis)


# ---- broadcasting ----


def _broadcast_to_vmap(k: int, array: Value, shape: Shape, subok: bool = False) -> Value:
    shape, own = _as_tuple(shape), array.shape
    if len(shape) > len(own) - k:
        array = np.reshape(array, own[:k] + (1,) * (len(shape) + k - len(own)) + own[k:])
    return np.broadcast_to(array, (*own[:k], *shape), subok)


linear(
    np.broadcast_to,
    "array shape subok",
    vmap=_broadcast_to_vmap,
    vjp={"array": lambda g: g},  # the engine sums down to the operand's shape
)


@lambda body: composite(np.broadcast_arrays, body)
def _broadcast_arrays(*args: Value, subok: bool = False) -> Value:
    shapes = [np.shape(a) for a in args]
    shape = np.broadcast_shapes(*shapes)
    return tuple(
        [
            np.broadcast_to(a, shape, subok)
            if own != shape
            else a
            if shape and hasattr(a, "shape")
            else np.reshape(np.reshape(a, -1), shape)  # an array, also of a number
            for a, own in zip(args, shapes)
        ]
    )


@lambda body: composite(np.meshgrid, body)
def _meshgrid(*xi: Value, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Value:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    grids = [
        np.reshape(x, tuple(-1 if j == axis else 1 for j in range(len(xi))))
        for x, axis in zip(xi, axes)
    ]
    if not sparse:
        grids = list(np.broadcast_arrays(*grids))
    return tuple([np.copy(x, "C") if copy else x for x in grids])


# ---- another dtype, or other memory ----


def _bind_astype(
    x: Value, dtype: DTypeLike | None, /, *, copy: bool = True, device: Literal["cpu"] | None = None
) -> dict[str, Any]:
    return {"x": x, "dtype": np.dtype(dtype), "copy": copy, "device": device}


def _astype(
    x: Value, dtype: np.dtype, copy: bool = True, device: Literal["cpu"] | None = None
) -> Value:
    if not hasattr(x, "dtype"):
        return dtype.type(x)  # a Python number
    return np.astype(x, dtype, copy=copy, device=device)


linear(
    np.astype,
    "x dtype copy device",
    bind=_bind_astype,
    kernel=_astype,
    vmap=lambda k, x, dtype, **options: np.astype(x, dtype, **options),
    vjp={"x": lambda g: g},  # the engine casts to the operand's dtype
)


def _copy_vmap(k: int, a: Value, order: Any = "K", subok: Any = False) -> Value:
    """Copy in an order that says the same of an example, whose axes come last."""
    if order == "A":
        axes = *range(k), *range(a.ndim - 1, k - 1, -1)
        columns = lies_in_row(np.transpose(a, axes), a.ndim - k)
        order = "F" if columns and not lies_in_row(a, a.ndim - k) else "C"
    return np.copy(a, order, subok)


linear(
    np.copy,
    "a order subok",
    vmap=_copy_vmap,
    vjp={"a": lambda g: g},
)

# ---- the order of elements ----

linear(
    np.flip,
    "m axis",
    vmap=lambda k, m, axis=None: np.flip(m, shift_all(axis, k, m.ndim - k)),
    vjp={"m": lambda g, axis=None: np.flip(g, axis)},
)
by_own_code(np.fliplr, np.flipud, np.rot90)


def _roll(a: Value, shift: Value, axis: Axis = None) -> Value:
    """Call NumPy's function, which does not dispatch on `shift`."""
    return _roll_batch(0, a, shift, axis) if hasattr(shift, "level") else np.roll(a, shift, axis)


def _roll_batch(k: int, a: Value, shift: Value, axis: Axis) -> Value:
    """Roll by shifts that differ from example to example: an index into each axis."""
    shape, shift = np.shape(a), shift.astype(np.intp)
    if axis is None:
        a = flatten_examples(k, a)
    axes = (0,) if axis is None else normalize_axis_tuple(axis, len(shape) - k)
    several = np.ndim(shift) > k
    for i in range(max(len(axes), np.shape(shift)[-1] if several else 1)):
        axis = axes[i % len(axes)] + k
        by = shift[..., i % np.shape(shift)[-1]] if several else shift
        n, after = np.shape(a)[axis], np.ndim(a) - axis - 1
        by = np.reshape(by, (*np.shape(by), *(1,) * (np.ndim(a) - k)))
        places = np.reshape(np.arange(n), (n,) + (1,) * after) - by
        a = np.take_along_axis(a, np.remainder(places, max(n, 1)), axis)
    return np.reshape(a, (*np.shape(a)[:k], *shape[k:]))


def _roll_vmap(k: int, a: Value, shift: Value, axis: Axis = None) -> Value:
    if hasattr(shift, "shape"):
        if np.result_type(shift).kind == "c":
            raise TypeError("numpy.roll: shift is complex; pass integers")
        if math.prod(shift.shape[:k]) != 1:
            return _roll_batch(k, a, shift, axis)
        shift = np.reshape(shift, shift.shape[k:])
    if axis is None:
        return np.reshape(_roll(flatten_examples(k, a), shift, k), a.shape)
    return _roll(a, shift, shift_all(axis, k, a.ndim - k))


linear(
    np.roll,
    "a shift axis",
    "a shift",
    bind=lambda a, shift, axis=None: {"a": a, "shift": as_whole(shift), "axis": axis},
    kernel=_roll,
    vmap=_roll_vmap,
    # a product, since the negative of an unsigned shift would wrap around
    vjp={"a": lambda g, shift, axis=None: _roll(g, np.multiply(shift, np.intp(-1)), axis)},
)
