"""Code that tells what it reads, before it reads it.

NOTE [observed code]
    `observed` copies a code object and puts calls of the methods of `Events` before the
    instructions that read something. A call gets copies of the operands, and its result is dropped,
    so the stack is as it was. The copy gives the same results, exceptions and lines of tracebacks.
    An instruction that jumps to another one jumps to the calls before it. Three are changed: the
    load of a method becomes the load of an attribute, so that the function of each call is an
    object; a comparison that is its own truth test (3.13) becomes two instructions; and the
    arguments of `f(*x)` become a tuple before the call.

NOTE [others in their place]
    `operands`, `item` and `called` may return what the instruction is to have instead.
    So they are taken off the stack, and what the call returns is put there.
"""

import dis
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from types import CodeType
from typing import Any

from . import facts
from .assembly import (
    EMPTY,
    EMPTY_ABOVE,
    OBJECT,
    SPECIAL,
    UNKNOWN,
    Instruction,
    Listing,
    opcodes,
    put_together,
    stacks_of,
    take_apart,
    unreadable,
)
from .call_sites import SUBSCRIPT
from .events import Events

NAME, CELL, SLICE = "the name", "the cell", slice(2, 1)

Told = tuple[Any, ...]
"""A method and its arguments: the object at a place of the stack (1 is the top), what the
instruction names, another string or None, or a slice, tuple or dict of objects at places.
"""

TOLD: dict[str, Told] = {
    "LOAD_ATTR": ("attribute", 1, NAME),
    "LOAD_METHOD": ("attribute", 1, NAME),
    "IMPORT_FROM": ("attribute", 1, NAME),
    "LOAD_SUPER_ATTR": ("super_attribute", 3, 2, 1, NAME),
    "LOAD_DEREF": ("cell", CELL),
    "LOAD_CLASSDEREF": ("cell", CELL),
    "LOAD_FROM_DICT_OR_DEREF": ("cell", CELL),
    "BINARY_SUBSCR": ("reads", 2, 1),
    "BINARY_SLICE": ("item", 3, SLICE),
    "COMPARE_OP": ("operates", 2, 1),
    "CONTAINS_OP": ("operands", 2, 1),
    "UNARY_NEGATIVE": ("operates", 1),
    "UNARY_POSITIVE": ("operates", 1),
    "UNARY_INVERT": ("operates", 1),
    "SET_ADD": ("operands", 1),
    "MAP_ADD": ("operands", 2),
    "IS_OP": ("same", 2, 1),
    "IMPORT_NAME": ("imports", NAME, 1, 2),
    "STORE_ATTR": ("stores_attribute", 1, NAME, 2),
    "DELETE_ATTR": ("deletes_attribute", 1, NAME),
    "STORE_SUBSCR": ("stores_item", 2, 1, 3),
    "STORE_SLICE": ("stores_item", 3, SLICE, 4),
    "DELETE_SUBSCR": ("deletes_item", 2, 1),
    "STORE_GLOBAL": ("stores_global", NAME, 1),
    "DELETE_GLOBAL": ("stores_global", NAME),
    "STORE_DEREF": ("stores_cell", CELL, 1),
    "DELETE_DEREF": ("stores_cell", CELL),
    "MATCH_KEYS": ("contents", 2),
    "TO_BOOL": ("truth", 1),
    "FORMAT_WITH_SPEC": ("contents", 2),
}
"""The events of instructions that always tell the same."""
TOLD |= dict.fromkeys(
    (
        "GET_ITER", "GET_YIELD_FROM_ITER", "GET_AITER", "GET_AWAITABLE", "GET_LEN",
        "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE",
        "MATCH_SEQUENCE", "MATCH_MAPPING", "FORMAT_SIMPLE", "CONVERT_VALUE", "BEFORE_WITH",
        "BEFORE_ASYNC_WITH",
    ),
    ("contents", 1),
)  # fmt: skip
if sys.version_info < (3, 14):  # then `exits` tells it
    TOLD["WITH_EXCEPT_START"] = "leaves", 4, 1
for _name in dis.opmap:
    if "_NONE" in _name:
        TOLD[_name] = "same", 1, None
    elif ("_IF_" in _name or _name == "UNARY_NOT") and sys.version_info < (3, 13):
        TOLD[_name] = "truth", 1  # from 3.13 on they get a bool, from TO_BOOL

COPY, SWAP, POP_TOP, PUSH_NULL, LOAD_CONST, BUILD_SLICE, BUILD_TUPLE, BUILD_MAP, UNPACK = opcodes(
    "COPY SWAP POP_TOP PUSH_NULL LOAD_CONST BUILD_SLICE BUILD_TUPLE BUILD_MAP UNPACK_SEQUENCE"
)
LOAD_ATTR, LOAD_METHOD, LOAD_SUPER, COMPARE_OP, TO_BOOL = opcodes(
    "LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR COMPARE_OP TO_BOOL"
)
KW_NAMES, PRECALL, CALL, CALL_KW, CALL_EX = opcodes(
    "KW_NAMES PRECALL CALL CALL_KW CALL_FUNCTION_EX"
)
INTRINSIC, FORMAT_VALUE = opcodes("CALL_INTRINSIC_1 FORMAT_VALUE")
(LOAD_CELL,) = opcodes("LOAD_FAST" if sys.version_info >= (3, 13) else "LOAD_CLOSURE")
SHIFTS = {LOAD_ATTR: 1, LOAD_SUPER: 2} if sys.version_info >= (3, 12) else {}
"""By how many bits an argument is shifted that is the number of a name and more."""
AS_BOOL = 16 if sys.version_info >= (3, 13) else 0
"""The bit of COMPARE_OP that asks for the truth of the result."""

KNOWN = facts.bytecode.holds
_probe = compile(
    "x.a(b)\nif x.c: +x\na, b = x", "", "exec"
)  # has the CACHE of all that is inserted
_found = take_apart(_probe).instructions if KNOWN else []
POSITIVE = next((argument for opcode, argument, _ in _found if opcode == INTRINSIC), -1)
"""The number of the unary plus, from 3.12 on."""

BY_OPCODE = dict(zip(opcodes(" ".join(TOLD)), TOLD.values()))
IN_PLACE = 13
"""The number of ``+=``: the operators that change their operand come last."""

BY_ARGUMENT: dict[int, Callable[[int], list[Told]]] = {
    dis.opmap["BINARY_OP"]: lambda operator: [
        ("reads" if operator == SUBSCRIPT else "operates", 2, 1)
    ] if operator < IN_PLACE or operator == SUBSCRIPT else [
        ("stores_item", 2, None, 1), ("changes", 2, 1)
    ],
    SPECIAL: lambda which: [("exits", 1, f"__{'a' * (which > 1)}exit__")] if which & 1 else [
        ("contents", 1)
    ],
    dis.opmap["BUILD_SET"]: lambda n: [("operands", *range(n, 0, -1))] * (n > 0),
    dis.opmap["BUILD_MAP"]: lambda n: [("operands", *range(2 * n, 0, -2))] * (n > 0),
    dis.opmap["RAISE_VARARGS"]: lambda n: [("raises", *range(n, 0, -1))] * (n > 0),
    dis.opmap["MATCH_CLASS"]: lambda n: [
        *[("attribute", 2, "__match_args__")] * (n > 0), ("contents", 3)
    ],
    FORMAT_VALUE: lambda flags: [("contents", 2 if flags & 4 else 1)],
    INTRINSIC: lambda which: [("operates", 1)] * (which == POSITIVE),
}  # fmt: skip
"""The events of instructions, where they depend on the argument."""

ALWAYS_NAMED = sys.version_info >= (3, 14)
"""Whether a call with a star has a place for named arguments, which may be empty."""

NULL: Instruction = (PUSH_NULL, 0, None)
PLACE = [NULL] if EMPTY_ABOVE else [NULL, (SWAP, 2, None)]
"""Make an empty place beside the function on top of the stack."""


def _call(count: int) -> list[Instruction]:
    """Return the call of a function with so many arguments."""
    return [(opcode, count, None) for opcode in (PRECALL, CALL) if opcode != -1]


def observed(code: CodeType, events: Events) -> CodeType:
    """Return a copy of a code object that tells `events` what it reads, before it reads it.

    The code of functions and classes inside is copied in the same way.

    Parameters
    ----------
    code
        The code of a function, as Python has compiled it.
    events
        Whose methods are called. The code keeps it.

    Raises
    ------
    NotImplementedError
        The version of Python is unknown, or the code is not as Python compiles it.

    Examples
    --------
    >>> class Names(Events):
    ...     def attribute(self, owner, name):
    ...         print("reads", name, "of", type(owner).__name__)
    >>> def last(x):
    ...     return x.real.bit_count()
    >>> last.__code__ = observed(last.__code__, Names())
    >>> last(3)
    reads real of int
    reads bit_count of int
    2
    """
    if not KNOWN:
        raise unreadable(code, "the instructions of this version of Python are unknown")
    return _Copy(code, events).made()


class _Calls:
    """Calls of events that need more than copies of operands."""

    def __init__(self, events: Events):
        self.events = events
        self.inert: Collection[type] = getattr(events, "inert", ())
        self.known: Mapping[type, Collection] = getattr(events, "known", {})

    def super_attribute(self, callee: Any, kind: type, owner: Any, name: str) -> None:
        if callee is not super:
            raise NotImplementedError("the name super is not Python's, so what it reads is unknown")
        self.events.super_attribute(kind, owner, name)

    # These return what stands on the stack then, the top first.

    def operates(self, *values: Any) -> Any:
        for x in values:
            if type(x) not in self.inert:
                break
        else:
            return values[::-1]
        return (self.events.operands(*values) or values)[::-1]

    def reads(self, owner: Any, key: Any) -> Any:
        return (self.events.item(owner, key) or (owner, key))[::-1]

    def changes(self, owner: Any, value: Any) -> Any:
        return (self.events.operands(owner, value) or (owner, value))[1], owner

    def calls(self, callee: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if type(callee) in self.known and callee in self.known[type(callee)]:
            for x in (*args, *kwargs.values()) if kwargs else args:
                if type(x) not in self.inert:
                    break
            else:
                return (*args, *kwargs.values())[::-1] if kwargs else args[::-1]
        args, kwargs = self.events.called(callee, args, kwargs) or (args, kwargs)
        return (*args, *kwargs.values())[::-1]

    def calls_spread(self, callee: Any, args: Any, *named: Any) -> Any:
        found = self.events.called(callee, args, *named or ({},)) or (args, *named)
        return found[: 1 + len(named)][::-1]

    def exits(self, owner: Any, name: str) -> None:
        """Tell the call of ``owner.__exit__`` where a block begins."""
        self.events.contents(owner)
        leave: Any = getattr(type(owner), name, None)
        if hasattr(leave, "__get__"):
            leave = leave.__get__(owner, type(owner))
        if leave is not None:  # else an error that Python raises
            self.events.called(leave, (None, None, None), {})

    def leaves(self, leave: Any, error: BaseException) -> None:
        self.events.called(leave, (type(error), error, error.__traceback__), {})

    def raises(self, *values: Any) -> None:
        """Tell the call of each class that is raised."""
        for value in values:
            if isinstance(value, type):
                self.events.called(value, (), {})

    def spreads(self, args: Any) -> Callable:
        """Return what makes a tuple of the arguments after a star, with Python's own message."""
        self.events.contents(args)
        kind = type(args)
        return tuple if hasattr(kind, "__iter__") or hasattr(kind, "__getitem__") else _same


def _same(x: Any) -> Any:
    return x


class _Copy:
    """A copy of a code object while it is made."""

    def __init__(self, code: CodeType, events: Events):
        self.code, self.events, self.calls = code, events, _Calls(events)
        self.consts = [
            observed(x, events) if isinstance(x, CodeType) else x for x in code.co_consts
        ]
        self.added: dict[Any, int] = {}  # the number of each constant that was added
        self.extra = 0  # how many places more the stack needs

    def made(self) -> CodeType:
        code, listing = self.code, take_apart(self.code)
        stacks = stacks_of(code, listing)
        told = self.told(listing.instructions, stacks)
        instructions: list[Instruction] = []
        places, starts = [], []
        for number, instruction in enumerate(listing.instructions):
            starts.append(len(instructions))
            instructions += told.get(number, ())
            instructions += self.plain(instruction, stacks[number])
            places += [listing.places[number]] * (len(instructions) - starts[-1])
        starts.append(len(instructions))
        for number, (opcode, argument, target) in enumerate(instructions):
            if target is not None:
                instructions[number] = opcode, argument, starts[target]
        handlers = [
            row._replace(start=starts[row.start], end=starts[row.end], target=starts[row.target])
            for row in listing.handlers
        ]
        made = Listing(instructions, places, handlers)
        found = stacks_of(code, made)
        if [found[start] for start in starts[:-1]] != stacks:
            raise unreadable(code, "its stack differs")
        size = code.co_stacksize + self.extra
        return put_together(code, made, co_consts=tuple(self.consts), co_stacksize=size)

    def told(
        self, instructions: list[Instruction], stacks: list[str | None]
    ) -> dict[int, list[Instruction]]:
        """Return what stands before instructions, by their numbers."""
        found = {}
        for number, (opcode, argument, _) in enumerate(instructions):
            stack = stacks[number]
            if stack is None:
                continue
            if opcode in BY_OPCODE:
                told, name = BY_OPCODE[opcode], ""
                if NAME in told:
                    name = self.code.co_names[argument >> SHIFTS.get(opcode, 0)]
                found[number] = self.tell(stack, told, name, argument)
            elif opcode in BY_ARGUMENT:
                parts = [self.tell(stack, each) for each in BY_ARGUMENT[opcode](argument)]
                found[number] = [x for part in parts for x in part]
            elif opcode == CALL:
                first = number
                while instructions[first - 1][0] in (PRECALL, KW_NAMES):
                    first -= 1
                before, constant, _ = instructions[first]
                names = self.code.co_consts[constant] if before == KW_NAMES else ()
                found[first] = self.call(stack, argument, names, 0)
            elif opcode == CALL_KW:
                before, constant, _ = instructions[number - 1]
                if before != LOAD_CONST:
                    raise unreadable(self.code, "the names of arguments are not a constant")
                found[number] = self.call(stack, argument, self.code.co_consts[constant], 1)
            elif opcode == CALL_EX:
                named = stack[-1] == OBJECT if ALWAYS_NAMED else argument & 1
                found[number] = self.call_spread(stack, named)
            elif opcode in (KW_NAMES, PRECALL):
                if instructions[number + 1][0] not in (PRECALL, CALL):
                    raise unreadable(self.code, "no call follows the names of arguments")
        return found

    def call(self, stack: str, count: int, names: tuple, above: int) -> list[Instruction]:
        """Tell a call with so many arguments, the last of which have names."""
        top = count + above  # the place of the first argument
        if EMPTY_ABOVE and stack[-top - 1] == UNKNOWN:
            return []  # the end of a block, which has been told
        if stack[-top - (1 if EMPTY_ABOVE else 2)] == EMPTY:
            callee = top + (2 if EMPTY_ABOVE else 1)
        else:
            callee, top = top + 2, top + 1  # an object there is the first argument
        named = len(names) + above
        args = tuple(range(top, named, -1))
        kwargs = dict(zip(names, range(named, above, -1)))
        if not top - above:
            return self.tell(stack, ("called", callee, args, kwargs))
        told = self.tell(stack, ("calls", callee, args, kwargs), replaces=top)
        if above:
            told[-1:] = [(UNPACK, top - above, None), (LOAD_CONST, self.number_of(names), None)]
        return told

    def call_spread(self, stack: str, named: int) -> list[Instruction]:
        """Make a tuple of the arguments after a star, and tell a call with it."""
        if named < ALWAYS_NAMED:  # an empty place lies on the arguments
            return [
                (SWAP, 2, None),
                *self.tell_spread(f"{stack[:-2]}{EMPTY}{OBJECT}", 1, 4, 3),
                (SWAP, 2, None),
            ]
        args = 1 + named
        callee, empty = (args + 2, args + 1) if EMPTY_ABOVE else (args + 1, args + 2)
        return self.tell_spread(stack, args, callee, empty, *[1] * named)

    def tell_spread(
        self, stack: str, args: int, callee: int, empty: int, *named: int
    ) -> list[Instruction]:
        """Do so where the arguments, the function and the empty place are at these places."""
        if stack[-empty] != EMPTY:
            raise unreadable(self.code, "the function of a call with a star is not alone")
        spread = self.tell(stack, ("spreads", args))[:-1]  # the function that makes it
        spread += [*PLACE, (COPY, args + 2, None), *_call(1), (SWAP, args + 1, None)]
        spread += [(POP_TOP, 0, None)]
        told = "calls_spread", callee, args, *named
        return spread + self.tell(stack, told, replaces=args)

    def plain(self, instruction: Instruction, stack: str | None) -> list[Instruction]:
        """Return what stands for an instruction: mostly itself."""
        opcode, argument, _ = instruction
        if opcode == LOAD_METHOD:
            return [(LOAD_ATTR, argument, None), *PLACE]
        if opcode in SHIFTS and argument & 1:
            return [(opcode, argument - 1, None), *PLACE]
        if opcode == COMPARE_OP and argument & AS_BOOL and stack is not None:
            told = self.tell(stack[:-1], ("truth", 1))
            return [(opcode, argument - AS_BOOL, None), *told, (TO_BOOL, 0, None)]
        return [instruction]

    # ---- one call ----

    def tell(
        self, stack: str, told: Told, name: str = "", cell: int = -1, replaces: int = 0
    ) -> list[Instruction]:
        """Return the call of a method, with copies of what is on the stack.

        What it returns is dropped, or stands instead of so many objects on top of the stack.
        """
        event, *parts = told
        replaces = len(parts) if event in ("operates", "reads", "changes") else replaces
        own = self.calls if hasattr(self.calls, event) else self.events
        function = (LOAD_CONST, self.number_of(getattr(own, event)), None)
        made: list[Instruction] = [function, NULL] if EMPTY_ABOVE else [NULL, function]
        for pushed, part in enumerate(parts, 2):
            if type(part) is int:
                made += self.copies(stack, [part], pushed)
            elif type(part) is slice:
                made += self.copies(stack, [part.start, part.stop], pushed)
                made.append((BUILD_SLICE, 2, None))
            elif type(part) is tuple:
                made += self.copies(stack, part, pushed)
                made.append((BUILD_TUPLE, len(part), None))
            elif type(part) is dict:
                for above, (key, place) in enumerate(part.items()):
                    made.append((LOAD_CONST, self.number_of(key), None))
                    made += self.copies(stack, [place], pushed + 2 * above + 1)
                made.append((BUILD_MAP, len(part), None))
            elif part == CELL:
                made.append((LOAD_CELL, cell, None))
            else:
                made.append((LOAD_CONST, self.number_of(name if part == NAME else part), None))
        self.extra = max(self.extra, len(made))
        made += _call(len(parts))
        if not replaces:
            return [*made, (POP_TOP, 0, None)]
        return [*made, *[(SWAP, 2, None), (POP_TOP, 0, None)] * replaces, (UNPACK, replaces, None)]

    def copies(self, stack: str, places: Iterable[int], pushed: int) -> list[Instruction]:
        """Return copies of objects, when so many things lie on the stack above them."""
        if any(stack[-place:][:1] != OBJECT for place in places):
            raise unreadable(self.code, "it reads something that is not an object")
        return [(COPY, place + above, None) for above, place in enumerate(places, pushed)]

    def number_of(self, value: Any) -> int:
        """Return the number of a constant that is added.

        The first of all is a function, because a string would be the docstring.
        """
        if value not in self.added:
            self.added[value] = len(self.consts)
            self.consts.append(value)
        return self.added[value]
