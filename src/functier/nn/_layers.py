"""Layers: modules over the functions of `functional`, with torch's names and options."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Value
from ..random._sampling import Seed
from . import functional as F
from ._initial import add_parameter, reset_uniform
from ._layer_functions import Axes, one_of
from ._module import Module
from ._random import generator_of


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
        add_parameter(self, "weight", (out_features, in_features), dtype)
        add_parameter(self, "bias", out_features, dtype, bias)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values: uniform within ``1 / sqrt(in_features)``."""
        reset_uniform(self, generator)

    def forward(self, input: Value) -> Value:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


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
    dim, axis : int or tuple of int
        The axes that sum up to 1, by torch's name or by NumPy's: one of the two.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax(-1)(np.zeros((2, 4)))
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, dim: Axes = None, *, axis: Axes = None):
        super().__init__()
        self.dim = one_of("Softmax", dim, axis)

    def forward(self, input: Value) -> Value:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Flatten(Module):
    """Merge several axes into one.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last axis to merge. By default the axis of examples stays; in a function
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
