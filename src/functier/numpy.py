"""NumPy's namespace, whose functions ask the modes first.

``import functier.numpy as np`` in the place of ``import numpy as np`` changes nothing but
that: each function is NumPy's own, and modes see it also where no tensor is among its
arguments, as in ``np.zeros(3)``, ``np.arange(5)`` or ``np.random.normal(size=3)``. Classes and
constants are NumPy's own objects. Where no mode is on a call costs 0.1 us more. One thing is
other than NumPy's: ``np.random.default_rng`` gives a generator of `functier.random`, which
knows what to draw inside vmap.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as _numpy

from . import random as _random
from ._modes import call_plain
from ._root import ASKING, NOBODY


def _asking(func: Callable, path: str) -> Callable:
    @functools.wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not ASKING:
            return func(*args, **kwargs)
        answer = ASKING[0](func, args, kwargs)
        return call_plain(func, args, kwargs) if answer is NOBODY else answer

    call.__module__, call.__qualname__ = __name__, path  # by which it is pickled
    return call


class Generator(_random.Generator):
    """`functier.random.Generator`, whose draws modes see: what `random.default_rng` gives here."""

    __slots__ = ()


for _name, _member in vars(_numpy.random.Generator).items():
    if _name[0] != "_" and callable(_member) and _name not in ("spawn", "bit_generator"):
        setattr(Generator, _name, _asking(getattr(_random.Generator, _name), f"Generator.{_name}"))


def _default_rng(seed: Any = None) -> Any:
    """See `functier.random.default_rng`; modes see the draws."""
    if isinstance(seed, _random.Generator):
        return seed
    made = _random.default_rng(seed)
    made.__class__ = Generator
    return made


_default_rng.__name__, _default_rng.__qualname__ = "default_rng", "random.default_rng"


class _Namespace(ModuleType):
    """A module of NumPy, in this spelling."""

    def __init__(self, module: ModuleType):
        super().__init__(module.__name__.replace("numpy", __name__, 1), module.__doc__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__.removeprefix(__name__ + '.')}.{name}"
        value = _found(self._module, name, path)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(self._module)


def _found(module: ModuleType, name: str, path: str) -> Any:
    value = getattr(module, name)
    if name[0] == "_" or isinstance(value, type):
        return value
    if isinstance(value, ModuleType):
        return _Namespace(value) if value.__name__.startswith("numpy") else value
    if value is _numpy.random.default_rng:
        return _default_rng
    return _asking(value, path) if callable(value) and hasattr(value, "__name__") else value


def __getattr__(name: str) -> Any:
    value = _found(_numpy, name, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})
