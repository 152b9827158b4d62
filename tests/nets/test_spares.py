"""Classes that wait to be used again: whatever happens to one meanwhile must be noticed.

See `_levels.spares`. The ways to hold a class while its level lives are in `test_escape`.
"""

import numpy as np
import pytest

import functier as ft
from faults.planted import nets as faulty
from nets.test_escape import none_alive, transforms
from nets.verdicts import Verdicts

# ---- a nested class escapes after it has waited ----


def escapes_from_a_spare(outer, inner):
    """The inner class has waited in the outer one; a tensor of it escapes when it serves again."""
    kept, found = [], []

    def call(body):
        def around(y):
            if any(issubclass(type(k), type(y)) for k in kept):
                found.append("the outer class serves again although an escaped tensor can tell")
            inner(body)
            return np.sum(y * y)

        outer(around)

    def keep(x):
        kept.append(x)
        return np.sum(x)

    def ask(x):
        try:
            found.append(f"alive: {kept[0] + x!r}")
        except ft.EscapedTensorError:
            pass
        return np.sum(x)

    with ft.vmap():  # a fresh class around: no other spares are nested in the outer one
        for body in (np.sum, keep, ask, ask):
            call(body)
    return found


def escape_from_spares(counts):
    for outer, around in transforms().items():
        for inner, call in transforms().items():
            case = f"{inner} in {outer}"
            counts.judge(case, lambda a=around, c=call: escapes_from_a_spare(a, c), none_alive)


def test_a_class_that_was_a_spare_escapes(verdicts):
    counts = verdicts("escaped after having been a spare")
    escape_from_spares(counts)
    counts.settle()


# ---- a class that waits is changed ----


def levels_below(cls):
    """`cls` and the classes nested in it: the list that holds a spare class only for a moment."""
    found = [cls]
    for nested in type.__subclasses__(cls):
        found += levels_below(nested)
    return found


CHANGES = {
    "set": lambda cls: setattr(cls, "note", 1),
    "delete": lambda cls: delattr(cls, "__add__"),
}
"""Changes to a class after which a later level may not have it."""


def changed_while_spare(name, transform):
    """Change a class between two calls; the second must not meet the change."""
    where, found = [], []

    def first(x):
        where.append(id(type(x)))
        return np.sum(x * x)

    def second(x):
        if hasattr(type(x), "note") or "__add__" not in vars(type(x)):
            found.append("a later level has the class that was changed")
        return np.sum(x * x)

    transform(first)
    for cls in levels_below(ft.Tensor):
        if id(cls) in where:
            CHANGES[name](cls)
    del cls
    transform(second)
    return found


def change_spares(counts, name):
    for transform, call in transforms().items():
        counts.judge(transform, lambda c=call: changed_while_spare(name, c), none_alive)


@pytest.mark.parametrize("name", CHANGES)
def test_an_attribute_of_a_spare_class_is_not_met_again(verdicts, name):
    counts = verdicts(f"changed while a spare: {name}")
    change_spares(counts, name)
    counts.settle()


# ---- planted faults ----


@pytest.fixture
def own_spares(monkeypatch):
    """Spares that no other test meets, as a planted fault leaves some that are wrong."""
    monkeypatch.setattr(ft.Tensor.level, "spare", {})


@pytest.mark.usefixtures("own_spares")
def test_planted_count_of_gone_spares_is_found(monkeypatch):
    """A stale count takes the class that has escaped for a nested spare."""

    faulty.count_of_gone_spares(monkeypatch)
    counts = Verdicts("planted")
    escape_from_spares(counts)
    assert counts.wrong
    assert all("can tell" in text for text in counts.wrong)


@pytest.mark.usefixtures("own_spares")
@pytest.mark.parametrize("name", CHANGES)
def test_planted_change_that_goes_unnoticed_is_found(monkeypatch, name):
    faulty.change_that_goes_unnoticed(monkeypatch, name)
    counts = Verdicts("planted")
    change_spares(counts, name)
    assert counts.wrong
