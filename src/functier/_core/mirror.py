"""Packages that mirror one of another library: their modules are made when they are imported.

NOTE [its submodules]
    ``functier.numpy.linalg``, ``functier.scipy.linalg`` and the like stand for the public modules
    of NumPy and SciPy, however they are imported. They have no files: a `Finder`, one of the last
    finders of Python's import, makes each of them from the module of that name, which is imported
    once, as usual. A file in the package would take precedence.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .hooks import scipy_twin


class Mirror:
    """A package of functier (`here`) and the one that it mirrors (`there`).

    `twin_of` is the function of an object and its name in this package that returns its twin;
    without it, that is the hook for twins of SciPy.
    """

    def __init__(self, here: str, twin_of: Callable[[Any, str], Any] = scipy_twin):
        self.here, self.there, self.twin_of = here, here.partition(".")[2], twin_of

    def owns(self, name: str) -> bool:
        """Return whether a module of this name is in the package that is mirrored, or is that."""
        return name == self.there or name.startswith(f"{self.there}.")

    def original(self, name: str) -> ModuleType:
        """Return the module that one of this package stands for."""
        return import_module(f"{self.there}{name.removeprefix(self.here)}")

    def resolve(self, module: ModuleType, name: str, here: str) -> Any:
        """Return the attribute `name` of `module`, for the module `here` of this package."""
        value = getattr(module, name)
        if name[:2] == "__":
            return value
        return self.twin_of(value, f"{here}.{name}".removeprefix(f"{self.here}."))

    def namespace(self, module: ModuleType) -> ModuleType:
        """Return the module that stands for one of the other package, or another module itself.

        Private ones are only known to copies of that package's code.
        """
        name = module.__name__
        if name == self.there:
            return sys.modules[self.here]
        if not self.owns(name):
            return module
        name = f"{self.here}{name.removeprefix(self.there)}"
        return Namespace(name, self) if "._" in name else import_module(name)

    def public_path(self, value: Any, path: str) -> str:
        """Return the path by which `value` is public, which a copy of private code ignores."""
        module, name = getattr(value, "__module__", None) or "", getattr(value, "__name__", path)
        if self.owns(module) and "._" not in module:
            if getattr(sys.modules.get(module), name, None) is value:
                return f"{module}.{name}".removeprefix(f"{self.there}.")
        return path

    def install(self) -> None:
        """Make the modules of the package importable, also where it is loaded again."""
        kept = [f for f in sys.meta_path if getattr(f, "mirrored", None) != self.here]
        sys.meta_path[:] = [*kept, Finder(self)]


class Namespace(ModuleType):
    """A module that stands for one of another library; see NOTE [its submodules]."""

    def __init__(self, name: str, mirror: Mirror, doc: str | None = None):
        super().__init__(name, doc)
        self.__dict__["__mirror__"] = mirror

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__file__", "__cached__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        mirror = self.__dict__["__mirror__"]
        value = mirror.resolve(mirror.original(self.__name__), name, self.__name__)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        mirror = self.__dict__["__mirror__"]
        return sorted({*vars(self), *dir(mirror.original(self.__name__))} - {"__mirror__"})


class Finder(MetaPathFinder, Loader):
    """A finder that makes the modules of NOTE [its submodules]."""

    def __init__(self, mirror: Mirror):
        self.mirror, self.mirrored = mirror, mirror.here

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(f"{self.mirror.here}.") or "._" in name:
            return None
        try:
            module = self.mirror.original(name)
        except ModuleNotFoundError:
            return None
        return ModuleSpec(name, self, is_package=hasattr(module, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Namespace(spec.name, self.mirror, self.mirror.original(spec.name).__doc__)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing, also where a module is reloaded."""
