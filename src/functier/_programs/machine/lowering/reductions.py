"""Rules of reductions, of diagonals, and of `numpy.linalg`."""

from collections.abc import Set
from functools import lru_cache
from typing import Any

import numpy as np

from ...graph import Form, Node
from ..elementary import knows
from ..linalg import blas
from ..linalg.factors import LARGEST, Factors, factorize
from ..linalg.running import running_sums
from ..linalg.systems import cholesky, determinant, inverse, slogdet, solve
from ..loops.nests import identity
from ..text.routines import Operand
from .nodes import BOOL, Lowering, dtype_of, rule
from .places import written_to, zeros
from .products import as_dtype, operand, reshaped, shape_in, viewed
from .steps import Literal, Ref, Step, Unknown

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
    if func is np.multiply and dtype.kind == "f":  # in another order a part of it may overflow
        raise Unknown("floats are multiplied in their order")
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
        raise Unknown("a reduction of no elements")
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
        raise Unknown("the machine does not know sums of no elements, or of this dtype")
    return Ref(shape, dtype, place, (low.routine(kernel, [value], [place]),))


MANY = 256
"""The elements of a table that are all compared, where NumPy halves it again and again."""


@rule(np.searchsorted)
def _searchsorted(low: Lowering, node: Node) -> Any:
    given = dict(zip(("a", "v", "side", "sorter"), node.args), **node.kwargs)
    size, own = shape_in(given["a"]), shape_in(given["v"])
    table, x = low.value(given["a"]), low.value(given["v"])
    real = table.dtype.kind == "f" and table.dtype == x.dtype
    if given.get("sorter") is not None or not real or size[0] > MANY or 0 in size + own:
        raise Unknown("the table is long or has no elements, or its dtype is another one")
    left, dtype, shape = given.get("side", "left") == "left", table.dtype, (*own, *size)
    if type(x) is Ref:
        x = viewed(x, lambda y: y[..., None])
    both, pair = (dtype, dtype), (BOOL, BOOL)
    found = low.element(np.less if left else np.less_equal, [table, x], shape, BOOL, both)
    last = low.element(np.isnan, [x], shape, BOOL, (dtype,))  # it is behind all numbers
    if left:
        known = low.element(np.equal, [table, table], shape, BOOL, both)
        last = low.element(np.logical_and, [last, known], shape, BOOL, pair)
    found = low.element(np.logical_or, [found, last], shape, BOOL, pair)
    count = low.element("cast", [found], shape, dtype_of(node.form), (BOOL,))
    return reduced(low, np.add, count, shape, -1, dtype_of(node.form), node.form)


@rule(np.isposinf, np.isneginf)
def _infinite(low: Lowering, node: Node) -> Any:
    x = low.value(node.args[0])
    if len(node.args) != 1 or node.kwargs or x.dtype.kind != "f":
        raise Unknown("it has options, or takes no floats")
    infinite = Literal(np.inf if node.func is np.isposinf else -np.inf, x.dtype)
    return low.element(np.equal, [x, infinite], node.form.shape, BOOL, (x.dtype, x.dtype))


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
        raise Unknown("a mean of no elements, or of this dtype")
    total = reduced(low, np.add, value, shape, given.get("axis"), dtype, node.form)
    return low.element(
        np.divide, [total, Literal(float(count), dtype)], node.form.shape, dtype, (dtype, dtype)
    )


def given_to(node: Node, *names: str) -> dict[str, Any]:
    """Return the arguments of a call by name; `Unknown` where there are others, or computed ones.

    The first one is the array.
    """
    found = dict(zip(names, node.args), **node.kwargs)
    if len(node.args) > len(names) or not found.keys() <= {*names}:
        raise Unknown("it has options")
    if any([type(found[name]) is Node for name in names[1:] if name in found]):
        raise Unknown("the number of the diagonal is computed")
    return found


@rule(np.diag, np.diagflat)
def _diag(low: Lowering, node: Node) -> Any:
    given = given_to(node, "v", "k")
    value, offset, rank = low.ref(given["v"]), given.get("k", 0), len(shape_in(given["v"]))
    if node.func is np.diag and rank == 2:
        return viewed(value, lambda a: np.diagonal(a, offset))
    empty = zeros(low, node.form.shape, dtype_of(node.form))
    part = viewed(empty, lambda a: np.diagonal(a, offset))
    return written_to(low, empty, part, reshaped(low, value, (value.size,)))


@rule(np.trace)
def _trace(low: Lowering, node: Node) -> Any:
    given = given_to(node, "a", "offset", "axis1", "axis2")
    value = low.ref(given.pop("a"))
    found = viewed(value, lambda a: np.diagonal(a, **given))
    return reduced(low, np.add, found, found.shape, -1, dtype_of(node.form), node.form)


@lru_cache(256)
def triangle(rows: int, columns: int, diagonal: int, upper: bool) -> np.ndarray:
    """Return where a triangle of a matrix is."""
    if upper:
        return ~triangle(rows, columns, diagonal - 1, False)
    return np.tri(rows, columns, diagonal, bool)


@rule(np.tril, np.triu)
def _triangle(low: Lowering, node: Node) -> Any:
    given = given_to(node, "m", "k")
    shape, dtype = node.form.shape, dtype_of(node.form)
    mask = low.constant(triangle(*shape[-2:], int(given.get("k", 0)), node.func is np.triu))
    values = [mask, low.value(given["m"]), Literal(0, dtype)]
    wants = (BOOL, dtype, dtype)
    return low.element(np.where, values, shape, dtype, wants, node.form.strides)


BYTES = np.dtype(np.uint8)


def matrix(low: Lowering, x: Any, dtype: np.dtype) -> Ref:
    """Return a stack of square matrices of a dtype."""
    shape = shape_in(x)
    if len(shape) < 2 or shape[-1] != shape[-2] or 0 in shape:
        raise Unknown("it takes matrices that are not square")
    if dtype.kind != "f":
        raise Unknown(f"it is computed in {dtype}")
    if shape[-1] > LARGEST and not blas.library():
        raise Unknown("the matrix is large, and NumPy's library is not known")
    return as_dtype(low, low.ref(x), shape, dtype)


def factors_of(low: Lowering, a: Ref) -> tuple[Ref, Factors, bool]:
    """Return the factors of a matrix or of its transpose, and if they are those of the transpose.

    They are computed once.
    """
    known = low.__dict__.setdefault("factors", {})
    place = a.place
    where = a.dtype, a.shape, place.buffer, place.offset, a.steps
    *outer, down, across = place.strides
    for turned, strides in ((False, (*outer, down, across)), (True, (*outer, across, down))):
        found = known.get((*where, strides))
        if found is not None and found[0].steps[0] in low.steps:
            return (*found, turned)
    kernel, layout = factorize(operand(a))
    target = low.new((layout.bytes,), BYTES)
    step = low.routine(kernel, [a], [target])
    ref = Ref((layout.bytes,), BYTES, target, (step,))
    known[*where, place.strides] = ref, layout
    return ref, layout, False


def triangle_of(low: Lowering, a: Ref) -> bool | None:
    """Return whether a matrix is a Cholesky factor, or its transpose, and an upper triangle."""
    *outer, down, across = a.place.strides
    turned = a.place._replace(strides=(*outer, across, down))
    if ("triangle", turned) in low.shared:
        return not low.shared["triangle", turned]
    return low.shared.get(("triangle", a.place))


def result(low: Lowering, kernel: Any, inputs: list[Ref], shapes: list, dtype: np.dtype) -> list:
    """Add the call of a routine with new arrays as results."""
    places = [low.new(shape, dtype) for shape in shapes]
    step = low.routine(kernel, inputs, places)
    return [Ref(shape, dtype, place, (step,)) for shape, place in zip(shapes, places)]


def packed(low: Lowering, shape: tuple[int, ...], dtype: np.dtype) -> Operand:
    """Return the operand of a new array."""
    return Operand("", dtype, shape, low.new(shape, dtype).strides)


def refuse_options(node: Node, operands: int = 1, known: Set[str] = frozenset()) -> None:
    """Raise `Unknown` where a call has more than its operands, and keywords that are known."""
    if len(node.args) != operands or not node.kwargs.keys() <= known:
        raise Unknown("it has options")


@rule(np.linalg.solve)
def _solve(low: Lowering, node: Node) -> Any:
    refuse_options(node, 2)
    dtype, shape = dtype_of(node.form), node.form.shape
    a, own = matrix(low, node.args[0], dtype), shape_in(node.args[1])
    if 0 in shape or 0 in own:
        raise Unknown("it solves for no unknowns")
    b = as_dtype(low, low.ref(node.args[1]), own, dtype)
    known, factors, turned = factors_of(low, a)
    given, out = operand(b), packed(low, shape, dtype)
    if len(own) == 1:
        given, out = [
            x._replace(shape=(*x.shape, 1), strides=(*x.strides, 0)) for x in (given, out)
        ]
    kernel = solve(factors, given, out, turned)
    return result(low, kernel, [known, b], [shape], dtype)[0]


@rule(np.linalg.inv)
def _inv(low: Lowering, node: Node) -> Any:
    refuse_options(node)
    dtype, shape = dtype_of(node.form), node.form.shape
    a = matrix(low, node.args[0], dtype)
    upper = triangle_of(low, a)
    if upper is not None and shape[-1] > LARGEST:
        kernel = inverse(operand(a), packed(low, shape, dtype), upper)
        return result(low, kernel, [a], [shape], dtype)[0]
    known, factors, turned = factors_of(low, a)
    kernel = solve(factors, None, packed(low, shape, dtype), turned)
    return result(low, kernel, [known], [shape], dtype)[0]


@rule(np.linalg.det)
def _det(low: Lowering, node: Node) -> Any:
    refuse_options(node)
    dtype, shape = dtype_of(node.form), node.form.shape
    a = matrix(low, node.args[0], dtype)
    known, factors, _ = factors_of(low, a)
    kernel = determinant(factors, packed(low, shape, dtype))
    return result(low, kernel, [known], [shape], dtype)[0]


@rule(np.linalg.slogdet)
def _slogdet(low: Lowering, node: Node) -> Any:
    refuse_options(node)
    form, other = node.form
    dtype, shape = dtype_of(form), form.shape
    if dtype_of(other) != dtype:
        raise Unknown("its results have two dtypes")
    a = matrix(low, node.args[0], dtype)
    known, factors, _ = factors_of(low, a)
    new = packed(low, shape, dtype)
    return tuple(result(low, slogdet(factors, new, new), [known], [shape, shape], dtype))


@rule(np.linalg.cholesky)
def _cholesky(low: Lowering, node: Node) -> Any:
    upper = node.kwargs.get("upper", False)
    refuse_options(node, known={"upper"} if type(upper) is bool else set())
    dtype, shape = dtype_of(node.form), node.form.shape
    a = matrix(low, node.args[0], dtype)
    kernel = cholesky(operand(a), packed(low, shape, dtype), upper)
    found = result(low, kernel, [a], [shape], dtype)[0]
    low.shared["triangle", found.place] = upper
    return found
