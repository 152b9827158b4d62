"""The source of a frame: its place, its expression, and what a name stands for there.

Places in the source: the line and the columns of an instruction, and of what runs now.
A place is a code object and the number of one of its bytes.

The source of a frame: the expression that it is at, and what a name stands for there.
Only errors ask for it, and few other cases that are rare: the source of the module is read and
parsed then.
"""

import ast
import functools
import linecache
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple

from . import facts
from .code import kept_by_identity, loads_in
from .frames import Frame, file_at, instruction_at


class Position(NamedTuple):
    """A part of a file: lines from 1, columns in bytes."""

    line: int
    column: int
    last: int
    end: int


@kept_by_identity
def _positions(code: CodeType) -> dict[int, tuple]:
    return dict(enumerate(code.co_positions()))


def position_at(code: CodeType, instruction: int) -> Position | None:
    """Return the part of the file that an instruction is made of."""
    found = _positions(code).get(instruction // 2) if facts.positions.holds else None
    if found is None or None in found:
        return None
    line, last, column, end = found
    return Position(line, column, last, end)


def finder_of_places(is_internal: Callable[[str], bool], ours: str, stop: str) -> Callable:
    """Return a function that returns the place of the user's line that led to a frame, or None.

    That of the user's line that called its function follows, if there is one. The module `stop` is
    where the search ends; the names of `ours` begin with that text.
    """

    def place_of(frame: Frame | None) -> tuple | None:
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module == stop:
                return None
            if not is_internal(module):
                outer = frame.f_back
                if outer is None or outer.f_globals.get("__name__", "").startswith(ours):
                    return frame.f_code, frame.f_lasti
                return frame.f_code, frame.f_lasti, outer.f_code, outer.f_lasti
            frame = frame.f_back
        return None

    return place_of


Import = ast.Import | ast.ImportFrom


def is_extension(module: str) -> bool:
    """Return whether a module of a library is compiled; NumPy's and Python's own are not meant."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names or root == "numpy":
        return False
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    return path.endswith(tuple(EXTENSION_SUFFIXES))


def find_import(
    tree: ast.Module, name: str, line: int, by_star: Callable[[str], bool]
) -> Import | None:
    """Return the statement that binds `name` for the code in a line, if that is an import.

    `by_star` tells if ``from ... import *`` may have brought a name.
    """
    found = None
    for scope in scopes_at(tree, line):
        for node in statements(scope):
            names = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ()
            for part in names:
                own = part.asname or part.name
                if isinstance(node, ast.Import):
                    own = part.asname or part.name.partition(".")[0]
                if own == name or (own == "*" and by_star(name)):
                    found = node
    return found  # type: ignore[return-value]


def find_value(tree: ast.Module, name: str, line: int, inside: bool) -> ast.expr | None:
    """Return what was assigned to `name` last, in the function of a line or around it.

    With `inside` only what the function itself makes counts, and what is made in the ``with``
    blocks that the line is in.
    """
    found, first = None, 0
    scopes = scopes_at(tree, line)
    if inside:
        scopes = scopes[1:][-1:]
        blocks = [n for s in scopes for n in statements(s) if isinstance(n, ast.With)]
        first = max(
            (n.lineno for n in blocks if n.lineno <= line <= (n.end_lineno or 0)), default=0
        )
    for scope in scopes:
        for node in statements(scope):
            if node.lineno < first:
                continue
            targets: list[Any] = []
            value: ast.expr | None = None
            if isinstance(node, ast.Assign) and node.lineno <= line:
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                targets, value = [node.target], node.value
            elif isinstance(node, ast.FunctionDef) and node.decorator_list and node.name == name:
                found = node.decorator_list[-1]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                found = value
    return found


def value_of(frame: Frame, name: str, inside: bool) -> ast.expr | None:
    """Return what was assigned to `name` last for the line of a frame: see `find_value`."""
    tree = tree_of(frame)
    return None if tree is None else find_value(tree, name, frame.f_lineno, inside)


def scopes_at(tree: ast.Module, line: int) -> list[Any]:
    """Return the module and the functions around a line, from the outermost."""
    found = [f for f in _functions(tree) if f.lineno <= line <= (f.end_lineno or line)]
    return [tree, *sorted(found, key=lambda f: (f.lineno, f.col_offset))]


@functools.lru_cache(8)
def _functions(tree: ast.Module) -> list[Any]:
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


@functools.lru_cache(32)
def statements(scope: Any) -> list[ast.stmt]:
    """Return the statements of a module or a function, without those of functions in it."""
    found, waiting = [], list(reversed(scope.body)) if isinstance(scope.body, list) else []
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = list(ast.iter_child_nodes(node))
            handlers = [h for h in inner if isinstance(h, ast.ExceptHandler)]
            children = [child for child in inner if isinstance(child, ast.stmt)]
            waiting += reversed([*children, *[child for h in handlers for child in h.body]])
    return found


def tree_of(frame: Frame) -> ast.Module | None:
    """Return the module of a frame as it is parsed, or None without a source."""
    return _parse("".join(_lines_of(frame)))


def _lines_of(frame: Frame) -> list[str]:
    return linecache.getlines(file_at(frame), frame.f_globals)


def line_of_source(frame: Frame) -> str:
    """Return the line of the source that a frame is at, or ""."""
    return linecache.getline(file_at(frame), frame.f_lineno)


def has_source(frame: Frame, code: CodeType) -> bool:
    """Tell whether the source of a frame gives its `code`; its file may have been changed since."""
    source = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    return _parse(source) is not None and code in _codes(source)


@functools.lru_cache(8)
def _codes(source: str) -> set[CodeType]:
    """Return the code objects that a source is compiled to."""
    return {*loads_in(compile(source, "<source>", "exec", dont_inherit=True))}


@functools.lru_cache(8)
def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source) if source else None
    except (SyntaxError, ValueError):
        return None


def shows_place(frame: Frame | None) -> bool:
    """Return whether the place of a frame can be seen, where it has a source."""
    return frame is not None and facts.positions.holds


def nodes_at(frame: Frame) -> list[Any]:
    """Return the statements and expressions around the place of a frame, outermost first."""
    if not facts.positions.holds:
        return []
    place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    tree = tree_of(frame)
    return [] if tree is None or None in place else _around(tree, *place)


@functools.lru_cache(32)
def _around(tree: ast.Module, line: int, last: int, start: int, stop: int) -> list[Any]:
    found: list[Any] = []
    waiting: list[Any] = [tree]
    for n in waiting:
        if hasattr(n, "lineno"):
            end = n.end_lineno, n.end_col_offset
            if (n.lineno, n.col_offset) <= (line, start) and end >= (last, stop):
                found.append(n)
            elif not getattr(n, "decorator_list", ()):  # which are before its place
                continue
        waiting += ast.iter_child_nodes(n)
    ends = [(n.end_lineno, n.end_col_offset) for n in found[-1:]]
    return found if ends == [(last, stop)] else []  # the file may have been changed since


def node_at(frame: Frame) -> ast.AST | None:
    """Return the expression, or the statement, that a frame is at."""
    found = nodes_at(frame)
    if not found and instruction_at(frame).startswith("STORE_SUBSCR"):
        return ast.parse("y[i]", mode="eval").body  # no source is found, or another one
    return found[-1] if found else None


def root_of(node: Any) -> str:
    """Return the name that an expression begins with: ``np`` of ``np.linalg.norm(x)[0]``."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
