"""Statements of the package, by function and text, and what can be changed in each."""

import ast
import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"

INNER = {
    "scipy._rules", "_transforms.chunks", "_transforms.tracing", "_transforms.sparse",
    "_programs.machine",
}  # fmt: skip
"""Folders inside a room that are rooms themselves."""


@dataclass(frozen=True)
class Statement:
    """One statement of one function; of a compound statement its head alone.

    Attributes
    ----------
    module, function : str
        Where it stands; ``"<module>"`` for one outside of functions.
    text : str
        The statement as `ast.unparse` writes it, without the statements inside it.
    number : int
        Which one it is of those of this function that have the same text, from 0.
    lines : int
        How many lines it has.
    """

    module: str
    function: str
    text: str
    number: int
    lines: int

    @property
    def room(self) -> str:
        """The folder or file right in the package, or one of the rooms inside another."""
        parts = self.module.split(".")[1:]
        inside = ".".join(parts[:2])
        return inside if inside in INNER else parts[0] if parts else "__init__"


def path_of(module: str) -> Path:
    """Return the file of a module of the package."""
    path = SOURCES.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def modules() -> list[str]:
    """Return the names of all modules of the package."""
    found = []
    for path in sorted((SOURCES / "functier").rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def statements(module: str, tree: ast.Module) -> Iterator[tuple[Statement, ast.stmt]]:
    """Yield the statements of a module that do something, with their nodes."""
    seen: dict[tuple[str, str], int] = {}
    for function, node in _walk(tree.body, ()):
        text = ast.unparse(head_of(node))
        number = seen.get((function, text), 0)
        seen[function, text] = number + 1
        last = max(getattr(n, "end_lineno", None) or 0 for n in ast.walk(head_of(node)))
        yield (Statement(module, function, text, number, max(last - node.lineno + 1, 1)), node)


PLAIN = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass, ast.ClassDef, ast.Try)
BODIES = "body", "orelse", "finalbody", "handlers", "cases"


def _walk(body: list, names: tuple[str, ...]) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        inner = names
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            inner = (*names, node.name)
        elif isinstance(node, ast.stmt) and not isinstance(node, PLAIN) and not _is_text(node):
            yield ".".join(names) or "<module>", node
        for field in BODIES:
            parts = getattr(node, field, None)
            if isinstance(parts, list):
                yield from _walk(parts, inner)


def _is_text(node: ast.stmt) -> bool:
    """Tell if a statement is a docstring or another bare constant, or for type checkers alone."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def head_of(node: ast.stmt) -> ast.stmt:
    """Return a statement without the statements inside it."""
    if not any(isinstance(getattr(node, field, None), list) for field in BODIES):
        return node
    head = copy.copy(node)
    for field in BODIES:
        if isinstance(getattr(node, field, None), list):
            setattr(head, field, [ast.Pass()] if field == "body" else [])
    return head


# ---- changes ----

SWAPPED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
"""Each operator and the one that replaces it."""

GONE = (ast.Expr, ast.AugAssign, ast.Delete, ast.Raise, ast.Continue, ast.Break)
"""Statements that may be left out; an assignment to a name may not, as each test would see it."""


def changes(node: ast.stmt) -> list[tuple[str, Callable[[ast.stmt], ast.stmt]]]:
    """Return what can be changed in a statement: words for it, and a function that does it.

    The function takes the statement's node in a tree, may write to it, and returns what replaces
    it.
    """
    found: list = []
    if _in_function(node) and isinstance(node, GONE):
        found.append(("left out", lambda node: ast.Pass()))
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], (ast.Name, ast.Tuple)):
        found.append(("left out", lambda node: ast.Pass()))
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        found.append(("returns None", lambda node: ast.Return(ast.Constant(None))))
    if isinstance(node, ast.If):
        found.append(("the condition is negated", _negated))
    parts = [] if isinstance(node, ast.Raise) else list(enumerate(ast.walk(head_of(node))))
    for i, part in parts:
        for words, change in _changes_of(part):
            found.append((f"{words} in {_short(part)}", functools.partial(_inside, i, change)))
    return found


def _inside(i: int, change: Callable, node: ast.stmt) -> ast.stmt:
    change(list(ast.walk(head_of(node)))[i])
    return node


def _in_function(node: ast.stmt) -> bool:
    return node.col_offset > 0


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _short(part: ast.AST) -> str:
    text = ast.unparse(part)
    return text if len(text) < 70 else f"{text[:70]}..."


def _negated(node):
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def _changes_of(part: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """Yield the changes of one expression."""
    match part:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            yield _of(SWAPPED[type(op)]), lambda p: setattr(p, "ops", [SWAPPED[type(p.ops[0])]()])
        case ast.BoolOp():
            yield _of(SWAPPED[type(part.op)]), _operator
            yield "without the last", _without_last
        case ast.BinOp() if type(part.op) in SWAPPED and not _of_texts(part):
            yield _of(SWAPPED[type(part.op)]), _operator
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield "without the sign", _signless
        case ast.IfExp():
            yield "branches swapped", _branches
        case ast.Constant(value=bool()):
            yield "the other", lambda p: setattr(p, "value", not p.value)
        case ast.Constant(value=int() | float()):
            yield "one more", lambda p: setattr(p, "value", p.value + 1)
        case ast.Call():
            for i, word in enumerate(part.keywords):
                if word.arg is not None:
                    yield f"without {word.arg}=", lambda p, i=i: p.keywords.pop(i)
            if _has_an_order(part):
                yield "two arguments swapped", _arguments
        case ast.Dict() if len(part.keys) > 1:
            yield "without the last item", lambda p: (p.keys.pop(), p.values.pop())
        case ast.Set() | ast.List() if len(part.elts) > 1:
            yield "without the last item", lambda p: p.elts.pop()


COMMUTATIVE = {
    "logical_and", "logical_or", "bitwise_and", "bitwise_or", "add", "multiply", "maximum",
    "minimum", "max", "min", "array_equal", "broadcast_shapes", "result_type", "promote_types",
    "isclose", "hypot", "gcd",
}  # fmt: skip
"""Functions of which two arguments may be swapped, by the last part of their names."""


def _has_an_order(part: ast.Call) -> bool:
    """Tell if two first arguments of a call are not the same, and may not be swapped."""
    if len(part.args) < 2 or any(isinstance(a, ast.Starred) for a in part.args):
        return False
    if ast.unparse(part.func).rpartition(".")[2] in COMMUTATIVE:
        return False
    return ast.dump(part.args[0]) != ast.dump(part.args[1])


def _of(kind: type) -> str:
    return f"{kind.__name__} instead"


def _of_texts(part: ast.BinOp) -> bool:
    return any(
        isinstance(p, ast.JoinedStr) or (isinstance(p, ast.Constant) and isinstance(p.value, str))
        for p in ast.walk(part)
    )


def _without_last(part):
    part.values[-1] = ast.Constant(isinstance(part.op, ast.And))


def _operator(part):
    part.op = SWAPPED[type(part.op)]()


def _signless(part):
    if isinstance(part.op, ast.Not):
        part.operand = ast.UnaryOp(ast.Not(), part.operand)
    else:
        part.op = ast.UAdd()


def _branches(part):
    part.body, part.orelse = part.orelse, part.body


def _arguments(part):
    part.args[:2] = part.args[1::-1]
