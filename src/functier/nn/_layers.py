"""Layers: modules over the functions of `functional`, with torch's names and options."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.types import Shape, Value
from ..random._sampling import Seed
from . import functional as F
from . import init
from ._conv import Sizes, expand_option
from ._module import Module
from ._parameter import Parameter
from ._random import generator_of


def _add_parameter(
    module: Module, name: str, shape: int | Shape, dtype: DTypeLike | None, wanted: bool = True
) -> None:
    """Register a parameter with undefined values, or its name alone."""
    dtype = np.float64 if dtype is None else dtype
    module.register_parameter(name, Parameter(np.empty(shape, dtype)) if wanted else None)


def _reset_uniform(module: Any, generator: Seed) -> None:
    """Draw the initial values of torch's layers: uniform within ``1 / sqrt(fan_in)``."""
    inputs = init.fans(module.weight)[0]
    bound = 1 / math.sqrt(inputs) if inputs else 0.0
    rng = generator_of(generator)
    for x in (module.weight, module.bias):
        if x is not None:
            init.uniform_(x, -bound, bound, rng)


class Linear(Module):
    """``x @ weight.T + bias``: see `functional.linear`.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool
        True for a layer with a bias.
    dtype : dtype, optional
        By default float64.
    generator : seed or generator, optional
        For the initial values; by default that of `functier.nn.manual_seed`.

    Examples
    --------
    >>> import numpy as np
    >>> layer = Linear(3, 2)
    >>> layer(np.ones((5, 3))).shape
    (5, 2)
    """

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True,
        dtype: DTypeLike | None = None, *, generator: Seed = None,
    ):  # fmt: skip
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        _add_parameter(self, "weight", (out_features, in_features), dtype)
        _add_parameter(self, "bias", out_features, dtype, bias)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values: uniform within ``1 / sqrt(in_features)``."""
        _reset_uniform(self, generator)

    def forward(self, input: Value) -> Value:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Conv2d(Module):
    """The cross-correlation of images with kernels: see `functional.conv2d`.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, dilation : int or tuple of two
    padding : int, tuple of two, "valid" or "same"
    groups : int
    bias : bool
        True for a layer with a bias.
    dtype, generator
        As for `Linear`.

    Examples
    --------
    >>> import numpy as np
    >>> Conv2d(1, 4, 3, padding=1)(np.ones((2, 1, 8, 8))).shape
    (2, 4, 8, 8)
    """

    weight: Any
    bias: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
        dtype: DTypeLike | None = None, *, generator: Seed = None,
    ):  # fmt: skip
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"Conv2d: in_channels={in_channels} and out_channels={out_channels} have to be "
                f"divisible by groups={groups}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = expand_option("Conv2d", "kernel_size", kernel_size, 2, 1)
        self.stride = expand_option("Conv2d", "stride", stride, 2, 1)
        self.dilation = expand_option("Conv2d", "dilation", dilation, 2, 1)
        named = isinstance(padding, str)
        if named and padding not in ("same", "valid"):
            raise ValueError(f"Conv2d: padding={padding!r}; a str has to be 'same' or 'valid'")
        self.padding = padding if named else expand_option("Conv2d", "padding", padding, 2, 0)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        _add_parameter(self, "weight", shape, dtype)
        _add_parameter(self, "bias", out_channels, dtype, bias)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values: uniform within ``1 / sqrt(fan_in)``."""
        _reset_uniform(self, generator)

    def forward(self, input: Value) -> Value:
        return F.conv2d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0, 0):
            text += f", padding={self.padding}"
        if self.dilation != (1, 1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"


class LayerNorm(Module):
    """Normalize the last axes to mean 0 and variance 1: see `functional.layer_norm`.

    Parameters
    ----------
    normalized_shape : int or tuple of int
    eps : float
    elementwise_affine : bool
        True for a weight, of ones at first, and a bias, of zeros.
    bias : bool
    dtype : dtype, optional

    Examples
    --------
    >>> import numpy as np
    >>> LayerNorm(2, eps=0.0)(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """

    weight: Any
    bias: Any

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        form = normalized_shape if np.iterable(normalized_shape) else (normalized_shape,)
        self.normalized_shape, self.eps = tuple(form), eps
        self.elementwise_affine = elementwise_affine
        _add_parameter(self, "weight", self.normalized_shape, dtype, elementwise_affine)
        _add_parameter(self, "bias", self.normalized_shape, dtype, elementwise_affine and bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Value) -> Value:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class Embedding(Module):
    """Rows that integers name: see `functional.embedding`.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The number of rows, and their length.
    padding_idx : int, optional
        A row that is zero at first and gets no gradient.
    dtype, generator
        As for `Linear`.

    Examples
    --------
    >>> import numpy as np
    >>> Embedding(4, 2, padding_idx=0)(np.array([0]))
    array([[0., 0.]])
    """

    weight: Any

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        dtype: DTypeLike | None = None, *, generator: Seed = None,
    ):  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"Embedding: padding_idx={padding_idx} is not one of {num_embeddings} rows"
            )
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        _add_parameter(self, "weight", (num_embeddings, embedding_dim), dtype)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values: standard normal numbers."""
        init.normal_(self.weight, generator=generator)
        if self.padding_idx is not None:
            self.weight[self.padding_idx] = 0

    def forward(self, input: Value) -> Value:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


class Dropout(Module):
    """Zero elements at random while training: see `functional.dropout`.

    Parameters
    ----------
    p : float
        The probability.
    generator : seed or generator, optional
        By default that of `functier.nn.manual_seed`.

    Examples
    --------
    >>> import numpy as np
    >>> layer = Dropout(0.5, generator=0)
    >>> layer(np.ones(5)), layer.eval()(np.ones(5))
    (array([2., 0., 0., 0., 2.]), array([1., 1., 1., 1., 1.]))
    """

    def __init__(self, p: float = 0.5, *, generator: Seed = None):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p={p!r}; a probability is from 0 to 1")
        self.p = p
        own = generator_of(generator)  # the default one is made here, and not inside a transform
        self.generator = None if generator is None else own

    def forward(self, input: Value) -> Value:
        return F.dropout(input, self.p, self.training, generator=self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class ReLU(Module):
    """Apply `functional.relu`.

    Examples
    --------
    >>> import numpy as np
    >>> ReLU()(np.array([-1.0, 2.0]))
    array([0., 2.])
    """

    def forward(self, input: Value) -> Value:
        return F.relu(input)


class GELU(Module):
    """Apply `functional.gelu`.

    Parameters
    ----------
    approximate : {"none", "tanh"}

    Examples
    --------
    >>> import numpy as np
    >>> GELU("tanh")(np.array([-1.0, 0.0, 1.0])).round(3)
    array([-0.159,  0.   ,  0.841])
    """

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Value) -> Value:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    """Apply `functional.tanh`.

    Examples
    --------
    >>> float(Tanh()(0.0))
    0.0
    """

    def forward(self, input: Value) -> Value:
        return F.tanh(input)


class Sigmoid(Module):
    """Apply `functional.sigmoid`.

    Examples
    --------
    >>> import numpy as np
    >>> Sigmoid()(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """

    def forward(self, input: Value) -> Value:
        return F.sigmoid(input)


class Softmax(Module):
    """Apply `functional.softmax`.

    Parameters
    ----------
    dim : int or tuple of int
        The axes that sum up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax(-1)(np.zeros((2, 4)))
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, dim: int | tuple[int, ...]):
        super().__init__()
        self.dim = dim

    def forward(self, input: Value) -> Value:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Flatten(Module):
    """Merge several axes into one.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last of them. The axis of examples stays by default; for a function
        of one example, under `vmap`, write ``Flatten(0)``.

    Examples
    --------
    >>> import numpy as np
    >>> Flatten()(np.zeros((5, 2, 3))).shape
    (5, 6)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Value) -> Value:
        shape = np.shape(input)
        n = len(shape)
        start, end = (i + n if i < 0 else i for i in (self.start_dim, self.end_dim))
        if not 0 <= start <= end < n:
            raise ValueError(
                f"Flatten: the input has the shape {shape}, without axes {self.start_dim} to "
                f"{self.end_dim} in this order"
            )
        return np.reshape(
            input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])
        )

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class MaxPool2d(Module):
    """Apply `functional.max_pool2d`.

    Parameters
    ----------
    kernel_size, stride, padding, dilation, return_indices, ceil_mode
        The options of `functional.max_pool2d`.

    Examples
    --------
    >>> import numpy as np
    >>> MaxPool2d(2)(np.arange(16.0).reshape(1, 4, 4))
    array([[[ 5.,  7.],
            [13., 15.]]])
    """

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Value) -> Value:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """Apply `functional.avg_pool2d`.

    Parameters
    ----------
    kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        The options of `functional.avg_pool2d`.

    Examples
    --------
    >>> import numpy as np
    >>> AvgPool2d(2)(np.arange(16.0).reshape(1, 4, 4))
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    """

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: float | None = None,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Value) -> Value:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
