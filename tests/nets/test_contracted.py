"""The net of contractions as machine code over a slice of a seed, and faults that it finds."""

import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.linalg import contractions
from functier._programs.machine.lowering import products, reductions
from nets.contracted import net


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    products.contracted.cache_clear()
    yield
    products.contracted.cache_clear()


def test_drawn_contractions(full, record_property):
    found = net(2026)
    count = 600 if full else 4
    for number in range(count):
        found.run(number)
    record_property("net", found.summary())
    assert not found.counts.wrong, found.counts.wrong
    assert found.parts >= 0.9 * count


def is_found(number):
    """Tell if a program gives wrong results."""
    found = net(2026)
    found.run(number)
    return bool(found.counts.wrong)


def test_factors_of_the_transpose(monkeypatch):
    """One factorisation serves two matrices, and nobody minds which."""
    real = reductions.factors_of
    monkeypatch.setattr(reductions, "factors_of", lambda low, a: (*real(low, a)[:2], False))
    assert is_found(59)


def test_axes_that_are_joined_too_soon(monkeypatch):
    """The strides of the second operand are not asked: reads go astray, and no write does."""
    real = contractions.follows
    monkeypatch.setattr(
        contractions, "follows", lambda *axes: real(*[axis._replace(b=0) for axis in axes])
    )
    assert is_found(17)
