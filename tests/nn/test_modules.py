"""functional_call, stack_module_state and unwrap, with both kinds of modules."""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import functier as ft
from functier import nn
from support.basics import close, equal, in_threads, raises

X = np.array([1.0, -2.0])


# ---- modules that are pytrees ----


@ft.register_dataclass
@dataclass
class Linear:
    weight: Any
    bias: Any

    def __call__(self, x):
        return self.weight @ x + self.bias


@ft.register_dataclass
@dataclass
class Net:
    layers: list
    head: dict
    power: int = field(default=1, metadata={"static": True})

    def __call__(self, x, scale=1.0):
        for layer in self.layers:
            x = np.tanh(layer(x))
        return scale * np.sum(self.head["w"] * x**self.power) + self.head["shift"]


def net(seed=0, power=1):
    rng = np.random.default_rng(seed)
    linear = lambda: Linear(rng.normal(size=(2, 2)), rng.normal(size=2))  # noqa: E731
    head = {"w": rng.normal(size=2), "shift": np.array(seed)}
    return Net([linear(), linear()], head, power)


# ---- modules of functier.nn ----


class Dense(nn.Module):
    def __init__(self, rng):
        super().__init__()
        self.weight = nn.Parameter(rng.normal(size=(2, 2)))
        self.bias = nn.Parameter(rng.normal(size=2))

    def forward(self, x):
        return self.weight @ x + self.bias


class Chain(nn.Module):
    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.layers = nn.ModuleList([Dense(rng), Dense(rng)])
        self.scale = nn.Parameter(1.0)
        self.register_buffer("calls", np.array(0))
        self.seen = []
        self.lock = threading.Lock()  # which nobody can copy

    def forward(self, x):
        self.calls = self.calls + 1
        for layer in self.layers:
            x = layer(x)
        return self.scale * np.sum(x)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Dense(np.random.default_rng(3))
        self.same = self.a
        self.c = Dense(np.random.default_rng(4))
        self.c.weight = self.a.weight

    def forward(self, x):
        return self.a.weight @ x, self.same.weight @ x, self.c.weight @ x


MODULES = {"pytree": net, "module": Chain}


@pytest.fixture(params=MODULES)
def make(request):
    return MODULES[request.param]


WEIGHT = "layers.1.weight"


def state(model):
    params, buffers = ft.stack_module_state([model])
    return ({k: v[0] for k, v in params.items()}, {k: v[0] for k, v in buffers.items()})


# ---- functional_call ----


def test_names():
    params, buffers = state(net())
    layers = [f"layers.{i}.{name}" for i in (0, 1) for name in ("weight", "bias")]
    assert [*params] == [*layers, "head.w"]
    assert [*buffers] == ["head.shift"]
    params, buffers = state(Chain())
    assert [*params] == ["scale", *layers]
    assert [*buffers] == ["calls"]


def test_the_modules_own_state_gives_its_own_result(make):
    model = make()
    equal(ft.functional_call(model, state(model), X), make()(X))
    equal(ft.functional_call(model, {}, (X,)), make()(X))
    equal(ft.functional_call(model, {}, None, {"x": X}), make()(X))
    params, buffers = state(model)
    equal(ft.functional_call(model, params | buffers, X, strict=True), make()(X))


def test_other_arrays_take_the_place_of_its_own(make):
    model, other = make(0), make(1)
    wanted = make(0)
    wanted.layers[1].weight = other.layers[1].weight
    before = {k: v.copy() for k, v in state(model)[0].items()}
    own = model.layers[1].weight
    equal(ft.functional_call(model, {WEIGHT: other.layers[1].weight}, X), wanted(X))
    assert model.layers[1].weight is own
    for name, x in state(model)[0].items():
        equal(x, before[name])
    equal(ft.functional_call(model, state(other), X), make(1)(X))


def test_the_module_is_left_as_it_is_by_what_the_call_assigns():
    model = Chain()
    ft.functional_call(model, state(model), X)
    equal(model.calls, np.array(0))

    class Failing(Chain):
        def forward(self, x):
            self.scale = None
            self.seen.append(x)
            del self.layers[0]
            raise RuntimeError("inside")

    model = Failing()
    raises(RuntimeError, lambda: ft.functional_call(model, state(model), X), "inside")
    equal(model.scale, np.array(1.0))
    assert len(model.layers) == 2 and not model.seen


def test_keyword_arguments():
    model = net()
    equal(ft.functional_call(model, {}, (X, 3.0)), model(X, 3.0))
    equal(ft.functional_call(model, {}, X, {"scale": 3.0}), model(X, 3.0))


def test_derivatives_by_the_state(make):
    model = make()
    params, buffers = state(model)
    loss = lambda p, x: ft.functional_call(model, (p, buffers), x) ** 2  # noqa: E731
    slopes = ft.grad(loss)(params, X)
    assert [*slopes] == [*params]
    for name in (WEIGHT, "layers.0.bias"):
        changed = dict(params)
        changed[name] = params[name] + 1e-6
        moved = (loss(changed, X) - loss(params, X)) / 1e-6
        close(np.sum(slopes[name]), moved, 1e-3)
    rows = np.stack([X, 2 * X])
    each = ft.vmap(ft.grad(loss), (None, 0))(params, rows)
    close(each[WEIGHT][0], slopes[WEIGHT])


def test_threads_call_one_module_at_once():
    model, weights = Chain(), [np.eye(2) * i for i in range(6)]

    def call(w):
        return ft.functional_call(model, {WEIGHT: w}, X)

    found = in_threads(lambda w: [call(w) for _ in range(50)][-1], weights)
    for result, w in zip(found, weights):
        equal(result, call(w))


# ---- tied arrays ----


def test_tied_arrays_of_a_pytree():
    w = np.eye(2)
    model = Net([Linear(w, np.zeros(2)), Linear(w, np.ones(2))], {"w": X, "shift": np.array(0)})
    new = np.array([[2.0, 1.0], [0.0, 3.0]])

    def by(first, second):
        return Net([Linear(first, np.zeros(2)), Linear(second, np.ones(2))], model.head)(X)

    for name in ("layers.0.weight", WEIGHT):
        equal(ft.functional_call(model, {name: new}, X), by(new, new))
    equal(ft.functional_call(model, {WEIGHT: new}, X, tie_weights=False), by(w, new))
    both = {"layers.0.weight": new, WEIGHT: new}
    equal(ft.functional_call(model, both, X), by(new, new))
    differing = {"layers.0.weight": new, WEIGHT: 2 * new}
    raises(
        ValueError,
        lambda: ft.functional_call(model, differing, X),
        "functional_call(Net)", "'layers.0.weight' and 'layers.1.weight' are one array",
        "tie_weights=False",
    )  # fmt: skip
    equal(ft.functional_call(model, differing, X, tie_weights=False), by(new, 2 * new))
    params, buffers = state(model)
    assert WEIGHT not in params
    equal(ft.functional_call(model, (params, buffers), X, strict=True), model(X))


def test_tied_arrays_of_a_module():
    model, new = Tied(), np.array([[2.0, 1.0], [0.0, 3.0]])
    own = model.a.weight
    for result in ft.functional_call(model, {"a.weight": new}, X):
        equal(result, new @ X)
    a, same, c = ft.functional_call(model, {"a.weight": new}, X, tie_weights=False)
    equal(a, new @ X)
    equal(same, new @ X)  # one module in two places
    equal(c, own @ X)
    equal(model(X)[1], own @ X)

    for name in ("a.weight", "same.weight", "c.weight"):
        for result in ft.functional_call(model, {name: new}, X):
            equal(result, new @ X)
    a, same, c = ft.functional_call(model, {"c.weight": new}, X, tie_weights=False)
    equal(c, new @ X)
    equal(a, own @ X)
    params, _ = ft.stack_module_state([model])
    assert [*params] == ["a.weight", "a.bias", "c.bias"]


# ---- ensembles ----


def test_an_ensemble(make):
    models = [make(seed) for seed in range(3)]
    params, buffers = ft.stack_module_state(models)
    call = ft.vmap(ft.functional_call, in_dims=(None, 0, None))
    results = call(models[0], (params, buffers), X)
    close(results, np.stack([make(seed)(X) for seed in range(3)]))
    loss = lambda p, b, x: ft.functional_call(models[0], (p, b), x)  # noqa: E731
    slopes = ft.vmap(ft.grad(loss), (0, 0, None))(params, buffers, X)
    one = ft.grad(loss)(*state(make(2)), X)
    close(slopes[WEIGHT][2], one[WEIGHT])


def test_stacked_arrays_are_copies(make):
    models = [make(), make(1)]
    params, _ = ft.stack_module_state(models)
    own = models[0].layers[0].weight.copy()
    params["layers.0.weight"][...] = 0.0
    equal(models[0].layers[0].weight, own)
    assert params["layers.0.weight"].shape == (2, 2, 2)


# ---- errors ----


def test_errors_of_functional_call(make):
    model = make()
    name = type(model).__name__
    call = ft.functional_call
    label = f"functional_call({name})"
    raises(ValueError, lambda: call(model, {"layers.7": X}, X), label, "'layers.7'", WEIGHT)
    raises(
        ValueError, lambda: call(model, ({WEIGHT: X}, {WEIGHT: X}), X), label, WEIGHT, "two of the"
    )
    raises(ValueError, lambda: call(model, {WEIGHT: X}, X, strict=True), label, "strict", "missing")
    raises(TypeError, lambda: call(model, 3, X), label, "int", "a dict from names to arrays")
    raises(TypeError, lambda: call(model, [3], X), label, "list")
    raises(TypeError, lambda: call(X, {}, X), "functional_call(ndarray)", "__call__")


def test_what_is_no_module():
    @dataclass
    class Unknown:
        w: Any

        def __call__(self, x):
            return x

    raises(
        TypeError,
        lambda: ft.functional_call(Unknown(X), {}, X),
        "functional_call(Unknown)", "nor a functier.nn.Module",
        "functier.register_dataclass(Unknown)",
    )  # fmt: skip
    raises(TypeError, lambda: ft.functional_call(np.sin, {}, X), "functional_call(ufunc)")
    raises(TypeError, lambda: ft.stack_module_state([Unknown(X)]), "stack_module_state(Unknown)")


def test_two_arrays_of_one_name():
    model = ft.register_dataclass(dataclass(type("Odd", (), {"__annotations__": {"d": dict}})))
    model.__call__ = lambda self, x: x
    odd = model({"a.b": X, "a": {"b": X}})
    raises(ValueError, lambda: ft.functional_call(odd, {}, X), "'d.a.b' is the name of two arrays")


def changed(change):
    model = net()
    change(model)
    return model


ERRORS = [
    (lambda: Linear(X, X), TypeError, "models[1] is a Linear, models[0] a Net"),
    (lambda: net(power=2), ValueError, "models[1] has the structure"),
    (
        lambda: changed(lambda m: m.layers.append(Linear(X, X))),
        ValueError,
        "models[1] has the arrays | layers.2.weight",
    ),
    (
        lambda: changed(lambda m: setattr(m.layers[0], "bias", np.ones(3))),
        ValueError,
        "'layers.0.bias' of models[1] is an array of shape (3,) | shape (2,)",
    ),
    (
        lambda: changed(lambda m: setattr(m.layers[0], "bias", np.ones(2, np.float32))),
        ValueError,
        "'layers.0.bias' | dtype float32 | dtype float64",
    ),
    (
        lambda: changed(lambda m: setattr(m.layers[0], "bias", m.layers[1].bias)),
        ValueError,
        "models[1] has one array under the names | ['layers.0.bias', 'layers.1.bias'] | []",
    ),
]


@pytest.mark.parametrize(("other", "kind", "parts"), ERRORS)
def test_models_of_differing_forms(other, kind, parts):
    raises(kind, lambda: ft.stack_module_state([net(), other()]), "stack_module_state(Net)", parts)


def test_models_of_differing_modes_and_none():
    models = [Chain(), Chain()]
    models[1].training = False
    raises(ValueError, lambda: ft.stack_module_state(models), "training=False, models[0] True")
    raises(ValueError, lambda: ft.stack_module_state([]), "no models were given")


def test_leaves_that_are_no_arrays_stay_with_the_module():
    def act(x):
        return x * 2.0

    model = Net([act], {"w": X, "shift": np.array(0)})
    params, buffers = ft.stack_module_state([model, model])
    assert [*params, *buffers] == ["head.w", "head.shift"]
    result = ft.vmap(ft.functional_call, (None, 0, None))(model, (params, buffers), X)
    equal(result, np.stack([model(X)] * 2))
    other = Net([np.sin], {"w": X, "shift": np.array(0)})
    raises(ValueError, lambda: ft.stack_module_state([model, other]), "'layers.0'", "meta field")


# ---- unwrap ----


def test_unwrap():
    rows = np.arange(6.0).reshape(2, 3)
    seen = []

    def f(x):
        y = x * 2.0
        seen.append(ft.unwrap({"y": [y, 1, None, "text"]}, levels=None))
        seen.append(ft.unwrap(y))
        assert ft.depth_of(seen[-1]) == 1
        return np.sum(y)

    ft.vmap(ft.grad(f))(rows)
    equal(seen[0]["y"][0], 2 * rows)
    assert seen[0]["y"][1:] == [1, None, "text"]
    assert ft.unwrap(X, levels=None) is X
    t = ft.tensor(X)
    assert ft.unwrap(t) is t and ft.unwrap(t, levels=None) is t
    kept = []
    ft.grad(lambda x: kept.append(x) or np.sum(x))(X)
    assert ft.unwrap(kept[0], levels=None) is X
    show = lambda z: seen.append([ft.unwrap(z, levels=n) for n in (0, 1, 2, 3, None)])  # noqa: E731
    ft.vmap(lambda x: ft.vmap(lambda y: show(x * y))(rows[0]) or x)(X)
    assert [ft.depth_of(value) for value in seen[-1]] == [2, 1, 0, 0, 0]
    for value in seen[-1][2:]:
        equal(value, np.multiply.outer(X, rows[0]))


@pytest.mark.parametrize("levels", [-1, True, 1.0, "all"])
def test_unwrap_refuses_what_is_no_number_of_levels(levels):
    raises(ValueError, lambda: ft.unwrap(X, levels), f"unwrap: levels={levels!r}")
