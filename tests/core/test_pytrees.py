"""Pytrees of every kind, in every transform: order of keys, registered classes, None."""

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import optree
import optree.dataclasses
import optree.registry
import pytest

import functier as ft
from support.basics import close, equal, raises

X = np.arange(6.0).reshape(3, 2)
Y = 10.0 + np.arange(6.0).reshape(2, 3)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    weight: Any
    bias: Any


optree.register_pytree_node(
    Layer,
    lambda layer: ((layer.weight, layer.bias), None, ("weight", "bias")),
    lambda _, children: Layer(*children),
    namespace=optree.registry.__GLOBAL_NAMESPACE,
)


def moved(**items):
    tree = OrderedDict(items)
    tree.move_to_end("a")
    return tree


KINDS = {
    "list": (lambda x, y: [x, y], lambda t: (t[0], t[1])),
    "tuple": (lambda x, y: (x, (y,)), lambda t: (t[0], t[1][0])),
    "dict": (lambda x, y: {"b": x, "a": y}, lambda t: (t["b"], t["a"])),
    "keys": (lambda x, y: {1: x, "a": y}, lambda t: (t[1], t["a"])),
    "nested": (lambda x, y: {"p": [{"q": x}], "o": (y,)}, lambda t: (t["p"][0]["q"], t["o"][0])),
    "namedtuple": (Pair, lambda t: (t.first, t.second)),
    "dataclass": (Layer, lambda t: (t.weight, t.bias)),
    "ordered": (lambda x, y: OrderedDict(b=x, a=y), lambda t: (t["b"], t["a"])),
    "moved": (lambda x, y: moved(a=y, b=x), lambda t: (t["b"], next(t[k] for k in t if k != "b"))),
    "default": (lambda x, y: defaultdict(list, b=x, a=y), lambda t: (t["b"], t["a"])),
    "deque": (lambda x, y: deque([x, y]), lambda t: (t[0], t[1])),
    "none": (lambda x, y: [None, x, {"n": None}, y], lambda t: (t[1], t[3])),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def paths(tree):
    return set(optree.tree_paths(tree, namespace="functier"))


def same_kind(actual, expected):
    assert type(actual) is type(expected)
    assert paths(actual) == paths(expected)
    if isinstance(actual, dict):
        assert list(actual) == list(expected)  # the caller's order of keys


def test_vmap(kind):
    make, parts = kind

    def f(tree):
        x, y = parts(tree)
        assert x.shape == y.shape == (2,)
        return make(x + y, y)

    out = ft.vmap(f, (make(0, 1),))(make(X, Y))
    same_kind(out, make(X, Y))
    equal(parts(out)[0], X + Y.T)
    out = ft.vmap(f, (make(0, 1),), out_dims=make(0, 1))(make(X, Y))
    equal(parts(out)[0], X + Y.T)
    equal(parts(out)[1], Y)
    out = ft.vmap(lambda t: parts(t)[0] * parts(t)[1], (make(None, 1),))(make(X[0], Y))
    equal(out, X[0] * Y.T)


def test_derivatives(kind):
    make, parts = kind
    tree, other = make(X, Y), make(2 * X, 3 * Y)

    def f(t):
        x, y = parts(t)
        return np.sum(x * x) + 5 * np.sum(y)

    gradient = ft.grad(f)(tree)
    same_kind(gradient, tree)
    close(parts(gradient)[0], 2 * X)
    close(parts(gradient)[1], np.full((2, 3), 5.0))
    _, slope = ft.jvp(f, (tree,), (other,))
    close(slope, np.sum(4 * X * X) + 15 * np.sum(Y))
    output, pullback = ft.vjp(lambda t: make(parts(t)[1] * 2, parts(t)[0] * 3), tree)
    same_kind(output, tree)
    (cotangent,) = pullback(make(Y, X))
    same_kind(cotangent, tree)
    close(parts(cotangent)[0], 3 * X)
    close(parts(cotangent)[1], 2 * Y)


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: [s], lambda s: Layer(s, 1.0)])
def test_keys_of_an_ordered_dict_that_have_moved(wrap):
    s = moved(a=2.0, b=3.0)
    slope = ft.grad(lambda t: (s := get(t))[next(iter(s))] * 10 + s["b"])
    get = {list: lambda t: t[0], Layer: lambda t: t.weight}.get(type(wrap(s)), lambda t: t)

    assert list(get(slope(wrap(s))).items()) == [("b", 11.0), ("a", 0.0)]
    rows = wrap(moved(a=X[0], b=Y[0]))
    for kind in (OrderedDict, dict):
        dims = wrap(kind(a=None, b=0))
        dims = Layer(dims.weight, None) if isinstance(dims, Layer) else dims
        found = ft.vmap(lambda t: np.sum(get(t)["a"]) * get(t)["b"], (dims,))(rows)
        equal(found, X[0].sum() * Y[0])


def test_vmap_of_grad(kind):
    make, parts = kind
    slope = ft.grad(lambda t, z: np.sum(parts(t)[0] * z) * np.sum(parts(t)[1]))
    out = ft.vmap(slope, (make(0, None), 0))(make(X, Y), 2 * X)
    close(parts(out)[0], 2 * X * Y.sum())
    close(parts(out)[1], np.multiply.outer(np.sum(2 * X * X, axis=1), np.ones((2, 3))))


def test_dicts_whose_keys_stand_in_another_order():
    f = lambda p: 10 * p["b"] + p["a"]  # noqa: E731
    equal(ft.vmap(f, ({"a": 1, "b": 0},))({"b": X, "a": Y}), 10 * X + Y.T)
    _, t = ft.jvp(f, ({"b": 1.0, "a": 2.0},), ({"a": 1.0, "b": 0.0},))
    assert t == 1.0
    _, pullback = ft.vjp(lambda x: {"b": x, "a": 3 * x}, X)
    equal(pullback({"a": X, "b": 0 * X})[0], 3 * X)


def test_messages_name_the_leaf_whatever_the_order_of_the_keys():
    tree = {"b": np.ones(2), "a": np.ones(3), "c": np.ones(3)}
    raises(ValueError, lambda: ft.vmap(f)(tree), "args[0]['b'] has size 2", "batch size 3")
    integer = {"b": 1.0, "a": 3}
    raises(TypeError, lambda: ft.grad(f)(integer), "args[0]['a'] has dtype int64")
    raises(TypeError, lambda: ft.grad(f)(Layer(X, 3)), "args[0].bias has dtype int64")
    raises(TypeError, lambda: ft.grad(f)(Pair(X, [3])), "args[0].second[0] has dtype int64")


def f(tree):
    return np.sum(optree.tree_leaves(tree)[0])


# ---- classes of the user's own ----


@ft.register_dataclass
@dataclass
class Model:
    layers: Any
    rate: Any
    name: str = field(default="a", metadata={"static": True})


class Line:
    """A class that takes what it is given."""

    def __init__(self, slope, start):
        self.slope, self.start = slope, start


ft.register_pytree_node(
    Line, lambda a: ((a.slope, a.start), None, ("slope", "start")), lambda _, parts: Line(*parts)
)


def test_a_registered_dataclass():
    model = Model([X, {"W": Y}], 2.0, "mine")

    def f(m):
        assert m.name == "mine"
        return m.rate * np.sum(m.layers[0]) + np.sum(m.layers[1]["W"] ** 2)

    slopes = ft.grad(f)(model)
    assert type(slopes) is Model
    assert slopes.name == "mine"
    equal(slopes.layers[0], np.full((3, 2), 2.0))
    equal(slopes.layers[1]["W"], 2 * Y)
    equal(slopes.rate, np.sum(X))
    out = ft.vmap(lambda m: m, (Model([0, None], None, "mine"),), Model([0, None], None, "mine"))(
        model
    )
    equal(out.layers[0], X)
    assert out.rate == 2.0
    _, moved = ft.jvp(lambda m: m, (model,), (model,))
    equal(moved.layers[1]["W"], Y)
    jacobian = ft.jacrev(lambda m: Model([m.rate * m.rate], m.layers[0][0], "out"))(model)
    assert jacobian.layers[0].rate == 4.0
    assert jacobian.rate.layers[0].shape == (2, 3, 2)
    assert (jacobian.name, jacobian.rate.name) == ("out", "mine")


def test_a_registered_class():
    slopes = ft.grad(lambda a: a.slope * 3.0 + a.start**2)(Line(2.0, 5.0))
    assert (slopes.slope, slopes.start) == (3.0, 10.0)
    raises(TypeError, lambda: ft.grad(f)([Line(X, 3)]), "args[0][0].start has dtype int64")
    rows = ft.vmap(lambda a: Line(a.start, a.slope))(Line(X, X[:, 0]))
    equal(rows.slope, X[:, 0])


def test_meta_fields_are_part_of_the_structure():
    model = Model([X], 1.0, "a")
    _, pull = ft.vjp(lambda m: m, model)
    raises(ValueError, lambda: pull(Model([X], 1.0, "b")), "structure")
    equal(pull(Model([X], 1.0, "a"))[0].layers[0], X)


def test_options_of_register_dataclass():
    @partial(ft.register_dataclass, data_fields=["b"], meta_fields=["a"])
    @dataclass(frozen=True)
    class Given:
        a: str
        b: Any

    assert ft.grad(lambda g: g.b * len(g.a))(Given("xyz", 1.0)) == Given("xyz", 3.0)

    @ft.register_dataclass(meta_fields=("n",))
    @dataclass(slots=True, kw_only=True)
    class Powers:
        n: int
        x: Any
        cached: Any = field(default=None, init=False)

        def __post_init__(self):
            self.cached = self.x**self.n

    slopes = ft.grad(lambda p: p.cached)(Powers(n=3, x=2.0))
    assert (slopes.n, slopes.x) == (3, 12.0)

    @ft.register_dataclass
    @dataclass
    class Base:
        x: Any

    @dataclass
    class Derived(Base):  # which is no node, as it is another class
        y: Any = 1.0

    raises(
        TypeError, lambda: ft.grad(f)(Derived(1.0)), "args[0] is a Derived", "register_dataclass"
    )


def test_nodes_that_are_registered_with_optree():
    """Globally, or in the namespace of functier."""

    @optree.dataclasses.dataclass(namespace="functier")
    class Own:
        x: Any
        n: int = optree.dataclasses.field(default=2, pytree_node=False)

    @optree.dataclasses.dataclass(namespace=optree.registry.__GLOBAL_NAMESPACE)
    class Everywhere:
        x: Any

    @optree.dataclasses.dataclass(namespace="elsewhere")
    class Elsewhere:
        x: Any

    assert ft.grad(lambda t: t.x**t.n)(Own(3.0)).x == 6.0
    assert ft.grad(lambda t: t.x**2)(Everywhere(3.0)).x == 6.0
    raises(TypeError, lambda: ft.grad(f)(Elsewhere(3.0)), "register_dataclass(Elsewhere)")


ERRORS = [
    (lambda: ft.register_dataclass(Line), TypeError, "not a dataclass | register_pytree_node"),
    (lambda: ft.register_dataclass(Model), ValueError, "(Model) | already a node of pytrees"),
    (lambda: ft.register_pytree_node(Line, len, len), ValueError, "(Line) | already"),
    (lambda: ft.register_pytree_node(dict, len, len), ValueError, "(dict) | already"),
    (lambda: ft.register_pytree_node(3, len, len), TypeError, "3 is not a class"),
    (lambda: ft.register_pytree_node(Layer, len, 3), TypeError, "unflatten is a int"),
    (lambda: register_fields(["a"]), ValueError, "field 'b' | data_fields=['a']"),
    (lambda: register_fields(["a", "b", "c"]), ValueError, "field 'c'"),
    (lambda: register_fields(["a", "b"], ["b"]), ValueError, "field 'b' | once"),
    (lambda: register_fields(["a", "derived", "b"]), ValueError, "field 'derived' | __init__"),
    (lambda: register_fields(None, "a"), ValueError, "meta_fields='a' is one str"),
]


@pytest.mark.parametrize(("register", "kind", "parts"), ERRORS)
def test_errors_of_registration(register, kind, parts):
    raises(kind, register, parts)


def register_fields(*fields):
    @dataclass
    class Fresh:
        a: Any
        b: Any
        derived: Any = field(default=0, init=False)

    return ft.register_dataclass(Fresh, *fields)


# ---- what is no node: every transform says where it is ----


@dataclass
class Unknown:
    w: Any


class Plain:
    pass


CALLS = {
    "vmap": lambda tree: ft.vmap(f)(tree),
    "grad": lambda tree: ft.grad(f)(tree),
    "value_and_grad": lambda tree: ft.value_and_grad(f)(tree),
    "vjp": lambda tree: ft.vjp(f, tree),
    "jvp": lambda tree: ft.jvp(f, (tree,), (tree,)),
    "jacrev": lambda tree: ft.jacrev(f)(tree),
    "jacfwd": lambda tree: ft.jacfwd(f)(tree),
    "hessian": lambda tree: ft.hessian(f)(tree),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_unregistered_class_among_the_arguments(name):
    tree = {"m": [X, Unknown(X)]}
    root = "primals[0]" if name in ("vjp", "jvp") else "args[0]"
    said = f"{root}['m'][1] is a", "Unknown", "functier.register_dataclass(Unknown)"
    kind = ValueError if name == "vmap" else TypeError
    raises(kind, lambda: CALLS[name](tree), *said)
    raises(kind, lambda: CALLS[name]({"m": [Plain()]}), "functier.register_pytree_node(Plain, ...)")


@pytest.mark.parametrize("name", CALLS)
def test_an_unregistered_class_in_the_result(name):
    def returns(x):
        return {"out": [Unknown(x)]}

    calls = {
        "vmap": lambda: ft.vmap(returns)(X),
        "vjp": lambda: ft.vjp(returns, X),
        "jvp": lambda: ft.jvp(returns, (X,), (X,)),
        "jacrev": lambda: ft.jacrev(returns)(X),
        "jacfwd": lambda: ft.jacfwd(returns)(X),
    }
    if name in calls:
        said = "the result['out'][0] is ", "return arrays", "register_dataclass(Unknown)"
        raises(TypeError, calls[name], *said)
    else:
        said = "register_dataclass(Unknown)" if name == "hessian" else "return one scalar"
        raises(TypeError, lambda: getattr(ft, name)(returns)(X), said)


def test_containers_without_leaves():
    for empty in ({}, [], (), None, {"a": [None, ()]}, OrderedDict(), deque()):
        out = ft.vmap(lambda x, e: (x, e))(X, empty)
        same_kind(out[1], empty)
        slopes = ft.grad(lambda t: np.sum(t[0]))((X, empty))
        same_kind(slopes[1], empty)
        assert ft.jvp(lambda x, empty=empty: (x, empty), (X,), (X,))[1][1] == empty


def test_a_class_that_takes_nothing_but_arrays_can_be_described():
    """Messages show its leaves where it cannot be made of other things."""

    @ft.register_dataclass
    @dataclass
    class Strict:
        x: Any

        def __post_init__(self):
            if not isinstance(self.x, (np.ndarray, ft.Tensor)):
                raise TypeError("no array")

    _, pull = ft.vjp(lambda s: s, Strict(X))
    raises(ValueError, lambda: pull([X]), "a Strict with the leaves [float64[3, 2]]")
