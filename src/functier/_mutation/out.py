"""Results that are written to ``out=``, and views that are special."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.errors import MutationError
from .._core.numpy_facts import Value, dtype_of, name_of, shape_of
from .._core.op import NO_VALUE, Op
from .._core.tensor import Tensor
from .._core.tracebacks import explain_write

ndarray = np.ndarray

HALVES: dict[Callable, Any] = {
    np.real: lambda view: view.half(False), np.imag: lambda view: view.half(True),
}  # fmt: skip
"""The functions that give a view of a part of each complex number."""
READ_ONLY: set[Callable] = {
    np.diagonal, np.linalg.diagonal, np.diag, np.broadcast_to,
    np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
"""Functions whose views may not be written to."""


def name_out(op: Op | None, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call with ``out`` by name, where it was given by position."""
    if op is None:
        return args, kwargs
    place = op.out_place
    if place is None and op.body is None and "out" in op.params and not op.bind_args:
        place = op.params.index("out")
    if place is None or len(args) <= place or args[place] is None:
        return args, kwargs
    rest = (*args[:place], None, *args[place + 1 :]) if len(args) > place + 1 else args[:place]
    return rest, {**kwargs, "out": args[place]}


def plain_arguments(op: Op, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a call as `name_out` does, without options that change no number."""
    if len(args) > 2:
        args, kwargs = name_out(op, args, kwargs)
    return args, {
        k: v for k, v in kwargs.items()
        if v is not NO_VALUE and k[:10] != "overwrite_" and (k != "out" or v is not None)
    }  # fmt: skip


SUMMING = {np.sum, np.mean, np.prod, np.cumsum, np.cumprod}


def write_out(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return ``func(..., out=)``: the result is written to `out`, as NumPy would do."""
    kwargs = dict(kwargs)
    given = kwargs.pop("out")
    where = kwargs.pop("where", True) if isinstance(func, np.ufunc) else True
    casting = kwargs.pop("casting", "same_kind")
    if func in SUMMING and len(args) < 3 and kwargs.get("dtype") is None:
        if hasattr(given, "dtype") and given.dtype.kind in "fc":
            kwargs["dtype"] = given.dtype  # NumPy sums in the dtype of `out`
    masked = where is not True and (type(where) is ndarray or _has_tensor(args))
    result = func(*args, where=where, out=None, **kwargs) if masked else func(*args, **kwargs)
    single = not isinstance(given, tuple) or len(given) == 1
    outs = given if isinstance(given, tuple) else (given,)
    results = result if isinstance(result, tuple) and len(outs) > 1 else (result,)
    written = [_write(func, o, r, where, casting) for o, r in zip(outs, results)]
    return written[0] if single else tuple(written)


def _has_tensor(args: tuple) -> bool:
    """Return whether an operand is a tensor, which takes a mask that is one."""
    return any(isinstance(x, Tensor) for x in args)


def _write(func: Callable, out: Any, result: Value, where: Any, casting: Any) -> Any:
    if out is None:
        return result
    if not isinstance(out, Tensor):
        if isinstance(result, Tensor) and result.level.depth:
            asked, remedy = explain_write(name_of(func))
            raise MutationError(f"{asked} would write a tensor to a plain array; write {remedy}")
        out[...] = result if where is True else np.where(where, result, out)
        return out
    own, shape = dtype_of(result), shape_of(result)
    if shape != shape_of(out):
        whole = shape_of(out)
        if not isinstance(func, np.ufunc) or not _fits(shape, whole):
            form = "non-broadcastable output operand with shape {} doesn't match the broadcast "
            raise ValueError(f"{name_of(func)}: {form.format(whole)}shape {shape}")
    if not np.can_cast(own, dtype_of(out), casting):
        raise TypeError(
            f"Cannot cast {_called(func)} output from {own!r} to {dtype_of(out)!r} with casting "
            f"rule {casting!r}"
        )
    out[...] = result if where is True else np.where(where, result, out)
    return out


def _called(func: Callable) -> str:
    return f"ufunc {func.__name__!r}" if isinstance(func, np.ufunc) else name_of(func)


def _fits(shape: tuple, whole: tuple) -> bool:
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False
