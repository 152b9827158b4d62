"""Loops over an axis: scan, map and associative_scan. Python over NumPy on tensors."""

from collections.abc import Callable, Iterator
from math import isqrt
from typing import Any

import numpy as np

from .._core.border import check_leaf
from .._core.numpy_facts import dtype_of, shape_of
from .._core.pytree import (
    describe,
    flatten,
    is_value,
    name_of_function,
    paths,
    same_structure,
    unflatten,
)
from .._core.tensor import Tensor
from .._transforms.vmap import vmap
from .masks import WEAK, check_carry, check_function, form, joint


def scan(
    f: Callable,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: Any = 1,
) -> tuple:
    """``carry, y = f(carry, x)`` for each `x` of `xs`, with all the `y` stacked.

    Parameters
    ----------
    f : callable
        From a carry and the slice of `xs` to the next carry and a result, which may be
        None.
    init : pytree
        The first carry. A Python number takes the dtype that the first step gives it.
    xs : pytree of arrays, optional
        What to go along, by axis 0 of each array.
    length : int, optional
        The number of steps, which `xs` tells where there is any.
    reverse : bool
        Whether to go from the last slice to the first; the results stand in the places
        of their slices.
    unroll : optional
        For JAX's sake; there is nothing to unroll.

    Returns
    -------
    tuple
        The last carry, of the structure, shapes and dtypes of `init`, and the results,
        with a new axis 0. Without any steps `f` is called once, on `init` and on zeros,
        for the form of the results, which are empty.

    Raises
    ------
    TypeError
        Where `f` does not return a pair, or the carry or a result changes its structure,
        a shape or a dtype; the message has the path, and a note tells the step.
    ValueError
        Where lengths differ, or there is none.

    Notes
    -----
    Reverse mode keeps what `f` records in every step. ``scan(checkpoint(f), init, xs)``
    keeps the carry of each step, and what `f` records once, for its time once more.
    Forward mode and `vmap` keep nothing that grows, beyond the results.

    Examples
    --------
    >>> import numpy as np
    >>> def step(total, x):
    ...     return total + x, total
    >>> total, before = scan(step, 0.0, np.array([1.0, 2.0, 3.0]))
    >>> float(total), before
    (6.0, array([0., 1., 3.]))
    """
    check_function("scan", "f", f)
    return _scan(f"scan({name_of_function(f)})", f, init, xs, length, reverse)


def _scan(
    label: str, f: Callable, init: Any, xs: Any, length: Any = None, reverse: bool = False
) -> tuple:
    leaves, structure = flatten(xs)
    n = _length(label, leaves, xs, length)
    if not n:
        return init, _empty(label, f, init, leaves, structure)
    order = range(n - 1, -1, -1) if reverse else range(n)
    slices = [_slices(x, order) for x in leaves]
    carry, rows = init, _Rows(label)
    for i in order:
        try:
            out = f(carry, unflatten(structure, [next(s) for s in slices]))
            carry, y = _pair(label, carry, out)
            rows.add(y)
        except Exception as error:
            error.add_note(f"{label}: in step {i} of {n}")
            raise
    return carry, rows.stacked(reverse)


def _length(label: str, leaves: list, xs: Any, length: Any) -> int:
    """The number of steps, on which all arrays and the argument agree."""
    if length is not None:
        if not isinstance(length, (int, np.integer)):
            raise TypeError(f"{label}: length is {form(length)}; write the number of steps")
        if length < 0:
            raise ValueError(f"{label}: length={length}; write the number of steps")
    n, source = length, "length"
    for i, x in enumerate(leaves):
        if not is_value(x) or not shape_of(x):
            raise ValueError(
                f"{label}: {paths(xs, 'xs')[i]} is {form(x)}, which has no axis to go along; pass "
                f"arrays, and let the function close over what is the same in every step"
            )
        check_leaf(label, lambda i=i: paths(xs, "xs")[i], x)
        own = shape_of(x)[0]
        if n is not None and own != n:
            raise ValueError(
                f"{label}: {paths(xs, 'xs')[i]} has length {own} along axis 0, but {source} is {n}"
            )
        if n is None:
            n, source = own, f"that of {paths(xs, 'xs')[i]}"
    if n is None:
        raise ValueError(f"{label}: there is no xs; write length, the number of steps")
    return n


def _slices(x: Any, order: range) -> Iterator:
    """The slices of `x` along axis 0.

    A tensor is cut into blocks of the square root of its length first: backward each slice
    is put into an array of the size of what it was cut from, which would make the time of
    a scan quadratic.
    """
    if not isinstance(x, Tensor):
        for i in order:
            yield x[i]
        return
    size = isqrt(len(order))
    for first in range(0, len(order), size):
        part = order[first : first + size]
        start = min(part[0], part[-1])
        block = x[start : start + len(part)]  # type: ignore[index]
        for i in part:
            yield block[i - start]


def _pair(label: str, carry: Any, out: Any) -> tuple:
    """What a step returned: the next carry, checked, and the result."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"{label}: f returned {describe(out)}; return (carry, y), with None for a y that "
            f"there is not"
        )
    return check_carry(label, "f", "init", carry, out[0]), out[1]


class _Rows:
    """Results, step by step, in a column for each leaf."""

    def __init__(self, label: str):
        self.label, self.structure = label, None
        self.columns: list[list] = []
        self.forms: list = []  # of each column the leaf that the dtype is of

    def add(self, y: Any) -> None:
        leaves, structure = flatten(y, self.label, "the result")
        for i, leaf in enumerate(leaves):
            check_leaf(self.label, lambda i=i: paths(y, "the result")[i], leaf)
        if self.structure is None:
            for i, leaf in enumerate(leaves):
                if not is_value(leaf):
                    where = paths(y, "the result")[i]
                    raise TypeError(f"{self.label}: {where} is {form(leaf)}; return arrays")
            self.columns, self.structure = [[leaf] for leaf in leaves], structure
            self.forms = leaves
            return
        if structure != self.structure and not same_structure(y, self.like()):
            raise TypeError(
                f"{self.label}: f returned the result {describe(y)}, and before "
                f"{describe(self.like())}; all steps return one structure"
            )
        for i, (first, leaf) in enumerate(zip(self.forms, leaves)):
            if not is_value(leaf) or joint(first, leaf) is None:
                raise TypeError(
                    f"{self.label}: {paths(y, 'the result')[i]} is {form(leaf)}, and was "
                    f"{form(first)} before; all steps return one shape and dtype"
                )
            if WEAK.get(type(leaf), 4) > WEAK.get(type(first), 4):
                self.forms[i] = leaf
            self.columns[i].append(leaf)

    def like(self) -> Any:
        """A result as they were."""
        return unflatten(self.structure, self.forms)

    def stacked(self, reverse: bool) -> Any:
        arrays = []
        for column, first in zip(self.columns, self.forms):
            if reverse:
                column.reverse()
            dtype = dtype_of(first)
            if type(first) not in WEAK:  # Python numbers among them take its dtype
                column[:] = [dtype.type(v) if type(v) in WEAK else v for v in column]
            arrays.append(np.stack(column))
            column.clear()  # before the next one is stacked
        return unflatten(self.structure, arrays)


def _empty(label: str, f: Callable, init: Any, leaves: list, structure: Any) -> Any:
    """The results of no steps: their form is that of a step on zeros."""
    zeros = [np.zeros(shape_of(x)[1:], dtype_of(x)) for x in leaves]
    with np.errstate(all="ignore"):
        _, y = _pair(label, init, f(init, unflatten(structure, zeros)))
    results, own = flatten(y)
    return unflatten(own, [np.zeros((0, *shape_of(y)), dtype_of(y)) for y in results])


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All the partial results of an associative operation, in O(log n) calls of it.

    Parameters
    ----------
    fn : callable
        From two pytrees like `elems` to one: ``fn(a, b)`` for all elements of `a` and `b`
        along `axis` at once, with ``fn(fn(a, b), c) == fn(a, fn(b, c))``.
    elems : pytree of arrays
        The elements, along `axis` of each array.
    reverse : bool
        Whether to go from the last element to the first.
    axis : int
        The axis to go along.

    Returns
    -------
    pytree
        Of the form of `elems`: element i is ``fn(fn(e[0], e[1]), ...)`` up to ``e[i]``.

    Raises
    ------
    ValueError
        Where lengths along `axis` differ, or an array has no such axis.

    Notes
    -----
    The elements of odd place come of a scan over pairs, those between of these and one
    more call (Blelloch, Prefix sums and their applications, 1990): less than 2 n
    operations on elements, in 2 log2(n) calls.

    Examples
    --------
    >>> import numpy as np
    >>> associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    check_function("associative_scan", "fn", fn)
    label = f"associative_scan({name_of_function(fn)})"
    leaves, structure = flatten(elems)
    where = paths(elems, "elems")
    for path, x in zip(where, leaves):
        if not is_value(x) or not -len(shape_of(x)) <= axis < len(shape_of(x)):
            raise ValueError(f"{label}: {path} is {form(x)}, which has no axis {axis}")
        check_leaf(label, path, x)
        if shape_of(x)[axis] != shape_of(leaves[0])[axis]:
            raise ValueError(
                f"{label}: {path} has length {shape_of(x)[axis]} along axis {axis}, but "
                f"{where[0]} has {shape_of(leaves[0])[axis]}"
            )

    def along(arrays: list, part: slice) -> list:
        return [x[(slice(None),) * (axis % len(shape_of(x))) + (part,)] for x in arrays]

    def combined(a: list, b: list) -> list:
        first, second = unflatten(structure, a), unflatten(structure, b)
        out = fn(first, second)
        results, own = flatten(out)
        fits = own == structure or same_structure(out, first)
        if not fits or any(joint(x, y) is None for x, y in zip(a, results)):
            raise TypeError(
                f"{label}: fn returned {describe(out)} for {describe(first)}; what it returns "
                f"is of the form of its arguments"
            )
        return results

    def scanned(arrays: list) -> list:
        n = shape_of(arrays[0])[axis]
        if n < 2:
            return arrays
        odd = scanned(combined(along(arrays, slice(0, n - 1, 2)), along(arrays, slice(1, n, 2))))
        before = along(odd, slice(0, (n - 1) // 2))
        even = combined(before, along(arrays, slice(2, n, 2))) if n > 2 else before
        first = along(arrays, slice(0, 1))
        return [_interleave(f, e, o, axis % len(shape_of(o))) for f, e, o in zip(first, even, odd)]

    if reverse:
        leaves = [np.flip(x, axis) for x in leaves]
    results = scanned(leaves) if leaves else []
    return unflatten(structure, [np.flip(x, axis) for x in results] if reverse else results)


def _interleave(first: Any, even: Any, odd: Any, axis: int) -> Any:
    """``first, odd[0], even[0], odd[1], ...`` along an axis."""
    shape, n = shape_of(odd), shape_of(odd)[axis]
    if shape_of(even)[axis] < n:  # an even number of elements: the last has no partner
        whole = _interleave(first, even, odd[(slice(None),) * axis + (slice(0, n - 1),)], axis)
        return np.concatenate([whole, odd[(slice(None),) * axis + (slice(n - 1, n),)]], axis)
    pairs = np.stack([odd, even], axis + 1)
    pairs = np.reshape(pairs, (*shape[:axis], 2 * n, *shape[axis + 1 :]))
    return np.concatenate([first, pairs], axis)


def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """``f(x)`` for each slice `x` of `xs`, stacked: one after the other, or in batches.

    Parameters
    ----------
    f : callable
        From a slice of `xs` to a pytree of arrays.
    xs : pytree of arrays
        What to go along, by axis 0 of each array.
    batch_size : int, optional
        How many slices to take at once, by `vmap`; the last batch may be smaller.
        Without it `f` is called on one slice after the other, so it may branch on values.

    Returns
    -------
    pytree
        The results, with a new axis 0.

    Raises
    ------
    TypeError, ValueError
        As in `scan`, whose notes on memory hold here too.

    Examples
    --------
    >>> import numpy as np
    >>> map(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    array([1., 4., 9.])
    >>> map(lambda x: x**2, np.array([1.0, 2.0, 3.0]), batch_size=2)
    array([1., 4., 9.])
    """
    check_function("map", "f", f)
    label = f"map({name_of_function(f)})"
    if batch_size is not None:
        if type(batch_size) is bool or not isinstance(batch_size, (int, np.integer)):
            raise TypeError(f"{label}: batch_size is {form(batch_size)}; write an int")
        if batch_size < 1:
            raise ValueError(f"{label}: batch_size={batch_size}; write an int of at least 1")
        return vmap(f, randomness="different", chunk_size=batch_size)(xs)  # as in a loop
    return _scan(label, lambda _, x: (None, f(x)), None, xs)[1]
