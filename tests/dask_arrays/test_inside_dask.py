"""Tests of Dask arrays that look inside."""

import pickle
import sys

import dask
import numpy as np
import pytest
from dask.utils import key_split
from test_dask_spellings import T, W, X, chunked, computed

import functier as ft
from functier._dask import blocks
from functier.testing import operations
from support.basics import close, ours

pytestmark = pytest.mark.inside("Rules of functions of chunks are replaced by wrong ones.")


# ---- dask arrays ----


SLOW = [pytest.param(x, marks=pytest.mark.slow) for x in ("f4", "one", "rows", "columns")]


def by_blocks(w, x):
    y = x.rechunk((3, 4)).map_blocks(lambda b, w: np.tanh(b * w), w)
    return np.sum(np.sin(y.persist(scheduler="synchronous")) * W)


def in_memory(w, x):
    return np.sum(np.sin(np.tanh(x * w)) * W)


def check_blocks():
    found = []
    for f, given in ((by_blocks, chunked), (in_memory, np.asarray)):
        x, t = given(X), given(T)
        slopes = ft.grad(f, argnums=(0, 1))(W, x)
        tangent = ft.jvp(lambda x, f=f: f(W, x), (x,), (t,))[1]
        of_weights = ft.jvp(f, (W, x), (np.ones(4), 0 * t))[1]
        found.append([*slopes, tangent, of_weights])
    for y, e in zip(*found):
        close(np.asarray(y), e, 1e-9)


RULES = {
    f"{record.name}:{mode}": rule
    for record in list(operations().values())
    if record.name.startswith("functier._dask.") and not record.name.endswith(".compute")
    for mode in ("vjp", "jvp")
    for rule in (getattr(record, mode).values() if isinstance(getattr(record, mode), dict) else ())
}


@pytest.mark.parametrize("name", RULES)
def test_a_wrong_rule_is_found(name, monkeypatch):
    check_blocks()
    right = RULES[name].fn
    monkeypatch.setattr(RULES[name], "fn", ours(lambda g, *saved: right(g, *saved) * 1.001))
    with pytest.raises(AssertionError):
        check_blocks()


def test_the_rules_of_all_operations_are_planted():
    assert {name.rpartition(".")[2] for name in RULES} == {
        "rechunk:vjp", "persist:vjp", "apply_blocks:vjp", "apply_blocks:jvp",
    }  # fmt: skip


# ---- dask blocks ----


RNG = np.random.default_rng(0)


X_OF_DASK_BLOCKS = RNG.normal(size=(6, 4))


CHUNKINGS = {"rows": ((4, 2), (4,)), "columns": ((6,), (1, 3)), "both": ((2, 2, 2), (3, 1)),
             "one": ((6,), (4,))}  # fmt: skip


def test_places_are_numbered_in_the_chunks():
    """A choice, such as `np.maximum`, numbers its places: no task of another array is needed."""
    x = chunked(X_OF_DASK_BLOCKS, CHUNKINGS["both"])
    slope = ft.grad(lambda x: np.sum(np.maximum(x, 0) ** 2))(x)
    names = {key_split(key) for key in dict(dask.optimize(slope)[0].dask)}
    assert "arange" not in names
    close(computed(slope), 2 * np.maximum(X_OF_DASK_BLOCKS, 0), 1e-12)
    for shape in ((), (0,), (3, 0), (6, 4), (2, 6, 4)):
        own = computed(blocks.numbered(shape))
        np.testing.assert_array_equal(own, np.arange(np.prod(shape)).reshape(shape))


def test_a_worker_with_another_functier_says_so(monkeypatch):
    """A task that runs functier's code names both versions where they differ."""
    made = pickle.dumps(blocks.BlockFunction(np.sin))
    np.testing.assert_array_equal(pickle.loads(made)([X_OF_DASK_BLOCKS]), np.sin(X_OF_DASK_BLOCKS))
    monkeypatch.setattr(sys.modules["functier"], "__version__", "0.0.3")
    with pytest.raises(ImportError, match=rf"functier {ft.__version__}|functier 0\.0\.3"):
        pickle.loads(made)
