"""Operations whose values decide the dtype or the length of the result, and `numpy.emath`.

The decision is a constant for derivatives. It is made for a batch as a whole: the result is
that of stacking the results of a loop (complex where any example is). A batch whose results
cannot be stacked raises.
"""

from collections.abc import Callable

import numpy as np
from numpy.lib import scimath

from .._core.errors import DataDependentError, UnsupportedError
from .._core.numpy_facts import Shape, Value, align
from .axes import as_strong
from .constructors import check_values, composite, constant, linear, op, primitive
from .linalg.contract import ensure_array

# ---- the decisions ----


def _complex_if(x: Value, any_of: Value) -> Value:
    """Return `x` as complex numbers, if any of `any_of` is true."""
    if not np.any(any_of):
        return x
    return x.astype(np.dtype("F" if x.dtype.char in "bBhHf" else "D"))


def _real_unless(x: Value, any_of: Value) -> Value:
    """Return the real part of `x`, or `x` if any of `any_of` is true."""
    return x if np.any(any_of) else np.real(x)


def _double_if(x: Value, any_of: Value) -> Value:
    """Return `x` in double precision, if any of `any_of` is true."""
    return x.astype(float) if np.any(any_of) else x


complex_if, real_unless = primitive(_complex_if), primitive(_real_unless)
double_if = primitive(_double_if)

for func in (complex_if, real_unless):
    linear(
        func,
        "x any_of",
        "x any_of",
        vmap=lambda k, x, any_of, func=func: func(*align(k, (x, any_of))),
        by_value="any_of",
        vjp={"x": lambda g: g},
    )


constant(  # of integers only
    double_if,
    "x any_of",
    "x any_of",
    vmap=lambda k, x, any_of: double_if(*align(k, (x, any_of))),
    by_value="any_of",
)


def _strip_zeros(x: Value, tolerance: float = 0.0, unknown: int = 0) -> Value:
    """Remove the zeros at the start of the last axis of `x`, except for its last element.

    All stacked rows have to lose the same number: `unknown` where there are no rows.
    """
    n = x.shape[-1]
    if n < 2:
        return x
    kept = np.logical_not(np.absolute(x) <= tolerance)
    first = np.where(np.any(kept, axis=-1), np.argmax(kept, axis=-1), n - 1).ravel()
    if first.size and np.any(first != first[0]):
        raise DataDependentError(
            "the number of leading zeros differs from example to example; compute with arrays "
            "of one length, with numpy.convolve for a product of polynomials"
        )
    return x[..., first[0] if first.size else unknown :]


strip_zeros = primitive(_strip_zeros)
STRIPPED = (
    "a coefficient that is 0 is dropped, as NumPy does, and its derivative would be lost; write "
    "numpy.polyval(c, x), numpy.convolve(a, b) or sums of powers, which keep it"
)


def _pull_stripped(g: Value, x_shape: Shape, tolerance: float = 0.0) -> Value:
    if not tolerance and np.shape(g) != x_shape:
        raise UnsupportedError(STRIPPED)
    zeros = np.zeros((*x_shape[:-1], x_shape[-1] - np.shape(g)[-1]), g.dtype)
    return np.concatenate([zeros, g], axis=-1)


def _push_stripped(t: Value, ans: Value, tolerance: float = 0.0) -> Value:
    part = (slice(np.shape(t)[-1] - np.shape(ans)[-1], None),)
    return t[(..., *part)] if tolerance else _push_kept(t, part)


def _push_kept(t: Value, part: tuple) -> Value:
    """Return a part of a tangent, of which the rest has to be zero."""

    def is_whole(t: Value) -> bool:  # of all examples, whose axes are in front
        if np.count_nonzero(t) != np.count_nonzero(t[(..., *part)]):
            raise UnsupportedError(STRIPPED)
        return True

    return check_values(t, is_whole, STRIPPED)[(..., *part)]


def _kept(x: Value, part: tuple) -> Value:
    """Return the part of an array that is left where zeros are dropped."""
    return x[part]


kept = primitive(_kept)


def _pull_kept(g: Value, x_shape: Shape) -> Value:
    if np.shape(g) != x_shape:
        raise UnsupportedError(STRIPPED)
    return g


op(
    kept,
    "x part",
    vmap=lambda k, x, part: kept(x, (slice(None),) * k + part),
    jvp={"x": _push_kept},
    vjp={"x": _pull_kept},
)


linear(
    strip_zeros,
    "x tolerance unknown",
    vmap=lambda k, x, *args, **params: strip_zeros(x, *args, **params),
    by_value="x",
    jvp={"x": _push_stripped},  # type: ignore[arg-type]
    vjp={"x": _pull_stripped},
)

# ---- numbers that are real if they can be ----


@lambda body: composite(np.real_if_close, body)
def _real_if_close(a: Value, tol: float = 100) -> Value:
    if not np.iscomplexobj(a):
        return a
    if tol > 1:
        tol = float(np.finfo(np.result_type(a)).eps) * tol
    return real_unless(a, np.logical_not(np.absolute(np.imag(a)) < tol))


def _to_complex_where(x: Value, outside: Callable) -> Value:
    x = as_strong(ensure_array(x))
    return x if x.dtype.kind == "c" else complex_if(x, outside(x))


def _to_complex_if_negative(x: Value) -> Value:
    return _to_complex_where(x, lambda x: x < 0)


def _to_complex_if_large(x: Value) -> Value:
    return _to_complex_where(x, lambda x: np.absolute(x) > 1)


composite(scimath.sqrt, lambda x: np.sqrt(_to_complex_if_negative(x)))
composite(scimath.log, lambda x: np.log(_to_complex_if_negative(x)))
composite(scimath.log2, lambda x: np.log2(_to_complex_if_negative(x)))
composite(scimath.log10, lambda x: np.log10(_to_complex_if_negative(x)))
composite(
    scimath.logn,
    lambda n, x: np.log(_to_complex_if_negative(x)) / np.log(_to_complex_if_negative(n)),
)
composite(scimath.arccos, lambda x: np.arccos(_to_complex_if_large(x)))
composite(scimath.arcsin, lambda x: np.arcsin(_to_complex_if_large(x)))
composite(scimath.arctanh, lambda x: np.arctanh(_to_complex_if_large(x)))


@lambda body: composite(scimath.power, body)
def _power(x: Value, p: Value) -> Value:
    p = as_strong(ensure_array(p))
    if p.dtype.kind == "i":
        p = double_if(p, p < 0)
    return np.power(_to_complex_if_negative(x), p)
