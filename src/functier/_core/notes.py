"""Messages where no conversion was refused: of a write to a plain array, and of compiled code that
took a tensor for something else and raised its own error.
"""

import ast

from .._cpython.frames import (
    file_at,
    frames_of,
    globals_at,
    is_foreign,
    is_of_library,
    is_own,
    line_at,
    module_at,
    variables_at,
)
from .._cpython.sources import is_extension
from .adopted import ADOPTED
from .hints import Use
from .remedies import BY_EXPRESSION, of_items
from .tensor import Tensor


def explain_write(call: str) -> tuple[str, str]:
    """Return who writes a tensor to a plain array by ``call(..., out=a)``, and what to write."""
    asked, key, names = f"{call}(..., out=a)", "out=", {"name": call}
    try:
        use = Use("numpy.asarray", False)
        node = use.node
        if isinstance(node, ast.AugAssign):
            asked = ast.unparse(node)
            base: ast.expr = node.target
            while isinstance(base, ast.Subscript):
                base = base.value
            items = base is not node.target and not isinstance(use.value(base), (list, dict))
            left = ast.unparse(base if items else node.target)
            key = of_items(use.value(base)) if items else "a += x"
            value = ast.BinOp(node.target, node.op, node.value)
            names = {"name": left, "args": ast.unparse(value)}
        use.text = BY_EXPRESSION[key] if key != "out=" else BY_EXPRESSION["a += x"]
        change = use.change()
    except Exception:  # the error that is being made must come out
        change = None
    text = BY_EXPRESSION[key].format(**names)
    if change and any(map(is_foreign, use.inside)):
        text, change = change, None
    return asked, f"{text}, or {change}" if change else text


SIZES = {
    "size": "NumPy's x.size is a number; write x.shape[0] for x.size(0)",
    "shape": "NumPy's x.shape is a tuple; write x.shape[0] for x.shape(0)",
}
"""Attributes that are methods elsewhere, with the note for those who call them."""

NUMBA = (
    "Numba compiles for plain arrays; write h.py_func(x) for a compiled function h, or "
    "functier.adopt('__main__') before, with the name of the module that calls it"
)


UNCHANGED = (
    "line {line} of {file} may stay as it is: write g = functier.finite_difference(f) and g(x) for "
    "your function f that calls it, with derivatives by differences, and a batch as a loop"
)
"""The remedy for those who cannot change a line of adopted code."""


def explain_adopted(error: BaseException) -> str:
    """Return a note for an error that a tensor has caused in the adopted code of a library."""
    for frame in reversed(frames_of(error)):
        if id(globals_at(frame)) in ADOPTED:
            file = file_at(frame).rpartition("/")[2]
            return UNCHANGED.format(line=line_at(frame), file=file) if is_foreign(frame) else ""
        if not (is_own(frame) or is_of_library(frame) or is_extension(module_at(frame))):
            break
    return ""


def explain_compiled(error: BaseException) -> str:
    """Return a note for an error of code that got a tensor and took it for something else."""
    if type(error).__module__.startswith("numba.") and "functier " in str(error):
        return NUMBA
    frames = frames_of(error)
    while frames and is_extension(module_at(frames[-1])):  # as Cython adds them
        frames.pop()
    if not frames or is_own(frames[-1]):
        return ""
    call = Use("numpy.asarray", False, (frames[-1], []))
    called = getattr(call.node, "func", None)
    if str(error).endswith("object is not callable") and isinstance(called, ast.Attribute):
        return SIZES.get(called.attr, "") if isinstance(call.owner, Tensor) else ""
    if not call.library or not isinstance(call.node, ast.Call):
        return ""
    given = [*call.node.args, *[word.value for word in call.node.keywords]]
    values = {ast.unparse(node): call.value(node) for node in given}
    values |= variables_at(frames[-1])
    found = [(name, x) for name, x in values.items() if isinstance(x, Tensor) and x.level.depth]
    if not found:
        return ""
    name, x = found[0]
    inside: list = []
    while frames and is_of_library(frames[-1]) and not is_own(frames[-1]):
        inside.insert(0, frames.pop())
    frame = frames[-1] if frames and not is_own(frames[-1]) else None
    use = Use("numpy.asarray", x.level.kind.batches, (frame, inside))
    who = call.library
    if inside:
        place = f"line {line_at(inside[-1])} of {file_at(inside[-1]).rpartition('/')[2]}"
        who += f", which {use.library} calls in {place},"
    return f"{who} takes plain arrays, and {name} is a tensor of {x.level}; write {use.advice()}"
