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
from ._layer_functions import (
    dropout,
    embedding,
    linear,
    log_softmax,
    logsumexp,
    one_hot,
    scaled_dot_product_attention,
    softmax,
)
from ._losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    l1_loss,
    mse_loss,
    nll_loss,
)
from ._normalization import batch_norm, group_norm, layer_norm

__all__ = [
    "avg_pool2d", "batch_norm", "binary_cross_entropy_with_logits", "conv1d", "conv2d",
    "cross_entropy", "dropout", "embedding", "gelu", "group_norm", "huber_loss", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "log_softmax", "logsumexp", "max_pool2d", "mse_loss",
    "nll_loss", "one_hot", "relu", "scaled_dot_product_attention", "sigmoid", "silu", "softmax",
    "softplus", "tanh",
]  # fmt: skip


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
