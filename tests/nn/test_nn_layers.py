"""Convolutions and normalizations beside their formulas.

tests/peers/test_against_layers.py compares them with PyTorch's.
"""

import pickle

import numpy as np
import pytest

import functier as ft
import functier.nn.functional as F
from functier import grad, nn, vmap
from functier.testing import check_grads
from support.basics import close, equal, raises

RNG = np.random.default_rng(5)


def draw(*shape):
    return RNG.normal(size=shape)


def normalized(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_normalizations():
    x, w, b = draw(3, 4, 2, 5), draw(4), draw(4)
    each = w[:, None, None], b[:, None, None]

    close(F.batch_norm(x, None, None, w, b, True), normalized(x, (0, 2, 3)) * each[0] + each[1])
    mean, var = draw(4), RNG.random(4)
    kept = mean.copy(), var.copy()
    known = (x - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
    close(F.batch_norm(x, mean, var), known)
    F.batch_norm(x, mean, var, training=True, momentum=0.3)
    close(mean, 0.7 * kept[0] + 0.3 * x.mean((0, 2, 3)))
    close(var, 0.7 * kept[1] + 0.3 * x.var((0, 2, 3), ddof=1))


def test_statistics_of_batches_are_learned_outside_of_transforms_alone():
    layer, x = nn.BatchNorm1d(3, momentum=None), draw(2, 5, 3)
    layer(x[0]), layer(x[1])
    close(np.array(layer.running_mean), x.mean((0, 1)))
    assert layer.num_batches_tracked == 2
    before = pickle.dumps(layer)
    for call in (
        lambda: grad(lambda x: np.sum(layer(x)))(x[0]),
        lambda: grad(lambda m: np.sum(m(x[0])))(layer),
        lambda: vmap(layer)(x),
        lambda: vmap(lambda _: layer(x[0]))(x),
        lambda: ft.compile(layer.forward, backend="numpy")(x[0]),
    ):
        with pytest.raises(ft.LevelError, match=r"would write to running_mean|plain value"):
            call()
    assert pickle.dumps(layer) == before

    layer.eval()
    slopes = grad(lambda m, x: np.sum(np.sin(m(x))))(layer, x[0])
    assert not slopes.running_mean.any() and slopes.weight.any()
    close(vmap(layer)(x), np.stack([layer(y) for y in x]))
    free = nn.BatchNorm1d(3, track_running_stats=False)
    assert free.running_mean is None and list(free.state_dict()) == ["weight", "bias"]
    close(vmap(free)(x), np.stack([free(y) for y in x]))


LAYERS = {
    "Conv1d": (nn.Conv1d(2, 3, 2, generator=0), (2, 4)),
    "BatchNorm2d": (nn.BatchNorm2d(2, track_running_stats=False), (2, 2, 2, 2)),
}


@pytest.fixture(params=LAYERS)
def case(request):
    layer, shape = LAYERS[request.param]
    return layer, draw(*shape), lambda m, x: m(x)


def test_derivatives_of_layers(case):
    layer, x, f = case
    check_grads(lambda m, x: f(m, x), (layer, x), order=1)
    check_grads(lambda x: f(layer, x), (x,), order=2, modes=("rev",))


def test_examples_and_models_are_batched(case):
    layer, x, f = case
    xs = np.stack([x, x * 0.5, draw(*x.shape)])
    close(vmap(f, (None, 0))(layer, xs), np.stack([f(layer, y) for y in xs]))
    slopes = vmap(grad(lambda m, x: np.sum(np.square(f(m, x)))), (None, 0))(layer, xs)
    loop = [grad(lambda m, x: np.sum(np.square(f(m, x))))(layer, y) for y in xs]
    for i, one in enumerate(loop):
        for a, e in zip(slopes.parameters(), one.parameters(), strict=True):
            close(np.array(a[i]), np.array(e), 1e-9)


def test_axis_beside_dim():
    x = draw(2, 3)

    equal(F.softmax(x, axis=0), F.softmax(x, 0))
    equal(F.log_softmax(x, axis=-1), F.log_softmax(x, dim=-1))
    equal(F.logsumexp(x, axis=1, keepdims=True), F.logsumexp(x, 1, True))
    equal(nn.Softmax(axis=1)(x), nn.Softmax(1)(x))
    raises(TypeError, lambda: F.softmax(x), "softmax: neither of dim= and axis=")
    raises(TypeError, lambda: nn.Softmax(0, axis=0), "Softmax: both of dim= and axis=")


Q = np.ones((3, 4))
MISTAKES = [
    (lambda: nn.BatchNorm2d(3)(np.ones((3, 4, 4))), "BatchNorm2d: the input has the shape"),
    (lambda: nn.BatchNorm1d(3)(np.ones((2, 4))), "the input of shape (2, 4) has 4 channels"),
    (lambda: nn.BatchNorm1d(3)(np.ones((1, 3))), "training needs 2 or more"),
    (lambda: F.batch_norm(Q, None, None), "training=False needs running_mean"),
    (lambda: F.batch_norm(Q, np.zeros(4), None), "needs running_mean and running_var"),
    (lambda: nn.Conv1d(3, 4, 3, padding="full"), "Conv1d: padding='full'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_mistakes(call, words):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert words in str(error.value)


BIASED = {
    "Linear": (2, 3), "Conv2d": (1, 2, 3), "LayerNorm": (3,), "BatchNorm1d": (3,),
}  # fmt: skip


@pytest.mark.parametrize("name", BIASED)
def test_a_layer_shows_that_it_has_no_bias(name):
    layer = getattr(nn, name)

    assert "bias=False" in repr(layer(*BIASED[name], bias=False))
    assert "bias=False" not in repr(layer(*BIASED[name]))
