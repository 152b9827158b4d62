"""Convolutions as layers."""

from typing import Any, ClassVar

from numpy.typing import DTypeLike

from .._core.numpy_facts import Value
from ..random._sampling import Seed
from . import functional as F
from ._conv import Sizes, expand_option
from ._initial import add_parameter, reset_uniform
from ._module import Module


class Convolution(Module):
    """A layer of `Conv1d` or `Conv2d`: `axes` is the number of axes that it runs over."""

    axes: ClassVar[int]
    weight: Any
    bias: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
        dtype: DTypeLike | None = None, *, generator: Seed = None,
    ):  # fmt: skip
        super().__init__()
        name, n = type(self).__name__, self.axes
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: in_channels={in_channels} and out_channels={out_channels} have to be "
                f"divisible by groups={groups}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = expand_option(name, "kernel_size", kernel_size, n, 1)
        self.stride = expand_option(name, "stride", stride, n, 1)
        self.dilation = expand_option(name, "dilation", dilation, n, 1)
        named = isinstance(padding, str)
        if named and padding not in ("same", "valid"):
            raise ValueError(f"{name}: padding={padding!r}; a str has to be 'same' or 'valid'")
        self.padding = padding if named else expand_option(name, "padding", padding, n, 0)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        add_parameter(self, "weight", shape, dtype)
        add_parameter(self, "bias", out_channels, dtype, bias)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values: uniform within ``1 / sqrt(fan_in)``."""
        reset_uniform(self, generator)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * self.axes:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.axes:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"


class Conv1d(Convolution):
    """The cross-correlation of sequences with kernels: see `functional.conv1d`.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, dilation : int or tuple of one
    padding : int, tuple of one, "valid" or "same"
    groups : int
    bias : bool
        True for a layer with a bias.
    dtype, generator
        As for `Linear`.

    Examples
    --------
    >>> import numpy as np
    >>> Conv1d(1, 4, 3, padding=1)(np.ones((2, 1, 8))).shape
    (2, 4, 8)
    """

    axes = 1

    def forward(self, input: Value) -> Value:
        return F.conv1d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv2d(Convolution):
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

    axes = 2

    def forward(self, input: Value) -> Value:
        return F.conv2d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )
