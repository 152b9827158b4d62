"""The target of machine code: this process, or a processor without Python."""

from contextvars import ContextVar
from typing import NamedTuple


class Target(NamedTuple):
    """A processor that code is made for, which finds nothing there but itself.

    Attributes
    ----------
    triple, cpu, features : str
        As LLVM writes them.
    vector : int
        The bytes of a vector.
    exact : bool
        Whether what this process leaves to the libraries of NumPy is refused. Else own code
        computes it, whose last bits may be other ones.
    """

    triple: str
    cpu: str
    features: str
    vector: int
    exact: bool = True


TARGET: ContextVar[Target | None] = ContextVar("TARGET", default=None)
"""The target of the code that is written now; None for this process."""


def is_own() -> bool:
    """Return whether code is written for a target, and may be another one than here."""
    target = TARGET.get()
    return target is not None and not target.exact


class Absent(BaseException):
    """A target has no such library; the text says what it is."""


def needs_process(name: str) -> None:
    """Raise `Absent` where code for a target would call a function of this process."""
    if TARGET.get() is not None:
        raise Absent(f"it calls {name}, which is a part of NumPy")
