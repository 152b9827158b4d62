"""NumPy's namespace, whose functions ask the modes first.

``import functier.numpy as np`` instead of ``import numpy as np`` changes nothing but
that: each function is NumPy's own, and modes see it also where no tensor is among its
arguments, as in ``np.zeros(3)``, ``np.arange(5)`` or ``np.random.normal(size=3)``. Classes and
constants are NumPy's own objects. Where no mode is on a call costs 0.1 us more. One thing is
other than NumPy's: ``np.random.default_rng`` gives a generator of `functier.random`, which
knows what to draw inside vmap.

NOTE [its submodules]
    ``functier.numpy.linalg`` and all public modules inside of NumPy's are modules of this
    spelling, whatever way they are imported. They have no files: `_Finder`, the last that
    Python's import asks, makes each of them of NumPy's module of that name, which is imported
    as ever and never a second time. A file in this package would come before it.
"""

# Imports `_core`, `_mutation`, `modes` and `random`.

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as _numpy

from .. import random as _random
from .._core.observers import CALLS
from .._core.root import NOBODY
from ..modes._asking import call_plain
from . import _creation


def _asking(func: Callable, path: str) -> Callable:
    @functools.wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not CALLS:
            return func(*args, **kwargs)
        answer = CALLS[0](func, args, kwargs)
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
    """A module inside of NumPy's, in this spelling; see NOTE [its submodules]."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__file__", "__cached__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = _found(_inside(self.__name__), name, self.__name__)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(_inside(self.__name__))})


class _Finder(MetaPathFinder, Loader):
    """Makes the modules of NOTE [its submodules]."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}.") or "._" in name:
            return None
        try:
            module = _inside(name)
        except ModuleNotFoundError:
            return None
        return ModuleSpec(name, self, is_package=hasattr(module, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Namespace(spec.name, _inside(spec.name).__doc__)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run, also where a module is reloaded."""


def _inside(name: str) -> ModuleType:
    """NumPy's module of a name in this spelling."""
    return import_module(f"numpy{name.removeprefix(__name__)}")


sys.meta_path[:] = [f for f in sys.meta_path if type(f).__qualname__ != "_Finder"]
sys.meta_path.append(_Finder())


def _found(module: ModuleType, name: str, here: str) -> Any:
    """The attribute of `module` under a name, as the module `here` of this spelling has it."""
    value = getattr(module, name)
    if name[0] == "_" or isinstance(value, type):
        return value
    if isinstance(value, ModuleType):
        inside = value.__name__.partition("numpy.")
        public = not inside[0] and inside[1] and "._" not in value.__name__
        return import_module(f"{__name__}.{inside[2]}") if public else value
    if value is _numpy.random.default_rng:
        return _default_rng
    if not callable(value) or not hasattr(value, "__name__"):
        return value
    path = f"{here}.{name}".removeprefix(f"{__name__}.")
    return _asking(_creation.MAKERS.get(value, value), path)


def __getattr__(name: str) -> Any:
    value = _found(_numpy, name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return dir(_numpy)
