"""Code of adopted functions: it looks up other names, and what it calls goes through functions.

NOTE [names that no identifier is]
    A call ``float(x)`` looks ``float`` up in the globals. Here the code is given another name for
    this look-up, ``_functier float``, which the globals then have. So the same name elsewhere, as
    in ``dtype=float``, is the builtin. The names have a space, so that no code can contain
    them, and an underscore in front, so that a star import leaves them out.

NOTE [what goes through a function]
    A type of numbers may be in a variable or a table: ``dtype(x)``, ``TYPES["f"](x)``. What is
    called is known only then. So the code gets ``convert(dtype)(x)``, where `convert` is a global
    that the caller names. In the same way ``a.dot(x)`` becomes ``convert(a).dot(x)``.
"""

import builtins
import dis
from bisect import bisect
from collections.abc import Callable, Collection
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from . import facts
from .assembly import (
    CALL,
    EXTENDED_ARG,
    PRECALL,
    SWAP,
    Instruction,
    Listing,
    opcodes,
    put_together,
    take_apart,
)
from .call_sites import (
    METHODS,
    calls_attribute,
    is_called,
    is_method_looked_up,
    is_super_of_two,
    reads_item,
)
from .code import loads_in


class Conversions(NamedTuple):
    """The globals that are called with what code calls and makes.

    Attributes
    ----------
    callee : str
        Is called with a local variable, or an item, that is called.
    owner : str
        Is called with what has a method of the names `methods` that is called.
    made : str
        Is called with results of arithmetic that a variable names, in code that writes to items,
        or in place.
    returned : str
        Is called with what code returns, where `keeps` holds of it.
    """

    callee: str
    owner: str
    made: str
    methods: Collection[str] = ()
    returned: str = ""
    keeps: Callable[[CodeType], bool] = lambda code: False


CALLEES = {
    "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
}  # fmt: skip
"""The loads of variables, the last of which a call may take."""
WRITES = frozenset(opcodes("STORE_SUBSCR STORE_SLICE"))
"""The opcodes of writes to items."""
IN_PLACE = frozenset(
    (use.opcode, use.arg)
    for operator in "+ - * / // % ** @ & | ^ << >>".split()
    for use in dis.get_instructions(compile(f"a {operator}= b", "", "exec"))
    if use.opname == "BINARY_OP"
)
"""The opcodes and arguments of operators in place."""
(LOAD_GLOBAL,) = opcodes("LOAD_GLOBAL")
if facts.bytecode.holds:  # so that the entries that follow these are known
    take_apart(compile("def f(g): return abs(g)", "", "exec").co_consts[0])


class Names:
    """The aliases that a module's code looks up instead of its names.

    Parameters
    ----------
    call : function
        Returns the alias for calls of an object, or None.
    owner : function
        Returns the alias for an object whose attribute is looked up, or None: given both, if the
        attribute is called, and if it is asked for an attribute.
    module : function
        Returns the alias for the name of an imported module, or None.
    conversions : Conversions, optional
        What goes through a function.
    """

    def __init__(
        self, namespace: dict, call: Callable, owner: Callable, module: Callable,
        conversions: Conversions | None = None,
    ):  # fmt: skip
        self.namespace, self.call, self.owner, self.module = namespace, call, owner, module
        self.conversions = conversions
        self.stored: set[str] = set()
        self.keepers: set[str] = set()  # functions that keep something for a later call

    def facts(self, code: CodeType) -> tuple:
        """Return what the names of code mean, on which alone its aliases depend."""
        found = []
        for inner in loads_in(code):
            for name in inner.co_names:
                value = self.value(name)
                owner = id(value) if issubclass(type(value), ModuleType) else None
                alias = None if value is None else self.call(value)
                found.append((alias, owner, name in self.keepers))
        return tuple(found)

    def value(self, name: str) -> Any:
        """Return the object behind a global name, or None where it may become another one."""
        if name in self.stored:
            return None
        return self.namespace.get(name, getattr(builtins, name, None))


def rewrite(code: CodeType, names: Names) -> CodeType:
    """Return `code` with calls and imports that look up aliases; `code` where there are none.

    Raise NotImplementedError where the code cannot be changed.
    """
    consts = tuple([rewrite(x, names) if isinstance(x, CodeType) else x for x in code.co_consts])
    if any([a is not b for a, b in zip(consts, code.co_consts)]):
        code = code.replace(co_consts=consts)
    uses = list(dis.get_instructions(code))
    aliases = _aliases(code, names, uses)
    before, after = _conversions(code, names.conversions, uses) if names.conversions else ({}, {})
    if not aliases and not before and not after:
        return code
    named = aliases, before, after
    table = list(dict.fromkeys((*code.co_names, *[x for found in named for x in found.values()])))
    listing = take_apart(code)
    longer = [i for i, use in enumerate(uses) if use.opcode == EXTENDED_ARG]
    others, first, then = [
        {i - bisect(longer, i): table.index(alias) for i, alias in found.items()} for found in named
    ]
    instructions: list[Instruction] = []
    places, starts = [], []
    for number, instruction in enumerate(listing.instructions):
        starts.append(len(instructions))
        if number in others:
            instruction = _naming(instruction, others[number])
        several = _conversion(first[number]) if number in first else []
        several = [*several, instruction, *(_conversion(then[number]) if number in then else ())]
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
    listed = Listing(instructions, places, handlers)
    size = code.co_stacksize + 2 * bool(before or after)
    return put_together(code, listed, co_names=tuple(table), co_stacksize=size)


def _naming(instruction: Instruction, name: int) -> Instruction:
    """Return an instruction that looks up another name, by its number."""
    opcode, argument, target = instruction
    return opcode, (name << 1 | argument & 1) if opcode == LOAD_GLOBAL else name, target


def _aliases(code: CodeType, names: Names, uses: list[dis.Instruction]) -> dict[int, str]:
    """Return the aliases of the instructions that should look another name up."""
    found: dict[int, str] = {}
    own = {i.argval for i in uses if i.opname in ("STORE_NAME", "DELETE_NAME")}
    for i, use in enumerate(uses):
        alias = None
        if use.opname == "LOAD_GLOBAL":
            value = names.value(use.argval)
            if value is not None:
                alias = names.call(value)
                if alias is not None:
                    if value is super:
                        alone = code.co_name != "__new__" and not is_super_of_two(uses, i)
                        alias = None if alone else alias
                    elif not is_called(uses, i):
                        alias = None
                elif uses[i + 1].opname in METHODS:
                    called = calls_attribute(uses, i)
                    other = uses[i + 2].opname in METHODS
                    name = uses[i + 1].argval
                    alias = names.owner(value, name, called, other and not called)
        elif use.opname == "LOAD_NAME" and use.argval not in own:  # the body of a class
            value = names.value(use.argval)
            alias = None if value is None else names.call(value)
            alias = alias if alias is not None and is_called(uses, i) else None
        elif use.opname == "IMPORT_NAME" and i > 1 and uses[i - 2].argval == 0:
            alias = names.module(use.argval)
        if alias is not None:
            found[i] = alias
    return found


def _conversions(
    code: CodeType, given: Conversions, uses: list[dis.Instruction]
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the globals that are called before and after some instructions.

    See NOTE [what goes through a function].
    """
    before, after = {}, {}
    ends = given.keeps(code)
    for i, use in enumerate(uses):
        if use.argval in given.methods and is_method_looked_up(use):
            before[i] = given.owner
        elif ends and use.opname == "RETURN_VALUE":
            before[i] = given.returned
        elif (use.opname in CALLEES or reads_item(use)) and is_called(uses, i):
            after[i] = given.callee
    return before, after | dict.fromkeys(named_results(code, uses), given.made)


def named_results(code: CodeType, uses: list[dis.Instruction]) -> list[int]:
    """Return where arithmetic makes what a variable names, if the code writes to something."""
    if not writes(code):
        return []
    return [
        i
        for i, use in enumerate(uses)
        if use.opname == "BINARY_OP" and not reads_item(use)
        and (use.opcode, use.arg) not in IN_PLACE
        and uses[i + 1].opname.startswith(("STORE_FAST", "STORE_DEREF"))
    ]  # fmt: skip


def writes(code: CodeType) -> bool:
    """Tell if code, or a function that it makes, writes to items, or has operators in place."""
    units = code.co_code
    if not WRITES.isdisjoint(units[::2]) or not IN_PLACE.isdisjoint(zip(units[::2], units[1::2])):
        return True
    return any([writes(x) for x in code.co_consts if isinstance(x, CodeType)])


def _conversion(name: int) -> list[Instruction]:
    """Return instructions that call a global with the value on top of the stack.

    The function lies where that of a method would, and the value where its object would.
    """
    calls = [(opcode, 0, None) for opcode in (PRECALL, CALL) if opcode != -1]
    return [(LOAD_GLOBAL, name << 1, None), (SWAP, 2, None), *calls]
