"""Functions with rules as classes: those of the source documents, and of every other form."""

import numpy as np

from functier import Function, Tensor, custom_op, once_differentiable


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input @ weight.T
        if bias is not None:
            output += bias[None, :]
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output @ weight
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.T @ input
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class CombinedLinear(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input @ weight.T
        if bias is not None:
            output += bias[None, :]
        return output

    backward = staticmethod(LinearFunction.backward)


def linear(input, weight, bias=None):
    return LinearFunction.apply(input, weight, bias)


class MulConstant(Function):
    @staticmethod
    def forward(tensor, constant):
        return tensor * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        _tensor, constant = inputs
        ctx.constant = constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


class MulConstantNone(MulConstant):
    @staticmethod
    def setup_context(ctx, inputs, output):
        _tensor, constant = inputs
        ctx.set_materialize_grads(False)
        ctx.constant = constant

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None


class MyCube(Function):
    @staticmethod
    def forward(x):
        dx = 3 * x**2
        result = x**3
        return result, dx

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        _result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        result = grad_output * dx + grad_dx * 6 * x
        return result


def my_cube(x):
    result, _dx = MyCube.apply(x)
    return result


# ---- the cube in other forms ----


class CombinedCube(Function):
    """The derivative's factor is saved, and is neither input nor output."""

    @staticmethod
    def forward(ctx, x):
        dx = 3 * x**2
        ctx.save_for_backward(dx)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (dx,) = ctx.saved_tensors
        return grad * dx


class ByJvp(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent


class BothModes(ByJvp):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def vjp(ctx, grad):
        x, _y = ctx.saved_tensors
        return grad * 3 * x**2


class CubeWithVmap(MyCube):
    @staticmethod
    def vmap(info, in_dims, x):
        y, dx = CubeWithVmap.apply(np.moveaxis(x, in_dims[0], -1))
        return (y, np.moveaxis(dx, -1, 0)), (-1, 0)


def compiled(f):
    """Stand for compiled code, which takes plain arrays only."""

    def call(x):
        assert isinstance(x, (np.ndarray, np.generic, float)), type(x)
        return f(np.array(x))[()]

    return call


class Square(Function):
    @staticmethod
    def forward(x):
        return compiled(np.square)(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

    @staticmethod
    def vmap(info, in_dims, x):
        return Square.apply(x), in_dims[0]


class CompiledCube(Function):
    """Neither forward nor backward is NumPy code."""

    @staticmethod
    def forward(x):
        return compiled(lambda x: x**3)(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 3 * Square.apply(*ctx.saved_tensors) * grad

    @staticmethod
    def vmap(info, in_dims, x):
        return CompiledCube.apply(x), in_dims[0]


cube_op = custom_op("functions::cube", compiled(lambda x: x**3))
cube_op.register_vmap(lambda info, in_dims, x: (cube_op(x), 0))
cube_op.register_jvp(
    lambda ctx, t: 3 * Square.apply(*ctx.saved_tensors) * t,
    setup_context=lambda ctx, inputs, output: ctx.save_for_forward(*inputs),
)


class AttributeCube(Function):
    """Has a first derivative, and keeps what that needs as an attribute."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.xs = {"x": inputs}

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return 3 * ctx.xs["x"][0] ** 2 * grad


class WrongCube(MyCube):
    """As the documents' without the contribution of `dx`: wrong at second order."""

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        _x, dx = ctx.saved_tensors
        return grad_output * dx


CUBES = {
    "documents": my_cube,
    "combined": CombinedCube.apply,
    "jvp": ByJvp.apply,
    "both": BothModes.apply,
    "vmap": lambda x: CubeWithVmap.apply(x)[0],
    "compiled": CompiledCube.apply,
    "operation": cube_op,
}
"""The cube, in every form in which all derivatives work."""


VALUES = (Tensor, np.ndarray, np.generic, int, float, complex)


def save(ctx, inputs, output):
    ctx.save_for_backward(*[x for x in inputs if isinstance(x, VALUES)])


def function(forward=None, backward=None, **methods):
    """A Function with these static methods; the arguments are saved."""
    own = {"forward": forward or (lambda x: x * 1.0), "backward": backward, **methods}
    own.setdefault("setup_context", save)
    own = {k: staticmethod(v) if callable(v) else v for k, v in own.items() if v is not None}
    return type("Op", (Function,), own)
