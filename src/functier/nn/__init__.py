"""Neural networks: modules with parameters, their functions, and initial values.

The names are those of ``torch.nn``. A `Module` holds NumPy arrays and is a pytree, so every
transform takes one: ``grad(loss)(module, x, y)`` is a module of gradients. What has parameters
or buffers is a module, which calls a function of `functional`. Activations and pooling are
functions of `functional`, too; their modules only call them.
"""

# Imports `_core`, `_rules`, `_transforms` and `random`.

from . import functional, init
from ._containers import ModuleDict, ModuleList, Sequential
from ._hooks import RemovableHandle
from ._layers import (
    GELU,
    AvgPool2d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    LayerNorm,
    Linear,
    MaxPool2d,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
)
from ._module import Module
from ._parameter import Parameter
from ._random import manual_seed

__all__ = [
    "GELU", "AvgPool2d", "Conv2d", "Dropout", "Embedding", "Flatten", "LayerNorm", "Linear",
    "MaxPool2d", "Module", "ModuleDict", "ModuleList", "Parameter", "ReLU", "RemovableHandle",
    "Sequential", "Sigmoid", "Softmax", "Tanh", "functional", "init", "manual_seed",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
