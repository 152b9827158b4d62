"""A builtin of Python for a part of a program.

NOTE [a call of a builtin]
    The arguments are compared with their forms; nothing has happened yet where one differs, and
    `mismatch` is raised. Arrays for the results are made, and memory for the part is taken. The
    part runs, without Python's lock where it is long. A status that is not 0, or an array that is
    not aligned, ends in a call of the fallback with the same arguments: it is right for all.

NOTE [what a builtin keeps]
    Its ``self`` is a tuple of all that its code refers to: the library, the fallback, dtypes, the
    description that Python reads. All of it ends with the builtin, and none earlier.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...._cpython.addresses import builtin_at
from ...entries import Mismatch
from ..compiler import engine
from . import abi, pool, threads
from .pauses import LOCK, PAUSE, TEXT
from .wrapper import ENTRY, Signature, Wrapper

__all__ = ["Signature", "make_builtin", "supported"]


def supported() -> str:
    """Return why there can be no builtins in this process; else nothing."""
    return abi.reason()


def make_builtin(
    text: str, signature: Signature, fallback: Callable,
    symbols: Mapping[str, int] | None = None, mismatch: type[BaseException] = Mismatch,
    opt: int = 1, name: str = "part", stored: bool = True,
) -> Any:  # fmt: skip
    """Make a builtin that runs a part.

    Parameters
    ----------
    text : str
        A module of LLVM with ``define i32 @part``, of pointers to the values of inputs, to those
        of outputs, and to memory. It returns 0 where the outputs are right.
    signature : Signature
        The forms.
    fallback : callable
        A function of the same arguments, with the same results.
    symbols : mapping of str to int, optional
        Addresses of what the text declares.
    mismatch : type of exception
        What is raised where an argument has another form.
    opt : int
        The level of optimisation, as in `load`.
    name : str
        The name of the builtin.
    stored : bool
        Whether its code is stored on the disk.

    Returns
    -------
    builtin
        A function of as many arguments as there are inputs, by position.

    Raises
    ------
    RuntimeError
        If LLVM refuses the text, or this process has no builtins.
    """
    missing = supported()
    if missing:
        raise RuntimeError(missing)
    parallel, pauses = threads.PARALLEL in text, PAUSE in text
    if parallel or pauses:
        text = f"{text}\n{LOCK}"
        signature = signature._replace(long=True)  # they take the lock meanwhile
    if pauses:
        text = f"{text}\n{TEXT}"
    if parallel:
        text = f"{text}\n{threads.TEXT}"
        symbols = {**(symbols or {}), **threads.addresses()}
    wrapper = Wrapper(signature)
    objects: dict[str, Any] = {"fallback": fallback, "mismatch": mismatch, **wrapper.objects}
    own = {f"functier.{key}": id(value) for key, value in objects.items()}
    known = {**(symbols or {}), **abi.addresses(), **pool.addresses(), **own}
    library = engine.load(f"{text}\n{wrapper.text}", [ENTRY], known, opt, stored)
    owners = library, pool.SLOTS, threads.TABLE, threads.ASK, *objects.values()
    return builtin_at(library[ENTRY], name, owners)
