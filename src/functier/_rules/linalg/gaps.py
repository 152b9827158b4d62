"""Quotients by the gaps between eigenvalues or singular values, for derivatives of the vectors.

NOTE [equal eigenvalues]
    The derivative of eigenvectors mixes each pair of them by ``m[i, j] / (w[j] - w[i])``. Equal
    eigenvalues do not determine their vectors, and this is 0 / 0 or infinite. Rounding errors
    make equal values differ by some units in the last place, so such gaps count as *closed*.

    Forward, the quotient of a closed gap is zero where ``m[i, j]`` is: the pair does not move.
    Else it raises `LinAlgError`.

    Backward, it is zero where nothing depends on the two vectors and values. If something does on
    both, it raises: ``(v * f(w)) @ v.T`` has the derivative of `f` there, which the rule does not
    know. A function that uses the vectors alone (the cotangent of the values is absent) can
    depend on those of equal values only by the space that they span, which the pair does not
    change; so the quotient is zero, as for the nearest rotation ``u @ vh``. Where it depends on
    more, `m` tells, and it raises, too.

    A single one of several equal values has a kink, as which one it is after a small change depends
    on the direction. They share the derivative equally, as equal elements do in ``numpy.max``. But
    those of a matrix that is not Hermitian may have an infinite slope, and raise.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.numpy_facts import Value, dtype_of
from ..constructors import check_values, constant, primitive
from .contract import conj

ULPS = 1024
"""The largest closed gap, in units of the last place of the largest value."""

UNKNOWN = (
    "numpy.linalg.{0}: equal {1}values do not determine their vectors, which have no derivative "
    "here; for a function of a matrix write scipy.linalg.sqrtm, expm, polar or funm, which have "
    "one, or use the {1}values alone"
)


SINGLE = (
    "numpy.linalg.eig: a single one of several equal eigenvalues has no derivative; use all of "
    "them alike, as in numpy.sum(w), or numpy.linalg.eigh for a Hermitian matrix"
)


def _are_open(w: Value) -> Value:
    """Tell which gaps are open."""
    gap = np.absolute(w[..., None, :] - w[..., :, None])
    size = np.max(np.absolute(w), axis=-1, initial=0.0)[..., None, None]
    return gap > ULPS * np.finfo(gap.dtype).eps * size


def _open_gaps(w: Value, counts: Value, text: str) -> Value:
    """Tell which gaps are open; raise where something counts, by not being zero, at another."""
    size, is_open = np.absolute(counts), _are_open(w)
    least = ULPS * np.finfo(size.dtype).eps * size.max(axis=(-2, -1), initial=0.0, keepdims=True)
    if np.any(~is_open & (size > least) & ~np.eye(w.shape[-1], dtype=bool)):
        raise np.linalg.LinAlgError(text)
    return is_open


open_gaps = primitive(_open_gaps)
constant(
    open_gaps,
    "w counts text",
    "w counts",
    vmap=lambda k, w, counts, text: open_gaps(w, counts, text),
)


def _check_cut(a: Value, inverse: Value) -> bool:
    """Raise where a pseudo-inverse leaves out singular values that are not zero beside the rest.

    Rules take the matrix for one of its rank, and so what it leaves out for zero.
    """
    rank = np.round(np.real(np.sum(inverse * a.mT, axis=(-2, -1))))
    if np.any(rank < min(a.shape[-2:])):
        s = np.linalg.svd(a, compute_uv=False)
        is_kept = np.arange(s.shape[-1]) < rank[..., np.newaxis]
        least = np.min(np.where(is_kept, s, np.inf), axis=-1)
        if np.any(np.max(np.where(is_kept, 0, s), axis=-1) > 1e-6 * least):
            raise np.linalg.LinAlgError(
                "a pseudo-inverse leaves out singular values that are not zero, and has another "
                "derivative then; write it by u, s, vh = numpy.linalg.svd(a, full_matrices=False) "
                "with the k that stay: (vh[:k].mT.conj() / s[:k]) @ u[:, :k].mT.conj()"
            )
    return True


check_cut = primitive(_check_cut)
check_cut.checks = True  # type: ignore[attr-defined]  # a program makes it for its error alone
constant(check_cut, "a inverse", "a inverse", vmap=lambda k, a, inverse: check_cut(a, inverse))


def share(g: Value, w: Value) -> Value:
    """Return (co)tangents of values with their mean for those that are equal."""
    is_open = _are_open(w)
    total = np.sum(np.where(is_open, 0, g[..., None, :]), axis=-1)
    return total / np.sum(~is_open, axis=-1, dtype=np.finfo(dtype_of(g)).dtype)


def alike(g: Value, w: Value) -> Value:
    """Return the cotangents of values; raise where those of equal ones are not the same."""
    differ = g[..., None, :] - g[..., :, None]
    counts = differ * (np.absolute(differ) > 1e-4 * np.absolute(g)[..., None, :])  # beyond rounding
    return g * ~np.diagonal(open_gaps(w, counts, SINGLE), 0, -2, -1)  # all are True


def over_gaps(m: Value, w: Value, name: str, counts: Value | None = None) -> Value:
    """Return ``m[i, j] / (w[j] - w[i])``, as NOTE [equal eigenvalues] says for equal ones.

    `counts`: not zero where the quotient counts; `m` itself, where it is not given.
    """
    text = UNKNOWN.format(name, "singular " if name == "svd" else "eigen")
    is_open = open_gaps(w, m if counts is None else counts, text)
    return is_open * m / np.where(is_open, w[..., None, :] - w[..., :, None], 1)


def counting(m: Value, on_values: Value | None, *on_vectors: Value) -> Value:
    """Return where the quotients of `m` count, by the cotangents of the values and vectors."""
    size = sum(np.sum(np.absolute(g), axis=-2) for g in on_vectors)
    if on_values is None:  # beside zeros of the size of the cotangents: what is more than rounding
        return np.absolute(m) + size[..., None, :] * np.eye(m.shape[-1], dtype=size.dtype)
    size = size + np.absolute(on_values)
    return size[..., None, :] + size[..., :, None]


def takes_absent(rule: Any) -> Any:
    """Mark a backward rule of several results that gets None for one that is not used."""
    rule.takes_absent = True
    return rule


def check_choice(on_turn: Value, cotangents: Sequence[Value], name: str, what: str) -> Value:
    """Raise where the cotangent of a turn is not zero: where a result depends on LAPACK's choice.

    The skew part of `on_turn` is that of the infinitesimal turns (on the diagonal: phases) that
    LAPACK could have chosen as well. It is compared with the size of the cotangents of the results.
    """
    whole = sum([np.sum(np.absolute(g), axis=(-2, -1), keepdims=True) for g in cotangents])

    def is_settled(share: Value) -> bool:
        if np.any(share > np.sqrt(np.finfo(share.dtype).eps)):
            raise np.linalg.LinAlgError(
                f"{name}: the gradient depends on {what}, which the matrix does not determine; "
                f"compute what is the same for all of them, such as a projector q @ q.mT.conj()"
            )
        return True

    share = np.absolute(on_turn - conj(on_turn).mT) / np.where(np.equal(whole, 0), 1, whole)
    return check_values(share, is_settled, "")
