"""The options that the transforms to derivatives share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.numpy_facts import Function
from .._core.pytree import check_callable, name_of_function
from .._levels.batch import Randomness
from .._levels.level import Escape
from .._levels.options import check_choice, check_flag


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


def check_options(transform: str, func: Any, escape: Any, chunk_size: Any) -> str:
    """Return the name of `func`, or raise an error where an option is wrong."""
    check_choice(transform, func, "escape", escape)
    check_callable(transform, func)
    name = name_of_function(func)
    if chunk_size is not None:
        is_int = isinstance(chunk_size, (int, np.integer)) and not isinstance(chunk_size, bool)
        if not is_int or chunk_size < 1:
            raise (ValueError if is_int else TypeError)(
                f"{transform}({name}): chunk_size={chunk_size!r}; write the number of rows of the "
                f"Jacobian to compute at once, at least 1, or None for all of them"
            )
    return name
