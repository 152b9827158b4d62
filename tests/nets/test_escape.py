"""A tensor that has outlived its level raises, whoever holds what at which moment.

A level's class is used again where nobody can tell. Whoever holds the class, or what leads to it,
must be noticed: also a picture of all objects that was taken at the worst moment, a weak
reference, an attribute, a register.
"""

import abc
import contextlib
import contextvars
import copy
import gc
import random
import sys
import threading
import types
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import functier as ft
from faults.planted import nets as faulty
from functier._levels import level as _level
from functier._levels import spares as _spares
from nets.verdicts import Verdicts
from support.basics import HANG

pytestmark = pytest.mark.inside("Reuse of classes is measured, and its facts are changed.")

XS = np.arange(1.0, 4.0)


class Register(abc.ABC):  # noqa: B024  # it is there to be registered with
    """An abstract class that a user may register classes with."""


def transforms():
    return {
        "vmap": lambda f: ft.vmap(f)(XS),
        "grad": lambda f: ft.grad(f)(XS),
        "jvp": lambda f: ft.jvp(f, (XS,), (XS,)),
        "vjp": lambda f: ft.vjp(f, XS),
        "vmap of grad": lambda f: ft.vmap(ft.grad(f))(np.ones((2, 3))),
        "grad of vmap": lambda f: ft.grad(lambda y: np.sum(ft.vmap(f)(y)))(XS),
        "linearize": lambda f: ft.linearize(f, XS),
        "jacrev": lambda f: ft.jacrev(f)(XS),
    }


def holders():
    """Ways to hold a tensor or its class; each returns what is kept."""
    registers = []

    def registered(x):
        registers.append(abc.ABCMeta("Own", (), {}))
        registers[-1].register(type(x))
        return weakref.ref(x)

    def objects(x):
        array = np.empty(1, object)
        array[0] = x
        return array

    return {
        "the tensor": lambda x: x,
        "in a list": lambda x: [x],
        "in a dict": lambda x: {"x": x},
        "a result": lambda x: x * 2.0,
        "a closure": lambda x: lambda: x,
        "a bound method": lambda x: x.sum,
        "a copied context": lambda x: (contextvars.copy_context(), x),
        "a pickle's worth": lambda x: copy.copy(x),
        "an array of objects": objects,
        "an iterator": lambda x: iter(np.stack([x, x])),
        "a generator": lambda x: (x * i for i in range(2)),
        "the tuple of classes": lambda x: type(x).__mro__,
        "the dictionary": lambda x: type(x).__dict__,
        "the level": lambda x: type(x).level,
        "a weak reference to the class": lambda x: weakref.ref(type(x)),
        "one with a callback": lambda x: weakref.ref(type(x), lambda _: None),
        "a weak set": lambda x: weakref.WeakSet([type(x)]),
        "a weak dictionary": lambda x: weakref.WeakKeyDictionary({type(x): 1}),
        "a register": registered,
        "a subclass": lambda x: type("Own", (type(x),), {"__slots__": ()}),
        "the referents": lambda x: gc.get_referents(type(x)),
    }


TELLING = {
    "the tuple of classes": lambda kept, x: kept[0] is type(x),
    "the dictionary": lambda kept, x: kept["level"].cls is type(x),
    "the level": lambda kept, x: kept.cls is type(x),
    "a weak reference to the class": lambda kept, x: kept() is type(x),
    "one with a callback": lambda kept, x: kept() is type(x),
    "a weak set": lambda kept, x: type(x) in kept,
    "a weak dictionary": lambda kept, x: type(x) in kept,
    "a subclass": lambda kept, x: kept.__mro__[1] is type(x),
    "the referents": lambda kept, x: any(type(x) in k for k in kept if type(k) is tuple),
}
"""The question by which each of these could tell that a later level has the class."""


def use(kept):
    """The tensors in an object that was kept."""
    found = []

    def look(value):
        if isinstance(value, ft.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            for v in value:
                look(v)
        elif isinstance(value, dict):
            look(list(value.values()))
        elif isinstance(value, np.ndarray) and value.dtype == object:
            look(list(value))
        elif type(value) is types.FunctionType:
            look([c.cell_contents for c in value.__closure__ or ()])
        elif type(value) is types.MethodType:
            look(value.__self__)
        elif isinstance(value, Iterator):
            with contextlib.suppress(ft.EscapedTensorError):
                look([*value])

    look(kept)
    return found


def one_case(name, transform, hold):
    """Hold something in one call, and ask in the next whether it is alive or tells the class."""
    kept, alive = [], []

    def first(x):
        kept.append(hold(x))
        return np.sum(x * x)

    def second(x):
        for k in kept:
            for escaped in use(k):
                try:
                    escaped + x
                except ft.EscapedTensorError:
                    continue
                alive.append(f"alive: {escaped!r}")
            if name in TELLING and TELLING[name](k, x):
                alive.append("the class serves again although somebody can tell")
        return np.sum(x * x)

    transform(first)
    transform(second)
    return alive


def none_alive(alive):
    assert not alive, alive[0]


@pytest.mark.parametrize("name", holders())
def test_who_holds_a_tensor_or_its_class(verdicts, full, name):
    counts, hold = verdicts(f"held: {name}"), holders()[name]
    for transform, call in transforms().items():
        for _ in range(100 if full else 3):
            counts.judge(transform, lambda c=call: one_case(name, c, hold), none_alive)
    counts.settle()


def attributes():
    def add(x):
        type(x).note = 1

    def replace(x):
        type(x).__add__ = lambda a, b: 7.0

    def rename(x):
        type(x).__name__ = "Renamed"

    def document(x):
        type(x).__doc__ = "A class that somebody has seen."

    return {"add": add, "replace": replace, "rename": rename, "document": document}


@pytest.mark.parametrize("name", attributes())
@pytest.mark.parametrize("transform", transforms())
def test_an_attribute_of_a_class_is_not_met_again(name, transform):
    change, seen = attributes()[name], []

    def first(x):
        change(x)
        return np.sum(x * x)

    def second(x):
        cls = type(x)
        text = (cls.__name__, cls.__doc__)
        seen.append(hasattr(cls, "note") or "Renamed" in text or text[1] is not None)
        assert isinstance(x + x, ft.Tensor)
        return np.sum(x * x)

    call = transforms()[transform]
    call(first)
    call(second)
    assert seen and not any(seen)


# ---- pictures of all objects, at the worst moments ----


def at_each_allocation(counts, most):
    """A collection falls on every place of the first call, and its callback keeps a picture."""
    kept, threshold = [], gc.get_threshold()

    def callback(phase, info):
        if phase == "stop":
            kept[:] = [gc.get_objects()]

    gc.callbacks.append(callback)
    try:
        for n in range(1, most):
            for name, call in (("grad", ft.grad), ("vmap", ft.vmap)):
                with ft.vmap():  # a fresh class around: the transform has to mint
                    box, alive = [], []

                    def first(x, box=box):
                        gc.set_threshold(0)
                        kept.clear()  # the picture is dropped again
                        box.append(x)
                        return np.sum(x)

                    def second(x, box=box, alive=alive):
                        try:
                            alive.append(repr(np.sum(box[0] * x)))
                        except ft.EscapedTensorError:
                            pass
                        return np.sum(x)

                    gc.collect(0)
                    gc.set_threshold(n, 10**6, 10**6)
                    call(first)(XS)
                    gc.set_threshold(0)
                    kept.clear()
                    call(second)(XS)
                counts.judge(f"{name}, collection after {n}", lambda a=alive: a, none_alive)
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*threshold)


def test_a_collection_at_each_allocation(verdicts, full):
    counts = verdicts("pictures by a collection's callback")
    at_each_allocation(counts, 400 if full else 60)
    counts.settle()


def beside_a_thread(counts, cases, seed=0):
    """Another thread takes pictures of all objects all the time, and drops them again."""
    stop, rng = threading.Event(), random.Random(seed)

    def monitor():
        while not stop.is_set():
            objects = gc.get_objects() if rng.random() < 0.5 else ft.Tensor.__subclasses__()
            stop.wait(rng.random() * 1e-4)
            del objects
            stop.wait(rng.random() * 2e-4)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=monitor)
    thread.start()
    calls = list(transforms().items())
    try:
        for i in range(cases):
            name, call = calls[i % len(calls)]
            counts.judge(name, lambda c=call: one_case("the tensor", c, lambda x: x), none_alive)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)


PICTURED = {
    "SystemError: .*bad argument to internal function": (
        "Python makes a tuple larger in place, and refuses if a picture of all objects holds it"
    )
}


def test_pictures_by_another_thread(verdicts, full):
    counts = verdicts("pictures by another thread", PICTURED)
    beside_a_thread(counts, 16000 if full else 40)
    counts.settle()


def while_it_runs_again(counts, cases):
    """Another thread uses an escaped tensor while a backward pass runs its checkpoint again."""
    for i in range(cases):
        box, inside, asked, answers = [], threading.Event(), threading.Event(), []

        @ft.checkpoint
        def again(x, box=box, inside=inside, asked=asked):
            if box:
                inside.set()
                asked.wait(HANG)
            box.append(x)
            return np.sin(x)

        def look(box=box, inside=inside, asked=asked, answers=answers):
            inside.wait(HANG)
            try:
                answers.append(f"alive: {box[0] + 1.0!r}")
            except ft.LevelError as error:
                answers.append(error)
            asked.set()

        def f(x, again=again):
            return again(x * 2.0)

        _, pullback = ft.vjp(lambda x: ft.vmap(f)(x), XS)
        thread = threading.Thread(target=look)
        thread.start()
        pulled = pullback(np.ones(3))[0]
        thread.join()

        def right(_, pulled=pulled, answers=answers):
            np.testing.assert_allclose(pulled, 2 * np.cos(2 * XS))
            (answer,) = answers
            assert isinstance(answer, ft.EscapedTensorError), answer

        counts.judge(i, lambda: None, right)


def test_a_level_that_runs_again_is_live_in_its_own_context_alone(verdicts, full):
    counts = verdicts("checkpoints that run again, seen from another thread")
    while_it_runs_again(counts, 300 if full else 25)
    counts.settle()


# ---- the facts that this rests on, and the checks checked ----


def test_this_interpreter_has_the_facts():
    """On an interpreter without them every call mints: right, but slow."""
    ft.grad(lambda x: x * x)(1.0)
    if sys.implementation.name == "cpython" and sys.version_info < (3, 14):
        assert _spares._fits


def test_a_fact_that_differs_switches_reuse_off(monkeypatch):
    monkeypatch.setattr(_spares, "_fits", None)
    monkeypatch.setattr(_level.Level, "alone", _spares.ALONE + 1)
    monkeypatch.setattr(ft.Tensor.level, "spare", {})
    seen = []

    def f(x):
        seen.append(type(x))
        return x * x

    for _ in range(3):
        ft.grad(f)(1.0)
        seen[:] = [id(c) for c in seen if type(c) is not int] + [c for c in seen if type(c) is int]
    assert _spares._fits is False
    assert ft.Tensor.level.spare == {}


def test_planted_measurement_is_found(monkeypatch):
    """A count at the moment of the making takes a brief holder for usual."""
    faulty.measured(monkeypatch)
    counts = Verdicts("planted")
    at_each_allocation(counts, 60)
    assert counts.wrong


PARTS = {
    "the tuple of classes": "order",
    "the dictionary": "names",
    "the level": "level",
    "a weak reference to the class": "reference",
    "one with a callback": "weak",
}


@pytest.mark.parametrize("name", PARTS)
def test_planted_blindness_is_found(monkeypatch, name):
    """Each part is asked for its holders for a reason."""
    real, probe = sys.getrefcount, (object(),)
    own = next(map(lambda x: real(x), probe)) - next(map(real, probe))  # what a function holds
    blind = PARTS[name]
    values = {"order": _spares.ORDER, "names": _spares.NAMES, "reference": _spares.REFERENCE}

    def count(x):
        kind = {tuple: "order", dict: "names", weakref.ref: "reference"}.get(type(x), "")
        if kind == blind:
            return values[kind]
        if blind == "level" and isinstance(x, _level.Level):
            return x.expected[4]
        return real(x) - (1 if sys._getframe(1).f_code.co_name == "give_back" else own)

    monkeypatch.setattr(_spares, "count_references", count)
    if blind == "weak":
        monkeypatch.setattr(_spares, "_is_only_cached", lambda level: True)
    counts, hold = Verdicts("planted"), holders()[name]
    for _ in range(3):
        case = lambda: one_case(name, transforms()["grad"], hold)  # noqa: E731
        counts.judge("grad", case, none_alive)
    assert counts.wrong


def test_planted_revival_for_all_threads_is_found(monkeypatch):
    """An ended level that runs again must not be live for the threads beside."""
    faulty.revival_for_all_threads(monkeypatch)
    counts = Verdicts("planted")
    while_it_runs_again(counts, 10)
    assert len(counts.wrong) == 10
    assert all("alive: " in text for text in counts.wrong)
