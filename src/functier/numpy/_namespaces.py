"""The modules that stand for NumPy's, and the twin of each thing in them.

NOTE [its submodules]
    ``functier.numpy.linalg`` and the like stand for the public modules of NumPy, however they
    are imported. They have no files: `Finder`, the last finder of Python's import, makes each
    of them from NumPy's module of that name, which is imported once, as usual. A file in this
    package would take precedence.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from . import _loops
from ._copies import copy_class, copy_function
from ._functions import make_twin
from ._ndarray import ndarray

HERE = "functier.numpy"
TWINS: dict[int, Any] = {
    id(np.ndarray): ndarray,
    id(np.frompyfunc): _loops.frompyfunc,
    id(np.ndenumerate): _loops.ndenumerate,
    id(np.broadcast): _loops.broadcast,
    id(np.nditer): _loops.nditer,
}
"""The twins that have been made, by the number of the original, which lives as long."""

COPIED = {
    np.poly1d, np.polynomial.Polynomial, np.polynomial.Chebyshev, np.polynomial.Legendre,
    np.polynomial.Hermite, np.polynomial.HermiteE, np.polynomial.Laguerre,
}  # fmt: skip
"""Classes whose Python code runs on the twins."""

FUNCTIONS = (
    FunctionType, BuiltinFunctionType, MethodType, type(np.sum), type(np.random.seed),
)  # fmt: skip
"""The classes of NumPy's functions; that of `numpy.sum` dispatches."""

INDEXERS = np.r_, np.c_, np.mgrid, np.ogrid
"""Instances of such classes."""


class Namespace(ModuleType):
    """A module that stands for one inside NumPy; see NOTE [its submodules]."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__file__", "__cached__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = resolve(numpy_module(self.__name__), name, self.__name__)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(numpy_module(self.__name__))})


class Finder(MetaPathFinder, Loader):
    """A finder that makes the modules of NOTE [its submodules]."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{HERE}.") or "._" in name:
            return None
        try:
            module = numpy_module(name)
        except ModuleNotFoundError:
            return None
        return ModuleSpec(name, self, is_package=hasattr(module, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Namespace(spec.name, numpy_module(spec.name).__doc__)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing, also where a module is reloaded."""


def numpy_module(name: str) -> ModuleType:
    """Return the module of NumPy that a module of this package stands for."""
    return import_module(f"numpy{name.removeprefix(HERE)}")


sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != __name__]  # of a reload
sys.meta_path.append(Finder())


def resolve(module: ModuleType, name: str, here: str) -> Any:
    """Return the attribute `name` of NumPy's `module`, for the module `here` of this package."""
    value = getattr(module, name)
    if name[:2] == "__":
        return value
    return twin_of(value, f"{here}.{name}".removeprefix(f"{HERE}."))


def twin_of(value: Any, path: str) -> Any:
    """Return the twin of an object of NumPy, or the object where it has none.

    `path` is its name in this package.
    """
    made = TWINS.get(id(value))
    if made is None:
        made = _make(value, _public_path(value, path))
        if made is not value:
            TWINS[id(value)] = made
    return made


def _public_path(value: Any, path: str) -> str:
    """Return the path by which `value` is public, which a copy of private code does not know."""
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__name__", path)
    if _is_numpys(module) and "._" not in module:
        if getattr(sys.modules.get(module), name, None) is value:
            return f"{module}.{name}".removeprefix("numpy.")
    return path


def _make(value: Any, path: str) -> Any:
    if isinstance(value, type):
        if value is np.vectorize:
            plain: Any = value._vectorize_call  # type: ignore[attr-defined]
            call = _loops.vectorize_call(copy_function(plain, twin_of))
            return copy_class(value, path, twin_of, _vectorize_call=call)
        return copy_class(value, path, twin_of) if value in COPIED else value
    if isinstance(value, ModuleType):
        return _namespace(value)
    if any(value is indexer for indexer in INDEXERS):
        kind = type(value)
        made = copy_class(kind, kind.__qualname__, twin_of, __reduce__=lambda self: path)
        return made() if isinstance(made, type) else value
    if isinstance(value, np.ufunc) or not isinstance(value, FUNCTIONS):
        return value
    return make_twin(value, path, lambda func: copy_function(func, twin_of))


def _namespace(module: ModuleType) -> ModuleType:
    """Return the module that stands for one of NumPy, or another module itself.

    Private ones are only known to copies of NumPy's code.
    """
    name = module.__name__
    if name == "numpy":
        return sys.modules[HERE]
    if not _is_numpys(name):
        return module
    name = f"{HERE}{name.removeprefix('numpy')}"
    return Namespace(name) if "._" in name else import_module(name)


def _is_numpys(name: str) -> bool:
    return name == "numpy" or name.startswith("numpy.")
