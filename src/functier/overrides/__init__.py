"""The override protocol for other libraries and classes.

`Tensor` and its subclasses implement the protocol. This module has a decorator for functions
of other libraries, a mixin for classes that are not a `Tensor`, lists of functions that can
be overridden, and a linter for hooks. All names here are public and stable.

NOTE [what the hook does not see]
    The form of a tensor (``shape``, ``ndim``, ``size``, ``dtype``, ``len``), ``elem``,
    ``as_subclass``, ``repr`` and conversions to Python (``float(x)``, ``x.item()``) are not
    operations. A hook may use them; if they called the hook, the hook would call itself.
"""

# Imports `_cpython`, `_core` and `modes`.

from .._core.errors import HookRecursionError
from ..modes._asking import TensorDispatchMode, TensorFunctionMode
from ._hooks import (
    TensorLike,
    as_subclass,
    get_function,
    handle_tensor_function,
    has_tensor_function,
    implementation,
    lint_hook,
    resolve_name,
    tensor_function_dispatch,
)
from ._listing import (
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_method_or_property,
)

__all__ = [
    "HookRecursionError",
    "TensorDispatchMode",
    "TensorFunctionMode",
    "TensorLike",
    "as_subclass",
    "get_function",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_tensor_function",
    "has_tensor_function",
    "implementation",
    "is_tensor_method_or_property",
    "lint_hook",
    "resolve_name",
    "tensor_function_dispatch",
]


def __dir__() -> list[str]:
    return sorted(__all__)
