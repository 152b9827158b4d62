"""The Python files of a package: their syntax trees, rooms, imports, and lines of code.

Files are read and never run, so it does not matter whether a package can be imported.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeGuard

parsed = functools.cache(ast.parse)
"""The syntax tree of a text."""


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return parsed(path.read_text(encoding="utf-8"))


def room(module: str) -> str:
    """The folder, or the file, right in the package that a module is in."""
    return module.removeprefix("functier").removeprefix(".").partition(".")[0] or "__init__"


def is_in(module: str, name: str) -> bool:
    """Tell if a module is in a room, or is that room; a room may be in another: ``"a.b"``."""
    return f"{module}.".startswith(f"functier.{name}.")


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements in a tree, without a look at their expressions."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        inner = getattr(tree, field, [])
        for node in inner if isinstance(inner, list) else []:  # the body of a lambda is not
            if isinstance(node, ast.stmt):
                yield node
            yield from statements(node)


def is_document(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Tell if a statement is a docstring, or a string below the name of a constant."""
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


class Package:
    """The files of the package in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, sorted(folder.rglob("*.py"))

    def name_of(self, path: Path) -> str:
        """``_rules.linalg.eig`` for ``src/functier/_rules/linalg/eig.py``."""
        return ".".join(path.relative_to(self.folder).with_suffix("").parts)

    def files_of(self, name: str) -> list[Path]:
        """The files of a room."""
        return [path for path in self.files if is_in(f"functier.{self.name_of(path)}", name)]

    def origin(self, path: Path, node: ast.ImportFrom) -> list[str]:
        """The parts of the name before ``import`` in a statement of a file."""
        here = ["functier", *self.name_of(path).split(".")[:-1]]
        base = here[: len(here) - node.level + 1] if node.level else []
        return [*base, node.module] if node.module else base

    def imports(self, path: Path) -> list[str]:
        """The modules that a file imports, by their whole names."""
        found: list[str] = []
        for node in statements(tree_of(path)):
            if isinstance(node, ast.Import):
                found += [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = self.origin(path, node)
                ends = [[]] if node.module else [[a.name] for a in node.names]
                found += [".".join([*origin, *end]) for end in ends]
        return found

    def imported_rooms(self, name: str) -> set[str]:
        """The rooms that the files of one import from."""
        modules = {m for path in self.files_of(name) for m in self.imports(path)}
        return {room(m) for m in modules if m.startswith("functier")} - {name}


class Counts(NamedTuple):
    """How long a file is: its lines with code, its statements, and the lines of docstrings."""

    code: int
    statements: int
    docstrings: int


SILENT = re.compile(
    rb"""\#[^\n]*|(?s:\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    |"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""",
    re.VERBOSE,
)
"""A comment, or a string, which may have the sign of a comment in it."""


def count(text: str, tree: ast.Module) -> Counts:
    """Count what a file has.

    A line has code if it is not blank, no comment and no line of a docstring. All lines of other
    strings have, be they blank. A docstring is no statement.
    """
    lines, found = text.encode().split(b"\n"), list(statements(tree))
    strings = list(filter(is_document, found))
    docstrings = 0
    for node in strings:
        first, last = node.lineno - 1, (node.end_lineno or 0) - 1
        rest = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [lines[first][: node.col_offset], *[b""] * (last - first)]
        lines[last] += rest
        docstrings += last - first + 1
    bare = SILENT.sub(_marked, b"\n".join(lines))
    code = sum(bool(line.strip(b" \t\f\r\\")) for line in bare.split(b"\n"))
    return Counts(code, len(found) - len(strings), docstrings)


def _marked(match: re.Match) -> bytes:
    """Return nothing for a comment, and a sign in each line of a string."""
    found = match[0]
    return b"" if found[:1] == b"#" else b"\n".join([b"x"] * (found.count(b"\n") + 1))
