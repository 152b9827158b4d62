"""The generic checks that every row of the sample table runs.

Each is a function of a row that raises `AssertionError`; `test_checks.py` plants a
wrong rule for each and requires that it fails.
"""

import itertools
import warnings
from typing import Any

import numpy as np
import optree
from samples._row import Row

import functier as ft

EPS = 1e-6


def outputs(result: Any) -> list:
    """The array results of a call."""
    return [np.asarray(x) for x in optree.tree_leaves(result)]


def same(actual: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    """Equal in structure, shape, dtype and value."""
    a, b = outputs(actual), outputs(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.shape == y.shape, f"shape {x.shape}, expected {y.shape}"
        assert x.dtype == y.dtype, f"dtype {x.dtype}, expected {y.dtype}"
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def tolerance(row: Row) -> float:
    kinds = [x.dtype for x in row.leaves if x.dtype.kind in "fc"]
    return 1e-9 if all(d.itemsize >= (16 if d.kind == "c" else 8) for d in kinds) else 1e-4


def check_value(row: Row) -> None:
    """Under every transform the value and dtype are NumPy's."""
    expected = row.call(*row.leaves)
    wanted = [i for i in row.differentiated() if row.leaves[i].dtype.kind in "fc"]

    def of(*chosen: Any) -> Any:
        operands = list(row.leaves)
        for i, x in zip(wanted, chosen):
            operands[i] = x
        return row.call(*operands)

    if wanted:
        points = tuple(row.leaves[i] for i in wanted)
        tangents = tuple(np.ones_like(x) for x in points)
        same(ft.jvp(lambda *p: list(optree.tree_leaves(of(*p))), points, tangents)[0],
             list(optree.tree_leaves(expected)))
        same(ft.vjp(lambda *p: list(optree.tree_leaves(of(*p))), *points)[0],
             list(optree.tree_leaves(expected)))


def batched(x: np.ndarray, n: int) -> np.ndarray:
    """`n` examples like `x`, each with the elements of `x` in another order."""
    rng = np.random.default_rng(x.size + 7 * n)
    rows = [rng.permutation(x.ravel()).reshape(x.shape) if i else x for i in range(n)]
    return np.stack(rows) if n else np.empty((0, *x.shape), x.dtype)


def vmap_against_loop(row: Row, n: int, dims: tuple, make: Any = batched) -> None:
    """vmap over axis `dims[i]` of operand i (None: not mapped) equals a loop."""
    examples = [x if d is None else make(x, n) for x, d in zip(row.leaves, dims)]
    inputs = [
        x if d is None else np.moveaxis(x, 0, d) for x, d in zip(examples, dims)
    ]
    mapped = ft.vmap(lambda *p: list(optree.tree_leaves(row.call(*p))), tuple(dims))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if row.loop else "error", ft.FallbackWarning)
        actual = mapped(*inputs)
    if n == 0:
        one = optree.tree_leaves(row.call(*row.leaves))
        assert [np.shape(a)[1:] for a in actual] == [np.shape(x) for x in one]
        assert all(len(a) == 0 for a in actual)
        return
    loop = [
        optree.tree_leaves(row.call(*[x if d is None else x[i] for x, d in zip(examples, dims)]))
        for i in range(n)
    ]
    same(actual, [np.stack(column) for column in zip(*loop)], tolerance(row), tolerance(row))


def check_vmap(row: Row, sizes: tuple = (0, 1, 3)) -> None:
    """vmap equals a loop for every subset of batched operands, several batch sizes."""
    leaves = row.leaves
    free = [i for i in range(len(leaves)) if i not in row.shared]
    axes = {n for x in leaves for n in x.shape if n}  # a batch as long as a data axis
    subsets = list(itertools.product((0, -1, None), repeat=len(free)))
    if len(subsets) > 27:
        subsets = list(itertools.product((0, None), repeat=len(free)))[:16]
    for choice in subsets:
        if all(d is None for d in choice):
            continue
        dims: list = [None] * len(leaves)
        for i, d in zip(free, choice):
            dims[i] = d
        for n in sorted({*sizes, *(axes if len(free) <= 2 else list(axes)[:1])}):
            vmap_against_loop(row, n, tuple(dims))


def function_of(row: Row) -> tuple[Any, list]:
    """The row as a function of its differentiated operands, to a list of floats."""
    wanted = row.differentiated()

    def of(*chosen: Any) -> list:
        operands = list(row.leaves)
        for i, x in zip(wanted, chosen):
            operands[i] = x
        results = optree.tree_leaves(row.call(*operands))
        return [y for y in results if np.result_type(y).kind in "fc"]

    return of, [row.leaves[i] for i in wanted]


def direction(x: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = rng.normal(size=x.shape)
    if x.dtype.kind == "c":
        t = t + 1j * rng.normal(size=x.shape)
    return t.astype(x.dtype)


def numeric_jvp(f: Any, points: list, tangents: list) -> list:
    """Central differences, fourth order, in the highest precision at hand."""
    wide = [x.astype(np.result_type(x, np.float64)) for x in points]

    def at(h: float) -> list:
        moved = [x + h * t.astype(x.dtype) for x, t in zip(wide, tangents)]
        return [np.asarray(y) for y in f(*moved)]

    h = 1e-3
    return [
        (8 * (p - m) - (pp - mm)) / (12 * h)
        for p, m, pp, mm in zip(at(h), at(-h), at(2 * h), at(-2 * h))
    ]


def check_jvp(row: Row) -> None:
    """jvp equals finite differences; the tangent has its primal's form."""
    f, points = function_of(row)
    tangents = [direction(x, i) for i, x in enumerate(points)]
    value, actual = ft.jvp(f, tuple(points), tuple(tangents))
    expected = numeric_jvp(f, points, tangents)
    assert len(actual) == len(expected) == len(value)
    rtol = 1e-6 if tolerance(row) < 1e-6 else 2e-3
    for v, a, e in zip(value, actual, expected):
        assert np.shape(a) == np.shape(v) and np.result_type(a) == np.result_type(v)
        np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol)


def inner(a: list, b: list) -> float:
    """The real inner product of two lists of arrays."""
    return sum(float(np.real(np.sum(np.conjugate(x) * y))) for x, y in zip(a, b))


def check_vjp(row: Row) -> None:
    """The adjoint identity: <g, J t> equals <J* g, t>; cotangents have their input's form."""
    f, points = function_of(row)
    tangents = [direction(x, i) for i, x in enumerate(points)]
    value, moved = ft.jvp(f, tuple(points), tuple(tangents))
    value, pullback = ft.vjp(f, *points)
    cotangents = [direction(np.asarray(v), 100 + i) for i, v in enumerate(value)]
    pulled = pullback(cotangents)
    for x, c in zip(points, pulled):
        assert np.shape(c) == x.shape and np.result_type(c) == x.dtype
    left, right = inner(cotangents, moved), inner(list(pulled), tangents)
    rtol = 1e-8 if tolerance(row) < 1e-6 else 1e-3
    np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol)


def check_second(row: Row) -> None:
    """Order 2 in all mode pairs, each against finite differences of order 1."""
    f, points = function_of(row)
    tangents = [direction(x, i) for i, x in enumerate(points)]
    weights = [direction(np.asarray(v), 200 + i) for i, v in enumerate(f(*points))]

    def forward(*p: Any) -> list:
        return ft.jvp(f, p, tuple(tangents))[1]

    def reverse(*p: Any) -> list:
        return list(ft.vjp(f, *p)[1](weights))

    rtol = 1e-5 if tolerance(row) < 1e-6 else 1e-2
    for g in (forward, reverse):
        directions = [direction(x, 300 + i) for i, x in enumerate(points)]
        expected = numeric_jvp(g, points, directions)
        ahead = ft.jvp(g, tuple(points), tuple(directions))[1]
        for a, e in zip(ahead, expected):
            np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol)
        value, pullback = ft.vjp(g, *points)
        back = [direction(np.asarray(v), 400 + i) for i, v in enumerate(value)]
        left, right = inner(back, expected), inner(list(pullback(back)), directions)
        np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol * (1 + abs(left)))


def check_vmap_of_derivatives(row: Row, n: int = 3) -> None:
    """vmap of jvp and of vjp equals a loop; jvp and vjp of vmap do too."""
    f, points = function_of(row)
    many = [batched(x, n) for x in points]
    tangents = [np.stack([direction(x, 10 * j + i) for j in range(n)]) for i, x in enumerate(points)]
    weights = [direction(np.asarray(v), 200 + i) for i, v in enumerate(f(*points))]

    def forward(*both: Any) -> list:
        k = len(both) // 2
        return ft.jvp(f, both[:k], both[k:])[1]

    def reverse(*p: Any) -> list:
        return list(ft.vjp(f, *p)[1](weights))

    rtol = max(tolerance(row), 1e-8)
    with warnings.catch_warnings():
        if row.loop:
            warnings.simplefilter("ignore", ft.FallbackWarning)
        for g, inputs in ((forward, many + tangents), (reverse, many)):
            loop = [g(*[x[i] for x in inputs]) for i in range(n)]
            same(ft.vmap(g)(*inputs), [np.stack(c) for c in zip(*loop)], rtol, rtol)
        loop = [forward(*[x[i] for x in many + tangents]) for i in range(n)]
        outside = ft.jvp(ft.vmap(f), tuple(many), tuple(tangents))[1]
        same(outside, [np.stack(c) for c in zip(*loop)], rtol, rtol)
        loop = [reverse(*[x[i] for x in many]) for i in range(n)]
        every = [np.stack([w] * n) for w in weights]
        outside = list(ft.vjp(ft.vmap(f), *many)[1](every))
        same(outside, [np.stack(c) for c in zip(*loop)], rtol, rtol)
