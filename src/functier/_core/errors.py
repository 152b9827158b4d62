"""The exceptions and the warning of functier, and whether tracebacks show its frames.

Whether tracebacks show functier's frames, and errors that are raised outside of transforms.
See NOTE [frames that are hidden] in `tracebacks`.
"""

import os
from contextvars import ContextVar
from typing import Any

from .._cpython.frames import hide_frames


class LevelError(Exception):
    """A tensor was used where its level does not reach.

    Raised when the levels of the arguments are not in one chain (siblings, another thread's level,
    an unrelated tree), and by everything that would silently take a tensor out of its level. The
    message names the level's classes and the line that made it; `named` is true once it does so; a
    rule, which knows no level, raises without these names.

    Only `NumberError` is a `TypeError`. Where a conversion raises that, NumPy raises another
    error, which does not tell the reason, and code that tries one way after another would go on.
    """

    of: BaseException | None = None

    def __init__(self, message: str = "", named: bool = False):
        super().__init__(message)
        self.named = named


REPLACING = ValueError, SystemError, RuntimeError, AttributeError
"""The classes of errors that compiled code raises where a conversion of a tensor has failed.

It may also call Python code then, whose first look at an attribute fails and drops the error."""


def reveal(error: BaseException, refused: Exception | None = None) -> None:
    """Raise the error of a level that NumPy, Python or compiled code replaced by `error`.

    NumPy does so where ``a[0] = x`` asks a sequence for a float: "setting an array element".
    Python does where compiled code has not seen that a conversion failed, as that of
    `scipy.optimize.brentq`; `scipy.optimize.root_scalar` raises an error without a cause. `refused`
    is the last refused conversion, if there was one; `of` is the error that it stands beside.
    """
    if refused is error or (isinstance(refused, LevelError) and refused.of is error):
        return  # nobody has caught it
    cause: BaseException | None = error
    while isinstance(cause, (ValueError, SystemError)):
        cause = cause.__cause__
    if error.__cause__ is None:
        cause = refused
    if isinstance(cause, LevelError):
        try:
            raise cause.with_traceback(error.__traceback__) from None
        finally:
            del error, cause, refused  # this frame is in the traceback


class EscapedTensorError(LevelError):
    """A tensor was used after its level had ended."""


class ConversionError(LevelError):
    """A tensor was about to become a plain value, which would lose its level."""


class DataDependentError(LevelError):
    """A shape, a branch or an index depends on the data, which differs along the batch.

    `pattern` has the answers of all examples, if the rule that raises knows them.
    """

    pattern: Any = None


class MutationError(LevelError):
    """A write to a tensor, or of a tensor to a plain array, would be lost or wrong.

    `functier.debug.writes` raises it for plain arrays that were written to although a derivative
    reads them.
    """


class NumberError(MutationError, TypeError):
    """A write to a number. NumPy raises a TypeError for it, which code may try first."""


class RandomnessError(LevelError):
    """A draw inside `vmap` whose `randomness` does not say what it should do."""


class UnsupportedError(TypeError):
    """A NumPy function that functier declares as not supported, with the reason."""


class NoRuleError(NotImplementedError):
    """A function has no rule for the transform that is being applied."""


class FallbackWarning(UserWarning):
    """A function without a batching rule was applied in a loop over the batch."""


class NonFiniteError(FloatingPointError):
    """An operation made a NaN or an infinity while `functier.debug` was looking for one."""


class LeakError(RuntimeError):
    """Tensors of levels that have ended were still alive where `functier.debug.check_leaks` looked.

    `paths` has, for each tensor that the message shows, the path to it.
    """

    paths: tuple[str, ...] = ()


class LeakWarning(UserWarning):
    """The warning that `check_leaks` gives if it does not raise `LeakError`."""


class GradcheckError(AssertionError):
    """A derivative, or a batched result, differs from the one that `functier.testing` computed."""


class HookRecursionError(RecursionError):
    """A `__tensor_function__` calls a function on instances of its own class without end."""


for _name, _class in list(vars().items()):
    if isinstance(_class, type) and _class.__module__ == __name__:
        _class.__module__ = "functier"  # where users find it, and tracebacks name it


VARIABLE = "FUNCTIER_TRACEBACKS"
SHOWN: ContextVar[bool | None] = ContextVar("shown", default=None)
"""True and False show and hide functier's frames; None leaves it to the environment variable."""


def shows_frames() -> bool:
    """Return whether functier's frames are to be seen in tracebacks."""
    shown = SHOWN.get()
    return os.environ.get(VARIABLE, "") == "full" if shown is None else shown


def hide_own(error: BaseException) -> None:
    """Hide functier's frames in an error that leaves functier where no transform is around it.

    It is that of a tensor whose level has ended, or of an unknown name.
    """
    if not shows_frames():
        hide_frames(error)
