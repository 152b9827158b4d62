"""Rules of reductions."""

from typing import Any

import numpy as np

from ...graph import Form, Node
from ..elementary import knows
from ..linalg.running import running_sums
from ..loops.sums import identity
from ..text.operands import Operand
from .nodes import BOOL, Lowering, dtype_of, rule
from .products import as_dtype, operand, shape_in
from .steps import Literal, Ref, Step, Unknown
from .views import reshaped

REDUCERS: dict[Any, np.ufunc] = {
    np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum,
    np.amax: np.maximum, np.amin: np.minimum, np.all: np.logical_and, np.any: np.logical_or,
}  # fmt: skip

NAMES = "axis", "dtype", "out", "keepdims", "initial", "where"


@rule(*REDUCERS, *[(func, "reduce") for func in dict.fromkeys(REDUCERS.values())])
def _reduction(low: Lowering, node: Node) -> Any:
    func: Any = REDUCERS.get(node.func)
    given = dict(node.kwargs)
    if func is None:
        func = node.func.__self__  # type: ignore[union-attr]
        given |= dict(zip(NAMES, node.args[1:]))
        given.setdefault("axis", 0)
    elif len(node.args) > 1:
        given["axis"] = node.args[1]
    if len(node.args) > 2 and node.func in REDUCERS:
        raise Unknown("the reduction has options by place")
    if not {k for k, v in given.items() if v is not None} <= {"axis", "dtype", "keepdims"}:
        raise Unknown("the reduction has options")
    dtype = dtype_of(node.form)
    value = low.value(node.args[0])
    shape = node.args[0].form.shape if type(node.args[0]) is Node else np.shape(node.args[0])
    return reduced(low, func, value, shape, given.get("axis"), dtype, node.form)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction, from 0 on."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if type(axis) is tuple else (axis,)
    return tuple([int(k) % ndim for k in axes]) if ndim else ()


def reduced(
    low: Lowering, func: np.ufunc, value: Any, shape: tuple, axis: Any, dtype: np.dtype, form: Form
) -> Ref:
    """Add a reduction of a value of a shape."""
    axes = axes_of(axis, len(shape))
    logical = func in (np.logical_and, np.logical_or)
    if logical and value.dtype.kind != "b":
        value = low.element("cast", [value], shape, BOOL, (value.dtype,))
    if not logical and not knows(func, (dtype, dtype)):
        raise Unknown("the machine does not know the reduction of this dtype")
    if all([shape[k] == 1 for k in axes]):
        found = low.element("cast", [value], shape, dtype, (value.dtype,))
        if func is np.add and dtype.kind == "f":  # for the sign of a zero
            start = Literal(identity(func, dtype), dtype)
            found = low.element(func, [found, start], shape, dtype, (dtype, dtype))
        return reshaped(low, found, form.shape)
    kept = tuple([n for k, n in enumerate(shape) if k not in axes])
    size = np.prod(kept, dtype=int)
    if func in (np.maximum, np.minimum) and 0 in shape and size:
        raise Unknown("a reduction of nothing")
    place = low.new(kept, dtype)
    steps = iter(place.strides)
    spread = tuple([0 if k in axes else next(steps) for k in range(len(shape))])
    step = low.add(
        Step("reduce", func, [value], shape, dtype, place._replace(strides=spread), (dtype,))
    )
    step.info = int(size)
    out = low.new(form.shape, dtype).strides
    return Ref(form.shape, dtype, place._replace(strides=out), (step,))


@rule(np.cumsum)
def _cumsum(low: Lowering, node: Node) -> Any:
    given = dict(zip(("a", "axis", "dtype"), node.args), **node.kwargs)
    dtype, shape, axis = dtype_of(node.form), node.form.shape, given.get("axis")
    value = as_dtype(low, low.value(given["a"]), shape_in(given["a"]), dtype)
    if axis is None:
        value, axis = reshaped(low, value, shape), 0
    place = low.new(shape, dtype, node.form.strides)
    kernel = None
    if value.size:
        out = Operand("", dtype, shape, place.strides)
        kernel = running_sums(operand(value), out, axis % len(shape))
    if kernel is None:
        raise Unknown("the machine does not know the sums of nothing, or of this dtype")
    return Ref(shape, dtype, place, (low.routine(kernel, [value], [place]),))


@rule(np.argmax, np.argmin)
def _extremum(low: Lowering, node: Node) -> Any:
    given = dict(zip(("a", "axis"), node.args), **node.kwargs)
    if not set(given) <= {"a", "axis", "keepdims"}:
        raise Unknown("the function has options")
    x, axis = given["a"], given.get("axis")
    value = low.ref(x)
    if axis is None:
        value, axis = reshaped(low, value, (value.size,)), 0
    dtype, shape = dtype_of(node.form), value.shape
    axis = axis % max(len(shape), 1)
    if not shape or shape[axis] == 1 or not value.size:
        return Literal(0, dtype)
    kept = tuple([n for k, n in enumerate(shape) if k != axis])
    place = low.new(kept, dtype)
    spread = (*place.strides[:axis], 0, *place.strides[axis:])
    step = Step("extremum", node.func, [value], shape, dtype, place._replace(strides=spread))
    low.add(step)
    out = low.new(node.form.shape, dtype).strides
    return Ref(node.form.shape, dtype, place._replace(strides=out), (step,))


@rule(np.mean)
def _mean(low: Lowering, node: Node) -> Any:
    given = dict(node.kwargs)
    if len(node.args) == 2:
        given["axis"] = node.args[1]
    if len(node.args) > 2 or not set(given) <= {"axis", "keepdims"}:
        raise Unknown("np.mean has options")
    dtype = dtype_of(node.form)
    value = low.value(node.args[0])
    shape = node.args[0].form.shape if type(node.args[0]) is Node else np.shape(node.args[0])
    count = 1
    for k in axes_of(given.get("axis"), len(shape)):
        count *= shape[k]
    if dtype.kind != "f" or not count:
        raise Unknown("a mean of nothing, or of this dtype")
    total = reduced(low, np.add, value, shape, given.get("axis"), dtype, node.form)
    return low.element(
        np.divide, [total, Literal(float(count), dtype)], node.form.shape, dtype, (dtype, dtype)
    )
