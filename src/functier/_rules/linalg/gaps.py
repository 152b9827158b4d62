"""Quotients by the gaps between eigenvalues or singular values, for derivatives of the vectors.

NOTE [equal eigenvalues]
    The derivative of eigenvectors mixes each pair of them by ``m[i, j] / (w[j] - w[i])``. Equal
    eigenvalues do not determine their vectors, and this is 0 / 0 or infinite. Rounding errors
    make equal values differ by some units in the last place, so such gaps count as *closed*.

    Forward, the quotient of a closed gap is zero where ``m[i, j]`` is: the pair does not move.
    Else it is NaN, with a warning, as the caller may not use these vectors.

    Backward, it is zero where nothing depends on the two vectors. If something does, and on the
    values, too, it raises `LinAlgError`: ``(v * f(w)) @ v.T`` has the derivative of `f` there,
    which the rule does not know. A function that uses the vectors alone (the cotangent of the
    values is absent) can depend on those of equal values only by the space that they span,
    which the pair does not change; so the quotient is zero, as for the nearest rotation
    ``u @ vh``. Where it depends on more, `m` tells, and it raises, too.
"""

import warnings
from typing import Any

import numpy as np

from ..._core.types import Value
from ..constructors import constant, primitive

ULPS = 1024
"""The largest closed gap, in units of the last place of the largest value."""

UNKNOWN = (
    "numpy.linalg.{0}: equal {1}values do not determine their vectors, which have no derivative "
    "here; for a function of a matrix write scipy.linalg.sqrtm, expm, polar or funm, which have "
    "one, or use the {1}values alone"
)


def _open_gaps(w: Value, m: Value, name: str, back: bool) -> Value:
    """Return 1 where the gap of two values is open, 0 where it is closed, and -1 for a NaN.

    `m`: not zero where a quotient counts. If one does at a closed gap, `back` raises.
    """
    gap, size = np.absolute(w[..., None, :] - w[..., :, None]), np.absolute(m)
    ulp = ULPS * np.finfo(gap.dtype).eps
    is_open = gap > ulp * np.absolute(w).max(axis=-1, initial=0.0)[..., None, None]
    counts = size > ulp * size.max(axis=(-2, -1), initial=0.0, keepdims=True)
    unknown = ~is_open & counts & ~np.eye(w.shape[-1], dtype=bool)
    if unknown.any():
        text = UNKNOWN.format(name, "singular " if name == "svd" else "eigen")
        if back:
            raise np.linalg.LinAlgError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return np.subtract(is_open, unknown, dtype=np.int8)


open_gaps = primitive(_open_gaps)
constant(
    open_gaps,
    "w m name back",
    "w m",
    vmap=lambda k, w, m, name, back: open_gaps(w, m, name, back),
)


def over_gaps(m: Value, w: Value, name: str, counts: Value | None = None) -> Value:
    """Return ``m[i, j] / (w[j] - w[i])``, as NOTE [equal eigenvalues] says for equal ones.

    `counts`, for the backward rule: not zero where the quotient counts.
    """
    state = open_gaps(w, m if counts is None else counts, name, counts is not None)
    is_open = np.equal(state, 1)
    quotient = is_open * m / np.where(is_open, w[..., None, :] - w[..., :, None], 1)
    return quotient if counts is not None else np.where(np.less(state, 0), np.nan, quotient)


def counting(m: Value, on_values: Value | None, *on_vectors: Value) -> Value:
    """Return where the quotients of `m` count, by the cotangents of the values and vectors."""
    size = sum(np.sum(np.absolute(g), axis=-2) for g in on_vectors)[..., None, :]
    if on_values is None:  # beside zeros of the size of the cotangents: what is more than rounding
        return np.absolute(m) + size * np.eye(m.shape[-1], dtype=size.dtype)
    return size + np.swapaxes(size, -1, -2)


def takes_absent(rule: Any) -> Any:
    """Mark a backward rule of several results that gets None for one that is not used."""
    rule.takes_absent = True
    return rule
