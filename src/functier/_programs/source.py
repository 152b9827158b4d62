"""The source of a program: plain NumPy, one call a line."""

import keyword
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._cpython.code import line_of, name_of_code
from .graph import Form, Graph, Node, nodes_in
from .literals import path_of
from .looping import Counting, Memories, cut_early, lines_of_loop, result_of_loop, text_of_count
from .loops import Count, Loop, Series, Table, every_guard, is_element, is_loop, is_result
from .spelling import SPELLINGS, operator_of
from .stores import Liveness, Sharing, is_large

ndarray = np.ndarray


COUNTERS = "ijklmnuvw"
"""The names of counters, from the outermost loop on."""

CALLS = {
    "bool": "bool", "int": "int", "round": "round", "__index__": "int", "size": "np.size",
    "str": "str", "repr": "repr",
}  # fmt: skip
"""The functions whose answers are guarded, by the name of the answer."""


def call_of(how: str, own: str) -> str | None:
    """Return the source of the call that has given an answer, if it is one."""
    if how.startswith("format"):
        return f"format({own}, {how[7:]!r})"
    return f"{CALLS[how]}({own})" if how in CALLS else None


class Source:
    """The text of a program, and the constants that it refers to.

    Attributes
    ----------
    text : str
        The source of a module with one function.
    constants : dict of str to object
        The values of the names that the text does not define.
    """

    fast = True
    """Tell whether it runs, and is not read: calls without wrappers, arrays that are used again."""

    def __init__(self, graph: Graph, name: str, inputs: Sequence[str]):
        self.graph = graph
        self.constants: dict[str, Any] = {}
        self.written: dict[str, str] = {}
        self.imports: dict[str, None] = {"import numpy as np": None}
        self.helpers: dict[str, str] = {}
        self.taken = {*keyword.kwlist, "np", "scipy", name}
        self.numbers: dict[str, int] = {}
        self.names: dict[Node, str] = {}
        self.known: dict[Any, str] = {}
        for node, own in zip(graph.inputs, inputs):
            self.names[node] = self.fresh(own)
        self.count = 0
        self.guards: dict[Node, list] = {}
        for number, guard in enumerate(every_guard(graph)):
            self.guards.setdefault(guard.node, []).append((number, guard))
        self.live: Any = None
        self.memories: Any = None
        self.counters: list[Counting] = []
        self.known_counters: dict[str, str] = {}
        self.results: dict[Node, list[str]] = {}
        self.lists: dict[Node, str] = {}
        self.wanted: dict[Node, str] = {}
        self.outside: dict[Node, Any] = {}
        self.owned: set[Node] = set()
        self.holders: dict[str, list[tuple[Node, Graph]]] = {}
        self.graphs: list[Graph] = []
        self.taken_out: set[Node] = set()
        self.pending: list[str] = []
        self.finals: dict[tuple[Graph, int], list[str]] = {}
        self.latest: dict[Node, int] = {}
        self.uses: dict[Node, int] = {}
        self.prepare()
        lines = self.block(graph, graph.inputs)
        shared = Sharing(graph)
        returned = [self.output(y, shared) for y in graph.outputs]
        parameters, first = self.parameters()
        lines = [*first, *lines, f"return {self.returned(returned)}"]
        body = "\n".join(f"    {line}" for line in lines)
        head = [*self.imports, ""]
        head += [f"{own} = {text}" for own, text in self.written.items()]
        head += [f"{own} = CONSTANTS[{own!r}]" for own in self.constants if own not in self.written]
        for helper in self.helpers.values():
            head += ["", helper]
        text = "\n".join(head).rstrip("\n")
        self.text = f"{text}\n\n\ndef {name}({', '.join(parameters)}):\n{body}\n"

    def block(self, graph: Graph, changing: Sequence[Node]) -> list[str]:
        """Return the lines of a graph: the program, or a step of a loop.

        Those of its inputs that are `changing` are variables, which may get other values.
        """
        outer = self.live, self.memories
        self.live, self.memories = Liveness(graph), Memories(graph, self.memories, self.outside)
        self.look_at(graph)
        self.graphs.append(graph)
        for node in changing:
            self.bind(node, self.names[node])
        for node in graph.inputs:
            if node in self.taken_out:
                self.drop_late(node)
        lines: list[str] = []
        settings: tuple = ()
        for node in graph.nodes:
            if node.func is None:
                lines += self.checks(node)
                continue
            if self.pending and not is_element(node):
                lines, self.pending = [*lines, *self.pending], []
            found = self.lines_of_node(node)
            if node.errors and found:
                found = self.with_errors(node.errors, found, settings)
            if found:
                lines += [*self.remarks(node, lines), *found]
                settings = node.errors
            if node in self.guards:
                lines += self.checks(node)
                settings = ()
            if node in self.lists:
                lines.append(self.appended(node))
                settings = ()
            ends = [*self.ends(node), *self.last_names(node)]
            if ends:
                lines.append(f"del {', '.join(ends)}")
                settings = ()
        self.graphs.pop()
        if outer[1] is not None:
            outer[1].shapes |= self.memories.shapes
            self.live, self.memories = outer
        return lines

    def look_at(self, graph: Graph) -> None:
        """Note how often values are used, and where last."""
        for node in graph.nodes:
            for parent in node.parents():
                self.uses[parent] = self.uses.get(parent, 0) + 1
                # The text of a view may stand further below.
                late = node.func is np.transpose
                self.latest[parent] = len(graph.nodes) if late else node.number
        outputs = [*nodes_in(graph.outputs)]
        for node in outputs:
            self.uses[node] = self.uses.get(node, 0) + 2
            first = node.func is None and node in self.lists and outputs.count(node) == 1
            if not first:  # else a step lists it at its beginning
                self.latest[node] = len(graph.nodes)

    def lines_of_node(self, node: Node) -> list[str]:
        """Give a node its name, and return its lines."""
        if is_loop(node):
            return lines_of_loop(self, node)
        result = result_of_loop(self, node)
        if result:
            self.bind(node, result)
            self.drop_late(node)
            self.pending += cut_early(self, node)
            return []
        if node in self.memories.skipped:
            self.name(node)
            return []
        if self.is_needed(self.wanted.get(node, ""), node):
            del self.wanted[node]
        found = self.lines_of(node)
        if len(found) > 1 and node in self.wanted:  # they may need the value whose name it takes
            del self.wanted[node]
            found = self.lines_of(node)
        if found and node in self.names:
            self.bind(node, self.names[node])
        return found

    def appended(self, node: Node) -> str:
        """Return the line that adds a value of a step to the list of all."""
        own = self.names[node]
        name = self.lists[node] = self.fresh(f"{own}s" if own.isidentifier() else "values")
        return f"{name}.append({own})"

    def bind(self, node: Node, name: str) -> None:
        """Note that a variable has the value of a node."""
        self.names[node] = name
        self.owned.add(node)
        self.holders.setdefault(name, []).append((node, self.graphs[-1]))

    def last_names(self, node: Node) -> list[str]:
        """Return the names of large results of loops, and elements, that nobody takes later."""
        found = self.finals.pop((self.graphs[-1], node.number), ())
        taken = self.results.get(node, ())  # of a loop, which may go on with their variables
        return [
            name for name in dict.fromkeys(found)
            if name not in taken and not self.is_needed(name, node)
        ]  # fmt: skip

    def drop_late(self, node: Node) -> None:
        """Let the name of a value go after its last use, if it is large."""
        if self.takes_out(node):
            where = self.graphs[-1], self.latest.get(node, -1)
            self.finals.setdefault(where, []).append(self.names[node])

    def is_needed(self, name: str, node: Node) -> bool:
        """Return whether a value that a variable has is taken after a node of the same graph."""
        here = self.graphs[-1]
        return any([
            graph is here and self.latest.get(x, -1) > node.number
            for x, graph in self.holders.get(name, ())
        ])  # fmt: skip

    # ---- what `Shown` has in another way ----

    def prepare(self) -> None:
        """Look at the graph before the first line."""

    def name_of_carried(self, after: Node) -> str:
        """Return a name for a value that a loop carries, of which the next one is known."""
        return self.numbered()

    def numbered(self) -> str:
        self.count += 1
        return self.fresh(f"t{self.count}")

    def takes_out(self, x: Node) -> bool:
        """Return whether elements are taken out of a list that nobody reads again."""
        return is_large(x.form)

    def element(self, x: Node, text: str, values: Any) -> list[str]:
        """Give the element of a sequence its name, and return its line."""
        self.names[x] = self.numbered()
        return [f"{self.names[x]} = {text}"]

    def sequence(self, values: Any) -> str:
        """Return the source of a sequence of which steps take elements."""
        return self.constant(values.values) if type(values) is Table else self.expr(values)

    def lines_of(self, node: Node) -> list[str]:
        """Give a node its name, and return its lines."""
        self.name(node)
        target = self.live.targets.get(node)
        if target is None:
            return self.statement(node)
        parts = [self.expr(x) for x in (*node.args, target)]
        if node.func in (np.maximum, np.minimum):  # NumPy warns of a third argument
            parts[-1] = f"out={parts[-1]}"
        return [f"{self.names[node]} = {self.function(node.func)}({', '.join(parts)})"]  # type: ignore[arg-type]

    def name(self, node: Node) -> None:
        self.names[node] = self.wanted.get(node) or self.numbered()

    def ends(self, node: Node) -> list[str]:
        """Return the names to drop after a node; `last_names` has those that loops change."""
        own = [self.names[x] for x in self.live.ends.get(node, ())
               if type(x.form) is Series or not is_result(x)]  # fmt: skip
        return [name for name in own if len(self.holders.get(name, ())) < 2]

    def remarks(self, node: Node, lines: list[str]) -> list[str]:
        """Return the comment before the lines of a node."""
        return []

    def parameters(self) -> tuple[list[str], list[str]]:
        """Return the parameters, and the first lines."""
        own = [self.names[node] for node in self.graph.inputs]
        return own + [f"{name}={name}" for name in self.constants], []

    def returned(self, outputs: list[str]) -> str:
        """Return what the function returns."""
        return f"({', '.join(outputs)}{',' * (len(outputs) == 1)})"

    def zeros(self, shape: tuple, dtype: np.dtype) -> str:
        """Return the source of an array of zeros."""
        return f"np.zeros({shape}, {self.expr(dtype)})"

    def name_of_counter(self, loop: Loop) -> str:
        """Return the name that a counter should have."""
        return COUNTERS[len(self.counters)]

    def counter(self, loop: Loop) -> str:
        """Return a name for the counter of a loop: loops that stand side by side have one."""
        wanted = self.name_of_counter(loop)
        name = self.known_counters.get(wanted)
        if name is None or name in [counter.name for counter in self.counters]:
            name = self.fresh(wanted)
            self.known_counters[wanted] = name
        return name

    def fresh(self, wanted: str) -> str:
        """Return a name that nothing has yet."""
        name, number = wanted, self.numbers.get(wanted, 1)
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        self.numbers[wanted] = number
        return name

    def with_errors(self, errors: tuple, lines: list[str], before: tuple) -> list[str]:
        """Return lines under settings of `numpy.errstate`; those `before` go on."""
        given = ", ".join([f"{name}={value!r}" for name, value in errors])
        head = [] if before == errors else [f"with np.errstate({given}):"]
        return head + [f"    {line}" for line in lines]

    def output(self, value: Any, shared: Sharing) -> str:
        """Return the source of an output: a copy where the caller could write to a constant."""
        text = self.expr(value)
        if type(value) is Node:
            array = type(value.form) is Form and value.form.kind is ndarray
            constant = array and shared.of(value) in shared.constant
        else:
            constant = type(value) is ndarray
        return f"{text}.copy('K')" if constant else text

    def checks(self, node: Node) -> list[str]:
        """Return the lines that check the answers that Python code has got of a node.

        They follow the node at once: what comes later may fail for other answers.
        """
        lines: list[str] = []
        for number, guard in self.guards.get(node, ()):
            own, answer = self.names[node], guard.answer
            if (call := call_of(guard.how, own)) is not None:
                test = f"{call} != {answer!r}"
            elif self.fast and answer.dtype == bool and node.form.kind is ndarray:
                test = f"{own}.tobytes() != {self.constant(answer.tobytes())}"
            else:
                nan = answer.dtype.kind in "fc"
                test = f"not np.array_equal({own}, {self.expr(answer)}, equal_nan={nan})"
            counters = [counter.name for counter in self.counters if counter.name]
            if self.fast:
                found = "".join([f", {name}" for name in counters])
                line = f"if {test}: raise Changed({number}{found})"
            else:
                steps = [f"{{{name}}}" for name in counters]
                where = f"f'in step {', '.join(steps)}: ' + " if steps else ""
                line = f"if {test}: raise ValueError({where}{self.reason(guard)!r})"
            if not any([line.startswith(f"if {test}:") for line in lines]):
                lines.append(line)
        return lines

    def line_of(self, guard: Any) -> str:
        """Return the line that asked for an answer, in words."""
        if guard.place is None:
            return ""
        code, instruction = guard.place[:2]
        return f", in line {line_of(code, instruction, 0)} of {name_of_code(code)}"

    def asked(self, guard: Any) -> str:
        """Return what Python code has asked for, in words."""
        own, how = self.names[guard.node], guard.how
        return call_of(how, own) or f"{own}, {how},"

    def reason(self, guard: Any) -> str:
        """Return the text of the error for an answer that has changed."""
        where = f"the trace{self.line_of(guard)}"
        return f"{self.asked(guard)} differs from {where}: trace the function again"

    # ---- expressions ----

    def expr(self, value: Any) -> str:
        """Return the source of an argument."""
        kind = type(value)
        if kind is Node:
            return self.names[value]
        if kind in (bool, int, str, type(None), bytes):
            return repr(value)
        if kind is Count:
            return text_of_count(value, self.counters)
        if value is Ellipsis:
            return "..."
        if kind is float or kind is complex:
            return self.number(value)
        if kind is tuple:
            return f"({', '.join(map(self.expr, value))}{',' if len(value) == 1 else ''})"
        if kind is list:
            return f"[{', '.join(map(self.expr, value))}]"
        if kind is slice:
            return f"slice({', '.join(map(self.expr, (value.start, value.stop, value.step)))})"
        if kind is dict:
            return "{" + ", ".join(f"{k!r}: {self.expr(v)}" for k, v in value.items()) + "}"
        if isinstance(value, np.dtype):
            return f"np.dtype({value.str!r})" if value.names is None else self.constant(value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return self.scalar(value)
        if callable(value) and type(value).__hash__ is not None:  # as a poly1d has none
            return self.function(value)
        return self.constant(value)

    def number(self, value: Any) -> str:
        if value != value or value in (np.inf, -np.inf) or kind_is_odd(value):
            return self.constant(value, f"{type(value).__name__}({str(value)!r})")
        return repr(value)

    def scalar(self, value: np.generic) -> str:
        text = repr(value.item())
        if not np.isfinite(value) or kind_is_odd(value.item()):
            text = repr(str(value.item()))
        return self.constant(value, f"np.{type(value).__name__}({text})")

    def constant(self, value: Any, text: str = "") -> str:
        """Return the name of a constant."""
        owner = getattr(value, "__self__", None)
        key: Any = (id(owner), value.__name__) if isinstance(owner, np.ufunc) else id(value)
        if type(value) is ndarray and value.dtype in (np.intp, np.bool_):  # of many uses
            key = value.dtype, value.shape, value.strides, value.tobytes()
        elif type(value) is bytes:
            key = value
        name = self.known.get(key)
        if name is None:
            name = self.known[key] = self.fresh(f"c{len(self.constants) + 1}")
            self.constants[name] = value
            if text:
                self.written[name] = text
        return name

    def places(self, x: Any, index: Any) -> str:
        """Return the flat places that a mask selects, if its elements are checked before; or ""."""
        pairs = self.guards.get(index, ()) if type(index) is Node else ()
        answers = [guard.answer for _, guard in pairs]
        known = [answer for answer in answers if type(answer) is ndarray and answer.dtype == bool]
        if not known or not self.fast or self.counters or type(x) is not Node:
            return ""
        if type(x.form) is not Form or x.form.shape != known[0].shape:
            return ""
        return self.constant(np.flatnonzero(known[0]))

    def function(self, func: Callable) -> str:
        """Return the name of a function, and import its module; a constant where it has none."""
        path = path_of(func)
        if path is None:
            return self.constant(func)
        module, name = path
        if self.fast:
            self.imports[f"import {module}"] = None
            return self.constant(func, f"{module}.{name}")
        if module.partition(".")[0] == "numpy":
            return f"np{module[5:]}.{name}"
        self.imports[f"import {module}"] = None
        return f"{module}.{name}"

    def index(self, index: Any) -> str:
        """Return an index as it stands in brackets."""
        if type(index) is not tuple:
            return self.index_part(index)
        return ", ".join(map(self.index_part, index)) + "," * (len(index) == 1) if index else "()"

    def index_part(self, part: Any) -> str:
        if type(part) is slice:
            text = f"{self.bound(part.start)}:{self.bound(part.stop)}"
            return text if part.step is None else f"{text}:{self.bound(part.step)}"
        return self.expr(part)

    def bound(self, value: Any) -> str:
        return "" if value is None else self.expr(value)

    # ---- statements ----

    def statement(self, node: Node) -> list[str]:
        """Return the lines that compute a node."""
        func, own = node.func, self.names.get(node, "")
        spelling = SPELLINGS.get(func)  # type: ignore[arg-type]
        if spelling is not None:
            found = spelling(self, node)
            if type(found) is list:
                return found
            if found is not None:
                return [f"{own} = {found}"]
        sign = operator_of(func) if not node.kwargs else None
        if isinstance(func, np.ufunc) and not self.has_array(node):
            sign = None  # an operator of two numbers may round in another way
        if sign is not None and len(node.args) == 2:
            left, right = map(self.operand, node.args)
            return [f"{own} = {left} {sign} {right}"]
        if sign is not None and len(node.args) == 1:
            return [f"{own} = {sign}{self.operand(node.args[0])}"]
        return [f"{own} = {self.call(node)}"]

    def has_array(self, node: Node) -> bool:
        """Return whether an operand is an array."""
        return any([(x.form.kind if type(x) is Node else type(x)) is ndarray for x in node.args])

    def operand(self, value: Any) -> str:
        text = self.expr(value)
        term = type(value) is Count and not text.isidentifier()
        return f"({text})" if text[0] == "-" or term else text

    def call(self, node: Node) -> str:
        parts = [self.expr(x) for x in node.args]
        parts += [f"{name}={self.expr(x)}" for name, x in node.kwargs.items()]
        return f"{self.function(node.func)}({', '.join(parts)})"  # type: ignore[arg-type]


def kind_is_odd(value: Any) -> bool:
    """Return whether a complex number has parts that its text in source code would not give."""
    if type(value) is not complex:
        return False
    return not np.isfinite(value) or 0.0 in (value.real, value.imag)
