"""Hints: the code that asked a tensor for a plain value, and what to write instead.

Only errors are explained here. The call stack tells which function of the user asked, and
through which function of another library; the bytecode tells the expression. Where the
source is missing, or has no positions, the remedy is a general one. `remedies` has the texts.
"""

import ast
import inspect
import os
import re
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._cpython.frames import (
    Frame,
    asking_frames,
    file_at,
    function_at,
    globals_at,
    instruction_at,
    is_foreign,
    line_at,
    module_at,
    namespaces_at,
    runs,
    variables_at,
)
from .._cpython.sources import line_of_source, node_at, root_of, value_of
from .adopted import ADOPTED
from .border import code_for_array, label_of
from .numpy_facts import name_of
from .remedies import (
    ADOPTION,
    BY_EXPRESSION,
    CALLS,
    FIRST,
    GENERAL,
    MAKERS,
    METHODS,
    OF_BATCH,
    OF_LIBRARY,
    OF_LISTS,
    OF_SHOWN,
    OF_STORED,
    SAME,
    SHOWING,
    TWIN_OF_SCIPY,
    WITH_ADOPTED,
    WITH_ARRAY,
    WITH_TWIN,
    WITHOUT_TWIN,
    WRITING,
    import_of,
    is_compiled,
    is_numpys,
    is_of_ctypes,
    is_plain_python,
    line_to_change,
    lists_in,
    module_of,
    of_index,
    of_items,
    public_name,
    reason_in,
    twin_name,
    without_private,
)  # fmt: skip
from .table import UNSUPPORTED, load

UNKNOWN: Any = object()
"""The value of an expression that is not looked up, as that could run code."""

NAMED = type, FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum)
"""Callables that know their name; a method is named as the source names it."""
BUILDERS = {"r_": (np.r_,), "c_": (np.c_,), "mgrid": (np.mgrid, np.ogrid)}


def explain(
    how: str, batch: bool = False, kind: str = "", lone: bool = True
) -> tuple[str, str, bool]:
    """Return who asked for a plain value by `how`, and what to write: two parts of a message.
    And tell if it was asked for to be written to a plain array.

    `batch` is true for a tensor of a level of `vmap`, `kind` is that of its dtype, and `lone` is
    false where a batch or a program has its value.
    """
    try:
        use = Use(how, batch)
        use.kind, use.lone = kind, lone
        remedy = use.advice()
    except Exception:  # the error that is being made must come out, for any kind of frames
        return f"{how}(x)", GENERAL[how].format(), False
    asked = f"{how}(x), which {use.library} calls," if use.library else f"{how}(x)"
    writing = use.text.endswith(WRITING)
    written = ast.unparse(use.node) + " = x" * use.stores() if writing and use.node else ""
    if written and len(written) < 60:
        asked = f"in {written}, {asked}"
    return asked, remedy, writing


class Use:
    """The expression in the user's code that asked for a plain value by `how`.

    `frame` runs it; it is None where the transform was given the function of another library.
    `name` is the name of the function that was called, and `library` the same where the Python
    code of that function asked.
    """

    text, kind, lone = "", "", True  # the remedy in the tables; see `explain`
    array = label = ""  # of an object with labels: its array in the source, and its class

    frame: Frame | None
    inside: list[Frame]

    def __init__(self, how: str, batch: bool, frames: Any = None):
        self.how, self.batch, self.asked = how, batch, frames is None
        self.frame, self.inside = frames or asking_frames()
        self.node = None if self.frame is None else node_at(self.frame)
        self.library = public_name(self.inside)
        self.name, self.callee, self.owner = self.library, UNKNOWN, UNKNOWN
        if isinstance(self.node, ast.Call):
            func = self.node.func
            while isinstance(func, ast.Call):  # the result of a function or a class is called
                func = func.func
            if isinstance(func, ast.Attribute):
                self.owner = self.value(func.value)
            self.callee = called = self.value(func)
            if self.callee is not UNKNOWN and not isinstance(self.callee, (MethodType, *NAMED)):
                self.callee = type(self.callee)
            name = self.name_in_message(func)
            if not self.library or name.partition(".")[0] == self.library.partition(".")[0]:
                self.name = name
            elif self.callee is UNKNOWN and name:  # with the short names of the user's code
                self.name = name
            if self.library:
                self.library = self.name
            else:
                self.library = self.compiled(func, called)
                if self.library and called is not UNKNOWN:
                    self.name = self.library

    def value(self, node: ast.AST | None) -> Any:
        """Return the object behind a name, or behind an attribute of a module."""
        assert self.frame is not None
        if isinstance(node, ast.Name):
            for names in namespaces_at(self.frame):
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
            return without_private(name_of(self.callee).split("."))
        if isinstance(func, ast.Attribute):
            kind = type(self.owner)
            if kind.__module__.startswith("scipy.stats"):
                return f"scipy.stats.{kind.__name__.removesuffix('_gen')}.{func.attr}"
        root: ast.AST = func
        while isinstance(root, ast.Attribute):
            root = root.value
        return ast.unparse(func) if isinstance(root, ast.Name) else ""

    def compiled(self, func: ast.expr, called: Any) -> str:
        """Return the name of a compiled function that is called, else an empty text."""
        last = func.attr if isinstance(func, ast.Attribute) else ""
        module = self.owner.__name__ if isinstance(self.owner, ModuleType) else ""
        if called is UNKNOWN and last and self.owner is not UNKNOWN:
            called = inspect.getattr_static(self.owner, last, UNKNOWN)
            module = f"{module_of(called)}.{type(self.owner).__name__}"
        if not is_compiled(called):
            return ""
        if is_of_ctypes(called):  # which does not know its name
            return ast.unparse(func)
        if isinstance(func, ast.Name):
            assert self.frame is not None
            node: Any = import_of(self.frame, func.id)
            known = {part.asname or part.name: part.name for part in getattr(node, "names", ())}
            last = known.get(func.id, func.id)
            module = getattr(node, "module", None) or module_of(called)
        return ".".join([part for part in module.split(".") if part[:1] != "_"] + [last])

    # ---- the line to change ----

    def advice(self) -> str:
        """Return the remedy, and the line to change; that alone where a library is called."""
        remedy, change = self.remedy(), self.change()
        if self.how != "numpy.asarray" or self.text == CALLS["numpy.array"]:
            ends = OF_BATCH if self.batch else OF_STORED if self.lone else OF_SHOWN
            remedy += ends.get(self.how, "")
        if not change:
            return remedy
        return change if self.text in OF_LIBRARY else f"{remedy}, or {change}"

    def change(self) -> str | None:
        """Return the import to change, where the twins of `functier.numpy` do what NumPy does."""
        try:
            return self.find_change()
        except Exception:  # the remedy without it has to come out
            return None

    def find_change(self) -> str | None:
        if twin := twin_name(self.library):
            return TWIN_OF_SCIPY.format(name=twin)
        places = [i for i, frame in enumerate(self.inside) if is_foreign(frame)]
        found = self.adoption(places[-1]) if places else None
        if not found and self.inside and (places or self.text in OF_LIBRARY):
            found = self.adoption(len(self.inside) - 1)
        frame = ADOPTED.frame() if self.asked and not found else None
        if frame is not None and frame is not self.frame:
            return self.place(frame)
        if places or found:
            return found
        if self.frame and module_at(self.frame) == "__main__" and self.text in WITH_ADOPTED:
            return ADOPTION.format(name="__main__")  # a script, or the cells of a notebook
        name = self.makers_import()
        return line_to_change(self.frame, name) if name and self.frame else None

    def makers_import(self) -> str:
        """Return the name by which the code has NumPy's function; "" where no twin is right."""
        if self.frame is None or not self.has_twin():
            return ""
        first = self.made(inside=True) if self.text in WITH_ARRAY else self.node
        for node in (first, self.made(inside=False)):  # or f = np.vectorize(g), called later
            name = root_of(node)
            value = self.value(ast.Name(name)) if name else UNKNOWN
            if value is not UNKNOWN and is_numpys(value) and not isinstance(value, np.vectorize):
                return name
        return ""

    def has_twin(self) -> bool:
        """Tell whether the twin of what was called is right here, or of what has made the array."""
        if self.text in WITH_ARRAY:  # which the function itself has made
            node = self.made(inside=True)
            return isinstance(node, ast.Call) and self.name_of_maker(node) in MAKERS
        if isinstance(self.callee, np.ufunc) or self.name in WITHOUT_TWIN:
            return False
        if self.text in OF_LISTS and isinstance(self.node, ast.Call):
            return any(map(self.is_list, self.node.args))  # and not an array of objects
        return self.text in WITH_TWIN and self.callee is not np.matrix

    def adoption(self, place: int) -> str | None:
        """Return the call that gives a library's module the twins, where these are enough."""
        frame = self.inside[place]
        names, module = globals_at(frame), module_at(frame)
        if not is_foreign(frame) and module.partition(".")[0] not in sys.stdlib_module_names:
            return None
        if vars(sys.modules.get(module, sys)) is not names:
            return None
        if id(names) in ADOPTED or module.startswith("scipy.") or not is_plain_python(names):
            return None
        use = Use(self.how, self.batch, (frame, self.inside[place + 1 :]))
        if self.text == BY_EXPRESSION["a += x"]:
            use.text = self.text
        else:
            use.remedy()
        if use.text not in WITH_ADOPTED and not use.makers_import():
            return None
        return ADOPTION.format(name=module)

    def place(self, frame: Frame) -> str:
        """Return the line of an adopted module that a frame is at, and what to write there."""
        below = self.inside.index(frame) + 1 if frame in self.inside else 0
        advice = Use(self.how, self.batch, (frame, self.inside[below:])).advice()
        return f"in line {line_at(frame)} of {os.path.basename(file_at(frame))}: {advice}"

    def name_of_maker(self, node: ast.Call) -> str:
        """Return the name of the function of NumPy that a call makes an array by."""
        func = self.value(node.func)
        return name_of(func) if func is not UNKNOWN and is_numpys(func) else ""

    def made(self, inside: bool) -> ast.expr | None:
        """Return the expression that made the array, or the function, in question."""
        assert self.frame is not None
        node: Any = self.node
        if isinstance(node, ast.AugAssign):
            node = node.target
        elif isinstance(node, ast.Call):
            out = [word.value for word in node.keywords if word.arg == "out"]
            node = node.args[0] if self.text in FIRST else out[0] if out else node.func
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        if isinstance(node, ast.Call):
            return node
        return value_of(self.frame, node.id, inside) if isinstance(node, ast.Name) else None

    # ---- the remedy, by kinds of expression ----

    def remedy(self) -> str:
        for frame in () if self.is_shown() else self.inside:
            reason = declared_reason(frame)
            if reason:
                return reason
        finders = self.of_labels, self.of_statement, self.of_call, self.of_truth, self.of_library
        for find in () if self.how in ("str", "repr") else finders:
            text = find()
            if text is not None:
                self.text = text
                return text.format(**self.names())
        return GENERAL[self.how].format(**self.names())

    def names(self) -> dict[str, str]:
        """Return the names that may stand in the text of a remedy."""
        name, args, arrays = self.name, "x", ""
        if isinstance(self.node, ast.Call):
            name = name or ast.unparse(self.node.func)
            given = [(ast.unparse(arg), self.is_list(arg)) for arg in self.node.args]
            args = ", ".join([text for text, _ in given])
            arrays = ", ".join([f"functier.numpy.array({s})" if one else s for s, one in given])
        owner, _, last = name.rpartition(".")
        found = {"name": name, "owner": owner, "last": last, "args": args, "arrays": arrays}
        return found | {"array": self.array, "label": self.label}

    def of_labels(self) -> str | None:
        """Return the remedy where an object of another library met the tensor first."""
        for frame in self.inside:
            owner = variables_at(frame).get("self")
            try:
                known = None if owner is None else code_for_array(owner)
            except Exception:  # it is being made, or has the tensor in it
                known = None
            if known is None or function_at(frame) == "__init__":
                continue
            node = self.source_of(owner, function_at(frame).startswith("__r"))
            name = base = "x" if node is None else ast.unparse(node)
            self.label = label_of(owner)
            if isinstance(node, (ast.BinOp, ast.UnaryOp)):
                name = base = f"({name})"
            if isinstance(node, ast.Attribute) and node.attr in ("iloc", "loc", "iat", "at"):
                base = ast.unparse(node.value)
            self.array = base.join(re.split(r"\bx\b", known[1]))
            self.name, self.library = name, ""
            key, func = "labels", getattr(self.node, "func", None)
            if self.stores():
                key = "labels written"
            elif isinstance(self.node, ast.Subscript):
                self.array = f"functier.tensor({self.array})"
            elif isinstance(func, ast.Attribute) and node is func.value:
                if hasattr(np.ndarray, func.attr):
                    self.array = f"functier.tensor({self.array})"
                else:
                    key = "labels method"
            return BY_EXPRESSION[key]
        return None

    def source_of(self, x: Any, right: bool) -> Any:
        """Return the node of the operand `x`, the `right` one of an operator or not, or None."""
        node: Any = self.node
        if isinstance(node, ast.BinOp):
            node = node.right if right else node.left
        elif isinstance(node, ast.Compare):
            node = node.left
        elif isinstance(node, ast.AugAssign):
            node = node.target
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        elif isinstance(node, ast.Call):
            parts = [*node.args, *[word.value for word in node.keywords]]
            of_module = isinstance(self.owner, ModuleType)
            method = getattr(node.func, "value", None) if not of_module else None
            node = next((v for v in parts if self.value(v) is x), method)
        return node if isinstance(node, ast.expr) else None

    def stores(self) -> bool:
        """Return whether the statement assigns to an item."""
        assert self.frame is not None
        at = instruction_at(self.frame)
        return isinstance(self.node, ast.Subscript) and at.startswith("STORE")

    def of_statement(self) -> str | None:
        """Return the remedy for an index, an assignment to an item, or a format."""
        node, how = self.node, self.how
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and how != "bool":
            return BY_EXPRESSION["format"]
        if isinstance(node, ast.BinOp) and how == "numpy.asarray" and self.is_list(node.right):
            return BY_EXPRESSION["operator and a list"]
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
        if not self.stores():
            return of_index(node.slice, self.kind, self.batch)
        named = [part for part in ast.walk(node.value) if isinstance(part, ast.Name)]
        arrays = [part.id for part in named if isinstance(self.value(part), np.ndarray)]
        self.name = arrays[0] if arrays else self.name  # the call of a view
        return BY_EXPRESSION[of_items(self.value(ast.Name(self.name)))]

    def of_call(self) -> str | None:
        """Return the remedy for a function that is known by its name, or by its library."""
        if self.how in ("item", "tolist"):  # the tensor's own method was called
            return None
        name = SAME.get(self.name, self.name)
        (module, _, last), node = name.rpartition("."), self.node
        given = node.args if isinstance(node, ast.Call) else []
        first = given[0] if given else None
        of_array = self.calls_method_of(np.ndarray)
        if self.how == "__index__" and (module.startswith("numpy") or of_array):
            return BY_EXPRESSION["length"]
        if isinstance(node, ast.Call) and any(word.arg == "initial" for word in node.keywords):
            return BY_EXPRESSION["initial="]
        if name == "numpy.array" and self.is_list(first):
            return BY_EXPRESSION[f"numpy.array of {lists_in(first)}"]
        if name in CALLS:
            return CALLS[name]
        if module in ("math", "cmath") and hasattr(np, last):
            return BY_EXPRESSION[module]
        if isinstance(self.callee, type) and issubclass(self.callee, np.generic):
            return BY_EXPRESSION["scalar type"]
        if module.startswith("numpy.testing"):
            return self.of_output()
        if self.callee in UNSUPPORTED:  # of a list that has the tensor
            return reason_in(UNSUPPORTED[self.callee])
        if isinstance(self.callee, (np.ufunc, type(np.sum))) and any(map(self.is_list, given)):
            several = "lists and others" if len(given) > 1 else lists_in(first)
            return BY_EXPRESSION[f"numpy of {several}"]
        if isinstance(self.callee, type(np.sum)) and len(given) == 1:  # an array of objects
            return BY_EXPRESSION["numpy of a list"]
        if isinstance(self.callee, type(np.sum)) and given and self.how == "numpy.asarray":
            return BY_EXPRESSION["numpy function"]
        random = sys.modules.get("numpy.random")  # who draws from it has loaded it
        kinds = () if random is None else (random.Generator, random.RandomState)
        if any(map(self.calls_method_of, kinds)):
            return BY_EXPRESSION["numpy.random"]
        if not of_array:
            return None
        return BY_EXPRESSION[METHODS.get(self.names()["last"], "method")]

    def is_list(self, node: ast.AST | None) -> bool:
        return isinstance(node, (ast.List, ast.Tuple, ast.ListComp)) or isinstance(
            self.value(node), (list, tuple)
        )

    def calls_method_of(self, kind: type) -> bool:
        """Return whether the call may be that of a method of `kind`."""
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
        line = line_of_source(self.frame).lstrip()
        return BY_EXPRESSION["while"] if line.startswith("while ") else None

    def of_library(self) -> str | None:
        """Return the general remedy for a function of another library."""
        if self.is_shown():
            return self.of_output()
        module = self.name.partition(".")[0]
        if self.library.startswith("numpy.ma."):
            return BY_EXPRESSION["numpy.ma"]
        if not self.library or module == "numpy":
            return None
        return BY_EXPRESSION["library" + " of a batch" * self.batch]

    def is_shown(self) -> bool:
        """Tell whether a library that shows or stores values is called, or axes of a figure."""
        homes = self.name, module_of(type(self.owner))
        return not SHOWING.isdisjoint([home.partition(".")[0] for home in homes])

    def of_output(self) -> str:
        return BY_EXPRESSION["output" + " of a batch" * (self.batch or not self.lone)]


def declared_reason(frame: Frame) -> str:
    """Return the declared reason where a frame runs an unsupported function, else an empty text."""
    load(module_at(frame).rpartition(".")[0])
    for func, reason in UNSUPPORTED.items():
        # Several functions may have the code of one wrapper, which says nothing of them.
        if runs(frame, func) and not hasattr(func, "__wrapped__"):
            return reason_in(reason)
    return ""
