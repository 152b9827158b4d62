"""Hints: the code that asked a tensor for a plain value, and what to write instead.

Read where an error is made, and nowhere else: the call stack tells which function of the
user's it was, and through which one of another library; the bytecode tells the expression.
Where the source is not there, or has no positions, the remedy is a general one. The texts
are those of `remedies`.
"""

import ast
import linecache
import os
import sys
from dis import opname
from itertools import islice
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .numpy_facts import name_of
from .remedies import CALLS, GENERAL, SAME, SHOWING, WRITTEN
from .table import UNSUPPORTED, load

UNKNOWN: Any = object()
"""The value of an expression that is not looked up, as that could run code."""

NAMED = type, FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum)
"""Callables that know their own name; a method is named as it is written."""
STANDARD = os.path.dirname(os.__file__) + os.sep
BUILDERS = {"r_": (np.r_,), "c_": (np.c_,), "mgrid": (np.mgrid, np.ogrid)}


def explain(how: str, batch: bool = False) -> tuple[str, str]:
    """The caller that asked for a plain value by `how`, and what to write: parts of a message.

    `batch`: the tensor is one of a level of `vmap`.
    """
    asked = f"{how}(x)"
    try:
        use = Use(how, batch)
        remedy = use.remedy()
    except Exception:  # an error is being made: it must come out, whatever the frames look like
        return asked, GENERAL[how].format()
    return (f"{asked}, which {use.library} calls," if use.library else asked), remedy


def augmented_assignment() -> str | None:
    """``a = a + x`` where the user wrote ``a += x``, else None."""
    frame, _ = _asking()
    node = None if frame is None else _node_at(frame)
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
        return None
    left = ast.Name(node.target.id)
    return f"{node.target.id} = {ast.unparse(ast.BinOp(left, node.op, node.value))}"


class Use:
    """The expression of the user's that asked for a plain value by `how`.

    `frame` is where it stands, None where the transform was given the function of another
    library; `name` is what was called, and `library` the same where its Python code asked.
    """

    def __init__(self, how: str, batch: bool):
        self.how, self.batch = how, batch
        self.frame, self.inside = _asking()
        self.node = None if self.frame is None else _node_at(self.frame)
        self.library = _public(self.inside)
        self.name, self.callee, self.owner = self.library, UNKNOWN, UNKNOWN
        if isinstance(self.node, ast.Call):
            func = self.node.func
            while isinstance(func, ast.Call):  # what a function or a class has given
                func = func.func
            if isinstance(func, ast.Attribute):
                self.owner = self.value(func.value)
            self.callee = self.value(func)
            if self.callee is not UNKNOWN and not isinstance(self.callee, (MethodType, *NAMED)):
                self.callee = type(self.callee)
            name = self.named(func)
            if not self.library or name.partition(".")[0] == self.library.partition(".")[0]:
                self.name = name
            elif self.callee is UNKNOWN and name:  # as it is written, with the user's short names
                self.name = name
            if self.library:
                self.library = self.name

    def value(self, node: ast.AST) -> Any:
        """The object behind a name, or behind an attribute of a module."""
        assert self.frame is not None
        if isinstance(node, ast.Name):
            for names in (self.frame.f_locals, self.frame.f_globals, self.frame.f_builtins):
                if node.id in names:
                    return names[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if isinstance(owner, ModuleType):
                return getattr(owner, node.attr, UNKNOWN)
        return UNKNOWN

    def named(self, func: ast.expr) -> str:
        """The name of a function in a message: as its library has it, else as it is written."""
        if isinstance(self.callee, NAMED):
            return _without_private(name_of(self.callee).split("."))
        if isinstance(func, ast.Attribute):
            kind = type(self.owner)
            if kind.__module__.startswith("scipy.stats"):
                return f"scipy.stats.{kind.__name__.removesuffix('_gen')}.{func.attr}"
        root: ast.AST = func
        while isinstance(root, ast.Attribute):
            root = root.value
        return ast.unparse(func) if isinstance(root, ast.Name) else ""

    # ---- what it is, and the remedy ----

    def remedy(self) -> str:
        for frame in self.inside:
            reason = declared_reason(frame)
            if reason:
                return reason
        for find in (self.of_statement, self.of_call, self.of_truth, self.of_library):
            text = find()
            if text is not None:
                return text.format(**self.names())
        return GENERAL[self.how].format(**self.names())

    def names(self) -> dict[str, str]:
        """The names that a text may have."""
        name, args = self.name, "x"
        if isinstance(self.node, ast.Call):
            name = name or ast.unparse(self.node.func)
            args = ", ".join(map(ast.unparse, self.node.args))
        owner, _, last = name.rpartition(".")
        return {"name": name, "owner": owner, "last": last, "args": args}

    def of_statement(self) -> str | None:
        """The remedy for an index, an assignment to one, or a format."""
        node, how = self.node, self.how
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and how != "bool":
            return WRITTEN["format"]
        if not isinstance(node, ast.Subscript):
            return None
        owner = self.value(node.value)
        self.name = ast.unparse(node.value)
        for key, builders in BUILDERS.items():
            if any(owner is builder for builder in builders):
                self.library = ""
                return WRITTEN[key]
        if how == "__index__":
            return WRITTEN["a[:x]" if isinstance(node.slice, ast.Slice) else "list[x]"]
        assert self.frame is not None
        stored = opname[self.frame.f_code.co_code[self.frame.f_lasti]].startswith("STORE")
        return WRITTEN["a[i] = x" if stored else "a[x]"]

    def of_call(self) -> str | None:
        """The remedy for a function that is known by its name, or by its library."""
        if self.how in ("item", "tolist"):  # the call is that of the tensor's own method
            return None
        name = SAME.get(self.name, self.name)
        module, _, last = name.rpartition(".")
        node = self.node
        first = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if self.how == "__index__" and (module.startswith("numpy") or self.method(np.ndarray)):
            return WRITTEN["length"]
        if isinstance(node, ast.Call) and any(word.arg == "initial" for word in node.keywords):
            return WRITTEN["initial="]
        if name == "numpy.array" and isinstance(first, (ast.List, ast.Tuple)):
            nested = any(isinstance(part, (ast.List, ast.Tuple)) for part in first.elts)
            return WRITTEN["numpy.array of lists" if nested else "numpy.array of a list"]
        if name == "numpy.array" and self.is_list(first):
            return WRITTEN["numpy.array of a list"]
        if name in CALLS:
            return CALLS[name]
        if module in ("math", "cmath") and hasattr(np, last):
            return WRITTEN[module]
        if isinstance(self.callee, type) and issubclass(self.callee, np.generic):
            return WRITTEN["scalar type"]
        if module.startswith("numpy.testing"):
            return WRITTEN["output"]
        if isinstance(self.callee, type(np.sum)) and isinstance(node, ast.Call):
            if self.is_list(first) or len(node.args) == 1:  # or an array of objects
                return WRITTEN["numpy of a list"]
            if self.how == "numpy.asarray":
                return WRITTEN["numpy function"]
        random = sys.modules.get("numpy.random")  # who draws from it has loaded it
        kinds = () if random is None else (random.Generator, random.RandomState)
        if any(map(self.method, kinds)):
            return WRITTEN["numpy.random"]
        if not self.method(np.ndarray):
            return None
        key = self.names()["last"]
        return WRITTEN[
            {"fill": "a.fill", "put": "a[i] = x", "__setitem__": "a[i] = x"}.get(key, "method")
        ]

    def is_list(self, node: ast.AST | None) -> bool:
        return isinstance(node, (ast.List, ast.Tuple, ast.ListComp)) or (
            node is not None and isinstance(self.value(node), (list, tuple))
        )

    def method(self, kind: type) -> bool:
        """Whether a method of `kind`, or what may be one, was called."""
        func = self.node.func if isinstance(self.node, ast.Call) else None
        if isinstance(getattr(self.callee, "__self__", None), kind):  # numpy.random.normal
            return True
        if not isinstance(func, ast.Attribute) or self.library:
            return False
        return isinstance(self.owner, kind) or (
            self.owner is UNKNOWN and self.callee is UNKNOWN and hasattr(kind, func.attr)
        )

    def of_truth(self) -> str | None:
        """The remedy for a condition."""
        node = self.node
        if self.how != "bool" or self.frame is None or isinstance(node, ast.Call):
            return None
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return WRITTEN["a < x < b"]
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return WRITTEN["x in list"]
        if isinstance(node, (ast.BoolOp, ast.UnaryOp)):
            return WRITTEN["x and y"]
        line = linecache.getline(self.frame.f_code.co_filename, self.frame.f_lineno)
        return WRITTEN["while"] if line.lstrip().startswith("while ") else None

    def of_library(self) -> str | None:
        """The remedy for a function of another library of which nothing more is known."""
        module = self.name.partition(".")[0]
        if module in SHOWING:
            return WRITTEN["output"]
        if self.library.startswith("numpy.ma."):
            return WRITTEN["numpy.ma"]
        if not self.library or module == "numpy":
            return None
        return WRITTEN["library of a batch" if self.batch else "library"]


def declared_reason(frame: FrameType) -> str:
    """The reason for which a function is declared as not supported, if a frame runs one."""
    load(frame.f_globals.get("__name__", "").rpartition(".")[0])
    for func, reason in UNSUPPORTED.items():
        if getattr(func, "__code__", None) is frame.f_code:
            return reason.partition("write ")[2] or reason
    return ""


def _asking() -> tuple[FrameType | None, list[FrameType]]:
    """The user's frame, and those of other libraries that it called, the outermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _ours(frame):
        frame = frame.f_back
    inside: list[FrameType] = []
    while frame is not None and not _ours(frame) and _library(frame):
        inside.insert(0, frame)
        frame = frame.f_back
    return None if frame is None or _ours(frame) else frame, inside


def _ours(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] == "functier"


def _library(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    installed = f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path
    return installed or path.startswith((STANDARD, "<frozen", "<__array_function__"))


def _public(frames: list[FrameType]) -> str:
    """The public name of the outermost of some functions."""
    found = ""
    for frame in frames:
        module = frame.f_globals.get("__name__", "").split(".")
        parts = [part for part in frame.f_code.co_qualname.split(".") if part[:1] != "_"]
        if parts and "<locals>" not in parts:
            return _without_private([*module, *parts])
        found = found or _without_private([*module, ""]).rstrip(".")
    return found


def _without_private(parts: list[str]) -> str:
    """``scipy.linalg.solve`` for ``scipy.linalg._basic.solve``."""
    module = parts[:-1]
    for i, part in enumerate(module):
        if part.startswith("_"):
            module = module[:i]
            break
    if module[:1] == ["numpy"] and hasattr(np, parts[-1]):
        module = ["numpy"]
    return ".".join([*module, parts[-1]])


def _node_at(frame: FrameType) -> ast.AST | None:
    """The expression, or the statement, that a frame is at."""
    code = frame.f_code
    line, last, start, stop = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    if line is None or last is None or start is None or stop is None:
        return None
    lines = linecache.getlines(code.co_filename, frame.f_globals)[line - 1 : last]
    rows = [row.encode() for row in lines]  # columns count bytes
    rows[-1] = rows[-1][:stop]
    rows[0] = rows[0][start:]
    text = b"".join(rows).decode()
    try:
        return ast.parse(f"({text})", mode="eval").body
    except SyntaxError:  # a statement
        return ast.parse(text).body[0]
