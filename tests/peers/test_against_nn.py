"""functier.nn beside torch.nn: values, gradients, layers, states (the extra ``bench``)."""

import itertools

import numpy as np
import pytest

import functier as ft
import functier.nn.functional as F
from functier import nn
from functier.nn import init

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
TF = torch.nn.functional
RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape)


def to_torch(x):
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


def close(actual, expected, tolerance=1e-10):
    a, e = np.asarray(actual), np.asarray(expected)
    assert (a.shape, a.dtype) == (e.shape, e.dtype)
    np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


def agree(ours, theirs, *args, **kwargs):
    """Values, and the gradient and second derivative of a weighted sum, by each float array."""
    places = [i for i, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    weights = RNG.normal(size=np.shape(ours(*args, **kwargs)))
    directions = [draw(*args[i].shape) for i in places]
    numbers = tuple(range(len(places)))

    def results(f, xp, grad, own):
        given, named = [own(x) for x in args], {k: own(x) for k, x in kwargs.items()}

        def loss(*values):
            whole = list(given)
            for i, x in zip(places, values):
                whole[i] = x
            return xp.sum(own(weights) * f(*whole, **named))

        def moved(*values):
            return sum(xp.sum(g * own(d)) for g, d in zip(first(*values), directions))

        first, at = grad(loss, numbers), [given[i] for i in places]
        return f(*given, **named), *first(*at), *grad(moved, numbers)(*at)

    found, expected = (
        results(ours, np, ft.grad, lambda x: x),
        results(theirs, torch, torch.func.grad, to_torch),
    )
    for a, e in zip(found, expected, strict=True):
        close(a, e.numpy(force=True))  # a zero that torch has not made


# ---- functions ----

CONV = [
    {}, {"padding": 1}, {"stride": 2}, {"dilation": 2, "padding": 2}, {"padding": "same"},
    {"stride": (2, 1), "padding": (0, 2), "dilation": (1, 2)}, {"padding": "valid"},
]  # fmt: skip


@pytest.mark.parametrize("options", CONV, ids=str)
@pytest.mark.filterwarnings("ignore:Using padding='same'")  # that PyTorch makes a copy
@pytest.mark.parametrize("kernel", [(3, 3), (2, 1)])
def test_conv2d(options, kernel):
    agree(F.conv2d, TF.conv2d, draw(2, 3, 7, 6), draw(4, 3, *kernel), draw(4), **options)


@pytest.mark.parametrize("groups", [2, 4])
def test_conv2d_in_groups(groups):
    x, w = draw(2, 4, 5, 6), draw(8, 4 // groups, 3, 2)

    agree(F.conv2d, TF.conv2d, x, w, groups=groups)


def test_conv2d_of_one_image():
    agree(F.conv2d, TF.conv2d, draw(3, 5, 5), draw(2, 3, 2, 2), draw(2))


@pytest.mark.parametrize("options", [{}, {"padding": 2, "stride": 2}, {"dilation": 3}], ids=str)
def test_conv1d(options):
    agree(F.conv1d, TF.conv1d, draw(2, 3, 9), draw(4, 3, 3), draw(4), **options)


POOL = [
    {"kernel_size": 2}, {"kernel_size": (3, 2), "stride": (1, 2)}, {"kernel_size": 3, "padding": 1},
    {"kernel_size": 3, "stride": 2, "padding": 1},
]  # fmt: skip


@pytest.mark.parametrize(
    "options", [*POOL, {"kernel_size": 2, "dilation": 2, "stride": 1}], ids=str
)
def test_max_pool2d(options):
    x = draw(2, 3, 8, 7)

    agree(F.max_pool2d, TF.max_pool2d, x, **options)


def test_max_pool2d_at_ties_and_nans():
    x = RNG.integers(0, 3, (2, 1, 6, 6)).astype(float)
    ours = ft.grad(lambda x: np.sum(F.max_pool2d(x, 3, 1) * 2.0))(x)
    theirs = torch.func.grad(lambda x: torch.sum(TF.max_pool2d(x, 3, 1) * 2.0))(torch.tensor(x))

    close(ours, theirs.numpy())
    x[0, 0, 2, 3] = np.nan
    close(F.max_pool2d(x, 2), TF.max_pool2d(torch.tensor(x), 2).numpy())


@pytest.mark.parametrize("options", POOL, ids=str)
def test_avg_pool2d(options):
    agree(F.avg_pool2d, TF.avg_pool2d, draw(2, 3, 8, 7), **options)


ELEMENTWISE = {
    "relu": (), "leaky_relu": (0.2,), "silu": (), "sigmoid": (), "softplus": (2.0,), "tanh": (),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    x = np.concatenate([draw(9) * 3, [0.0, -30.0, 30.0, 700.0, -700.0]])

    agree(getattr(F, name), getattr(TF, name), x, *ELEMENTWISE[name])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate):
    agree(F.gelu, TF.gelu, draw(4, 5) * 3, approximate=approximate)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_along_an_axis(dim):
    x = draw(3, 4, 2) * 10

    agree(F.softmax, TF.softmax, x, dim)
    agree(F.log_softmax, TF.log_softmax, x, dim)
    agree(F.logsumexp, torch.logsumexp, x, dim)
    agree(F.logsumexp, torch.logsumexp, x, dim, True)


def test_logsumexp_of_infinities():
    x = np.array([[-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 2.0], [1e300, -1e300]])

    agree(lambda x: F.logsumexp(x, (1,)), lambda x: torch.logsumexp(x, 1), x[2:])
    close(F.logsumexp(x, 1), torch.logsumexp(torch.tensor(x), 1).numpy())


def test_linear():
    agree(F.linear, TF.linear, draw(2, 5, 3), draw(4, 3), draw(4))
    agree(F.linear, TF.linear, draw(3), draw(4, 3))


@pytest.mark.parametrize("form", [(4,), (3, 4)])
def test_layer_norm(form):
    x, w, b = draw(2, 3, 4), draw(*form), draw(*form)

    agree(F.layer_norm, TF.layer_norm, x, form, w, b, 1e-3)


REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_regression_losses(reduction):
    x, y = draw(4, 3) * 2, draw(4, 3)
    agree(F.mse_loss, TF.mse_loss, x, y, reduction=reduction)


@pytest.mark.parametrize(
    ("reduction", "smoothing"), list(itertools.product(REDUCTIONS, [0.0, 0.2]))
)
@pytest.mark.parametrize("shape", [(5, 4), (2, 4, 3), (4,)], ids=str)
def test_cross_entropy(shape, reduction, smoothing):
    target = RNG.integers(0, 4, shape[:1] + shape[2:] if len(shape) > 1 else ())
    options = {"reduction": reduction, "label_smoothing": smoothing}

    agree(F.cross_entropy, TF.cross_entropy, draw(*shape) * 3, np.asarray(target), **options)
    if len(shape) < 3 or reduction != "mean":
        agree(F.cross_entropy, TF.cross_entropy, draw(*shape), RNG.random(shape), **options)


# ---- layers ----

LAYERS = {
    "Linear": ((3, 4), (2, 3)),
    "Linear without bias": ((3, 4, False), (2, 3)),
    "Conv2d": ((4, 6, 3, 2, 1, 1, 2), (2, 4, 7, 7)),
    "Conv2d without bias": ((1, 2, (2, 3), 1, "same", 1, 1, False), (2, 1, 5, 5)),
    "LayerNorm": ((4,), (3, 4)),
    "ReLU": ((), (5,)),
    "GELU": ((), (5,)),
    "Tanh": ((), (5,)),
    "Sigmoid": ((), (5,)),
    "Softmax": ((1,), (3, 5)),
    "Flatten": ((), (2, 3, 4)),
    "Dropout": ((0.0,), (5,)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_states(name):
    options, shape = LAYERS[name]
    ours = getattr(nn, name.split()[0])(*options)
    theirs = getattr(torch.nn, name.split()[0])(*options).double()
    assert repr(ours) == repr(theirs).replace(", inplace=False", "")  # an option of torch's alone
    state = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    x = draw(*shape)

    close(ours(x), theirs(torch.tensor(x)).detach().numpy())
    gradient = ft.grad(lambda m: np.sum(m(x) ** 2))(ours)
    loss = (theirs(torch.tensor(x)) ** 2).sum()
    for (a, ours_own), (e, own) in zip(gradient.named_parameters(), theirs.named_parameters()):
        assert a == e
        close(ours_own, torch.autograd.grad(loss, own, retain_graph=True)[0].numpy())


def networks(lib):
    return lib.Sequential(lib.Conv2d(1, 3, 3, 2), lib.ReLU(), lib.Flatten(), lib.Linear(27, 4))


def test_a_network_is_printed_named_and_differentiated_alike():
    ours, theirs = networks(nn), networks(torch.nn).double()
    assert repr(ours) == repr(theirs)
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    theirs.load_state_dict({k: torch.tensor(v) for k, v in ours.state_dict().items()})
    x, y = draw(5, 1, 8, 8), np.array([0, 1, 2, 3, 1])
    gradient = ft.grad(lambda m: F.cross_entropy(m(x), y))(ours)
    TF.cross_entropy(theirs(torch.tensor(x)), torch.tensor(y)).backward()

    for (a, value), (e, own) in zip(gradient.named_parameters(), theirs.named_parameters()):
        assert a == e
        close(value, own.grad.numpy())


def test_functional_call_and_stacked_state_are_torch_s():
    ours = [nn.Sequential(nn.Linear(3, 2), nn.Tanh()) for _ in range(3)]
    theirs = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()).double() for _ in ours]
    for a, e in zip(ours, theirs):
        e.load_state_dict({k: torch.tensor(v) for k, v in a.state_dict().items()})
    x = draw(4, 3)
    own, _ = ft.stack_module_state(ours)
    params, buffers = torch.func.stack_module_state(theirs)
    assert list(own) == list(params)

    a = ft.vmap(ft.functional_call, (None, 0, None))(ours[0], own, x)
    e = torch.vmap(lambda p, b: torch.func.functional_call(theirs[0], (p, b), torch.tensor(x)))(
        params, buffers
    )
    close(a, e.detach().numpy())


# ---- initial values ----


def test_gains():
    for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"):
        assert init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))
    assert init.calculate_gain("leaky_relu", 0.3) == torch.nn.init.calculate_gain("leaky_relu", 0.3)


SCALES = {
    "xavier_uniform_": (2.0,), "xavier_normal_": (), "kaiming_uniform_": (0.3,),
    "kaiming_normal_": (0.0, "fan_out", "relu"), "normal_": (1.0, 2.0), "uniform_": (-1.0, 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALES)
def test_distributions_have_the_same_moments(name):
    options = SCALES[name]
    a = getattr(init, name)(np.empty((60, 40, 3, 3)), *options, generator=0)
    e = torch.empty((60, 40, 3, 3), dtype=torch.float64)
    e = getattr(torch.nn.init, name)(
        e, *options, generator=torch.Generator().manual_seed(0)
    ).numpy()

    assert a.mean() == pytest.approx(e.mean(), abs=0.05 * e.std())
    assert a.std() == pytest.approx(e.std(), rel=0.02)
