"""Function and custom_op beside PyTorch's, from one text for both (the extra ``bench``).

Two things are left out, in which torch.func (2.13) is silently wrong: `jacfwd` of `jacfwd` of a
Function with a jvp gives zeros, and a second derivative through `once_differentiable` is
taken as if the saved arrays were constants.
"""

import numpy as np
import pytest

import functier as ft
from functier import testing
from support.functions import LinearFunction, MyCube

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

X = np.array([0.3, -0.8, 1.2])
A, W, B = np.arange(6.0).reshape(2, 3) / 7, np.linspace(-1, 1, 12).reshape(4, 3), np.ones(4)


class Ours:
    """The names that the text below needs of a library: this one."""

    Function = ft.Function
    grad, vmap, jvp, vjp, jacrev, jacfwd, hessian = (
        ft.grad, ft.vmap, ft.jvp, ft.vjp, ft.jacrev, ft.jacfwd, ft.hessian
    )  # fmt: skip
    gradcheck = staticmethod(testing.gradcheck)

    @staticmethod
    def array(x):
        return np.array(x)

    @staticmethod
    def total(x):
        return np.sum(x)


@pytest.fixture(scope="module")
def theirs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Theirs:
        Function = torch.autograd.Function
        grad, vmap, jvp, vjp = map(
            staticmethod, (torch.func.grad, torch.vmap, torch.func.jvp, torch.func.vjp)
        )
        jacrev, jacfwd, hessian = map(
            staticmethod, (torch.func.jacrev, torch.func.jacfwd, torch.func.hessian)
        )
        array = staticmethod(torch.tensor)
        total = staticmethod(torch.sum)

    return Theirs


def close(actual, expected):
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for a, e in zip(actual, expected):
            close(a, e)
    else:
        a, e = np.asarray(actual), np.asarray(expected)
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12)


# ---- one text for both ----


def of(lib, cls, **more):
    """A Function of a library with the methods of one of functier's."""
    own = {name: value for name, value in vars(cls).items() if isinstance(value, staticmethod)}
    return type(cls.__name__, (lib.Function,), {**own, "generate_vmap_rule": True, **more})


def linear(lib):
    def forward(input, weight, bias):
        output = input @ weight.T
        return output if bias is None else output + bias[None, :]

    return of(lib, LinearFunction, forward=staticmethod(forward))


def cube(lib):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[1])
        ctx.save_for_forward(*inputs, output[1])

    def jvp(ctx, t):
        x, dx = ctx.saved_tensors
        return dx * t, 6 * x * t

    return of(lib, MyCube, setup_context=staticmethod(setup_context), jvp=staticmethod(jvp))


def doubled_in_batch(lib):
    """The batching rule is wrong on purpose: twice the value, so one sees who asks for it."""

    class Op(lib.Function):
        @staticmethod
        def forward(x, name):
            return x * 1.0

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.name = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * len(ctx.name), None

        @staticmethod
        def vmap(info, in_dims, x, name):
            assert in_dims[1] is None and info.randomness == "error"
            x = x if in_dims[0] == 0 else x.T
            return Op.apply(x * 2.0 * info.batch_size, name), 0

    return Op


def program_linear(lib):
    op, a, w, b = linear(lib).apply, *map(lib.array, (A, W, B))
    yield op(a, w, b)
    yield op(a, w, None)
    yield lib.grad(lambda a, w, b: lib.total(op(a, w, b) ** 2), (0, 1, 2))(a, w, b)
    yield lib.vmap(lambda b: op(a, w, b))(lib.array(np.stack([B, 2 * B])))
    yield lib.vmap(lib.grad(lambda b: lib.total(op(a, w, b) ** 3)))(lib.array(np.stack([B, 2 * B])))
    yield (
        lib.hessian(lambda b: lib.total(op(a, w, b) ** 3))(b)
        if lib is Ours
        else (lib.jacrev(lib.jacrev(lambda b: lib.total(op(a, w, b) ** 3)))(b))
    )


def program_cube(lib):
    op, x = cube(lib).apply, lib.array(X)

    def f(x):
        return op(x)[0]

    yield op(x)
    yield lib.vmap(lib.grad(f))(x)
    yield lib.vmap(lib.grad(lib.grad(f)))(x)
    yield lib.vmap(lib.grad(lib.grad(lib.grad(f))))(x)
    yield lib.jvp(f, (x,), (x,))[1]
    yield lib.jvp(lambda x: lib.vjp(f, x)[1](x)[0], (x,), (x,))[1]
    yield lib.jacfwd(lib.jacrev(lambda x: lib.total(f(x))))(x)
    yield lib.grad(lambda x: lib.total(lib.vmap(lib.grad(f))(x) * x))(x)
    yield lib.grad(lambda x: lib.total(op(x)[1]))(x)


def program_vmap(lib):
    op, x = doubled_in_batch(lib).apply, lib.array(A)
    yield lib.vmap(lambda x: op(x, "name"))(x)
    yield lib.vmap(lambda x: op(x, "name"), 1)(x)
    yield lib.vmap(lib.grad(lambda x: lib.total(op(x, "name"))))(x)
    yield lib.grad(lambda x: lib.total(lib.vmap(lambda x: op(x, "name"))(x)))(x)
    yield lib.vmap(lib.vmap(lambda x: op(x, "name")))(x)


@pytest.mark.parametrize("program", [program_linear, program_cube, program_vmap])
def test_one_text_gives_the_same_in_both_libraries(program, theirs):
    ours, reference = list(program(Ours)), list(program(theirs))
    assert len(ours) == len(reference) > 3
    for actual, expected in zip(ours, reference):
        close(actual, expected)


# ---- errors: the words that both have ----


def misuses(lib):
    """A class, a call of it, and the words that the error has in both libraries."""

    def make(**methods):
        own = {"forward": lambda x: x * 1.0, "setup_context": lambda ctx, inputs, output: None}
        own |= methods
        own = {k: staticmethod(v) if callable(v) else v for k, v in own.items()}
        return type("Op", (lib.Function,), own).apply

    x = lib.array(X)

    def grad(op, x=x):
        return lib.grad(lambda x: lib.total(op(x)))(x)

    yield lambda: grad(make()), "must implement either the backward or vjp method"
    yield (
        lambda: grad(make(backward=lambda ctx, g: (g, g))),
        "returned an incorrect number of gradient",
    )
    yield lambda: lib.vmap(make(generate_vmap_rule=False))(x), "does not have vmap support"
    yield lambda: lib.vmap(make(vmap=lambda info, in_dims, x: x))(x), "to have two returns"
    yield (
        lambda: lib.vmap(make(vmap=lambda info, in_dims, x: (x, (0, 0))))(x),
        "returned an incompatible",
    )
    yield (
        lambda: lib.vmap(make(vmap=lambda info, in_dims, x: (x, 0), generate_vmap_rule=True))(x),
        "generate_vmap_rule=True",
    )


def test_errors_have_the_words_of_torch(theirs):
    for (ours, words), (reference, _) in zip(misuses(Ours), misuses(theirs), strict=True):
        for call in (ours, reference):
            with pytest.raises(Exception) as error:
                call()
            assert words in str(error.value).replace("gradients", "gradient"), words


def test_custom_operations(theirs):
    import torch

    ours = ft.custom_op("beside::sine", np.sin)
    reference = torch.library.custom_op(
        "beside::sine",
        lambda x: torch.from_numpy(np.sin(x.numpy())),
        mutates_args=(),
        schema="(Tensor x) -> Tensor",
    )
    try:
        for op, xp in ((ours, np), (reference, torch)):
            op.register_autograd(
                lambda ctx, g, xp=xp: g * xp.cos(ctx.saved_tensors[0]),
                setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            )
            op.register_vmap(lambda info, in_dims, x, op=op: (op(x), in_dims[0]))
        assert ft.ops.beside.sine is ours
        expected = theirs.vmap(torch.ops.beside.sine, 1)(theirs.array(A))
        close(ft.vmap(ft.ops.beside.sine, 1)(A), expected)
        x = torch.tensor(X, requires_grad=True)
        torch.ops.beside.sine(x).sum().backward()
        close(ft.grad(lambda x: np.sum(ours(x)))(X), x.grad)
    finally:
        ours.unregister()
