"""Constants in the source of a program: texts that give the same value to the last bit."""

import ast
import builtins
import inspect
import math
import sys
import textwrap
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.numpy_facts import name_of
from .._core.numpy_private import SPECIAL, UMATH
from .._core.root import tree_map
from .._cpython.functions import cells_of, variables_of
from .._mutation.array import Array, settle
from .graph import Form, Node
from .spelling import operator_of

ndarray = np.ndarray
COPIED = 1 << 16
"""Constants of up to so many bytes are copied."""
SMALL = 20
"""Arrays of up to so many elements are written out."""

UNEQUAL = {np.power, np.float_power}
"""Functions in which a number of Python and one of NumPy may not give the same bits."""


def dtype_text(dtype: np.dtype) -> str:
    """Return the source of a dtype."""
    name = dtype.type.__name__
    if dtype.isnative and dtype.kind in "biufc" and np.dtype(getattr(np, name, "V0")) == dtype:
        return f"np.{name}"
    return f"np.dtype({dtype.str!r})"


def number_text(value: Any) -> str:
    """Return the source of a number of Python, or "" where that would not be exact."""
    if type(value) is complex:
        odd = not np.isfinite(value) or 0.0 in (value.real, value.imag)
        return "" if odd else repr(value)
    if value != value:
        return "np.nan" if math.copysign(1.0, value) > 0 else ""
    if value in (np.inf, -np.inf):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def weak_text(value: np.generic, node: Node) -> str:
    """Return a number of Python that stands for one of NumPy in a call of a ufunc, or ""."""
    others = [x for x in node.args if x is not value]
    if not is_weak(node.func) or node.kwargs or len(others) != 1:
        return ""
    form = others[0].form if type(others[0]) is Node else None
    if type(form) is not Form or form.dtype is None:
        return ""
    same = form.dtype in (np.float64, np.complex128)
    if type(value) is np.int64 and (same or form.dtype == np.int64) and abs(int(value)) < 2**53:
        return repr(value.item())
    return number_text(value.item()) if type(value) is np.float64 and same else ""


def is_weak(func: Any) -> bool:
    """Return whether a function takes a number of Python as one of NumPy."""
    if isinstance(func, np.ufunc):
        return func not in UNEQUAL
    return operator_of(func) not in (None, "**")


def array_text(value: ndarray) -> str:
    """Return the source of an array that is small or regular, or "" where there is none."""
    if type(value) is not ndarray or value.dtype.kind not in "biuf" or not value.dtype.isnative:
        return ""
    if not value.flags.c_contiguous:
        turned = array_text(value.T) if value.flags.f_contiguous else ""
        return turned and f"{turned}.T"
    shape, default = value.shape, value.dtype == np.float64
    kind = "" if default else f", {dtype_text(value.dtype)}"
    if not value.size:
        return f"np.zeros({shape_text(shape)}{kind})"
    first = value.flat[0]
    if value.ndim and same_bits(value, np.full(shape, first)):
        for number, name in ((0, "zeros"), (1, "ones")):
            if same_bits(np.asarray(first), np.asarray(number, value.dtype)):
                return f"np.{name}({shape_text(shape)}{kind})"
        text = number_text(first.item())
        return f"np.full({shape_text(shape)}, {text}{kind})" if text and value.size > 1 else ""
    if value.dtype == np.int64 and value.ndim == 1 and same_bits(value, np.arange(value.size)):
        return f"np.arange({value.size})"
    if value.ndim == 2 and value.size > 1 and same_bits(value, np.eye(*shape, dtype=value.dtype)):
        sizes = str(shape[0]) if shape[0] == shape[1] else f"{shape[0]}, {shape[1]}"
        return f"np.eye({sizes}{kind and f', dtype={kind[2:]}'})"
    if value.size > SMALL or not np.isfinite(value).all():
        return ""
    plain = value.dtype in (np.float64, np.int64, np.bool_)
    return f"np.array({value.tolist()!r}{'' if plain else kind})"


def same_bits(a: ndarray, b: ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def shape_text(shape: tuple[int, ...]) -> str:
    return str(shape[0]) if len(shape) == 1 else str(shape)


def copy_of(x: ndarray) -> ndarray:
    """Return a copy with the same strides, by which functions choose the order of a sum."""
    if x.flags.c_contiguous or not x.size or type(x) is not ndarray:
        return x.copy("K")
    low, high = np.lib.array_utils.byte_bounds(x)
    if high - low > max(COPIED, 2 * x.nbytes):
        return x.copy("K")
    begin = x.__array_interface__["data"][0] - low
    copied = np.ndarray(x.shape, x.dtype, bytearray(high - low), begin, x.strides)
    copied[...] = x
    return copied


def owned(value: Any) -> Any:
    """Return the same with copies, as compiled code of SciPy takes no array that is read-only."""

    def own(x: Any) -> Any:
        given, x = type(x), settle(x)
        return np.copy(x) if given is Array and type(x) is ndarray else x

    return tree_map(own, value)


# ---- functions ----


PRIVATE = {"": UMATH, "scipy.special": SPECIAL}
"""Modules whose private functions are in another one."""


@lru_cache(4096)
def path_of(func: Callable) -> tuple[str, str] | None:
    """Return the module that a function can be imported from, and its name there."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, np.ufunc):
        path = path_of(owner)
        return None if path is None else (path[0], f"{path[1]}.{func.__name__}")
    module, _, name = name_of(func).rpartition(".")
    module = "operator" if module == "_operator" else module
    inner = getattr(func, "__wrapped__", None)  # of a custom operation, whose module has no file
    homes = [getattr(x, "__module__", None) or "" for x in (func, inner)]
    for place in (module, PRIVATE.get(module, ""), *homes):
        if getattr(sys.modules.get(place), name, None) is func:
            return place, name
    home = getattr(func, "__module__", None) or ""
    for name, value in vars(sys.modules[home]).items() if home in sys.modules else ():
        if value is func:
            return home, name
    return None


@lru_cache(256)
def helper_text(func: Callable, name: str) -> str:
    """Return the source, under a name, of a function of functier that uses NumPy alone, or ""."""
    cell = cells_of(func).get("kernel")
    kernel: Any = None if cell is None else cell.cell_contents
    if not inspect.isfunction(kernel) or kernel.__closure__:
        return ""
    try:
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(kernel))).body[0]
    except (OSError, SyntaxError, TypeError):
        return ""
    if not isinstance(tree, ast.FunctionDef):
        return ""
    tree.decorator_list, tree.returns, tree.name = [], None, name
    for own in ast.walk(tree.args):
        if isinstance(own, ast.arg):
            own.annotation = None
    local = variables_of(kernel)
    for own in ast.walk(tree):
        if isinstance(own, ast.Name) and own.id not in local:
            if own.id != "np" and not hasattr(builtins, own.id):
                return ""
    return ast.unparse(tree)
