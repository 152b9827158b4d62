"""The stack of a code object: before each instruction, which of its places hold no object.

Python keeps an empty place beside a function that it will call. To copy it would end the process,
and the arguments of a call begin behind it. So each place is followed from where it is filled.
"""

import dis
import sys
from functools import lru_cache
from types import CodeType

from .assembly import Handler, Instruction, Listing, opcodes, unreadable

OBJECT, EMPTY, UNKNOWN = "o", "-", "?"
"""A place holds an object, or none, or one of both. A stack is a string of these, the top last."""

EMPTY_ABOVE = sys.version_info >= (3, 13)
"""Whether the empty place is above the function, or below it."""
PAIR = OBJECT + EMPTY if EMPTY_ABOVE else EMPTY + OBJECT


COPY, SWAP, PUSH_NULL, GENERATOR = opcodes("COPY SWAP PUSH_NULL RETURN_GENERATOR")
PRECALL, CALL, CALL_KW, CALL_EX = opcodes("PRECALL CALL CALL_KW CALL_FUNCTION_EX")
GLOBAL, ATTRIBUTE, METHOD, SUPER = opcodes("LOAD_GLOBAL LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR")
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
                    raise unreadable(code, "a handler keeps more than there is on the stack")
                kept = stack[: row_here.depth] + OBJECT * (1 + row_here.lasti)
                waiting.append((row_here.target, kept))
            last = row_here
            instruction = instructions[at]
            target = instruction[2]
            if target is not None:
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
    if opcode == PRECALL:
        return stack  # its effect is that of CALL, which dis divides in two
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
