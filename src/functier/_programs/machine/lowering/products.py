"""Rules of views, and of nodes that are routines: contractions, copies into a whole."""

import operator
from functools import lru_cache
from typing import Any

import numpy as np

from ...graph import Form, Node
from ...loops import Series, stacked
from ..compiler.targets import TARGET
from ..elementary import ELEMENTWISE
from ..linalg.contractions import FUNCTIONS, Labels, contraction_of, is_product
from ..linalg.products import contract
from ..text.routines import Operand
from .nodes import Lowering, apply, dtype_of, is_array, rule
from .steps import Growing, Literal, Place, Ref, Unknown, growing_in, line_of, moving, squeezed

ndarray = np.ndarray


def probe(shape: tuple[int, ...], strides: tuple[int, ...]) -> ndarray:
    """Return an array that stands for one at a place. Its elements must not be read."""
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides)


def address(array: ndarray) -> int:
    return array.__array_interface__["data"][0]


def viewed(value: Ref, make: Any) -> Ref:
    """Return a view of a value: `make` makes it of an array."""
    place = value.place
    shape, strides, far = found_of(make, value.shape, place.strides)
    offset = place.offset + far
    straight = value.straight and not far and squeezed_like(value, shape, strides)
    new = place._replace(offset=offset, strides=strides)
    return Ref(shape, value.dtype, new, value.steps, straight)


def squeezed_like(value: Ref, shape: tuple, strides: tuple) -> bool:
    """Return whether a view differs from a value by axes of size 1 alone."""
    return squeezed(shape) == squeezed(value.shape) and [
        s for n, s in zip(shape, strides) if n != 1
    ] == [s for n, s in zip(value.shape, value.place.strides) if n != 1]


def found_of(make: Any, shape: tuple, strides: tuple) -> tuple[tuple, tuple, int]:
    """Return the shape and strides of a view, and how far it begins from the array."""
    array = probe(shape, strides)
    found = make(array)
    if type(found) is not ndarray and not shape:  # of one number NumPy gives the number at times
        return (), (), 0
    far = address(found) - address(array) if found.size else 0
    reach = [(n - 1) * step for n, step in zip(shape, strides)]
    if not sum([x for x in reach if x < 0]) <= far <= sum([x for x in reach if x > 0]):
        raise Unknown("its result is not a view")
    return found.shape, found.strides, far


MOVES = (
    np.transpose, np.swapaxes, np.moveaxis, np.matrix_transpose, np.rollaxis, np.squeeze,
    np.expand_dims, np.flip, np.flipud, np.fliplr, np.broadcast_to, np.diagonal,
    np.linalg.matrix_transpose, np.permute_dims,
)  # fmt: skip


@rule(*MOVES)
def _view(low: Lowering, node: Node) -> Any:
    x, *rest = node.args
    func: Any = node.func
    value = low.value(x)
    if type(value) is Literal:
        return value
    return viewed(value, lambda a: func(a, *rest, **node.kwargs))


@rule(np.reshape, np.ravel)
def _reshape(low: Lowering, node: Node) -> Any:
    given = {*node.kwargs} - {"shape", "order", "copy"}
    order = node.kwargs.get("order", node.args[2] if len(node.args) > 2 else "C")
    if node.func is np.ravel and len(node.args) > 1:
        order = node.args[1]
    if given or order != "C" or node.kwargs.get("copy") is not None:
        raise Unknown("the reshape has options")
    return reshaped(low, low.value(node.args[0]), node.form.shape)


def reshaped(low: Lowering, value: Any, shape: tuple[int, ...]) -> Any:
    """Return a value in another shape; as a copy where its strides ask for one."""
    if type(value) is Literal:
        return value
    try:
        return viewed(value, lambda a: np.reshape(a, shape, copy=False))
    except ValueError:
        copied = low.copied(value, value.shape)
        return viewed(copied, lambda a: np.reshape(a, shape, copy=False))


WHOLE = frozenset({int, type(None), Growing})


def is_basic(index: Any) -> bool:
    """Return whether an index has no arrays, and nothing that is computed."""
    parts = index if type(index) is tuple else (index,)
    for part in parts:
        kind = type(part)
        if kind is slice:
            if not all([type(x) in WHOLE for x in (part.start, part.stop, part.step)]):
                return False
        elif kind not in WHOLE and part is not Ellipsis:
            return False
    return True


def at(value: Ref, index: Any) -> Ref:
    """Return the view at a basic index."""
    parts = index if type(index) is tuple else (index,)
    if not any([part is Ellipsis for part in parts]):
        parts = (*parts, Ellipsis)  # a number would be read
    if growing_in(parts):
        return moved(value, parts)
    return viewed(value, lambda a: a[parts])


def moved(value: Ref, parts: tuple) -> Ref:
    """Return the view at an index that grows with the steps of loops."""
    own = value._replace(place=value.place._replace(offset=0))

    def found(index: tuple) -> tuple[int, Ref]:
        seen = viewed(own, lambda a: a[index])
        return seen.place.offset, seen._replace(place=seen.place._replace(offset=0), straight=False)

    line = line_of(parts, found)
    if line is None:
        raise Unknown("an index does not grow linearly")
    (start, seen), by = line
    offset = value.place.offset + moving(start, by)
    return seen._replace(place=seen.place._replace(offset=offset))


@rule(np.real)
def _real(low: Lowering, node: Node) -> Any:
    return low.value(node.args[0])


@rule(np.repeat)
def _repeat(low: Lowering, node: Node) -> Any:
    given = dict(zip(("a", "repeats", "axis"), node.args), **node.kwargs)
    value, many, axis = low.value(given["a"]), given["repeats"], given.get("axis")
    if type(many) is not int or type(value) is Literal:
        raise Unknown("np.repeat of several numbers, or of one")
    if axis is None or not value.shape:
        value, axis = reshaped(low, value, (value.size,)), 0
    axis = axis % len(value.shape) + 1
    strides, shape = value.place.strides, value.shape
    spread = value.place._replace(strides=(*strides[:axis], 0, *strides[axis:]))
    wide = Ref((*shape[:axis], many, *shape[axis:]), value.dtype, spread, value.steps)
    return reshaped(low, wide, node.form.shape)


BY_NUMBERS = np.dot, np.inner, np.tensordot
"""The functions that multiply by an array of one number in another way than by others."""


def operand(value: Ref) -> Operand:
    """Return a value as an operand of a routine."""
    return Operand("", value.dtype, value.shape, value.place.strides)


def as_dtype(low: Lowering, value: Any, shape: tuple, dtype: np.dtype) -> Ref:
    """Return a value in memory, of a dtype."""
    if type(value) is Literal or value.dtype != dtype:
        return low.element("cast", [value], shape, dtype, (value.dtype,))
    return value


def shape_in(x: Any) -> tuple[int, ...]:
    return x.form.shape if type(x) is Node else np.shape(x)


@rule(*FUNCTIONS, operator.matmul)
def _contraction(low: Lowering, node: Node) -> Any:
    if node.func is operator.matmul:
        node = Node(np.matmul, node.args, node.kwargs, node.form)
    found = contraction_of(node)
    if found is None:
        raise Unknown("it does not contract two operands")
    labels, a, b = found
    dtype = dtype_of(node.form)
    shape = node.form.shape
    values = low.value(a), low.value(b)
    if dtype.kind not in "fiu":
        raise Unknown(f"a contraction of {dtype}")
    ones = 0
    if node.func in BY_NUMBERS:
        ones = sum([max(shape_in(x), default=1) == 1 for x in (a, b)])
        if ones == 1 and dtype.kind == "f":
            raise Unknown("some libraries leave out a factor of zero, even beside NaN")
    if is_product(labels, shape_in(a), shape_in(b)):
        spread = [aligned(low, v, shape_in(x), own, labels) for v, x, own in
                  zip(values, (a, b), labels[:2])]  # fmt: skip
        product = low.element(np.multiply, spread, shape, dtype, (dtype, dtype), node.form.strides)
        if dtype.kind != "f" or node.func is np.outer or ones == 2:
            return product
        # NumPy adds the products to zeros.
        terms = [product, Literal(0.0, dtype)]
        return low.element(np.add, terms, shape, dtype, (dtype, dtype), node.form.strides)
    left, right = [as_dtype(low, v, shape_in(x), dtype) for v, x in zip(values, (a, b))]
    place = low.new(shape, dtype)
    right = packed_once(low, right, labels)
    same = left.place.buffer is right.place.buffer and left.place.offset == right.place.offset
    out = Operand("", dtype, shape, place[2])
    make = contracted if TARGET.get() is None else contract
    kernel = make(labels, operand(left), operand(right), out, same)
    if kernel is None:
        raise Unknown("the machine does not know the contraction of these forms")
    return Ref(shape, dtype, place, (low.routine(kernel, [left, right], [place]),))


contracted = lru_cache(1024)(contract)
"""Return the routine of a contraction."""


def packed_once(low: Lowering, right: Ref, labels: Labels) -> Ref:
    """Return the right operand of a product in C order, if it is one of several times.

    From the second time on a transposed matrix is copied, once.
    """
    if len(right.shape) != 2 or labels.out[-1:] != labels.b[-1:] or min(right.shape) < 16:
        return right
    place = right.place
    if place.strides[1] == right.dtype.itemsize or place.strides[0] != right.dtype.itemsize:
        return right
    key = "packed", id(place.buffer), place[1:], right.shape
    if key not in low.shared:
        low.shared[key] = None
        return right
    if low.shared[key] is None:
        low.shared[key] = low.copied(right, right.shape)
    return low.shared[key]


def aligned(low: Lowering, value: Any, shape: tuple, own: tuple, labels: Any) -> Any:
    """Return an operand of a product with its axes where the result has them."""
    if type(value) is Literal:
        return value
    sizes = dict(zip(own, value.shape))
    steps = dict(zip(own, value.place.strides))
    if len(steps) != len(own):
        raise Unknown("an operand has an axis twice")
    if any([label not in labels.out and sizes[label] != 1 for label in own]):
        raise Unknown("the product sums over an axis of an operand")
    place = value.place._replace(strides=tuple([steps.get(label, 0) for label in labels.out]))
    new = tuple([sizes.get(label, 1) for label in labels.out])
    straight = value.straight and [k for k in own if sizes[k] != 1] == [
        k for k in labels.out if sizes.get(k, 1) != 1
    ]
    return Ref(new, value.dtype, place, value.steps, straight)


@rule(*[(func, "outer") for func in ELEMENTWISE if getattr(func, "nin", 0) == 2])
def _outer(low: Lowering, node: Node) -> Any:
    """All pairs of elements: the first operand has an axis of size 1 for each of the second one."""
    func: Any = node.func
    if node.kwargs or len(node.args) != 2:
        raise Unknown("the ufunc has options")
    a, b = node.args
    if is_array(a):
        shape = (*a.form.shape, *[1] * len(shape_in(b)))
        value = reshaped(low, low.value(a), shape)
        a = Node(None, (), {}, Form(shape, a.form.dtype, (0,) * len(shape), np.ndarray))
        low.values[a] = value
    elif type(a) is np.ndarray:
        a = a.reshape(a.shape + (1,) * len(shape_in(b)))
    return apply(low, func.__self__, (a, b), node.form)


# ---- arrays side by side ----


def array_of_list(x: Any) -> Any:
    """Return a list of numbers of Python's as the array that NumPy makes of it."""
    return np.array(x) if type(x) is list and {*map(type, x)} <= {int, float} and x else x


@rule(np.array)
def _array(low: Lowering, node: Node) -> Any:
    """The array of a list of numbers, of arrays or of lists is the stack of these."""
    parts, dtype = node.args[0], node.form.dtype
    plain = not node.kwargs and node.args[1:] in ((), (None,))
    if not plain or type(parts) not in (tuple, list) or not parts:
        raise Unknown("it has options, or takes no list")
    own = []
    for x in parts:
        if type(x) in (tuple, list):
            shape = node.form.shape[1:]
            form = Form(shape, dtype, np.empty(shape, dtype).strides, np.ndarray)
            x = Node(np.array, (x,), {}, form)
            low.values[x] = _array(low, x)
        own.append(x)
    return _joined(low, Node(np.stack, (own,), {}, node.form))


@rule(np.concatenate, np.stack, stacked)
def _joined(low: Lowering, node: Node) -> Any:
    given = dict(node.kwargs)
    arrays = node.args[0]
    axis = given.pop("axis", node.args[1] if len(node.args) > 1 else 0)
    dtype, shape = dtype_of(node.form), node.form.shape
    if not given and type(arrays) is Node and type(arrays.form) is Series and axis is not None:
        value = low.value(arrays)
        found = viewed(value, lambda a: np.moveaxis(a, 0, axis % len(shape)))
        return reshaped(low, found, shape)
    if given or type(arrays) not in (tuple, list) or len(node.args) > 2 or axis is None:
        raise Unknown("it has options, or takes one array")
    axis = axis % len(shape)
    place = low.new(shape, dtype, node.form.strides)
    steps: list = []
    start = 0
    for x in map(array_of_list, arrays):
        value, own = low.value(x), shape_in(x)
        if node.func is np.stack:
            own = (*own[:axis], 1, *own[axis:])
            if type(value) is Ref:
                strides = value.place.strides
                strides = (*strides[:axis], 0, *strides[axis:])
                value = value._replace(shape=own, place=value.place._replace(strides=strides))
        far = place.offset + start * place.strides[axis]
        part = Place(place.buffer, far, place.strides)
        if 0 not in own:
            written = low.element("cast", [value], own, dtype, (value.dtype,), place=part)
            steps += written.steps
        start += own[axis]
    return Ref(shape, dtype, place, tuple(steps))
