"""Tests of sparse Jacobians that look inside: patterns, colours and plans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sparse_support import X, bands, masks, same_as_dense, tridiagonal

import functier as ft
from functier._transforms.sparse import probing as _probing
from functier._transforms.sparse.colouring import Pattern, Plan, colour_rows
from support.basics import close, equal, loss, raises

pytestmark = pytest.mark.inside("Patterns and colours have no public name.")


# ---- sparse ----


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("missed", [0, 4, 9])
def test_an_entry_that_probing_misses_by_chance_is_found(mode, missed, monkeypatch):
    """As it can in single precision, where a sum of entries is 0."""
    probe, attempts = _probing.probe, []

    def unlucky(point, attempt):
        pattern, finite = probe(point, attempt)
        attempts.append(attempt)
        if not attempt:
            kept = np.arange(len(pattern.rows)) != missed
            pattern = Pattern(pattern.rows[kept], pattern.cols[kept], pattern.shape)
        return pattern, finite

    monkeypatch.setattr(_probing, "probe", unlucky)
    same_as_dense(ft.sparse_jacobian(tridiagonal, mode=mode)(X), ft.jacfwd(tridiagonal)(X))
    assert attempts == [0, 1]


def energy(x):
    return np.sum(np.diff(x) ** 4) + np.sum(np.cos(x))


def weighted(x, w):
    """Every element meets the first: a full row and a full column."""
    return np.sum(w * x**3) + x[0] * np.sum(np.sin(x))


def test_options_of_hessians():
    w = np.arange(1.0, 5.0)
    same_as_dense(ft.sparse_hessian(weighted, argnums=1)(X, w), np.zeros((4, 4)))
    named = ft.sparse_hessian(weighted, argnames="x")
    same_as_dense(named(w=w, x=X), ft.hessian(weighted)(X, w))
    out, aux = ft.sparse_hessian(lambda x: (energy(x), {"seen": x}), has_aux=True)(X)
    same_as_dense(out, ft.hessian(energy)(X))
    equal(aux["seen"], X)
    both = ft.sparse_hessian(weighted, argnums=(0, 1))(X, w)
    same_as_dense(both, np.block(list(map(list, ft.hessian(weighted, (0, 1))(X, w)))))
    square = ft.sparse_hessian(lambda x: np.sum(x**3))(X.reshape(2, 2))
    same_as_dense(square, np.diag(6 * X))
    z = X + 1j
    cube = ft.sparse_hessian(lambda z: np.sum(z**3), holomorphic=True)(z)
    same_as_dense(cube, np.diag(6 * z))
    places = bands(4, -1, 0, 1)
    data = ft.sparse_hessian(energy, pattern=places, form="data")
    third = ft.jacfwd(lambda x: ft.hessian(energy)(x)[Pattern(*places).rows, Pattern(*places).cols])
    close(ft.jacfwd(data)(X), third(X))
    raises(
        ValueError,
        lambda: ft.sparse_hessian(loss, pattern=np.triu(np.ones((4, 4)))),
        "sparse_hessian(loss) | pattern + pattern.T",
    )


# ---- sparse patterns ----


def check_colours(rows, cols, colours):
    """No two columns of one colour have entries in one row."""
    assert len(cols) == 0 or colours[cols].min() >= 0
    seen = set(zip(rows.tolist(), colours[cols].tolist()))
    assert len(seen) == len(set(zip(rows.tolist(), cols.tolist()))), "two of a colour in a row"


@given(masks)
def test_colourings_are_valid(mask):
    rows, cols = np.nonzero(mask)
    colours = colour_rows(rows, cols)
    check_colours(rows, cols, colours)
    counts = np.bincount(rows, minlength=1)
    degree = int((mask.T.astype(int) @ mask.astype(int) > 0).sum(axis=1).max(initial=0))
    assert counts.max() <= colours.max(initial=-1) + 1 <= degree  # as greedy ones are


@given(st.integers(1, 40), st.integers(0, 4), st.integers(0, 4))
def test_a_band_takes_as_many_colours_as_it_is_wide(n, below, above):
    pattern = Pattern(*bands(n, *range(-below, above + 1)))
    colours = colour_rows(pattern.rows, pattern.cols)
    check_colours(pattern.rows, pattern.cols, colours)
    assert colours.max() + 1 == np.bincount(pattern.rows).max()


@pytest.mark.parametrize(
    ("offsets", "most"),
    [((0,), 1), ((-1, 0, 1), 3), ((-2, 0, 2), 3), ((-40, -1, 0, 1, 40), 7), ((-3, 1, 4), 4)],
)
def test_sparser_bands(offsets, most):
    pattern = Pattern(*bands(1600, *offsets))
    colours = colour_rows(pattern.rows, pattern.cols)
    check_colours(pattern.rows, pattern.cols, colours)
    assert colours.max() + 1 <= most


def test_the_mode_with_fewer_products_is_taken():
    row, column = np.zeros((2, 9, 9), bool)
    row[0] = column[:, 0] = True
    both = row | column | np.eye(9, dtype=bool)
    wide = np.ones((2, 9), bool)
    for mask, forward, reverse in [
        (column, 1, 0), (row, 0, 1), (both, 2, 1), (wide, 0, 2), (wide.T, 2, 0),
        (np.eye(9, dtype=bool), 1, 0), (np.zeros((3, 3), bool), 0, 0),
    ]:  # fmt: skip
        plan = Plan(Pattern(*np.nonzero(mask), mask.shape), "auto")
        counts = [sweep.count if sweep else 0 for sweep in (plan.forward, plan.reverse)]
        assert counts == [forward, reverse]
        assert plan.count == forward + reverse


@given(masks)
def test_a_plan_reads_each_entry_once(mask):
    pattern = Pattern(*np.nonzero(mask), mask.shape)
    matrix = np.arange(1.0, mask.size + 1).reshape(mask.shape) * mask
    for mode in ("auto", "fwd", "rev"):
        plan = Plan(pattern, mode)
        entries = np.full(len(pattern.rows), -1.0)
        m, n = mask.shape
        for sweep, a, size in ((plan.forward, matrix.T, n), (plan.reverse, matrix, m)):
            if sweep:
                numbers, values, _ = sweep.read(lambda seeds, a=a: seeds @ a, size)
                mine = slice(None) if numbers[0] is None else numbers[0]
                assert np.all(entries[mine] == -1)
                entries[mine] = values[0]
        equal(entries, matrix[mask])
