"""Rotations in three dimensions as NumPy code on unit quaternions ``(x, y, z, w)``.

The conventions are those of `scipy.spatial.transform.Rotation`. Angles of three axes are found as
by Bernardes and Viollet, "Quaternion to Euler angles conversion", PLOS ONE 17(11), 2022.

NOTE [the limits at no rotation]
    A rotation vector and its quaternion are smooth functions of each other at 0, where their
    formulas divide by 0. Near it each is a series in the square of the length, so that all
    derivatives are right.
"""

import re
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from .._rules.constructors import check_values
from .._transforms.stop_gradient import stop_gradient
from ._parts import Layout

SMALL = 1e-3
EPS = 1e-7


def is_nowhere(beyond: Any) -> bool:
    return not np.any(beyond)


def normalized(q: Any) -> Any:
    square = np.sum(q * q, axis=-1, keepdims=True)
    check_values(square == 0, is_nowhere, "Found zero norm quaternions in `quat`.")
    return q / np.sqrt(square)


def canonical(q: Any) -> Any:
    """Return the quaternion of a pair whose scalar is positive, or else its first number."""
    negative = q[..., 3] < 0
    zero = q[..., 3] == 0
    for i in range(3):
        negative = negative | (zero & (q[..., i] < 0))
        zero = zero & (q[..., i] == 0)
    return np.where(negative[..., None], -q, q)


def compose(p: Any, q: Any) -> Any:
    """Return the rotation by `q` and then by `p`."""
    u, a, v, b = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = a * v + b * u + np.cross(u, v)
    return np.concatenate([vector, a * b - np.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def inverse(q: Any) -> Any:
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def near_zero(square: Any, small: float, series: Any, formula: Any) -> Any:
    """Return a function of a length by its square: a series where that is small."""
    near = square <= small
    length = np.sqrt(np.where(near, 1.0, square))
    return np.where(near, series(np.where(near, square, 0.0)), formula(length))


def from_rotvec(v: Any) -> Any:
    square = np.sum(v * v, axis=-1, keepdims=True)
    half = near_zero(
        square, SMALL**2,
        lambda s: 0.5 - s / 48 + s * s / 3840 - s**3 / 645120, lambda a: np.sin(a / 2) / a,
    )  # fmt: skip
    scalar = near_zero(
        square, SMALL**2, lambda s: 1 - s / 8 + s * s / 384 - s**3 / 46080, lambda a: np.cos(a / 2)
    )
    return np.concatenate([half * v, scalar], axis=-1)


def to_rotvec(q: Any) -> Any:
    q = np.where(q[..., 3:] < 0, -q, q)
    v, w = q[..., :3], q[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    scale = near_zero(
        square, SMALL**2,
        lambda s: 2 * (1 + s / 6 + 3 * s * s / 40 + 5 * s**3 / 112),
        lambda n: 2 * np.arctan2(n, w) / n,
    )  # fmt: skip
    return scale * v


def angle(q: Any) -> Any:
    return 2 * np.arctan2(np.sqrt(np.sum(q[..., :3] ** 2, axis=-1)), np.abs(q[..., 3]))


def to_matrix(q: Any) -> Any:
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def nearest_rotation(m: Any) -> Any:
    """Return the orthogonal factor of a matrix with a positive determinant.

    Newton's iteration (Higham, *Functions of Matrices*, 2008, (8.17)), on a matrix with
    determinant 1, converges quadratically, with all its derivatives.
    """
    determinant = np.linalg.det(m)
    message = "Non-positive determinant (left-handed or null coordinate frame) in rotation matrix"
    check_values(determinant <= 0, is_nowhere, message)
    m = m / np.cbrt(determinant)[..., None, None]
    for _ in range(9):
        m = (m + np.swapaxes(np.linalg.inv(m), -1, -2)) / 2
    return m


def from_matrix(m: Any) -> Any:
    """Return the quaternion of a rotation matrix, by its largest entry."""
    diagonal = [m[..., i, i] for i in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    choice = np.argmax(np.stack([*diagonal, trace], axis=-1), axis=-1)
    sums = {(i, j): m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2))}
    x, y, z = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    squares = [1 - trace + 2 * d for d in diagonal]
    candidates = [
        [squares[0], sums[0, 1], sums[0, 2], x],
        [sums[0, 1], squares[1], sums[1, 2], y],
        [sums[0, 2], sums[1, 2], squares[2], z],
        [x, y, z, 1 + trace],
    ]
    found: Any = np.stack(candidates[3], axis=-1)
    for i in range(3):
        found = np.where((choice == i)[..., None], np.stack(candidates[i], axis=-1), found)
    return normalized(found)


def from_mrp(p: Any) -> Any:
    square = np.sum(p * p, axis=-1, keepdims=True)
    return np.concatenate([2 * p, 1 - square], axis=-1) / (1 + square)


def to_mrp(q: Any) -> Any:
    q = np.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


# ---- angles ----


def axes_of(seq: str, several: bool = False) -> tuple[list[int], bool]:
    """Return the numbers of the axes of a sequence, and if it is intrinsic."""
    if several and len(seq) != 3:
        raise ValueError(f"Expected 3 axes, got {seq}.")
    if not 1 <= len(seq) <= 3:
        raise ValueError(
            f"Expected axis specification to be a non-empty string of up to 3 characters, got {seq}"
        )
    intrinsic = re.fullmatch("[XYZ]{1,3}", seq) is not None
    if not intrinsic and re.fullmatch("[xyz]{1,3}", seq) is None:
        raise ValueError(
            f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}"
        )
    if any(a == b for a, b in pairwise(seq)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(c) for c in seq.lower()], intrinsic


def composed(vectors: list, intrinsic: bool) -> Any:
    """Return the rotation by several rotation vectors, one after the other."""
    q = from_rotvec(vectors[0])
    for v in vectors[1:]:
        q = compose(q, from_rotvec(v)) if intrinsic else compose(from_rotvec(v), q)
    return q


def to_euler(q: Any, seq: str, quiet: bool) -> Any:
    (i, j, k), intrinsic = axes_of(seq, several=True)
    if intrinsic:
        i, k = k, i
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    low, high = np.abs(second) <= EPS, np.abs(second - np.pi) <= EPS
    locked = low | high
    if not quiet:
        check_values(locked, _warn_of_lock, "")
    only = np.where(low, 2 * half_sum, 2 * half_difference * (1 if intrinsic else -1))
    lower, upper = half_sum - half_difference, half_sum + half_difference
    first = np.where(locked, 0.0 if intrinsic else only, lower)
    third = np.where(locked, only if intrinsic else 0.0, upper)
    if not symmetric:
        third, second = third * sign, second - np.pi / 2
    ends = (third, first) if intrinsic else (first, third)
    angles = np.stack([ends[0], second, ends[1]], axis=-1)
    return (angles + np.pi) % (2 * np.pi) - np.pi


def _warn_of_lock(locked: Any) -> bool:
    if np.any(locked):
        warnings.warn(
            "Gimbal lock detected. Setting third angle to zero since it is not possible to "
            "uniquely determine all angles.",
            stacklevel=2,
        )
    return True


# ---- means ----


def leading_vector(k: Any) -> Any:
    """Return the eigenvector of the largest eigenvalue of symmetric matrices.

    It is that of the values, and then Newton's steps of its equation, which leave it unchanged
    and give the derivatives; so other eigenvalues may be equal.
    """
    plain = stop_gradient(k)
    check_values(plain, _is_finite, "Rotation: the values must be finite")
    values, vectors = np.linalg.eigh(plain)
    message = (
        "Rotation: the best rotation is not unique, because the largest eigenvalue is repeated; "
        "give vectors or rotations that determine it"
    )
    check_values(values, _has_one_largest, message)
    q = vectors[..., -1]
    size = k.shape[-1]
    for _ in range(Layout().order.bit_length()):
        value = np.sum(q * np.sum(k * q[..., None, :], axis=-1), axis=-1)[..., None]
        shifted = k - value[..., None] * np.eye(size)
        rest = np.sum(shifted * q[..., None, :], axis=-1)
        column = q[..., :, None]
        bordered = np.concatenate([
            np.concatenate([shifted, column], axis=-1),
            np.concatenate([np.swapaxes(column, -1, -2), np.zeros_like(value)[..., None]], axis=-1),
        ], axis=-2)  # fmt: skip
        right = np.concatenate([rest, (np.sum(q * q, axis=-1)[..., None] - 1) / 2], axis=-1)
        q = q - np.linalg.solve(bordered, right[..., None])[..., :size, 0]
    return q


def _is_finite(k: Any) -> bool:
    return bool(np.all(np.isfinite(k)))


def _has_one_largest(values: Any) -> bool:
    gap = values[..., -1] - values[..., -2]
    return bool(np.all(gap > 1e-10 * np.max(np.abs(values), axis=-1, initial=0)))


def aligning(a: Any, b: Any, weights: Any) -> Any:
    """Return the rotation of the vectors `b` that brings them nearest to `a` (Davenport's)."""
    products = np.sum(weights[:, None, None] * a[:, :, None] * b[:, None, :], axis=0)
    trace = products[0, 0] + products[1, 1] + products[2, 2]
    across = np.sum(weights[:, None] * np.cross(b, a), axis=0)
    block = products + products.T - trace * np.eye(3)
    top = np.concatenate([block, across[:, None]], axis=1)
    k = np.concatenate([top, np.concatenate([across, trace[None]])[None]], axis=0)
    q = leading_vector(k)
    largest = np.argmax(np.abs(q), axis=-1)[..., None] == np.arange(4)
    return q * np.sign(np.sum(np.where(largest, q, 0.0), axis=-1, keepdims=True))
