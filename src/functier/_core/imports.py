"""The imports of a module: the line to change in it, and the names of what it has.

That is the import of a name, in code that was written for plain NumPy. Only errors ask for it.
"""

import ast
import os
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._cpython.frames import (
    Frame,
    file_at,
    globals_at,
    has_variable,
    line_at,
    module_at,
    qualified_name_at,
)
from .._cpython.sources import Import, find_import, is_extension, tree_of
from .table import OPS, PACKAGE, later, load

HERE = "functier.numpy"


def line_to_change(frame: Frame, name: str) -> str | None:
    """Return what to write for the import of `name`, by which a frame's code has NumPy.

    None where the name is not NumPy's, or where nothing tells how the module has it.
    """
    node = import_of(frame, name)
    if node is None:
        known = globals_at(frame).get(name)  # of a session: another cell has imported it
        bound = has_variable(frame, name) or known is not np
        return None if bound else f'"import {HERE} as {name}" for "import numpy as {name}"'
    old, new = rewrite(node, name)
    if new is None:
        return None
    file = os.path.basename(file_at(frame))
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


def import_of(frame: Frame, name: str) -> Import | None:
    """Return the statement that binds `name` for the line of a frame, if that is an import."""
    tree = tree_of(frame)
    return None if tree is None else find_import(tree, name, line_at(frame), _has_name)


def _has_name(name: str) -> bool:
    """Return whether NumPy has a name, so that a star may bring it."""
    return hasattr(np, name)


def is_numpys(value: Any) -> bool:
    """Return whether an object is NumPy, a module of it, or what such a module has."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return _is_numpy(name or "") or isinstance(value, np.ufunc)


def is_compiled(function: Any) -> bool:
    """Return whether an object that is called is compiled code of a library other than NumPy."""
    if isinstance(function, (FunctionType, type, np.ufunc)) or not callable(function):
        return False
    return type(function).__name__ == "fortran" or is_extension(module_of(function))


def module_of(x: Any) -> str:
    """Return the module of a function, or that of the class which a method belongs to."""
    owner = getattr(x, "__objclass__", None) or x
    return getattr(owner, "__module__", None) or ""


def is_plain_python(names: dict[str, Any]) -> bool:
    """Return whether a module, by its global names, has no compiled code of a library but NumPy."""
    for value in names.values():
        if isinstance(value, ModuleType):
            if is_extension(value.__name__):
                return False
        elif is_compiled(value) or (isinstance(value, type) and is_extension(module_of(value))):
            return False
    return True


# ---- names ----


def public_name(frames: list[Frame]) -> str:
    """Return the public name of the outermost of some functions."""
    found = ""
    for frame in frames:
        module = module_at(frame).split(".")
        parts = [part for part in qualified_name_at(frame).split(".") if part[:1] != "_"]
        if parts and "<locals>" not in parts:
            return without_private([*module, *parts])
        found = found or without_private([*module, ""]).rstrip(".")
    return found


def without_private(parts: list[str]) -> str:
    """Return ``scipy.linalg.solve`` for ``scipy.linalg._basic.solve``."""
    module = parts[:-1]
    for i, part in enumerate(module):
        if part.startswith("_"):
            module = module[:i]
            break
    if module[:1] == ["numpy"] and hasattr(np, parts[-1]):
        module = ["numpy"]
    return ".".join([*module, parts[-1]])


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
        return "scipy.stats" if module == "stats" and owner and parts[0][0] != "_" else ""
    if any([base.__name__ == "rv_generic" for base in type(found).__mro__]):
        return name if parts[1:] else ""
    if isinstance(found, ModuleType) or found in OPS:
        return name if found in OPS and not parts[1:] else ""
    here = f"{PACKAGE}.scipy"
    twin = getattr(later(f"scipy.{module}"), parts[0])
    if twin is found or (
        getattr(twin, "__module__", here) == here  # it may have SciPy's code alone
        and not isinstance(found, type)
        and not later("scipy._copies").is_copied(found)
    ):
        return ""
    return f"scipy.{module}.{parts[0]}"
