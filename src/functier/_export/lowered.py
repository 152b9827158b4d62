"""A call of a function as the parts of a C function: inputs, results, checks, and its text.

NOTE [what a C function may use]
    The text is the one that machine code in this process is made of, written for a `Target`: all
    that would be NumPy's is refused, with the line of the user's code. Arrays are in C order.

NOTE [results]
    The part writes each result to memory of its own. Results that are inputs, views or the same
    value twice are copied first, and numbers that are known are constants.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import UnsupportedError
from .._core.pytree import flatten, name_of_function, paths
from .._core.table import find
from .._cpython.code import line_of, name_of_code
from .._programs.bound import calling, has_state
from .._programs.graph import TRUTH, Form, Graph, Guard, Node, form_of
from .._programs.invariant import summed
from .._programs.machine.backend import Numpys, Text, divided
from .._programs.machine.compiler.targets import TARGET, Target
from .._programs.machine.lowering.nodes import DTYPES, KINDS, RULES
from .._programs.machine.lowering.steps import Unknown
from .._programs.machine.parts.answers import can_flag
from .._programs.machine.parts.complexes import without_complex
from .._programs.machine.parts.lengths import NONE, ROOM, fixed, free_loops
from .._programs.outside import Unwatched
from .._programs.program import Program
from .._programs.stores import gives_view
from .._programs.trace import paths_of_leaves, record, roots_of
from .._programs.trusted import called
from .names import c_name

FINITE = "a value that was finite in the example is infinite or not a number"

REPLY = re.compile(r"r\[(\d+)\]")


class Value(NamedTuple):
    """An argument or a result.

    `path` is in Python's notation, and `name` in C's. `constant` is the value of a result that is
    known.
    """

    name: str
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype
    kind: type
    constant: np.ndarray | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Check(NamedTuple):
    """A value that the part writes, which has to be the same as in the trace."""

    number: int
    dtype: np.dtype
    how: str
    answer: Any
    text: str


class Lowered(NamedTuple):
    """A function.

    Attributes
    ----------
    name : str
    label : str
        The function in Python's words.
    inputs, results : list of Value
    held, captured : list of array
        The arrays of a module that is the function, and what the function has read besides its
        arguments: these are more inputs of the part, before the others and after them.
    built_in : list of str
        The arguments that are a part of the program, and their values.
    text : Text or None
        None where all results are known.
    outputs : list of int or dtype
        For each output of the part the number of its result, or the dtype of what is looked at.
    checks : list of Check
    structure : object
        That of the result.
    """

    name: str
    label: str
    inputs: list[Value]
    results: list[Value]
    held: list[np.ndarray]
    captured: list[np.ndarray]
    built_in: list[str]
    text: Text | None
    outputs: list[Any]
    checks: list[Check]
    structure: Any

    @property
    def title(self) -> str:
        """The function in Python's words, without the name of the transform that exports it."""
        return self.label.removeprefix("export(").removesuffix(")")

    @property
    def texts(self) -> list[str]:
        """The checks in words, each once."""
        return [*dict.fromkeys([check.text for check in self.checks])]


def refuse(label: str, what: str, lines: Sequence[str] = ()) -> UnsupportedError:
    """Return the error for what cannot be exported."""
    return UnsupportedError("\n    ".join([f"{label}: {what}", *dict.fromkeys(lines)]))


def where(place: Any) -> str:
    """Return the line of the user's code, in words."""
    if place is None:
        return "outside of any line"
    code, instruction = place[:2]
    return f"line {line_of(code, instruction, 0)} of {name_of_code(code)}"


def in_order(x: Any) -> Any:
    """Return an array of its own in C order; other values as they are."""
    return np.array(x, order="C") if type(x) is np.ndarray else x


def lowered(
    name: str, func: Callable, args: Sequence, frame: Any, goal: Target, fastmath: bool,
    max_steps: int | None,
) -> Lowered:  # fmt: skip
    """Return a function for arguments of these forms and a target.

    The target is not set while the function is recorded, as it may run code of its own.

    Raises
    ------
    UnsupportedError
        If some of it would be NumPy's; the lines are listed.
    """
    own = getattr(type(func), "nested_label", name_of_function)
    label = f"export({own(func)})"
    roots = roots_of(func, tuple(args), {})
    first = 0  # leaves that are those of the function, such as a module
    if has_state(func):
        first = len(flatten(func)[0])
        func, args, roots = calling(func), (func, *args), ["module", *roots]
    leaves, tree = flatten(tuple(args), label, "the arguments")
    given = tree.unflatten([in_order(x) for x in leaves])
    program, captured = recorded(label, func, given, frame, goal.exact)
    graph: Any = program._graph
    own_paths = paths_of_leaves(roots, given, ())
    held = [np.array(x) for x, form in zip(leaves[:first], program._forms) if form is not None]
    rest = [*zip(own_paths, program._forms, program._static)][first:]
    inputs = [
        Value(c_name(path), path, form.shape, dtype_of(label, path, form), form.kind)
        for path, form, _ in rest if form is not None
    ]  # fmt: skip
    fixed_ones = [f"{path} = {x!r}"[:70] for path, form, x in rest if form is None]
    size, structure = program._size, program._out
    names = names_of(structure, size, [own_paths[i] for i in program.writes])
    graph = with_truths(without_complex(summed(graph)), size, program.doubts)
    free = free_loops(graph)
    token = TARGET.set(goal)
    try:
        found = part_of(label, fixed(graph, free, room_for(free, max_steps)), size, fastmath)
    except Numpys:  # then a loop has the number of steps of the example
        found = part_of(label, fixed(graph, NONE, 0), size, fastmath)
    finally:
        TARGET.reset(token)
    outputs, text, part_outputs, checks = found
    results = []
    for path, y in zip(names, outputs[:size]):
        if type(y) is Node:
            dtype = dtype_of(label, path, y.form)
            results.append(Value(c_name(path), path, y.form.shape, dtype, y.form.kind))
        else:
            x = known_value(label, path, y)
            results.append(Value(c_name(path), path, x.shape, x.dtype, type(y), x))
    return Lowered(
        name, label, unique(inputs), unique(results, inputs), held, captured, fixed_ones, text,
        part_outputs, checks, structure,
    )  # fmt: skip


def recorded(
    label: str, func: Callable, args: tuple, frame: Any, exact: bool
) -> tuple[Program, list]:
    """Return the program that `compile` would make, and the arrays that it has captured.

    Where it need not be `exact`, functions that the machine does not know are their parts.
    """
    options: Any = {"keep": True, "flags": True, "wholes": None if exact else RULES}
    try:
        found = record(func, args, {}, frame, "export", **options)
        if found.program.mixed:
            found = record(func, args, {}, frame, "export", careful=True, **options)
    except Unwatched as error:
        raise refuse(label, str(error)) from None
    reads: Any = found.watch.reads
    reads.forget()
    return found.program, [x.copy("K") for x in found.captured]


def room_for(free: Any, most: int | None) -> int:
    """Return for how many times the steps of the trace there is memory."""
    traced = [count for count in free.traced.values() if count]
    if most is None or not traced:
        return ROOM
    return max(1, -(-most // min(traced)))


def dtype_in_c(form: Any) -> Any:
    """Return the dtype of a value, also of a number of Python's; None where C has none."""
    known: dict[Any, Any] = KINDS  # type: ignore[assignment]
    return known.get(form.kind, form.dtype)


def dtype_of(label: str, path: str, form: Form) -> np.dtype:
    """Return the dtype of an argument or a result in C."""
    dtype = dtype_in_c(form)
    if dtype is None or dtype not in DTYPES or not dtype.isnative:
        what = f"the dtype {dtype}" if dtype is not None else f"the type {form.kind.__name__}"
        raise refuse(label, f"{path} has {what}; C functions take float64, float32, integers "
                     f"and bool")  # fmt: skip
    return dtype


def known_value(label: str, path: str, y: Any) -> np.ndarray:
    """Return a result that is the same in each call, as an array in C order."""
    x = np.array(y, order="C") if isinstance(y, (np.ndarray, np.generic, float, int)) else None
    if x is None or x.dtype not in DTYPES:
        what = getattr(y, "dtype", type(y).__name__)
        raise refuse(label, f"{path} is a value of the type {what}, which C functions do not have")
    return x


# ---- names ----


def unique(values: Sequence[Value], others: Sequence[Value] = ()) -> list[Value]:
    """Return values whose names are those of no others."""
    taken = {x.name for x in others}
    found = []
    for x in values:
        name, n = x.name, 1
        while name in taken:
            n += 1
            name = f"{x.name}_{n}"
        taken.add(name)
        found.append(x._replace(name=name))
    return found


def names_of(structure: Any, size: int, written: Sequence[str]) -> list[str]:
    """Return the paths of results; what has been written to is named after the argument."""
    tree = structure.unflatten(list(range(size)))
    if not written:
        return paths(tree, "out")
    return [*paths(tree[0], "out"), *[f"{path}_after" for path in written]]


# ---- the graph ----


def with_truths(graph: Graph, size: int, doubts: str) -> Graph:
    """Return a program whose outputs behind the results are true where the results hold.

    `doubts` is the question if they do not: see `_programs.trusted`.
    """
    outputs = list(graph.outputs)
    for k in sorted({int(found) for found in REPLY.findall(doubts)}):
        y = outputs[k]
        if k >= size and y.form.dtype == bool:
            continue
        known = called(graph, np.isfinite, y)
        outputs.append(called(graph, np.all, known) if known.form.shape else known)
    for y in [y for y in outputs[size:] if y.form.dtype != bool]:
        outputs.remove(y)
    return Graph(graph.nodes, graph.inputs, outputs, graph.guards)


def with_copies(graph: Graph) -> tuple[list[Any], Graph]:
    """Return the outputs, and a program that has those which are nodes, each in its own memory."""
    nodes, new = list(graph.nodes), {}  # type: ignore[var-annotated]
    outputs: list[Any] = []
    for y in graph.outputs:
        if type(y) is Node and type(y.form) is Form:
            y = copied(nodes, y)
        outputs.append(y)
    guards = []
    for guard in graph.guards:
        if type(guard.answer) is np.ndarray:
            guard = compared(nodes, guard)
        node = guard.node
        if type(node.form) is Form and (node.func is None or gives_view(node.func)):
            node = new[node] = new.get(node) or copied(nodes, node)
        guards.append(guard._replace(node=node))
    kept = [y for y in outputs if type(y) is Node]
    return outputs, Graph(nodes, graph.inputs, kept, guards)


def compared(nodes: list[Node], guard: Guard) -> Guard:
    """Return a check that asks if an array has the values that it had in the trace."""
    node, answer = guard.node, guard.answer
    if type(node.form) is not Form or answer.dtype.kind not in "biuf":
        return guard
    found = Node(np.equal, (node, answer if answer.ndim else answer[()]), {}, TRUTH, node.place)
    nodes.append(found)
    if answer.ndim:
        found.form = form_of(np.equal(answer, answer))
        nodes.append(Node(np.all, (found,), {}, TRUTH, node.place))
    return guard._replace(node=nodes[-1], how="bool", answer=True)


def copied(nodes: list[Node], y: Node) -> Node:
    """Return the node of a copy in C order.

    Where a compiled program would make none, it is outside of loops: sums there keep their order.
    """
    form = y.form
    own = y.func is not None and not y.memory and not gives_view(y.func)
    if form.kind is np.ndarray:
        form = form._replace(strides=np.empty(form.shape, form.dtype).strides)
    order = {} if own and form.strides == y.form.strides else {"order": "C"}
    nodes.append(Node(np.copy, (y,), order, form, y.place))
    return nodes[-1]


def part_of(
    label: str, graph: Graph, size: int, contract: bool
) -> tuple[list[Any], Text | None, list[Any], list[Check]]:
    """Return what a program returns, its text, what each output of that is, and checks."""
    outputs, graph = with_copies(graph)
    try:
        flags, division = divided(graph, contract)
    except Unknown as reason:
        raise refuse(label, f"{reason}") from None
    if lost := [node for node in division.graph.nodes if node in division.outside and node.func]:
        raise refuse(label, "a C program has no NumPy for these calls", lines_of(lost, division))
    unknown = [guard for guard in flags.guards if not can_flag(guard)]
    if unknown:
        lines = [f"{where(guard.place)}: {guard.how}" for guard in unknown]
        raise refuse(label, "Python code reads these values, and chooses by them", lines)
    parts = [part for part in division.stages.values() if part.outputs]
    if not parts:
        return outputs, None, [], []
    (part,) = parts
    part.taken = list(flags.inputs)
    numbers = {id(node): k for k, node in enumerate(y for y in flags.outputs)}
    places = [k for k, y in enumerate(outputs) if type(y) is Node]
    found: list[Any] = []
    checks: list[Check] = []
    for i, output in enumerate(part.outputs):
        number = numbers.get(id(output.node))
        if number is not None and places[number] < size:
            found.append(places[number])
            continue
        assert not output.form.shape, "only numbers are looked at"
        found.append(dtype_in_c(output.form))
        asked = [guard for guard in flags.guards if guard.node is output.node]
        checks += [check_of(i, guard) for guard in asked]
        if number is not None:
            checks.append(Check(i, np.dtype(bool), "bool", True, FINITE))
    return outputs, Text(part, list(flags.inputs), contract), found, checks


def check_of(number: int, guard: Guard) -> Check:
    form = guard.node.form
    dtype = dtype_in_c(form)
    text = f"{where(guard.place)}: {guard.how} was {guard.answer!r} in the example"
    return Check(number, dtype, guard.how, guard.answer, text)


def lines_of(lost: list[Node], division: Any) -> list[str]:
    """Return the lines of calls that are NumPy's, and why; what follows from others is left out."""
    reasons = division.reasons

    def follows(node: Node) -> bool:
        copies = node.func is np.copy and node.args[0] in lost
        parts = "what is written to", "a part of a result"
        return copies or any([part in reasons[node] for part in parts])

    first = [node for node in lost if node in reasons and not follows(node)]
    shown = first or [node for node in lost if node in reasons]
    found = [f"{where(x.place)}: {name_of(x)}: {why(x, division)}" for x in shown]
    return found or [where(lost[0].place)]


def name_of(node: Node) -> str:
    func: Any = node.func
    owner = getattr(func, "__self__", None)
    own = getattr(func, "__name__", repr(func))
    return f"{owner.__name__}.{own}" if isinstance(owner, np.ufunc) else own


def why(node: Node, division: Any) -> str:
    """Return why a node is NumPy's, and what helps."""
    func: Any = node.func
    reason, op, target = division.reasons[node], find(func), TARGET.get()
    if "rounded" in reason or "cblas" in reason or "own loop" in reason:
        return f"{reason}; exact=False computes it with own code, whose last bits may be others"
    if op is not None and op.body is not None and target is not None and target.exact:
        return f"{reason}; exact=False exports the functions that it is made of"
    return reason
