"""Planted faults of the core, levels, writes and rules."""

from contextlib import contextmanager

import numpy as np
import optree

import functier as ft
from faults.planted import change
from functier._core import adopted as _adopted
from functier._core import agreement, tensor
from functier._core import hints as _hints
from functier._core import remedies as _remedies
from functier._core import root as _root
from functier._core.agreement import examples_of
from functier._core.numpy_facts import dtype_of
from functier._levels import backward as _backward
from functier._levels import conversions, cotangents, grad_store, lying, second_look, stores, views
from functier._levels import kept as _copies
from functier._levels.batch import BatchLevel
from functier._levels.level import Level as _Level
from functier._mutation import items, reductions, selection, shifts
from functier._mutation.memory import View
from functier._mutation.stores import PlainStore
from functier._rules import elementwise, sorting
from functier._rules import scatter as _scatter
from strategies.nestings import Nesting
from support.basics import ours

# ---- levels agreement ----


the_first_answer_for_all = change(agreement, "examples_of", lambda x, **options: x.elem()[:1])


# ---- levels aliasing ----


def the_gradients_copy_nothing(monkeypatch, made):
    monkeypatch.setattr(_copies.Copies, "value", lambda self, x: made.append(x) or x)
    monkeypatch.setattr(_copies.Copies, "values", lambda self, saved: made.append(saved) or saved)


# ---- levels hashing ----


hashes_by_identity = change(conversions, "hash_of", ours(lambda level, x: object.__hash__(x)))
hashes_by_value_that_forget_derivatives = change(
    conversions, "examples_of", lambda x, differentiated: examples_of(x)
)


def hashes_that_a_program_does_not_check(monkeypatch):
    def unguarded(level, x):
        return hash(x._value)

    monkeypatch.setattr(conversions, "hash_of", ours(unguarded))


# ---- levels import lines ----


def advice_that_does_not_help(monkeypatch, advised):
    monkeypatch.setattr(_hints, "WITH_TWIN", {_remedies.BY_EXPRESSION[advised]})


# ---- levels ownership ----


def set_large(monkeypatch, size):
    for module in (_backward, elementwise):
        monkeypatch.setattr(module, "BIG", size)


# ---- mutation lying ----


def forgotten_order(monkeypatch, part):
    monkeypatch.setattr(lying, part, lambda *given: None)


view_that_is_none = change(views, "as_in_numpy", lambda level, op, x, y, given: y)
row_that_lies_as_its_copy = change(
    views, "_steps_of_row", lambda x, row, owner: lying.example(x).strides
)


# ---- mutation overlaps ----


def an_overlap_that_nobody_sees(monkeypatch):
    monkeypatch.setattr("functier._mutation.functions.may_meet", lambda *form: False)


# ---- mutation drawn programs ----


def keep_writes_of_a_view(monkeypatch):
    right = View.write

    def write(view, index, value, add=False):
        if view.window.size == view.memory.flat.size:
            right(view, index, value, add)

    monkeypatch.setattr(View, "write", write)


leave_the_cotangent_of_a_slice = change(grad_store, "_clear_slice", grad_store._keep)


def leave_the_tangent(monkeypatch):
    def put(store, layout, parts, value):
        primal, tangent = store.halves(value)
        store.inner.put(layout, parts, primal)
        if store.mine(value):
            store.tangents.put(layout, parts, tangent)

    monkeypatch.setattr(stores.JvpStore, "put", put)


do_not_widen = change(stores.BatchStore, "widen", lambda store, batch: None)


def read_without_a_copy(monkeypatch):
    """Let a value that is saved for the backward pass change with the next write."""

    def get(store, layout, parts):
        window = store.window(layout)
        return window if parts is None else window[parts]

    monkeypatch.setattr(PlainStore, "get", get)


give_the_cotangent_to_all_repeated_places = change(grad_store, "_last_writes", lambda places: None)


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


copy_where_a_view_is_meant = change(views, "_note_row", lambda *given: None)
copy_what_was_written_to = change(items, "numbers_in", lambda index: None)
take_the_place_of_another_number = change(shifts, "_step", lambda steps, number, axis: number * 0)


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


# ---- core rfc ----


def the_control_flow_of_an_overridden_operator(monkeypatch, trace):
    compute = _root.RootLevel.dispatch
    monkeypatch.setattr(
        _root.RootLevel, "dispatch", lambda *args: (trace.append("Tensor"), compute(*args))[1]
    )


# ---- levels looks ----


def percent_is(seen, monkeypatch):
    monkeypatch.setattr(tensor, "is_called_by_percent", lambda: seen)


# ---- mutation selections ----


def wrong_selection(fault, monkeypatch):
    if fault == "where":
        monkeypatch.setitem(reductions.WITH_MASK, np.sum, lambda v, where, **o: np.sum(v, **o))
    elif fault == "beyond":
        monkeypatch.setattr(reductions, "_beyond", lambda dtype, largest: dtype.type(0))
    else:
        monkeypatch.setattr(selection.Selection, "__getitem__", lambda self, index: self)


probes_see_nothing = change(
    second_look, "_probing", lambda: lambda rule, given, *_: (given[0] * 0, None)
)


# ---- levels pieces ----


def into_the_first(shape, places, *pieces):
    if places[0] is not ...:
        return _scatter.scatter_all(shape, places, *pieces)
    out = pieces[0]
    for index, piece in zip(places[1:], pieces[1:]):
        out[index] += piece
    return out


FAULTS_OF_PIECES = {
    "it writes into a shared buffer": into_the_first,
    "a piece is lost": lambda shape, places, *p: _scatter.scatter_all(shape, places[:-1], *p[:-1]),
    "another order": lambda shape, places, *p: _scatter.scatter_all(shape, places[::-1], *p[::-1]),
}


def elements_cost_their_element(monkeypatch, shapes):
    scatter = _scatter.scatter
    monkeypatch.setattr(
        "functier._rules.indexing.scatter", lambda g, s, *a: shapes.append(s) or scatter(g, s, *a)
    )


# ---- rules checks ----


def batch_axis_that_is_not_moved(monkeypatch):
    insert = BatchLevel.insert
    monkeypatch.setattr(
        BatchLevel, "insert",
        lambda self, leaves, dims, args: insert(self, leaves, [0] * len(dims), args),
    )  # fmt: skip


cotangent_that_is_not_cast = change(cotangents, "cast", lambda c, dtype: c)


def cotangent_that_is_not_summed(monkeypatch):
    for module in (cotangents, _backward):
        monkeypatch.setattr(module, "fit", lambda c, shape, dtype: c)


# ---- rules dtypes ----


@contextmanager
def narrowing():
    """Notes the dtypes of (co)tangents that have to be cast to a narrower one."""
    found, cast = [], cotangents.cast

    def noting(c, dtype):
        own = dtype_of(c)
        if own.kind in "fc" and dtype.kind in "fc" and np.finfo(own).bits > np.finfo(dtype).bits:
            found.append(f"{own} for {dtype}")
        return cast(c, dtype)

    cotangents.cast = noting
    try:
        yield found
    finally:
        cotangents.cast = cast


# ---- rules computed numbers ----


every_element_is_the_first = change(
    sorting, "_first_of_equal", lambda values, *_: np.ones(values.shape, bool)
)


# ---- core type questions ----


class_of_the_level = change(_Level, "class_of", lambda level, x: type(x))


def libraries_that_are_answered_as_users(monkeypatch):
    monkeypatch.setattr(_adopted, "is_users", lambda path: True)
    monkeypatch.setattr(_adopted, "USERS", set())
