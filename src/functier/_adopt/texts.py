"""Texts of tensors that adopted code makes: what the plain run has, or they are refused.

NOTE [a text has no derivative]
    By a text, code may look something up, or read the number again. So a text with all digits of a
    number that has a derivative, or that differs from example to example, is refused, unless people
    alone read it. They have the text of the plain run, or a description where there is no such
    text, as of a batch. A format of fewer than 15 digits rounds, as `numpy.round` does, and the
    derivative of that is zero.

NOTE [handed straight to people]
    The source tells who reads a text, where it gives the code object that runs: the expressions
    around the place that this has for a frame. A text is shown if texts alone, and tuples, lead
    from it to a call of `print`, logging or `warnings.warn`, to an exception that is raised, or to
    the message of an ``assert``. Names are looked up in the frame without running code. All else
    is refused.

NOTE [caught, and read]
    Code may read the text of an exception, or of a warning, that it catches. So that is shown only
    where no code between it and the outermost transform has a name for what it catches: no
    ``except ... as error``, and no ``with`` block but of Python's library or NumPy's.
"""

import ast
import logging
import re
import warnings
from inspect import getattr_static
from itertools import pairwise
from traceback import walk_stack
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.adopted import ADOPTED
from .._core.agreement import agreed, examples_of
from .._core.errors import ConversionError
from .._core.subclasses import OVER_TENSORS
from .._cpython.code import has_handlers
from .._cpython.frames import (
    asking_frames,
    code_at,
    globals_at,
    instruction_at,
    is_own,
    namespaces_at,
    runs,
)
from .._cpython.functions import SOURCES
from .._cpython.sources import has_source, node_at, nodes_at, root_of
from .._levels.lineage import levels_of
from .._levels.runs import run
from .python_numbers import class_of, in_level, is_python
from .search import RECORDS
from .values import settle

NAMES = "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "fatal"
LOGGERS = logging, logging.Logger, logging.LoggerAdapter
SHOWING = [print, *[vars(x)[name] for x in LOGGERS for name in NAMES if name in vars(x)]]
WORDS = "end", "sep", "flush", "exc_info", "message", "stacklevel"
"""Functions that show what they are given, and keywords that do not change what becomes of it."""

PERCENT = re.compile(r"%(?:\(.*?\))?([^a-zA-Z%]*[hlL]?[eEfFgG])", re.DOTALL)
"""The formats of numbers in a text before the operator ``%``."""

PLAIN = type(object.__init__), type(object.__new__)
"""The classes of methods that are not written in Python."""

OF_EITHER = (
    "repr(x), in a list too, or where a library asks for it, depends on whether x is a number of "
    "Python's or NumPy's, which is not known; write float(x) or numpy.{name}(x) for x in the text, "
    "or str(x)"
)


def text_of(x: Any, form: Any, frame: Any, spec: str = "") -> str | None:
    """Return ``form(x)`` or ``format(x, spec)``: see NOTE [a text has no derivative].

    None stands for a description, also for code that is not adopted. With `float`, a text by ``%``
    asks for digits.
    """
    # a part of functier's f-string is described, as in a message; what it calls back is not
    frame = None if is_own(frame) and _formats(frame) else ADOPTED.frame()
    if frame is None:
        return None
    kind = x.__class__ if type(x) in OVER_TENSORS else class_of(x)
    array, x = issubclass(kind, np.ndarray), settle(x)
    if not in_level(x):
        return form(x.view(kind)) if type(x) is np.ndarray and not spec else None
    level, own = x.level, SOURCES.get(code_at(frame), code_at(frame))
    # adoption has changed names in the code
    known = has_source(frame, RECORDS[id(globals_at(frame))].codes.get(id(own), (None, own))[1])
    shown = known and _is_shown(frame)
    free = shown or x.dtype.kind not in "fc" or examples_of(x, False, noted=False) is not None
    try:
        if spec:
            if shown and (y := agreed(x, noted=False)) is not None:
                return format(y[()], spec)  # which no program has
            text = level.convert(x, "format", spec)
            left = getattr(node_at(frame) if known else None, "left", None)
            specs = [spec] if form is str else PERCENT.findall(str(_value(left, frame)))
            read = x.dtype.type(text) if form is float and not free else text
            if free or max([_digits(wanted, read) for wanted in specs], default=99) <= 14:
                return text
        elif free:
            level = next((outer for outer in levels_of(type(x)) if outer.kind.guards), level)
            python = not array and form is repr and (np.generic not in kind.__mro__ or is_python(x))
            # a library asks; NumPy's numbers are floats of Python's, too
            if (python is None or (asking_frames()[1] and x.dtype.kind in "fc")) and not shown:
                raise level.refusal(ConversionError, OF_EITHER.format(name=x.dtype))
            if not level.kind.guards and python is not None and (y := agreed(x, True)) is not None:
                return form(np.asarray(y).view(kind) if array else y.item() if python else y)
        return None if shown else level.convert(x, "repr" if form is repr else "str")
    except ConversionError as error:
        level.unanswered = error  # the code may catch it, and go on
        raise


def _digits(spec: str, x: Any) -> int:
    """Return how many digits a format gives of a number, or has given in a text."""
    found = re.fullmatch(r"[^*.]*(\.(\d+)[a-zA-Z%]?|[a-zA-Z%])", spec)
    text = x if type(x) is str else format(x, found[1] if found else "")
    text = text.lower().partition("e")[0].lstrip("+-0. ")
    return max(int(found[2] or 6), sum(map(str.isdigit, text))) if found else 99


def _formats(frame: Any) -> bool:
    """Return whether a frame is at a part of an f-string."""
    return instruction_at(frame).startswith(("FORMAT", "CONVERT"))


def _is_shown(frame: Any) -> bool:
    """Return whether people alone read the text that a frame is making."""
    shown, nodes = False, nodes_at(frame)
    # "%s" % (x,) is compiled as an f-string, whose part x is not a text
    for outer, node in zip([None, *nodes], nodes[: len(nodes) - _formats(frame)]):
        message = getattr(outer, "msg", None) is node or _is_kept_for_people(outer, nodes)
        shown = shown or (message and not _is_caught(frame))
        shown = (shown and _is_text(node, frame)) or _shows(node, outer, frame)
    return shown


def _is_kept_for_people(statement: Any, nodes: list) -> bool:
    """Return whether a statement gives a name to a text that the function has for ``assert`` alone.

    It may ask if the text is empty, which it never is. Nothing in the function may catch the error,
    or see its variables.
    """
    match statement:
        case ast.Assign([ast.Name(name)], value):
            pass
        case _:
            return False
    home: Any = next((x for x in nodes[::-1] if isinstance(x, ast.FunctionDef)), ast.Pass())
    parts = list(ast.walk(home))
    told = {id(x.msg) for x in parts if isinstance(x, ast.Assert)}
    if isinstance(value, ast.JoinedStr) and any(
        [isinstance(x, ast.Constant) for x in value.values]
    ):
        told |= {id(x.test) for x in parts if isinstance(x, (ast.If, ast.IfExp, ast.While))}
    used = [x for x in parts if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)]
    catching = ast.Try, ast.TryStar, ast.With, ast.AsyncWith
    others = *catching, ast.Global, ast.Nonlocal, ast.Lambda, ast.FunctionDef
    return (
        all([id(x) in told for x in used if x.id == name])
        and not any([isinstance(x, others) for x in parts if x is not home])
        and not any([x.id in ("locals", "vars", "eval", "exec") for x in used])
    )


def _shows(node: Any, outer: Any, frame: Any) -> bool:
    """Return whether a call shows what it is given, and nothing reads it first."""
    callee = _value(getattr(node, "func", None), frame)
    words = [word.value for word in getattr(node, "keywords", ()) if word.arg not in WORDS]
    if any([callee is shown for shown in SHOWING]):
        return not words
    warns = callee is warnings.warn
    kinds = [_value(k, frame) for k in [*node.args[1:2], *words]] if warns else [callee]
    plain = [type(k) is type and (type(k.__init__), type(k.__new__)) == PLAIN for k in kinds]  # type: ignore[misc]
    return all(plain) and (warns or isinstance(outer, ast.Raise)) and not _is_caught(frame)


def _is_caught(frame: Any) -> bool:
    """Return whether code inside of a transform may read a text that a frame raises or warns of."""
    frames = [outer for outer, _ in walk_stack(frame)]
    ends = [i for i, outer in enumerate(frames) if runs(outer, run)]
    return any(map(_catches, frames[: max(ends, default=len(frames))]))


def _catches(frame: Any) -> bool:
    """Return whether a frame may have a name for an exception that it catches at its place."""
    known = is_own(frame) or not has_handlers(code_at(frame))
    nodes = [] if known else [x for x in nodes_at(frame) if isinstance(x, ast.stmt)]
    tried = [outer for outer, node in pairwise(nodes) if node in getattr(outer, "body", ())]
    named = [handler.name for outer in tried for handler in getattr(outer, "handlers", ())]
    blocks = [item.context_expr for outer in tried for item in getattr(outer, "items", ())]
    strange = [globals_at(frame).get(root_of(block)) not in (np, fnp) for block in blocks]
    return not known and (not nodes or any(named) or any(strange))


def _is_text(node: Any, frame: Any) -> bool:
    """Return whether builtins alone make an expression, a text or a tuple, of its parts."""
    match node:
        case ast.BinOp(a, ast.Add(), b):
            return _is_text(a, frame) and _is_text(b, frame)
        case ast.BinOp(a, ast.Mod()) | ast.Attribute(a, "format") | ast.Call(a):
            return _is_text(a, frame)
    made = isinstance(node, ast.JoinedStr | ast.FormattedValue | ast.Tuple | ast.keyword)
    found = _value(node, frame)
    return made or type(found) is str or found is str or found is repr


def _value(node: Any, frame: Any) -> Any:
    """Return a constant, or the object behind a name or its attribute, without running code."""
    if isinstance(node, ast.Attribute):
        return getattr_static(_value(node.value, frame), node.attr, None)
    name: Any = getattr(node, "id", None)
    found = next((space[name] for space in namespaces_at(frame) if name in space), None)
    return getattr(node, "value", found)
