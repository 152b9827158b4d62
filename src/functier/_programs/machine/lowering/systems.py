"""Rules of nodes of `numpy.linalg`: one factorisation for all that is asked of a matrix."""

from collections.abc import Set
from typing import Any

import numpy as np

from ...graph import Node
from ..linalg import blas
from ..linalg.factors import LARGEST, Factors, factorize
from ..linalg.lapack import cholesky, determinant, inverse, slogdet
from ..linalg.substitution import solve
from ..text.operands import Operand
from .nodes import Lowering, dtype_of, rule
from .products import as_dtype, operand, shape_in
from .steps import Ref, Unknown

BYTES = np.dtype(np.uint8)


def matrix(low: Lowering, x: Any, dtype: np.dtype) -> Ref:
    """Return a stack of square matrices of a dtype."""
    shape = shape_in(x)
    if len(shape) < 2 or shape[-1] != shape[-2] or 0 in shape:
        raise Unknown("it takes other matrices than square ones")
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
        raise Unknown("it solves for nothing")
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
