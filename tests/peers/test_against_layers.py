"""Convolutions and normalizations beside torch's (the extra ``bench``)."""

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
    shown = repr(ours), repr(theirs)
    if name.endswith(("1d", "2d")):  # older versions have no bias=
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


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("Conv1d", (4, 6, 3, 2, 1, 1, 2), (2, 4, 7)), ("Conv1d", (1, 2, 3, 1, "same"), (1, 5)),
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
