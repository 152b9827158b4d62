"""Checks of the options that transforms share: escape, randomness and flags."""

from typing import Any

import numpy as np

from .._core.pytree import name_of_function
from .level import ENDED


def check_escape(transform: str, func: object, escape: object) -> None:
    """Raise where `escape` is not an escape mode."""
    if not isinstance(escape, str) or escape not in ENDED:
        raise ValueError(
            f"{label_of(transform, func)}: {text_of_option('escape', escape)}; "
            f"write 'dead' or 'passthrough'"
        )


class Unsaid(str):
    """The default of an option of text, which is another object than what a caller writes."""


UNSAID: Any = Unsaid("error")


def wants_own_draws(attributes: dict) -> bool:
    """Tell if a caller of `vmap` has written that no number may be the same for all examples."""
    said = attributes["randomness"]
    return type(said) is not Unsaid and said != "same"


def check_randomness(transform: str, func: object, randomness: object) -> None:
    """Raise where `randomness` is not one of the three ways to draw."""
    if not isinstance(randomness, str) or randomness not in ("error", "different", "same"):
        raise ValueError(
            f"{label_of(transform, func)}: {text_of_option('randomness', randomness)}; "
            f"write 'error', 'different' or 'same'"
        )


def check_flag(transform: str, func: object, option: str, value: object) -> None:
    """Raise where an option is not a bool."""
    if not isinstance(value, (bool, np.bool)):
        raise TypeError(
            f"{label_of(transform, func)}: {option} is a {type(value).__name__}; "
            f"write True or False"
        )


def label_of(transform: str, func: object) -> str:
    """Return a transform with its function, if there is one, as messages name them."""
    return f"{transform}({name_of_function(func)})" if callable(func) else transform


def text_of_option(option: str, value: object) -> str:
    """Return an option and its wrong value, as messages show them; of an array only the class."""
    if hasattr(value, "shape"):
        return f"{option} is a {type(value).__name__}"
    return f"{option}={value!r:.60}"
