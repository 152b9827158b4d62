"""Keywords of public functions: an unknown one is answered with the one to write."""

import difflib
import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, TypeVar

from .peers import KEYWORDS, LEFT_OUT, PRIMALS
from .tracebacks import leave

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
