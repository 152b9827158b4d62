"""Chunks that draw, count or read a clock are computed once; others are computed again."""

import datetime
import functools
import itertools
import math
import operator
import random

import numpy as np
import pytest

import functier as ft

dask = pytest.importorskip("dask", reason="needs Dask")

import dask.array as da  # noqa: E402

from functier._dask import clones, pure  # noqa: E402

pytestmark = pytest.mark.inside("The clones of chunks and the list of pure functions are replaced.")

W = np.linspace(-1, 1, 5)
RNG = np.random.default_rng(0)
COUNT = [0]
TOTAL = 0


def counted(block):
    COUNT[0] += 1
    return block + COUNT[0] % 7


def assigned(block):
    global TOTAL
    TOTAL += 1
    return block + TOTAL % 7


def imported(block):
    import time

    return block + time.perf_counter_ns() % 7


class Drawing:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, block):
        return block + self.rng.normal(size=block.shape)


def drawing_around(draw):
    return lambda block: block + draw(block.shape)


DRAWS = {
    "numpy.random": lambda b: b + np.random.rand(*b.shape),  # noqa: NPY002
    "a generator": lambda b: b + RNG.normal(size=b.shape),
    "a generator's method": drawing_around(lambda shape, draw=RNG.normal: draw(size=shape)),
    "a generator in a list": lambda b, rngs=[RNG]: b + rngs[0].normal(size=b.shape),
    "a generator without a seed": lambda b: b + np.random.default_rng().normal(size=b.shape),
    "numpy.random by getattr": lambda b: b + getattr(np, "ran" + "dom").rand(*b.shape),
    "random": lambda b: b + random.random(),
    "a counter": counted,
    "a global": assigned,
    "a clock": imported,
    "a clock of a class": lambda b: b + datetime.datetime.now().microsecond % 7,
    "a clock of NumPy's": lambda b: b + np.datetime64("now", "us").astype(int) % 7,
    "an iterator": lambda b: b + next(STEPS) % 7,
    "bits without a seed": lambda b: b + BITS().random_raw() % 7,
    "a number of an object": lambda b: b + id(b) % 7,
    "an object": Drawing(),
    "a method": Drawing().__call__,
    "a partial": functools.partial(lambda rng, b: b + rng.normal(size=b.shape), RNG),
    "np.vectorize": np.vectorize(lambda b: b + RNG.normal()),
    "np.frompyfunc": lambda b: FROM(b).astype(float),
    "a nested function": lambda b: (lambda: b + RNG.normal())(),
    "memory": lambda b: b + 0 * np.nan_to_num(np.empty(b.shape)) + RNG.normal(),
}
BITS = np.random.PCG64
STEPS = itertools.count()
FROM = np.frompyfunc(lambda b: b + RNG.normal(), 1, 1)
PURE = {
    "a sine": np.sin,
    "a product": lambda b: np.sin(b) * W[0],
    "a method": lambda b: b.clip(0, 1),
    "a module": lambda b: np.linalg.norm(b, axis=1, keepdims=True) * math.pi,
    "a partial": functools.partial(np.multiply, 2.0),
    "sizes": lambda b: b * len(b) / max(b.shape),
    "a method of a text": lambda b: b * "ab".join("xy").count("a"),
    "a class of Python's": lambda b: b * float(frozenset((1, 2)) == {1, 2}),
    "a function of operator": functools.partial(operator.mul, 2.0),
}


def spoilt():
    """Yield the ways to draw in chunks that a gradient computes anew."""
    for name, f in DRAWS.items():
        for way in ("map_blocks", "blockwise", "apply_along_axis"):
            x = da.from_array(np.random.default_rng(0).normal(size=(12, 4)), chunks=(5, 4))
            if way == "map_blocks":
                x = x.map_blocks(f, dtype=float, meta=np.empty((0, 0)))
            elif way == "blockwise":
                x = da.blockwise(f, "ij", x, "ij", dtype=float, meta=np.empty((0, 0)))
            else:
                x = da.apply_along_axis(f, 1, x, dtype=float, shape=(4,))
            lazy = ft.grad(lambda w, x: np.log(np.sum(np.exp(x @ w))))(np.ones(4), x + 0)
            g, data = dask.compute(lazy, x, scheduler="synchronous")
            right = ft.grad(lambda w, x: np.log(np.sum(np.exp(x @ w))))(np.ones(4), data)
            if not np.allclose(g, right):
                yield name, way


def test_chunks_that_draw_are_not_computed_again():
    assert not list(spoilt())


def test_draws_that_are_taken_for_pure_are_found(monkeypatch):
    monkeypatch.setattr(clones, "are_pure", lambda roots: True)
    assert len(list(spoilt())) > 20


@pytest.mark.parametrize("name", PURE)
def test_what_is_known_to_be_pure(name):
    assert pure.are_pure([PURE[name]])
