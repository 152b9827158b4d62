"""Programs with branches under ``vmap(branches="split")``, beside loops of the plain function.

They have `if`, `while`, `for` over a computed number, early returns, masks, `np.nonzero` and
exceptions that they catch: their own, and those of NumPy.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

import functier as ft
from functier._core import agreement
from functier._levels.batch import BatchLevel
from functier._transforms import splitting
from strategies.branches import XS, branching
from strategies.nets import net
from strategies.reasons import BRANCHES


def split(f):
    return ft.vmap(f, branches="split")


def each(f):
    return lambda xs: np.array([f(x.copy()) for x in xs])


ONES = np.ones_like(XS)
DEEP = np.stack([XS, XS[::-1]])
NESTINGS = {
    "vmap": lambda f: (split(f)(XS), each(f)(XS)),
    "vmap of grad": lambda f: (split(ft.grad(f))(XS), each(ft.grad(f))(XS)),
    "grad of vmap": lambda f: (
        ft.grad(lambda xs: np.sum(split(f)(xs)))(XS), each(ft.grad(f))(XS),
    ),
    "jvp of vmap": lambda f: (
        ft.jvp(split(f), (XS,), (ONES,))[1], each(lambda x: ft.jvp(f, (x,), (ONES[0],))[1])(XS),
    ),
    "vmap of vmap": lambda f: (split(split(f))(DEEP), each(each(f))(DEEP)),
}  # fmt: skip
"""The results of a transform, and those of loops."""


@net(
    "branches", BRANCHES, examples=(200, 12_000),
    program=branching(), nesting=st.sampled_from(sorted(NESTINGS)),
)  # fmt: skip
def test_a_split_batch_is_what_a_loop_gives(judge, program, nesting):
    f = program.function()
    try:
        each(f)(XS)
    except (ValueError, OverflowError):  # of NumPy, and of int(v)
        return judge.unclear("NumPy refuses an example")
    if "float(" in program.text and ("grad" in nesting or "jvp" in nesting):
        return judge.unclear("float(x) would lose the derivative")
    return judge(lambda: NESTINGS[nesting](f), lambda both: close(*both))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def join_in_another_order(monkeypatch):
    monkeypatch.setattr(splitting.np, "argsort", lambda x, *args, **kwargs: np.arange(len(x)))


def lose_a_group(monkeypatch):
    right = agreement.Varying.groups
    monkeypatch.setattr(agreement.Varying, "groups", lambda self: right(self)[:1])


def let_one_example_answer(monkeypatch):
    def first(x, how):
        values = agreement.examples_of(x)
        return (how(values.reshape(-1)[0]),) if how in (bool, int) else ()

    monkeypatch.setattr("functier._levels.batch.answer", first)


def hash_by_identity(monkeypatch):
    monkeypatch.setattr("functier._levels.conversions.hash_of", lambda level, x: object.__hash__(x))


def forget_a_caught_error(monkeypatch):
    """A group that an ``except`` has taken a wrong way."""
    monkeypatch.setattr(BatchLevel, "check_answered", lambda self: None)
    monkeypatch.setattr(
        BatchLevel, "run_apart", lambda self, x, how, error: (_ for _ in ()).throw(error)
    )


FAULTS = [
    join_in_another_order, lose_a_group, let_one_example_answer, hash_by_identity,
    forget_a_caught_error,
]  # fmt: skip


@pytest.mark.parametrize("plant", FAULTS)
def test_a_fault_is_found(monkeypatch, plant):
    plant(monkeypatch)
    test_a_split_batch_is_what_a_loop_gives.net.finds()
