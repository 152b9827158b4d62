"""Values with the bits of NumPy's, for what answers depend on: see `linalg.inner`."""

import math
import operator
from typing import Any

import numpy as np

from ...graph import Form, Node
from ..compiler.targets import is_own, needs_process
from ..linalg import inner
from ..loops.nests import NOTHING
from .nodes import Lowering, power, rule
from .reductions import reduced
from .steps import LARGEST, Literal, Ref, Unknown

FLOAT = inner.FLOAT
PRODUCTS = np.matmul, operator.matmul, np.dot
SUMS = np.sum, np.mean
FLOATS = frozenset({float, np.float64})

WHOLE: dict[Any, dict] = {func: {"axis": None, "keepdims": False} for func in SUMS}
"""Options by which a sum is one of all numbers, as it is without."""


def can_be_exact(node: Node) -> bool:
    """Return whether the machine can compute a node as NumPy does."""
    if not inner.addresses() or type(node.form) is not Form or node.form.dtype != FLOAT:
        return False
    if is_function_of_numbers(node):
        return inner.ELEMENTS[node.func] in inner.addresses()  # type: ignore[index]
    if is_function_of_arrays(node):
        return inner.ELEMENTS[ufunc_of(node)] in inner.addresses()
    given = [x for x in node.args[:2] if type(x) is Node]
    plain = all([x.form.kind is np.ndarray and is_plain(x.form) for x in given])
    if not plain or not node.kwargs.items() <= WHOLE.get(node.func, {}).items():
        return False
    shapes = [x.form.shape for x in given]
    if node.func in SUMS or node.func is np.linalg.norm:
        return len(node.args) == len(given) == 1 and fits(given[0].form)
    if node.func not in PRODUCTS or len(shapes) != 2 or len(node.args) != 2:
        return False
    dims = [len(shape) for shape in shapes]
    if node.func is np.dot and dims != [1, 1]:
        return False
    return {*dims} <= {1, 2} and min(*shapes[0], *shapes[1]) > 1


def is_function_of_numbers(node: Node) -> bool:
    """Return whether a node is a function of floats that machine code rounds in another way."""
    func: Any = node.func
    if func not in inner.ELEMENTS or node.kwargs or node.form.kind is not np.float64:
        return False
    given, count = numbers(node), 2 if func is operator.pow else func.nin
    kinds = [x.form.kind if type(x) is Node else type(x) for x in given]
    return len(given) == count and FLOATS.issuperset(kinds)


def is_function_of_arrays(node: Node) -> bool:
    """Return whether a node is such a function of arrays and of numbers.

    NumPy calls its loop once for all elements of these.
    """
    func, given = ufunc_of(node), numbers(node)
    if func not in inner.ELEMENTS or node.kwargs or len(given) != func.nin:
        return False
    arrays = [x for x in given if type(x) is Node and x.form.shape]
    others = [x for x in given if x not in arrays]
    return (
        bool(arrays) and step_of(node.form) == 8
        and all([step_of(x.form) and x.form.shape == node.form.shape for x in arrays])
        and all([type(x) is float for x in others])
    )  # fmt: skip


def ufunc_of(node: Node) -> Any:
    """Return the function of an operator; of a power with a number, NumPy may take another one."""
    return power(node.args)[0] if node.func is operator.pow and len(node.args) == 2 else node.func


def step_of(form: Form) -> int:
    """Return the step between all elements of an array of floats; 0 where there is no such step."""
    if form.kind is not np.ndarray or not is_plain(form) or not math.prod(form.shape):
        return 0
    long = [(n, step) for n, step in zip(form.shape, form.strides or ()) if n > 1]
    sizes = [8 * math.prod([n for n, _ in long[i + 1 :]]) for i in range(len(long))]
    if [step for _, step in long] == sizes:
        return 8
    return long[0][1] if len(long) == 1 and long[0][1] > 0 else 0


def numbers(node: Node) -> list:
    """Return the operands of a function; the exponent of a power may be whole."""
    if node.func is not operator.pow:
        return [*node.args]
    return [float(x) if type(x) is int and abs(x) <= LARGEST else x for x in node.args]


def is_plain(form: Form) -> bool:
    return form.dtype == FLOAT and form.dtype.isnative


def fits(form: Form) -> bool:
    """Return whether NumPy sums an array in one go: it lies without gaps, in whatever order."""
    size = math.prod(form.shape)
    pairs = sorted([(step, n) for step, n in zip(form.strides or (), form.shape) if n > 1])
    steps = [8 * math.prod([n for _, n in pairs[:i]]) for i in range(len(pairs))]
    return 1 < size <= inner.MOST and [step for step, _ in pairs] == steps


def taken(low: Lowering, x: Any) -> Ref:
    """Return an operand that lies in memory as NumPy's does."""
    found = low.ref(x)
    pairs = zip(found.shape, found.place.strides, x.form.strides)
    if any([n > 1 and a != b for n, a, b in pairs]):
        raise Unknown("it has another order in memory")
    return found


def called(low: Lowering, kernel: Any, operands: list[Ref], form: Form) -> Ref:
    if kernel is None:
        raise Unknown("NumPy's own loop is not known")
    place = low.new(form.shape, FLOAT)
    return Ref(form.shape, FLOAT, place, (low.routine(kernel, operands, [place]),))


def product(low: Lowering, node: Node) -> Ref:
    a, b = [taken(low, x) for x in node.args]
    out = np.empty(node.form.shape)  # for its strides
    layout = inner.layout(node.args[0].form, node.args[1].form, out)
    kernel = inner.call(np.matmul, ("%a", "%b", "%out"), *layout)
    return called(low, kernel, [a, b], node.form)


def total(low: Lowering, node: Node) -> Any:
    x = taken(low, node.args[0])
    given = (x.size,), (0, 8, 0)
    kernel = inner.call(np.add, ("%out", "%a", "%out"), *given, start=NOTHING)
    found = called(low, kernel, [x, x], node.form)
    if node.func is np.mean:
        count = Literal(float(x.size), FLOAT)
        return low.element(np.divide, [found, count], (), FLOAT, (FLOAT, FLOAT))
    return found


def function_of_numbers(low: Lowering, node: Node) -> Ref:
    given = [low.copied(x, ()) if type(x) is Literal else x for x in map(low.value, numbers(node))]
    kernel = inner.call_of_numbers(node.func)
    return called(low, kernel, [given[0], given[-1]], node.form)


def function_of_arrays(low: Lowering, node: Node) -> Ref:
    func = ufunc_of(node)
    operands = numbers(node)
    given = [taken(low, x) if type(x) is Node else low.copied(low.value(x), ()) for x in operands]
    steps = [step_of(x.form) if type(x) is Node else 0 for x in operands]
    pointers = (*("%a", "%b")[: func.nin], "%out")
    kernel = inner.call(func, pointers, (math.prod(node.form.shape),), (*steps, 8))
    return called(low, kernel, [given[0], given[-1]], node.form)


@rule(np.linalg.norm)
def norm(low: Lowering, node: Node) -> Any:
    """The norm of all numbers of an array is the root of a product with itself."""
    if is_own():
        return own_norm(low, node)
    if not can_be_exact(node):
        needs_process("NumPy's own loop")
        raise Unknown("it has options, or takes no array of floats without gaps")
    x = taken(low, node.args[0])
    layout = (1, 1, x.size, 1), (0, 0, 0, 0, 8, 8, 0, 0, 0)
    kernel = inner.call(np.matmul, ("%a", "%b", "%out"), *layout)
    found = called(low, kernel, [x, x], node.form)
    return low.element(np.sqrt, [found], (), FLOAT, (FLOAT,))


def own_norm(low: Lowering, node: Node) -> Any:
    """The root of a sum of squares, in the order of other sums."""
    x = low.ref(node.args[0])
    if len(node.args) > 1 or node.kwargs or x.dtype != FLOAT or not x.size:
        raise Unknown("it has options, or takes no array of floats")
    square = low.element(np.multiply, [x, x], x.shape, FLOAT, (FLOAT, FLOAT))
    total = reduced(low, np.add, square, x.shape, tuple(range(len(x.shape))), FLOAT, node.form)
    return low.element(np.sqrt, [total], (), FLOAT, (FLOAT,))


def exact(low: Lowering, node: Node) -> Any:
    """Return the value of a node with NumPy's bits."""
    if node.func is np.linalg.norm:
        return norm(low, node)
    if is_function_of_numbers(node):
        return function_of_numbers(low, node)
    if is_function_of_arrays(node):
        return function_of_arrays(low, node)
    return total(low, node) if node.func in SUMS else product(low, node)
