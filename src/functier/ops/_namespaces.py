"""Operations by their names: ``functier.ops.<namespace>.<name>``."""

from collections.abc import Callable
from typing import Any

from .._numpy import name_of
from .._op import NAMESPACES, OPS, PENDING, load


class Namespace:
    """The operations whose names start with a path; looked up when they are asked for.

    Below ``functier.ops.numpy`` an operation is the NumPy function itself, which is what
    transforms, and the lower hook, know it as.
    """

    def __init__(self, path: str):
        self._path = path

    def __getattr__(self, name: str) -> Any:
        own = NAMESPACES.get(self._path, {})
        if name in own:
            return own[name]
        load(self._path)  # what is declared in a file of its own
        path = f"{self._path}.{name}"
        load(path)
        names = by_name()
        if path in names:
            return names[path]
        waiting = [module for module in PENDING if module]
        if any(other.startswith(f"{path}.") for other in (*names, *waiting)):
            return Namespace(path)
        raise AttributeError(
            f"functier.ops has no operation {self._path}.{name}; functier.registry() lists all"
        )

    def __dir__(self) -> list[str]:
        start = f"{self._path}."
        below = {n[len(start) :].partition(".")[0] for n in by_name() if n.startswith(start)}
        return sorted({*NAMESPACES.get(self._path, {}), *below})

    def __repr__(self) -> str:
        return f"<functier.ops.{self._path}>"


def by_name() -> dict[str, Callable]:
    """The declared operations by the names that messages give them."""
    return {name_of(func): func for func in OPS}


def namespace(name: str) -> Namespace:
    """The namespace of a custom operation, or of NumPy's functions."""
    known = [*by_name(), *[module for module in PENDING if module]]
    if name not in NAMESPACES and not any(n.startswith(f"{name}.") for n in known):
        raise AttributeError(
            f"functier.ops has no namespace {name!r}; import the module that defines its operations"
        )
    return Namespace(name)
