"""The user's statements in the source of a program: comments, and names of values.

NOTE [which value has the name]
    Several nodes belong to one statement, such as a product and its tangent, and later passes drop
    some of them. A name is given to a node only where its instruction is the right side of the
    assignment, its function is the one that stands there, and it was the first such call.
"""

import ast
import linecache
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._cpython.code import Code, file_of_code, line_of, name_of_code
from .._cpython.sources import Position, position_at
from .._rules import indexing as _indexing
from .graph import Graph, Node
from .loops import Count, Loop, every_node, is_loop
from .spelling import operator_of
from .stores import get, get_at, memory_of

LONGEST = 90


class Statement(NamedTuple):
    """A statement of the user's code: its tree, or None and its line."""

    tree: Any
    line: str = ""


def text_of(statement: Statement) -> str:
    """Return the text of a statement, cut where it is long."""
    if statement.tree is None:
        return statement.line
    text = ast.unparse(statement.tree).partition("\n")[0]
    return text if len(text) < LONGEST else f"{text[: LONGEST - 3]}..."


def user_statements(graph: Graph) -> dict[Node, Statement]:
    """Return the statement that computed each node, for those of the user's code."""
    result = {}
    for node in every_node(graph):
        if node.place is not None:
            statement = statement_of(*node.place[:2])
            if statement is not None:
                result[node] = statement
    return result


def statement_of(code: Code, instruction: int) -> Statement | None:
    """Return the statement of an instruction; in a lambda the expression that it returns."""
    file, line = file_of_code(code), line_of(code, instruction, 0)
    best = _statements(file)[0].get(line)
    if best is None:
        text = linecache.getline(file, line).strip()
        return Statement(None, text) if text else None
    if name_of_code(code) == "<lambda>":
        position = position_at(code, instruction)
        inside = [
            x for x in ast.walk(best)
            if isinstance(x, ast.Lambda) and position and contains(x.body, position)
        ]  # fmt: skip
        return Statement(inside[-1].body if inside else best)
    return Statement(best)


FILES: dict[str, tuple[list[str], Any]] = {}
"""The statements of the latest files, with the lines of these."""


def _statements(file: str) -> tuple[dict[int, ast.stmt], list[ast.For]]:
    """Return the innermost statement of each line of a file, the last one there, and all loops."""
    lines, found = linecache.getlines(file), FILES.get(file)
    if found is None or not (found[0] is lines or found[0] == lines):
        if len(FILES) >= 64:
            FILES.clear()
        found = FILES[file] = lines, _parsed(lines)
    return found[1]


def _parsed(lines: list[str]) -> tuple[dict[int, ast.stmt], list[ast.For]]:
    try:
        nodes = [node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.stmt)]
    except (SyntaxError, ValueError):
        return {}, []
    found: dict[int, ast.stmt] = {}
    for node in nodes:
        for line in range(node.lineno, (node.end_lineno or 0) + 1):
            if line not in found or node.lineno >= found[line].lineno:
                found[line] = node
    return found, [node for node in nodes if isinstance(node, ast.For)]


def statement_of_loop(loop: Loop) -> ast.For | None:
    """Return the statement of the user's code that is a loop of the program, if it is known."""
    places = {node.place[:2] for node in every_node(loop.body) if node.place is not None}
    codes = {code for code, _ in places}
    if len(codes) != 1:
        return None
    (code,) = codes
    lines = [line_of(code, instruction, 0) for _, instruction in places]
    inner = [statement_of_loop(node.func) for node in loop.body.nodes if is_loop(node)]  # type: ignore[arg-type]
    best: Any = None
    for tree in _statements(file_of_code(code))[1]:
        if tree not in inner:
            first, last = tree.body[0].lineno, tree.end_lineno or 0
            if all([first <= line <= last for line in lines]):
                best = tree if best is None or tree.lineno > best.lineno else best
    return best


def name_of_target(tree: ast.For) -> str:
    """Return the name of a counter, or "" where a loop has another one."""
    called = getattr(getattr(tree.iter, "func", None), "id", "")
    plain = called in ("range", "reversed") and isinstance(tree.target, ast.Name)
    return tree.target.id if plain and tree.target.id.strip("_") else ""  # type: ignore[attr-defined]


def contains(tree: Any, position: Position) -> bool:
    """Return whether a position is inside an expression."""
    start, stop = (tree.lineno, tree.col_offset), (tree.end_lineno, tree.end_col_offset)
    return start <= position[:2] and position[2:] <= stop


def is_at(tree: Any, position: Position) -> bool:
    """Return whether a position is that of an expression; calls of methods may begin later."""
    return contains(tree, position) and position[2:] == (tree.end_lineno, tree.end_col_offset)


# ---- names ----


def names_of_nodes(graph: Graph, statements: dict[Node, Statement]) -> dict[Node, str]:
    """Return the user's names of values."""
    found = {}
    for node in every_node(graph):
        if node.place is None or node not in statements or not (node.first or node.memory):
            continue
        name = _name(node, statements[node], node.place)
        if name:
            found[node] = name
    return found


def _name(node: Node, statement: Statement, place: tuple) -> str:
    """Return the name that a statement gives to a node, or ""."""
    position = position_at(*place[:2])
    if position is None or statement.tree is None:
        return ""
    if node.func is memory_of:
        return _written(statement.tree)
    for target, value in _bindings(statement.tree):
        if isinstance(target, ast.Name):
            if is_at(value, position) and computes(node.func, value):
                return target.id
        elif isinstance(target, ast.Tuple) and node.func is operator.getitem:
            index = node.args[1]
            if contains(target, position) and type(index) is int and index < len(target.elts):
                part = target.elts[index]
                return part.id if isinstance(part, ast.Name) else ""
    if isinstance(statement.tree, ast.For) and isinstance(statement.tree.target, ast.Name):
        item = node.func is operator.getitem and type(node.args[1]) in (int, Count)
        start = statement.tree.lineno, statement.tree.col_offset
        return statement.tree.target.id if item and position[:2] == start else ""
    returns = isinstance(statement.tree, (ast.Return, ast.expr))
    if returns and len(place) > 2:  # the name that the caller gives to what is returned
        value = statement.tree.value if isinstance(statement.tree, ast.Return) else statement.tree
        outer, where = statement_of(*place[2:]), position_at(*place[2:])
        if value is None or outer is None or where is None or not is_at(value, position):
            return ""
        for target, given in _bindings(outer.tree):
            if isinstance(target, ast.Name) and isinstance(given, ast.Call):
                if is_at(given, where) and computes(node.func, value):
                    return target.id
    return ""


def _bindings(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Return the targets of a statement, each with what is bound to it."""
    if isinstance(tree, ast.Assign) and len(tree.targets) == 1:
        target, value = tree.targets[0], tree.value
        yield target, value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts)
    elif isinstance(tree, ast.AugAssign):
        yield tree.target, tree
    elif isinstance(tree, ast.AnnAssign) and tree.value is not None:
        yield tree.target, tree.value
    elif isinstance(tree, ast.For):
        yield tree.target, tree.iter


def _written(tree: Any) -> str:
    """Return the name of the array that a statement writes to, or makes."""
    target: Any = None
    if isinstance(tree, ast.Assign):
        target = tree.targets[0]
    elif isinstance(tree, ast.AugAssign):
        target = tree.target
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//",
    ast.Mod: "%", ast.MatMult: "@", ast.USub: "-", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
OTHERS: dict[str, set] = {"**": {np.square}, "@": {np.dot, np.einsum, np.vecdot}}
"""Functions that compute what an operator of Python stands for, in some cases."""

ITEMS = {operator.getitem, _indexing.getitem, get, get_at}


def is_sign(func: Any, sign: Any) -> bool:
    """Return whether a function is that of an operator."""
    text = SIGNS.get(type(sign), "")
    return bool(text) and (operator_of(func) == text or func in OTHERS.get(text, ()))


def computes(func: Any, tree: Any) -> bool:
    """Return whether a function is the one whose call a piece of code is."""
    if isinstance(tree, (ast.BinOp, ast.UnaryOp, ast.AugAssign)):
        return is_sign(func, tree.op)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        return is_sign(func, tree.ops[0])
    if isinstance(tree, ast.Subscript):
        return func in ITEMS
    if isinstance(tree, ast.Attribute):
        return tree.attr in ("T", "mT") and func in (np.transpose, np.swapaxes, np.matrix_transpose)
    if isinstance(tree, ast.Call):
        called = getattr(tree.func, "attr", None) or getattr(tree.func, "id", None)
        return called == getattr(func, "__name__", None)
    return False
