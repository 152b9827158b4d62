"""Make a failing program smaller, as long as it fails: fewer calls, keywords and elements."""

import copy
import re
from collections.abc import Callable, Iterator

from .draw import Program
from .values import Operand


def smaller(drawn: Program) -> Iterator[Program]:
    """Programs that are a little smaller than one."""
    for i in range(1, len(drawn.steps)):
        cut = copy.deepcopy(drawn)
        cut.steps, cut.names, cut.results = cut.steps[:i], cut.names[:i], [f"r{i - 1}"]
        used = cut.text().partition("\n")[2]
        cut.operands = {n: op for n, op in cut.operands.items() if _stands(n, used)}
        if cut.operands:
            yield cut
    for i, step in enumerate(drawn.steps):
        for name in step.kwargs:
            less = copy.deepcopy(drawn)
            del less.steps[i].kwargs[name]
            yield less
    for name, operand in drawn.operands.items():
        if operand.layout != "C":
            plain = copy.deepcopy(drawn)
            plain.operands[name].layout = "C"
            yield plain
    for n in sorted({n for op in drawn.operands.values() for n in op.value.shape if n > 1})[::-1]:
        short = copy.deepcopy(drawn)
        for operand in short.operands.values():
            _shorten(operand, n)
        yield short


def _stands(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){name}(?!\w)", text) is not None


def _shorten(operand: Operand, n: int) -> None:
    """Cut every axis of length `n` by one."""
    index = tuple([slice(m - 1) if m == n else slice(None) for m in operand.value.shape])
    operand.value, operand.again = operand.value[index], None


def shrunk(drawn: Program, fails: Callable[[Program], bool], most: int = 40) -> Program:
    """The smallest program on the way down that still fails."""
    tries = 0
    found = True
    while found and tries < most:
        found = False
        for candidate in smaller(drawn):
            tries += 1
            candidate._compiled = None
            try:
                failing = fails(candidate)
            except Exception:
                failing = False
            if failing:
                drawn, found = candidate, True
                break
            if tries >= most:
                break
    return drawn
