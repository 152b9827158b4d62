"""Programs that are smaller than a failing one: with fewer calls, keywords and elements."""

import copy
import re
from collections.abc import Iterator

from .draw import Program
from .values import Operand


def smaller(drawn: Program) -> Iterator[Program]:
    """Programs that are a little smaller than one."""
    for i in range(1, len(drawn.steps)):
        cut = _copy(drawn)
        cut.steps, cut.names, cut.results = cut.steps[:i], cut.names[:i], [f"r{i - 1}"]
        used = cut.text().partition("\n")[2]
        cut.operands = {n: op for n, op in cut.operands.items() if _stands(n, used)}
        if cut.operands:
            yield cut
    for i, step in enumerate(drawn.steps):
        for name in step.kwargs:
            less = _copy(drawn)
            del less.steps[i].kwargs[name]
            yield less
    for name, operand in drawn.operands.items():
        if operand.layout != "C":
            plain = _copy(drawn)
            plain.operands[name].layout = "C"
            yield plain
    for n in sorted({n for op in drawn.operands.values() for n in op.value.shape if n > 1})[::-1]:
        short = _copy(drawn)
        for operand in short.operands.values():
            _shorten(operand, n)
        yield short


def _copy(drawn: Program) -> Program:
    """Return a copy that has yet to be compiled."""
    copied = copy.deepcopy(drawn)
    copied._compiled = None
    return copied


def _stands(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){name}(?!\w)", text) is not None


def _shorten(operand: Operand, n: int) -> None:
    """Cut every axis of length `n` by one."""
    index = tuple([slice(m - 1) if m == n else slice(None) for m in operand.value.shape])
    operand.value, operand.again = operand.value[index], None
