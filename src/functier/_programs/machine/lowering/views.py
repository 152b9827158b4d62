"""Views of arrays, as strides. NumPy itself finds them, of an array that nobody reads."""

from typing import Any

import numpy as np

from ...graph import Node
from .moving import Growing, growing_in, line_of, moving
from .nodes import Lowering, rule
from .steps import Literal, Ref, Unknown, squeezed

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
        raise Unknown("an index grows in another way than along a line")
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
