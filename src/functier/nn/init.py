"""Initialization of arrays in place; the names and the formulas are torch's.

Each function takes a `Parameter` or another NumPy array, changes it and returns it. ``generator``
is a seed or a generator, NumPy's or `functier.random`'s; the default is the one that
`functier.nn.manual_seed` seeds. Weights of a layer are ``(outputs, inputs, *kernel)``.
"""

import typing as _typing

from .._core.peers import answering as _answering
from ._filling import (
    calculate_gain,
    constant_,
    kaiming_normal_,
    kaiming_uniform_,
    normal_,
    ones_,
    uniform_,
    xavier_normal_,
    xavier_uniform_,
    zeros_,
)

__all__ = [
    "calculate_gain", "constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
