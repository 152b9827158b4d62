"""functier.nn.functional and functier.nn.init: values, both modes, every nesting, no loop."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import functier as ft
import functier.nn.functional as F
from functier import grad, hessian, jvp, nn, vmap
from functier.nn import init
from functier.testing import check_grads
from support.basics import close, equal, raises

RNG = np.random.default_rng(7)
CLASSES = np.array([2, 0, 1])


def draw(*shape):
    return RNG.normal(size=shape)


# name: (function, arrays that are differentiated)
CASES = {
    "linear": (F.linear, (draw(2, 3), draw(4, 3), draw(4))),
    "conv1d": (
        lambda *a: F.conv1d(*a, padding=1, stride=2), (draw(2, 2, 5), draw(3, 2, 2), draw(3))
    ),
    "conv2d": (F.conv2d, (draw(2, 2, 4, 3), draw(3, 2, 2, 2), draw(3))),
    "conv2d with options": (
        lambda *a: F.conv2d(*a, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        (draw(1, 2, 4, 3), draw(2, 1, 2, 2)),
    ),
    "conv2d, the same size": (
        lambda *a: F.conv2d(*a, padding="same"), (draw(2, 3, 3), draw(1, 2, 2, 3))
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (draw(2, 4, 4),)),
    "max_pool2d with options": (lambda x: F.max_pool2d(x, 3, 1, 1), (draw(1, 2, 3, 3),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, 1, 1), (draw(1, 2, 3, 3),)),
    "relu": (F.relu, (draw(5),)),
    "leaky_relu": (F.leaky_relu, (draw(5),)),
    "gelu": (F.gelu, (draw(5),)),
    "gelu by tanh": (lambda x: F.gelu(x, "tanh"), (draw(5),)),
    "silu": (F.silu, (draw(5),)),
    "sigmoid": (F.sigmoid, (draw(5),)),
    "softplus": (F.softplus, (draw(5),)),
    "tanh": (F.tanh, (draw(5),)),
    "softmax": (lambda x: F.softmax(x, -1), (draw(2, 3),)),
    "softmax over two axes": (lambda x: F.softmax(x, (0, 2)), (draw(2, 2, 2),)),
    "log_softmax": (lambda x: F.log_softmax(x, 0), (draw(3, 2),)),
    "logsumexp": (lambda x: F.logsumexp(x, 0), (draw(3, 2),)),
    "logsumexp over all": (lambda x: F.logsumexp(x, (0, 1), True), (draw(3, 2),)),
    "layer_norm": (lambda *a: F.layer_norm(a[0], 3, *a[1:]), (draw(2, 3), draw(3), draw(3))),
    "layer_norm over two axes": (lambda x: F.layer_norm(x, (2, 3)), (draw(2, 2, 3),)),
    "mse_loss": (F.mse_loss, (draw(2, 3), draw(2, 3))),
    "cross_entropy": (lambda x: F.cross_entropy(x, CLASSES), (draw(3, 4),)),
    "cross_entropy of one example": (lambda x: F.cross_entropy(x, np.array(1)), (draw(4),)),
    "cross_entropy with options": (
        lambda x: F.cross_entropy(x, CLASSES, reduction="none", label_smoothing=0.1), (draw(3, 4),)
    ),
    "cross_entropy of probabilities": (F.cross_entropy, (draw(3, 4), RNG.random((3, 4)))),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def loop(f, *batches):
    """`f` of each example, stacked."""
    return np.stack([f(*row) for row in zip(*batches)])


def batch_of(x, n=3):
    return x + RNG.normal(size=(n, *x.shape)) * 0.3


# ---- derivatives ----


def test_derivatives_of_both_modes_agree_with_differences(case):
    f, args = case

    check_grads(f, args, order=2, modes=("fwd", "rev"))


# ---- batches: NumPy's own loops and nothing else ----


def quietly(f, *args):
    """The result, where no loop over examples is fallen back to."""
    with warnings.catch_warnings(action="error"):
        return f(*args)


def test_batches_of_each_argument(case):
    f, args = case
    for i in range(len(args)):
        xs = batch_of(args[i])
        dims = tuple(0 if j == i else None for j in range(len(args)))
        given = (*args[:i], xs, *args[i + 1 :])
        expected = np.stack([f(*args[:i], x, *args[i + 1 :]) for x in xs])
        close(quietly(vmap(f, dims), *given), expected)
        last = (*args[:i], np.moveaxis(xs, 0, -1), *args[i + 1 :])
        close(quietly(vmap(f, tuple(-1 if d == 0 else None for d in dims)), *last), expected)


def test_batches_of_all_arguments_and_nested(case):
    f, args = case
    batches = [batch_of(x) for x in args]
    twice = [batch_of(b, 2) for b in batches]

    close(quietly(vmap(f), *batches), loop(f, *batches))
    close(quietly(vmap(vmap(f)), *twice), loop(lambda *a: loop(f, *a), *twice))
    rest = args[1:]
    if rest:  # each level batches another argument
        outer = vmap(vmap(f, (0, *[None] * len(rest))), (None, *[0] * len(rest)))
        expected = loop(lambda *r: loop(lambda x: f(x, *r), batches[0]), *batches[1:])
        close(quietly(outer, *batches), expected)


def test_batches_of_derivatives_and_derivatives_of_batches(case):
    f, args = case
    batches = [batch_of(x) for x in args]
    every = tuple(range(len(args)))
    loss = lambda *a: np.sum(np.square(f(*a)))  # noqa: E731
    slopes = quietly(vmap(grad(loss, every)), *batches)
    whole = quietly(grad(lambda *b: np.sum(vmap(loss)(*b)), every), *batches)

    for i, (a, b) in enumerate(zip(slopes, whole)):
        expected = loop(lambda *row, i=i: grad(loss, every)(*row)[i], *batches)
        close(a, expected, 1e-10)
        close(b, expected, 1e-10)
    push = lambda *a: jvp(f, a, tuple(np.ones_like(x) for x in a))[1]  # noqa: E731
    close(quietly(vmap(push), *batches), loop(push, *batches), 1e-10)
    curve = lambda *a: hessian(loss)(*a)  # noqa: E731
    close(quietly(vmap(curve), *batches), loop(curve, *batches), 1e-9)


def test_empty_batches(case):
    f, args = case
    nothing = [np.zeros((0, *x.shape)) for x in args]

    assert vmap(f)(*nothing).shape == (0, *np.shape(f(*args)))


def test_float32_stays(case):
    f, args = case
    small = [x.astype(np.float32) for x in args]

    assert np.asarray(f(*small)).dtype == np.float32
    assert grad(lambda x: np.sum(f(x, *small[1:])))(small[0]).dtype == np.float32


# ---- convolutions and pooling: against loops over the places ----


def slow_conv(x, w, stride, padding, dilation, groups):
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    n, _, height, width = x.shape
    o, c, kh, kw = w.shape
    rows = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, o, rows, columns))
    for k in range(o):
        group = k // (o // groups)
        part = x[:, group * c : (group + 1) * c]
        for i, j in np.ndindex(rows, columns):
            y, z = i * stride[0], j * stride[1]
            window = part[:, :, y : y + dilation[0] * (kh - 1) + 1 : dilation[0]]
            window = window[..., z : z + dilation[1] * (kw - 1) + 1 : dilation[1]]
            out[:, k, i, j] = np.sum(window * w[k], axis=(1, 2, 3))
    return out


two = lambda low, high: st.tuples(st.integers(low, high), st.integers(low, high))  # noqa: E731


@given(two(1, 3), two(1, 3), two(0, 2), two(1, 2), st.integers(1, 3), st.data())
def test_conv2d_of_any_form(size, stride, padding, dilation, groups, data):
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(size, dilation, padding)]
    form = [data.draw(st.integers(n, n + 3)) for n in least]
    inputs, outputs, n = (data.draw(st.integers(1, 2)) for _ in range(3))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, groups * inputs, *form))
    w = rng.normal(size=(groups * outputs, inputs, *size))
    f = lambda x, w: F.conv2d(x, w, None, stride, padding, dilation, groups)  # noqa: E731
    out = f(x, w)

    close(out, slow_conv(x, w, stride, padding, dilation, groups))
    # It is bilinear, so both transposes follow from one number.
    g = rng.normal(size=out.shape)
    dx, dw = grad(lambda x, w: np.sum(f(x, w) * g), (0, 1))(x, w)
    assert np.sum(dx * x) == pytest.approx(np.sum(out * g))
    assert np.sum(dw * w) == pytest.approx(np.sum(out * g))
    close(jvp(f, (x, w), (x, w))[1], 2 * out)


@given(two(1, 3), two(1, 3), two(0, 1), st.integers(1, 2), st.data())
def test_pooling_of_any_form(size, stride, padding, dilation, data):
    padding = tuple(min(p, k // 2) for p, k in zip(padding, size))
    least = [max(1, dilation * (k - 1) + 1 - 2 * p) for k, p in zip(size, padding)]
    form = [data.draw(st.integers(n, n + 4)) for n in least]
    x = np.random.default_rng(0).permutation(float(np.prod(form)) + np.arange(np.prod(form)))
    x = x.reshape(1, 1, *form)
    out = F.max_pool2d(x, size, stride, padding, dilation)
    assume(np.isfinite(out).all())  # no window has padding alone
    places = np.argsort(x.ravel())  # the numbers of x follow each other

    filled = np.pad(x, [(0, 0)] * 2 + [(p, p) for p in padding], constant_values=-np.inf)
    ones = np.ones((1, 1, *size))
    for i, j in np.ndindex(out.shape[2:]):
        rows = i * stride[0] + dilation * np.arange(size[0])
        columns = j * stride[1] + dilation * np.arange(size[1])
        assert out[0, 0, i, j] == filled[0, 0][np.ix_(rows, columns)].max()
    g = np.random.default_rng(1).normal(size=out.shape)
    slope = grad(lambda x: np.sum(F.max_pool2d(x, size, stride, padding, dilation) * g))(x)
    expected = np.zeros(x.size)
    np.add.at(expected, places[np.astype(out - x.min(), int).ravel()], g.ravel())
    close(slope, expected.reshape(x.shape))
    if dilation == 1:
        mean = F.avg_pool2d(x, size, stride, padding)
        close(mean, F.conv2d(x, ones / np.prod(size), None, stride, padding))


def test_the_caller_s_arrays_are_left_alone():
    for f, args in CASES.values():
        kept = [x.copy() for x in args]
        for x in args:
            x.flags.writeable = False
        f(*args)
        grad(lambda *a, f=f: np.sum(f(*a)), tuple(range(len(args))))(*args)
        for x, before in zip(args, kept):
            equal(x, before)
            x.flags.writeable = True


def test_other_tensors_and_users_subclasses():
    class Mine(ft.Tensor):
        pass

    x, w = draw(1, 2, 4, 4), draw(1, 2, 3, 3)
    for f in (lambda x: F.conv2d(x, w), lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 2),
              F.relu, F.sigmoid, lambda x: F.softmax(x, 1), lambda x: F.log_softmax(x, 1),
              lambda x: F.logsumexp(x, 1), F.softplus):  # fmt: skip
        out = f(Mine(x))
        assert type(out) is Mine
        close(out.elem(), f(x))
        slope = grad(lambda x, f=f: np.sum(f(x)))(Mine(x))
        close(
            slope.elem() if isinstance(slope, ft.Tensor) else slope, grad(lambda x: np.sum(f(x)))(x)
        )


# ---- stability ----


def test_stable_far_from_zero():
    x = np.array([-1e4, -750.0, -40.0, 0.0, 40.0, 750.0, 1e4])
    with np.errstate(all="raise", under="ignore"):
        s = F.sigmoid(x)
        close(s[:4], [0.0, 0.0, np.exp(-40.0), 0.5], 1e-15)
        equal(s[-2:], np.array([1.0, 1.0]))
        close(F.softplus(x), np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
        close(F.log_softmax(x, 0)[-1], np.float64(0.0))
        close(F.logsumexp(x, 0), np.float64(1e4))
        close(grad(lambda x: F.logsumexp(x, 0))(x), F.softmax(x, 0))
        close(F.log_softmax(np.array([1e16, 1e16]), 0), np.full(2, -np.log(2.0)))
    close(vmap(grad(F.sigmoid))(x), F.sigmoid(x) * F.sigmoid(-x), 1e-15)


def test_derivatives_at_kinks():
    zero = np.array([0.0])
    total = lambda f: grad(lambda x: np.sum(f(x)))(zero)[0]  # noqa: E731

    assert total(F.relu) == 0.0
    assert total(F.leaky_relu) == 0.01
    assert total(F.sigmoid) == 0.25
    assert total(F.softplus) == 0.5
    assert np.isnan(F.relu(np.array([np.nan]))).all()


# ---- dropout ----


def test_dropout_draws_from_its_generator():
    x = np.ones((50, 40))
    out = F.dropout(x, 0.25, generator=0)

    equal(out, F.dropout(x, 0.25, generator=0))
    equal(np.unique(out), np.array([0.0, 1 / 0.75]))
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.03)
    assert F.dropout(x, 0.25, training=False) is x
    equal(F.dropout(x, 1.0), np.zeros_like(x))
    equal(grad(lambda x: np.sum(F.dropout(x, 0.25, generator=0)))(x), out)


def test_dropout_under_vmap_asks_for_randomness():
    x = np.ones((6, 30))
    rng = ft.random.default_rng(0)
    drop = lambda x: F.dropout(x, 0.5, generator=rng)  # noqa: E731
    raises(ft.RandomnessError, lambda: vmap(drop)(x))

    same = vmap(drop, randomness="same")(x)
    equal(same, np.broadcast_to(same[0], x.shape))
    different = vmap(drop, randomness="different")(x)
    assert len({row.tobytes() for row in different}) == 6
    numpy_s = np.random.default_rng(1)
    different = vmap(lambda x: F.dropout(x, 0.5, generator=numpy_s), randomness="different")(x)
    assert len({row.tobytes() for row in different}) == 6


# ---- classes ----


def test_batches_of_classes():
    xs, ys = draw(5, 3, 4), RNG.integers(0, 4, (5, 3))

    close(quietly(vmap(F.cross_entropy), xs, ys), loop(F.cross_entropy, xs, ys))
    close(
        quietly(vmap(grad(F.cross_entropy)), xs, ys),
        loop(lambda x, y: grad(F.cross_entropy)(x, y), xs, ys),
    )
    per_row = vmap(F.cross_entropy)(xs[0], ys[0])
    close(np.mean(per_row), F.cross_entropy(xs[0], ys[0]))


def test_smoothing_is_that_of_the_probabilities():
    x, y = draw(3, 4), np.eye(4)[CLASSES]

    for smoothing in (0.0, 0.3):
        close(
            F.cross_entropy(x, CLASSES, label_smoothing=smoothing),
            F.cross_entropy(x, y, label_smoothing=smoothing),
        )


ERRORS = {
    "linear": (lambda: F.linear(np.ones((2, 3)), np.ones((4, 2))),
               ValueError, "linear: the input has the shape (2, 3)", "needs a last axis of 2"),
    "conv channels": (lambda: F.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 2, 3, 3))),
                      ValueError, "3 channels (shape (1, 3, 4, 4))", "for 2 channels"),
    "conv rank": (lambda: F.conv2d(np.ones((4, 4)), np.ones((2, 2, 3, 3))),
                  ValueError, "shape (4, 4)", "(channels, height, width)"),
    "conv weight": (lambda: F.conv1d(np.ones((1, 2, 4)), np.ones((2, 2, 3, 3))),
                    ValueError, "conv1d: the weight", "kernel_length"),
    "conv bias": (lambda: F.conv1d(np.ones((2, 4)), np.ones((2, 2, 3)), np.ones(3)),
                  ValueError, "bias has the shape (3,), not (2,)"),
    "conv size": (lambda: F.conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3))),
                  ValueError, "a kernel of (3, 3)", "(2, 2)"),
    "conv stride": (lambda: F.conv2d(np.ones((1, 1, 5, 5)), np.ones((1, 1, 3, 3)), stride=0),
                    ValueError, "stride=0; the least is 1"),
    "conv same": (lambda: F.conv1d(np.ones((1, 5)), np.ones((1, 1, 3)), stride=2, padding="same"),
                  ValueError, "padding='same' needs stride=1"),
    "conv tuple": (lambda: F.conv2d(np.ones((1, 5, 5)), np.ones((1, 1, 3, 3)), stride=(1, 2, 3)),
                   TypeError, "stride=(1, 2, 3)", "a tuple of 2 ints"),
    "pool padding": (lambda: F.max_pool2d(np.ones((1, 5, 5)), 2, padding=2),
                     ValueError, "max_pool2d: padding=2 is more than half"),
    "classes dtype": (lambda: F.cross_entropy(np.ones((2, 3)), np.ones(2, complex)),
                      TypeError, "cross_entropy: the target's dtype is complex128"),
    "classes shape": (lambda: F.cross_entropy(np.ones((2, 3)), np.array([1])),
                      ValueError, "the target has to have (2,), not (1,)"),
    "classes range": (lambda: F.cross_entropy(np.ones((2, 3)), np.array([1, 3])),
                      ValueError, "the class 3, but there are 3 classes"),
    "smoothing": (lambda: F.cross_entropy(np.ones((1, 3)), np.array([1]), label_smoothing=2),
                  ValueError, "label_smoothing=2"),
    "reduction": (lambda: F.mse_loss(np.ones(2), np.ones(2), "avg"),
                  ValueError, "mse_loss: reduction='avg'", "'sum'"),
    "broadcast": (lambda: F.mse_loss(np.ones((2, 1)), np.ones(2)),
                  ValueError, "(2, 1), the target (2,)"),
    "gelu": (lambda: F.gelu(np.ones(2), "erf"), ValueError, "approximate='erf'"),
    "dropout": (lambda: F.dropout(np.ones(2), 1.5), ValueError, "dropout: p=1.5"),
    "layer_norm": (lambda: F.layer_norm(np.ones((2, 3)), 4), ValueError, "(2, 3)", "(4,)"),
    "gain": (lambda: init.calculate_gain("cos"), ValueError, "nonlinearity='cos'", "'relu'"),
    "fan": (lambda: init.xavier_normal_(np.ones(3)), ValueError, "fewer than two axes", "(3,)"),
    "mode": (lambda: init.kaiming_normal_(np.ones((3, 3)), mode="in"), ValueError, "mode='in'"),
    "list": (lambda: init.zeros_([1.0]), TypeError, "zeros_: an array is needed", "list"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_came_and_what_to_write(name):
    call, kind, *parts = ERRORS[name]
    raises(kind, call, *parts)


# ---- initial values ----


def test_d11_uniform_writes_in_place_within_its_range_and_is_seeded():
    """D11: the initializer returns the array that it has filled."""
    w = nn.Parameter(np.empty((40, 50)))
    memory = w.view(np.ndarray)

    assert init.uniform_(w, -0.1, 0.1, generator=0) is w
    assert np.abs(memory).max() <= 0.1 and memory.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.05)
    other = init.uniform_(np.empty((40, 50)), -0.1, 0.1, generator=np.random.default_rng(0))
    equal(memory, other)
    nn.manual_seed(5)
    first = init.normal_(np.empty(3)).copy()
    assert (init.normal_(np.empty(3)) != first).all()
    nn.manual_seed(5)
    equal(init.normal_(np.empty(3)), first)


def test_initial_values_have_their_form():
    assert init.kaiming_normal_(np.empty((64, 32, 3, 3), np.float32)).dtype == np.float32


def test_initial_values_are_not_for_tensors():
    with pytest.raises(TypeError, match="outside of transforms"):
        grad(lambda w: np.sum(init.zeros_(w)))(np.ones(2))


def test_gelu_says_which_extra_it_needs(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match=r"pip install .functier\[scipy\]"):
        F.gelu(np.ones(2))
    assert F.gelu(np.zeros(1), "tanh") == 0
