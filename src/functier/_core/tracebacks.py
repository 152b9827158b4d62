"""Errors that leave functier: their tracebacks, their notes, and answers to unknown keywords.

NOTE [frames that are hidden]
    A traceback has one entry for each frame that an error has passed. Where it leaves the call of
    a transform, `leave` takes out the entries of functier's own code, also those of its causes,
    so that the last line is the user's. The handler is ``except BaseException as error:
    leave(error, ...); raise`` in the outermost function of the call: a bare ``raise`` makes no new
    entry, and a ``try`` that nothing is raised in costs nothing. The list of entries is made
    anew, as somebody else may hold the old one.
"""

import ast
import difflib
import functools
import inspect
import re
from collections.abc import Callable
from inspect import Parameter
from typing import Any, TypeVar

from .._cpython.frames import (
    file_at,
    frames_of,
    globals_at,
    hide_frames,
    is_foreign,
    is_of_library,
    is_own,
    is_raised_here,
    line_at,
    module_at,
    variables_at,
)
from .._cpython.sources import is_extension
from .adopted import ADOPTED
from .errors import ConversionError, LevelError, NoRuleError, UnsupportedError, shows_frames
from .hints import Use
from .peers import KEYWORDS, LEFT_OUT, PRIMALS, explain_keyword
from .pytree import describe, is_value, short_form
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


def explain_json(error: Exception, label: str) -> None:
    """Say in the message of `json` what to write, where it met a tensor in the call of `label`."""
    if re.fullmatch(r"Object of type (float|\w+\(.*\)) is not JSON serializable", str(error)):
        text = BY_EXPRESSION["output of a batch"].format(name="json.dumps")
        if not label.startswith(("vmap(", "compile(", "trace(")):
            text = f"float(functier.stop_gradient(x)) for a number x in json.dumps(...), or {text}"
        error.args = (f"{error}; write {text}",)


REFUSALS = ConversionError, NoRuleError, UnsupportedError
"""The errors of code that a level cannot follow, and a black box need not."""


def leave(
    error: BaseException, label: str = "", func: Any = None, args: tuple = (),
    kwargs: dict | None = None,
) -> None:  # fmt: skip
    """Hide functier's frames in the traceback of an error that leaves the call of a transform.

    With a `label`, add a note with the forms of the arguments to errors that are not functier's
    own, and one with a remedy to those of compiled code that got a tensor.
    """
    if label and isinstance(error, Exception):
        try:
            _add_note(error, label, func, args, kwargs or {})
        except Exception:  # of a class with its own words or arguments; that error must come out
            pass
    if not shows_frames():
        hide_frames(error)


def _add_note(error: Exception, label: str, func: Any, args: tuple, kwargs: dict) -> None:
    """Add a note with the transform and its arguments, unless the error has it."""
    notes, refused = [""], isinstance(error, REFUSALS)
    if is_raised_here(error):
        refused = refused or type(error) is TypeError
    elif not isinstance(error, LevelError):
        given = ", ".join(f"{name}: {_form(x)}" for name, x in named_arguments(func, args, kwargs))
        note = f"{label} got {given}" if given else f"{label} was called"
        if given and label.startswith("vmap(") and isinstance(error, IndexError):  # also AxisError
            note += "; it sees one example at a time, without the axes that are mapped"
        explain_json(error, label)
        notes = [explain_compiled(error), explain_keyword(error)]
        notes += [] if label in str(error) else [note]
    if refused or notes[0]:
        notes.insert(1, explain_adopted(error))
    for text in notes:
        if text and text not in getattr(error, "__notes__", ()):
            error.add_note(text)


def named_arguments(func: Any, args: tuple, kwargs: dict) -> list[tuple[str, Any]]:
    """Return the arguments of a call with their names; by position where there are none."""
    try:
        return [*inspect.signature(func).bind(*args, **kwargs).arguments.items()]
    except (TypeError, ValueError):
        return [*[(f"args[{i}]", x) for i, x in enumerate(args)], *kwargs.items()]


def _form(x: Any) -> str:
    """Return the form of an argument in a few words."""
    text = short_form(x) if is_value(x) else describe(x)
    return text if len(text) < 100 and "\n" not in text else type(x).__name__


F = TypeVar("F", bound=Callable[..., Any])


def checks_keywords(function: F) -> F:
    """Decorate a public function, whose errors then end with the line that calls it.

    An unknown keyword is answered with the one that it has. The frame of the function's caller is
    ``sys._getframe(2)`` inside it.
    """
    parameters = inspect.signature(function).parameters
    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    known = {name for name, p in parameters.items() if p.kind in named}
    checked = all(p.kind != Parameter.VAR_KEYWORD for p in parameters.values())

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs and checked and not kwargs.keys() <= known:
                unknown = next(name for name in kwargs if name not in known)
                raise TypeError(_refusal(function.__name__, unknown, parameters, known))
            return function(*args, **kwargs)
        except BaseException as error:
            if type(error) is TypeError and kwargs.keys() <= known:
                _explain_misfit(error, function, args, kwargs)
            leave(error)
            raise

    return call  # type: ignore[return-value]


def second_call(label: str) -> str:
    """Return what to write where a transform was given the arguments of the function, too."""
    name = label.partition("(")[0]
    return f"pass the arguments of the function in a second call, {name}(f)(x)"


def _explain_misfit(error: TypeError, function: Callable, args: tuple, kwargs: dict) -> None:
    """Give an error a message, where a transform was given too few or too many arguments."""
    name, signature = function.__name__, inspect.signature(function)
    kinds = [p.kind for p in signature.parameters.values()]
    try:
        signature.bind(*args, **kwargs)
    except TypeError as misfit:
        if name in PRIMALS:
            write = PRIMALS[name].replace("lambda x: f(x, y)", "f")
            error.args = (f"{name}: {misfit}; write {write}",)
        elif kinds.count(Parameter.POSITIONAL_OR_KEYWORD) == 1 and len(args) > 1:
            error.args = (f"{name}: {misfit}; {second_call(name)}",)


def _refusal(function: str, name: str, parameters: Any, known: set[str]) -> str:
    """Return the message for a keyword that a function does not have."""
    if name in parameters:
        return f"{function}() takes {name!r} by position; write it without {name}="
    own = [n for n in KEYWORDS.get(name, "").split() if n in parameters]
    positional = [n for n in own if n not in known]
    if function in PRIMALS and name in ("argnum", "argnums", "argnames"):
        hint = f"it differentiates with respect to all its primals; write {PRIMALS[function]}"
    elif positional:
        hint = f"write its {positional[0]} by position"
    elif own:
        hint = f"write {own[0]}="
    elif name in LEFT_OUT:
        hint = f"leave it out: {LEFT_OUT[name]}"
    elif close := difflib.get_close_matches(name, sorted(known), 1, 0.8):
        hint = f"write {close[0]}="
    elif known:
        hint = f"it has {', '.join(n for n in parameters if n in known)}"
    else:
        hint = "it has none"
    return f"{function}() has no argument {name!r}; {hint}"
