"""The table of what can be watched, and of unseen code that depends on its arguments alone.

NOTE [the table]
    A program holds as long as what its function has read is what it was. So all that the function
    touches besides values of the trace has to be here: a kind of object whose state Python shows,
    or a call that has no other state. What is not here makes the function run as it is. A row says
    why it may be here; that a program needs it is not a reason.

NOTE [seen, and known]
    A trace sees what a call reads of its arguments, and what a class does. A task in a graph of
    Dask is asked before it runs, and computed again only where it gives the same. So rows that are
    here because a trace sees the call are not for tasks.
"""

import collections
import functools
import os
import types
from types import FunctionType
from typing import Any

from .code import file_of_code
from .functions import original
from .homes import HOME, LIBRARIES
from .objects import DESCRIPTORS, is_fixed

BASES: dict[Any, str] = {
    object: "what it has is in a dict or in slots",
    (list, dict, set): "exact items by the methods of the base, which the check reads",
    (tuple, frozenset, str, bytes, int, float, complex): "cannot change",
    bytearray: "items, as those of a list",
    type: "the namespace, and the bases",
    BaseException: "arguments, which are a tuple in an attribute",
    (property, staticmethod, classmethod): "functions, which are looked at where they are taken",
    functools.partial: "three attributes, which are compared",
    types.ModuleType: "a dict",
    types.SimpleNamespace: "a dict",
}
"""Classes of C whose instances show their state, and so do those of classes that extend them."""

SHOWN = frozenset(
    {kind for row in BASES for kind in (row if type(row) is tuple else (row,))}
    | {collections.deque, collections.OrderedDict, collections.defaultdict}
)

ALIKE: dict[str, str] = {
    "builtins": "made of their arguments; `open` and its like are no classes",
    "collections": "containers",
    "itertools": "iterators over their arguments, which are containers or fail",
    "functools": "functions of their arguments",
    "operator": "functions of their arguments",
    "types": "objects that show what they are made of",
    "datetime": "numbers; the clock is behind methods of the class, which are not here",
    "re": "texts that cannot change",
    "numpy": "numbers, dtypes and arrays; files are behind classes of Python code",
    "weakref": "the referent is a fact",
}
"""Modules whose classes of C may be called: the object depends on the arguments alone."""

STATELESS: dict[str, str] = {
    "math": "numbers", "cmath": "numbers", "_operator": "functions of their arguments",
    "itertools": "iterators over their arguments", "_functools": "functions of their arguments",
    "_collections": "containers", "_abc": "what was registered is in classes",
    "_bisect": "lists", "_heapq": "lists", "_sre": "texts", "_struct": "bytes",
    "_statistics": "numbers", "_json": "texts", "_warnings": "warnings, which a program drops",
}  # fmt: skip
"""Modules in C whose functions have no state."""

CLOSED = frozenset({"math", "cmath", "_operator", "_bisect", "_heapq", "_struct", "_statistics"})
"""Those that have no objects with a state either, such as iterators."""

BUILTINS = frozenset(
    "abs all any ascii bin chr divmod format hex isinstance issubclass len max min oct ord pow "
    "round sorted sum".split()
)
"""Functions in `builtins` that depend on their arguments alone."""

SEEN = frozenset(
    "__build_class__ __import__ aiter anext callable delattr dir getattr globals hasattr hash id "
    "iter locals next print repr setattr vars".split()
)
"""Others whose reads, or effects, a trace sees."""

OPEN = frozenset({"datetime", "weakref"})
"""The modules of `ALIKE` whose classes have methods that ask for more."""

CLOCKS = "now", "today"
"""Texts of which `numpy.datetime64` makes the time."""

FROZEN = frozenset("abc _collections_abc codecs importlib __array_function__".split())
"""Packages inside Python whose functions depend on their arguments, or find a module that is a
fact; those of `os` ask the system."""

FOLDERS = frozenset(
    "numpy/_core numpy/core numpy/lib numpy/linalg numpy/fft numpy/polynomial numpy/ma "
    "numpy/random numpy/matrixlib scipy/special scipy/linalg scipy/signal scipy/stats scipy/fft "
    "scipy/integrate scipy/interpolate scipy/optimize scipy/sparse scipy/spatial "
    "scipy/ndimage scipy/cluster scipy/constants scipy/differentiate scipy/_lib".split()
)
"""The folders of NumPy and SciPy that compute; `io`, `datasets` and `testing` read files."""

STATES = frozenset(
    "geterr seterr geterrcall seterrcall getbufsize setbufsize get_printoptions set_printoptions "
    "load loadtxt fromfile genfromtxt memmap array2string array_repr array_str save savez savetxt "
    "fromregex open_memmap DataSource get_workers set_workers get_include show_config "
    "info source get_global_backend set_global_backend".split()
)
"""Functions of NumPy and SciPy that read a state, or a file."""


@functools.lru_cache(4096)
def hidden_in(kind: Any) -> bool:
    """Return whether instances of a class may have a state that Python does not show."""
    return any([is_fixed(each) and each not in SHOWN and not shows(each) for each in kind.__mro__])


def is_foreign(kind: type) -> bool:
    """Return whether objects of a class are functions of ctypes: the kernels of operations."""
    return any(
        [each.__module__ == "_ctypes" and "FuncPtr" in each.__name__ for each in kind.__mro__]
    )


def shows(kind: type) -> bool:
    """Return whether a class of C extends another one by its methods alone."""
    if kind.__module__ == "numpy":
        names = [each.__name__ for each in kind.__mro__]
        return "generic" in names and "void" not in names
    return issubclass(kind, (BaseException, *DESCRIPTORS)) or kind.__module__ in ("typing", "abc")


def may_be_made(kind: type) -> bool:
    """Return whether the call of a class of C, or of a library, depends on its arguments alone."""
    if not is_fixed(kind):
        return True
    module = kind.__module__
    return module in ALIKE or module.startswith(("numpy.", "scipy.", "optree", "_cython"))


@functools.lru_cache(4096)
def is_pure_file(path: str) -> bool:
    """Return whether a file has functions of libraries that depend on their arguments alone."""
    if path.startswith("<"):
        return path[1:-1].removeprefix("frozen ").partition(" ")[0].partition(".")[0] in FROZEN
    if path.startswith(HOME):
        return True
    parts = path.replace(os.sep, "/").split("/")
    if parts[-1] == "threading.py":
        return False  # what runs in another thread is not seen
    for root in ("numpy", "scipy"):
        if root in parts:
            i = len(parts) - 1 - parts[::-1].index(root)
            return len(parts) - i <= 2 or "/".join(parts[i : i + 2]) in FOLDERS
    return True


def is_pure_function(func: FunctionType) -> bool:
    """Return whether a function of a library in Python code depends on its arguments alone."""
    path = file_of_code(original(func))
    return is_pure_file(path) and not (func.__name__ in STATES and func.__module__[:5] in ROOTS)


ROOTS = "numpy", "scipy"


def is_pure_builtin(callee: Any, seen: bool = True) -> bool:
    """Return whether a function in C depends on its arguments alone, or on the object it is of.

    Where a call is not `seen`, it is one that has no object, or a class or a text of Python's.
    """
    owner, name = callee.__self__, callee.__name__
    if isinstance(owner, type):
        return owner.__module__ == "builtins" or (seen and shows(owner))
    if owner is not None and not isinstance(owner, types.ModuleType):
        return seen or type(owner) in (str, bytes)  # the object is looked at
    module = callee.__module__ or ""
    if module == "builtins":
        return name in BUILTINS or (seen and name in SEEN)
    return module in CLOSED or (seen and (module in STATELESS or module.startswith(LIBRARIES)))


def is_pure_class(kind: type) -> bool:
    """Return whether a class of C makes values, and has no methods that ask for more."""
    module = kind.__module__
    return is_fixed(kind) and module in ALIKE and module not in OPEN


def may_draw(callee: Any) -> bool:
    """Return whether a call may draw from the generator of `numpy.random`, or of `random`."""
    kind: Any = type(callee)
    if kind is FunctionType:
        path = file_of_code(original(callee)).replace(os.sep, "/")
        return not (path.startswith(HOME) or "/numpy/" in path) or "/random/" in path
    owner = getattr(callee, "__self__", None)
    if isinstance(callee, type):
        return callee.__module__ not in ALIKE
    if owner is not None and not isinstance(owner, types.ModuleType):
        kind = type(owner)
        return hidden_in(kind) and "numpy" not in [each.__module__ for each in kind.__mro__]
    module = getattr(callee, "__module__", None) or ""
    if module in STATELESS or module == "builtins" or kind.__name__ == "ufunc":
        return False
    return not module.startswith("numpy") or ".random" in module
