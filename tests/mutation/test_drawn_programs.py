"""Drawn programs that write, under nests of transforms and by NumPy; and faults that are found.

A failure shows the program, and how to run it again:
``PYTHONPATH=tests:src python -m nets.writes --seed 3 --number 17``. ``--slow`` runs a longer
slice, ``--full`` 20,000 programs and requires that all kinds of writes are among them.
"""

import pytest

import functier as ft
from functier._levels import grad_store as _grad_store
from functier._levels import stores as _stores
from functier._mutation.memory import View
from functier._mutation.stores import PlainStore
from nets.writes import PAIRS, TAGS, net
from nets.writing.nests import Nest


def test_drawn_programs(request, full, record_property):
    """All of a slice of programs is right or refused for a reason."""
    slow = request.config.getoption("--slow")
    made = net(2026, range(20_000 if full else 250 if slow else 45))
    record_property("net", made.summary())
    made.counts.settle()
    assert made.unclear <= 0.01 * made.counts.total
    if full:
        for kinds in PAIRS:
            few = [t for t in TAGS if made.seen[kinds][t] < 50]
            assert not few, f"{kinds}: {few}"


# ---- what is drawn ----


def test_what_a_program_has():
    """At least eight statements, two writes and an alias."""
    drawing = net(11)
    for number in range(40):
        program = drawing.draw(number)
        names = [line.text.partition(" = ")[2] for line in program.lines if line.made]
        assert len(program.lines) >= 8
        assert sum(bool(line.tags) for line in program.lines) >= 2
        assert any(
            name.isidentifier() or name.endswith("[...]") or name.startswith("fnp.asarray(")
            for name in names
        )


def test_programs_come_back():
    """A seed and a number are one program, whatever was drawn before it."""
    first = [net(7).draw(n).text() for n in (3, 5)]
    again = [net(7).draw(n).text() for n in (5, 3)]

    assert first == again[::-1]


# ---- faults that are planted, and found ----


def found(only, *kinds, count=40):
    """The failures of programs with these pairs of a write and a place: 'setitem/row op=/T'."""
    tags = [tuple(tag.replace("_", " ").split("/")) for tag in only.split()]
    nests = [(tuple(k.split()), "") for k in kinds]
    return net(4, range(count), nests=nests, tags=tags).counts.wrong


def wrong_values(texts):
    return [t for t in texts if ": got " in t]


def test_nothing_is_found_without_a_fault():
    assert not found(
        "setitem/slice setitem/row setitem/list op=/base op=/T item_op=/base fill/base add.at/list",
        "vmap", "grad", "jvp",
    )  # fmt: skip


def test_write_that_a_view_keeps_for_itself(monkeypatch):
    right = View.write

    def write(view, index, value, add=False):
        if view.window.size == view.memory.flat.size:
            right(view, index, value, add)

    monkeypatch.setattr(View, "write", write)

    assert wrong_values(found("setitem/slice setitem/row", "vmap", "grad"))


def test_write_that_leaves_the_cotangent_of_its_slice(monkeypatch):
    monkeypatch.setattr(_grad_store, "_clear_slice", _grad_store._keep)

    assert wrong_values(found("setitem/slice op=/base", "grad"))


def test_write_that_leaves_the_tangent(monkeypatch):
    def put(store, layout, parts, value):
        primal, tangent = store.halves(value)
        store.inner.put(layout, parts, primal)
        if store.mine(value):
            store.tangents.put(layout, parts, tangent)

    monkeypatch.setattr(_stores.JvpStore, "put", put)

    assert wrong_values(found("setitem/base fill/base", "jvp"))


def test_batch_that_does_not_widen(monkeypatch):
    monkeypatch.setattr(_stores.BatchStore, "widen", lambda store, batch: None)

    assert found("setitem/base op=/base", "vmap")


def test_read_that_is_no_copy(monkeypatch):
    """The planted fault: a value saved for the backward pass changes with the next write."""

    def get(store, layout, parts):
        window = store.window(layout)
        return window if parts is None else window[parts]

    monkeypatch.setattr(PlainStore, "get", get)

    assert wrong_values(found("item_op=/base op=/base", "grad", "vmap"))


def test_repeated_place_whose_values_all_get_the_cotangent(monkeypatch):
    monkeypatch.setattr(_grad_store, "_last_writes", lambda places: None)

    assert wrong_values(found("setitem/list setitem/array", "grad"))


def test_sum_that_is_not_on_the_tape(monkeypatch):
    monkeypatch.setattr(
        _grad_store.GradStore,
        "add",
        lambda s, layout, parts, v: s.inner.add(layout, parts, s.primal(v)),
    )
    monkeypatch.setattr(
        _grad_store.GradStore, "add_at", lambda s, places, v: s.inner.add_at(places, s.primal(v))
    )

    assert wrong_values(found("add.at/list add.at/int", "grad"))


@pytest.mark.parametrize("kinds", ["vmap", "grad", "jvp"])
def test_augmented_assignment_that_makes_a_new_array(monkeypatch, kinds):
    monkeypatch.setattr(ft.Tensor, "__iadd__", lambda x, y: x + y)
    monkeypatch.setattr(ft.Tensor, "__imul__", lambda x, y: x * y)
    monkeypatch.setattr(ft.Tensor, "__isub__", lambda x, y: x - y)

    assert wrong_values(found("op=/slice op=/T op=/row", kinds))


def test_derivative_that_is_off_by_a_thousandth(monkeypatch):
    right = Nest.run
    monkeypatch.setattr(Nest, "run", lambda nest: [1.001 * v for v in right(nest)])

    assert len(wrong_values(found("setitem/slice", "grad grad", "jvp vmap", count=5))) > 5
