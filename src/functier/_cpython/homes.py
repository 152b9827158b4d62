"""The home of code: a library whose functions are taken as they are, or code that is followed.

NOTE [where a file lies]
    A module may have any name: one of a user may be called ``signal``. So the folder of its file
    decides. Code that no file has, as that of `exec`, is followed.
"""

import functools
import os
import sys
import sysconfig
from types import ModuleType
from typing import Any

from .code import Code, file_of_code
from .objects import is_fixed

LIBRARIES = "numpy", "scipy", "optree", "llvmlite", "numba"
PURE = frozenset(
    "_weakrefset abc ast bisect colorsys contextlib copy copyreg dataclasses dis enum fractions "
    "heapq inspect json keyword linecache logging numbers operator re reprlib statistics string "
    "textwrap threading token tokenize traceback typing unittest warnings weakref".split()
)
"""Modules of Python's library whose functions depend on their arguments, or are for people."""

HOME = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""The folder of functier."""

SITE = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
STANDARD = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}


@functools.cache
def folders() -> tuple[str, ...]:
    """Return the folders of the libraries."""
    loaded = [os.path.dirname(file_of(sys.modules[name])) for name in ("numpy", "optree")]
    beside = [os.path.join(site, name) for site in SITE for name in LIBRARIES]
    return tuple({HOME, *[f"{path}{os.sep}" for path in (*loaded, *beside)]})


@functools.lru_cache(4096)
def home_of(path: str) -> str:
    """Return "library", "standard" or "user" for the file of some code."""
    if path.startswith(("<frozen", "<__array_function__")) or path.startswith(folders()):
        return "library"
    if path.startswith("<"):
        return "user"
    inside = [path.startswith(f"{site}{os.sep}") for site in SITE]
    if not any(inside):
        for root in STANDARD:
            if path.startswith(f"{root}{os.sep}"):
                name = path[len(root) + 1 :].removesuffix(".py").partition(os.sep)[0]
                return "library" if name in PURE else "standard"
    return "user"


def home_of_code(code: Code, names: dict) -> str:
    """Return the home of code that runs with these globals."""
    path = file_of_code(code)
    if path.startswith("<") and not path.startswith("<frozen"):
        if "_tuple_new" in names:  # the constructor of a named tuple
            return "library"
        module = sys.modules.get(names.get("__name__", ""))
        if namespace_of(module) is names:
            path = file_of(module) or path
    return home_of(path)


def is_followed(code: Code) -> bool:
    """Tell if what code reads is watched: that of users, and of Python's library with a state."""
    return home_of(file_of_code(code)) != "library"


@functools.lru_cache(4096)
def home_of_class(kind: Any) -> str:
    """Return the home of a class, or "C" for one that cannot be changed."""
    if is_fixed(kind):
        return "C"
    name = kind.__dict__.get("__module__")
    module = sys.modules.get(name) if type(name) is str else None
    path = file_of(module)
    return home_of(path) if path else "user"


def namespace_of(module: Any) -> dict:
    """Return the names of a module; none for an object that a package has put there."""
    is_module = issubclass(type(module), ModuleType)
    return object.__getattribute__(module, "__dict__") if is_module else {}


def file_of(module: Any) -> str:
    """Return the file of a module, or an empty text; run no ``__getattr__`` that is the user's."""
    path = namespace_of(module).get("__file__")
    return path if type(path) is str else ""


def is_of_user(kind: type) -> bool:
    """Tell if the attributes of a class may change: it is made by Python code of no library."""
    return home_of_class(kind) not in ("C", "library")


def is_of_library(kind: type) -> bool:
    """Return whether a class is made by Python code of a library."""
    return home_of_class(kind) == "library"
