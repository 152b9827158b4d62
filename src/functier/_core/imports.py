"""The source of a frame: the expression that it is at, and the line to change in it.

That is the import of a name, in code that was written for plain NumPy. Only errors ask for it, and
few other cases that are rare: the source of the module is read and parsed then.
"""

import ast
import functools
import linecache
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import islice
from opcode import opname
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .table import OPS, PACKAGE, later, load

HERE = "functier.numpy"
Import = ast.Import | ast.ImportFrom


def line_to_change(frame: FrameType, name: str) -> str | None:
    """Return what to write for the import of `name`, by which a frame's code has NumPy.

    None where the name is not NumPy's, or where nothing tells how the module has it.
    """
    tree = tree_of(frame)
    node = None if tree is None else find_import(tree, name, frame.f_lineno)
    if node is None:
        known = frame.f_globals.get(name)  # of a session: another cell has imported it
        bound = name in frame.f_code.co_varnames or known is not np
        return None if bound else f'"import {HERE} as {name}" for "import numpy as {name}"'
    old, new = rewrite(node, name)
    if new is None:
        return None
    file = os.path.basename(frame.f_code.co_filename)
    return f'"{new}" for "{old}" in line {node.lineno} of {file}'


def rewrite(node: Import, name: str) -> tuple[str, str | None]:
    """Return a part of an import statement, and what to write for it to have the twins, or None."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level or not _is_numpy(module):
            return "", None
        return f"from {module} import", f"from {HERE}{module[5:]} import"
    for part in node.names:
        if name == (part.asname or part.name.partition(".")[0]) and _is_numpy(part.name):
            old = part.name + (f" as {part.asname}" if part.asname else "")
            inner = part.name if part.asname else "numpy"
            first = node.names[0] is part
            new = f"{HERE}{inner[5:]} as {name}"
            return (f"import {old}", f"import {new}") if first else (old, new)
    return "", None


def _is_numpy(module: str) -> bool:
    return module.partition(".")[0] == "numpy"


def find_import(tree: ast.Module, name: str, line: int) -> Import | None:
    """Return the statement that binds `name` for the code in a line, if that is an import."""
    found = None
    for scope in scopes_at(tree, line):
        for node in statements(scope):
            names = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ()
            for part in names:
                own = part.asname or part.name
                if isinstance(node, ast.Import):
                    own = part.asname or part.name.partition(".")[0]
                if own == name or (own == "*" and hasattr(np, name)):
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


def tree_of(frame: FrameType) -> ast.Module | None:
    """Return the module of a frame as it is parsed, or None without a source."""
    return _parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))


def has_source(frame: FrameType, code: CodeType) -> bool:
    """Tell if the source of a frame gives its `code`; its file may have been changed since."""
    source = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    return _parse(source) is not None and code in _codes(source)


@functools.lru_cache(8)
def _codes(source: str) -> set[CodeType]:
    """Return the code objects that a source is compiled to."""
    waiting: list[Any] = [compile(source, "<source>", "exec", dont_inherit=True)]
    for code in waiting:
        waiting += [x for x in code.co_consts if isinstance(x, CodeType)]
    return set(waiting)


@functools.lru_cache(8)
def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source) if source else None
    except (SyntaxError, ValueError):
        return None


def nodes_at(frame: FrameType) -> list[Any]:
    """Return the statements and expressions around the place of a frame, outermost first."""
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


def node_at(frame: FrameType) -> ast.AST | None:
    """Return the expression, or the statement, that a frame is at."""
    found = nodes_at(frame)
    if not found and not linecache.getlines(frame.f_code.co_filename, frame.f_globals):
        # as of a line that is typed after Python's prompt
        stores = opname[frame.f_code.co_code[frame.f_lasti]].startswith("STORE_SUBSCR")
        return ast.parse("y[i]", mode="eval").body if stores else None
    return found[-1] if found else None


def root_of(node: Any) -> str:
    """Return the name that an expression begins with: ``np`` of ``np.linalg.norm(x)[0]``."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_numpys(value: Any) -> bool:
    """Tell if an object is NumPy, a module of it, or what such a module has."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return _is_numpy(name or "") or isinstance(value, np.ufunc)


def is_compiled(function: Any) -> bool:
    """Tell if an object that is called is compiled code of a library other than NumPy."""
    if isinstance(function, (FunctionType, type, np.ufunc)) or not callable(function):
        return False
    return type(function).__name__ == "fortran" or is_extension(module_of(function))


def module_of(x: Any) -> str:
    """Return the module of a function, or that of the class which a method belongs to."""
    owner = getattr(x, "__objclass__", None) or x
    return getattr(owner, "__module__", None) or ""


def is_extension(module: str) -> bool:
    """Tell if a module of a library is compiled; NumPy's and Python's own are not meant."""
    if module.partition(".")[0] in sys.stdlib_module_names or _is_numpy(module):
        return False
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    return path.endswith(tuple(EXTENSION_SUFFIXES))


def is_plain_python(names: dict[str, Any]) -> bool:
    """Tell if a module, by its global names, has no compiled code of a library but NumPy."""
    for value in names.values():
        if isinstance(value, ModuleType):
            if is_extension(value.__name__):
                return False
        elif is_compiled(value) or (isinstance(value, type) and is_extension(module_of(value))):
            return False
    return True


# ---- SciPy's names ----


def twin_name(name: str) -> str:
    """Return the name in SciPy for which `functier.scipy` has what takes tensors, or "".

    `name` is that of the function that was called. A method of a frozen distribution stands for
    its module, where the distribution is made, and another method for its class.
    """
    library, *parts = name.split(".")
    if library != "scipy" or len(parts) < 2:
        return ""
    module = parts.pop(0)
    while len(parts) > 1 and f"scipy.{module}.{parts[0]}" in sys.modules:
        module = f"{module}.{parts.pop(0)}"
    load(f"scipy.{module}")
    owner = sys.modules.get(f"scipy.{module}")
    found = getattr(owner, parts[0], None)
    if found is None:
        return "scipy.stats" if module == "stats" and owner is not None else ""
    if any([base.__name__ == "rv_generic" for base in type(found).__mro__]):
        return name if parts[1:] else ""
    if isinstance(found, ModuleType) or found in OPS:
        return name if found in OPS and not parts[1:] else ""
    here = f"{PACKAGE}.scipy"
    twin = getattr(later(f"scipy.{module}"), parts[0])
    if twin is found or (
        getattr(twin, "__module__", here) == here  # a function, which may have SciPy's code alone
        and not later("scipy._copies").is_copied(found)
    ):
        return ""
    return f"scipy.{module}.{parts[0]}"
