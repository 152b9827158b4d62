"""Initialization of arrays in place; the names and the formulas are torch's.

Each function takes a `Parameter` or another NumPy array, changes it and returns it. ``generator``
is a seed or a generator, NumPy's or `functier.random`'s; the default is the one that
`functier.nn.manual_seed` seeds. Weights of a layer are ``(outputs, inputs, *kernel)``.
"""

from ._filling import (
    calculate_gain,
    constant_,
    dirac_,
    eye_,
    kaiming_normal_,
    kaiming_uniform_,
    normal_,
    ones_,
    orthogonal_,
    trunc_normal_,
    uniform_,
    xavier_normal_,
    xavier_uniform_,
    zeros_,
)

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
