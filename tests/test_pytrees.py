"""Pytrees of every kind, in every transform: order of keys, registered classes, None."""

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import optree
import optree.registry
import pytest

import functier as ft
from support import close, equal, raises

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

KINDS = {
    "list": (lambda x, y: [x, y], lambda t: (t[0], t[1])),
    "tuple": (lambda x, y: (x, (y,)), lambda t: (t[0], t[1][0])),
    "dict": (lambda x, y: {"b": x, "a": y}, lambda t: (t["b"], t["a"])),
    "keys": (lambda x, y: {1: x, "a": y}, lambda t: (t[1], t["a"])),
    "nested": (lambda x, y: {"p": [{"q": x}], "o": (y,)}, lambda t: (t["p"][0]["q"], t["o"][0])),
    "namedtuple": (Pair, lambda t: (t.first, t.second)),
    "dataclass": (Layer, lambda t: (t.weight, t.bias)),
    "ordered": (lambda x, y: OrderedDict(b=x, a=y), lambda t: (t["b"], t["a"])),
    "default": (lambda x, y: defaultdict(list, b=x, a=y), lambda t: (t["b"], t["a"])),
    "deque": (lambda x, y: deque([x, y]), lambda t: (t[0], t[1])),
    "none": (lambda x, y: [None, x, {"n": None}, y], lambda t: (t[1], t[3])),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def same_kind(actual, expected):
    assert type(actual) is type(expected)
    assert optree.tree_structure(actual) == optree.tree_structure(expected)
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
