"""NumPy's namespace, with functions that modes see.

With ``import functier.numpy as np`` instead of ``import numpy as np``, modes see a function
also where no argument is a tensor, as in ``np.zeros(3)``, ``np.arange(5)`` or
``np.random.normal(size=3)``. Each function calls NumPy's; classes and constants are NumPy's
objects. Without a mode a call takes 0.1 us more. There is one difference:
``np.random.default_rng`` returns a generator of `functier.random`, which can draw inside vmap.

NOTE [its submodules]
    ``functier.numpy.linalg`` and the like stand for the public modules of NumPy, however they
    are imported. They have no files: `_Finder`, the last finder of Python's import, makes each
    of them from NumPy's module of that name, which is imported once, as usual. A file in this
    package would take precedence.
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
from ..random._sampling import Seed
from . import _creation


def _ask_modes(func: Callable, path: str) -> Callable:
    make = _creation.MAKERS.get(func, func)

    @functools.wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not CALLS:
            return make(*args, **kwargs)
        answer = CALLS[0](func, args, kwargs)
        if answer is NOBODY:
            return call_plain(func, make, args, kwargs)
        return answer if make is func else _creation.make_writable(answer)

    call.__module__, call.__qualname__ = __name__, path  # by which it is pickled
    return call


class Generator(_random.Generator):
    """A `functier.random.Generator` whose draws modes see; `random.default_rng` makes it here."""

    __slots__ = ()


for _name, _member in vars(_numpy.random.Generator).items():
    if _name[0] != "_" and callable(_member) and _name not in ("spawn", "bit_generator"):
        setattr(
            Generator, _name, _ask_modes(getattr(_random.Generator, _name), f"Generator.{_name}")
        )


def _default_rng(seed: Seed = None) -> Generator:
    """Return a generator as `functier.random.default_rng`; modes see its draws."""
    if isinstance(seed, _random.Generator):
        return seed
    made = _random.default_rng(seed)
    made.__class__ = Generator
    return made


_default_rng.__name__, _default_rng.__qualname__ = "default_rng", "random.default_rng"


class _Namespace(ModuleType):
    """A module that stands for one inside NumPy; see NOTE [its submodules]."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__file__", "__cached__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = _resolve(_numpy_module(self.__name__), name, self.__name__)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(_numpy_module(self.__name__))})


class _Finder(MetaPathFinder, Loader):
    """A finder that makes the modules of NOTE [its submodules]."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}.") or "._" in name:
            return None
        try:
            module = _numpy_module(name)
        except ModuleNotFoundError:
            return None
        return ModuleSpec(name, self, is_package=hasattr(module, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Namespace(spec.name, _numpy_module(spec.name).__doc__)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing, also where a module is reloaded."""


def _numpy_module(name: str) -> ModuleType:
    """Return the module of NumPy that a module of this package stands for."""
    return import_module(f"numpy{name.removeprefix(__name__)}")


sys.meta_path[:] = [f for f in sys.meta_path if type(f).__qualname__ != "_Finder"]
sys.meta_path.append(_Finder())


def _resolve(module: ModuleType, name: str, here: str) -> Any:
    """Return the attribute `name` of NumPy's `module`, for the module `here` of this package."""
    value = getattr(module, name)
    if name[0] == "_" or isinstance(value, (type, _numpy.ufunc)):
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
    return _ask_modes(value, path)


def __getattr__(name: str) -> Any:
    value = _resolve(_numpy, name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return dir(_numpy)
