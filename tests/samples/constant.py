"""Rows for operations whose derivative is zero, and for questions about the form."""

import os

import numpy as np

from ._row import booleans, deprecated, integers, normal, row

SPECIAL = np.array([1.5, -0.0, np.nan, np.inf, -np.inf])
DATES = np.array(["2024-01-01", "NaT", "2024-02-01"], dtype="M8[D]")


def beside(func):
    """`x` plus what `func` makes of it, which is a number or a text and no tensor."""

    def added(x):
        return x + len(str(func(x)))

    added.__name__ = func.__name__
    return added


def like(make):
    """`x` plus the array that `make` makes like it."""
    return lambda x: x + make(x)


ROWS = [
    *[
        row(f, normal(2, 1), normal(3))
        for f in (
            np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
            np.logical_and, np.logical_or, np.logical_xor, np.floor_divide,
        )
    ],
    *[row(f, integers(0, 2, 3), np.array([0, 1, 1])) for f in (np.equal, np.less_equal)],
    *[row(f, normal(2, 3)) for f in (np.logical_not, np.floor, np.ceil, np.trunc, np.rint)],
    row(deprecated(np.fix), normal(2, 3)),
    *[row(f, SPECIAL) for f in (np.isfinite, np.isinf, np.isnan, np.signbit, np.isposinf)],
    row(np.isneginf, SPECIAL),
    row(np.isnat, DATES),
    row(np.spacing, normal(3), _order=0),
    row(np.floor, normal(3, dtype=np.float32)),
    *[row(f, 10 * normal(3), 1) for f in (np.round, np.around)],
    row(np.round, normal(2, 3)),
    *[
        row(f, integers(1, 9, 2, 1), integers(1, 5, 3))
        for f in (
            np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift, np.gcd,
            np.lcm, np.floor_divide, np.remainder,
        )
    ],
    *[row(f, integers(0, 9, 3)) for f in (np.invert, np.bitwise_count)],
    row(np.logical_xor, booleans(3), booleans(2, 3)),
    # the form of a tensor
    *[row(f, normal(2, 3)) for f in (np.shape, np.ndim, np.size)],
    row(np.size, normal(2, 3), 1),
    *[row(f, normal(2, 3)) for f in (np.zeros_like, np.ones_like)],
    row(lambda x: np.empty_like(x, dtype=np.float32) * 0, normal(3)),
    row(np.zeros_like, normal(3), dtype=int, shape=(2,)),
    row(lambda x: x.astype(np.result_type(x, 1j)), normal(3)),
    row(lambda x: x.astype(np.common_type(x, np.ones(1, np.float32))), normal(3, dtype=np.float32)),
    row(beside(lambda x: np.min_scalar_type(x)), normal(3)),
    row(beside(lambda x: np.can_cast(x, np.float32)), normal(3)),
    row(beside(lambda x: np.iscomplexobj(x)), normal(3)),
    row(beside(lambda x: np.isrealobj(x)), normal(3)),
    # text and memory
    row(lambda x: x + min(len(np.array_repr(x)), 1), normal(3)),
    row(lambda x: x + min(len(np.array_str(x)), 1), normal(3)),
    row(lambda x: x + min(len(np.array2string(x)), 1), normal(3)),
    row(np.shares_memory, normal(3), normal(3)),
    row(np.may_share_memory, normal(3), normal(3)),
    # made like a tensor
    row(like(lambda x: np.zeros(2, like=x)), normal(2)),
    row(like(lambda x: np.ones((3, 2), dtype=np.float32, like=x)), normal(2)),
    row(like(lambda x: 0 * np.zeros(np.shape(np.empty(2, like=x)))), normal(2)),
    row(like(lambda x: np.eye(2, k=1, like=x)), normal(2)),
    row(like(lambda x: np.identity(2, like=x)), normal(2)),
    row(like(lambda x: np.tri(2, like=x)), normal(2)),
    row(like(lambda x: np.arange(1, 3, like=x)), normal(2)),
    row(like(lambda x: np.fromfunction(lambda i: 2 * i, (2,), like=x)), normal(2)),
    row(like(lambda x: np.fromiter(iter([1, 2]), float, like=x)), normal(2)),
    row(like(lambda x: np.frombuffer(b"ab", np.uint8, like=x)), normal(2)),
    row(like(lambda x: np.fromstring("1 2", sep=" ", like=x)), normal(2)),
    row(np.fromstring, "1 2", sep=" "),
    row(like(lambda x: len(np.fromfile(os.devnull, like=x))), normal(2)),
    row(like(lambda x: np.loadtxt(["1 2"], like=x)), normal(2)),
    row(like(lambda x: np.genfromtxt(["1 2"], like=x)), normal(2)),
    *[
        row(lambda x, f=f: f([x, [1.0, 2.0]], like=x), normal(2))
        for f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)
    ],
    row(lambda x: np.require(x, np.float32, like=x), normal(2), _order=1),
]  # fmt: skip
