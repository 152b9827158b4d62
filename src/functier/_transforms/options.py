"""The options that the transforms to derivatives share."""

from dataclasses import dataclass

from .._core.types import Function
from .._levels.batch import Randomness
from .._levels.level import Escape
from .._levels.options import check_flag


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

    def check_flags(self, transform: str, func: Function | None) -> None:
        """Raise an error where a flag is not a bool."""
        for option in ("has_aux", "holomorphic", "allow_int"):
            check_flag(transform, func, option, getattr(self, option))
