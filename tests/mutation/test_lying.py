"""Results in another order in memory than NumPy's: a reshape and a write do what NumPy's do."""

import itertools

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty

RNG = np.random.default_rng(0)
OPERANDS = {
    "rows": lambda a: a * 1.0,
    "columns": lambda a: np.copy(a, "F"),
    "backwards": lambda a: (a * 1.0)[..., ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1] * 1.0, a.shape),
    "chosen": lambda a: a[:, [1, 0, 2]],
}
SPECS = (
    "ij,jk->ki", "ij,jk->ik", "ij,kj->ki", "ij,ij->ji", "ij,jk->kij", "ijl,jkl->kli",
    "ij,jk,kl->li", "ijl->lj", "ij->ji",
)  # fmt: skip
RESHAPES = (
    lambda r: r.reshape(-1), lambda r: r.T.reshape(-1), lambda r: r.swapaxes(0, 1).ravel(),
    lambda r: r[1:].reshape(-1), lambda r: r.ravel("F"),
)  # fmt: skip
RUNS = {
    "vmap": lambda f, xs: ft.vmap(f)(*xs),
    "vmap of the last": lambda f, xs: ft.vmap(f, -1)(*[np.moveaxis(x, 0, -1) for x in xs]),
    "jvp": lambda f, xs: one_by_one(lambda *x: ft.jvp(f, x, x)[0], xs),
    "vjp": lambda f, xs: one_by_one(lambda *x: ft.vjp(f, *x)[0], xs),
    "vmap of jvp": lambda f, xs: ft.vmap(lambda *x: ft.jvp(f, x, x)[0])(*xs),
}


def one_by_one(f, xs):
    return [np.stack(parts) for parts in zip(*[f(*x) for x in zip(*xs)])]


def program(spec, lies, reshape, optimize):
    def f(*operands):
        r = np.einsum(spec, *[OPERANDS[lies](x) for x in operands], optimize=optimize)
        v = reshape(r)
        v *= 3.0
        return r * 1.0, v * 1.0

    return f


def outcomes(runs=tuple(RUNS)):
    """Count the programs that are right, those that are refused, and those that are wrong."""
    count = dict.fromkeys(("right", "refused", "wrong"), 0)
    table = itertools.product(SPECS, OPERANDS, RESHAPES, (False, True))
    for n, (spec, lies, reshape, optimize) in enumerate(table):
        xs = [RNG.random((2, *[3] * len(term))) for term in spec.partition("->")[0].split(",")]
        f = program(spec, lies, reshape, optimize)
        try:
            wanted = one_by_one(f, xs)
        except ValueError:  # of one array a view, which cannot be written to
            continue
        try:
            found = RUNS[runs[n % len(runs)]](f, xs)
        except ft.MutationError:
            count["refused"] += 1
            continue
        except ValueError:
            found = [np.nan]
        right = all(np.allclose(a, b) for a, b in zip(found, wanted))
        count["right" if right else "wrong"] += 1
    return count


def test_writes_to_reshaped_contractions():
    count = outcomes()
    assert count["right"] > 400 and not count["refused"] + count["wrong"], count


@pytest.mark.parametrize("part", ["_pairs", "_steps_apart"])
def test_a_forgotten_order_is_found(monkeypatch, part):
    faulty.forgotten_order(monkeypatch, part)
    assert outcomes(("vmap", "vmap of the last", "jvp"))["wrong"]


def test_a_view_that_is_none_is_found(monkeypatch):
    faulty.view_that_is_none(monkeypatch)
    assert outcomes()["wrong"]


def test_the_form_of_a_tensor_is_that_in_numpy():
    """Its strides and flags, and what is asked for them, though it lies in another order here."""

    def f(a, b):
        r = np.einsum("ij,jk->ki", a, b)
        return r, r.strides, r.flags.f_contiguous, r.astype(float, order="F", copy=False) is r

    def asked(*xs):
        found.append(f(*xs)[1:])
        return xs[0]

    found = []
    a, b = RNG.random((2, 3, 4)), RNG.random((2, 4, 5))
    ft.vmap(asked)(a, b)
    ft.jvp(asked, (a[0], b[0]), (a[0], b[0]))
    assert found == [f(a[0], b[0])[1:]] * 2


def test_orders_of_contractions_go_with_their_level():
    f = program("ij,jk->ki", "rows", RESHAPES[0], False)
    x = RNG.random((2, 3, 3))
    with ft.vmap() as level:
        f(level(x), level(x))
        assert level.level.notes.laid
    with ft.vmap() as other:
        other(x)
        assert not getattr(other.level.notes, "laid", None)


WINDOWS = np.lib.stride_tricks.sliding_window_view
CHAINS = {
    "a mask": lambda b: (a := b[[True, False, True]], a.ravel()),
    "columns": lambda b: (a := b[:, [1, 0]], r := a.T.reshape(-1), r[1:]),
    "windows of a row": lambda b: (a := WINDOWS(b[0], 2, writeable=True), a.reshape(-1)),
    "windows": lambda b: (a := WINDOWS(b, 2, 0, writeable=True), a.reshape(-1), a.T.reshape(-1)),
    "windows of one": lambda b: (a := WINDOWS(b, 1, 1, writeable=True), a[..., 0].reshape(-1)),
    "windows of windows": lambda b: WINDOWS(WINDOWS(b, 2, 1, writeable=True)[0], 2, 0)[0],
    "a diagonal": lambda b: (a := np.einsum("ii->i", b), a[::-1]),
    "ix_": lambda b: (np.ix_(b[0])[0], np.ix_(b[:, 1], b[1])[1].reshape(-1)),
    "a product": lambda b: (a := np.einsum("ij,jk->ki", b, b), a.T.reshape(-1), a.reshape(-1)),
}
CHANGES = (
    lambda b, rest: b.__imul__(2.0), lambda b, rest: b[1:].__iadd__(b[0]),
    lambda b, rest: rest[0].__imul__(b[0, 1]), lambda b, rest: rest[-1].__iadd__(1.0),
)  # fmt: skip


def chained(name, change):
    def f(x):
        b = x * 1.0
        rest = CHAINS[name](b)
        change(b, rest if isinstance(rest, tuple) else (b, rest.copy()))
        return b * 1.0, *[y * 1.0 for y in (rest if isinstance(rest, tuple) else (rest,))]

    return f


def wrong_chains(names=tuple(CHAINS)):
    found = []
    for name, change in itertools.product(names, CHANGES):
        f, xs = chained(name, change), (RNG.random((2, 3, 3)),)
        wanted = one_by_one(f, xs)
        for run in RUNS:
            right = [np.allclose(*pair) for pair in zip(RUNS[run](f, xs), wanted, strict=True)]
            found += [] if all(right) else [(name, CHANGES.index(change), run)]
    return found


def test_a_copy_that_is_a_view_in_numpy_becomes_one():
    assert wrong_chains() == []


def test_a_row_that_lies_as_its_copy_is_found(monkeypatch):
    faulty.row_that_lies_as_its_copy(monkeypatch)
    assert wrong_chains(["windows of a row"])
