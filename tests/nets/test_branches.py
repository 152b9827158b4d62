"""Programs with branches under ``vmap(branches="split")``, beside loops of the plain function.

They have `if`, `while`, `for` over a computed number, early returns, masks, `np.nonzero` and
exceptions that they catch: their own, and those of NumPy.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

import functier as ft
from faults.planted import nets as faulty
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


@pytest.mark.parametrize("plant", faulty.FAULTS)
def test_a_fault_is_found(monkeypatch, plant):
    plant(monkeypatch)
    test_a_split_batch_is_what_a_loop_gives.net.finds()
