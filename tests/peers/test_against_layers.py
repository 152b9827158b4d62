"""Layers with state in time, attention and normalizations beside torch's (the extra ``bench``)."""

import re

import numpy as np
import pytest

import functier as ft
import functier.nn.functional as F
from functier import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape)


def flat(x):
    return [part for y in x for part in flat(y)] if isinstance(x, (tuple, list)) else [x]


def close(actual, expected):
    actual, expected = [[x for x in flat(y) if x is not None] for y in (actual, expected)]
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        e = e.detach().numpy()
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(a, e, rtol=1e-10, atol=1e-10)


def same_layer(name, *args, **options):
    """A layer of functier and the one of torch with the same state, names and defaults."""
    ours = getattr(nn, name)(*args, **options)
    theirs = getattr(torch.nn, name)(*args, **options).double()
    shown = repr(ours), repr(theirs).replace("NonDynamicallyQuantizable", "")
    if name.endswith(("GroupNorm", "1d", "2d")):  # older versions have no bias=
        shown = tuple(re.sub(", bias=(True|False)", "", text) for text in shown)
    assert shown[0] == shown[1]
    state = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    return ours, theirs


def agree(ours, theirs, *args, **options):
    """The results, and the gradients of a weighted sum by the parameters and the first argument."""
    given, named = (
        [torch.tensor(x) if isinstance(x, np.ndarray) else x for x in values]
        for values in (args, options.values())
    )
    if len(args) > 1 and isinstance(args[1], tuple):
        given[1] = tuple(map(torch.tensor, args[1]))
    given[0].requires_grad_()
    theirs.zero_grad()
    out, expected = ours(*args, **options), theirs(*given, **dict(zip(options, named)))
    close(out, expected)
    weights = [draw(*np.shape(x)) for x in flat(out) if x is not None]

    def loss(module, x):
        found = [y for y in flat(module(x, *args[1:], **options)) if y is not None]
        return sum(np.sum(w * y) for w, y in zip(weights, found))

    slopes, slope = ft.grad(loss, (0, 1))(ours, args[0])
    found = [y for y in flat(expected) if y is not None]
    sum((torch.tensor(w) * y).sum() for w, y in zip(weights, found)).backward()
    close(slope, given[0].grad)
    for (a, value), (e, own) in zip(slopes.named_parameters(), theirs.named_parameters()):
        assert a == e
        close(np.array(value), own.grad)


OPTIONS = [
    {}, {"num_layers": 2, "bias": False}, {"bidirectional": True, "num_layers": 2},
    {"batch_first": True}, {"proj_size": 2, "bidirectional": True, "num_layers": 2},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_recurrent_layers(name, options):
    if name == "GRU" and "proj_size" in options:
        pytest.skip("torch's GRU has no projection")
    ours, theirs = same_layer(name, 3, 4, **options)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    sizes = [options.get("proj_size") or 4, 4][: 1 + (name == "LSTM")]

    agree(ours, theirs, draw(5, 2, 3))
    agree(ours, theirs, draw(5, 3))
    for lead, x in (((), draw(5, 3)), ((2,), draw(*(2, 5)[:: 1 if ours.batch_first else -1], 3))):
        states = tuple(draw(count, *lead, size) for size in sizes)
        agree(ours, theirs, x, states if name == "LSTM" else states[0])


ATTENTION = [
    {}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True, "add_bias_kv": True},
    {"kdim": 3, "vdim": 2}, {"batch_first": True},
]  # fmt: skip


@pytest.mark.parametrize("options", ATTENTION, ids=str)
def test_multihead_attention(options):
    ours, theirs = same_layer("MultiheadAttention", 4, 2, **options)
    sizes = 4, options.get("kdim", 4), options.get("vdim", 4)
    for lead in ((), (3,)):
        n = 3 if lead else 1
        q, k, v = (
            draw(*((*lead, m) if ours.batch_first else (m, *lead)), size)
            for m, size in zip((5, 6, 6), sizes)
        )
        hidden, padding = RNG.random((5, 6)) > 0.7, RNG.random((*lead, 6)) > 0.7
        hidden[:, 0] = padding[..., 0] = False
        agree(ours, theirs, q, k, v)
        agree(ours, theirs, q, k, v, need_weights=False)
        agree(ours, theirs, q, k, v, average_attn_weights=False, attn_mask=hidden)
        agree(ours, theirs, q, k, v, key_padding_mask=padding, attn_mask=hidden)
        agree(ours, theirs, q, k, v, attn_mask=draw(5, 6))
        agree(ours, theirs, q, k, v, attn_mask=draw(n * 2, 5, 6), need_weights=False)
        added = np.where(padding, -np.inf, draw(*padding.shape))
        agree(ours, theirs, q, k, v, key_padding_mask=added, attn_mask=draw(5, 6))


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("Conv1d", (4, 6, 3, 2, 1, 1, 2), (2, 4, 7)), ("Conv1d", (1, 2, 3, 1, "same"), (1, 5)),
        ("GroupNorm", (2, 4), (3, 4)), ("GroupNorm", (2, 4, 1e-3, False), (3, 4, 2, 5)),
        ("BatchNorm1d", (3,), (4, 3)), ("BatchNorm1d", (3, 1e-3, 0.2, False), (4, 3, 2)),
        ("BatchNorm2d", (3, 1e-5, None), (2, 3, 4, 4)),
        ("BatchNorm2d", (3, 1e-5, 0.1, True, False), (2, 3, 4, 4)),
    ],
)  # fmt: skip
def test_convolutions_and_normalizations(name, args, shape):
    ours, theirs = same_layer(name, *args)
    if "running_mean" in ours.state_dict():
        for _ in range(3):  # the statistics are learned outside of transforms
            x = draw(*shape) * 3 + 1
            close(ours(x), theirs(torch.tensor(x)))
        for (n, a), e in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
            np.testing.assert_allclose(a, e.numpy(), rtol=1e-12, err_msg=n)
        ours.eval(), theirs.eval()

    agree(ours, theirs, draw(*shape))


def test_axis_is_dim():
    x = draw(3, 4)

    close(F.softmax(x, axis=0), torch.softmax(torch.tensor(x), axis=0))
    close(F.log_softmax(x, axis=1), torch.log_softmax(torch.tensor(x), axis=1))
    close(F.logsumexp(x, axis=1, keepdims=True), torch.logsumexp(torch.tensor(x), 1, True))
