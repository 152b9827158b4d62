"""Questions about a value of a trace that Python does not ask by a call: its class, texts, flags.

NOTE [as the plain function]
    ``isinstance(x, np.ndarray)`` asks for ``type(x)``, and then for ``x.__class__``. The latter is
    the class of the value, for all code but that of functier, NumPy and SciPy. A text is that of
    the value, and a guard. Tensors of inner levels answer as they do without a trace.
"""

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.tensor import Tensor
from .._cpython.frames import caller_of, current_frame, file_at, globals_at, outside
from .._cpython.homes import home_of
from .._cpython.sources import node_at
from .graph import Guard

ndarray = np.ndarray
HERE = __name__.partition(".")[0]
LIBRARIES = "numpy", "scipy"


def class_of(x: Any) -> type:
    """Return what ``x.__class__`` is: of a trace, that of its value for other libraries, too."""
    frame, level = current_frame(1), x.level
    internal = not level.guards or is_internal(globals_at(frame).get("__name__", ""))
    if internal and not ADOPTED.asks_for_likeness(frame):  # or it has ended
        return type(x)
    return level.class_of(x)


def text_of(x: Any, how: str, *spec: str) -> str:
    """Return a text of a tensor: the answer of its value, or a description."""
    level = x.level
    if level.guards and not (ADOPTED and is_of_adopted(current_frame(2))):
        return level.text(x, how, *spec)
    return getattr(Tensor, f"__{how}__")(x, *spec)


def takes_items() -> bool:
    """Tell if code that is neither functier's nor NumPy's takes items of an array by a tensor."""
    frame = outside(current_frame(1), (HERE, "numpy"))
    try:
        return frame is not None and isinstance(node_at(frame), ast.Subscript)
    except Exception:  # there is no source
        return False


def is_of_adopted(frame: Any) -> bool:
    """Return whether the code of the user's that has led to a frame is adopted."""
    while frame is not None and id(globals_at(frame)) not in ADOPTED:
        if home_of(file_at(frame)) == "user":
            return False
        frame = caller_of(frame)
    return frame is not None


ANSWERS: dict[str, Any] = {
    "__class__": property(class_of, vars(object)["__class__"].__set__),
    "__str__": lambda x: text_of(x, "str"),
    "__repr__": lambda x: text_of(x, "repr"),
    "__format__": lambda x, spec: text_of(x, "format", spec),
}
"""Methods of the tensors of a trace, and of those of inner levels."""


def text(level: Any, x: Any, how: str, *spec: str) -> str:
    """Return a text of a value, and note it."""
    value, node = x.parts()
    found = TEXTS[how](value, *spec)
    level.answers.append(Guard(node, " ".join([how, *spec]), found, level.where_now()))
    return found


TEXTS: dict[str, Callable] = {"str": str, "repr": repr, "format": format}


def is_writeable(level: Any, x: Any) -> bool:
    """Return whether a value may be written to: that of the arguments is looked at in each call."""
    level.asked.add("flags")
    value, _ = x.parts()
    return type(value) is ndarray and bool(value.flags.writeable)


@lru_cache(4096)
def is_internal(module: str) -> bool:
    """Return whether a module is one of functier, or of the libraries that it calls."""
    return module.partition(".")[0] in (HERE, *LIBRARIES)


def fails(kind: type[Exception], func: Callable, args: tuple, kwargs: dict) -> bool:
    """Return whether a call raises an error of a kind."""
    try:
        func(*args, **kwargs)
    except kind:
        return True
    return False
