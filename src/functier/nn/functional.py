"""The functions of layers: plain NumPy without state, for every transform.

Names, the order of arguments and the meaning are those of ``torch.nn.functional``; arguments that
torch takes by position after a deprecated option are keyword-only. All functions can be
differentiated in both modes, to any order, and batched in any nesting without a loop. ``dim``, or
``axis`` in NumPy's words, is an axis of one example.
"""

import typing as _typing

from .._core.peers import answering as _answering
from ._activations import gelu, leaky_relu, relu, sigmoid, silu, softplus, tanh
from ._conv import avg_pool2d, conv1d, conv2d, max_pool2d
from ._layer_functions import dropout, linear, log_softmax, logsumexp, softmax
from ._losses import cross_entropy, mse_loss
from ._normalization import batch_norm, layer_norm

__all__ = [
    "avg_pool2d", "batch_norm", "conv1d", "conv2d", "cross_entropy", "dropout", "gelu",
    "layer_norm", "leaky_relu", "linear", "log_softmax", "logsumexp", "max_pool2d", "mse_loss",
    "relu", "sigmoid", "silu", "softmax", "softplus", "tanh",
]  # fmt: skip


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
