"""The options that the transforms to derivatives share."""

from dataclasses import dataclass

from .._levels.batch import Randomness
from .._levels.level import Escape


@dataclass(slots=True)
class Options:
    """The options of `grad`, `jacrev`, `jacfwd` and their like, as the user gave them."""

    argnums: int | tuple[int, ...]
    has_aux: bool = False
    argnames: str | tuple[str, ...] | None = None
    holomorphic: bool = False
    allow_int: bool = False
    escape: Escape = "dead"
    chunk_size: int | None = None  # of Jacobians
    randomness: Randomness = "error"  # of forward mode
