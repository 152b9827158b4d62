"""Hints: the code that asked a tensor for a plain value, and what to write instead.

Only errors are explained here. The call stack tells which function of the user asked, and
through which function of another library; the bytecode tells the expression. Where the
source is missing, or has no positions, the remedy is a general one. `remedies` has the texts.
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
from .remedies import BY_EXPRESSION, CALLS, GENERAL, SAME, SHOWING, WRITING
from .table import UNSUPPORTED, load

UNKNOWN: Any = object()
"""The value of an expression that is not looked up, as that could run code."""

NAMED = type, FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum)
"""Callables that know their name; a method is named as the source names it."""
STANDARD = os.path.dirname(os.__file__) + os.sep
BUILDERS = {"r_": (np.r_,), "c_": (np.c_,), "mgrid": (np.mgrid, np.ogrid)}


def explain(how: str, batch: bool = False) -> tuple[str, str, bool]:
    """Return who asked for a plain value by `how`, and what to write: two parts of a message.
    And tell if it was asked for to be written to a plain array.

    `batch` is true for a tensor of a level of `vmap`.
    """
    asked = f"{how}(x)"
    try:
        use = Use(how, batch)
        remedy = use.remedy()
    except Exception:  # the error that is being made must come out, for any kind of frames
        return asked, GENERAL[how].format(), False
    asked = f"{asked}, which {use.library} calls," if use.library else asked
    return asked, remedy, remedy.endswith(WRITING)


def augmented_assignment() -> str | None:
    """Return ``a = a + x`` where the user wrote ``a += x``, else None."""
    frame, _ = _asking_frames()
    node = None if frame is None else _node_at(frame)
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
        return None
    left = ast.Name(node.target.id)
    return f"{node.target.id} = {ast.unparse(ast.BinOp(left, node.op, node.value))}"


class Use:
    """The expression in the user's code that asked for a plain value by `how`.

    `frame` runs it; it is None where the transform was given the function of another library.
    `name` is the name of the function that was called, and `library` the same where the Python
    code of that function asked.
    """

    def __init__(self, how: str, batch: bool):
        self.how, self.batch = how, batch
        self.frame, self.inside = _asking_frames()
        self.node = None if self.frame is None else _node_at(self.frame)
        self.library = _public_name(self.inside)
        self.name, self.callee, self.owner = self.library, UNKNOWN, UNKNOWN
        if isinstance(self.node, ast.Call):
            func = self.node.func
            while isinstance(func, ast.Call):  # the result of a function or a class is called
                func = func.func
            if isinstance(func, ast.Attribute):
                self.owner = self.value(func.value)
            self.callee = self.value(func)
            if self.callee is not UNKNOWN and not isinstance(self.callee, (MethodType, *NAMED)):
                self.callee = type(self.callee)
            name = self.name_in_message(func)
            if not self.library or name.partition(".")[0] == self.library.partition(".")[0]:
                self.name = name
            elif self.callee is UNKNOWN and name:  # with the short names of the user's code
                self.name = name
            if self.library:
                self.library = self.name

    def value(self, node: ast.AST) -> Any:
        """Return the object behind a name, or behind an attribute of a module."""
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

    def name_in_message(self, func: ast.expr) -> str:
        """Return the name of a function in its library, else its name in the source."""
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

    # ---- the remedy, by kinds of expression ----

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
        """Return the names that may stand in the text of a remedy."""
        name, args = self.name, "x"
        if isinstance(self.node, ast.Call):
            name = name or ast.unparse(self.node.func)
            args = ", ".join(map(ast.unparse, self.node.args))
        owner, _, last = name.rpartition(".")
        return {"name": name, "owner": owner, "last": last, "args": args}

    def of_statement(self) -> str | None:
        """Return the remedy for an index, an assignment to an item, or a format."""
        node, how = self.node, self.how
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and how != "bool":
            return BY_EXPRESSION["format"]
        if not isinstance(node, ast.Subscript):
            return None
        owner = self.value(node.value)
        self.name = ast.unparse(node.value)
        for key, builders in BUILDERS.items():
            if any(owner is builder for builder in builders):
                self.library = ""
                return BY_EXPRESSION[key]
        if how == "__index__":
            return BY_EXPRESSION["a[:x]" if isinstance(node.slice, ast.Slice) else "list[x]"]
        assert self.frame is not None
        stored = opname[self.frame.f_code.co_code[self.frame.f_lasti]].startswith("STORE")
        return BY_EXPRESSION["a[i] = x" if stored else "a[x]"]

    def of_call(self) -> str | None:
        """Return the remedy for a function that is known by its name, or by its library."""
        if self.how in ("item", "tolist"):  # the call is that of the tensor's own method
            return None
        name = SAME.get(self.name, self.name)
        module, _, last = name.rpartition(".")
        node = self.node
        first = node.args[0] if isinstance(node, ast.Call) and node.args else None
        of_array = self.calls_method_of(np.ndarray)
        if self.how == "__index__" and (module.startswith("numpy") or of_array):
            return BY_EXPRESSION["length"]
        if isinstance(node, ast.Call) and any(word.arg == "initial" for word in node.keywords):
            return BY_EXPRESSION["initial="]
        if name == "numpy.array" and isinstance(first, (ast.List, ast.Tuple)):
            nested = any(isinstance(part, (ast.List, ast.Tuple)) for part in first.elts)
            return BY_EXPRESSION["numpy.array of lists" if nested else "numpy.array of a list"]
        if name == "numpy.array" and self.is_list(first):
            return BY_EXPRESSION["numpy.array of a list"]
        if name in CALLS:
            return CALLS[name]
        if module in ("math", "cmath") and hasattr(np, last):
            return BY_EXPRESSION[module]
        if isinstance(self.callee, type) and issubclass(self.callee, np.generic):
            return BY_EXPRESSION["scalar type"]
        if module.startswith("numpy.testing"):
            return BY_EXPRESSION["output"]
        if isinstance(self.callee, type(np.sum)) and isinstance(node, ast.Call):
            if self.is_list(first) or len(node.args) == 1:  # or an array of objects
                return BY_EXPRESSION["numpy of a list"]
            if self.how == "numpy.asarray":
                return BY_EXPRESSION["numpy function"]
        random = sys.modules.get("numpy.random")  # who draws from it has loaded it
        kinds = () if random is None else (random.Generator, random.RandomState)
        if any(map(self.calls_method_of, kinds)):
            return BY_EXPRESSION["numpy.random"]
        if not of_array:
            return None
        key = self.names()["last"]
        return BY_EXPRESSION[
            {"fill": "a.fill", "put": "a[i] = x", "__setitem__": "a[i] = x"}.get(key, "method")
        ]

    def is_list(self, node: ast.AST | None) -> bool:
        return isinstance(node, (ast.List, ast.Tuple, ast.ListComp)) or (
            node is not None and isinstance(self.value(node), (list, tuple))
        )

    def calls_method_of(self, kind: type) -> bool:
        """Tell if the call may be that of a method of `kind`."""
        func = self.node.func if isinstance(self.node, ast.Call) else None
        if isinstance(getattr(self.callee, "__self__", None), kind):  # numpy.random.normal
            return True
        if not isinstance(func, ast.Attribute) or self.library:
            return False
        return isinstance(self.owner, kind) or (
            self.owner is UNKNOWN and self.callee is UNKNOWN and hasattr(kind, func.attr)
        )

    def of_truth(self) -> str | None:
        """Return the remedy for a condition."""
        node = self.node
        if self.how != "bool" or self.frame is None or isinstance(node, ast.Call):
            return None
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return BY_EXPRESSION["a < x < b"]
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return BY_EXPRESSION["x in list"]
        if isinstance(node, (ast.BoolOp, ast.UnaryOp)):
            return BY_EXPRESSION["x and y"]
        line = linecache.getline(self.frame.f_code.co_filename, self.frame.f_lineno)
        return BY_EXPRESSION["while"] if line.lstrip().startswith("while ") else None

    def of_library(self) -> str | None:
        """Return the general remedy for a function of another library."""
        module = self.name.partition(".")[0]
        if module in SHOWING:
            return BY_EXPRESSION["output"]
        if self.library.startswith("numpy.ma."):
            return BY_EXPRESSION["numpy.ma"]
        if not self.library or module == "numpy":
            return None
        return BY_EXPRESSION["library of a batch" if self.batch else "library"]


def calls_shuffle(frame: FrameType) -> bool:
    """Tell if `frame` is at a call of a function or method that is named ``shuffle``."""
    try:
        node = _node_at(frame)
    except Exception:  # where the source is not there
        return False
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if func.id in names:
                return getattr(names[func.id], "__name__", "") == "shuffle"
    return isinstance(func, ast.Attribute) and func.attr == "shuffle"


def declared_reason(frame: FrameType) -> str:
    """Return the declared reason where a frame runs an unsupported function, else an empty text."""
    load(frame.f_globals.get("__name__", "").rpartition(".")[0])
    for func, reason in UNSUPPORTED.items():
        if getattr(func, "__code__", None) is frame.f_code:
            return reason.partition("write ")[2] or reason
    return ""


def asking_line() -> str:
    """Return the file and line of the user's code that is running, ``file.py:12``."""
    frame, inside = _asking_frames()
    frame = inside[0] if frame is None and inside else frame
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _asking_frames() -> tuple[FrameType | None, list[FrameType]]:
    """Return the user's frame, and those of other libraries that it called, outermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    inside: list[FrameType] = []
    while frame is not None and not _is_own(frame) and _is_of_library(frame):
        inside.insert(0, frame)
        frame = frame.f_back
    return None if frame is None or _is_own(frame) else frame, inside


def _is_own(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] == "functier"


def _is_of_library(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    installed = f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path
    return installed or path.startswith((STANDARD, "<frozen", "<__array_function__"))


def _public_name(frames: list[FrameType]) -> str:
    """Return the public name of the outermost of some functions."""
    found = ""
    for frame in frames:
        module = frame.f_globals.get("__name__", "").split(".")
        parts = [part for part in frame.f_code.co_qualname.split(".") if part[:1] != "_"]
        if parts and "<locals>" not in parts:
            return _without_private([*module, *parts])
        found = found or _without_private([*module, ""]).rstrip(".")
    return found


def _without_private(parts: list[str]) -> str:
    """Return ``scipy.linalg.solve`` for ``scipy.linalg._basic.solve``."""
    module = parts[:-1]
    for i, part in enumerate(module):
        if part.startswith("_"):
            module = module[:i]
            break
    if module[:1] == ["numpy"] and hasattr(np, parts[-1]):
        module = ["numpy"]
    return ".".join([*module, parts[-1]])


def _node_at(frame: FrameType) -> ast.AST | None:
    """Return the expression, or the statement, that a frame is at."""
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
