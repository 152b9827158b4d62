"""Drawn programs that write, under nests of transforms and by NumPy; and faults that are found."""

import numpy as np
import optree
import pytest
from hypothesis import strategies as st

import functier as ft
from functier._levels import grad_store, stores, views
from functier._levels.views import WRITERS
from functier._mutation import items, shifts
from functier._mutation.memory import View
from functier._mutation.stores import PlainStore
from strategies.nestings import AGAIN, STEP, Nesting, nested
from strategies.nets import net
from strategies.reasons import CONSTANT, OUTSIDE, WRITES
from strategies.writes import writing, writing_badly

TOLERANCE = (1e-11, 3e-6, 3e-5, 1e-3)
"""The differences that are allowed, by the order of the derivative."""


@net(
    "writes", WRITES, examples=(100, 2500, 100_000),
    drawn=nested(writing(), least=1, whole=85), before=st.booleans(),
)  # fmt: skip
def test_writes_under_transforms_are_numpys(judge, drawn, before):
    """Values are those of a loop, derivatives those of differences."""
    program, nesting = drawn
    own, plain = program.function(), program.function(fnp=np)
    inner = nesting.levels[-1].chosen
    outside = any(i not in inner for i, x in enumerate(program.args) if x.dtype.kind == "f")
    if outside and AGAIN & {level.kind for level in nesting.levels}:
        return judge.unclear("what is outside is written to again")
    if before:  # else as a function that has written before
        WRITERS.clear()
    try:
        expected = results(nesting.by_numpy(plain)(*program.args))
    except Exception:
        return judge.unclear("NumPy refuses an example")
    single = 1e6 if "float32" in program.text else 1.0

    def check(found):
        problem = problem_of(results(found), expected, nesting.order, single)
        assert not problem or not is_wrong(nesting, own, plain, program.args), problem

    return judge(
        lambda: nesting.by_functier(own)(*[x.copy() for x in program.args]), check,
        OUTSIDE if outside else CONSTANT if program.indexes else None,
    )  # fmt: skip


def results(tree):
    return [np.asarray(x) if not isinstance(x, ft.Tensor) else x for x in optree.tree_leaves(tree)]


def problem_of(found, expected, order, scale=1.0):
    """Describe how results differ; their size does not matter."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for i, (a, e) in enumerate(zip(found, expected)):
        if isinstance(a, ft.Tensor):
            return f"result {i} is a tensor, {a!r}"
        if a.shape != e.shape or (a.dtype != e.dtype and not order):
            return f"result {i}: {a.dtype}{a.shape}, expected {e.dtype}{e.shape}"
        size = max(1.0, float(np.max(np.abs(e), initial=0.0)))
        if np.isfinite(e).all() and size < 1e4 ** max(1, order):
            off = np.max(np.abs(a - e), initial=0.0) / size
            if not off <= TOLERANCE[order] * scale:
                return f"result {i}: got {a}, expected {e}"
    return None


def is_wrong(nesting, own, plain, args):
    """Tell if results differ where no kink is near: by smaller steps, and at points near by."""
    for seed in range(3):
        near = args
        if seed:
            g = np.random.default_rng(seed)
            near = [x + 0.01 * g.normal(size=x.shape) if x.dtype.kind == "f" else x for x in args]
        found = results(nesting.by_functier(own)(*[x.copy() for x in near]))
        for step in (STEP, STEP / 4, STEP / 16):
            expected = results(nesting.by_numpy(plain, step)(*near))
            if problem_of(found, expected, nesting.order, (STEP / step) ** 2) is None:
                return False
    return True


@net(
    "refused writes", examples=(30, 600, 20_000), most=1.0,
    drawn=nested(writing_badly(), least=1),
)  # fmt: skip
def test_what_numpy_refuses_is_refused(judge, drawn):
    program, nesting = drawn
    if program.bad is None:
        return judge.unclear("NumPy takes the last statement")

    def taken(found):
        raise AssertionError(f"NumPy refuses {program.bad!r}")

    own = program.function()
    return judge(lambda: nesting.by_functier(own)(*program.args), taken, {"": "NumPy does, too"})


# ---- faults that are planted, and found ----


def keep_writes_of_a_view(monkeypatch):
    right = View.write

    def write(view, index, value, add=False):
        if view.window.size == view.memory.flat.size:
            right(view, index, value, add)

    monkeypatch.setattr(View, "write", write)


def leave_the_cotangent_of_a_slice(monkeypatch):
    monkeypatch.setattr(grad_store, "_clear_slice", grad_store._keep)


def leave_the_tangent(monkeypatch):
    def put(store, layout, parts, value):
        primal, tangent = store.halves(value)
        store.inner.put(layout, parts, primal)
        if store.mine(value):
            store.tangents.put(layout, parts, tangent)

    monkeypatch.setattr(stores.JvpStore, "put", put)


def do_not_widen(monkeypatch):
    monkeypatch.setattr(stores.BatchStore, "widen", lambda store, batch: None)


def read_without_a_copy(monkeypatch):
    """Let a value that is saved for the backward pass change with the next write."""

    def get(store, layout, parts):
        window = store.window(layout)
        return window if parts is None else window[parts]

    monkeypatch.setattr(PlainStore, "get", get)


def give_the_cotangent_to_all_repeated_places(monkeypatch):
    monkeypatch.setattr(grad_store, "_last_writes", lambda places: None)


def leave_a_sum_off_the_tape(monkeypatch):
    monkeypatch.setattr(
        grad_store.GradStore,
        "add",
        lambda s, layout, parts, v: s.inner.add(layout, parts, s.primal(v)),
    )
    monkeypatch.setattr(
        grad_store.GradStore, "add_at", lambda s, places, v: s.inner.add_at(places, s.primal(v))
    )


def make_a_new_array(monkeypatch):
    monkeypatch.setattr(ft.Tensor, "__iadd__", lambda x, y: x + y)
    monkeypatch.setattr(ft.Tensor, "__imul__", lambda x, y: x * y)
    monkeypatch.setattr(ft.Tensor, "__isub__", lambda x, y: x - y)


def be_off_by_a_thousandth(monkeypatch):
    right = Nesting.by_functier
    monkeypatch.setattr(
        Nesting,
        "by_functier",
        lambda nesting, f: (
            lambda *args: optree.tree_map(lambda x: x * 1.001, right(nesting, f)(*args))
        ),
    )


def copy_where_a_view_is_meant(monkeypatch):
    monkeypatch.setattr(views, "_note_row", lambda *given: None)


def copy_what_was_written_to(monkeypatch):
    monkeypatch.setattr(items, "numbers_in", lambda index: None)


def take_the_place_of_another_number(monkeypatch):
    monkeypatch.setattr(shifts, "_step", lambda steps, number, axis: number * 0)


GRAD = ("grad", "vjp")
FAULTS = [
    (keep_writes_of_a_view, ("setitem",), ("slice", "row"), ("vmap", *GRAD)),
    (leave_the_cotangent_of_a_slice, ("setitem", "op="), ("slice",), GRAD),
    (leave_the_tangent, ("setitem", "fill"), ("slice",), ("jvp",)),
    (do_not_widen, ("setitem", "op="), ("slice",), ("vmap",)),
    (read_without_a_copy, ("item op=", "op="), ("slice",), ("vmap", *GRAD)),
    (give_the_cotangent_to_all_repeated_places, ("setitem",), ("slice",), GRAD),
    (leave_a_sum_off_the_tape, ("add.at",), ("slice",), GRAD),
    (make_a_new_array, ("op=",), ("slice", "T", "row"), ("vmap", "jvp", *GRAD)),
    (copy_where_a_view_is_meant, ("op=", "item op="), ("computed",), ("vmap",)),
    (copy_what_was_written_to, ("op=", "setitem"), ("computed",), ("vmap",)),
    (take_the_place_of_another_number, ("op=", "setitem"), ("computed",), ("vmap",)),
    (be_off_by_a_thousandth, ("setitem",), ("slice",), ("jvp",)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "writes", "views", "kinds"), FAULTS, ids=[row[0].__name__ for row in FAULTS]
)  # fmt: skip
def test_a_fault_is_found(monkeypatch, plant, writes, views, kinds):
    plant(monkeypatch)
    narrow = writing(writes=writes, views=views)
    test_writes_under_transforms_are_numpys.net.finds(
        drawn=nested(narrow, kinds=kinds, least=1, whole=85)
    )
