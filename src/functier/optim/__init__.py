"""Steps of optimizers: gradient descent with momentum, Adam, and L-BFGS.

Each is a plain function of pytrees: it takes the parameters, their gradients (L-BFGS takes the
loss) and a state, and returns new parameters and a new state. There is no other state and nothing
changes in place, so a step works under `vmap` (many fits at once), in `fori_loop` or `scan`, and
under `grad` (derivatives with respect to the learning rate, or the initial parameters).
"""

# Imports `_control`, `_core`, `_levels` and `_transforms`.

import typing as _typing

from .._core.peers import answering as _answering
from ._lbfgs import LbfgsState as LbfgsState
from ._lbfgs import lbfgs as lbfgs
from ._lbfgs import lbfgs_init as lbfgs_init
from ._steps import AdamState as AdamState
from ._steps import adam as adam
from ._steps import adam_init as adam_init
from ._steps import momentum as momentum
from ._steps import momentum_init as momentum_init

__all__ = [
    "AdamState", "LbfgsState", "adam", "adam_init", "lbfgs", "lbfgs_init", "momentum",
    "momentum_init",
]  # fmt: skip


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
