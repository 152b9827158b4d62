"""The fuzzer over a slice of a seed, or over 200,000 cases; what it draws; and faults it finds.

A failure shows the program and the line that fails, and how to run the case again:
``PYTHONPATH=tests:src python -m nets.fuzz --seed 3 --number 17``.
"""

import re

import numpy as np
import pytest

from functier._core.rule import Rule
from functier._core.table import OPS
from functier._levels import backward as _backward
from nets.fuzz import Fuzzer, fuzz, verdicts
from nets.fuzzing.draw import RECIPES
from planted import batched_by, replaced
from support import bare, load_all
from surface import surface

pytestmark = pytest.mark.usefixtures("frozen_heap")

load_all()


def test_drawn_programs(full, record_property):
    """All of a slice of programs is right or refused for a reason."""
    counts = verdicts()
    fuzzer = fuzz(counts, 20261, range(100_000 if full else 3500))
    record_property("net", fuzzer.summary())
    assert fuzzer.known.total() <= 0.01 * counts.total
    counts.settle()


# ---- what is drawn ----

NOT_DRAWN = {
    "writes into an array, which is refused by name": (
        "copyto fill_diagonal place put put_along_axis putmask"
    ),
    "text, dates and files are refused by name": (
        "busday_count busday_offset datetime_as_string is_busday isnat save savetxt savez "
        "savez_compressed array2string array_repr array_str fromfile fromstring genfromtxt loadtxt "
        "frombuffer"
    ),
    "asks for a form, and returns no array": (
        "can_cast common_type einsum_path iscomplexobj isrealobj min_scalar_type ndim result_type "
        "shape size may_share_memory shares_memory"
    ),
    "does not dispatch on a value, or makes an array without one": (
        "arange array asanyarray asarray ascontiguousarray asfortranarray empty empty_like eye "
        "fromfunction fromiter full identity ones require tri zeros"
    ),
    "its results are indices made of a form": (
        "diag_indices_from tril_indices_from triu_indices_from ix_"
    ),
}


def test_every_function_is_drawn():
    """Each function that NumPy lets others override is drawn, or stands above with a reason."""
    drawn = set()
    for name in RECIPES:
        found = np
        for part in name.split(".")[1:]:
            found = getattr(found, part, found)
        drawn.add(found)
    left_out = {name for names in NOT_DRAWN.values() for name in names.split()}
    missing = [
        name
        for name, func in surface().items()
        if func in OPS and func not in drawn and name.removeprefix("numpy.") not in left_out
    ]

    assert not missing


def test_programs_come_back():
    """A seed and a number are one program, whatever was drawn before it."""
    first = [Fuzzer(verdicts(), 7).draw(n).text() for n in (3, 5)]
    again = [Fuzzer(verdicts(), 7).draw(n).text() for n in (5, 3)]

    assert first == again[::-1]


# ---- faults that are planted, and found ----


def found(only, modes=None, count=150):
    """The failures that programs which begin with these functions show."""
    counts = verdicts()
    fuzz(counts, 4, range(count), only.split(), modes)
    return counts.wrong


def batching(patch, func, rule):
    batched_by(patch, [(OPS[func], rule)])


def test_wrong_axis_in_a_batching_rule(monkeypatch):
    batching(monkeypatch, np.sort, lambda k, a, axis=-1, **given: np.sort(a, axis=k, **given))

    assert found("np.sort")


def test_negative_axis_that_is_shifted_as_the_others(monkeypatch):
    batching(monkeypatch, np.cumsum, lambda k, a, axis=0, **given: np.cumsum(a, axis + k, **given))

    assert found("np.cumsum")


def test_axis_that_there_is_not(monkeypatch):
    """A call that NumPy refuses is to be refused."""
    batching(monkeypatch, np.flip, lambda k, m, axis=0: np.flip(m, k + np.sum(axis) % (m.ndim - k)))

    assert any("NumPy raises" in text for text in found("np.flip", [], 1200))


def test_sum_over_what_was_broadcast_is_lost(monkeypatch):
    right = _backward.fit

    def first(c, shape, dtype):
        while np.ndim(c) > len(shape):
            c = c[0]
        return right(c, shape, dtype)

    monkeypatch.setattr(_backward, "fit", first)

    assert found("np.multiply", ["vjp"])


def test_wrong_dtype(monkeypatch):
    right = OPS[np.max].vmap
    batching(monkeypatch, np.max, lambda *args, **given: right(*args, **given) * np.float64(1))

    assert any(": dtype" in re.sub(r"result \d+", "", text) for text in found("np.max"))


def test_mask_that_is_forgotten(monkeypatch):
    right = OPS[np.sum].vmap
    batching(monkeypatch, np.sum, lambda k, a, where=True, **given: right(k, a, **given))

    assert found("np.sum", ["vmap"], 300)


def test_batch_of_one_that_is_squeezed(monkeypatch):
    batching(monkeypatch, np.squeeze, lambda k, a, axis=None: np.squeeze(a))

    assert found("np.squeeze", ["vmap"])


def ruled(patch, func, mode, operand, wrong):
    """Replace a derivative rule by a wrong function."""
    rule = getattr(OPS[func], mode)[operand]
    replaced(patch, [(rule, wrong(rule.fn))])


def test_pullback_that_is_off_by_a_thousandth(monkeypatch):
    ruled(monkeypatch, np.sum, "vjp", "a", lambda right: lambda g, *saved: right(g, *saved) * 1.001)

    assert found("np.sum", ["vjp"])


def test_derivative_of_an_elementwise_function_that_is_off_by_a_thousandth(monkeypatch):
    ruled(
        monkeypatch, np.tanh, "jvp", "x", lambda right: lambda g, *saved: right(g, *saved) * 1.001
    )

    assert found("np.tanh", ["jvp"])


def test_sign_in_one_branch(monkeypatch):
    """A product's tangent is wrong where ``keepdims=True``."""

    def wrong(right):
        needs = OPS[np.prod].jvp["a"].needs.index("keepdims")
        return lambda t, *saved: right(t, *saved) * (-1 if saved[needs] else 1)

    ruled(monkeypatch, np.prod, "jvp", "a", wrong)

    assert found("np.prod", ["jvp"])


def test_rule_that_takes_the_bare_value(monkeypatch):
    """Right at order one, and constant for the next."""

    def wrong(right):
        return lambda g, x, *rest: right(g, bare(x), *rest)

    ruled(monkeypatch, np.sin, "jvp", "x", wrong)

    assert not found("np.sin", ["jvp", "vjp"])
    assert found("np.sin", ["jvp of vjp", "vjp of vjp"])


def test_conjugate_that_is_missing(monkeypatch):
    for rule in set(OPS[np.multiply].vjp.values()):
        monkeypatch.setattr(rule, "holomorphic", False)
    replaced(monkeypatch, [])

    assert found("np.multiply", ["vjp"], 400)


def test_places_that_are_not_put_back(monkeypatch):
    """The transpose of a sort without its order."""
    monkeypatch.setitem(OPS[np.sort].vjp, "a", Rule(lambda g, a_shape: np.reshape(g, a_shape), ()))
    replaced(monkeypatch, [])

    assert found("np.sort", ["vjp"])


def test_failure_is_a_program(monkeypatch):
    """The text of a failure runs, and its last line is the call."""
    ruled(monkeypatch, np.exp, "jvp", "x", lambda right: lambda g, *saved: right(g, *saved) * 2)
    text = found("np.exp", ["jvp"])[0]
    space: dict = {}
    exec(text[: text.rindex("\n# ")], space)

    assert "--only np.exp: jvp" in text.partition("\n")[0]
    assert "f" in space
