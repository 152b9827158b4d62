"""Compiled functions see what they depend on, however it is held, and are not traced in vain."""

import ctypes
import threading
import types

import numpy as np
import pytest

import functier as ft
from support.basics import calls_of, equal, silent


class Own(np.ndarray):
    """An array of a user's class."""


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_double),)


def set_item(index):
    return lambda a: a.__setitem__(index, 5.0)


def records():
    return np.rec.array([(1.0, 2)] * 3, dtype=[("p", float), ("q", int)])


def record():
    table = np.zeros(1, [("p", float)])
    return types.SimpleNamespace(table=table, row=table[0])


def views():
    d = {"rate": 2.0}
    return types.SimpleNamespace(d=d, proxy=types.MappingProxyType(d), values=d.values())


WATCHED = {
    "a matrix": (lambda: np.ones((1, 1)).view(np.matrix), lambda a: a.A1, set_item((0, 0))),
    "a field of records": (records, lambda a: a.p, lambda a: a.p.__setitem__(0, 5.0)),
    "a masked array": (lambda: np.ma.array([1.0, 2.0]), lambda a: a.sum(), set_item(0)),
    "a user's array": (lambda: np.ones(3).view(Own), lambda a: a[0], set_item(0)),
    "its sum": (lambda: np.ones(3).view(Own), lambda a: float(a.sum()), set_item(0)),
    "a record": (record, lambda a: a.row["p"], lambda a: a.table["p"].__setitem__(0, 5.0)),
    "a proxy of a dict": (views, lambda a: a.proxy["rate"], lambda a: a.d.update(rate=3.0)),
    "the values of a dict": (views, lambda a: sum(a.values), lambda a: a.d.update(rate=3.0)),
    "an array of ctypes": (lambda: (ctypes.c_double * 2)(1, 2), lambda a: a[1], set_item(1)),
    "a structure of ctypes": (lambda: Pair(2.0), lambda a: a.a, lambda a: setattr(a, "a", 3.0)),
    "the state of a generator": (
        lambda: np.random.default_rng(0),
        lambda r: float(r.bit_generator.state["state"]["state"] % 1000),
        lambda r: r.random(),
    ),
    "a list as an index": (lambda: [0], lambda i: np.arange(3.0)[i][-1], lambda i: i.append(2)),
}  # fmt: skip


@pytest.mark.parametrize("made, read, change", [pytest.param(*v, id=k) for k, v in WATCHED.items()])
def test_a_change_is_seen(made, read, change):
    a, x = made(), np.ones(1)

    def f(x):
        return x * read(a)

    c = ft.compile(f, backend="numpy")
    for _ in range(3):
        c(x)
    change(a)
    equal(c(x), f(x))


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
def test_a_list_that_is_the_index_of_an_argument_is_watched(write):
    index, x = [0], np.array([1.0, 10.0, 100.0])

    def f(x):
        y = x * 1
        if write:
            y[index] = 5.0
        return np.sum(y if write else y[index])

    c = ft.compile(f, backend="numpy")
    for _ in range(3):
        c(x)
    index[0] = 2
    assert c(x) == f(x)


def test_what_a_thread_of_the_function_reads_is_watched():
    rate = 2.0

    def f(x):
        results = []
        thread = threading.Thread(target=lambda: results.append(x * rate))
        thread.start()
        thread.join()
        return results[0]

    c = ft.compile(f, backend="numpy")
    c(1.0), c(1.0)
    rate = 3.0
    assert c(1.0) == 3.0


class Slot:
    __slots__ = ("rng",)


def in_slot(rng):
    slot = Slot()
    slot.rng = rng
    return slot


DRAWS = {
    "an item of a dict": (lambda rng: {"rng": rng}, lambda d: d["rng"]),
    "a slot": (in_slot, lambda s: s.rng),
    "an attribute of an attribute": (
        lambda rng: types.SimpleNamespace(inner=types.SimpleNamespace(rng=rng)),
        lambda a: a.inner.rng,
    ),
}


@pytest.mark.parametrize("made, read", [pytest.param(*v, id=k) for k, v in DRAWS.items()])
def test_a_generator_draws_in_each_call_or_is_refused(made, read):
    a = made(np.random.default_rng(0))
    c = ft.compile(lambda x: x * read(a).normal())
    try:
        drawn = {c(1.0) for _ in range(4)}
    except ft.RandomnessError:
        return
    assert len(drawn) > 1


SETTLED = {
    "one element": lambda x, y: (x * y)[0],
    "a choice": lambda x, y: np.sum(np.where(np.isnan(y), 0.0, x * y)),
    "least squares": lambda x, y: np.sum(np.where(np.isnan(y), 0.0, (y - x * x) ** 2)),
}


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in SETTLED.items()])
def test_zero_times_nan_is_settled_as_without_compile(f):
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, np.nan, 3.0])
    g = ft.grad(f)
    c = ft.compile(g, backend="numpy")
    c(x, x.copy()), c(x, x.copy())
    with silent():
        equal(c(x, y), g(x, y))


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w

    compiled = ft.compile(__call__)


@pytest.mark.parametrize(
    "call", [ft.compile(lambda w, x: Layer(w)(x)), lambda w, x: Layer(w).compiled(x)],
    ids=["called", "compiled"],
)  # fmt: skip
def test_a_new_object_of_a_class_needs_no_new_trace(call):
    numbers = iter(range(1, 9))
    with silent():
        for _ in range(4):
            call(float(next(numbers)), 2.0)
        assert calls_of(lambda: call(float(next(numbers)), 2.0)) < 300


def test_a_compiled_finite_difference_makes_about_the_calls_of_an_eager_one():
    integrate = pytest.importorskip("scipy.integrate")

    def f(x):
        return integrate.quad(lambda s: np.exp(-(x[0] ** 2) * s) / (x[1] * s**2), 0.3, np.inf)[0]

    g, x = ft.grad(ft.finite_difference(f)), np.array([0.5, 4.0])
    eager = calls_of(lambda: g(x))
    assert calls_of(lambda: ft.compile(g, backend="numpy")(x)) < 10 * eager
