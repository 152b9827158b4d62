"""New parameters of layers, and their first values."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Shape
from ..random._sampling import Seed
from . import init
from ._filling import fans
from ._module import Module
from ._parameter import Parameter
from ._random import generator_of


def add_parameter(
    module: Module, name: str, shape: int | Shape, dtype: DTypeLike | None, wanted: bool = True
) -> None:
    """Register a parameter with undefined values, or its name alone."""
    dtype = np.float64 if dtype is None else dtype
    module.register_parameter(name, Parameter(np.empty(shape, dtype)) if wanted else None)


def reset_uniform(module: Any, generator: Seed) -> None:
    """Draw the initial values of torch's layers: uniform within ``1 / sqrt(fan_in)``."""
    inputs = fans(module.weight)[0]
    bound = 1 / math.sqrt(inputs) if inputs else 0.0
    rng = generator_of(generator)
    for x in (module.weight, module.bias):
        if x is not None:
            init.uniform_(x, -bound, bound, rng)


def reset_affine(module: Any) -> None:
    """Set the weight of a normalization to ones and its bias to zeros."""
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)
