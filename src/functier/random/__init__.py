"""Random numbers inside transforms: NumPy's generator, with a rule for each level.

`default_rng` and `Generator` match `numpy.random`, and outside `vmap` the numbers are the same.
Inside, ``vmap(..., randomness=...)`` decides:

- ``"error"``, the default: the draw raises.
- ``"different"``: each example gets different numbers. The source advances as by one draw
  of the whole batch.
- ``"same"``: all examples get the same numbers, the ones that each would draw on its own.

Nested vmaps decide separately for their axes. `Generator` says which parameters are differentiated.
A chunked vmap draws the same numbers on every executor, and `checkpoint` repeats them.
"""

# Imports `_cpython`, `_core`, `_rules`, `_levels` and `_transforms`.

import typing as _typing

from .._core.peers import answering as _answering
from ._generator import Generator, default_rng

__all__ = ["Generator", "default_rng"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name
    __getattr__ = _answering(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
