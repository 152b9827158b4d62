"""Code in which what is called, and whose method is called, goes through a function first.

A type of numbers may be in a variable or a table: ``dtype(x)``, ``TYPES["f"](x)``. What is called
is known only then. So the code gets ``convert(dtype)(x)``, where `convert` is a global that the
caller names. In the same way ``a.dot(x)`` becomes ``convert(a).dot(x)``.
"""

import dis
from collections.abc import Collection
from types import CodeType

from . import facts
from .assembly import EXTENDED_ARG, Instruction, Listing, opcodes, put_together, take_apart
from .call_sites import is_called, is_method_looked_up

CALLEES = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "BINARY_SUBSCR"}
LOAD_GLOBAL, SWAP, PRECALL, CALL = opcodes("LOAD_GLOBAL SWAP PRECALL CALL")
if facts.bytecode.holds:  # so that the entries that follow these are known
    take_apart(compile("def f(g): return abs(g)", "", "exec").co_consts[0])


def with_converted(
    code: CodeType, callee: str, owner: str, methods: Collection[str] = ()
) -> CodeType:
    """Return code that calls the global `callee` with what it calls, and `owner` with what has a
    method of these names that it calls.

    What is called is that of a local variable or of an item. The code of an interpreter that is
    not known stays as it is.
    """
    if not facts.bytecode.holds:
        return code
    consts = tuple([
        with_converted(x, callee, owner, methods) if isinstance(x, CodeType) else x
        for x in code.co_consts
    ])  # fmt: skip
    if any([a is not b for a, b in zip(consts, code.co_consts)]):
        code = code.replace(co_consts=consts)
    uses = list(dis.get_instructions(code))
    longer = [i for i, use in enumerate(uses) if use.opcode == EXTENDED_ARG]
    before, after = [
        {i - sum([at < i for at in longer]) for i in found}
        for found in (
            [i for i, u in enumerate(uses) if u.argval in methods and is_method_looked_up(u)],
            [i for i, u in enumerate(uses) if u.opname in CALLEES and is_called(uses, i)],
        )
    ]  # fmt: skip
    if not before and not after:
        return code
    listing = take_apart(code)
    names = (*code.co_names, callee, owner)
    instructions: list[Instruction] = []
    places, starts = [], []
    for number, instruction in enumerate(listing.instructions):
        starts.append(len(instructions))
        several = _conversion(len(names) - 1) if number in before else []
        several = [*several, instruction, *(_conversion(len(names) - 2) if number in after else ())]
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
    return put_together(code, made, co_names=names, co_stacksize=code.co_stacksize + 2)


def _conversion(name: int) -> list[Instruction]:
    """Return instructions that call a global with the value on top of the stack.

    The function lies where that of a method would, and the value where its object would.
    """
    calls = [(opcode, 0, None) for opcode in (PRECALL, CALL) if opcode != -1]
    return [(LOAD_GLOBAL, name << 1, None), (SWAP, 2, None), *calls]
