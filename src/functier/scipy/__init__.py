"""SciPy's namespace, for functions inside a transform.

With ``import functier.scipy.linalg as sl`` instead of ``import scipy.linalg as sl``, SciPy's
functions take tensors, and their results are differentiated and batched. Values are SciPy's:
outside of transforms a function calls SciPy's at once. A function without a rule is SciPy's own.
Code that cannot be edited gets the same by `functier.adopt`.
"""

# Imports `_adopt`, `_control`, `_core`, `_cpython`, `_custom`, `_levels`, `_mutation`, `_programs`,
# `_rules`, `_transforms`, `modes`, `numpy`, `progress` and `protocol`.

from typing import Any as _Any

try:
    import scipy as _scipy  # type: ignore[import-untyped]
except ImportError as _error:
    raise ImportError(
        "functier.scipy needs SciPy, which is not installed; write "
        "pip install 'functier[scipy]', in a checkout pip install '.[scipy]'"
    ) from _error

from ._mirror import MIRROR as _MIRROR


def __getattr__(name: str) -> _Any:
    value = _MIRROR.resolve(_scipy, name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return dir(_scipy)
