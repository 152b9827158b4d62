"""Arguments of compiled functions: values, objects that are trees, methods, and refusals."""

import collections
import dataclasses
import decimal
import enum
import functools
import gc
import pickle
import re
import types
import weakref

import numpy as np
import pytest

import functier as ft
from functier._core.pytree import flatten
from functier._programs.arguments import facts_of, is_same, key_of, opened
from support.basics import raises

pytestmark = pytest.mark.inside("Which values are the same for a program is asked pair by pair.")

X = np.array([0.5, -1.0, 2.0])


@dataclasses.dataclass
class Settings:
    rate: float
    name: str = "a"
    table: dict = dataclasses.field(default_factory=dict)

    def scaled(self, x):
        return self.rate * x


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    rate: np.ndarray
    inner: Settings | None = None


class Plain:
    def __init__(self, rate):
        self.rate = rate

    def scaled(self, x):
        return self.rate * x

    @ft.compile
    def compiled(self, x):
        return self.rate * x


class Colour(enum.Enum):
    RED = 1


class Lies:
    __hash__ = object.__hash__

    def __eq__(self, other):
        raise AssertionError("it is not asked")


class Slots:
    __slots__ = ("rate",)

    @ft.compile
    def compiled(self, x):
        return self.rate * x


# ---- values ----

ALIKE = [
    (1, 1), ("two", "".join(["t", "wo"])), (frozenset([1, 2]), frozenset([1, 2])),
    (slice(0, 2), slice(0, 2)), (range(3), range(3)), (np.dtype("f8"), np.dtype(float)),
    (np.dtype([("a", "f8")]), np.dtype([("a", "f8")])), (Colour.RED, Colour.RED),
    ((1.0, (None, b"a")), (1.0, (None, b"a"))), (np.sin, np.sin), (np.add.reduce, np.add.reduce),
    ("".join, "".join), (dict.fromkeys, dict.fromkeys), (len, len), (Plain.scaled, Plain.scaled),
    (float("nan"), float("nan")), (..., ...), (np.float32(2), np.float32(2)),
]  # fmt: skip
OTHER = [
    (1, True), (1, 1.0), (0.0, -0.0), ("a", b"a"), (frozenset([1]), frozenset([True])),
    (slice(1, 2), slice(True, 2)), (range(0), range(1, 1)), (np.dtype("f8"), np.dtype(">f8")),
    (np.dtype([("a", "f8")]), np.dtype([("b", "f8")])), (np.dtype("f8"), np.dtype(("f8", (1,)))),
    ((1,), [1]), (np.float32(2), np.float64(2)), (np.add.reduce, np.multiply.reduce),
    ("a".join, "b".join), (lambda: 1, lambda: 1), (Plain(1.0).scaled, Plain(1.0).scaled),
    (np.dtype("f8", metadata={"a": 1}), np.dtype("f8", metadata={"a": 1})), (Lies(), Lies()),
    (np.array([None])[0], 0), (1j, complex(1, 0)), (type("S", (str,), {})("a"), "a"),
]  # fmt: skip


@pytest.mark.parametrize("pair", ALIKE, ids=lambda pair: type(pair[0]).__name__)
def test_values_that_are_the_same(pair):
    assert is_same(*pair)
    assert is_same(*pair[::-1])


@pytest.mark.parametrize("pair", OTHER, ids=lambda pair: type(pair[0]).__name__)
def test_values_that_are_not(pair):
    assert not is_same(*pair)
    assert not is_same(*pair[::-1])


REFUSED = {
    "set": ({1}, r"write frozenset\(x\)"), "bytearray": (bytearray(b"a"), r"write bytes\(x\)"),
    "number": (type("Rate", (float,), {})(2.0), r"write float\(x\)"),
    "text": (type("Text", (str,), {})("a"), r"write str\(x\)"),
    "iterator": (iter([1]), r"write list\(x\)"), "generator": ((i for i in ()), r"list\(x\)"),
    "memory": (memoryview(b"a"), r"numpy.asarray\(x\)"),
    "object": (Plain(1.0), r"write @dataclasses.dataclass above the class Plain, whose fields"),
    "in a list": ([Plain(1.0)], r"the argument d\[0\] is a Plain"),
    "in data": (Settings(Plain(1.0)), r"the argument d.rate is a Plain"),
    "in a partial": (functools.partial(len, Plain(1.0)), r"the argument d.args\[0\] is a Plain"),
    "method of a list": ([].append, "pass a tuple of what the function reads"),
    "decimal": (decimal.Decimal(1), "pass a tuple"), "lies": (Lies(), "above the class Lies"),
    "cached": (functools.lru_cache(len), r"write x.__wrapped__"),
    "objects": (np.array([Plain(1.0)]), r"an array of objects.*numpy.array\(x, float\)"),
    "proxy": (types.MappingProxyType({}), "pass a tuple"),
    "user's list": (collections.UserList([1.0]), r"numpy.asarray\(x\)"),
    "data over a list": (
        dataclasses.make_dataclass("Over", [], bases=(dict,))(), "is an Over.* pass a tuple",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("transform", [ft.compile, ft.trace])
def test_objects_that_may_change_are_refused(name, transform):
    given, text = REFUSED[name]
    with pytest.raises(TypeError, match=text) as error:
        transform(lambda x, d: x)(X, given)
    assert re.match(rf"{transform.__name__}\(<lambda>\): the argument d", str(error.value))


def test_what_a_refusal_says_works():
    def f(x, d):
        return x * d.rate

    given = Plain(2.0)
    for closes in (lambda x: f(x, given), functools.partial(f, d=given)):
        assert np.array_equal(ft.compile(closes)(X), X * 2)
    own = type("Own", (Plain,), {})
    ft.register_pytree_node(own, lambda a: ((a.rate,), None), lambda _, parts: own(*parts))
    data = dataclasses.make_dataclass("Data", [("rate", float)])
    compiled = ft.compile(f)
    for kind in (own, data):
        for rate in (2.0, 3.0):
            assert np.array_equal(compiled(X, kind(rate)), X * rate)
    assert compiled._traced == 2


# ---- objects that are trees ----


def test_data_is_a_tree():
    def f(x, d):
        return d.scaled(x) + len(d.name) + d.table["w"]

    compiled = ft.compile(f)
    d = Settings(2.0, table={"w": X})
    for rate in (2.0, 3.0, -1.0):
        d.rate = rate
        d.table["w"] += 1.0
        assert np.array_equal(compiled(X, d), f(X, d))
    assert compiled._traced == 1
    d.name = "ab"
    assert np.array_equal(compiled(X, d), f(X, d))
    vars(d)["extra"] = 1
    assert np.array_equal(compiled(X, d), f(X, d))
    assert compiled._traced == 3


@pytest.mark.parametrize("rest", [(), ({"k": 1.0},), (collections.OrderedDict(a=X),), ({1: X},)])
def test_data_beside_other_trees(rest):
    def f(d, *rest):
        return d.rate * 2 + d.inner.rate, rest

    compiled = ft.compile(f)
    for rate in (X * 1, X + 1):
        d = Frozen(rate, Settings(3.0))
        found, wanted = compiled(d, *rest), f(d, *rest)
        assert np.array_equal(found[0], wanted[0])
        assert type(found[1]) is tuple
    assert compiled._traced == 1


def test_a_copy_of_data_is_made_by_none_of_its_code():
    class Careful(Settings):
        def __post_init__(self):
            raise AssertionError

        __init__ = __setattr__ = __reduce_ex__ = __copy__ = __post_init__

    d = object.__new__(Careful)
    object.__getattribute__(d, "__dict__").update(rate=2.0)
    program = ft.trace(lambda x, d: x * object.__getattribute__(d, "rate"))(X, d)
    assert np.array_equal(program(X, d), X * 2)


def test_data_that_is_written_to_is_refused():
    def f(x, d):
        d.rate = d.rate + 1
        return x

    for name in ("rate", "name"):
        with pytest.raises(ft.MutationError, match="puts another value into a container"):
            ft.compile(lambda x, d, name=name: setattr(d, name, "b"))(X, Settings(2.0))
    d = Settings(2.0)
    raises(ft.MutationError, lambda: ft.compile(f)(X, d))
    assert d.rate == 2.0


def test_data_that_contains_itself_is_refused():
    d = Settings(2.0)
    d.table["d"] = d
    raises(ValueError, lambda: ft.compile(lambda d: d.rate)(d), "contains itself")


def test_partials_and_methods_are_trees():
    compiled = ft.compile(lambda x, g: g(x))
    for rate in (2.0, 3.0):
        assert np.array_equal(compiled(X, functools.partial(np.multiply, rate)), X * rate)
        assert np.array_equal(compiled(X, Settings(rate).scaled), X * rate)
        assert np.array_equal(compiled(X, Plain(rate).scaled), X * rate)
    assert compiled._traced == 4


def test_a_program_of_data_is_shown_and_pickled():
    d = Settings(2.0, table={1: X})
    program = ft.trace(vary)(X, d)
    assert "def vary(x, d_rate" in program.source or "rate" in program.source
    again = pickle.loads(pickle.dumps(program))
    d.rate = 3.0
    assert np.array_equal(again(X, d), vary(X, d))
    raises(TypeError, lambda: again(X, Settings(2.0, table={True: X})), "a different structure")


def vary(x, d):
    return x * d.rate + d.table[1]


def test_facts():
    def facts(tree):
        return facts_of(flatten(opened(tree))[1])

    assert facts({1: X}) != facts({True: X})
    assert facts({1: [X]}) != facts({True: [X]})
    assert facts({"a": X, "b": X}) != facts({"b": X, "a": X})
    assert facts({"a": 1, "b": X}) != facts({"b": X, "a": 1})
    assert facts(([{"a": X}], None)) == facts(([{"a": 1.0}], None))
    assert facts(collections.OrderedDict({1: X})) != facts(collections.OrderedDict({True: X}))
    assert facts(collections.defaultdict(int, a=X)) != facts(collections.defaultdict(list, a=X))
    assert facts(Settings(1.0)) == facts(Settings(2.0))
    assert key_of(Lies()) is None


# ---- methods ----


def test_methods_have_programs_for_each_object():
    one, two = Plain(2.0), Plain(3.0)
    for _ in range(2):
        assert np.array_equal(one.compiled(X), X * 2)
        assert np.array_equal(two.compiled(X), X * 3)
        assert np.array_equal(Plain.compiled(one, X), X * 2)
    assert [m.compiled.func._traced for m in (one, two)] == [1, 1]
    assert np.array_equal(Plain(4.0).compiled(X), X * 4)
    assert np.array_equal(ft.vmap(one.compiled)(X), X * 2)


def test_a_method_does_not_keep_its_object():
    given = Plain(2.0)
    given.compiled(X)
    key, reference = id(given), weakref.ref(given)
    assert key in Plain.compiled._objects.table
    del given
    gc.collect()
    assert reference() is None
    assert key not in Plain.compiled._objects.table


class Anew(Plain):
    @ft.compile
    def compiled(self, x):
        return self.rate * x


def test_objects_that_are_made_for_one_call_are_not_traced():
    with pytest.warns(RuntimeWarning, match="objects that are new") as told:
        for rate in range(50):
            assert np.array_equal(Anew(rate).compiled(X), X * rate)
    assert len(told) == 1
    assert Anew.compiled._objects.debt // 16 == 3
    kept = Anew(3.0)
    for _ in range(9):
        assert np.array_equal(kept.compiled(X), X * 3)
    assert len(kept.compiled.programs) == 1


def test_an_object_that_has_no_weak_references_is_kept():
    for rate in (2.0, 3.0):
        given = Slots()
        given.rate = rate
        assert np.array_equal(given.compiled(X), X * rate)


def test_methods_that_are_given_to_compile():
    given = Plain(2.0)
    assert np.array_equal(ft.compile(given.scaled)(X), X * 2)
    compiled = ft.compile(Plain.scaled)
    assert np.array_equal(compiled(given, X), X * 2)
    assert np.array_equal(compiled(Plain(3.0), X), X * 3)
    slope = ft.compile(ft.grad(weighed, argnums=1))
    raises(TypeError, lambda: slope(given, X), "the argument self is a Plain")
    Plain.weighed = weighed
    try:
        assert np.array_equal(slope(given, X), [2.0, 2.0, 2.0])
    finally:
        del Plain.weighed


def weighed(self, x):
    return np.sum(self.scaled(x))


def test_a_module_has_one_program_for_all_objects_of_a_form():
    class Scale(ft.nn.Module):
        def __init__(self, rate, sizes):
            super().__init__()
            self.weight, self.sizes = ft.nn.Parameter([rate]), sizes

        @ft.compile
        def forward(self, x):
            return self.weight * x * len(self.sizes)

    for rate in (2.0, 3.0):
        assert np.array_equal(Scale(rate, [1])(X), X * rate)
    assert Scale.forward._traced == 1
    model = Scale(2.0, [1])
    model.sizes.append(2)
    assert np.array_equal(model(X), X * 4)
    assert Scale.forward._traced == 2


@pytest.mark.parametrize("inside", [True, False])
def test_a_number_among_the_arguments_is_weak_at_levels_inside(inside):
    x = np.ones((2, 3), np.float32)
    if inside:
        f = ft.compile(lambda x, c: ft.vmap(lambda row: np.sum(row * c))(x), backend="numpy")
    else:
        f = ft.compile(ft.vmap(lambda row, c: np.sum(row * c), (0, None)), backend="numpy")
    for _ in range(2):
        assert f(x, 0.5).dtype == np.float32
