"""Neural networks: modules with parameters, functions, and initialization.

The names are those of ``torch.nn``. A `Module` holds NumPy arrays and is a pytree, so every
transform takes one: ``grad(loss)(module, x, y)`` is a module of gradients. Everything with
parameters or buffers is a module, which calls a function of `functional`. Activations are functions
of `functional`, too; their modules only call them.
"""

# Imports `_core`, `_rules`, `protocol`, `_transforms` and `random`.

import typing as _typing

from .._core.peers import answering as _answering
from . import functional, init
from ._containers import ModuleDict, ModuleList, Sequential
from ._conv_layers import Conv1d, Conv2d
from ._hooks import RemovableHandle
from ._layers import (
    GELU,
    Dropout,
    Flatten,
    Linear,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
)
from ._module import Module
from ._norm_layers import BatchNorm1d, BatchNorm2d, LayerNorm
from ._parameter import Parameter
from ._random import manual_seed

__all__ = [
    "GELU", "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "Dropout", "Flatten", "LayerNorm",
    "Linear", "Module", "ModuleDict", "ModuleList", "Parameter", "ReLU", "RemovableHandle",
    "Sequential", "Sigmoid", "Softmax", "Tanh", "functional", "init", "manual_seed",
]  # fmt: skip


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
