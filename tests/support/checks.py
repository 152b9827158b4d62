"""The generic checks that every row of the sample table runs.

Each is a function of a row that raises `AssertionError`; `test_checks.py` plants a
wrong rule for each and requires that it fails. `checks_of` says which apply to a row.
"""

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optree

import functier as ft
from functier._levels import batch as _batch
from functier.testing import operations
from samples._batch import choices, data_axes, examples, free, placed, stacked, strided, unlike
from samples._row import Row
from support.nearness import form_of, inner, near, same

# ---- how near values have to be, and what has to be quiet ----


def precision(row: Row, double: float, single: float, half: float = 0.05) -> float:
    """The tolerance for the coarsest floating-point dtype of the row."""
    return double if row.eps < 1e-10 else single if row.eps < 1e-5 else half


@contextmanager
def quiet(row: Row) -> Iterator[None]:
    """Fail on the loop fallback, unless the row is marked for it."""
    _batch._warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if row.loop else "error", ft.FallbackWarning)
        yield


# ---- a row as a function ----


def leaves_of(row: Row) -> Callable:
    """The row as a function from all its operands to the list of its results."""
    return lambda *operands: list(optree.tree_leaves(row.call(*operands)))


def at(row: Row, positions: tuple, floats: bool = True) -> tuple[Callable, list]:
    """The row as a function of some of its operands, and where it stands.

    With `floats` to the list of its floating-point and complex results only.
    """

    def of(*chosen: Any) -> list:
        operands = list(row.leaves)
        for i, x in zip(positions, chosen):
            operands[i] = x
        results = optree.tree_leaves(row.call(*operands))
        return [y for y in results if not floats or np.result_type(y).kind in "fc"]

    return of, [row.leaves[i] for i in positions]


def function_of(row: Row) -> tuple[Callable, list]:
    """The row as a function of its differentiated operands."""
    return at(row, row.differentiated())


def direction(x: np.ndarray, seed: int) -> np.ndarray:
    """A tangent or a cotangent of `x`."""
    dtype = np.result_type(x)
    return drawn(seed, np.shape(x), dtype.kind == "c").astype(dtype)


@functools.lru_cache(10_000)
def drawn(seed: int, shape: tuple, is_complex: bool) -> np.ndarray:
    """Normal numbers."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=shape)
    return np.asarray(t + 1j * rng.normal(size=shape) if is_complex else t)


def directions(xs: list, seed: int) -> tuple:
    return tuple(direction(x, seed + i) for i, x in enumerate(xs))


# ---- the checks: values ----


def check_value(row: Row, rtol: float = 1e-9) -> None:
    """Under jvp and vjp, by all operands and by each, value and dtype are NumPy's."""
    expected = leaves_of(row)(*row.leaves)
    wanted = tuple(i for i in row.differentiated() if row.leaves[i].dtype.kind in "fc")
    constant = not wanted
    if constant:
        wanted = tuple(i for i, x in enumerate(row.leaves) if x.dtype.kind in "fc")
    for positions in dict.fromkeys([wanted, *[(i,) for i in wanted]]):
        if not positions:
            continue
        f, points = at(row, positions, floats=False)
        try:
            value, moved = ft.jvp(f, tuple(points), directions(points, 0))
            same(value, expected, rtol)
            same(ft.vjp(f, *points)[0], expected, rtol)
        except ft.NoRuleError:
            op = operations().get(row.operation)
            assert constant and not (op and op.constant), "no derivative rule"
        else:
            assert not constant or not any(np.any(t) for t in moved), "the derivative is not zero"


def check_vmap(row: Row, whole: bool = False) -> None:
    """vmap equals a loop for every subset of batched operands, several batch sizes.

    Not the whole: one size for every subset, the other sizes for some.
    """
    every = choices(len(free(row)), (0, -1))
    for n in lengths(row, 0, 1, unlike(row), *data_axes(row)):
        loops: dict = {}
        for choice in every if whole or n == unlike(row) or len(every) < 3 else every[::5]:
            vmap_against_loop(row, n, placed(row, choice), loops=loops)


def lengths(row: Row, *wanted: int) -> list[int]:
    """Lengths of batches, without that of no examples where a row refuses it."""
    return sorted({n for n in wanted if n or row.empty})


def check_vmap_strided(row: Row) -> None:
    """vmap and the call itself do not care how the operands lie in memory."""
    loops: dict = {}
    for choice in choices(len(free(row)), (0, -1)):
        vmap_against_loop(row, unlike(row), placed(row, choice), strided, loops)


def vmap_against_loop(
    row: Row, n: int, dims: list, form: Callable = lambda x: x, loops: dict | None = None
) -> None:
    """vmap over axis `dims[i]` of operand i (None: not mapped) equals a loop.

    Loops are kept in `loops` by the operands that vary: the axis makes no difference to them.
    """
    loops = {} if loops is None else loops
    f = leaves_of(row)
    many = [
        x if d is None else examples(row, i, n) for i, (x, d) in enumerate(zip(row.leaves, dims))
    ]
    inputs = [form(x if d is None else np.moveaxis(x, 0, d)) for x, d in zip(many, dims)]
    with quiet(row):
        actual = ft.vmap(f, tuple(dims))(*inputs)
    varying = tuple(d is not None for d in dims)
    if varying not in loops:
        loops[varying] = loop(f, row.leaves if n == 0 else many, varying, n)
    same(actual, loops[varying], precision(row, 1e-9, 1e-4))


def loop(f: Callable, many: Sequence, varying: Sequence, n: int) -> list:
    """The results of `f` for each of `n` examples, one after the other; some operands vary."""
    if n == 0:
        return [np.empty((0, *np.shape(y)), np.result_type(y)) for y in f(*many)]
    return stacked([f(*[x[j] if on else x for x, on in zip(many, varying)]) for j in range(n)])


def check_vmap_nested(row: Row, whole: bool = False) -> None:
    """vmap of vmap equals two loops; each operand varies along either, both or neither.

    Not the whole: sizes unlike each other and sizes of a data axis take turns.
    """
    m = (data_axes(row) or [2])[0]
    picked = choices(len(free(row)), ("outer", "inner", "both"))
    if len(free(row)) > 2:
        picked = choices(len(free(row)), ("inner", "both")) if len(free(row)) > 3 else picked[::2]
    unequal, equal = (2, 3), (m, m)
    for k, choice in enumerate(picked):
        for sizes in (unequal, equal) if whole else (equal if k % 2 else unequal,):
            nested_against_loops(row, sizes, placed(row, choice))
    both = placed(row, ("both",) * len(free(row)))
    for sizes in ((1, 3), (3, 1), (1, 1), *((0, 2), (2, 0))[: 2 * row.empty]):
        nested_against_loops(row, sizes, both)


def nested_against_loops(row: Row, sizes: tuple[int, int], choice: list) -> None:
    f, (n, m) = leaves_of(row), sizes
    outer_dims, inner_dims, inputs, picks = [0], [0], [np.zeros((n, m))], []
    for i, (x, option) in enumerate(zip(row.leaves, choice)):
        axis = -(i % 2)  # the batch comes first or last
        outer_dims.append(axis if option in ("outer", "both") else None)
        inner_dims.append(axis if option in ("inner", "both") else None)
        if option is None:
            many, pick = x, lambda a, j, k: a
        elif option == "both":
            many = examples(row, i, n * m).reshape(n, m, *x.shape)
            pick = lambda a, j, k: a[j, k]  # noqa: E731
        else:
            many = examples(row, i, n if option == "outer" else m)
            first = option == "outer"
            pick = lambda a, j, k, first=first: a[j if first else k]  # noqa: E731
        picks.append((many, pick))
        if inner_dims[-1] is not None:
            many = np.moveaxis(many, int(option == "both"), axis if axis else int(option == "both"))
        if outer_dims[-1] is not None:
            many = np.moveaxis(many, 0, axis)
        inputs.append(many)

    def inner(_: Any, *xs: Any) -> list:  # the first operand varies along both
        return f(*xs)

    with quiet(row):
        mapped = ft.vmap(lambda *xs: ft.vmap(inner, tuple(inner_dims))(*xs), tuple(outer_dims))
        actual = mapped(*inputs)
    if 0 in sizes:
        empty = [np.empty((n, m, *np.shape(y)), np.result_type(y)) for y in f(*row.leaves)]
        return same(actual, empty)
    rows = [stacked([f(*[pick(a, j, k) for a, pick in picks]) for k in range(m)]) for j in range(n)]
    same(actual, stacked(rows), precision(row, 1e-9, 1e-4))


def check_refusal(row: Row) -> None:
    """Check that an operation that depends on the data refuses examples that differ in form."""
    many = [examples(row, i, 8) for i in range(len(row.leaves))]
    f = leaves_of(row)
    for batch in (many, [_with_equal_elements(x) for x in many]):
        try:
            found = ft.vmap(f)(*batch)
        except ft.LevelError:
            return
        same(found, stacked([f(*[x[i] for x in batch]) for i in range(8)]))  # fails if forms differ
    raise AssertionError("vmap returned, where the shape depends on the data")


def _with_equal_elements(many: np.ndarray) -> np.ndarray:
    """Return the examples, the last of which has one number in all elements."""
    last = np.full_like(many[-1:], many[-1].flat[0]) if many[-1].size else many[-1:]
    return np.concatenate([many[:-1], last])


def check_warning(row: Row) -> None:
    """The loop fallback warns."""
    many = [x if i in row.shared else examples(row, i, 2) for i, x in enumerate(row.leaves)]
    dims = tuple(None if i in row.shared else 0 for i in range(len(many)))
    _batch._warned.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ft.vmap(leaves_of(row), dims)(*many)
    found = any(issubclass(w.category, ft.FallbackWarning) for w in caught)
    assert found, "no FallbackWarning: the row is not one of the loop fallback"


# ---- the checks: derivatives ----


def numeric_jvp(f: Callable, points: list, tangents: tuple, h: float = 1e-3) -> list:
    """Central differences of fourth order, in double precision."""
    wide = [x.astype(np.result_type(x, np.float64)) for x in points]

    def moved(h: float) -> list:
        xs = [x + h * t.astype(x.dtype) for x, t in zip(wide, tangents)]
        return [np.asarray(y) for y in f(*xs)]

    slopes = [
        (8 * (p - m) - (pp - mm)) / (12 * h)
        for p, m, pp, mm in zip(moved(h), moved(-h), moved(2 * h), moved(-2 * h))
    ]
    assert all(np.isfinite(s).all() for s in slopes), "no derivative here: lower the row's _order"
    return slopes


def check_jvp(row: Row) -> None:
    """jvp equals finite differences; the tangent has its primal's form."""
    f, points = function_of(row)
    tangents = directions(points, 0)
    value, actual = ft.jvp(f, tuple(points), tangents)
    assert [form_of(t) for t in actual] == [form_of(v) for v in value]
    near(actual, numeric_jvp(f, points, tangents), precision(row, 1e-6, 2e-3))


def check_vjp(row: Row) -> None:
    """The adjoint identity <g, J t> = <J* g, t>; cotangents have their operand's form."""
    f, points = function_of(row)
    tangents = directions(points, 0)
    moved = ft.jvp(f, tuple(points), tangents)[1]
    value, pullback = ft.vjp(f, *points)
    cotangents = list(directions(value, 100))
    pulled = pullback(cotangents)
    assert [form_of(c) for c in pulled] == [form_of(x) for x in points]
    left, right = inner(cotangents, moved), inner(pulled, tangents)
    rtol = precision(row, 1e-8, 1e-3)
    np.testing.assert_allclose(right, left, rtol=rtol, atol=rtol)


def check_alone(row: Row) -> None:
    """Each operand's own derivative is its part of the joint one."""
    f, points = function_of(row)
    tangents = directions(points, 0)
    value, joint = ft.jvp(f, tuple(points), tangents)
    pullback = ft.vjp(f, *points)[1]
    cotangents = list(directions(value, 100))
    rtol = precision(row, 1e-8, 1e-3)
    parts = []
    for j, (i, x) in enumerate(zip(row.differentiated(), points)):
        g, _ = at(row, (i,))
        parts.append(ft.jvp(g, (x,), (tangents[j],))[1])
        same(ft.vjp(g, x)[1](cotangents), [pullback(cotangents)[j]], rtol)
    near(joint, [sum(column) for column in zip(*parts)], rtol)


def check_second(row: Row) -> None:
    """Order 2 in all four mode pairs, against finite differences of order 1."""
    f, points = function_of(row)
    tangents, turned = directions(points, 0), directions(points, 300)
    weights = list(directions(f(*points), 200))

    def forward(*p: Any) -> list:
        return ft.jvp(f, p, tangents)[1]

    def reverse(*p: Any) -> list:
        return list(ft.vjp(f, *p)[1](weights))

    rtol = precision(row, 1e-5, 1e-2)
    for g in (forward, reverse):
        expected = numeric_jvp(g, points, turned)
        near(ft.jvp(g, tuple(points), turned)[1], expected, rtol)
        value, pullback = ft.vjp(g, *points)
        back = list(directions(value, 400))
        pulled = pullback(back)
        assert [form_of(c) for c in pulled] == [form_of(x) for x in points]
        left, right = inner(back, expected), inner(pulled, turned)
        np.testing.assert_allclose(right, left, rtol=rtol, atol=rtol * (1 + abs(left)))


def check_vmap_of_derivatives(row: Row, whole: bool = False) -> None:
    """vmap of jvp and vjp equals a loop, whatever of points and directions is batched.

    Not the whole: every size for the first plan of each mode, one size for the others.
    """
    f, points = function_of(row)
    varying = [i not in row.shared for i in row.differentiated()]
    weights = list(directions(f(*points), 200))
    p = len(points)

    def forward(*both: Any) -> list:
        return ft.jvp(f, both[:p], both[p:])[1]

    def reverse(*both: Any) -> list:
        return list(ft.vjp(f, *both[:p])[1](list(both[p:])))

    alone = [[j == i and varying[i] for j in range(p)] for i in range(p)] if p > 1 else []
    plans = [
        (g, a, b) for g in (forward, reverse) for a in (varying, [False] * p) for b in (True, False)
    ]
    plans += [(g, a, False) for g in (forward, reverse) for a in alone]
    for n in sorted({1, unlike(row), *data_axes(row)[:1]}):
        many = [
            examples(row, i, n) if v else x
            for i, x, v in zip(row.differentiated(), points, varying)
        ]
        for g, mask, moves in plans:
            if not whole and n != unlike(row) and not (moves and mask is varying):
                continue
            base = points if g is forward else weights
            lead = [
                direction(np.stack([x] * n), 10 + i) if moves else direction(x, 10 + i)
                for i, x in enumerate(base)
            ]
            inputs = [m if on else x for m, x, on in zip(many, points, mask)] + lead
            dims = [0 if on else None for on in mask] + [0 if moves else None] * len(lead)
            if all(d is None for d in dims):
                continue
            with quiet(row):
                actual = ft.vmap(g, tuple(dims))(*inputs)
            expected = loop(g, inputs, [d is not None for d in dims], n)
            same(actual, expected, precision(row, 1e-8, 1e-3))


def check_derivatives_of_vmap(row: Row, whole: bool = False) -> None:
    """jvp and vjp of vmap equal a loop; what is not batched gets the sum over the batch.

    Not the whole: every size where all operands vary, one size where one does.
    """
    f, points = function_of(row)
    where = row.differentiated()
    varying = [i not in row.shared for i in where]
    masks = [
        varying,
        *(
            [j == i and varying[i] for j in range(len(points))]
            for i in range(len(points))
            if len(points) > 1
        ),
    ]
    for mask in masks:
        if not any(mask):
            continue
        dims = tuple(0 if on else None for on in mask)
        for n in lengths(row, 0, 1, unlike(row), *data_axes(row)[:1]):
            if not whole and n != unlike(row) and mask is not varying:
                continue
            inputs = [examples(row, i, n) if on else x for i, x, on in zip(where, points, mask)]
            tangents = directions(inputs, 0)
            with quiet(row):
                value, moved = ft.jvp(ft.vmap(f, dims), tuple(inputs), tangents)
                weights = list(directions(value, 200))
                pulled = ft.vjp(ft.vmap(f, dims), *inputs)[1](weights)
            assert [form_of(t) for t in moved] == [form_of(v) for v in value]
            assert [form_of(c) for c in pulled] == [form_of(x) for x in inputs]
            if n == 0:
                assert all(not np.any(c) for c in pulled)
                continue
            steps, backs = [], []
            for j in range(n):
                xs = [x[j] if on else x for x, on in zip(inputs, mask)]
                ts = tuple(t[j] if on else t for t, on in zip(tangents, mask))
                steps.append(ft.jvp(f, tuple(xs), ts)[1])
                value, pullback = ft.vjp(f, *xs)
                lead = [
                    np.real(w[j]) if form_of(v)[1].kind == "f" else w[j]
                    for v, w in zip(value, weights)
                ]
                backs.append(pullback(lead))
            rtol = precision(row, 1e-8, 1e-3)
            near(moved, stacked(steps), rtol)
            near(pulled, [c if on else c.sum(0) for c, on in zip(stacked(backs), mask)], rtol)


def check_mutation(row: Row) -> None:
    """No transform writes to the caller's arrays, nor a pullback to what it has saved."""
    watched: list = []

    def watch(xs: Any) -> list:
        xs = [np.array(x) for x in xs]
        watched.extend((x, x.copy()) for x in xs)
        return xs

    with quiet(row):
        if row.vmap:
            many = [examples(row, i, 2) if i in free(row) else x for i, x in enumerate(row.leaves)]
            dims = tuple(0 if i in free(row) else None for i in range(len(many)))
            if free(row):
                ft.vmap(leaves_of(row), dims)(*watch(many))
        if row.differentiated() and row.order:
            f, points = function_of(row)
            ft.jvp(f, tuple(watch(points)), tuple(watch(directions(points, 0))))
            value, pullback = ft.vjp(f, *watch(points))
            cotangents = watch(directions(value, 100))
            first = [np.array(c) for c in pullback(cotangents)]
            same(pullback(cotangents), first)
    for x, before in watched:
        np.testing.assert_array_equal(x, before, err_msg="an array of the caller has changed")


CHECKS: dict[str, tuple[Callable, Callable]] = {
    "value": (check_value, lambda row: True),
    "vmap": (check_vmap, lambda row: row.vmap and free(row)),
    "vmap_strided": (check_vmap_strided, lambda row: row.vmap and free(row)),
    "vmap_nested": (check_vmap_nested, lambda row: row.vmap and free(row)),
    "refusal": (check_refusal, lambda row: not row.vmap),
    "warning": (check_warning, lambda row: row.loop),
    "jvp": (check_jvp, lambda row: differentiable(row)),
    "vjp": (check_vjp, lambda row: differentiable(row)),
    "alone": (check_alone, lambda row: differentiable(row) and len(row.differentiated()) > 1),
    "second": (check_second, lambda row: differentiable(row, 2)),
    "vmap_of_derivatives": (check_vmap_of_derivatives, lambda r: r.vmap and differentiable(r)),
    "derivatives_of_vmap": (check_derivatives_of_vmap, lambda r: r.vmap and differentiable(r)),
    "mutation": (check_mutation, lambda row: True),
}
"""Every check by its name, and whether it applies to a row."""


PRODUCTS = {"vmap", "vmap_nested", "vmap_of_derivatives", "derivatives_of_vmap"}
"""Checks of plans and sizes, which take each with each where they are asked for the whole."""


def run_check(name: str, row: Row, whole: bool = False) -> None:
    """Run a check of a row by its name; a warning is an error."""
    options = {"whole": True} if whole and name in PRODUCTS else {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        CHECKS[name][0](row, **options)


def differentiable(row: Row, order: int = 1) -> bool:
    return bool(row.differentiated()) and row.order >= order


def checks_of(row: Row) -> dict[str, Callable]:
    """The checks that apply to a row."""
    return {name: check for name, (check, applies) in CHECKS.items() if applies(row)}
