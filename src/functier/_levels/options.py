"""Checks of the options that transforms share: escape, randomness and flags."""

from collections.abc import Collection

import numpy as np

from .._core.pytree import name_of_function
from .level import ENDED

CHOICES: dict[str, Collection[str]] = {
    "escape": ENDED,
    "mode": ("reverse", "forward"),
    "randomness": ("error", "different", "same"),
}
"""The texts that options take."""


def check_choice(transform: str, func: object, option: str, value: object) -> None:
    """Raise where the value of an option is not one of its texts."""
    *texts, last = map(repr, CHOICES[option])
    if not isinstance(value, str) or value not in CHOICES[option]:
        raise ValueError(
            f"{label_of(transform, func)}: {text_of_option(option, value)}; "
            f"write {', '.join(texts)} or {last}"
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
