"""The source of a program: plain NumPy, one call a line."""

import ast
import keyword
import linecache
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.numpy_facts import name_of
from .graph import Graph, Node
from .liveness import Liveness
from .spelling import SPELLINGS, operator_of

ndarray = np.ndarray
SMALL = 20
"""Arrays of up to so many elements are written out."""

EPILOGUE = "derivatives"


class Source:
    """The text of a program, and the constants that it refers to.

    Attributes
    ----------
    text : str
        The source of a module with one function.
    constants : dict of str to object
        The values of the names that the text does not define.
    """

    def __init__(
        self, graph: Graph, name: str, inputs: Sequence[str], comments: bool = True,
        fast: bool = False,
    ):  # fmt: skip
        self.graph, self.fast = graph, fast
        self.constants: dict[str, Any] = {}
        self.written: dict[str, str] = {}
        self.imports: dict[str, None] = {"import numpy as np": None}
        self.helpers: dict[str, str] = {}
        self.taken = {*keyword.kwlist, "np", "scipy", name}
        self.names: dict[Node, str] = {}
        self.known: dict[Any, str] = {}
        for node, own in zip(graph.inputs, inputs):
            self.names[node] = self.fresh(own)
        statements = user_statements(graph) if comments else {}
        named = names_of_statements(graph, statements)
        lines: list[str] = []
        last: Any = None
        count = 0
        live = Liveness(graph) if fast else None
        for node in graph.nodes:
            if node.func is None:
                continue
            if comments:
                statement = statements.get(node)
                if statement is not last and (statement or lines):
                    text = statement.text if statement else EPILOGUE
                    if not lines or lines[-1] != f"# {text}":
                        lines.append(f"# {text}")
                last = statement
            wanted = named.get(node)
            if wanted is None:
                count += 1
                wanted = f"t{count}"
            self.names[node] = self.fresh(wanted)
            target = live.targets.get(node) if live else None
            if target is None:
                lines += self.statement(node)
            else:
                parts = [self.expr(x) for x in (*node.args, target)]
                call = f"{self.function(node.func)}({', '.join(parts)})"
                lines.append(f"{self.names[node]} = {call}")
            ends = live.ends.get(node) if live else None
            if ends:
                lines.append(f"del {', '.join(self.names[x] for x in ends)}")
        lines += self.checks()
        returned = ", ".join(self.expr(y) for y in graph.outputs)
        lines.append(f"return ({returned}{',' if len(graph.outputs) == 1 else ''})")
        parameters = [self.names[node] for node in graph.inputs]
        if fast:
            parameters += [f"{own}={own}" for own in self.constants]
        body = "\n".join(f"    {line}" for line in lines)
        head = [*self.imports, ""]
        head += [f"{own} = {text}" for own, text in self.written.items()]
        head += [f"{own} = CONSTANTS[{own!r}]" for own in self.constants if own not in self.written]
        for helper in self.helpers.values():
            head += ["", helper]
        self.text = "\n".join(head) + f"\n\ndef {name}({', '.join(parameters)}):\n{body}\n"

    def fresh(self, wanted: str) -> str:
        """Return a name that nothing has yet."""
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name)
        return name

    def checks(self) -> list[str]:
        """Return the lines that check the answers that Python code has got."""
        lines = []
        for number, guard in enumerate(self.graph.guards):
            own, answer = self.names[guard.node], guard.answer
            if guard.how in ("bool", "int", "__index__"):
                how = "int" if guard.how == "__index__" else guard.how
                test = f"{how}({own}) != {answer!r}"
            else:
                nan = answer.dtype.kind in "fc"
                test = f"not np.array_equal({own}, {self.expr(answer)}, equal_nan={nan})"
            if self.fast:
                lines.append(f"if {test}: raise Changed({number})")
            else:
                lines.append(f"if {test}: raise ValueError({self.reason(guard)!r})")
        return lines

    def reason(self, guard: Any) -> str:
        """Return the text of the error for an answer that has changed."""
        where = "the trace"
        if guard.place is not None:
            code, instruction = guard.place
            where = f"the trace, in line {line_at(code, instruction)} of {code.co_name}"
        return f"{guard.how} differs from {where}: trace the function again"

    # ---- expressions ----

    def expr(self, value: Any) -> str:
        """Return the source of an argument."""
        kind = type(value)
        if kind is Node:
            return self.names[value]
        if kind in (bool, int, str, type(None), bytes):
            return repr(value)
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
        if callable(value):
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
        key = (id(owner), value.__name__) if isinstance(owner, np.ufunc) else id(value)
        name = self.known.get(key)
        if name is None:
            name = self.known[key] = self.fresh(f"c{len(self.constants) + 1}")
            self.constants[name] = value
            if not text and type(value) is ndarray and value.size <= SMALL:
                text = array_text(value)
            if text:
                self.written[name] = text
        return name

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
        func, own = node.func, self.names[node]
        spelling = SPELLINGS.get(func)  # type: ignore[arg-type]
        if spelling is not None:
            found = spelling(self, node)
            if type(found) is list:
                return found
            if found is not None:
                return [f"{own} = {found}"]
        sign = operator_of(func) if not node.kwargs else None
        if sign is not None and len(node.args) == 2 and not self.plain_numbers(node):
            left, right = map(self.operand, node.args)
            return [f"{own} = {left} {sign} {right}"]
        if sign is not None and len(node.args) == 1:
            return [f"{own} = {sign}{self.operand(node.args[0])}"]
        return [f"{own} = {self.call(node)}"]

    def plain_numbers(self, node: Node) -> bool:
        """Tell if no operand is an array or a NumPy scalar: Python would compute it."""
        return all(
            [
                x.form.dtype is None if type(x) is Node else type(x) in (bool, int, float, complex)
                for x in node.args
            ]
        )

    def operand(self, value: Any) -> str:
        text = self.expr(value)
        return f"({text})" if text[0] == "-" else text

    def call(self, node: Node) -> str:
        parts = [self.expr(x) for x in node.args]
        parts += [f"{name}={self.expr(x)}" for name, x in node.kwargs.items()]
        return f"{self.function(node.func)}({', '.join(parts)})"  # type: ignore[arg-type]


def kind_is_odd(value: Any) -> bool:
    """Tell if a complex number has parts that its text in source code would not give."""
    if type(value) is not complex:
        return False
    return not np.isfinite(value) or 0.0 in (value.real, value.imag)


PRIVATE = {"": "numpy._core.umath", "scipy.special": "scipy.special._ufuncs"}
"""Modules whose private functions are in another one."""


@lru_cache(4096)
def path_of(func: Callable) -> tuple[str, str] | None:
    """Return the module that a function can be imported from, and its name there."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, np.ufunc):
        path = path_of(owner)
        return None if path is None else (path[0], f"{path[1]}.{func.__name__}")
    module, _, name = name_of(func).rpartition(".")
    module = "operator" if module == "_operator" else module
    for place in (module, PRIVATE.get(module, ""), getattr(func, "__module__", None) or ""):
        if getattr(sys.modules.get(place), name, None) is func:
            return place, name
    home = getattr(func, "__module__", None) or ""
    for name, value in vars(sys.modules[home]).items() if home in sys.modules else ():
        if value is func:
            return home, name
    return None


def array_text(value: ndarray) -> str:
    """Return the source of a small array, or "" where that would not be exact."""
    if value.dtype.kind not in "biuf" or not np.isfinite(value).all():
        return ""
    if value.ndim > 1 and not value.flags.c_contiguous:
        return ""
    if 0 in value.shape:
        return f"np.empty({value.shape}, {value.dtype.str!r})"
    return f"np.array({value.tolist()!r}, {value.dtype.str!r})"


# ---- the user's lines ----


class Statement:
    """A statement of the user's code: its text, and the name that it binds."""

    __slots__ = ("name", "text")

    def __init__(self, text: str, name: str):
        self.text, self.name = text, name


def user_statements(graph: Graph) -> dict[Node, Statement]:
    """Return the statement that computed each node, for those of the user's code."""
    found: dict[tuple, Statement | None] = {}
    result = {}
    for node in graph.nodes:
        if node.place is None:
            continue
        code, instruction = node.place
        line = line_at(code, instruction)
        key = code.co_filename, line
        if key not in found:
            found[key] = statement_at(*key)
        statement = found[key]
        if statement is not None:
            result[node] = statement
    return result


def line_at(code: Any, instruction: int) -> int:
    for start, stop, line in code.co_lines():
        if start <= instruction < stop:
            return line or 0
    return 0


def statement_at(file: str, line: int) -> Statement | None:
    """Return the statement at a line of a file."""
    tree = tree_of("".join(linecache.getlines(file)))
    best: Any = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if best is None or node.lineno >= best.lineno:
                best = node
    if best is None:
        text = linecache.getline(file, line).strip()
        return Statement(text, "") if text else None
    name = ""
    if isinstance(best, ast.Assign) and isinstance(best.targets[0], ast.Name):
        name = best.targets[0].id
    elif isinstance(best, (ast.AugAssign, ast.AnnAssign)) and isinstance(best.target, ast.Name):
        name = best.target.id
    text = ast.unparse(best).partition("\n")[0]
    return Statement(text if len(text) < 90 else f"{text[:87]}...", name)


@lru_cache(64)
def tree_of(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def names_of_statements(graph: Graph, statements: dict[Node, Statement]) -> dict[Node, str]:
    """Return the name of the user's for the last node of each run of one statement."""
    found = {}
    nodes = [node for node in graph.nodes if node.func is not None]
    for node, later in zip(nodes, [*nodes[1:], None]):
        statement = statements.get(node)
        if statement is None or not statement.name:
            continue
        if later is None or statements.get(later) is not statement:
            found[node] = statement.name
    return found
