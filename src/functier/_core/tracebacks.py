"""Tracebacks of errors that leave a transform: without functier's frames, and with a note.

NOTE [frames that are hidden]
    A traceback has one entry for each frame that an error has passed. Where it leaves the call of
    a transform, `leave` takes out the entries of functier's own code, also those of its causes,
    so that the last line is the user's. The handler is ``except BaseException as error:
    leave(error, ...); raise`` in the outermost function of the call: a bare ``raise`` makes no new
    entry, and a ``try`` that nothing is raised in costs nothing. The list of entries is made
    anew, as somebody else may hold the old one.

Imports `errors`, `hidden_frames`, `notes`, `peers` and `pytree`.
"""

import inspect
from typing import Any

from .._cpython.frames import hide_frames, is_raised_here
from .errors import ConversionError, LevelError, NoRuleError, UnsupportedError
from .hidden_frames import shows_frames
from .notes import explain_adopted, explain_compiled
from .peers import explain_keyword
from .pytree import describe, is_value, short_form

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
