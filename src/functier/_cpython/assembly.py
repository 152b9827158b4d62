"""Code objects of CPython as lists of instructions: taken apart, and put together again.

NOTE [instructions]
    A `Listing` has one instruction for each operation: its argument is whole, a jump has the number
    of its target, and the rows of the exception table have numbers of instructions. EXTENDED_ARG
    and CACHE are left out when a code object is taken apart, and made when one is put together.
    How many CACHE entries follow an instruction is learned from code that Python has compiled.
"""

import dis
from bisect import bisect
from collections.abc import Iterable
from itertools import accumulate, repeat
from operator import sub
from types import CodeType
from typing import Any, NamedTuple

Instruction = tuple[int, int, int | None]
"""An opcode, its argument, and the number of the instruction that it jumps to."""


class Handler(NamedTuple):
    """A row of the exception table: where to go from the instructions of a range."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


class Listing(NamedTuple):
    """The instructions of a code object, the place of each in the source, and its handlers."""

    instructions: list[Instruction]
    places: list[tuple[int | None, ...]]
    handlers: list[Handler]


def opcodes(names: str) -> list[int]:
    """Return the opcodes of names, with -1 where this version of Python has none."""
    return [dis.opmap.get(name, -1) for name in names.split()]


CACHE, EXTENDED_ARG = opcodes("CACHE EXTENDED_ARG")
JUMPS = {*dis.hasjrel}
BACKWARD = {opcode for name, opcode in dis.opmap.items() if "JUMP_BACKWARD" in name}

LINE_ALONE, LONG, NO_PLACE = 13, 14, 15
"""The kinds of rows of the table of lines that are written."""

_caches: dict[int, int] = {}
"""The number of CACHE that follow each opcode."""


def take_apart(code: CodeType) -> Listing:
    """Return the instructions of a code object."""
    units, bytes_of = code.co_code[::2], code.co_code[1::2]
    own = [at for at, unit in enumerate(units) if unit != CACHE and unit != EXTENDED_ARG]
    opcodes = [units[at] for at in own]
    arguments = [bytes_of[at] for at in own]
    starts = own.copy()
    for at in [at for at, unit in enumerate(units) if unit == EXTENDED_ARG]:
        number = bisect(own, at)
        arguments[number] |= bytes_of[at] << 8 * (own[number] - at)
        starts[number] = min(starts[number], at)
    ends = [*starts[1:], len(units)]

    for opcode, size in set(zip(opcodes, map(sub, ends, own))):
        if _caches.setdefault(opcode, size - 1) != size - 1:
            raise unreadable(code, f"{dis.opname[opcode]} has {size - 1} CACHE")
    instructions: list[Instruction] = list(zip(opcodes, arguments, repeat(None)))
    numbers = {start: number for number, start in enumerate([*starts, len(units)])}
    try:
        for number in [k for k, opcode in enumerate(opcodes) if opcode in JUMPS]:
            opcode, argument, _ = instructions[number]
            away = -argument if opcode in BACKWARD else argument
            instructions[number] = opcode, 0, numbers[ends[number] + away]
        handlers = [
            Handler(numbers[start], numbers[end], numbers[target], depth >> 1, bool(depth & 1))
            for start, end, target, depth in _rows(code.co_exceptiontable)
        ]
    except KeyError as error:
        raise unreadable(code, f"no instruction begins at {error}") from None
    places = list(code.co_positions())
    return Listing(instructions, [places[start] for start in starts], handlers)


def put_together(code: CodeType, listing: Listing, **changes: Any) -> CodeType:
    """Return a copy of a code object that has other instructions, and what else is changed."""
    instructions, places, handlers = listing
    arguments = [argument for _, argument, _ in instructions]
    counts = [_caches.get(opcode, 0) for opcode, _, _ in instructions]
    sizes = [1 + count + (x > 255 and _long(x)) for x, count in zip(arguments, counts)]
    jumps = [k for k, (_, _, target) in enumerate(instructions) if target is not None]
    grown = True
    while grown:
        grown = False
        starts = [0, *accumulate(sizes)]
        for number in jumps:
            opcode, _, target = instructions[number]
            away = starts[target] - starts[number + 1]  # type: ignore[index]
            arguments[number] = argument = -away if opcode in BACKWARD else away
            if argument < 0:
                raise unreadable(code, "a jump goes the other way")
            needed = 1 + counts[number] + _long(argument)
            if sizes[number] < needed:
                sizes[number], grown = needed, True

    raw = bytearray()
    for (opcode, _, _), argument, size, count in zip(instructions, arguments, sizes, counts):
        if size > count + 1:
            for shift in range(8 * (size - count - 1), 0, -8):
                raw += bytes((EXTENDED_ARG, argument >> shift & 255))
        raw.append(opcode)
        raw.append(argument & 255)
        if count:
            raw += bytes(2 * count)
    table = bytearray()
    for start, end, target, depth, lasti in handlers:
        first = len(table)
        for value in starts[start], starts[end] - starts[start], starts[target]:
            table += _big_endian(value)
        table += _big_endian(depth << 1 | lasti)
        table[first] |= 128
    made = code.replace(
        co_code=bytes(raw),
        co_exceptiontable=bytes(table),
        co_linetable=_lines(zip(places, sizes), code.co_firstlineno),
        **changes,
    )
    if take_apart(made) != listing:
        raise unreadable(code, "it is not what it should be when it is put together")
    return made


def unreadable(code: CodeType, why: str) -> NotImplementedError:
    return NotImplementedError(f"the code of {code.co_qualname} cannot be rewritten: {why}")


def _long(argument: int) -> int:
    """Return how many EXTENDED_ARG an argument needs."""
    return (argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF)


def _rows(table: bytes) -> Iterable[tuple[int, int, int, int]]:
    """Return start, end and target, and the depth and a bit, of each row of the table."""
    values, value = [], 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            values.append(value)
            value = 0
    for start, size, target, depth in zip(*[iter(values)] * 4):
        yield start, start + size, target, depth


def _big_endian(value: int) -> bytes:
    """Return a number as the exception table has it."""
    digits = [value & 63]
    while value := value >> 6:
        digits.append(value & 63 | 64)
    return bytes(digits[::-1])


def _little_endian(value: int) -> bytes:
    """Return a number as the table of lines has it."""
    if value < 64:
        return bytes((value,))
    digits = []
    while value > 63:
        digits.append(value & 63 | 64)
        value >>= 6
    return bytes([*digits, value])


def _lines(places: Iterable[tuple[tuple, int]], line: int) -> bytes:
    """Return the table of lines: at most eight units of code in each row."""
    table = bytearray()
    runs: list[list] = []
    before = None
    for place, size in places:
        if place is before:
            runs[-1][1] += size
        else:
            runs.append([place, size])
            before = place
    for (first, last, column, end), size in runs:
        kind, numbers = NO_PLACE, []
        if first is not None:
            kind = LINE_ALONE if column is None and end is None and last == first else LONG
            numbers = [abs(first - line) << 1 | (first < line)]
            line = first
        if kind == LONG:
            numbers += (
                last - first,
                0 if column is None else column + 1,
                0 if end is None else end + 1,
            )
        while size > 0:
            table.append(0x80 | kind << 3 | min(size, 8) - 1)
            size -= 8
            if numbers:
                small = max(numbers) < 64
                table += bytes(numbers) if small else b"".join(map(_little_endian, numbers))
                numbers[0] = 0  # the next row begins at the same line
    return bytes(table)
