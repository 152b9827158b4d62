"""Code objects as lists of instructions: taken apart, with their stack, and put together again.

NOTE [instructions]
    A `Listing` has one instruction for each operation: its argument is whole, a jump has the number
    of its target, and the rows of the exception table have numbers of instructions. EXTENDED_ARG
    and CACHE are left out when a code object is taken apart, and made when one is put together.
    How many CACHE entries follow an instruction is learned from code that Python has compiled.

The stack of a code object: before each instruction, which of its places hold no object.
Python keeps an empty place beside a function that it will call. To copy it would end the process,
and the arguments of a call begin behind it. So each place is followed from where it is filled.
"""

import dis
import sys
from bisect import bisect
from collections.abc import Iterable
from functools import lru_cache
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
(ASYNC_END,) = opcodes("END_ASYNC_FOR")
BACKWARD = {opcode for name, opcode in dis.opmap.items() if "JUMP_BACKWARD" in name} | {ASYNC_END}
"""The last names where its loop begins, from 3.14 on, and does not go there."""

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
        raise unreadable(code, "its instructions differ when it is put together again")
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


OBJECT, EMPTY, UNKNOWN = "o", "-", "?"
"""A place holds an object, or none, or one of both. A stack is a string of these, the top last."""

EMPTY_ABOVE = sys.version_info >= (3, 13)
"""Whether the empty place is above the function, or below it."""
PAIR = OBJECT + EMPTY if EMPTY_ABOVE else EMPTY + OBJECT


COPY, SWAP, PUSH_NULL, GENERATOR = opcodes("COPY SWAP PUSH_NULL RETURN_GENERATOR")
PRECALL, CALL, CALL_KW, CALL_EX = opcodes("PRECALL CALL CALL_KW CALL_FUNCTION_EX")
GLOBAL, ATTRIBUTE, METHOD, SUPER = opcodes("LOAD_GLOBAL LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR")
(SPECIAL,) = opcodes("LOAD_SPECIAL")  # a method of `with`, and perhaps its object, from 3.14 on
CLEARING, STORING = opcodes("LOAD_FAST_AND_CLEAR STORE_FAST_LOAD_FAST")
ENDS = {
    *opcodes("RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE"),
    *opcodes("JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT"),
}
"""The instructions after which the next one does not run."""

WITH_PLACE = {GLOBAL: 0, METHOD: 1}
"""The instructions that may leave a function and an empty place: how many places they take."""
if sys.version_info >= (3, 12):
    WITH_PLACE |= {ATTRIBUTE: 1, SUPER: 3}


def stacks_of(code: CodeType, listing: Listing) -> list[str | None]:
    """Return the stack before each instruction, or None for one that never runs."""
    instructions = listing.instructions
    found: list[str | None] = [None] * len(instructions)
    handlers: list[Handler | None] = [None] * len(instructions)
    for row in listing.handlers:
        handlers[row.start : row.end] = [row] * (row.end - row.start)
    waiting = [(0, OBJECT * _starts_with_one(instructions))]
    while waiting:
        at, stack = waiting.pop()
        last = None
        while found[at] is None:
            found[at] = stack
            row_here = handlers[at]
            if row_here is not None and row_here is not last:
                if len(stack) < row_here.depth:
                    raise unreadable(code, "a handler keeps more values than the stack has")
                kept = stack[: row_here.depth] + OBJECT * (1 + row_here.lasti)
                waiting.append((row_here.target, kept))
            last = row_here
            instruction = instructions[at]
            target = instruction[2]
            if target is not None and instruction[0] != ASYNC_END:
                waiting.append((target, _after(instruction, stack, True)))
            if instruction[0] in ENDS:
                break
            stack = _after(instruction, stack, False)
            at += 1
        else:
            if found[at] != stack:
                raise unreadable(code, f"instruction {at} runs with two stacks")
    return found


def _starts_with_one(instructions: list[Instruction]) -> bool:
    """Return whether the first value sent to a generator is on its stack, uncounted until 3.12."""
    generator = any(opcode == GENERATOR for opcode, _, _ in instructions)
    return generator and not dis.stack_effect(GENERATOR)


def _after(instruction: Instruction, stack: str, jump: bool) -> str:
    """Return the stack after an instruction, where it jumps or where it does not."""
    opcode, argument, _ = instruction
    if opcode == COPY:
        return stack + stack[-argument]
    if opcode == SWAP:
        places = list(stack)
        places[-1], places[-argument] = places[-argument], places[-1]
        return "".join(places)
    if opcode == PUSH_NULL:
        return stack + EMPTY
    if opcode == CLEARING:
        return stack + UNKNOWN
    if opcode in WITH_PLACE and (argument & 1 or opcode == METHOD):
        return stack[: len(stack) - WITH_PLACE[opcode]] + PAIR
    if opcode == SPECIAL:
        return stack + UNKNOWN
    if opcode == PRECALL:
        return stack  # it does what CALL does, which dis divides in two
    if opcode == CALL and PRECALL != -1:
        effect = -1 - argument
    else:
        effect = _effect(opcode, argument, jump)
    if effect > 0:
        return stack + OBJECT * effect
    after = stack[: len(stack) + effect]
    return after[:-1] + OBJECT if opcode in (CALL, CALL_KW, CALL_EX, STORING) else after


@lru_cache(10_000)
def _effect(opcode: int, argument: int, jump: bool) -> int:
    """Return how many places an instruction adds to the stack."""
    given = argument if opcode >= dis.HAVE_ARGUMENT else None
    return dis.stack_effect(opcode, given, jump=jump)
