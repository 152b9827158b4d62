"""How examples lie in memory: as NumPy's do, or a level knows how NumPy's would.

NOTE [another order than NumPy's]
    By the order of elements in memory a reshape is a view or a copy. Some results lie in another
    one here: the examples of a batch lie among each other where a rule computes them so, and a
    result of `numpy.einsum` has the order of the products that it is made of. A copy in the right
    order would take long, and hardly anybody asks. So who asks gets NumPy's order. A reshape that
    is a view here alone is copied; one that is a view in NumPy alone is noted with its source.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any
from weakref import ref

import numpy as np

from .._core.errors import MutationError
from .._core.numpy_facts import Function, Shape, is_lazy, order_of
from .._core.op import Op
from .._core.root import tree_map
from .._core.sharing import ASKED
from .._core.tensor import Tensor
from .._mutation.array import innermost, view_of, was_written
from .._mutation.memory import notes_of
from .._mutation.stores import laid_as, model_layout
from .memory import owner_of

ndarray = np.ndarray
Axes = Sequence[int]
"""The axes of an array, from that with the largest steps in memory on."""


def example(x: Any) -> ndarray:
    """Return the values of one example of `x`: their places tell which tensors are views."""
    value, axes = values_of(x)
    if 0 in value.shape[:axes]:
        value = np.empty((1,) * axes + value.shape[axes:], bool)
    return value[(0,) * axes + (...,)]


def values_of(x: Any) -> tuple[ndarray, int]:
    """Return the values of all examples of `x`, and how many axes these have in front."""
    value, axes = x, 0
    while isinstance(value, Tensor):
        level = type(value).level
        if not level.depth:
            raise MutationError(
                f"an array of the class {type(value).__name__} cannot be written to inside a "
                f"transform; pass x.elem(), its plain array"
            )
        if level.kind.batches:
            axes += level.k
        value = value._value
    if type(value) is not ndarray:
        value = value.view(ndarray) if isinstance(value, ndarray) else np.asarray(value)
    return value, axes


def is_hidden(x: Any) -> bool:
    """Tell if the memory of `x` is not ours to see, as that of a class over tensors, or not there
    yet."""
    while isinstance(x, Tensor) and not was_written(x):
        if not x.level.depth:
            return True
        x = x._value
    return is_lazy(x)


def place(level: Any, x: Any) -> Any:
    """Return what the memory of `x` belongs to."""
    return view_of(x).memory if was_written(x) else owner_of(example(x))


def model(x: Any, steps: Sequence[int]) -> ndarray:
    """Return an array that lies in memory as an example of `x` with these strides."""
    found = example(x)
    made = model_layout(np.lib.stride_tricks.as_strided(found, found.shape, steps), found.dtype)
    made.flags.writeable = found.flags.writeable
    return made


def steps_in_numpy(x: Any) -> list[int] | None:
    """Return the strides that NumPy has for an example of `x`; None for those that it has here."""
    level, (value, axes) = type(x).level, values_of(x)
    steps = _noted_steps(level, value) if level.notes is not None else None
    if steps is None:
        return None if value.flags.c_contiguous else _steps_apart(value.shape, value.strides, axes)
    return [s if n > 1 else 0 for s, n in zip(steps[axes:], value.shape[axes:])]


def _steps_apart(shape: Shape, strides: Shape, axes: int) -> list[int] | None:
    """Return the strides of an example without the others; None where these lie apart."""
    among = [(abs(s), n) for s, n in zip(strides[:axes], shape) if n > 1 and s]
    steps = [s * (n > 1) for s, n in zip(strides[axes:], shape[axes:])]
    if not among or 0 in shape or max(map(abs, steps), default=0) < max(among)[0]:
        return None
    return [s // prod([n for step, n in among if step < abs(s)]) for s in steps]


def moved(step: int, pairs: list[tuple[int, int]]) -> int:
    """Return a stride in another order of axes, by pairs of strides here and there."""
    rest, total = abs(step), 0
    for here, there in pairs:
        count, rest = divmod(rest, here)
        total += count * there
    return total if step > 0 else -total


# ---- results in another order ----


def note_laid(y: Any, arrays: Sequence, labels: Sequence, rows: bool, *find: Any) -> None:
    """Note a new array `y` of several axes, which may lie in another order than NumPy's.

    That lies in rows where `rows`, if the operands do. Else ``find[0](*find[1], forms)`` tells the
    order of its axes, which takes long, and waits until somebody asks.
    """
    level, values = type(y).level, [innermost(x) for x in (y, *arrays)]
    if not level.depth or not all([hasattr(v, "strides") for v in values]):
        return
    noted = level.notes is not None and level.notes.laid
    if rows and not noted and all([v.flags.c_contiguous for v in values]):
        return
    owner = owner_of(values[0])
    if owner is owner_of(values[1]):
        return  # a view of its one operand
    forms = [(values[0].shape, values[0].strides, y.ndim)]
    for v, own in zip(values[1:], labels):
        steps = _noted_steps(level, v) if noted else None
        if steps is None:
            forms.append((v.shape, v.strides, len(own)))
        else:
            forms.append((v.shape[-len(own) :], tuple(steps[-len(own) :]), len(own)))
    notes_of(level).laid[id(owner)] = ref(owner), None, forms, *find


def _noted_steps(level: Any, value: ndarray) -> list[int] | None:
    """Return the strides in NumPy of an array that was noted, also those of its examples."""
    laid = level.notes.laid
    if not laid:
        return None
    owner: Any = owner_of(value)
    note = laid.get(id(owner))
    if note is None or note[0]() is not owner:
        return None
    pairs = note[1]
    if pairs is None:
        pairs = _pairs(*note[2:])
        laid[id(owner)] = note[0], pairs
    return [moved(s, pairs) for s in value.strides] if pairs else None


def _pairs(forms: list, find: Callable, given: tuple) -> list[tuple[int, int]]:
    """Return pairs of strides, here and in NumPy, of a result in front of its operands.

    There is none where both have one order.
    """
    found = []
    for shape, strides, rank in forms:
        axes = len(shape) - rank
        steps = _steps_apart(shape, strides, axes)
        found.append((shape[axes:], strides[axes:] if steps is None else tuple(steps)))
    (shape, own), *rest = found
    there, step = [0] * len(shape), min([s for s, n in zip(own, shape) if n > 1], default=1)
    for axis in reversed(find(*given, tuple(rest))):
        there[axis] = step
        step *= shape[axis]
    long = [axis for axis, n in enumerate(shape) if n > 1]
    if all([own[axis] == there[axis] for axis in long]):
        return []
    here = forms[0][1][-len(shape) :]
    return sorted([(here[axis], there[axis]) for axis in long], reverse=True)


# ---- new arrays in NumPy's order, which `_core.sharing.ORDERS` declares ----


def made_in_order(op: Op, args: tuple, kwargs: dict, y: Any) -> Any:
    """Return the result of a body as it lies in NumPy, where the call may ask for an order."""
    place = ASKED.get(op.func, len(args))
    asked = args[place] if place < len(args) else kwargs.get("order")
    order = (asked.upper(), 0) if asked else op.order
    return in_order(order, op.func, args, kwargs, y)  # type: ignore[arg-type]  # it has one


def in_order(order: tuple[str, int], func: Function, args: tuple, kwargs: dict, result: Any) -> Any:
    """Return a new array, or several, as NumPy's lie in memory; see `_core.sharing.ORDERS`."""
    if type(result) in (tuple, list):
        return type(result)([in_order(order, func, args, kwargs, y) for y in result])
    if not isinstance(result, (Tensor, ndarray)) or result.ndim < 2 or is_hidden(result):
        return result
    kind, place = order
    if kind in ("C", "R") and _is_in_rows(result):
        if kind == "C" or (not kwargs and all(map(_is_in_rows, args))):
            return result
    rows = range(result.ndim)
    axes: Axes | None = rows[::-1] if kind == "F" else rows
    if kind in ("M", "R"):
        axes = _axes_by_model(func, args, kwargs, rows if kind == "R" and not kwargs else None)
    elif kind in ("K", "A"):
        axes = _axes_of(args[place] if place < len(args) else None, kind, rows)
    return result if axes is None or _lies_by(result, axes) else _copy_by(result, axes)


def _is_in_rows(x: Any) -> bool:
    """Return whether all examples of an array lie in rows, one after the other."""
    value = innermost(x)
    return type(value) is not ndarray or value.flags.c_contiguous


def product_in_order(a: Any, b: Any, z: Any) -> Any:
    """Return the product of matrices `z` as it lies in NumPy: in rows, but for stacks of stacks."""
    value, k = z._value, z.level.k
    ndim = value.ndim - k
    stacks = ndim > 3 or (ndim == 3 and 1 in (np.ndim(a), np.ndim(b)))
    if stacks or type(value) is not ndarray:
        return in_order(("R" if stacks else "C", 0), np.matmul, (a, b), {}, z)
    steps, shape = value.strides[k:], value.shape[k:]
    if any([step < inner * n for step, inner, n in zip(steps, steps[1:], shape[1:])]):
        z._value = np.ascontiguousarray(value)
    return z


def _axes_of(x: Any, kind: str, rows: range) -> Axes | None:
    """Return the axes of a result that lies as `x` does; None where nobody can tell."""
    if not isinstance(x, Tensor) or is_hidden(x):
        return None
    window = x.level.window(x)
    if kind == "A":
        return rows[::-1] if order_of(window) == "F" else rows
    form = np.empty_like(window)
    if form.ndim == len(rows):
        return _by_steps(form)
    return rows[::-1] if order_of(form) == "F" else rows


def _by_steps(form: ndarray) -> Axes:
    """Return the axes of an array as they lie."""
    steps = [s if n > 1 else 0 for s, n in zip(form.strides, form.shape)]
    return sorted(range(form.ndim), key=lambda axis: -steps[axis])


NO_OPERANDS = "axes", "axis"
"""Parameters that may be lists, and hold no operand."""


def _form_of(x: Any) -> Shape:
    """Return the shape of an operand, which may be a list."""
    if type(x) is not list and type(x) is not tuple:
        return np.shape(x)
    return (len(x), *(_form_of(x[0]) if x else ()))


def _axes_by_model(func: Function, args: tuple, kwargs: dict, rows: range | None) -> Axes:
    """Return the axes of NumPy's own result for operands with two elements along each axis.

    They are `rows`, where these are given, of operands in rows.
    """
    in_rows = True

    def small(x: Any) -> Any:
        nonlocal in_rows
        if isinstance(x, Tensor) and not is_hidden(x):
            window = x.level.window(x)
        elif type(x) is ndarray:
            window = x
        elif type(x) is list:  # an operand; axes are in tuples, or have their name
            window = x = np.ones(_form_of(x))
        else:
            return x
        in_rows = in_rows and window.flags.c_contiguous
        window = window[(slice(2),) * window.ndim]
        if type(x) is ndarray:
            return window if window.any() else np.ones_like(window)
        # Weights have a sum, matrices have an inverse, and quantiles stay in their bounds.
        values = 1 + np.indices(window.shape).sum(0) % 2
        return laid_as(window, (values / 2 if x.dtype.kind in "fc" else values).astype(x.dtype))

    def reduced(x: Any) -> Any:
        return small(x) if type(x) is list else tree_map(small, x)

    models = (
        [reduced(x) for x in args],
        {name: x if name in NO_OPERANDS else reduced(x) for name, x in kwargs.items()},
    )
    if in_rows and rows is not None:
        return rows
    with np.errstate(all="ignore"):
        return _by_steps(func(*models[0], **models[1]))


def _lies_by(x: Any, axes: Axes) -> bool:
    """Return whether the elements of `x` lie in a row, with these axes from the outermost on."""
    written = was_written(x)
    form = view_of(x).window if written else example(x)
    own = written or type(x) is ndarray
    steps: Sequence[int] = (None if own else steps_in_numpy(x)) or form.strides
    step = form.itemsize
    for axis in reversed(axes):
        if form.shape[axis] != 1 and steps[axis] != step:
            return not form.size
        step *= form.shape[axis]
    return True


def copy_apart(x: Any) -> Any:
    """Return a batch along axis 0 whose examples lie one after the other in memory.

    The order of one example's elements tells which of its results are views.
    """
    window = x
    if isinstance(x, Tensor):
        plain = type(innermost(x)) is ndarray and not is_hidden(x)  # Dask computes nothing
        window = x.level.window(x) if plain else None
    if type(window) is not ndarray or window.flags.c_contiguous:
        return x
    steps = [abs(s) if n > 1 else 0 for s, n in zip(window.strides, window.shape)]
    if not steps[0] or max(steps[1:], default=0) <= steps[0]:
        return x
    return _copy_by(x, (0, *sorted(range(1, x.ndim), key=lambda axis: -abs(window.strides[axis]))))


def _copy_by(x: Any, axes: Axes) -> Any:
    """Return a copy of `x` whose axes lie so."""
    copy: Callable = np.copy
    for order in ("C", "F"):
        if list(axes) == list(range(x.ndim))[:: 1 if order == "C" else -1]:
            return copy(x, order)
    back = sorted(range(x.ndim), key=list(axes).__getitem__)
    return np.transpose(copy(np.transpose(x, axes), "C"), back)
