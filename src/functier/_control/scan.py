"""Loops over an axis: scan, map and associative_scan.

Like `branches`, this is Python code over NumPy on tensors.
"""

from collections.abc import Iterator, Sequence
from math import isqrt
from typing import Any

import numpy as np

from .._core.border import check_leaf
from .._core.numpy_facts import Function, PyTree, Structure, Value, dtype_of, shape_of
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
from .._core.tracebacks import checks_keywords
from .._transforms.chunks.compute import check_count
from .._transforms.vmap import vmap
from .given import Repeats
from .masks import WEAK, check_carry, check_function, common_dtype, form, number_of
from .rows import Stack, joined
from .schedule import run_steps


@checks_keywords
def scan(
    f: Function,
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: Any = 1,
) -> tuple:
    """Repeat ``carry, y = f(carry, x)`` for each slice `x` of `xs`, and stack all `y`.

    Parameters
    ----------
    f : callable
        Takes the carry and a slice of `xs`, and returns the next carry and a result, which
        may be None.
    init : pytree
        The first carry. A Python number takes the dtype that the first step gives it.
    xs : pytree of arrays, optional
        The arrays to loop over, along axis 0 of each.
    length : int, optional
        The number of steps. It is needed if `xs` contains no arrays.
    reverse : bool
        Whether to loop from the last slice to the first. Each result has the position of its
        slice.
    unroll : optional
        Accepted for compatibility with JAX, and ignored.

    Returns
    -------
    tuple
        The last carry, with the structure, shapes and dtypes of `init`, and the results,
        stacked along a new axis 0. For zero steps `f` is called once, on `init` and zeros, to
        find the form of the empty results.

    Raises
    ------
    TypeError
        If `f` does not return a pair, or the carry or a result changes its structure, a shape
        or a dtype. The message has the path, and a note names the step.
    ValueError
        If lengths differ, or no length is known.

    Notes
    -----
    Reverse mode saves what `f` records in every step. ``scan(checkpoint(f), init, xs)``
    saves the carry of each step and the record of one, and runs `f` twice. `checkpoint` with
    slots saves a fixed number of carries of a function that calls `scan`. Forward mode and
    `vmap` save only the carry and the results.

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
    return run_scan(f"scan({name_of_function(f)})", f, init, xs, length, reverse)


def run_scan(
    label: str, f: Function, init: PyTree, xs: PyTree, length: Any = None, reverse: bool = False
) -> tuple:
    leaves, structure = flatten(xs)
    n = _length(label, leaves, xs, length)
    known = _Rows(label)

    def step(_: Any, carry: PyTree, elements: list) -> tuple[PyTree, PyTree]:
        return _pair(label, carry, f(carry, unflatten(structure, elements)))

    def steps(start: int, stop: int, carry: PyTree, xs: Sequence) -> tuple:
        if not n:
            return carry, _no_rows(label, f, carry, leaves, structure)
        order, rows, position = range(stop - start), known.copy(), 0
        loop = Repeats(step, len(order), xs, (f,), reverse=reverse)
        order = order[::-1] if reverse else order
        slices = [_slices(x, order) for x in xs]
        while position < len(order):
            try:
                found = None if loop.level is None else loop.rest(position, carry)
                if found is None:
                    out = f(carry, unflatten(structure, [next(s) for s in slices]))
                    carry, y = _pair(label, carry, out)
                    rows.add(y)
                    position += 1
                    continue
                done, carry, y, rest = found
                rows.add(y, rest, done)
            except Exception as error:
                i = start + position
                error.add_note(f"{label}: in step {n - 1 - i if reverse else i} of {n}")
                raise
            position += done
            slices = [_slices(x, order[position:]) for x in xs if position < len(order)]
        known.structure, known.forms = rows.structure, rows.forms
        return carry, rows.stack(reverse)

    return run_steps(label, steps, n, init, leaves, reverse, known.join)


def _length(label: str, leaves: list, xs: PyTree, length: Any) -> int:
    """Return the number of steps, checked to be the same for all arrays and `length`."""
    if length is not None:
        if not isinstance(length, (int, np.integer)):
            raise TypeError(f"{label}: length is {form(length)}; write the number of steps")
        if length < 0:
            raise ValueError(f"{label}: length={length}; write the number of steps")
    n, source = length, "length"
    for i, x in enumerate(leaves):
        if not is_value(x) or not shape_of(x):
            raise ValueError(
                f"{label}: {paths(xs, 'xs')[i]} is {form(x)}, which has no axis to loop over; pass "
                f"arrays, and let the function close over values that are the same in every step"
            )
        check_leaf(label, lambda i=i: paths(xs, "xs")[i], x)
        size = shape_of(x)[0]
        if n is not None and size != n:
            raise ValueError(
                f"{label}: {paths(xs, 'xs')[i]} has length {size} along axis 0, but {source} is "
                f"{n}; pass arrays of one length"
            )
        if n is None:
            n, source = size, f"that of {paths(xs, 'xs')[i]}"
    if n is None:
        raise ValueError(f"{label}: xs contains no arrays; write length=..., the number of steps")
    return n


def _slices(x: Value, order: range) -> Iterator[Value]:
    """Yield the slices of `x` along axis 0.

    A tensor is first cut into blocks whose length is the square root of its own. The backward
    pass puts the cotangent of each slice into an array of the size of the sliced one, so
    without the blocks a scan would take quadratic time.
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


def _pair(label: str, carry: PyTree, out: Any) -> tuple:
    """Return the next carry, checked, and the result, which one step returned."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(
            f"{label}: f returned {describe(out)}; return (carry, y), with None as y if there is "
            f"no result"
        )
    return check_carry(label, "f", "init", carry, out[0]), out[1]


class _Rows:
    """The results of all steps, with a column for each leaf.

    `forms` has for each column the leaf with its dtype.
    """

    def __init__(self, label: str):
        self.label, self.structure = label, None
        self.columns: list[list] = []
        self.forms: list = []

    def copy(self) -> "_Rows":
        """Return rows for the steps that follow."""
        rows = _Rows(self.label)
        rows.structure, rows.forms = self.structure, [*self.forms]
        rows.columns = [[] for _ in self.forms]
        return rows

    def add(self, y: PyTree, rest: PyTree = None, steps: int = 1) -> None:
        """Add the result of a step, checked to have the form of those before.

        `rest` has arrays of the results of some `steps`, of which this is the first.
        """
        leaves, structure = flatten(y, self.label, "the result")
        for i, leaf in enumerate(leaves):
            check_leaf(self.label, lambda i=i: paths(y, "the result")[i], leaf)
            if type(leaf) is np.ndarray and rest is None:  # which the next step may fill again
                leaves[i] = leaf.copy()
        if self.structure is None:
            for i, leaf in enumerate(leaves):
                if not is_value(leaf):
                    where = paths(y, "the result")[i]
                    raise TypeError(f"{self.label}: {where} is {form(leaf)}; return arrays")
            self.columns, self.structure = [[] for _ in leaves], structure
            self.forms = [*leaves]
        elif structure != self.structure and not same_structure(y, self.example()):
            raise TypeError(
                f"{self.label}: f returned the result {describe(y)}, but "
                f"{describe(self.example())} before; return one structure in all steps"
            )
        made = leaves if rest is None else [Stack(x, steps) for x in flatten(rest)[0]]
        for i, (first, leaf) in enumerate(zip(self.forms, leaves)):
            if leaf is not first and (not is_value(leaf) or common_dtype(first, leaf) is None):
                raise TypeError(
                    f"{self.label}: {paths(y, 'the result')[i]} is {form(leaf)}, but was "
                    f"{form(first)} before; return one shape and dtype in all steps"
                )
            if WEAK.get(type(number_of(leaf)), 4) > WEAK.get(type(number_of(first)), 4):
                self.forms[i] = leaf
            self.columns[i].append(made[i])

    def example(self) -> PyTree:
        """Return a result of the form of those before."""
        return unflatten(self.structure, self.forms)

    def stack(self, reverse: bool) -> PyTree:
        """Return the results of all steps along a new axis 0, and forget them."""
        arrays = []
        for column, first in zip(self.columns, self.forms):
            dtype = dtype_of(first)
            if type(number_of(first)) not in WEAK:  # Python numbers take the dtype of the arrays
                column[:] = [dtype.type(v) if type(v) in WEAK else v for v in column]
            arrays.append(joined(column, reverse))
            column.clear()  # before the next one is stacked
        return unflatten(self.structure, arrays)

    def join(self, parts: list[PyTree]) -> PyTree:
        """Return the stacked results of parts of the loop as those of all."""
        arrays = []
        for first, *column in zip(self.forms, *[flatten(part)[0] for part in parts]):
            if type(number_of(first)) not in WEAK:
                dtype = dtype_of(first)
                column = [x if dtype_of(x) == dtype else x.astype(dtype) for x in column]
            arrays.append(np.concatenate(column))
        return unflatten(self.structure, arrays)


def _no_rows(label: str, f: Function, init: PyTree, leaves: list, structure: Structure) -> PyTree:
    """Return the empty results of zero steps, with the form of the result of a step on zeros."""
    zeros = [np.zeros(shape_of(x)[1:], dtype_of(x)) for x in leaves]
    with np.errstate(all="ignore"):
        _, y = _pair(label, init, f(init, unflatten(structure, zeros)))
    results, out_structure = flatten(y)
    return unflatten(out_structure, [np.zeros((0, *shape_of(y)), dtype_of(y)) for y in results])


@checks_keywords
def associative_scan(fn: Function, elems: PyTree, reverse: bool = False, axis: int = 0) -> PyTree:
    """Compute all prefix results of an associative operation in O(log n) calls.

    Parameters
    ----------
    fn : callable
        Takes two pytrees with the structure of `elems` and returns a third: ``fn(a, b)`` for all
        elements of `a` and `b` along `axis` at once. It has to be associative:
        ``fn(fn(a, b), c) == fn(a, fn(b, c))``.
    elems : pytree of arrays
        The elements, along `axis` of each array.
    reverse : bool
        Whether to combine the elements from the last to the first.
    axis : int
        The axis of the elements.

    Returns
    -------
    pytree
        Arrays with the form of `elems`. Element i combines the elements 0 to i:
        ``fn(fn(e[0], e[1]), ...)`` up to ``e[i]``.

    Raises
    ------
    ValueError
        If lengths along `axis` differ, or an array has no such axis.

    Notes
    -----
    A scan over pairs gives the results at odd positions, and one more call gives the others
    (Blelloch, Prefix sums and their applications, 1990). That takes fewer than 2 n operations on
    elements, in 2 log2(n) calls.

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
            raise ValueError(
                f"{label}: {path} is {form(x)}, which has no axis {axis}; pass arrays that have it"
            )
        check_leaf(label, path, x)
        if shape_of(x)[axis] != shape_of(leaves[0])[axis]:
            raise ValueError(
                f"{label}: {path} has length {shape_of(x)[axis]} along axis {axis}, but "
                f"{where[0]} has {shape_of(leaves[0])[axis]}; pass arrays of one length"
            )

    def along(arrays: list, part: slice) -> list:
        return [x[(slice(None),) * (axis % len(shape_of(x))) + (part,)] for x in arrays]

    def combine(a: list, b: list) -> list:
        first, second = unflatten(structure, a), unflatten(structure, b)
        out = fn(first, second)
        results, out_structure = flatten(out)
        fits = out_structure == structure or same_structure(out, first)
        if not fits or any(common_dtype(x, y) is None for x, y in zip(a, results)):
            raise TypeError(
                f"{label}: fn returned {describe(out)} for {describe(first)}; return arrays of "
                f"the structure, shapes and dtypes of the arguments"
            )
        return results

    def scan_arrays(arrays: list) -> list:
        n = shape_of(arrays[0])[axis]
        if n < 2:
            return arrays
        odd = scan_arrays(combine(along(arrays, slice(0, n - 1, 2)), along(arrays, slice(1, n, 2))))
        before = along(odd, slice(0, (n - 1) // 2))
        even = combine(before, along(arrays, slice(2, n, 2))) if n > 2 else before
        first = along(arrays, slice(0, 1))
        return [_interleave(f, e, o, axis % len(shape_of(o))) for f, e, o in zip(first, even, odd)]

    if reverse:
        leaves = [np.flip(x, axis) for x in leaves]
    results = scan_arrays(leaves) if leaves else []
    return unflatten(structure, [np.flip(x, axis) for x in results] if reverse else results)


def _interleave(first: Value, even: Value, odd: Value, axis: int) -> Value:
    """Return ``first, odd[0], even[0], odd[1], ...`` along an axis."""
    shape, n = shape_of(odd), shape_of(odd)[axis]
    if shape_of(even)[axis] < n:  # an even number of elements: the last has no partner
        whole = _interleave(first, even, odd[(slice(None),) * axis + (slice(0, n - 1),)], axis)
        return np.concatenate([whole, odd[(slice(None),) * axis + (slice(n - 1, n),)]], axis)
    pairs = np.stack([odd, even], axis + 1)
    pairs = np.reshape(pairs, (*shape[:axis], 2 * n, *shape[axis + 1 :]))
    return np.concatenate([first, pairs], axis)


@checks_keywords
def map(f: Function, xs: PyTree, *, batch_size: int | None = None) -> PyTree:
    """Compute ``f(x)`` for each slice `x` of `xs`, and stack the results.

    Parameters
    ----------
    f : callable
        Takes a slice of `xs` and returns a pytree of arrays.
    xs : pytree of arrays
        The arrays to loop over, along axis 0 of each.
    batch_size : int, optional
        The number of slices to compute at once by `vmap`; the last batch may be smaller.
        Without it `f` is called on one slice after the other, so it may branch on values.

    Returns
    -------
    pytree
        The results, stacked along a new axis 0.

    Raises
    ------
    TypeError, ValueError
        As `scan`, whose notes on memory apply here too.

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
        check_count(label, "batch_size", batch_size, 1)
        return vmap(f, randomness="different", chunk_size=batch_size)(xs)  # as in a loop
    return run_scan(label, lambda _, x: (None, f(x)), None, xs)[1]
