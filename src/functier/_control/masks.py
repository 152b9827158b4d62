"""Truth values that differ from example to example, and checks that results have one form.

`branches`, `loops` and `scan` use this module. It is Python code over NumPy on tensors of
any level.

NOTE [donors]
    Where examples differ in what they choose, a function runs on the whole batch for those
    that chose it. The other examples must not cause errors (a singular matrix, the root of a
    negative number), so their operands are replaced by those of a *donor*, an example that
    chose the function. The donor's values are constants. numpy.where drops everything that
    is computed from them: the results in the forward pass, the cotangents in the backward
    pass.

NOTE [narrowed predicates]
    While such a function runs, a predicate inside it counts for the examples that chose the
    function only. The others have the operands of the donor, but their own values of what
    the function closes over; with this mixture a loop might never end. The mask is ambient,
    since the function need not pass on any argument to the functions that it calls.
    Predicates of levels outside those of the mask are not narrowed: they may belong to a
    rule, which computes one level out.
"""

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from .._core.ambient import AMBIENT
from .._core.blocks import block, setting
from .._core.border import check_leaf
from .._core.errors import MutationError
from .._core.numpy_facts import SCALARS, Function, PyTree, Value, dtype_of, shape_of
from .._core.pytree import describe, flatten, is_value, paths, same_structure, unflatten
from .._core.reached import MOST, reached
from .._core.tensor import Tensor
from .._levels.batch import BatchLevel
from .._levels.lineage import levels_of
from .._levels.states import resume
from .._mutation.array import was_written
from .._mutation.memory import CHOSEN

ndarray = np.ndarray

Donor: TypeAlias = dict[type[Tensor], Any]
"""The index of a donor along the axis of each batch level: see NOTE [donors]."""

WEAK: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
"""The types of Python's numbers, which adapt to the dtype of an array, and their rank."""


# ---- predicates under levels ----


class Mask:
    """A truth value for all examples, or one for each example of some batch levels.

    `some` and `whole` say if it holds for any and for all examples, and `batched` if it may differ.
    `donor` has the index of an example that it holds for, by the classes of the batch levels. In a
    program, nothing but these two truth values is an answer: all else are values.
    """

    some: Any

    def __init__(self, pred: Value):
        self.pred = pred
        plain = not isinstance(pred, Tensor)
        self.batched = not plain and bool(bare(pred, asks=False)[1])
        if not self.batched:
            self.some = self.whole = bool(pred) if plain else holds(pred)
            return
        around = _around(pred)
        if around is not None:
            refused = np.logical_and(np.logical_not(pred), around.pred)
            self.whole = not holds(np.any(bare(refused, asks=False)[0]))
            self.pred = np.logical_and(pred, around.pred)
        taken, axes = bare(self.pred, asks=False)
        if around is None:
            self.whole = holds(np.all(taken))
        self.some = holds(np.any(taken))
        if self.some and not self.whole:
            self.donor = _first(taken, axes)

    @classmethod
    def unasked(cls, pred: Value) -> "Mask | None":
        """Return a mask whose `some` is a value, or None for a predicate without batch axes."""
        taken, axes = bare(pred, asks=False)
        if not axes:
            return None
        mask = cls.__new__(cls)
        mask.pred, mask.batched, mask.whole = pred, True, False
        mask.some, mask.donor = np.any(taken), _first(taken, axes)
        return mask

    def run(self, func: Function, operands: tuple) -> PyTree:
        """Return ``func(*operands)`` for the examples that the mask holds for."""
        if self.whole:
            return func(*operands)
        before = CHOSEN.get()
        shielded, had = self.shield(operands), tensors_in(func)
        with among(self):
            try:
                CHOSEN.set((*before, self.pred))
                result = func(*shielded)
            finally:
                CHOSEN.set(before)
        for given, x in zip(flatten(operands)[0], flatten(shielded)[0]):
            if x is not given and was_written(x):
                raise MutationError(
                    "a function that some examples chose wrote to its operand, which the others "
                    "have kept; make a copy first, y = x.copy(), and write to that"
                )
        kept = [x for i, x in tensors_in(func).items() if i not in had]
        if any([_differs(x, self.donor) for x in kept]):
            for level in levels_of(AMBIENT.get()):
                if level.guards:
                    level.reads.unwatched("a function that some examples choose keeps a value")
            raise MutationError(
                "a function that some examples chose has put a value into an object or a variable "
                "from outside, where it would stand for the others, too; return the value, in a "
                "loop as a part of the carry"
            )
        return result

    def shield(self, tree: PyTree) -> PyTree:
        """Return `tree` with the donor's values for the examples that the mask excludes.

        See NOTE [donors].
        """
        leaves, structure = flatten(tree)
        return unflatten(structure, [self._shield(x) for x in leaves])

    def _shield(self, x: Value) -> Value:
        return x if not _differs(x, self.donor) else np.where(self.pred, x, _donate(x, self.donor))


def tensors_in(func: Function) -> dict[int, Tensor]:
    """Return the tensors that a function reaches, by identity; of very many objects none."""
    found = reached([func])
    return {id(x): x for x in found if isinstance(x, Tensor)} if len(found) < MOST else {}


AMONG: ContextVar[Mask | None] = ContextVar("among", default=None)
"""The mask of the examples that chose the running function, where not all did."""


@block
def among(mask: Mask | None) -> Iterator[None]:
    """Narrow predicates in a block to the examples of `mask`: see NOTE [narrowed predicates]."""
    yield from setting(AMONG, mask)


class Surroundings:
    """The level and the mask around a call, for functions that a later backward pass calls."""

    def __init__(self) -> None:
        self.ambient, self.mask = AMBIENT.get(), AMONG.get()

    def run(self, func: Function, *args: Any) -> Any:
        """Return ``func(*args)``, which computes as around the call."""
        with resume(self.ambient), among(self.mask):
            return func(*args)


def holds(x: Value) -> bool:
    """Return a truth value that is the same for all examples; a program notes it as an answer."""
    return bool(bare(x)[0])


def _first(taken: Value, axes: list[type[Tensor]]) -> Donor:
    """Return the first example that a mask holds for; in a program it is a value."""
    place: Any = np.argmax(taken)
    donor = {}
    for cls, n in zip(reversed(axes), reversed(shape_of(taken))):
        if n > 1:
            donor[cls] = place % n
        place = place // n
    return donor


def _around(value: Value) -> Mask | None:
    """Return the mask that narrows a predicate: see NOTE [narrowed predicates]."""
    mask = AMONG.get()
    return mask if mask is not None and issubclass(type(value), type(mask.pred)) else None


def narrow(value: Value) -> Value:
    """Return `value` with the donor's value for the examples that the mask excludes."""
    mask = _around(value)
    return value if mask is None else mask.shield(value)


def bare(x: Value, asks: bool = True) -> tuple[Value, list[type[Tensor]]]:
    """Return the value inside all levels, and the class of the batch level of each leading axis.

    A tensor of a program stays one if nobody `asks` for what it holds.
    """
    axes: list[type[Tensor]] = []
    while isinstance(x, Tensor):
        level = x.level
        if level.batches and level.live:
            axes = _classes(level) + axes
            (x,) = x.parts()
        elif level.guards and level.live and not asks:
            break
        elif level.records:
            level.unknown_value("a choice or a loop")
        else:
            x = _known(x)
    return x, axes


def _classes(level: BatchLevel) -> list[type[Tensor]]:
    """Return the classes of a group of contiguous levels, outermost first."""
    return [part.cls for part in level.group()]


def _differs(x: Value, donor: Donor) -> bool:
    """Return True where `x` varies along a level of the donor, or has a derivative inside it.

    Otherwise `x` is the same for the donor already. (A derivative with respect to a value
    that does not vary still has one entry for each example.)
    """
    while isinstance(x, Tensor) and not _is_plain(x):
        level = x.level
        if level.batches and level.live:
            (x,) = x.parts()
            if any(cls in donor and n > 1 for cls, n in zip(_classes(level), x.shape)):
                return True
        else:
            if any(issubclass(type(x), cls) for cls in donor):
                return True
            x = _go_out(x)
    return False


def _is_plain(x: Tensor) -> bool:
    """Return whether a tensor stands for a plain value: no level, or one that records a program."""
    return not x.level.depth or (x.level.guards and x.level.live)


def _go_out(x: Tensor) -> Value:
    """Return the value of a tensor one level out.

    For a value that is known later these are zeros, which suffices for a donor: the
    operations on such values are linear.
    """
    return x.parts()[0] if x.level.records else _known(x)


def _known(x: Tensor) -> Value:
    """Return the value one level out; a level that notes answers notes it as one."""
    if x.level.guards and x.level.live:
        x.level.guard(x, "which a choice or a loop has asked for")  # type: ignore[attr-defined]
        return x.parts()[0]
    return x.level.elem(x)


def _donate(x: Value, donor: Donor) -> Value:
    """Return the donor's value of `x`, for all examples and without derivatives."""
    if not isinstance(x, Tensor) or _is_plain(x):
        return x
    level = x.level
    if not (level.batches and level.live):
        return _donate(_go_out(x), donor)
    value, index = _donate(x.parts()[0], donor), []
    for axis, (cls, n) in enumerate(zip(_classes(level), value.shape)):
        i = donor.get(cls) if n > 1 else None
        if isinstance(i, Tensor):
            value = np.take(value, np.reshape(i, (1,)), axis=axis)
            i = None
        index.append(slice(None) if i is None else slice(i, i + 1))
    return level.cls.join(value[tuple(index)])


# ---- arguments ----


def check_function(name: str, argument: str, func: Any) -> None:
    if not callable(func):
        value = ", or lambda *_: x for a value x" if name in ("cond", "switch") else ""
        raise TypeError(
            f"{name}: {argument} is {form(func)}, not a function; pass a function{value}"
        )


def scalar(label: str, argument: str, value: Any, kinds: str, wanted: str, instead: str) -> Value:
    """Return `value`, checked to be a scalar whose dtype is of one of `kinds`."""
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


def truth(label: str, argument: str, pred: Any) -> Value:
    """Return a predicate: a truth value, or a number, true where it is not 0."""
    if type(pred) is bool or type(pred) is np.bool_:
        return pred
    scalar(
        label, argument, pred, "biuf", "write one truth value",
        "with numpy.all or numpy.any; numpy.where chooses element by element",
    )  # fmt: skip
    return pred if dtype_of(pred).kind == "b" else np.not_equal(pred, 0)


def integer(label: str, argument: str, value: Any) -> Value:
    """Return `value`, checked to be an integer scalar."""
    return scalar(label, argument, value, "iu", "write one integer", "or vmap the function")


# ---- results that must have one form ----


def common_dtype(a: Value, b: Value) -> np.dtype | None:
    """Return the dtype of two leaves of one form, or None where their forms differ.

    Shapes and dtypes have to be equal, but a Python number takes the dtype of an array if that
    can represent it.
    """
    a, b = number_of(a), number_of(b)
    weak_a, weak_b = type(a) in WEAK, type(b) in WEAK
    if shape_of(a) != shape_of(b):
        return None
    if weak_a and weak_b:
        return np.result_type(a, b)
    first, second = dtype_of(a), dtype_of(b)
    if not (weak_a or weak_b):
        return first if first == second else None
    number, dtype = (a, second) if weak_a else (b, first)
    fits = dtype.kind in "biufc" and np.result_type(number, dtype) == dtype
    return dtype if fits else None


def number_of(x: Any) -> Any:
    """Return a Python number for the tensor of a program that stands for it, as it is weak, too."""
    value = x.parts()[0] if isinstance(x, Tensor) and x.level.guards else x
    return value if type(value) in WEAK else x


def is_weak(x: Any) -> bool:
    """Return whether a leaf is a Python number, which takes the dtype of an array beside it."""
    return type(number_of(x)) in WEAK


def form(x: Any) -> str:
    """Return the form of a leaf for a message: ``float64[3]``."""
    x = number_of(x)
    if type(x) in WEAK or not is_value(x):
        return f"a Python {type(x).__name__}"
    return f"{dtype_of(x)}{list(shape_of(x))}"


def merge(label: str, pred: Value, names: Sequence[str], first: PyTree, second: PyTree) -> PyTree:
    """Return `first` where `pred` holds, else `second`: the results of functions `names`."""
    if first is second:
        return first
    leaves, structure = flatten(first)
    others, other_structure = flatten(second)
    if structure != other_structure and not same_structure(first, second):
        raise TypeError(
            f"{label}: {names[0]} returned {describe(first)}, but {names[1]} returned "
            f"{describe(second)}; if examples choose differently, the results need the same "
            "structure"
        )
    results = []
    for i, (a, b) in enumerate(zip(leaves, others)):
        if a is not b:
            for name, x in zip(names, (a, b)):
                check_leaf(label, lambda: f"{paths(first, 'the result')[i]} of {name}", x)
            if not (is_value(a) and is_value(b)) or common_dtype(a, b) is None:
                raise TypeError(
                    f"{label}: {paths(first, 'the result')[i]} is {form(a)} from {names[0]}, but "
                    f"{form(b)} from {names[1]}; if examples choose differently, the results need "
                    f"the same shape and dtype: use numpy.broadcast_to or x.astype"
                )
            a = np.where(pred, a, b)
        results.append(a)
    return unflatten(structure, results)


def check_carry(label: str, func: str, root: str, old: PyTree, new: PyTree) -> PyTree:
    """Return the carry `new`, a result of `func`, checked to have the form of `old`."""
    leaves, structure = flatten(new)
    before, structure_before = flatten(old)
    if structure != structure_before and not same_structure(new, old):
        raise TypeError(
            f"{label}: {func} returned the carry {describe(new)}, but it was "
            f"{describe(old)}; the carry keeps the structure of {root}"
        )
    changed = False
    for i, (a, b) in enumerate(zip(before, leaves)):
        kind = type(a)
        same_kind = kind is type(b)
        if a is b or (same_kind and (kind in SCALARS or (kind is ndarray and _same_form(a, b)))):
            continue
        numbers = is_value(a), is_value(b)
        dtype = common_dtype(a, b) if all(numbers) else None
        if dtype is None and any(numbers):
            raise TypeError(
                f"{label}: {func} returned {form(b)} for {paths(old, root)[i]} of the carry, "
                f"which was {form(a)}; the carry keeps its shapes and dtypes: start with an array "
                f"of the form that {func} returns, or use x.astype"
            )
        if type(b) in WEAK and type(number_of(a)) not in WEAK:
            leaves[i], changed = dtype.type(b), True  # type: ignore[union-attr]
    return unflatten(structure, leaves) if changed else new


def _same_form(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype
