"""Progress bars on standard error for slow work, by tqdm, in a terminal or a notebook."""

# Imports no other room.

from ._bars import bar, during

__all__ = ["bar", "during"]


def __dir__() -> list[str]:
    return __all__
