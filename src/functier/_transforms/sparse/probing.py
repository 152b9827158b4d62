"""Entries of a Jacobian, read from products, and its pattern where none is given."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .colouring import Pattern, Plan, Sweep, colour_rows, split_off_longest
from .points import PatternPoint, refuse_tensor

ndarray = np.ndarray

MANY = 1 << 26
"""The largest number of entries that are not finite in a probed pattern."""

LOOSE = 2.0**20
"""The largest tolerance, in usual rounding errors, for a function with larger errors."""

# ---- reading a Jacobian, and checking it ----


def entries(plan: Plan, point: PatternPoint, check: bool = False) -> tuple[Any, Any]:
    """Return the entries of the pattern, in its order, and None.

    With `check` the second item is the product with the sample of the plan.
    """
    point.require(plan.pattern)
    numbers, values, checked = [], [], None
    for mode, sweep in (("fwd", plan.forward), ("rev", plan.reverse)):
        if sweep is None:
            continue
        product, size = (point.forward, point.n) if mode == "fwd" else (point.reverse, point.m)
        extra: Any = None
        if check and checked is None:
            if plan.sample is None or len(plan.sample.vector) != size:
                plan.sample = Sample(plan, size, mode)
            extra = plan.sample.vector[None]
        own, found, further = sweep.read(product, size, None, extra, point.settings.chunk)
        numbers += own
        values += found
        if extra is not None:
            checked = further[0]
    return _in_order(numbers, values), checked


def _in_order(numbers: list, values: list) -> Any:
    """Return the values in the order of their numbers; both come in parts."""
    if len(values) == 1 and numbers[0] is None:
        return values[0]
    places = np.concatenate(numbers)
    order = np.empty(len(places), np.intp)
    order[places] = np.arange(len(places))
    return np.take(np.concatenate(values), order)


class Sample:
    """A random vector, whose product with the Jacobian is compared with that of the entries.

    It belongs to a plan; no element of it is near 0.
    """

    def __init__(self, plan: Plan, size: int, mode: str):
        rows, cols = plan.pattern.rows, plan.pattern.cols
        self.mode = mode
        self.lines, across = (rows, cols) if mode == "fwd" else (cols, rows)
        self.vector = signed(np.random.default_rng(size), size)
        self.factors = self.vector[across]

    def off(self, data: ndarray, product: ndarray) -> ndarray:
        """Return the difference of two products in usual rounding errors, for each row.

        `data` are the entries, and `product` is that of the Jacobian; in reverse mode there is a
        difference for each column. Where both products are not finite it is 0.
        """
        with np.errstate(all="ignore"):
            terms = data * self.factors
            expected = self.total(terms.real, len(product))
            usual = self.total(np.abs(terms), len(product))
            if terms.dtype.kind == "c":
                expected = expected + 1j * self.total(terms.imag, len(product))
            usual *= _rounding(data.dtype)
            gap = np.abs(product - expected)
            if np.all(gap <= usual):
                return np.zeros(len(gap))
            times = gap.astype(float) / usual
        lost = np.isfinite(product) != np.isfinite(expected)
        if lost.any():
            times[lost] = np.inf
        return np.fmax(times, 0, out=times)  # NaN, from 0 / 0 or two NaNs, becomes 0

    def total(self, terms: ndarray, size: int) -> ndarray:
        return np.bincount(self.lines, terms.astype(float), size) if len(terms) else np.zeros(size)


def signed(rng: Any, size: int) -> ndarray:
    """Return random numbers of both signs, none of them near 0."""
    return rng.uniform(0.5, 1.5, size) * rng.choice([-1.0, 1.0], size)


@functools.cache
def _rounding(dtype: np.dtype) -> float:
    """Return the usual rounding error of a product, relative to the sum of its terms."""
    return 64 * float(max(np.finfo(d).eps for d in (float, np.result_type(dtype, np.float16))))


# ---- probing ----


def probe(point: PatternPoint, attempt: int = 0) -> tuple[Pattern, bool]:
    """Return the pattern of the Jacobian at a point, and True if its products with 0 are finite.

    The search goes from coarse to fine. A product with a random vector that is zero outside
    some blocks of columns shows which rows have entries in these blocks; if no row can have
    entries in two of the blocks, it shows in which block. Blocks with entries are divided
    until they are single columns. An element of a product that is 0 means that there are no
    entries, except by chance (one in 2**53 sums of two numbers, one in 2**24 in single
    precision); this chance differs from one `attempt` to the next.

    A row whose product with 0 is not finite (0 times infinity) is assumed to be full.
    """
    settings = point.settings
    reverse, chunk = settings.mode == "rev", settings.chunk
    product, other = point.forward, point.reverse
    if reverse:
        n, product = point.m, point.reverse
    else:
        n = point.n
    zero = product(np.zeros((1, n)))
    refuse_tensor(zero, settings)
    m = zero.shape[1]
    poisoned = np.flatnonzero(~np.isfinite(zero[0]))
    if len(poisoned) * n > MANY:
        raise ValueError(
            f"{settings.label}: the derivative is not finite in {len(poisoned)} of {m} "
            f"{'columns' if reverse else 'rows'}, such as {poisoned[0]}, so the pattern cannot be "
            f"probed at this point; pass a pattern, or that of jacobian_pattern at another point"
        )
    finite = np.flatnonzero(np.isfinite(zero[0]))
    done = [(np.repeat(poisoned, n), np.tile(np.arange(n), len(poisoned)))]
    rng = np.random.default_rng([n, attempt + 1])
    shift = max((n - 1).bit_length() - 3, 0)
    first = np.arange(((n - 1) >> shift) + 1 if n else 0)
    rows, blocks = np.repeat(finite, len(first)), np.tile(first, len(finite))
    while len(rows):
        weights = signed(rng, n)
        of_block = colour_rows(*_distinct(rows, blocks))
        of_all = np.full(((n - 1) >> shift) + 1, -1)  # also of blocks after the last with entries
        of_all[: len(of_block)] = of_block
        sweep = Sweep(of_all[np.arange(n) >> shift], of_block[blocks], rows)
        numbers, values, _ = sweep.read(product, n, weights, None, chunk)
        found = _in_order(numbers, values) != 0
        rows, blocks = rows[found], blocks[found]
        if not shift:
            break
        step = min(2, shift)
        shift -= step
        blocks = ((blocks << step)[:, None] + np.arange(1 << step)).reshape(-1)
        rows = np.repeat(rows, 1 << step)
        inside = (blocks << shift) < n
        rows, blocks = rows[inside], blocks[inside]
        if settings.mode == "auto" and len(rows):
            long = _long_rows(rows)
            if len(long):
                done += _full_rows(other, long, m, chunk)
                rest = ~np.isin(rows, long)
                rows, blocks = rows[rest], blocks[rest]
    done.append((rows, blocks))
    rows, cols = [np.concatenate(part) for part in zip(*done)]
    if reverse:
        rows, cols = cols, rows
    return Pattern(rows, cols, (point.m, point.n)), not len(poisoned)


def settle(point: PatternPoint, plan: Plan | None) -> tuple[Plan, Any, bool]:
    """Return a plan that is right at a point, the entries, and True if the plan can be reused.

    `plan` was right at another point. Every plan is checked by a product with a random
    vector: if this differs, entries may be missing, and the pattern is probed.
    """
    mode, keep = point.settings.mode, True
    data: Any = None
    for attempt in range(4):
        if plan is not None:
            try:
                data, product = entries(plan, point, True)
            except ValueError:
                if point.form is None or plan.pattern.fits(point.m, point.n):
                    raise
                plan = None  # the result has another size than before
            else:
                refuse_tensor(data, point.settings)
                worst = float(plan.sample.off(np.asarray(data), product).max(initial=0))
                if worst <= plan.slack:
                    break
        point.require(None)
        pattern, keep = probe(point, attempt)
        if plan is not None and pattern.is_within(plan.pattern):
            if np.isfinite(worst):  # no entry is missing: the rounding errors are larger
                plan.slack = min(4 * worst, LOOSE)
            break
        found = Plan(pattern, mode)
        if plan is not None and keep:
            # All entries so far, if that costs little: Newton's method moves to and fro
            # between the pieces of a function.
            both = Plan(pattern.union(plan.pattern), mode)
            if attempt or both.count <= 2 * found.count:
                found = both
        plan = found
    else:
        data, _ = entries(plan, point)  # type: ignore[arg-type]
    return plan, data, keep  # type: ignore[return-value]


def _distinct(rows: ndarray, blocks: ndarray) -> tuple[ndarray, ndarray]:
    """Return one row for each set of blocks: a colouring depends on the distinct sets only."""
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    marks = np.random.default_rng(0).integers(0, 2**64, blocks.max() + 1, np.uint64, False)
    kinds = np.add.reduceat(marks[blocks], first)  # equal by chance in one of 2**64 pairs
    _, some = np.unique(kinds, return_index=True)
    chosen = np.zeros(len(first), bool)
    chosen[some] = True
    mine = np.repeat(chosen, np.diff(first, append=len(rows)))
    return rows[mine], blocks[mine]


def _long_rows(rows: ndarray) -> ndarray:
    """Return the rows to read by reverse products, one for each."""
    counts = np.bincount(rows)
    k, total = split_off_longest(counts)
    if counts.max() < 16 or 2 * total >= counts.max():
        return rows[:0]
    return np.sort(np.argsort(-counts, kind="stable")[:k])


def _full_rows(product: Callable, rows: ndarray, m: int, chunk: int | None) -> Iterator[tuple]:
    """Yield the entries of `rows`, from products with their unit vectors."""
    step = chunk or len(rows)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        seeds = np.zeros((len(some), m))
        seeds[np.arange(len(some)), some] = 1
        numbers, columns = np.nonzero(product(seeds))
        yield some[numbers], columns
