"""Later imports: a finder that adopts modules of an adopted package when they are imported."""

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Finder(MetaPathFinder):
    """The first finder while something is adopted: it finds modules by the other finders.

    Parameters
    ----------
    covers : function
        Tells if the module of a name is to be adopted.
    adopt : function
        Is given the module, when its code has run.
    """

    def __init__(self, covers: Callable[[str], bool], adopt: Callable[[ModuleType], None]):
        self.covers, self.adopt = covers, adopt

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not self.covers(name):
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec, spec.loader, self.adopt)
                return spec
        return None

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class Loader:
    """A loader that runs a module by another loader, which the module then has."""

    def __init__(self, spec: ModuleSpec, loader: Any, adopt: Callable[[ModuleType], None]):
        self.spec, self.loader, self.adopt = spec, loader, adopt

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.spec.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.adopt(module)
