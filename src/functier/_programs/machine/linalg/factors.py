"""Triangular factors of matrices as code: rows as vectors.

NOTE [factors]
    A matrix is copied to memory whose rows are filled up with zeros to whole vectors. There it
    becomes L and U of ``P A = L U`` with partial pivoting, the factors that LAPACK computes. The
    memory has the order of the rows behind them, and the sign of this order. The factors are
    computed once, and all kernels for one matrix, or for its transpose, read them.

NOTE [large matrices]
    LAPACK counts down the columns, so what it factorizes in such memory is the transpose of the
    matrix: the factors are those of ``P A.T``. The diagonal of U is in its place, L is above it as
    a row of columns, and the order is that of the columns of the matrix.

NOTE [matrices without an answer]
    A pivot that is 0, tiny beside the largest element, or not finite ends the kernel with a
    status, and NumPy computes the result, or raises its error.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiler import engine
from ..text.routines import Kernel, Numbers, Operand, Routine, numbers
from . import blas

LARGEST = 100
"""The rows of a matrix up to which own code is used; LAPACK has larger ones."""


class Factors(NamedTuple):
    """The layout of the factors of a stack of square matrices.

    Attributes
    ----------
    batch : tuple of int
        The shape of the stack.
    size : int
        The rows of a matrix.
    dtype : numpy.dtype
        float64 or float32.
    vector : int
        The bytes of a vector.
    """

    batch: tuple[int, ...]
    size: int
    dtype: np.dtype
    vector: int

    @property
    def kind(self) -> Numbers:
        found = numbers(self.dtype)
        assert found is not None
        return found

    @property
    def large(self) -> bool:
        """Return whether they are LAPACK's: see NOTE [large matrices]."""
        return self.size > LARGEST

    @property
    def leading(self) -> int:
        """Return the numbers of a row, with those that fill it up."""
        return self.vectors * self.width

    @property
    def width(self) -> int:
        """Return the lanes of a vector."""
        return max(2, self.vector // self.dtype.itemsize)

    @property
    def vectors(self) -> int:
        """Return the vectors of a row."""
        return -(-self.size // self.width)

    @property
    def row(self) -> int:
        """Return the bytes of a row."""
        return self.leading * self.dtype.itemsize

    @property
    def order(self) -> int:
        """Return where the order of the rows begins; behind it there is the sign of it."""
        return self.size * self.row

    @property
    def each(self) -> int:
        """Return the bytes for one matrix."""
        return (self.order + 8 * (self.size + 1) + 63) // 64 * 64

    @property
    def strides(self) -> tuple[int, ...]:
        """Return the strides of the stack."""
        strides, step = [], self.each
        for length in reversed(self.batch):
            strides.append(step)
            step *= max(1, length)
        return tuple(reversed(strides))

    @property
    def bytes(self) -> int:
        """Return the bytes for all matrices."""
        count = 1
        for length in self.batch:
            count *= length
        return count * self.each


class Rows:
    """Instructions for vectors of rows; base of the writers below."""

    def __init__(self, code: Routine, factors: Factors):
        self.code, self.factors, self.kind = code, factors, factors.kind
        self.width = factors.width
        self.vector = factors.kind.vector(factors.width)
        self.row, self.item = factors.row, factors.kind.size
        self.suffix = f"v{self.width}{'f64' if self.item == 8 else 'f32'}"

    def op(self, text: str) -> str:
        return self.code.instruction(text)

    def at(self, pointer: str, *terms: tuple[str | int, int], offset: int = 0) -> str:
        return self.code.address(pointer, terms, offset)

    def load(self, place: str) -> str:
        return self.op(f"load {self.vector}, ptr {place}, align {self.item}")

    def store(self, value: str, place: str) -> None:
        self.code.line(f"store {self.vector} {value}, ptr {place}, align {self.item}")

    def number(self, place: str) -> str:
        return self.op(f"load {self.kind.name}, ptr {place}, align {self.item}")

    def put(self, value: str, place: str) -> None:
        self.code.line(f"store {self.kind.name} {value}, ptr {place}, align {self.item}")

    def spread(self, value: str, kind: str = "") -> str:
        """Return a vector with one value in all lanes."""
        name = kind or self.kind.name
        vector = f"<{self.width} x {name}>"
        one = self.op(f"insertelement {vector} poison, {name} {value}, i32 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.op(f"shufflevector {vector} {one}, {vector} poison, {zeros}")

    def minus_product(self, total: str, x: str, y: str) -> str:
        """Return ``total - x * y`` of vectors."""
        v = self.vector
        negative = self.op(f"fneg {v} {x}")
        return self.code.intrinsic(
            f"llvm.fmuladd.{self.suffix}", v, (v, negative), (v, y), (v, total)
        )

    def minus_scalars(self, total: str, x: str, y: str) -> str:
        name = self.kind.name
        negative = self.op(f"fneg {name} {x}")
        kind = "f64" if self.item == 8 else "f32"
        return self.code.intrinsic(
            f"llvm.fmuladd.{kind}", name, (name, negative), (name, y), (name, total)
        )

    def magnitude(self, value: str) -> str:
        name = self.kind.name
        kind = "f64" if self.item == 8 else "f32"
        return self.code.intrinsic(f"llvm.fabs.{kind}", name, (name, value))

    def magnitudes(self, value: str) -> str:
        return self.code.intrinsic(f"llvm.fabs.{self.suffix}", self.vector, (self.vector, value))

    def greatest(self, x: str, y: str) -> str:
        """Return the greater number of each lane; `y` beside a NaN."""
        above = self.op(f"fcmp ogt {self.vector} {x}, {y}")
        mask = f"<{self.width} x i1> {above}"
        return self.op(f"select {mask}, {self.vector} {x}, {self.vector} {y}")

    def part(self, place: str, count: int) -> str:
        """Load the first numbers of a vector, and zeros."""
        mask = ", ".join([f"i1 {int(k < count)}" for k in range(self.width)])
        name, flags = f"llvm.masked.load.{self.suffix}.p0", f"<{self.width} x i1>"
        self.code.declare(name, f"declare {self.vector} @{name}(ptr, i32, {flags}, {self.vector})")
        return self.op(
            f"call {self.vector} @{name}(ptr {place}, i32 {self.item}, {flags} <{mask}>, "
            f"{self.vector} zeroinitializer)"
        )

    def lanes(self, first: str, relation: str, bound: str) -> str:
        """Return which lanes have numbers in a relation to a bound; lane 0 has the first."""
        steps = ", ".join([f"i64 {k}" for k in range(self.width)])
        kind = f"<{self.width} x i64>"
        numbered = self.op(f"add {kind} {self.spread(first, 'i64')}, <{steps}>")
        return self.op(f"icmp {relation} {kind} {numbered}, {self.spread(bound, 'i64')}")

    def masked(self, lanes: str, value: str) -> str:
        """Return a vector with zeros in the other lanes."""
        mask = f"<{self.width} x i1> {lanes}"
        return self.op(f"select {mask}, {self.vector} {value}, {self.vector} zeroinitializer")


def literal(kind: Numbers, value: float) -> str:
    """Return a number as LLVM reads it without rounding."""
    if kind.name == "float":
        value = float(np.float32(value))
    return f"0x{np.float64(value).view(np.uint64):016X}"


def stack(code: Routine, lengths: Sequence[int]) -> tuple[list[str], list]:
    """Open loops over a stack; return the indices, and the loops for `close`."""
    loops = [code.loop(length) for length in lengths]
    return [loop.__enter__().index for loop in loops], loops


def close(loops: Sequence) -> None:
    """Close loops."""
    for loop in reversed(loops):
        loop.__exit__(None, None, None)


def fill(rows: Rows, a: str, matrix: Operand, target: str, keep: str = "") -> str:
    """Write a copy of a matrix into rows with zeros at the end; return its largest magnitude.

    Where it is to `keep` the ``"upper"`` or the ``"lower"`` triangle, the rest becomes zeros.
    """
    inside, beside = {"upper": ("sge", "slt"), "lower": ("sle", "sgt")}.get(keep, ("", ""))
    code, factors, kind = rows.code, rows.factors, rows.kind
    down, across = matrix.strides[-2:]
    n, width, step = factors.size, rows.width, rows.width * rows.item
    most = factors.vectors
    with code.loop(n) as i:
        source = code.address(a, [(i.index, down)])
        goal = code.address(target, [(i.index, rows.row)])
        if across == rows.item:
            whole = n // width
            if whole:
                with code.loop(whole) as v:
                    value = rows.load(code.address(source, [(v.index, step)]))
                    if keep:
                        lane = rows.op(f"mul i64 {v.index}, {width}")
                        value = rows.masked(rows.lanes(lane, inside, i.index), value)
                    rows.store(value, code.address(goal, [(v.index, step)]))
            if n % width:
                value = rows.part(code.address(source, [], whole * step), n % width)
                if keep:
                    value = rows.masked(rows.lanes(str(whole * width), inside, i.index), value)
                rows.store(value, code.address(goal, [], whole * step))
        else:
            for gap in range(n, most * width):
                rows.put(kind.zero(1), code.address(goal, [], gap * rows.item))
            with code.loop(n) as j:
                value = rows.number(code.address(source, [(j.index, across)]))
                if keep:
                    outside = rows.op(f"icmp {beside} i64 {j.index}, {i.index}")
                    zero = f"{kind.name} {kind.zero(1)}"
                    value = rows.op(f"select i1 {outside}, {zero}, {kind.name} {value}")
                rows.put(value, code.address(goal, [(j.index, rows.item)]))
    share = min(most, 4)
    zeros = [(rows.vector, "zeroinitializer")] * share
    with code.loop(n, zeros) as i:
        line = code.address(target, [(i.index, rows.row)])
        found = list(i.values)
        for number in range(most):
            value = rows.load(code.address(line, [], number * step))
            own = number % share
            found[own] = rows.greatest(rows.magnitudes(value), found[own])
        i.new = found
    best = i.results[0]
    for other in i.results[1:]:
        best = rows.greatest(other, best)
    return code.intrinsic(f"llvm.vector.reduce.fmax.{rows.suffix}", kind.name, (rows.vector, best))


def put_row(rows: Rows, source: str, goal: str, count: int, across: int) -> None:
    """Copy numbers that lie side by side to places with a stride."""
    code, done = rows.code, 0
    if across == rows.item:
        done = count // rows.width * rows.width
        for v in range(0, done, rows.width):
            value = rows.load(code.address(source, [], v * rows.item))
            rows.store(value, code.address(goal, [], v * rows.item))
    if done < count:
        with code.loop(count - done) as j:
            value = rows.number(code.address(source, [(j.index, rows.item)], done * rows.item))
            rows.put(value, code.address(goal, [(j.index, across)], done * across))


def bounds(rows: Rows, largest: str) -> tuple[str, str]:
    """Return what the magnitude of a pivot has to be above, and below."""
    kind, info = rows.kind, np.finfo(rows.factors.dtype)
    name = kind.name
    relative = literal(kind, float(info.eps) * 4 * rows.factors.size)
    low = rows.op(f"fmul {name} {largest}, {relative}")
    tiny = literal(kind, float(info.tiny) * 4)
    above = rows.op(f"fcmp ogt {name} {low}, {tiny}")
    return rows.op(f"select i1 {above}, {name} {low}, {name} {tiny}"), literal(
        kind, float(info.max) / 16
    )


def is_good(rows: Rows, size: str, limits: tuple[str, str]) -> str:
    """Return if a magnitude is between limits."""
    name = rows.kind.name
    above = rows.op(f"fcmp ogt {name} {size}, {limits[0]}")
    below = rows.op(f"fcmp olt {name} {size}, {limits[1]}")
    return rows.op(f"and i1 {above}, {below}")


def end_if_not(rows: Rows, condition: str) -> None:
    """Return status 1 where something does not hold."""
    code = rows.code
    fine, wrong = f"fine{code.fresh()}", f"wrong{code.fresh()}"
    code.line(f"br i1 {condition}, label %{fine}, label %{wrong}")
    code.start(wrong)
    code.line("ret i32 1")
    code.start(fine)


def factorize(a: Operand, vector: int = 0) -> tuple[Kernel, Factors]:
    """Return a kernel ``(a, factors, scratch)`` for L and U, with a status, and their layout.

    After a status the order of the rows of each matrix is one that may be followed.
    """
    factors = Factors(a.shape[:-2], a.shape[-1], a.dtype, vector or engine.vector_bytes())
    code = Routine(("a", "factors"), status=True)
    rows = Rows(code, factors)
    where, loops = stack(code, factors.batch)
    order = code.address("%factors", list(zip(where, factors.strides)), factors.order)
    with code.loop(factors.size) as i:
        place = code.address(order, [(i.index, 8)])
        code.line(f"store i64 {i.index}, ptr {place}, align 8")
    close(loops)
    where, loops = stack(code, factors.batch)
    source = code.address("%a", list(zip(where, a.strides)))
    target = code.address("%factors", list(zip(where, factors.strides)))
    code.reserve(factors.row)
    largest = fill(rows, source, a, target)
    limits = bounds(rows, largest)
    (by_lapack if factors.large else decompose)(rows, target, limits)
    close(loops)
    return code.kernel("0"), factors


def by_lapack(rows: Rows, target: str, limits: tuple[str, str]) -> None:
    """Write the factorisation of one large matrix; see NOTE [large matrices]."""
    code, factors = rows.code, rows.factors
    n, order = factors.size, code.address(target, [], factors.order)
    pivots = code.address("%scratch", [], code.reserve(8 * n))
    found = blas.call_lapack(code, rows.kind, "getrf", n, n, target, factors.leading, pivots)
    with code.loop(n, [("i1", found), ("i64", "1")]) as k:
        size = rows.magnitude(rows.number(code.address(target, [(k.index, rows.row + rows.item)])))
        place = code.address(pivots, [(k.index, 8)])
        best = rows.op(f"load i64, ptr {place}, align 8")
        best = rows.op(f"sub i64 {best}, 1")
        inside = rows.op(f"icmp ult i64 {best}, {n}")  # whatever LAPACK makes of NaNs
        best = rows.op(f"select i1 {inside}, i64 {best}, i64 {k.index}")
        swap_numbers(rows, order, k.index, best)
        good = rows.op(f"and i1 {k.values[0]}, {is_good(rows, size, limits)}")
        k.new = [good, parity(rows, k.values[1], k.index, best)]
    code.line(f"store i64 {k.results[1]}, ptr {code.address(order, [], 8 * n)}, align 8")
    end_if_not(rows, k.results[0])


def decompose(rows: Rows, target: str, limits: tuple[str, str]) -> None:
    """Write the factorisation of one matrix in place; a bad pivot returns status 1."""
    code, factors, name = rows.code, rows.factors, rows.kind.name
    n, width = factors.size, rows.width
    sign = code.address(target, [], factors.order + 8 * n)
    # the pivot of the first column; each other pivot is found while the rows are updated
    start = (name, rows.magnitude(rows.number(target))), ("i64", "0")
    pivot = start
    if n > 1:
        with code.loop(n - 1, start) as i:
            index = rows.op(f"add i64 {i.index}, 1")
            here = rows.number(code.address(target, [(index, rows.row)]))
            i.new = larger(rows, i.values, rows.magnitude(here), index)
        pivot = (name, i.results[0]), ("i64", i.results[1])
    state = [*pivot, ("i64", "1")]
    for first, count in phases(factors.vectors, width, n):
        with code.loop(count, state) as step:
            k = rows.op(f"add i64 {step.index}, {first * width}")
            step.new = eliminate(rows, target, k, step.values, first, limits)
        state = [(kind, value) for (kind, _), value in zip(state, step.results)]
    code.line(f"store i64 {state[2][1]}, ptr {sign}, align 8")


def phases(vectors: int, width: int, n: int) -> list[tuple[int, int]]:
    """Return the first vector and the number of some steps that update the same vectors."""
    parts = 1 if vectors < 4 else 2 if vectors < 9 else 4
    starts = [vectors * part // parts for part in range(parts)]
    ends = [*starts[1:], vectors]
    return [(x, min(y * width, n) - x * width) for x, y in zip(starts, ends)]


def eliminate(
    rows: Rows, target: str, k: str, state: Sequence[str], first: int, limits: tuple[str, str]
) -> list[str]:
    """Write one step: swap rows, and subtract multiples of the pivot's row from those below it.

    `first` is the first vector that the step may change. The state is the magnitude of the pivot,
    its row, and the sign of the order; that of the next step is returned.
    """
    code, factors, name = rows.code, rows.factors, rows.kind.name
    n, item, width = factors.size, rows.item, rows.width
    size, best, sign = state
    end_if_not(rows, is_good(rows, size, limits))
    own = code.address(target, [(k, rows.row)])
    other = code.address(target, [(best, rows.row)])
    swap_numbers(rows, code.address(target, [], factors.order), k, best)
    sign = parity(rows, sign, k, best)
    # the row of the pivot: swapped, and kept without its first elements
    pivots = []
    for v in range(factors.vectors):
        x, y = [code.address(p, [], v * width * item) for p in (own, other)]
        mine, new = rows.load(x), rows.load(y)
        rows.store(mine, y)
        rows.store(new, x)
        if v >= first:
            pivots.append(rows.masked(rows.lanes(str(v * width), "sgt", k), new))
            rows.store(pivots[-1], code.address("%scratch", [], v * width * item))
    value = rows.number(code.address(own, [(k, item)]))
    inverse = rows.op(f"fdiv {name} {literal(rows.kind, 1.0)}, {value}")
    following = rows.op(f"add i64 {k}, 1")
    count = rows.op(f"sub i64 {n - 1}, {k}")
    inside = rows.op(f"icmp slt i64 {following}, {n}")
    column = rows.op(f"select i1 {inside}, i64 {following}, i64 {k}")
    beside = rows.number(code.address("%scratch", [(column, item)]))
    start = (name, literal(rows.kind, -1.0)), ("i64", following)
    with code.loop(count, start) as down:
        index = rows.op(f"add i64 {down.index}, {following}")
        line = code.address(target, [(index, rows.row)])
        spot = code.address(line, [(k, item)])
        factor = rows.op(f"fmul {name} {rows.number(spot)}, {inverse}")
        # the next column's element, as the vectors below compute it
        coming = rows.number(code.address(line, [(column, item)]))
        coming = rows.minus_scalars(coming, factor, beside)
        down.new = larger(rows, down.values, rows.magnitude(coming), index)
        many = rows.spread(factor)
        for v, pivot in enumerate(pivots, first):
            x = code.address(line, [], v * width * item)
            rows.store(rows.minus_product(rows.load(x), many, pivot), x)
        # stored last: a vector that is loaded right behind it would have to wait for it
        rows.put(factor, spot)
    return [*down.results, sign]


def larger(rows: Rows, known: Sequence[str], size: str, index: str) -> list[str]:
    """Return the larger magnitude and its row; the first of equal ones, and a NaN."""
    name = rows.kind.name
    better = rows.op(f"fcmp ugt {name} {size}, {known[0]}")
    return [
        rows.op(f"select i1 {better}, {name} {size}, {name} {known[0]}"),
        rows.op(f"select i1 {better}, i64 {index}, i64 {known[1]}"),
    ]


def parity(rows: Rows, sign: str, k: str, best: str) -> str:
    """Return the sign of an order after a swap of two rows, which may be one."""
    same = rows.op(f"icmp eq i64 {k}, {best}")
    turned = rows.op(f"sub i64 0, {sign}")
    return rows.op(f"select i1 {same}, i64 {sign}, i64 {turned}")


def swap_numbers(rows: Rows, order: str, k: str, best: str) -> None:
    code = rows.code
    x, y = code.address(order, [(k, 8)]), code.address(order, [(best, 8)])
    mine, new = [rows.op(f"load i64, ptr {place}, align 8") for place in (x, y)]
    code.line(f"store i64 {mine}, ptr {y}, align 8")
    code.line(f"store i64 {new}, ptr {x}, align 8")
