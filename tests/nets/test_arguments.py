"""The net of arguments that share memory: what is written to one of them shows in the other.

A case is a transform, a way in which two arguments share memory, and a function that writes to
one of them or to none. NumPy's plain call says what is right: where an alias makes no difference
to it, the answer is that for copies, and elsewhere the write is refused.
"""

import copy

import numpy as np
import optree

import functier as ft
from faults.planted import nets as faulty
from nets.verdicts import Verdicts

REASONS = {
    r"^MutationError: .*given twice, or as a view of another argument": (
        "the two are separate tensors, and a write to the one is not seen by the other"
    ),
    r"^MutationError: .*(would happen a second time when it runs|function that runs again)": (
        "the second run would write once more"
    ),
    r"^ValueError: .*(destination|output array) is read-only": (
        "an array that is not differentiated shares memory with one that is"
    ),
    r"^MutationError: .*(of this level cannot be written to inside|that was made outside of it)": (
        "the argument of the inner transform is one of an outer level"
    ),
    r"^MutationError: .*(would write a tensor to a plain array|in a\[0\] = x, float\(x\))": (
        "an argument that is not differentiated is a plain array"
    ),
}


def first_is_written(a, b):
    a[0] = 5.0 * b[1]
    return np.sum(a * a) + 10.0 * np.sum(np.sin(b))


def second_is_written(a, b):
    b *= a[0]
    return np.sum(a * b) + np.sum(b * b)


def view_is_written(a, b):
    v = a.reshape(-1)[1:]
    v += b[0]
    return np.sum(a * b)


def a_number_is_written(a, b):
    b[0] = 7.0
    return np.sum(a * a) + np.sum(a * b)


def nothing_is_written(a, b):
    c = a * b
    c[0] = 2.0
    return np.sum(c * a) + 10.0 * np.sum(b)


FUNCTIONS = [
    first_is_written, second_is_written, view_is_written, a_number_is_written, nothing_is_written,
]  # fmt: skip
SHARING = {
    "the same": lambda: (a := np.arange(1.0, 4.0), a),
    "a view of all": lambda: (a := np.arange(1.0, 4.0), a[:]),
    "backwards": lambda: (a := np.arange(1.0, 4.0), a[::-1]),
    "overlapping": lambda: ((a := np.arange(1.0, 6.0))[:3], a[1:4]),
    "neighbours": lambda: ((a := np.arange(1.0, 7.0))[:3], a[3:]),
    "columns": lambda: ((a := np.arange(1.0, 7.0).reshape(3, 2))[:, 0], a[:, 1]),
    "apart": lambda: (np.arange(1.0, 4.0), np.arange(2.0, 5.0)),
}
T = np.array([0.3, -1.0, 2.0])


def rows(a):
    return np.stack([a, 2.0 * a])


TRANSFORMS = {
    "grad": lambda f, a, b: ft.grad(f)(a, b),
    "grad by the second": lambda f, a, b: ft.grad(f, argnums=1)(a, b),
    "grad by both": lambda f, a, b: ft.grad(f, argnums=(0, 1))(a, b),
    "grad by a name": lambda f, a, b: ft.grad(f, argnames="a")(a=a, b=b),
    "value_and_grad": lambda f, a, b: ft.value_and_grad(f)(a, b),
    "vjp": lambda f, a, b: ft.vjp(f, a, b)[1](1.0),
    "jvp": lambda f, a, b: ft.jvp(f, (a, b), (T, T)),
    "jacrev": lambda f, a, b: ft.jacrev(f)(a, b),
    "jacrev in chunks": lambda f, a, b: ft.jacrev(f, argnums=(0, 1), chunk_size=1)(a, b),
    "jacfwd": lambda f, a, b: ft.jacfwd(f)(a, b),
    "hessian": lambda f, a, b: ft.hessian(f)(a, b),
    "hvp": lambda f, a, b: ft.hvp(f, (a, b), (T, T)),
    "linearize": lambda f, a, b: ft.linearize(f, a, b)[1](T, T),
    "trace": lambda f, a, b: ft.trace(f)(a, b)(a, b),
    "compile": lambda f, a, b: ft.compile(f, backend="numpy")(a, b),
    "compile(grad)": lambda f, a, b: ft.compile(ft.grad(f), backend="numpy")(a, b),
    "checkpoint": lambda f, a, b: ft.grad(ft.checkpoint(f))(a, b),
    "vmap of one": lambda f, a, b: ft.vmap(f, (None, 0))(a, b[None]),
    "split": lambda f, a, b: ft.vmap(f, (None, 0), branches="split")(a, b[None]),
    "split in two": lambda f, a, b: ft.vmap(
        lambda a, b: f(a, b) if b[0] > 2.5 else f(a, b) * 1.0, (0, None), branches="split"
    )(np.broadcast_to(a, (2, 3)), b),
    "in a pytree": lambda f, a, b: ft.grad(lambda p: f(p["a"], *p["b"]))({"a": a, "b": [b]}),
    "vmap of grad": lambda f, a, b: ft.vmap(ft.grad(f))(a[None], b[None]),
    "grad of vmap": lambda f, a, b: ft.grad(lambda a, b: np.sum(ft.vmap(f)(a[None], b[None])))(
        a, b
    ),
}


VALUES = "trace", "compile", "vmap of one", "split"
"""Those that give the value itself, which may be right as the two share memory inside as well."""


def judge(counts, transform, sharing, f):
    """Run a case and count it."""
    plain = copy.deepcopy(SHARING[sharing]()), SHARING[sharing]()
    apart, shared = f(*[x.copy() for x in plain[1]]), f(*SHARING[sharing]())

    def run():
        return TRANSFORMS[transform](f, *SHARING[sharing]())

    def check(found):
        if transform in VALUES and np.size(found) == 1:
            assert np.allclose(found, shared), f"{found}, and the plain call has {shared}"
            return
        assert apart == shared, f"an answer, and the plain call has {shared}, of copies {apart}"
        wanted = TRANSFORMS[transform](f, *[x.copy() for x in SHARING[sharing]()])
        for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(wanted), strict=True):
            np.testing.assert_allclose(x, y)

    return counts.judge(f"{transform}, {sharing}, {f.__name__}", run, check)


def run(counts):
    for transform in TRANSFORMS:
        for sharing in SHARING:
            for f in FUNCTIONS:
                judge(counts, transform, sharing, f)


def test_arguments_that_share_memory(verdicts):
    counts = verdicts("arguments that share memory", REASONS)
    run(counts)
    counts.settle(0.6)  # nearly all programs write to what two arguments show


# ---- faults that the net finds ----


def wrong():
    counts = Verdicts("planted", REASONS)
    run(counts)
    return {line.partition(", ")[0] for line in counts.wrong}


def test_a_level_that_does_not_know_its_arguments(monkeypatch):
    faulty.level_that_does_not_know_its_arguments(monkeypatch)

    assert set(TRANSFORMS) - wrong() <= {
        "vmap of one",
        "split",
        "grad by a name",
        "checkpoint",
        "compile",
    }


def test_an_argument_that_takes_writes(monkeypatch):
    faulty.an_argument_that_takes_writes(monkeypatch)

    assert {"grad", "jacrev", "jacfwd", "hessian", "value_and_grad"} <= wrong()
