"""Layers with state in time, attention and normalizations, beside their formulas.

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


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(w, x, h, c):
    """The formulas of one layer: w has the weights by torch's names, x is (steps, features)."""
    out = []
    for row in x:
        a = w["weight_ih"] @ row + w["bias_ih"] + w["weight_hh"] @ h + w["bias_hh"]
        i, f, g, o = np.split(a, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out), h, c


def gru(w, x, h):
    out = []
    for row in x:
        r, z, n = np.split(w["weight_ih"] @ row + w["bias_ih"], 3)
        a, b, d = np.split(w["weight_hh"] @ h + w["bias_hh"], 3)
        r, z = sigmoid(r + a), sigmoid(z + b)
        h = (1 - z) * np.tanh(n + r * d) + z * h
        out.append(h)
    return np.stack(out), h


def weights(layer, end):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return {n: np.array(getattr(layer, n + end)) for n in names}


def test_two_layers_and_two_directions_of_an_lstm():
    layer = nn.LSTM(3, 2, num_layers=2, bidirectional=True, generator=0)
    x, h, c = draw(4, 3), draw(4, 2), draw(4, 2)

    out, (h_n, c_n) = layer(x, (h, c))
    y, found = x, []
    for k in range(2):
        ahead = lstm(weights(layer, f"_l{k}"), y, h[2 * k], c[2 * k])
        back = lstm(weights(layer, f"_l{k}_reverse"), y[::-1], h[2 * k + 1], c[2 * k + 1])
        y = np.concatenate([ahead[0], back[0][::-1]], axis=1)
        found += [ahead[1:], back[1:]]
    close(out, y)
    close(h_n, np.stack([h for h, _ in found]))
    close(c_n, np.stack([c for _, c in found]))


def test_a_gru():
    layer, x, h = nn.GRU(3, 2, generator=0), draw(4, 3), draw(1, 2)
    out, h_n = layer(x, h)
    expected, last = gru(weights(layer, "_l0"), x, h[0])

    close(out, expected)
    close(h_n, last[None])
    close(layer(x)[0], gru(weights(layer, "_l0"), x, np.zeros(2))[0])


def attention(layer, q, k, v, allowed):
    """The formulas for one example, with a loop over heads."""
    n = layer.embed_dim // layer.num_heads
    q, k, v = (
        x @ w.T + b
        for x, w, b in zip(
            (q, k, v), np.split(layer.in_proj_weight, 3), np.split(layer.in_proj_bias, 3)
        )
    )
    heads, shares = [], []
    for i in range(layer.num_heads):
        part = slice(i * n, (i + 1) * n)
        e = np.where(allowed, np.exp(q[:, part] @ k[:, part].T / np.sqrt(n)), 0)
        shares.append(e / e.sum(1, keepdims=True))
        heads.append(shares[-1] @ v[:, part])
    joined = np.concatenate(heads, axis=1)
    return joined @ layer.out_proj.weight.T + layer.out_proj.bias, np.mean(shares, axis=0)


def test_attention_of_several_heads():
    layer = nn.MultiheadAttention(4, 2, generator=0)
    layer.in_proj_bias = draw(12)
    q, k, v = draw(3, 4), draw(5, 4), draw(5, 4)
    hidden = RNG.random((3, 5)) > 0.6
    hidden[:, 2] = False
    out, shares = layer(q, k, v, attn_mask=hidden)
    expected, expected_shares = attention(layer, q, k, v, ~hidden)

    close(out, np.array(expected))
    close(shares, np.array(expected_shares))
    padding = np.array([False, True, False, False, True])
    both = layer(q, k, v, key_padding_mask=padding, attn_mask=hidden, need_weights=False)
    close(both[0], np.array(attention(layer, q, k, v, ~(hidden | padding))[0]))
    assert both[1] is None
    nobody = layer(q, k, v, key_padding_mask=np.ones(5, bool))[1]
    equal(nobody, np.zeros((3, 5)))


def normalized(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_normalizations():
    x, w, b = draw(3, 4, 2, 5), draw(4), draw(4)
    each = w[:, None, None], b[:, None, None]
    groups = normalized(x.reshape(3, 2, -1), 2).reshape(x.shape)

    close(F.group_norm(x, 2, w, b), groups * each[0] + each[1])
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
    "LSTM": (nn.LSTM(3, 2, num_layers=2, generator=0), (4, 3), lambda y: y[0]),
    "GRU": (nn.GRU(3, 2, bidirectional=True, generator=0), (4, 3), lambda y: y[0]),
    "MultiheadAttention": (nn.MultiheadAttention(4, 2, generator=0), (3, 4), lambda y: y[0]),
    "Conv1d": (nn.Conv1d(2, 3, 2, generator=0), (2, 4), lambda y: y),
    "GroupNorm": (nn.GroupNorm(2, 4), (2, 4, 3), lambda y: y),
    "BatchNorm2d": (nn.BatchNorm2d(2, track_running_stats=False), (2, 2, 2, 2), lambda y: y),
}


@pytest.fixture(params=LAYERS)
def case(request):
    layer, shape, pick = LAYERS[request.param]
    given = (
        (lambda m, x: pick(m(x, x, x))) if "Attention" in request.param else lambda m, x: pick(m(x))
    )
    return layer, draw(*shape), given


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


def test_dropout_between_layers_and_of_weights():
    x = draw(6, 3)
    for layer, call in (
        (nn.LSTM(3, 4, 2, dropout=0.5, generator=1), lambda m: m(x)[0]),
        (nn.MultiheadAttention(3, 1, dropout=0.5, generator=1), lambda m: m(x, x, x)[0]),
    ):
        assert (call(layer) != call(layer)).any()
        layer.eval()
        equal(call(layer), call(layer))


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
    (lambda: nn.LSTM(3, 2)(np.ones((5, 4))), "LSTM: the input has the shape (5, 4)"),
    (lambda: nn.LSTM(3, 2)(np.ones((0, 3))), "has no steps"),
    (lambda: nn.LSTM(3, 2)(np.ones((5, 3)), (np.ones((1, 2)), np.ones((1, 3)))), "c_0 has"),
    (lambda: nn.LSTM(3, 2)(np.ones((5, 3)), np.ones((1, 2))), "a tuple (h_0, c_0)"),
    (lambda: nn.GRU(3, 2)(np.ones((5, 3)), (np.ones((1, 2)),)), "one array h_0"),
    (lambda: nn.LSTM(3, 2, proj_size=2), "proj_size=2 has to be from 0"),
    (lambda: nn.GRU(3, 0), "hidden_size=0"),
    (lambda: nn.GRU(3, 2, dropout=2), "GRU: dropout=2"),
    (lambda: nn.MultiheadAttention(4, 3), "divisible by num_heads=3"),
    (lambda: nn.MultiheadAttention(4, 2)(Q, Q, Q, is_causal=True), "attn_mask=~numpy.tri"),
    (lambda: nn.MultiheadAttention(4, 2)(Q, Q[:2], Q), "the same length"),
    (lambda: nn.MultiheadAttention(5, 1)(Q, Q, Q), "they have to be query (length, examples, 5)"),
    (lambda: nn.MultiheadAttention(4, 2)(Q, Q, Q, attn_mask=np.ones((3, 3), int)), "dtype int"),
    (lambda: nn.MultiheadAttention(4, 2)(Q, Q, Q, attn_mask=np.ones(3)), "has the shape (3,)"),
    (lambda: nn.GroupNorm(3, 4), "divisible by num_groups=3"),
    (lambda: nn.GroupNorm(2, 4)(np.ones((4, 3))), "write x[None] for one example"),
    (lambda: F.group_norm(np.ones(4), 2), "group_norm: the input has the shape (4,)"),
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
    "Linear": (2, 3), "Conv2d": (1, 2, 3), "LayerNorm": (3,), "GroupNorm": (2, 4),
    "BatchNorm1d": (3,), "LSTM": (2, 3), "MultiheadAttention": (4, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", BIASED)
def test_a_layer_shows_that_it_has_no_bias(name):
    layer = getattr(nn, name)

    assert "bias=False" in repr(layer(*BIASED[name], bias=False))
    assert "bias=False" not in repr(layer(*BIASED[name]))
