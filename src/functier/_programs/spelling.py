"""Spellings: how the calls of some functions stand in the source of a program.

A spelling takes the `Source` and a node. It returns an expression, or lines for several
statements, or None for the usual call.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import UFUNC_OF
from .._rules import indexing as _indexing
from .graph import Form, Node
from .loops import stacked

OPERATORS: dict[Any, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.power: "**",
    np.matmul: "@", np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=",
    np.equal: "==", np.not_equal: "!=", np.floor_divide: "//", np.remainder: "%",
    np.negative: "-",
}  # fmt: skip
SPELLINGS: dict[Callable, Callable] = {}


OPERATORS |= {func: OPERATORS[ufunc] for func, ufunc in UFUNC_OF.items() if ufunc in OPERATORS}
del OPERATORS[np.power]  # the operator is another function for some powers


def operator_of(func: Any) -> str | None:
    """Return the sign of a ufunc, or of a function of `operator`, that Python has a sign for."""
    try:
        return OPERATORS.get(func)
    except TypeError:  # what cannot be hashed has none
        return None


def spelling(*funcs: Callable) -> Callable:
    """Register the spelling of some functions."""

    def register(write: Callable) -> Callable:
        for func in funcs:
            SPELLINGS[func] = write
        return write

    return register


@spelling(operator.getitem)
def _getitem(source: Any, node: Any) -> Any:
    x, index = node.args
    places = source.places(x, index)
    if places:
        return f"{source.expr(x)}.reshape(-1)[{places}]"
    return f"{source.expr(x)}[{source.index(index)}]"


@spelling(_indexing.getitem)
def _getitem_split(source: Any, node: Any) -> Any:
    x, skeleton, *indices = node.args
    return f"{source.expr(x)}[{source.index(_indexing.fill_holes(skeleton, indices))}]"


@spelling(stacked)
def _stacked(source: Any, node: Any) -> Any:
    values, axis, shape, dtype = node.args
    own, empty = source.expr(values), source.zeros((*shape[:axis], 0, *shape[axis:]), dtype)
    return f"np.stack({own}{f', {axis}' * bool(axis)}) if {own} else {empty}"


def _method(name: str, *parameters: str) -> Callable:
    """Return the spelling of a function that arrays have as a method with these parameters."""

    def write(source: Any, node: Any) -> Any:
        given = dict(zip(parameters, node.args[1:]), **node.kwargs)
        given = {key: v for key, v in given.items() if DEFAULTS.get(key, given) is not v}
        x = node.args[0] if node.args else None
        if type(x) is not Node or x.form.kind is not np.ndarray or set(given) - {*parameters}:
            return None
        if len(node.args) - 1 > len(parameters) or list(given) != list(parameters[: len(given)]):
            return None
        if name == "transpose" and not given:
            return f"{source.expr(x)}.T"
        return f"{source.expr(x)}.{name}({', '.join(map(source.expr, given.values()))})"

    return write


DEFAULTS = {"order": "C", "copy": None, "device": None, "axes": None}
"""Parameters that say what is the case without them."""

SPELLINGS[np.reshape] = _method("reshape", "shape")
SPELLINGS[np.astype] = _method("astype", "dtype")
SPELLINGS[np.swapaxes] = _method("swapaxes", "axis1", "axis2")


@spelling(np.transpose)
def _transpose(source: Any, node: Any) -> Any:
    axes = node.kwargs.get("axes", node.args[1] if len(node.args) > 1 else None)
    x = node.args[0]
    turned = np.array_equal(axes, range(len(node.form.shape))[::-1])
    if turned and type(x) is Node and x.form.kind is np.ndarray:
        return f"{source.expr(x)}.T"
    return _method("transpose", "axes")(source, node)


@spelling(np.moveaxis)
def _moveaxis(source: Any, node: Any) -> Any:
    x = node.args[0]
    if not source.fast or node.kwargs or type(x) is not Node or x.form.kind is not np.ndarray:
        return None
    order = np.moveaxis(np.empty(range(1, len(x.form.shape) + 1), "V0"), *node.args[1:]).shape
    return f"{source.expr(x)}.transpose({tuple([n - 1 for n in order])})"


@spelling(np.matrix_transpose)
def _matrix_transpose(source: Any, node: Any) -> Any:
    x = node.args[0]
    if not source.fast or type(x) is not Node or x.form.kind is not np.ndarray:
        return None
    return f"{source.expr(x)}.swapaxes(-1, -2)"


@spelling(np.copy)
def _copy(source: Any, node: Any) -> Any:
    x, order = node.args[0], node.kwargs.get("order", "K")
    if len(node.args) > 1 or not {*node.kwargs} <= {"order"}:
        return None
    if type(x) is not Node or x.form.kind is not np.ndarray:
        return None
    if order == "C":
        return f"{source.expr(x)}.copy()"
    return f"{source.expr(x)}.copy({order!r})" if source.fast else None


@spelling(np.where)
def _where(source: Any, node: Any) -> Any:
    """Write a choice of values or zeros as a write to zeros, which takes less time."""
    if not source.fast or node.kwargs or len(node.args) != 3 or type(node.args[2]) is not int:
        return None
    (condition, values, zero), form = node.args, node.form
    forms = [x.form for x in (condition, values) if type(x) is Node and type(x.form) is Form]
    if zero or len(forms) < 2 or forms[0].dtype != bool or forms[1].dtype != form.dtype:
        return None
    if form.kind is not np.ndarray or not form.shape or not is_contiguous(form):
        return None
    own = source.names[node]
    return [
        f"{own} = {source.zeros(form.shape, form.dtype)}",
        f"np.copyto({own}, {source.expr(values)}, where={source.expr(condition)})",
    ]


@spelling(np.tril, np.triu)
def _triangle(source: Any, node: Any) -> Any:
    """Write the choice that NumPy makes by a mask, which is the same in all calls."""
    given = dict(zip(("m", "k"), node.args), **node.kwargs)
    x, k = given["m"], given.get("k", 0)
    if not source.fast or type(x) is not Node or type(k) is not int or len(x.form.shape) < 2:
        return None
    upper = node.func is np.triu
    rows, columns = x.form.shape[-2:]
    mask = source.constant(np.tri(rows, columns, k - upper, bool))
    values = [source.expr(x), source.constant(np.zeros(1, x.form.dtype))]
    return f"{source.function(np.where)}({mask}, {', '.join(values[::-1] if upper else values)})"


def is_contiguous(form: Form) -> bool:
    """Return whether the elements of an array stand in their order."""
    step = form.dtype.itemsize
    for n, stride in zip(form.shape[::-1], (form.strides or ())[::-1]):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


# ---- reductions, whose function has a wrapper of 2 us ----

REDUCTIONS: dict[Callable, np.ufunc] = {
    np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum,
    np.all: np.logical_and, np.any: np.logical_or,
}  # fmt: skip


def _reduction(source: Any, node: Any) -> Any:
    if not source.fast or len(node.args) != 1 or not set(node.kwargs) <= {"axis", "keepdims"}:
        return None
    x = node.args[0]
    if type(x) is not type(node) or x.form.kind is not np.ndarray:
        return None
    axis = source.expr(node.kwargs.get("axis"))
    keep = ", keepdims=True" if node.kwargs.get("keepdims") else ""
    return f"{source.function(REDUCTIONS[node.func].reduce)}({source.expr(x)}, {axis}{keep})"


SPELLINGS.update(dict.fromkeys(REDUCTIONS, _reduction))


@spelling(np.mean)
def _mean(source: Any, node: Any) -> Any:
    """The sum over the count, as NumPy computes it."""
    x = node.args[0]
    if not source.fast or len(node.args) != 1 or not set(node.kwargs) <= {"axis", "keepdims"}:
        return None
    if type(x) is not Node or x.form.kind is not np.ndarray or x.form.dtype.char not in "fd":
        return None
    size, left = math.prod(x.form.shape), math.prod(node.form.shape)
    if not size or not left:
        return None
    axis = source.expr(node.kwargs.get("axis"))
    keep = ", keepdims=True" if node.kwargs.get("keepdims") else ""
    total = f"{source.function(np.add.reduce)}({source.expr(x)}, {axis}{keep})"
    return f"{total} / {size // left}"


# ---- adding at an index of zeros ----


@spelling(_indexing.place)
def _place(source: Any, node: Any) -> Any:
    given = dict(zip(("values", "shape", "index"), node.args), **node.kwargs)
    values, shape, index = given.values()
    own = source.names[node]
    return [
        f"{own} = {source.zeros(shape, node.form.dtype)}",
        f"{own}[{source.index(index)}] = {source.expr(values)}",
    ]


@spelling(_indexing.add_at)
def _add_at_zeros(source: Any, node: Any) -> Any:
    """Write out what `_rules.scatter` does with operands of these forms."""
    values, shape, skeleton, *indices = node.args
    own = source.names[node]
    whole = _indexing.fill_holes(skeleton, indices)
    index = source.index(whole)
    lines = [f"{own} = {source.zeros(shape, node.form.dtype)}"]
    forms = [i.form if type(i) is Node else i for i in indices]
    repeatable = any([f.dtype != bool and math.prod(f.shape) > 1 for f in forms])
    form = values.form if type(values) is Node else values
    count, size = math.prod(form.shape), math.prod(shape)
    if not repeatable or node.kwargs.get("distinct"):
        return [*lines, f"{own}[{index}] = {source.expr(values)}"]
    if count < 1024 or len(shape) == 1 or size > 8 * count:
        return [*lines, f"np.add.at({own}, {source.expr(whole)}, {source.expr(values)})"]
    places = source.fresh("places")
    return [
        *lines,
        f"{places} = np.arange({size}).reshape({shape})[{index}]",
        f"np.add.at({own}.reshape(-1), {places}.ravel(), "
        f"np.broadcast_to({source.expr(values)}, {places}.shape).ravel())",
    ]
