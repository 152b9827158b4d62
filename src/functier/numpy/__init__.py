"""NumPy's namespace, for code that makes arrays inside a transform.

With ``import functier.numpy as np`` instead of ``import numpy as np``, a function that makes or
converts an array takes tensors, anywhere in nested lists, and tensors can be written to the array
that it makes. `numpy.ndarray` tells of tensors that they are arrays. Types of numbers and ufuncs
are NumPy's own objects. Outside of transforms everything is as in NumPy; a call of a function
costs 0.1 us more.

Modes see a function also where no argument is a tensor, as in ``np.zeros(3)``, ``np.arange(5)`` or
``np.random.normal(size=3)``. There is one difference: ``np.random.default_rng`` returns a
generator of `functier.random`, which can draw inside vmap.
"""

# Imports `_control`, `_core`, `_cpython`, `_levels`, `_mutation`, `_rules`, `modes` and `random`.

from typing import Any as _Any

import numpy as _numpy

from .. import random as _random
from .._mutation.array import settle as _settle
from ..random._sampling import Seed as _Seed
from . import _matrix, _namespaces  # noqa: F401  # `_matrix` notes its twins


class Generator(_random.Generator):
    """A `functier.random.Generator` whose draws modes see; `random.default_rng` makes it here."""

    __slots__ = ()


_DRAWS = {n for n, m in vars(_numpy.random.Generator).items() if n[0] != "_" and callable(m)}
for _name in _DRAWS - {"spawn", "bit_generator"}:
    _own = getattr(_random.Generator, _name)
    setattr(Generator, _name, _namespaces.twin_of(_own, f"Generator.{_name}"))


def _default_rng(seed: _Seed = None) -> Generator:
    """Return a generator as `functier.random.default_rng`; modes see its draws."""
    if isinstance(seed, _random.Generator):
        return seed
    made = _random.default_rng(_settle(seed))
    made.__class__ = Generator
    return made


_default_rng.__name__, _default_rng.__qualname__ = "default_rng", "random.default_rng"
_namespaces.TWINS[id(_numpy.random.default_rng)] = _default_rng


def __getattr__(name: str) -> _Any:
    value = _namespaces.MIRROR.resolve(_numpy, name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return dir(_numpy)
