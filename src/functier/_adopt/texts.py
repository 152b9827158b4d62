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
"""

import ast
import logging
import re
import warnings
from inspect import getattr_static
from opcode import opname
from typing import Any

import numpy as np

from .._core.adopted import RECORDS, SOURCES
from .._core.agreement import agreed, examples_of
from .._core.errors import ConversionError
from .._core.frames import adopted_frame, asking_frames, is_own
from .._core.imports import has_source, node_at, nodes_at
from .._core.subclasses import OVER_TENSORS
from .._levels.lineage import levels_of
from .values import class_of, in_level, is_python, settle

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
    "repr(x), also in the text of a list, depends on whether x is a number of Python's or NumPy's, "
    "which is not known; write float(x) or numpy.{name}(x) for x in the text, or str(x)"
)

OF_LIBRARY = (
    "a library asks for the text of x, which it may do as x is not the float that it is in the "
    "plain run; give it float(x) for x"
)


def text_of(x: Any, form: Any, frame: Any, spec: str = "") -> str | None:
    """Return ``form(x)`` or ``format(x, spec)``: see NOTE [a text has no derivative].

    None stands for a description, also for code that is not adopted. With `float`, a text by ``%``
    asks for digits.
    """
    described = is_own(frame) and _formats(frame)  # as in a message, and not called back
    asked = bool(asking_frames()[1])
    frame = None if described else adopted_frame()
    if frame is None:
        return None
    kind = x.__class__ if type(x) in OVER_TENSORS else class_of(x)
    array, x = issubclass(kind, np.ndarray), settle(x)
    if not in_level(x):
        return form(x.view(kind)) if type(x) is np.ndarray and not spec else None
    codes = RECORDS[id(frame.f_globals)].codes  # adoption has changed names in them
    own = SOURCES.get(frame.f_code, frame.f_code)
    code = codes.get(id(own), (None, own))[1]
    level, known = x.level, has_source(frame, code)
    shown = known and _is_shown(frame)
    free = shown or x.dtype.kind not in "fc" or examples_of(x, False) is not None
    try:
        if spec:
            text = level.convert(x, "format", spec)
            left = getattr(node_at(frame) if known else None, "left", None)
            found = PERCENT.findall(str(getattr(left, "value", _value(left, frame))))
            specs = [spec] if form is str else found
            if free or max([_digits(wanted, x) for wanted in specs], default=99) <= 14:
                return text
        elif free:
            level = next((outer for outer in levels_of(type(x)) if outer.kind.guards), level)
            python = not array and form is repr and (np.generic not in kind.__mro__ or is_python(x))
            asked = asked and x.dtype.kind in "fc"  # NumPy's numbers are floats of Python's, too
            if (asked or python is None) and not shown:
                why = OF_LIBRARY if asked else OF_EITHER.format(name=x.dtype)
                raise level.refusal(ConversionError, why)
            y = None if level.kind.guards or python is None else agreed(x, True)
            if y is not None:
                return form(np.asarray(y).view(kind) if array else y.item() if python else y)
        return None if shown else level.convert(x, "repr" if form is repr else "str")
    except ConversionError as error:
        level.unanswered = error  # the code may catch it, and go on
        raise


def _digits(spec: str, x: Any) -> int:
    """Return how many digits of a tensor a format gives."""
    found = re.fullmatch(r"[^*.]*(\.(\d+)[a-zA-Z%]?|[a-zA-Z%])", spec)
    number = x.dtype.type(x.level.convert(x, "format", ".17g"))
    text = format(number, found[1] if found else "").lower().partition("e")[0].lstrip("-0.")
    return max(int(found[2] or 6), sum(map(str.isdigit, text))) if found else 99


def _formats(frame: Any) -> bool:
    """Tell if a frame is at a part of an f-string."""
    return opname[frame.f_code.co_code[frame.f_lasti]].startswith(("FORMAT", "CONVERT"))


def _is_shown(frame: Any) -> bool:
    """Tell if people alone read the text that a frame is making."""
    shown, nodes = False, nodes_at(frame)
    # "%s" % (x,) is compiled as an f-string, whose part x is not a text
    for outer, node in zip([None, *nodes], nodes[: len(nodes) - _formats(frame)]):
        shown = shown or getattr(outer, "msg", None) is node  # of an assert statement
        shown = (shown and _is_text(node, frame)) or _shows(node, outer, frame)
    return shown


def _shows(node: Any, outer: Any, frame: Any) -> bool:
    """Tell if a call shows what it is given, and nothing reads it first."""
    callee = _value(getattr(node, "func", None), frame)
    words = [word.value for word in getattr(node, "keywords", ()) if word.arg not in WORDS]
    if any([callee is shown for shown in SHOWING]):
        return not words
    warns = callee is warnings.warn
    kinds = [_value(k, frame) for k in [*node.args[1:2], *words]] if warns else [callee]
    plain = [type(k) is type and (type(k.__init__), type(k.__new__)) == PLAIN for k in kinds]  # type: ignore[misc]
    return all(plain) and (warns or isinstance(outer, ast.Raise))


def _is_text(node: Any, frame: Any) -> bool:
    """Tell if builtins alone make an expression, a text or a tuple, of its parts."""
    match node:
        case ast.BinOp(a, ast.Add(), b):
            return _is_text(a, frame) and _is_text(b, frame)
        case ast.BinOp(a, ast.Mod()) | ast.Attribute(a, "format") | ast.Call(a):
            return _is_text(a, frame)
        case ast.JoinedStr() | ast.FormattedValue() | ast.Tuple() | ast.keyword():
            return True
    found = getattr(node, "value", _value(node, frame))
    return type(found) is str or found is str or found is repr


def _value(node: Any, frame: Any) -> Any:
    """Return the object behind a name, or its attribute, without running code; or None."""
    if isinstance(node, ast.Attribute):
        return getattr_static(_value(node.value, frame), node.attr, None)
    name = getattr(node, "id", None)
    return frame.f_locals.get(name, frame.f_globals.get(name, frame.f_builtins.get(name)))
