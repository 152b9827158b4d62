"""Names that code looks up, and which of these look-ups are calls.

NOTE [which look-ups are calls]
    Python marks a global that is loaded for a call: it puts NULL beside it. The mark alone
    does not suffice, as ``(float, int)[k](x)`` has it, too. So the instructions behind are
    followed, along all branches, with the number of values above the callee. The look-up is
    that of a call if the first instruction that reaches down to the callee is a call
    with just these values as arguments. Only facts of `dis` are used.
"""

import dis
import importlib.util
import sys
from collections.abc import Iterator
from dis import Instruction, stack_effect
from functools import lru_cache
from types import CodeType
from typing import Any
from weakref import ref

from . import facts
from .code import loads_in

SILENT = {"NOP", "CACHE", "EXTENDED_ARG", "PRECALL", "RESUME", "NOT_TAKEN"}
"""Instructions that touch no value; PRECALL belongs to the CALL behind it."""

STORES = {dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]}
LOADS = "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"
IMPORT = dis.opmap["IMPORT_NAME"]


class CodeTable:
    """Facts of code objects, which are kept as long as these are; equal ones are not the same."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[ref, Any]] = {}

    def get(self, code: CodeType) -> Any:
        """Return the fact of a code object, or None."""
        row = self.rows.get(id(code))
        return None if row is None or row[0]() is not code else row[1]

    def put(self, code: CodeType, fact: Any) -> None:
        """Note a fact, which does not have the code object itself."""
        key = id(code)
        self.rows[key] = ref(code, lambda _: self.rows.pop(key, None)), fact


def stored_globals(code: CodeType) -> set[str]:
    """Return the globals that a function, or one inside it, assigns or deletes."""
    facts.lookups.need()
    return {
        i.argval
        for inner in loads_in(code)
        if not STORES.isdisjoint(inner.co_code[::2])
        for i in dis.get_instructions(inner)
        if i.opcode in STORES
    }


CHANGES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR",
                     "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "STORE_SLICE"})  # fmt: skip
"""Instructions that may change what was there before, or import what was not."""


def changes_nothing(code: CodeType) -> bool:
    """Return whether a function, and those inside it, assign but local variables."""
    for inner in loads_in(code):
        for use in dis.get_instructions(inner):
            if use.opname in CHANGES or use.opname.startswith("INPLACE_"):
                return False
            if use.opname == "BINARY_OP" and use.argrepr.endswith("="):
                return False
            if use.opname == "STORE_DEREF" and use.argval in code.co_freevars:
                return False
    return True


@lru_cache(4096)
def loaded_globals(code: CodeType) -> tuple[str, ...]:
    """Return the globals that code looks up."""
    if not facts.lookups.holds:
        return code.co_names
    return tuple({i.argval for i in dis.get_instructions(code) if i.opname in LOADS})


def imports_in(code: CodeType, package: str) -> Iterator[str]:
    """Yield the names of the modules that code imports, and of what it imports from them."""
    if IMPORT not in code.co_code[::2]:
        return
    found = _IMPORTS.get(code)
    if found is None:
        found, last = [], (None, None)
        for use in dis.get_instructions(code):
            if use.opcode == IMPORT:
                found.append((use.argval, *last))
            elif use.opname not in SILENT:
                last = last[1], use.argval
        _IMPORTS.put(code, found)
    for name, level, names in found:
        if type(level) is int and level:
            try:
                name = importlib.util.resolve_name("." * level + name, package)
            except ImportError:  # above the package: an error when it runs, too
                continue
        parts = name.split(".")
        yield from [".".join(parts[: i + 1]) for i in range(len(parts))]
        if type(names) is tuple:
            yield from [f"{name}.{part}" for part in names]


_IMPORTS = CodeTable()
"""The imports in code: a name, the number of dots, and what is imported from there."""


LEAVING = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
UNCONDITIONAL = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"}
METHODS = {"LOAD_METHOD", "LOAD_ATTR"}
_reads = list(dis.get_instructions(compile("x[y]", "", "eval")))[-2]
SUBSCRIPT = _reads.arg if _reads.opname == "BINARY_OP" else None
"""The operator that reads an item, which has an instruction of its name until 3.13."""
NULL_IS_FIRST = sys.version_info < (3, 13)
"""If NULL is put on the stack before what is called, and not behind it."""


def _has_null(use: Instruction) -> bool:
    """Return whether LOAD_GLOBAL puts NULL on the stack, too."""
    return stack_effect(use.opcode, use.arg) == 2


def calls_attribute(instructions: list[Instruction], i: int) -> bool:
    """Return whether the look-up at `i` is that of an object whose attribute is called."""
    use = instructions[i + 1]
    if use.opname not in METHODS:
        return False
    if is_method_looked_up(use):
        return not _has_null(instructions[i])  # it leaves what a call of a method takes
    if _has_null(instructions[i]):
        return _leads_to_call(instructions, i + 2)
    return instructions[i + 2].opname == "PUSH_NULL" and _leads_to_call(instructions, i + 3)


def is_called(instructions: list[Instruction], i: int) -> bool:
    """Tell whether the look-up at `i` is that of a callee: see NOTE [which look-ups are calls]."""
    use = instructions[i]
    if use.opname == "LOAD_GLOBAL" and _has_null(use):
        return _leads_to_call(instructions, i + 1)
    if i and instructions[i - 1].opname == "PUSH_NULL":
        return _leads_to_call(instructions, i + 1)
    if instructions[i + 1].opname == "PUSH_NULL":
        return _leads_to_call(instructions, i + 2)
    if use.opname == "BINARY_SUBSCR" and NULL_IS_FIRST:
        return _leads_to_call(instructions, i + 1)
    return False


def reads_item(use: Instruction) -> bool:
    """Return whether an instruction reads an item."""
    return use.opname == "BINARY_SUBSCR" or (use.opname == "BINARY_OP" and use.arg == SUBSCRIPT)


def is_method_looked_up(use: Instruction) -> bool:
    """Return whether an instruction looks up a method that is called."""
    return use.opname in METHODS and stack_effect(use.opcode, use.arg) == 1


def is_super_of_two(instructions: list[Instruction], i: int) -> bool:
    """Tell if the look-up at `i` is that of ``super(C, x)``; ``super()`` looks at its caller."""
    rest = [use for use in instructions[i + 1 : i + 12] if use.opname not in SILENT][:3]
    if rest[-1].opname == "LOAD_SUPER_ATTR":
        return bool((rest[-1].arg or 0) & 2)
    alone = rest[0].opname.startswith("CALL") or rest[1].opname == "LOAD_SUPER_ATTR"
    return not alone and is_called(instructions, i)


def _leads_to_call(instructions: list[Instruction], start: int) -> bool:
    """Tell if what is on the stack before the instruction at `start` is called with arguments."""
    at = {use.offset: k for k, use in enumerate(instructions)}
    waiting, seen, called = [(start, 0)], set(), False
    while waiting:
        k, above = place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        use = instructions[k]
        name = use.opname
        if name in LEAVING:
            return False
        if name in SILENT:
            waiting.append((k + 1, above))
            continue
        if name.startswith("CALL") and "INTRINSIC" not in name:
            taken = -_effect_of_call(use)  # of the callee, its NULL and arguments; one comes back
            if above == taken - 1:
                called = True
                continue
            if above < taken + 1:
                return False
            waiting.append((k + 1, above - taken))
            continue
        if use.opcode in dis.hasjrel or use.opcode in dis.hasjabs:
            jumped = above + stack_effect(use.opcode, use.arg, jump=True)
            if jumped < 0 or use.argval not in at:
                return False
            waiting.append((at[use.argval], jumped))
            if name in UNCONDITIONAL:
                continue
            above += stack_effect(use.opcode, use.arg, jump=False)
            if above < 0:
                return False
            waiting.append((k + 1, above))
            continue
        effect = stack_effect(use.opcode, use.arg)
        made = 0 if name == "POP_TOP" or name.startswith("STORE") else 1
        if above < made - effect:
            return False
        waiting.append((k + 1, above + effect))
    return called


def _effect_of_call(use: Instruction) -> int:
    """Return the effect of a call on the stack, with that of PRECALL."""
    effect = stack_effect(use.opcode, use.arg)
    if sys.version_info < (3, 12) and use.opname == "CALL":
        effect -= use.arg or 0
    return effect
