"""Patterns of sparse matrices, and colourings: the products that contain all entries.

Columns that share no row get one colour: the product with the sum of their unit vectors
contains the entries of all of them, each in a different row (Curtis, Powell and Reid, "On
the estimation of sparse Jacobian matrices", 1974). This is plain NumPy code; it does not use
transforms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

ndarray = np.ndarray
Product = Callable[[ndarray], Any]
"""A function from vectors, shape (k, size), to their products, shape (k, other size)."""


class Pattern:
    """The places of the entries of a sparse matrix, sorted by rows and columns.

    `shape` is None if only the places are known.
    """

    def __init__(self, rows: ArrayLike, cols: ArrayLike, shape: tuple[int, int] | None = None):
        rows, cols = np.array(rows, np.intp), np.array(cols, np.intp)  # the caller's may change
        width = int(cols.max(initial=0)) + 1
        keys = rows * width + cols
        if not np.all(keys[1:] > keys[:-1]):
            keys = np.unique(keys)
            rows, cols = keys // width, keys % width
        self.rows, self.cols, self.shape = rows, cols, shape
        self.starts: dict[int, ndarray] = {}

    def index(self, m: int, n: int) -> tuple[ndarray, ndarray]:
        """Return new arrays ``indices`` and ``indptr`` of the CSR format."""
        kind = np.int32 if max(len(self.cols), n) < 2**31 else np.int64
        starts = self.starts.get(m)
        if starts is None:
            ends = np.cumsum(np.bincount(self.rows, minlength=m))
            starts = np.concatenate([[0], ends]).astype(kind)
            self.starts = {m: starts}
        return self.cols.astype(kind), starts.copy()

    def fits(self, m: int | None, n: int) -> bool:
        """Return True where a matrix of shape (m, n) can have the pattern.

        With None as `m` the number of rows does not matter.
        """
        if self.shape is not None:
            return self.shape == (self.shape[0] if m is None else m, n)
        high, wide = self.rows.max(initial=-1), self.cols.max(initial=-1)
        return bool((m is None or high < m) and wide < n)

    def describe(self) -> str:
        """Return the verb and object of a message about the shape."""
        if self.shape is not None:
            return f"has the shape {self.shape}"
        return f"has entries up to ({self.rows.max()}, {self.cols.max()})"

    def is_symmetric(self) -> bool:
        other = Pattern(self.cols, self.rows)
        return np.array_equal(other.rows, self.rows) and np.array_equal(other.cols, self.cols)

    def union(self, other: "Pattern") -> "Pattern":
        rows = np.concatenate([self.rows, other.rows])
        return Pattern(rows, np.concatenate([self.cols, other.cols]), self.shape)

    def is_within(self, other: "Pattern") -> bool:
        return len(other.union(self).rows) == len(other.rows)


def pattern_of(label: str, given: Any) -> Pattern:
    """Return the pattern of a sparse array, a dense array, or a tuple ``(rows, cols)``."""
    wanted = (
        "pass a scipy.sparse array of any format, a two-dimensional boolean array, or a tuple "
        "(rows, cols) of two arrays of integers"
    )
    if isinstance(given, Pattern):
        return given
    if hasattr(given, "tocoo"):
        if given.ndim != 2:
            raise ValueError(f"{label}: the pattern has the shape {given.shape}; {wanted}")
        found = given.tocoo()
        return Pattern(found.row, found.col, found.shape)
    if isinstance(given, tuple):
        places = [np.asarray(x) for x in given]
        kinds = [x.dtype.kind if x.size else "i" for x in places]
        if len(places) != 2 or not all(k in "iu" for k in kinds):
            raise TypeError(f"{label}: the pattern is a tuple of other objects; {wanted}")
        if places[0].ndim != 1 or places[0].shape != places[1].shape:
            raise ValueError(
                f"{label}: the rows and columns of the pattern have the shapes "
                f"{places[0].shape} and {places[1].shape}; pass two of one length"
            )
        if any(x.min(initial=0) < 0 for x in places):
            raise ValueError(f"{label}: the pattern has negative indices; count from 0")
        return Pattern(places[0], places[1])
    try:
        dense = np.asarray(given)
    except ValueError:  # a ragged list
        dense = np.array(None)
    if dense.dtype.kind not in "biufc":
        raise TypeError(f"{label}: the pattern is a {type(given).__name__}; {wanted}")
    if dense.ndim != 2:
        raise ValueError(f"{label}: the pattern has the shape {dense.shape}; {wanted}")
    rows, cols = np.nonzero(dense)
    return Pattern(rows, cols, dense.shape)


# ---- colours ----


def colour_rows(rows: ndarray, cols: ndarray) -> ndarray:
    """Return a colour for each column, or -1 where it has no entry.

    No two columns of one colour share a row. For a band the number of colours is the largest
    number of entries in a row. Otherwise it is the smallest of three colourings: two greedy
    ones, in the natural order and with the largest first, and one that repeats the colours in
    turn.

    `rows` have to be sorted, and the columns of each row too.
    """
    size = int(cols.max(initial=-1)) + 1
    colours = np.full(size, -1)
    if not len(rows):
        return colours
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    counts = last - first + 1
    least = counts.max()
    band = (cols[last] - cols[first]).max() + 1
    colours[cols] = cols % band
    if band == least:
        return colours
    by_column = np.argsort(cols, kind="stable")
    degrees = np.bincount(cols, minlength=size)
    ends = np.cumsum(degrees)
    row_of_entry = np.repeat(np.arange(len(counts)), counts)  # among the rows with entries
    members, stops = row_of_entry[by_column].tolist(), ends.tolist()
    starts = (ends - degrees).tolist()
    used = np.flatnonzero(degrees)
    best = int(band)
    # How many columns meet each column in its rows: the largest first leave the easy ones last.
    meets = np.bincount(cols, counts[row_of_entry] - 1.0, size)
    for order in (used, used[np.argsort(-meets[used], kind="stable")]):
        found = _greedy(order.tolist(), starts, stops, members, len(counts), size)
        if max(found) + 1 < best:
            best, colours = max(found) + 1, np.array(found)
        if best == least:
            return colours
    for n in range(least, min(best, least + 8)):  # of a grid, the columns in turn
        turns = np.sort(row_of_entry * n + cols % n)
        if np.all(turns[1:] != turns[:-1]):
            return np.where(degrees > 0, np.arange(size) % n, -1)
    return colours


def _greedy(
    order: list, starts: list, stops: list, members: list, height: int, size: int
) -> list:  # fmt: skip
    """Give each column in `order` the first colour that is free in all of its rows.

    The colours in use in a row are the bits of one integer, so the work is proportional to the
    number of entries, whatever the lengths of the rows.
    """
    taken = [0] * height
    colours = [-1] * size
    for j in order:
        mine = members[starts[j] : stops[j]]
        busy = 0
        for i in mine:
            busy |= taken[i]
        free = ~busy & (busy + 1)
        for i in mine:
            taken[i] |= free
        colours[j] = free.bit_length() - 1
    return colours


def split_off_longest(counts: ndarray) -> tuple[int, int]:
    """Return the number of longest lines to read separately, and the least number of products.

    There is one product for each of these lines, and at least as many for the others as the
    longest of them has entries.
    """
    falling = np.append(np.sort(counts)[::-1], 0)
    totals = np.arange(len(falling)) + falling
    k = int(np.argmin(totals))
    return k, int(totals[k])


class Sweep:
    """Products of one mode, and the entries of a pattern that are read from them.

    There is a product for each colour of the columns. It contains the entries of the columns
    of this colour, each in its row. `entries` are their numbers in the pattern; None for all.
    """

    def __init__(
        self, colours: ndarray, at: ndarray, rows: ndarray, entries: ndarray | None = None
    ):
        self.entries, self.rows, self.at = entries, rows, at
        self.count = int(colours.max(initial=-1)) + 1
        self.columns = np.flatnonzero(colours >= 0)
        self.shades = colours[self.columns]
        self.places: dict[int, ndarray] = {}

    @classmethod
    def of(cls, rows: ndarray, cols: ndarray, entries: ndarray | None = None) -> "Sweep":
        """Return the products for the entries of a pattern at `rows` and `cols`."""
        if entries is not None:
            rows, cols = rows[entries], cols[entries]
        order: Any = slice(None)
        if not np.all(rows[1:] >= rows[:-1]):  # a transposed pattern
            order = np.lexsort((cols, rows))
        colours = colour_rows(rows[order], cols[order])
        return cls(colours, colours[cols], rows, entries)

    def read(
        self, product: Product, size: int, weights: ndarray | None = None,
        extra: ndarray | None = None, chunk: int | None = None,
    ) -> tuple[list, list, Any]:  # fmt: skip
        """Return the numbers and the values of the entries, in parts, and further products.

        The further products are those with `extra`, vectors of `size`. Column j of the matrix
        is multiplied by ``weights[j]``. At most `chunk` products are computed at a time.
        """
        extras = 0 if extra is None else len(extra)
        total = max(self.count + extras, 1)  # at least one, for the form of the result
        step = min(chunk or total, total)
        numbers, values, further = [], [], []
        for start in range(0, total, step):
            stop = min(start + step, total)
            whole = step == total
            inside: Any = slice(None)
            if not whole:
                inside = (self.shades >= start) & (self.shades < stop)
            columns = self.columns[inside]
            seeds = np.zeros((stop - start, size))
            seeds[self.shades[inside] - start, columns] = 1 if weights is None else weights[columns]
            if extra is not None and stop > self.count:
                first = max(start, self.count)
                seeds[first - start :] = extra[first - self.count : stop - self.count]
            out = product(seeds)
            m = out.shape[1]
            if whole:
                numbers.append(self.entries)
                values.append(np.take(out, self.within(m)))
            else:
                mine = np.flatnonzero((self.at >= start) & (self.at < stop))
                numbers.append(mine if self.entries is None else self.entries[mine])
                values.append(np.take(out, (self.at[mine] - start) * m + self.rows[mine]))
            if extra is not None and stop > self.count:
                further.append(out[max(self.count - start, 0) :])
        if len(further) > 1:
            further = [np.concatenate(further)]
        return numbers, values, further[0] if further else None

    def within(self, m: int) -> ndarray:
        """Return the places of the entries among the elements of all products of length `m`."""
        places = self.places.get(m)
        if places is None:
            places = self.at * m + self.rows
            self.places = {m: places}
        return places


class Plan:
    """The sweeps that contain all entries of a pattern: forward, reverse, or both."""

    def __init__(self, pattern: Pattern, mode: str):
        self.pattern = pattern
        self.forward: Sweep | None = None
        self.reverse: Sweep | None = None
        self.sample: Any = None  # the `Sample` for checks
        self.slack = 1.0  # the tolerance of checks, in usual rounding errors
        if mode == "fwd":
            self.forward = self._forward()
        elif mode == "rev":
            self.reverse = self._reverse()
        else:
            self._choose()

    def _forward(self, entries: ndarray | None = None) -> Sweep:
        return Sweep.of(self.pattern.rows, self.pattern.cols, entries)

    def _reverse(self, entries: ndarray | None = None) -> Sweep:
        return Sweep.of(self.pattern.cols, self.pattern.rows, entries)

    def _choose(self) -> None:
        """Choose the sweeps with the fewest products; forward ones if there is a choice.

        A few long rows among short ones are read from reverse products, and the others from
        forward ones; or the other way round with columns. A diagonal matrix with one full row
        and one full column takes three products.
        """
        rows, cols = self.pattern.rows, self.pattern.cols
        by_row, by_column = np.bincount(rows, minlength=1), np.bincount(cols, minlength=1)
        least = min(by_row.max(), by_column.max())
        parts = (
            (split_off_longest(by_row), by_row, rows),
            (split_off_longest(by_column), by_column, cols),
        )
        (k, total), counts, lines = min(parts, key=lambda part: part[0][1])
        if 2 * total < least:
            longest = np.zeros(len(counts), bool)
            longest[np.argsort(-counts, kind="stable")[:k]] = True
            reverse = longest[lines] if lines is rows else ~longest[lines]
            self.forward = self._forward(np.flatnonzero(~reverse))
            self.reverse = self._reverse(np.flatnonzero(reverse))
            if self.count <= least:
                return
        mixed = self.forward, self.reverse, self.count
        forward, reverse = self._forward(), None
        if forward.count > by_column.max():
            reverse = self._reverse()
            if reverse.count >= forward.count:
                reverse = None
        self.forward, self.reverse = (None, reverse) if reverse else (forward, None)
        if mixed[2] and mixed[2] < self.count:
            self.forward, self.reverse = mixed[:2]

    @property
    def count(self) -> int:
        """The number of products."""
        return sum(sweep.count for sweep in (self.forward, self.reverse) if sweep)
