"""Loops over steps in tiles of elements: which may be, and that they give what others give."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
import functier.numpy as fnp
from functier._programs.machine.parts import loops, tiles
from loop_programs import PROGRAMS, WRITES, check, counted, misses, nested, singles, swapped

WIDE = np.linspace(0.1, 1.0, 13 * 23).reshape(13, 23)
LONG = WIDE.ravel()


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of 8 elements; return a list that says of each loop if it has tiles."""
    found = []

    def noted(call, *options):
        made = right(call, *options)
        found.append(made is not call)
        return made

    right = loops.tiled
    monkeypatch.setattr(tiles, "TILE", 8)
    monkeypatch.setattr(loops, "tiled", noted)
    return found


def summed(x):
    total, count = fnp.zeros(x.shape[1:]), np.zeros(())
    for i in range(40):
        total += x[i % 4] * count
        count = count + 0.5
    return total, count


def kept(x):
    y, rows = x, fnp.zeros((6, *x.shape))
    for i in range(6):
        y = np.sin(y) + rows[max(i - 1, 0)] * 0.5
        rows[i] = y * 2.0
    return y, rows


def inside(x):
    y, z = fnp.array(x), x
    for i in range(6):
        for _ in range(5):
            y += z * 0.1
            z = z - y * 0.01
        z = z * (0.5 * i)
    return y, z


def halves(x):
    y, n = fnp.array(x), len(x) // 2
    for _ in range(9):
        y[:n] += y[n : 2 * n] * 0.1
        y[n : 2 * n] += x[:n]
    return y


APART = {f.__name__: f for f in (swapped, counted, nested, singles, summed, kept, inside, halves)}


def turned(x):
    for _ in range(9):
        x = x + 0.1 * x[::-1]
    return x


def neighbours(x):
    y = fnp.array(x)
    for _ in range(9):
        y[1:] += y[:-1] * 0.1
    return y


def first(x):
    for _ in range(9):
        x = x * 0.9 + x[0]
    return x


def counts(x):
    y, n = fnp.zeros(len(x)), fnp.array(x[:3])
    for _ in range(9):
        n[1] += 1.0
        y += x * n[1]
    return y, n


def whole(x):
    for _ in range(9):
        x = x - np.mean(x) * 0.1
    return x


def parts(x):
    y, n = fnp.array(x), len(x) // 2
    for _ in range(9):
        y[:n] += y[n + 1 :] * 0.1
        y[n + 1 :] += x[:n]
    return y


def rows_that_meet(x):
    y, n = fnp.zeros(2 * len(x)), len(x)
    for i in range(9):
        y[10 * i : 10 * i + n] += x * i
    return y


TOGETHER = {
    f.__name__: f for f in (turned, neighbours, first, counts, whole, parts, rows_that_meet)
}


@pytest.mark.parametrize("x", [LONG, WIDE, WIDE.T, LONG[:272]], ids="long wide turned even".split())
@pytest.mark.parametrize("name", APART)
def test_loops_in_tiles(name, x, small_tiles):
    if name == "halves":
        x = x.ravel()
    check(APART[name], np.tile(x, (5, 12)) if name == "summed" else x)
    assert any(small_tiles)


@pytest.mark.parametrize("name", TOGETHER)
def test_loops_whose_elements_meet(name, small_tiles):
    check(TOGETHER[name], LONG, rtol=1e-12, exact=name != "whole")
    assert not any(small_tiles)


@pytest.mark.parametrize("f", [*PROGRAMS.values(), *WRITES], ids=lambda f: f.__name__)
def test_all_programs(f):
    x = WIDE if f.__name__ == "elements" else LONG
    if f.__name__ != "swept":
        check(f, x, exact=f.__name__ != "elements")


@pytest.mark.parametrize("name", [name for name in APART if name != "singles"])
def test_derivatives_in_tiles(name, small_tiles):
    f = APART[name]

    def loss(x):
        found = f(x)
        return sum([np.sum(np.sin(y)) for y in (found if type(found) is tuple else (found,))])

    x = {"summed": np.tile(WIDE, 9), "halves": LONG}.get(name, WIDE)
    check(ft.grad(loss), x, rtol=1e-11)
    check(lambda x, t: ft.jvp(f, (x,), (t,)), x, x[::-1].copy())
    assert any(small_tiles)


def test_many_rows_do_not_stay_in_the_cache(monkeypatch, small_tiles):
    monkeypatch.setattr(tiles, "CACHE", 8 * 60)
    check(kept, LONG)
    assert not any(small_tiles)
    check(swapped, LONG)
    assert any(small_tiles)


def test_signals_between_tiles(monkeypatch, small_tiles):
    monkeypatch.setattr(loops, "SLICE", 100)
    check(swapped, LONG)
    assert any(small_tiles)


@pytest.mark.parametrize("name", ["neighbours", "counts", "rows_that_meet"])
def test_a_check_that_sees_nothing(name, monkeypatch):
    right = tiles.accesses_in

    def blind(routine, n):
        return [(i, access._replace(writes=False)) for i, access in right(routine, n)]

    monkeypatch.setattr(tiles, "check", lambda accesses: None)
    monkeypatch.setattr(tiles, "accesses_in", blind)
    assert not misses(TOGETHER[name], LONG)


def test_elements_after_the_last_tile_that_are_left_out(monkeypatch):
    right = tiles.cut

    def fewer(calls, n, size, options):
        return right(calls, n, size - (size < 8), options)

    monkeypatch.setattr(tiles, "cut", fewer)
    assert not misses(swapped, LONG)


def test_tiles_at_one_place(monkeypatch):
    right = tiles.strides_of

    def still(call, n):
        found = right(call, n)
        return found and {**found, min(found): 0}

    monkeypatch.setattr(tiles, "strides_of", still)
    assert not misses(swapped, LONG)
