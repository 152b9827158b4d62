"""Texts by the operator ``%``: ``"%.4g" % x`` asks a number for its float."""

from functools import cache
from types import FrameType


@cache
def _remainders() -> tuple[int, set[int]]:
    """Return the code of binary operators, and the arguments of ``%`` and ``%=``."""
    import opcode  # which few programs need

    signs = [sign for _, sign in opcode._nb_ops]  # type: ignore[attr-defined]
    return opcode.opmap["BINARY_OP"], {signs.index("%"), signs.index("%=")}


def formats(frame: FrameType) -> bool:
    """Tell if the code at a frame computes ``%``: a number that is asked for a float is in a text.

    The remainder of numbers asks no tensor for a float: a tensor computes it itself.
    """
    binary, remainders = _remainders()
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == binary and code[at + 1] in remainders
