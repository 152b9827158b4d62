"""All exceptions and warnings of functier; each is also a top-level name, ``functier.LevelError``.

====================  ====================================================================
`LevelError`          a tensor was used outside its level; the next six are kinds of it
`EscapedTensorError`  after its level had ended
`ConversionError`     where it would become a plain value: ``float(x)``
`DataDependentError`  where the answer differs along the batch: ``if x > 0``
`MutationError`       where an array would be changed in place; also by `functier.debug.writes`
`NumberError`         where a number would be changed; also a `TypeError`, as in NumPy
`RandomnessError`     in a random draw under `vmap` without the option `randomness`
`UnsupportedError`    a function of NumPy is not supported; a `TypeError`
`NoRuleError`         a function has no rule for a transform; a `NotImplementedError`
`HookRecursionError`  a hook calls functions on its own instances without end
`NonFiniteError`      raised by `functier.debug.debug_nans` and `detect_anomaly`
`LeakError`           raised by `functier.debug.check_leaks`
`LeakWarning`         the warning of `check_leaks` with ``action="warn"``
`GradcheckError`      raised by the checkers of `functier.testing`; an `AssertionError`
`FallbackWarning`     a function without a batching rule was applied in a loop
====================  ====================================================================
"""

from ._core.errors import (
    ConversionError,
    DataDependentError,
    EscapedTensorError,
    FallbackWarning,
    GradcheckError,
    HookRecursionError,
    LeakError,
    LeakWarning,
    LevelError,
    MutationError,
    NonFiniteError,
    NoRuleError,
    NumberError,
    RandomnessError,
    UnsupportedError,
)

__all__ = [
    "ConversionError", "DataDependentError", "EscapedTensorError", "FallbackWarning",
    "GradcheckError", "HookRecursionError", "LeakError", "LeakWarning", "LevelError",
    "MutationError", "NoRuleError", "NonFiniteError", "NumberError", "RandomnessError",
    "UnsupportedError",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
