"""The default generator of initial values and of dropout."""

from ..random import Generator, default_rng
from ..random._sampling import Seed

_default: list[Generator] = []


def manual_seed(seed: int) -> Generator:
    """Seed the generator that layers and `functier.nn.init` use by default.

    Parameters
    ----------
    seed : int
        As for `functier.random.default_rng`.

    Returns
    -------
    functier.random.Generator
        The default generator from now on, for all threads.

    Examples
    --------
    >>> from functier import nn
    >>> _ = manual_seed(0)
    >>> first = nn.Linear(2, 1).weight
    >>> _ = manual_seed(0)
    >>> bool((nn.Linear(2, 1).weight == first).all())
    True
    """
    _default[:] = [default_rng(seed)]
    return _default[0]


def generator_of(generator: Seed) -> Generator:
    """Return the generator that was given (NumPy's as one of functier's), or the default."""
    if generator is not None:
        return default_rng(generator)
    if not _default:
        _default.append(default_rng())
    return _default[0]
