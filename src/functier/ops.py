"""Operations by their names: ``functier.ops.<namespace>.<name>``.

A namespace is that of custom operations, or of a library whose functions have rules. All
other names of this module begin with an underscore, so they cannot hide a namespace.
"""

from typing import Any as _Any

from ._custom.registry import namespace as _namespace
from ._custom.registry import namespaces as _namespaces


def __getattr__(name: str) -> _Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _namespace(name)


def __dir__() -> list[str]:
    return _namespaces()
