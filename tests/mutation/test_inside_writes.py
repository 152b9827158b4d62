"""Tests of writes that look inside."""

import gc

import numpy as np
import pytest

import functier as ft
from functier._levels.views import WRITERS
from functier._mutation.shifts import is_number

pytestmark = pytest.mark.inside(
    "What is a number and when views are searched for has no public name."
)


# ---- moved views ----


WHOLE = {
    "where": lambda x, k: np.where(k > 1, k, 0), "select": lambda x, k: np.select([k > 1], [k], 0),
    "astype of an array": lambda x, k: np.where(k > 1, True, False).astype(int),
    "isin": lambda x, k: np.isin(k, [1]).astype(int), "copy": lambda x, k: np.copy(k),
    "its method": lambda x, k: k.copy(), "astype": lambda x, k: k.astype(np.int8),
    "piecewise": lambda x, k: np.piecewise(k, [k > 1], [2, 0]), "roll": lambda x, k: np.roll(k, 1),
    "tensordot": lambda x, k: np.tensordot(np.argsort(x), np.arange(3), 1),
    "dot": lambda x, k: np.dot(np.argsort(x), np.arange(3)),
    "broadcast_to": lambda x, k: np.broadcast_to(k, ()), "add": lambda x, k: k + 1,
    "squeeze": lambda x, k: np.squeeze(np.argsort(x)[:1]), "item": lambda x, k: np.argsort(x)[k],
    "dots": lambda x, k: np.argsort(x)[0, ...], "argmax": lambda x, k: np.argmax(x),
    "reshape": lambda x, k: np.argsort(x)[:1].reshape(()),
    "stack": lambda x, k: np.stack([k])[0, ...],
    "flip": lambda x, k: np.flip(np.argsort(x)[0, ...]), "clip": lambda x, k: np.clip(k, 0, 1),
    "dots of a number": lambda x, k: k[...], "sum of an array": lambda x, k: np.where(k, k, 0) + 1,
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_numbers_and_arrays_without_axes_are_told_apart(name):
    """The one gives a view, the other a copy."""
    x, seen = np.array([[0.2, -0.3, 0.9], [0.7, 0.1, -0.5]]), []

    def f(x, k):
        seen.append(is_number(WHOLE[name](x, k)))
        return 0.0

    ft.vmap(f)(x, np.array([1, 2]))
    assert seen == [not isinstance(WHOLE[name](x[0], np.int64(1)), np.ndarray)]


# ---- transforms ----


@pytest.mark.parametrize("options", [{"branches": "split"}, {"chunk_size": 1}], ids=str)
def test_views_are_searched_for_once(options, monkeypatch):
    """The search goes through all objects: each part of a batch would pay for it."""
    WRITERS.clear()
    searches = []
    search = gc.get_referrers
    monkeypatch.setattr(gc, "get_referrers", lambda *xs: searches.append(xs) or search(*xs))

    def f(x):
        y = x * 2
        if x[0] > 2 and "branches" in options:
            y -= 1
        z = y[1:]
        z += 1
        return y

    f = ft.vmap(f, **options)
    wanted = [[0, 3, 5], [5, 8, 10]] if "branches" in options else [[0, 3, 5], [6, 9, 11]]

    def call():
        np.testing.assert_array_equal(f(np.array([[0.0, 1, 2], [3, 4, 5]])), wanted)

    call()
    first = len(searches)
    call()

    assert first and len(searches) == first
