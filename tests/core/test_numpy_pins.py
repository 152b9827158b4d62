"""Pins of NumPy's behaviour that functier leans on; a NumPy that changes one fails here."""

import gc
import weakref
from typing import ClassVar

import numpy as np
import pytest

from support.basics import raises


class Outer:
    """Records who is asked; the protocols alone, nothing of functier."""

    asked: ClassVar[list] = []

    def __init__(self, answer=True):
        self.answer = answer

    def __array_function__(self, func, types, args, kwargs):
        self.asked.append(type(self))
        return (func, types) if self.answer else NotImplemented

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.asked.append(type(self))
        return (ufunc, method, inputs, kwargs) if self.answer else NotImplemented


class Middle(Outer):
    """One level in."""


class Inner(Middle):
    """Two levels in."""


class Sibling(Outer):
    """Beside `Middle`."""


class Foreign:
    """Another library's array that never answers."""

    asked = Outer.asked
    __array_function__ = __array_ufunc__ = lambda self, *args, **kwargs: (
        self.asked.append(type(self)) or NotImplemented
    )


@pytest.fixture(autouse=True)
def forget():
    Outer.asked.clear()


# ---- the order in which classes are asked ----


@pytest.mark.parametrize(
    "classes",
    [
        (Outer, Middle, Inner),
        (Inner, Middle, Outer),
        (Middle, Outer, Inner),
        (Outer, Inner, Middle),
    ],
)
def test_functions_ask_subclasses_first(classes):
    with pytest.raises(TypeError, match="no implementation found"):
        np.stack([cls(answer=False) for cls in classes])

    assert Outer.asked == [Inner, Middle, Outer]


@pytest.mark.parametrize(
    "classes", [(Outer, Inner), (Inner, Outer), (Middle, Inner), (Outer, Middle)]
)
def test_ufuncs_ask_subclasses_first(classes):
    with pytest.raises(TypeError, match="all returned NotImplemented"):
        np.add(*[cls(answer=False) for cls in classes])

    assert Outer.asked == sorted(classes, key=lambda c: -len(c.__mro__))


def test_first_answer_wins():
    np.stack([Outer(), Middle(), Inner()])
    np.add(Outer(), Inner())

    assert Outer.asked == [Inner, Inner]


def test_functions_ask_each_class_once():
    with pytest.raises(TypeError):
        np.stack([Outer(answer=False), Inner(answer=False), Outer(answer=False)])

    assert Outer.asked == [Inner, Outer]


def test_ufuncs_ask_each_class_once():
    raises(TypeError, lambda: np.add(Outer(answer=False), Outer(answer=False)))

    assert Outer.asked == [Outer]


def test_siblings_are_asked_left_to_right():
    for pair in ((Middle, Sibling), (Sibling, Middle)):
        Outer.asked.clear()
        raises(TypeError, lambda: np.stack([cls(answer=False) for cls in pair]))
        raises(TypeError, lambda: np.add(*[cls(answer=False) for cls in pair]))

        assert Outer.asked == [*pair, *pair]


def test_inner_class_comes_before_an_unrelated_one_on_its_left():
    """Only before its own superclasses: a foreign class on the left is asked first."""
    np.stack([Foreign(), Inner(), Outer()])

    assert Outer.asked == [Foreign, Inner]


def test_types_are_each_class_once_in_the_order_of_the_asking():
    func, types = np.stack([Outer(), Inner(), Outer()])

    assert func is np.stack
    assert set(types) == {Inner, Outer}


def test_exception_of_a_hook_passes_through():
    class Raising(Outer):
        def __array_function__(self, *args):
            raise KeyError("mine")

        def __array_ufunc__(self, *args, **kwargs):
            raise KeyError("mine")

    raises(KeyError, lambda: np.sum(Raising()), "mine")
    raises(KeyError, lambda: np.add(Raising(), 1), "mine")


# ---- what dispatches, and what arrives ----


def test_out_and_where_dispatch():
    x, t = np.ones(3), Outer()

    assert np.add(x, 1, out=t)[3]["out"] == (t,)
    assert np.add(x, 1, where=t)[3]["where"] is t
    assert np.sum(x, where=t)[0] is np.add
    assert Outer.asked == [Outer] * 3


def test_ufunc_methods_arrive_with_their_names():
    t = Outer()

    assert np.add.reduce(t)[:2] == (np.add, "reduce")
    assert np.add.accumulate(t)[:2] == (np.add, "accumulate")
    assert np.add.reduceat(t, [0])[:2] == (np.add, "reduceat")
    assert np.add.outer(t, t)[:2] == (np.add, "outer")
    assert np.add(t, 1) == (np.add, "__call__", (t, 1), {})


def test_array_on_the_left_of_an_operator_asks_the_ufunc():
    t = Outer()

    assert (np.ones(2) + t)[0] is np.add
    assert (np.ones((2, 2)) @ t)[0] is np.matmul
    assert (np.float64(1) * t)[0] is np.multiply
    assert (np.ones(2) < t)[0] is np.less


def test_in_place_operator_arrives_with_out():
    x = np.ones(2)
    x += Outer()

    assert x[3]["out"][0].shape == (2,)


def test_methods_of_arrays_that_dispatch():
    t = Outer()

    assert np.ones(2).clip(t)[0] is np.maximum
    assert np.ones(2).__add__(t)[0] is np.add


def test_array_ufunc_none_opts_out_of_operators():
    class OptsOut:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "reflected"

    assert np.ones(2) + OptsOut() == "reflected"


# ---- holes: what asks nobody ----


class Closed(Outer):
    """Refuses to become an array or a number."""

    def refuse(self, *args, **kwargs):
        raise RuntimeError("asked to leave")

    __array__ = __float__ = __complex__ = __index__ = __int__ = __bool__ = refuse


HOLES = {
    "asarray": lambda t: np.asarray(t),
    "asanyarray": lambda t: np.asanyarray(t),
    "array": lambda t: np.array(t),
    "array of a list": lambda t: np.array([t, t], dtype=float),
    "ascontiguousarray": lambda t: np.ascontiguousarray(t),
    "full": lambda t: np.full((2,), t),
    "arange": lambda t: np.arange(t),
    "float": lambda t: float(t),
    "complex": lambda t: complex(t),
    "zeros": lambda t: np.zeros(t),
    "ndarray[t]": lambda t: np.ones(3)[t],
    "ndarray[t] = 1": lambda t: np.ones(3).__setitem__(t, 1.0),
    "ndarray[0] = t": lambda t: np.ones(3).__setitem__(0, t),
    "ndarray.dot": lambda t: np.ones(3).dot(t),
    "ndarray.take": lambda t: np.ones(3).take(t),
    "float64": lambda t: np.float64(t),
    "ndarray.fill": lambda t: np.ones(3).fill(t),
}


@pytest.mark.parametrize("hole", HOLES)
def test_hole_does_not_dispatch(hole):
    raises(RuntimeError, lambda: HOLES[hole](Closed()), "asked to leave")

    assert not Outer.asked


def test_initial_does_not_dispatch():
    raises(RuntimeError, lambda: np.sum(np.ones(2), initial=Closed()), "asked to leave")


@pytest.mark.parametrize(
    "make",
    [lambda t: np.full_like(np.ones(2), t), lambda t: np.full((2,), t, dtype=float)],
    ids=["full_like", "full with a dtype"],
)
def test_filling_an_array_calls_copyto(make):
    """The trap: the fill value meets an array that nobody has written to."""
    seen = []

    class Copied(Outer):
        def __array_function__(self, func, types, args, kwargs):
            seen.append((func, args))

    t = Copied()
    result = make(t)

    assert type(result) is np.ndarray
    [(func, args)] = seen
    assert func is np.copyto
    assert args[0] is result
    assert args[1] is t


# ---- which functions are one object ----


@pytest.mark.parametrize(
    "names",
    [
        "divide true_divide", "conj conjugate", "abs absolute", "mod remainder",
        "permute_dims transpose", "concat concatenate", "acos arccos", "asinh arcsinh",
        "atan2 arctan2", "pow power", "bitwise_not invert", "bitwise_invert invert",
        "bitwise_left_shift left_shift", "bitwise_right_shift right_shift",
    ],
)  # fmt: skip
def test_alias_is_the_same_object(names):
    a, b = names.split()

    assert getattr(np, a) is getattr(np, b)


@pytest.mark.parametrize(
    "pair",
    [
        ("amax", "max"), ("amin", "min"), ("around", "round"), ("fix", "trunc"),
        ("linalg.outer", "outer"), ("linalg.matmul", "matmul"), ("linalg.trace", "trace"),
        ("linalg.diagonal", "diagonal"), ("linalg.cross", "cross"),
        ("linalg.tensordot", "tensordot"), ("linalg.vecdot", "vecdot"),
        ("linalg.matrix_transpose", "matrix_transpose"),
    ],
)  # fmt: skip
def test_alias_is_another_object(pair):
    a, b = map(found, pair)

    assert a is not b


def found(path):
    value = np
    for name in path.split("."):
        value = getattr(value, name)
    return value


def test_ufunc_methods_are_equal_keys():
    """A table can have a ufunc's method as its key, though each look-up makes a new object."""
    assert np.add.reduce is not np.add.reduce
    assert np.add.reduce == np.add.reduce
    assert hash(np.add.reduce) == hash(np.add.reduce)
    assert np.add.reduce != np.multiply.reduce
    assert np.add.reduce != np.add.accumulate
    assert np.add.reduce.__self__ is np.add


# ---- what the record of an operation reads ----


def test_python_scalars_are_weak():
    assert (np.ones(2, np.float32) * 2.0).dtype == np.float32
    assert (np.ones(2, np.float32) * np.float64(2.0)).dtype == np.float64
    assert (np.ones(2, np.float32) * np.ones(())).dtype == np.float64


def test_minted_class_is_freed_by_the_collector_alone():
    enabled = gc.isenabled()
    gc.disable()
    try:
        cls = weakref.ref(type("Minted", (Outer,), {"__slots__": ()}))
        assert cls() is not None
        gc.collect()
        assert cls() is None
    finally:
        if enabled:
            gc.enable()


def test_method_resolution_puts_the_inner_class_first():
    assert Inner.__mro__[:3] == (Inner, Middle, Outer)
