"""Entries: generated functions that check the arguments of a call, and run a program.

An entry reads the leaves of dicts, lists and tuples by itself; other pytrees are flattened.
"""

import functools
from collections.abc import Callable, Sequence
from operator import itemgetter
from types import MethodType
from typing import Any

import numpy as np
import optree

from .._core.key_orders import NAMESPACE
from .._core.numpy_facts import dtype_of
from .._core.pytree import flatten, is_value
from .._cpython.objects import slots_of, space_of
from .._levels.memory import meet
from .arguments import Node as Part
from .arguments import facts_of, is_same, node_of, opened
from .draws import restoring
from .guards import Guards
from .program import Program
from .replays import Changed, Replay
from .signature import slots, write_tree
from .trusted import SPACE

ndarray = np.ndarray


class Mismatch(BaseException):
    """The arguments are not those that a program is for, or what it depends on has changed."""


NUMERIC = "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]
PLAIN = frozenset({int, float, complex, *[np.dtype(char).type for char in NUMERIC]})
"""Types of numbers whose type says their form."""


def entry_of(
    program: Program, args: tuple, kwargs: dict, guards: Guards,
    checks: bool = True, cold: bool = False,
) -> Callable:  # fmt: skip
    """Return the entry of a program for arguments of the structure of these.

    Without `checks` it leaves the forms of arrays to what runs: machine code looks at them, too.
    A `cold` one writes the source of the program at its first call.
    """
    run = program._run
    entry = Entry(program, guards, checks)
    lines, space = entry.lines, entry.space
    space["run"] = run.function if type(run) is Replay and not cold else run
    names = [f"a{i}" for i in range(len(args))]
    if all(map(is_simple, (*args, *kwargs.values()))):
        for x, own in zip(args, names):
            entry.read(x, own)
        for i, (name, x) in enumerate(sorted(kwargs.items(), key=itemgetter(0))):
            lines.append(f"b{i} = kwargs[{name!r}]")
            entry.read(x, f"b{i}")
    else:
        entry.flatten(args, kwargs, names)
    lines += [
        f"if {entry.owners[i]} is not {entry.owners[k]}: raise Mismatch"
        for i, k in program.twins.items()
    ]
    lines += guards.writer.inside(checks)
    entry.look_at_memory(args, kwargs)
    lines.append(f"try: r = run({', '.join([*entry.inputs, *guards.writer.arrays])})")
    lines.append("except Changed: raise Mismatch from None")
    if program.doubts:
        space |= SPACE
        lines.append(f"if {program.doubts}: raise Mismatch")
    if program.writes:
        first = program._size - len(program.writes)
        lines += [f"{entry.owners[i]}[...] = r[{first + k}]" for k, i in enumerate(program.writes)]
        lines.append("r = list(r)")
        lines += [f"r[{k}] = {entry.owners[i]}" for k, i in program.same.items()]
    lines.append(f"return {result_of(program, space)}{'[0]' * bool(program.writes)}")
    body = "\n".join(f"    {line}" for line in lines)
    if kwargs:
        space["keywords"] = list(kwargs)
        names.append("**kwargs")
        body = f"    if [*kwargs] != keywords: raise Mismatch\n{body}"
    exec(f"def entry({', '.join(names)}):\n{body}\n", space)
    # Another program draws anew where the arguments, an answer or a doubt end this one.
    sources = program._replay.sources
    return restoring(space["entry"], sources) if sources else space["entry"]


class Entry:
    """The lines that look at the arguments, and what they refer to.

    Attributes
    ----------
    owners, inputs : list of str
        The names of all leaves, and of those that the program takes.
    """

    def __init__(self, program: Program, guards: Guards, checks: bool) -> None:
        self.program, self.checks = program, checks
        self.lines: list[str] = []
        self.owners: list[str] = []
        self.inputs: list[str] = []
        self.space: dict[str, Any] = {
            "ndarray": ndarray, "Mismatch": Mismatch, "Changed": Changed, "dtype_of": dtype_of,
            **guards.writer.space,
        }  # fmt: skip

    def leaf(self, x: Any, path: str) -> None:
        """Look at a leaf."""
        lines, space, number = self.lines, self.space, len(self.lines)
        own = f"v{number}"
        dynamic = self.program._forms[len(self.owners)] is not None
        self.owners.append(own)
        lines.append(f"{own} = {path}")
        if not dynamic:
            space[f"k{number}"], space["is_same"] = x, is_same
            lines.append(f"if {own} is not k{number} and {differs(x, own, number)}: raise Mismatch")
            return
        self.inputs.append(own)
        if "flags" in self.program.asked and type(x) is ndarray:
            lines.append(f"if {own}.flags.writeable is not {x.flags.writeable}: raise Mismatch")
        if not self.checks:
            return
        if type(x) is ndarray:
            space[f"s{number}"], space[f"d{number}"] = x.shape, x.dtype
            space[f"z{number}"] = x.strides  # functions sum in the order of memory
            lines.append(
                f"if type({own}) is not ndarray or {own}.shape != s{number} or "
                f"{own}.strides != z{number} or "
                f"({own}.dtype is not d{number} and {own}.dtype != d{number}): raise Mismatch"
            )
            return
        space[f"t{number}"] = type(x)
        lines.append(f"if type({own}) is not t{number}: raise Mismatch")
        if type(x) is int:
            lines.append(f"if not -(1 << 63) <= {own} < 1 << 63: raise Mismatch")
        elif type(x) not in PLAIN:
            space[f"d{number}"] = x.dtype
            lines.append(f"if {own}.dtype != d{number}: raise Mismatch")

    def read(self, x: Any, path: str) -> None:
        """Look at a pytree, and at its leaves."""
        kind, lines, number = type(x), self.lines, len(self.lines)
        if kind is dict:
            test = f"type({path}) is not dict or [*{path}] != t{number}"
            lines.append(f"if {test}: raise Mismatch")
            self.space[f"t{number}"] = list(x)  # in their order, which the function may see
            for key in sorted(x):
                self.read(x[key], f"{path}[{key!r}]")
        elif kind is tuple or kind is list:
            lines.append(
                f"if type({path}) is not {kind.__name__} or len({path}) != {len(x)}: raise Mismatch"
            )
            for i, part in enumerate(x):
                self.read(part, f"{path}[{i}]")
        elif x is None:
            lines.append(f"if {path} is not None: raise Mismatch")
        elif (node := None if is_value(x) else node_of(x)) is not None:
            self.space[f"t{number}"] = kind
            lines.append(f"if type({path}) is not t{number}: raise Mismatch")
            for part, place in zip(node.parts, places_in(node, path, number, lines, self.space)):
                self.read(part, place)
        else:
            self.leaf(x, path)

    def flatten(self, args: tuple, kwargs: dict, names: list[str]) -> None:
        """Look at all arguments as one pytree."""
        given: Any = (args, kwargs) if kwargs else args
        whole = opened(given)
        tree = f"({', '.join(names)},)" if names else "()"
        self.space |= {
            "flatten": flatten, "structure": self.program._structure, "facts_of": facts_of,
            "facts": self.program._facts, "opened": opened,
        }  # fmt: skip
        self.lines += [
            f"tree = ({tree}, kwargs)" if kwargs else f"tree = {tree}",
            *["tree = opened(tree)"] * (whole is not given),
            "leaves, given = flatten(tree, 'compile', 'the arguments')",
            "if given != structure: raise Mismatch",
            "if facts_of(given) != facts: raise Mismatch",
        ]
        for i, x in enumerate(flatten(whole, "compile", "the arguments")[0]):
            self.leaf(x, f"leaves[{i}]")

    def look_at_memory(self, args: tuple, kwargs: dict) -> None:
        """Look at which arrays share memory, where the function writes to one."""
        program, lines, space = self.program, self.lines, self.space
        every = [
            (i, own) for i, (own, form) in enumerate(zip(self.owners, program._forms))
            if form and form.kind is ndarray
        ]  # fmt: skip
        if "memory" in program.asked:  # a transform inside writes to an array that it was given
            given = flatten(opened((args, kwargs) if kwargs else args), "compile", "the arguments")
            space |= {
                "met": meeting([x for x in given[0] if type(x) is ndarray]), "meeting": meeting,
            }  # fmt: skip
            lines.append(f"if meeting([{', '.join([x for _, x in every])}]) != met: raise Mismatch")
        for i in program.writes:
            space["meet"], own = meet, self.owners[i]
            others = [x for k, x in every if k not in program.twins and x != own]
            lines += [f"if meet({own}, {x}): raise Mismatch" for x in others]
            for k, link in enumerate(program.outside):
                space[f"o{k}"] = link
                lines.append(f"if meet({own}, o{k}()): raise Mismatch")
            lines.append(f"if not {own}.flags.writeable: raise Mismatch")


def is_simple(x: Any) -> bool:
    """Return whether a pytree is made of dicts with sortable plain keys, lists and tuples."""
    kind = type(x)
    if kind is dict:
        return all([type(k) is str for k in x]) and all(map(is_simple, x.values()))
    if kind is tuple or kind is list:
        return all(map(is_simple, x))
    if x is None or is_value(x):
        return True
    node = node_of(x)
    if node is not None:
        return all(map(is_simple, node.parts))
    return optree.tree_is_leaf(x, namespace=NAMESPACE)


def differs(x: Any, own: str, number: int) -> str:
    """Return the source of a test whether a static argument is not the value of the trace."""
    if type(x) in (int, bool, str, bytes):
        return f"(type({own}) is not {type(x).__name__} or {own} != k{number})"
    return f"not is_same({own}, k{number})"


def places_in(node: Part, path: str, number: int, lines: list[str], space: dict) -> list[str]:
    """Return where the parts of an object are, after lines that look at which it has."""
    if node.kind in (MethodType, functools.partial):
        return [f"{path}.{name}" for name in node.names]
    found = []
    for i, name in enumerate(node.names[: node.slots]):
        space[f"g{number}_{i}"] = slots_of(node.kind)[name].__get__
        found.append(f"g{number}_{i}({path})")
    rest = [*node.names[node.slots :]]
    home = space_of(node.kind)
    if home is not None:
        space[f"g{number}"], space[f"n{number}"] = home.__get__, rest
        lines.append(f"w{number} = g{number}({path})")
        lines.append(f"if [*w{number}] != n{number}: raise Mismatch")
    return found + [f"w{number}[{name!r}]" for name in rest]


def result_of(program: Program, space: dict[str, Any]) -> str:
    """Return the source of the result, whose leaves are in ``r``."""
    text = write_tree(slots(program._out, program._size), lambda i: f"r[{i}]")
    if text is None:
        space["out"] = program._out
        return "out.unflatten(list(r))"
    return text


def meeting(arrays: Sequence[ndarray]) -> list[tuple[int, int]]:
    """Return the pairs of arrays that share an element, by their places."""
    bounds = [(*np.lib.array_utils.byte_bounds(x), i) for i, x in enumerate(arrays) if x.size]
    found: list[tuple[int, int]] = []
    before: list[tuple[int, int]] = []
    for low, high, i in sorted(bounds):
        before = [(end, k) for end, k in before if end > low]
        found += [(min(i, k), max(i, k)) for _, k in before if meet(arrays[i], arrays[k])]
        before.append((high, i))
    return sorted(found)


def again(entry: Callable, args: tuple, kwargs: dict, found: Any) -> Any:
    """Return what later calls give, which may differ from the trace by rounding."""
    if not found.program._replay.sources:  # draws are made once
        try:
            return entry(*args, **kwargs)
        except (Mismatch, Exception):
            pass
    return found.finish()
