"""Truth values that differ from example to example, and results of one form.

What `branches`, `loops` and `scan` stand on. Python over NumPy on tensors of any level.

NOTE [donors]
    Where examples differ in what they choose, a function runs on the whole batch for those
    that chose it. The others must not disturb it (a singular matrix, the root of a negative
    number), so their operands are replaced by those of a *donor*, an example that did
    choose it. Its values are constants, and numpy.where drops what comes of them: forward
    the results, backward the cotangents.

NOTE [who is asked]
    While such a function runs, a predicate inside of it is asked for the examples that
    chose the function, and not for the others: those have operands of the donor beside
    their own values of what it closes over, on which a loop might not end. The mask is
    ambient, as nothing that the function is called with needs to be an argument of what
    it calls. Predicates of levels outside of the mask's are not narrowed: they may be those
    of a rule, which computes one level out.
"""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._core.blocks import block
from .._core.border import check_leaf
from .._core.errors import MutationError
from .._core.numpy_facts import SCALARS, dtype_of, shape_of
from .._core.pytree import describe, flatten, is_value, paths, same_structure, unflatten
from .._core.tensor import Tensor
from .._levels.batch import BatchLevel
from .._mutation.array import was_written
from .._mutation.memory import WRITER

new = object.__new__
ndarray = np.ndarray
WEAK: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
"""Python's numbers, which take the dtype of an array beside them, and their rank."""


# ---- predicates under levels ----


class Mask:
    """A truth value, one for all or one for each example of some batch levels."""

    __slots__ = ("donor", "pred", "some", "whole")

    def __init__(self, pred: Any):
        self.pred = pred
        taken, axes = bare(pred)
        if not axes:
            self.some = self.whole = bool(taken)
            return
        around = _around(pred)
        if around is None:
            taken = np.asarray(taken)
            self.whole = bool(taken.all())
        else:
            refused, _ = bare(np.logical_and(np.logical_not(pred), around.pred))
            self.whole = not np.asarray(refused).any()
            self.pred = np.logical_and(pred, around.pred)
            taken, axes = bare(self.pred)
            taken = np.asarray(taken)
        self.some = bool(taken.any())
        if self.some and not self.whole:
            place = np.unravel_index(int(taken.argmax()), taken.shape)
            found = zip(axes, place, taken.shape)
            self.donor = {cls: int(i) for cls, i, n in found if n > 1}

    def run(self, func: Callable, operands: tuple) -> Any:
        """``func(*operands)`` for the examples that it holds for."""
        if self.whole:
            return func(*operands)
        before = WRITER.get()
        shielded = self.shield(operands)
        with among(self):
            try:
                WRITER.set(self.pred if before is None else np.logical_and(before, self.pred))
                result = func(*shielded)
            finally:
                WRITER.set(before)
        for given, x in zip(flatten(operands)[0], flatten(shielded)[0]):
            if x is not given and was_written(x):
                raise MutationError(
                    "a function that some examples chose wrote to its operand, which the others "
                    "have kept; make a copy first, y = x.copy(), and write to that"
                )
        return result

    def shield(self, tree: Any) -> Any:
        """`tree` with the values of the donor for the examples that have no part in it.

        See NOTE [donors].
        """
        leaves, structure = flatten(tree)
        return unflatten(structure, [self._shield(x) for x in leaves])

    def _shield(self, x: Any) -> Any:
        if not _differs(x, self.donor):
            return x
        return np.where(self.pred, x, _donate(x, self.donor))


AMONG: ContextVar[Mask | None] = ContextVar("among", default=None)
"""Who chose the function that is running, where not all did."""


@block
def among(mask: Mask | None) -> Iterator[None]:
    """Predicates are asked for the examples of `mask` only: see NOTE [who is asked]."""
    before = AMONG.get()
    try:
        AMONG.set(mask)
        yield
    finally:
        AMONG.set(before)


def _around(value: Any) -> Mask | None:
    """The mask that narrows who is asked for a predicate: see NOTE [who is asked]."""
    mask = AMONG.get()
    return mask if mask is not None and issubclass(type(value), type(mask.pred)) else None


def narrow(value: Any) -> Any:
    """`value` with that of the donor for the examples that are not asked."""
    mask = _around(value)
    return value if mask is None else mask.shield(value)


def bare(x: Any) -> tuple[Any, list]:
    """The value under all levels, and the class of the batch level of each leading axis."""
    axes: list = []
    while isinstance(x, Tensor):
        level = x.level
        if level.batches and level.live:
            axes = _classes(level) + axes
            x = x._value
        elif level.records:
            level.unknown_value("a choice or a loop")
        else:
            x = level.elem(x)
    return x, axes


def _classes(level: BatchLevel) -> list:
    """The classes of a group of contiguous levels, outermost first."""
    return [part.cls for part in level.group()]


def _differs(x: Any, donor: dict) -> bool:
    """Whether `x` varies along one of the donor's levels, or has a derivative inside it.

    What has neither is the same for the donor already. (A derivative by a value that does
    not vary is one for each example all the same.)
    """
    while isinstance(x, Tensor) and x.level.depth:
        level = x.level
        if level.batches and level.live:
            if any(cls in donor and n > 1 for cls, n in zip(_classes(level), x._value.shape)):
                return True
            x = x._value
        else:
            if any(issubclass(type(x), cls) for cls in donor):
                return True
            x = _one_out(x)
    return False


def _one_out(x: Any) -> Any:
    """The value of a tensor one level out, or that will do for the donor's.

    Of a value that is known later these are zeros: what takes it is linear.
    """
    return x._value if x.level.records else x.level.elem(x)


def _donate(x: Any, donor: dict) -> Any:
    """The value of `x` for the donor, for all examples and without derivatives."""
    if not isinstance(x, Tensor) or not x.level.depth:
        return x
    level = x.level
    if not (level.batches and level.live):
        return _donate(_one_out(x), donor)
    value, index = _donate(x._value, donor), []
    for cls, n in zip(_classes(level), value.shape):
        i = donor.get(cls) if n > 1 else None
        index.append(slice(None) if i is None else slice(i, i + 1))
    y = new(level.cls)
    y._value = value[tuple(index)]
    return y


# ---- arguments ----


def check_function(name: str, argument: str, func: Any) -> None:
    if not callable(func):
        raise TypeError(f"{name}: {argument} is {form(func)}, not a function; pass a function")


def scalar(label: str, argument: str, value: Any, kinds: str, wanted: str, instead: str) -> Any:
    """`value`, checked to be a scalar of a dtype of one of `kinds`."""
    if not is_value(value):
        raise TypeError(f"{label}: {argument} is {form(value)}; {wanted}")
    if shape_of(value) != ():
        each = " for each example" if bare(value)[1] else ""
        raise ValueError(
            f"{label}: {argument} has shape {shape_of(value)}{each}; {wanted}, {instead}"
        )
    if dtype_of(value).kind not in kinds:
        raise TypeError(f"{label}: {argument} has dtype {dtype_of(value)}; {wanted}")
    return value


def truth(label: str, argument: str, pred: Any) -> Mask:
    """The mask of a predicate: a truth value, or a number that is true where it is not 0."""
    if type(pred) is bool or type(pred) is np.bool_:
        return Mask(pred)
    scalar(
        label, argument, pred, "biuf", "write one truth value",
        "with numpy.all or numpy.any; numpy.where chooses element by element",
    )  # fmt: skip
    return Mask(pred if dtype_of(pred).kind == "b" else np.not_equal(pred, 0))


def integer(label: str, argument: str, value: Any) -> Any:
    return scalar(label, argument, value, "iu", "write one integer", "or vmap the function")


# ---- results that must have one form ----


def joint(a: Any, b: Any) -> np.dtype | None:
    """The dtype of two leaves of one shape that may stand for each other, or None.

    Dtypes have to be equal, but a Python number takes the dtype of an array that it fits.
    """
    weak_a, weak_b = type(a) in WEAK, type(b) in WEAK
    if shape_of(a) != shape_of(b):
        return None
    if weak_a and weak_b:
        return np.result_type(a, b)
    own, other = dtype_of(a), dtype_of(b)
    if not (weak_a or weak_b):
        return own if own == other else None
    number, dtype = (a, other) if weak_a else (b, own)
    fits = dtype.kind in "biufc" and np.result_type(number, dtype) == dtype
    return dtype if fits else None


def form(x: Any) -> str:
    """How a message writes the form of a leaf: ``float64[3]``."""
    if type(x) in WEAK or not is_value(x):
        return f"a Python {type(x).__name__}"
    return f"{dtype_of(x)}{list(shape_of(x))}"


def merge(label: str, pred: Any, names: Sequence[str], first: Any, second: Any) -> Any:
    """`first` where `pred` holds, else `second`; the results of functions of these names."""
    if first is second:
        return first
    leaves, structure = flatten(first)
    others, other_structure = flatten(second)
    if structure != other_structure and not same_structure(first, second):
        raise TypeError(
            f"{label}: {names[0]} returned {describe(first)}, but {names[1]} returned "
            f"{describe(second)}; where examples differ in what they choose, the results need "
            f"one structure"
        )
    results = []
    for i, (a, b) in enumerate(zip(leaves, others)):
        if a is not b:
            for name, x in zip(names, (a, b)):
                check_leaf(label, lambda: f"{paths(first, 'the result')[i]} of {name}", x)
            if not (is_value(a) and is_value(b)) or joint(a, b) is None:
                raise TypeError(
                    f"{label}: {paths(first, 'the result')[i]} is {form(a)} from {names[0]}, but "
                    f"{form(b)} from {names[1]}; where examples differ in what they choose, the "
                    f"results need one shape and dtype: use numpy.broadcast_to or x.astype"
                )
            a = np.where(pred, a, b)
        results.append(a)
    return unflatten(structure, results)


def check_carry(label: str, func: str, root: str, old: Any, fresh: Any) -> Any:
    """The carry `fresh` that `func` returned, checked to have the form of the one before."""
    leaves, structure = flatten(fresh)
    before, own = flatten(old)
    if structure != own and not same_structure(fresh, old):
        raise TypeError(
            f"{label}: {func} returned the carry {describe(fresh)}, but it was "
            f"{describe(old)}; the carry keeps the structure of {root}"
        )
    changed = False
    for i, (a, b) in enumerate(zip(before, leaves)):
        kind = type(a)
        if a is b or (kind is type(b) and (kind in SCALARS or (kind is ndarray and _alike(a, b)))):
            continue
        numbers = is_value(a), is_value(b)
        dtype = joint(a, b) if all(numbers) else None
        if dtype is None and any(numbers):
            raise TypeError(
                f"{label}: {func} returned {form(b)} for {paths(old, root)[i]} of the carry, "
                f"which was {form(a)}; the carry keeps its shapes and dtypes: start with an array "
                f"of that form, or use x.astype"
            )
        if type(b) in WEAK and type(a) not in WEAK:
            leaves[i], changed = dtype.type(b), True  # type: ignore[union-attr]
    return unflatten(structure, leaves) if changed else fresh


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype
