"""Code whose local variables, where they are called, go through a function first.

A type of numbers may be in a variable: ``dtype(x)``. What is called is known only then. So the code
gets ``convert(dtype)(x)``, where `convert` is a global that the caller names.
"""

import dis
from types import CodeType

from . import facts
from .assembly import EXTENDED_ARG, Instruction, Listing, opcodes, put_together, take_apart
from .call_sites import is_called

LOCALS = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF"}
LOAD_GLOBAL, PRECALL, CALL = opcodes("LOAD_GLOBAL PRECALL CALL")
if facts.bytecode.holds:  # so that the entries that follow these are known
    take_apart(compile("def f(g): return abs(g)", "", "exec").co_consts[0])


def with_converted_callees(code: CodeType, name: str) -> CodeType:
    """Return code that calls the global `name` with each local variable before it is called.

    The code of an interpreter that is not known stays as it is.
    """
    if not facts.bytecode.holds:
        return code
    consts = tuple([
        with_converted_callees(x, name) if isinstance(x, CodeType) else x for x in code.co_consts
    ])  # fmt: skip
    if any([a is not b for a, b in zip(consts, code.co_consts)]):
        code = code.replace(co_consts=consts)
    uses = list(dis.get_instructions(code))
    found = [i for i, use in enumerate(uses) if use.opname in LOCALS and is_called(uses, i)]
    if not found:
        return code
    longer = [i for i, use in enumerate(uses) if use.opcode == EXTENDED_ARG]
    chosen = {i - sum([at < i for at in longer]) for i in found}
    listing = take_apart(code)
    names = (*code.co_names, name)
    before = [(LOAD_GLOBAL, (len(names) - 1) << 1 | 1, None)]  # with the NULL of a call
    after = [(opcode, 1, None) for opcode in (PRECALL, CALL) if opcode != -1]
    instructions: list[Instruction] = []
    places, starts = [], []
    for number, instruction in enumerate(listing.instructions):
        starts.append(len(instructions))
        several = [*before, instruction, *after] if number in chosen else [instruction]
        instructions += several
        places += [listing.places[number]] * len(several)
    starts.append(len(instructions))
    instructions = [
        (opcode, argument, None if target is None else starts[target])
        for opcode, argument, target in instructions
    ]
    handlers = [
        row._replace(start=starts[row.start], end=starts[row.end], target=starts[row.target])
        for row in listing.handlers
    ]
    made = Listing(instructions, places, handlers)
    return put_together(code, made, co_names=names, co_stacksize=code.co_stacksize + 3)
