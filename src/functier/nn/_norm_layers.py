"""Normalizations as layers."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Value, shape_of
from . import functional as F
from ._initial import add_parameter, reset_affine
from ._module import Module


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
        add_parameter(self, "weight", self.normalized_shape, dtype, elementwise_affine)
        add_parameter(self, "bias", self.normalized_shape, dtype, elementwise_affine and bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        reset_affine(self)

    def forward(self, input: Value) -> Value:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class BatchNorm(Module):
    """A layer of `BatchNorm1d` or `BatchNorm2d`: `ranks` has the numbers of axes that it takes."""

    ranks: ClassVar[dict[int, str]]
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, dtype: DTypeLike | None = None, *,
        bias: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        add_parameter(self, "weight", num_features, dtype, affine)
        add_parameter(self, "bias", num_features, dtype, affine and bias)
        kind, tracked = np.float64 if dtype is None else dtype, track_running_stats
        self.register_buffer("running_mean", np.zeros(num_features, kind) if tracked else None)
        self.register_buffer("running_var", np.ones(num_features, kind) if tracked else None)
        # A float: gradients of a module with integers would need allow_int=True.
        self.register_buffer("num_batches_tracked", np.zeros(()) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to zeros, the variance to ones, and the count to 0."""
        if self.track_running_stats:
            self.running_mean[...] = 0
            self.running_var[...] = 1
            self.num_batches_tracked[...] = 0

    def reset_parameters(self) -> None:
        """Do the same as `reset_running_stats`; set the weight to ones and the bias to zeros."""
        self.reset_running_stats()
        reset_affine(self)

    def forward(self, input: Value) -> Value:
        shape, forms = shape_of(input), self.ranks
        if len(shape) not in forms:
            raise ValueError(
                f"{type(self).__name__}: the input has the shape {shape}; it has to be "
                f"{' or '.join(forms.values())}; write x[None] for one example x"
            )
        tracked = self.track_running_stats
        learning = self.training and tracked
        momentum = self.momentum
        if momentum is None:  # the mean over all batches
            momentum = 1 / (float(self.num_batches_tracked) + 1) if learning else 0.0
        out = F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not tracked, momentum, self.eps,
        )  # fmt: skip
        if learning:
            self.num_batches_tracked[...] += 1
        return out

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """Normalize each channel over all examples: see `functional.batch_norm`.

    Parameters
    ----------
    num_features : int
        The number of channels.
    eps : float
    momentum : float, optional
        The weight of a new statistic; with None, the mean over all batches is kept.
    affine : bool
        True for a weight, of ones at first, and a bias, of zeros, for each channel.
    track_running_stats : bool
        True to track the statistics of batches, for evaluation. A call in training mode writes to
        them, and raises `MutationError` inside a transform. With False, the layer always normalizes
        with the statistics of the batch that it gets.
    dtype : dtype, optional
        By default float64.
    bias : bool
        False for a weight alone.

    Examples
    --------
    >>> import numpy as np
    >>> layer = BatchNorm1d(1, eps=0.0)
    >>> layer(np.array([[1.0], [3.0]]))
    array([[-1.],
           [ 1.]])
    >>> layer.running_mean, layer.eval()(np.array([[0.2]]))
    (array([0.2]), array([[0.]]))
    """

    ranks: ClassVar = {2: "(examples, channels)", 3: "(examples, channels, length)"}


class BatchNorm2d(BatchNorm):
    """Normalize each channel over all images: see `functional.batch_norm`.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, dtype, bias
        As for `BatchNorm1d`.

    Examples
    --------
    >>> import numpy as np
    >>> BatchNorm2d(3)(np.arange(24.0).reshape(2, 3, 2, 2)).std(axis=(0, 2, 3)).round(3)
    array([1., 1., 1.])
    """

    ranks: ClassVar = {4: "(examples, channels, height, width)"}
