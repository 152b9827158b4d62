"""The innermost level that was entered: the one piece of ambient state."""

from contextvars import ContextVar

from .tensor import Tensor

AMBIENT: ContextVar[type[Tensor]] = ContextVar("ambient", default=Tensor)
"""The class of the innermost level that was entered; `Tensor` outside of levels."""
