"""Counts, places and axes that are computed, and lengths that depend on equal elements;
floats whose digits NumPy cuts off.

Examples with one number or length run in one call, and others run apart, under
``branches="split"``. The result is that of a loop.
"""

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.basics import close

X = np.random.default_rng(1).normal(size=6)
M = np.random.default_rng(2).normal(size=(3, 3))

FUNCTIONS = {
    "split list": (lambda np, x, n: [p.sum() for p in np.split(x, [n])], X, 2, 4),
    "split array": (lambda np, x, n: [p.sum() for p in np.split(x, np.stack([n, n + 1]))], X, 2, 4),
    "split sections": (lambda np, x, n: [p.sum() for p in np.split(x, n)][:2], X, 2, 3),
    "array_split list": (lambda np, x, n: [p.sum() for p in np.array_split(x, [n, 5])], X, 2, 4),
    "array_split sections": (lambda np, x, n: [p.sum() for p in np.array_split(x, n)][:2], X, 2, 4),
    "array_split tuple": (lambda np, x, n: [p.sum() for p in np.array_split(x, (1, n))], X, 2, 4),
    "hsplit": (lambda np, x, n: [p.sum() for p in np.hsplit(x, [n])], M, 1, 2),
    "vsplit": (lambda np, x, n: [p.sum() for p in np.vsplit(x, [n])], M, 1, 2),
    "dsplit": (lambda np, x, n: [p.sum() for p in np.dsplit(x[None], [n])], M, 1, 2),
    "delete": (lambda np, x, n: np.delete(x, n).sum(), X, 2, 4),
    "delete list": (lambda np, x, n: np.delete(x, [n, 0]).sum(), X, 2, 4),
    "insert": (lambda np, x, n: np.insert(x, n, 7.0) @ np.arange(7.0), X, 2, 4),
    "roll": (lambda np, x, n: np.roll(x, n) @ np.arange(6.0), X, 2, 4),
    "roll tuple": (lambda np, x, n: (np.roll(x, (n, 1), (0, 1)) @ np.arange(3.0)).sum(), M, 1, 2),
    "repeat": (lambda np, x, n: np.repeat(x, n).sum(), X, 2, 4),
    "repeat array": (lambda np, x, n: np.repeat(x[:2], np.stack([n, n])).sum(), X, 2, 4),
    "repeat list": (lambda np, x, n: np.repeat(x[:2], [n, 1]).sum(), X, 2, 4),
    "tile": (lambda np, x, n: np.tile(x, n).sum(), X, 2, 4),
    "tile tuple": (lambda np, x, n: np.tile(x, (n, 1)).sum(), X, 2, 4),
    "resize": (lambda np, x, n: np.resize(x, n).sum(), X, 2, 8),
    "resize tuple": (lambda np, x, n: np.resize(x, (n, 2)).sum(), X, 2, 8),
    "reshape": (lambda np, x, n: np.reshape(x, (n, -1))[1].sum(), X, 2, 3),
    "x.reshape": (lambda np, x, n: x.reshape(n, -1)[1].sum(), X, 2, 3),
    "zeros": (lambda np, x, n: np.zeros(n).sum() + x.sum(), X, 2, 3),
    "zeros tuple": (lambda np, x, n: np.zeros((n, 2)).sum() + x.sum(), X, 2, 3),
    "ones": (lambda np, x, n: (np.ones((2, n)) * x[0]).sum(), X, 2, 3),
    "empty": (lambda np, x, n: (np.empty(n) * 0 + x[0]).sum(), X, 2, 3),
    "eye": (lambda np, x, n: (np.eye(n) * x[0]).sum(), X, 2, 3),
    "eye k": (lambda np, x, n: (np.eye(5, k=n) * x[0]).sum(), X, 2, 3),
    "identity": (lambda np, x, n: (np.identity(n) * x[0]).sum(), X, 2, 3),
    "arange": (lambda np, x, n: (np.arange(n) * x[0]).sum(), X, 2, 3),
    "arange 2": (lambda np, x, n: (np.arange(1, n) * x[0]).sum(), X, 2, 3),
    "linspace": (lambda np, x, n: np.linspace(0, x[0], n).sum(), X, 2, 3),
    "logspace": (lambda np, x, n: np.logspace(0, x[0], n).sum(), X, 2, 3),
    "geomspace": (lambda np, x, n: np.geomspace(1, x[0] ** 2 + 1, n).sum(), X, 2, 3),
    "tri": (lambda np, x, n: (np.tri(4, k=n) * x[0]).sum(), X, 0, 1),
    "tri N": (lambda np, x, n: (np.tri(n) * x[0]).sum(), X, 2, 3),
    "triu": (lambda np, x, n: np.triu(x, n).sum(), M, 0, 1),
    "tril": (lambda np, x, n: np.tril(x, n).sum(), M, 0, 1),
    "diag": (lambda np, x, n: np.diag(x, n).sum(), M, 0, 1),
    "diag1": (lambda np, x, n: np.diag(x, n)[0].sum(), X, 0, 1),
    "diagonal": (lambda np, x, n: np.diagonal(x, n).sum(), M, 0, 1),
    "trace": (lambda np, x, n: np.trace(x, n), M, 0, 1),
    "diagflat": (lambda np, x, n: np.diagflat(x, n).sum(), X, 0, 1),
    "rot90": (lambda np, x, n: np.rot90(x, n)[0].sum(), M, 1, 2),
    "swapaxes": (lambda np, x, n: np.swapaxes(x, 0, n)[0].sum(), M, 0, 1),
    "moveaxis": (lambda np, x, n: np.moveaxis(x, 0, n)[0].sum(), M, 0, 1),
    "rollaxis": (lambda np, x, n: np.rollaxis(x, n)[0].sum(), M, 0, 1),
    "transpose": (lambda np, x, n: np.transpose(x, (n, 1 - n))[0].sum(), M, 0, 1),
    "x.transpose": (lambda np, x, n: x.transpose(n, 1 - n)[0].sum(), M, 0, 1),
    "expand_dims": (lambda np, x, n: np.expand_dims(x, n)[0].sum(), M, 0, 1),
    "squeeze": (lambda np, x, n: np.squeeze(x[None, :, None], 2 * n).sum(), X, 0, 1),
    "sum axis": (lambda np, x, n: np.sum(x, axis=n)[0], M, 0, 1),
    "x.sum axis": (lambda np, x, n: x.sum(n)[0], M, 0, 1),
    "sum axes": (lambda np, x, n: np.sum(x, axis=(n,))[0], M, 0, 1),
    "mean axis": (lambda np, x, n: np.mean(x, axis=n)[0], M, 0, 1),
    "max axis": (lambda np, x, n: np.max(x, axis=n)[0], M, 0, 1),
    "std axis": (lambda np, x, n: np.std(x, axis=n)[0], M, 0, 1),
    "std ddof": (lambda np, x, n: np.std(x, ddof=n), X, 0, 1),
    "var ddof": (lambda np, x, n: np.var(x, ddof=n), X, 0, 1),
    "cov ddof": (lambda np, x, n: np.cov(x, ddof=n).sum(), M, 0, 1),
    "sort axis": (lambda np, x, n: np.sort(x, axis=n)[0].sum(), M, 0, 1),
    "cumsum axis": (lambda np, x, n: np.cumsum(x, axis=n)[0].sum(), M, 0, 1),
    "diff n": (lambda np, x, n: np.diff(x, n).sum(), X, 1, 2),
    "diff axis": (lambda np, x, n: np.diff(x, axis=n).sum(), M, 0, 1),
    "gradient axis": (lambda np, x, n: np.gradient(x, axis=n)[0].sum(), M, 0, 1),
    "flip": (lambda np, x, n: np.flip(x, n)[0].sum(), M, 0, 1),
    "pad": (lambda np, x, n: np.pad(x, n)[n], X, 1, 2),
    "pad list": (lambda np, x, n: np.pad(x, [(n, 1)])[n], X, 1, 2),
    "pad tuple": (lambda np, x, n: np.pad(x, (0, n), mode="edge").sum(), X, 1, 2),
    "partition": (
        lambda np, x, n: np.partition(x, n)[:1].sum() * 0 + np.partition(x, n)[n],
        X,
        1,
        2,
    ),
    "partition list": (lambda np, x, n: np.partition(x, [n, 3])[n], X, 1, 2),
    "take": (lambda np, x, n: np.take(x, n), X, 1, 2),
    "take list": (lambda np, x, n: np.take(x, [n, 0]).sum(), X, 1, 2),
    "take axis": (lambda np, x, n: np.take(x, 0, axis=n)[1], M, 0, 1),
    "choose": (lambda np, x, n: np.choose(n, [x[0], x[1]]), X, 0, 1),
    "compress": (lambda np, x, n: np.compress([True] * 2, x, axis=n).sum(), M, 0, 1),
    "put_along": (lambda np, x, n: np.take_along_axis(x, np.stack([n]), 0)[0], X, 0, 1),
    "concatenate axis": (lambda np, x, n: np.concatenate([x, x], axis=n)[0].sum(), M, 0, 1),
    "stack axis": (lambda np, x, n: np.stack([x, x], axis=n)[0].sum(), M, 0, 1),
    "broadcast_to": (lambda np, x, n: np.broadcast_to(x, (n, 6)).sum(), X, 2, 3),
    "reduceat": (lambda np, x, n: np.add.reduceat(x, [0, n])[0], X, 2, 3),
    "add.reduce axis": (lambda np, x, n: np.add.reduce(x, n)[0], M, 0, 1),
    "tensordot": (lambda np, x, n: np.tensordot(x, x, n + 1).sum(), M, 0, 1),
    "vander": (lambda np, x, n: np.vander(x, n).sum(), X, 2, 3),
    "polyder": (lambda np, x, n: np.polyder(x, n).sum(), X, 1, 2),
    "polyint": (lambda np, x, n: np.polyint(x, n).sum(), X, 1, 2),
    "polyfit": (lambda np, x, n: np.polyfit(np.arange(6.0), x, n)[0], X, 1, 2),
    "matrix_power": (lambda np, x, n: np.linalg.matrix_power(x, n).sum(), M, 1, 2),
    "fft n": (lambda np, x, n: np.abs(np.fft.fft(x, n)).sum(), X, 4, 8),
    "rfft n": (lambda np, x, n: np.abs(np.fft.rfft(x, n=n)).sum(), X, 4, 8),
    "fft axis": (lambda np, x, n: np.abs(np.fft.fft(x, axis=n)[0]).sum(), M, 0, 1),
    "fftshift axes": (lambda np, x, n: np.fft.fftshift(x, axes=n)[0].sum(), M, 0, 1),
    "histogram bins": (lambda np, x, n: np.histogram(x, n)[1].sum(), X, 2, 3),
    "bincount": (lambda np, x, n: np.bincount(np.stack([n, n]), x[:2]).sum(), X, 2, 3),
    "bincount min": (lambda np, x, n: np.bincount([0, 1], x[:2], n).sum(), X, 2, 3),
    "hanning": (lambda np, x, n: (np.hanning(n) * x[0]).sum(), X, 4, 5),
    "indices": (lambda np, x, n: (np.indices((n, 2)) * x[0]).sum(), X, 2, 3),
    "unravel": (lambda np, x, n: x[np.unravel_index(n, (2, 3))[0]], X, 1, 4),
    "ravel_multi": (lambda np, x, n: x[np.ravel_multi_index((n, 1), (2, 3))], X, 0, 1),
    "triu_indices": (lambda np, x, n: x[:n, :n][np.triu_indices(n)].sum(), M, 2, 3),
    "diag_indices": (lambda np, x, n: x[:n, :n][np.diag_indices(n)].sum(), M, 2, 3),
    "convolve": (lambda np, x, n: np.convolve(x, np.ones(n)).sum(), X, 2, 3),
    "round decimals": (lambda np, x, n: np.round(x, n).sum(), X, 1, 2),
    "slice": (lambda np, x, n: x[n:].sum(), X, 1, 2),
    "slice obj": (lambda np, x, n: x[slice(0, n)].sum(), X, 1, 2),
    "apply_along": (lambda np, x, n: np.apply_along_axis(np.sum, n, x)[0], M, 0, 1),
    "average axis": (lambda np, x, n: np.average(x, axis=n)[0], M, 0, 1),
    "median axis": (lambda np, x, n: np.median(x, axis=n)[0], M, 0, 1),
    "norm axis": (lambda np, x, n: np.linalg.norm(x, axis=n)[0], M, 0, 1),
    "norm ord": (lambda np, x, n: np.linalg.norm(x, n + 1), X, 0, 1),
    "cross": (lambda np, x, n: np.cross(x, x[::-1], axis=n)[0].sum(), M, 0, 1),
    "unique": (lambda np, x, n: np.unique(np.floor(3 * x)).sum() * x[0], X, 0, 1),
    "ix_": (lambda np, x, n: x[np.ix_([n, 0], [0, 1])].sum(), M, 1, 2),
    "range": (lambda np, x, n: sum(x[i] for i in range(n)), X, 1, 2),
    "x.repeat": (lambda np, x, n: x.repeat(n).sum(), X, 2, 4),
    "x.take": (lambda np, x, n: x.take(n), X, 2, 4),
    "x.swapaxes": (lambda np, x, n: x.swapaxes(0, n)[0].sum(), M, 0, 1),
    "x.trace": (lambda np, x, n: x.trace(n), M, 0, 1),
    "x.diagonal": (lambda np, x, n: x.diagonal(n).sum(), M, 0, 1),
    "x.resize": (lambda np, x, n: np.resize(x, (n,)).sum(), X, 2, 4),
    "x.round": (lambda np, x, n: x.round(n).sum(), X, 1, 2),
}
"""Functions, their array, and two whole numbers that they take."""

FOLLOWING = {
    "unique of ties": lambda np, x: np.unique(np.floor(x)),
    "unique of numbers": lambda np, x: np.unique(x) * 2,
    "all of unique": lambda np, x: np.unique(np.floor(x), True, True, True),
    "unique_all": lambda np, x: tuple(np.unique_all(np.floor(x))),
    "unique_counts": lambda np, x: np.unique_counts(np.floor(x)).counts,
    "unique_inverse": lambda np, x: np.unique_inverse(np.floor(x))[1],
    "unique_values": lambda np, x: np.unique_values(np.floor(x)),
    "unique of NaNs": lambda np, x: np.unique(np.where(x > 1, np.nan, np.ceil(x))),
    "different NaNs": lambda np, x: np.unique(np.where(x > 2, np.nan, x), equal_nan=False),
    "rows": lambda np, x: np.unique(
        np.reshape(x[np.array([0, 1, 2, 3, 0, 1])], (3, 2)), True, True, True, axis=0
    ),
    "columns": lambda np, x: np.unique(np.reshape(x, (2, 1, 2)), axis=-1) * 2,
    "a matrix": lambda np, x: np.unique(np.reshape(np.floor(x), (2, 2)), return_inverse=True),
    "union1d": lambda np, x: np.union1d(np.floor(x), x[:1]),
    "intersect1d": lambda np, x: np.intersect1d(np.floor(x), np.array([0.0, 1.0, 2.0])),
    "setdiff1d": lambda np, x: np.setdiff1d(np.array([0.0, 1.0, 2.0]), np.floor(x)),
    "places of both": lambda np, x: np.intersect1d(
        np.floor(x), np.array([0.0, 1.0, 2.0]), return_indices=True
    ),
    "setxor1d": lambda np, x: np.setxor1d(np.unique(np.floor(x)), np.array([5.0, 6.0])),
}
"""Functions whose results have a length that depends on which elements are equal."""


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def assert_same(results, wanted):
    for got, one in zip(as_list(results), zip(*wanted), strict=True):
        np.testing.assert_allclose(got, np.stack(one), rtol=1e-12)


def split(f):
    return ft.vmap(f, branches="split")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_that_differ_from_example_to_example(name):
    f, x, *numbers = FUNCTIONS[name]
    xs = np.stack([x, x * 1.3 + 0.1, x - 0.2])

    def g(x, t):
        return f(np, x, np.astype(t, int))

    for several in ([0, 1, 0], [0, 0, 0]):
        ns = np.array([numbers[i] for i in several])
        wanted = [as_list(f(np, x, int(n))) for x, n in zip(xs, ns)]
        assert_same(split(g)(xs, ns + 0.3), wanted)
        primals = split(lambda x, t: ft.jvp(g, (x, t), (np.ones_like(x), 1.0))[0])(xs, ns + 0.3)
        assert_same(primals, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_with_a_number_that_is_computed(name):
    f, x, n, _ = FUNCTIONS[name]

    def total(np, x, n):
        return sum([np.sum(part) for part in as_list(f(np, x, n))])

    got = ft.grad(lambda x, t: total(np, x, np.astype(t, int)))(x, np.array(n + 0.3))
    step = 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape)
    slope = (total(np, x + step, n) - total(np, x - step, n)) / 2e-6
    assert np.isclose(np.sum(got * step) / 1e-6, slope, atol=1e-5)


@pytest.mark.parametrize("name", FOLLOWING)
def test_results_whose_length_depends_on_equal_elements(name):
    f = FOLLOWING[name]
    xs = np.array(
        [[0.1, 0.9, 1.1, 2.1], [0.9, 0.1, 2.1, 1.3], [2.5, 1.5, 2.7, 0.3], [0.3, 0.1, 1.2, 2.2]]
    )
    wanted = [as_list(f(np, x)) for x in xs]
    assert_same(split(lambda x: f(np, x))(xs), wanted)
    slopes = split(ft.grad(lambda x: np.sum(as_list(f(np, x))[0] ** 2 * x[0])))(xs)
    loop = [ft.grad(lambda x: np.sum(as_list(f(np, x))[0] ** 2 * x[0]))(x) for x in xs]
    np.testing.assert_allclose(slopes, loop)

    def moved(x):
        return ft.jvp(lambda x: as_list(f(np, x))[0] * 1.0, (x,), (np.arange(4.0),))[1]

    np.testing.assert_allclose(split(moved)(xs), [moved(x) for x in xs])


def test_nested_batches_of_unique_elements():
    xs = np.random.default_rng(3).integers(0, 3, (2, 3, 4)).astype(float)
    got = split(split(lambda x: np.sum(np.unique(x) ** 2)))(xs)
    assert got.tolist() == [[np.sum(np.unique(x) ** 2) for x in row] for row in xs]


def test_a_planted_fault_is_found(monkeypatch):
    faulty.every_element_is_the_first(monkeypatch)
    with pytest.raises(AssertionError):
        test_results_whose_length_depends_on_equal_elements("unique of ties")


# Counts and shifts that are tensors of floats: NumPy cuts their digits off, so they have no
# derivative


X_COUNTS = np.array([0.5, -1.0, 2.0, 3.0])
CALLS = {
    "roll": lambda x, n: np.roll(x, n),
    "roll back": lambda x, n: np.roll(x, -n),
    "roll an axis": lambda x, n: np.roll(np.stack([x, x * x]), n, axis=1),
    "roll two axes": lambda x, n: np.roll(np.stack([x, x * x]), np.stack([n, -n]), axis=(0, 1)),
    "repeat": lambda x, n: np.repeat(x, n),
    "a method": lambda x, n: x.repeat(n),
    "repeat an axis": lambda x, n: np.repeat(np.stack([x, x * x]), n, axis=0),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n", [2.7, 1.0])
def test_a_count_of_floats(name, n):
    call = CALLS[name]
    if "roll" in name and np.lib.NumpyVersion(np.__version__) < "2.2.0":
        pytest.skip("its roll takes no floats")

    def f(x, n):
        return np.sum(np.sin(np.ravel(call(x, n))) * np.arange(1.0, 1 + np.size(call(x, n))))

    wanted = ft.grad(lambda x: f(x, np.float64(n)))(X_COUNTS)
    on_x, on_n = ft.grad(f, argnums=(0, 1))(X_COUNTS, n)
    close(on_x, wanted)
    assert on_n == 0.0
    value, slope = ft.jvp(f, (X_COUNTS, n), (X_COUNTS, 1.0))
    close(value, f(X_COUNTS, np.float64(n)))
    close(slope, wanted @ X_COUNTS)
    rows = ft.vmap(lambda x: ft.grad(f, argnums=(0, 1))(x, n))(np.stack([X_COUNTS, X_COUNTS]))
    close(rows[0], np.stack([wanted, wanted]))
    same = ft.vmap(call, in_dims=(0, None))(np.stack([X_COUNTS, X_COUNTS]), n)
    close(same, np.stack([call(X_COUNTS, np.float64(n))] * 2))


def test_shifts_that_differ_from_example_to_example():
    def f(x, n):
        return np.sum(np.roll(x, n) * np.arange(4.0))

    shifts = np.array([1.2, -2.9])
    found = ft.vmap(ft.grad(f, argnums=(0, 1)))(np.stack([X_COUNTS, X_COUNTS]), shifts)
    close(found[0], np.stack([np.roll(np.arange(4.0), -1), np.roll(np.arange(4.0), 2)]))
    close(found[1], np.zeros(2))
