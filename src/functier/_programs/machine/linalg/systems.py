"""Determinants, Cholesky factors and solutions of linear systems.

NOTE [two orders]
    A row of the solution is the row of the right-hand side, less multiples of rows that are
    solved: forward with one triangle, backward with the other. For the transposed matrix the
    triangles change their places, and the order of the rows is undone at the end. The factors of
    a large matrix are those of its transpose.
"""

from collections.abc import Sequence

import numpy as np

from ..compiler import engine
from ..elementary import rule_of
from ..text.emitter import Emitter
from ..text.routines import Kernel, Operand, Routine
from . import blas
from .factors import (
    Factors,
    Rows,
    bounds,
    close,
    end_if_not,
    fill,
    is_good,
    literal,
    put_row,
    stack,
)


def each_diagonal(code: Routine, factors: Factors) -> tuple[Rows, str, list, list]:
    """Begin to look at the factors of each matrix of a stack.

    Return their rows, a pointer to them, the indices of the matrix, and the loops to close.
    """
    rows = Rows(code, factors)
    where, loops = stack(code, factors.batch)
    return rows, code.address("%factors", list(zip(where, factors.strides))), where, loops


def on_diagonal(rows: Rows, target: str, index: str) -> str:
    """Load an element of the diagonal of factors."""
    return rows.number(rows.code.address(target, [(index, rows.row + rows.item)]))


def determinant(factors: Factors, out: Operand) -> Kernel:
    """Return a kernel ``(factors, out, scratch)`` for determinants.

    A product that is very large or very small on the way ends it with status 1.
    """
    code = Routine(("factors", "out"), status=True)
    rows, target, where, loops = each_diagonal(code, factors)
    kind, name = rows.kind, rows.kind.name
    value = sign_of(rows, target)
    with code.loop(factors.size, [(name, value), ("i1", "true")]) as i:
        element = on_diagonal(rows, target, i.index)
        product = rows.op(f"fmul {name} {i.values[0]}, {element}")
        size = rows.magnitude(product)
        power = 900 if rows.item == 8 else 110
        good = is_good(rows, size, (literal(kind, 2.0**-power), literal(kind, 2.0**power)))
        i.new = [product, rows.op(f"and i1 {i.values[1]}, {good}")]
    end_if_not(rows, i.results[1])
    place = code.address("%out", list(zip(where, out.strides)))
    rows.put(i.results[0], place)
    close(loops)
    return code.kernel("0")


def slogdet(factors: Factors, sign: Operand, logarithm: Operand) -> Kernel:
    """Return a kernel ``(factors, sign, logarithm, scratch)`` as `numpy.linalg.slogdet`."""
    code = Routine(("factors", "sign", "logarithm"))
    rows, target, where, loops = each_diagonal(code, factors)
    name, zero = rows.kind.name, literal(rows.kind, 0.0)
    emitter = Emitter(0)
    logarithm_of = emitter.function("log", rule_of(np.log), [factors.dtype])[0]
    code.texts.update(emitter.declarations)
    with code.loop(factors.size, [(name, sign_of(rows, target)), (name, zero)]) as i:
        element = on_diagonal(rows, target, i.index)
        below = rows.op(f"fcmp olt {name} {element}, {zero}")
        turned = rows.op(f"fneg {name} {i.values[0]}")
        part = rows.op(f"call {name} {logarithm_of}({name} {rows.magnitude(element)})")
        i.new = [
            rows.op(f"select i1 {below}, {name} {turned}, {name} {i.values[0]}"),
            rows.op(f"fadd {name} {i.values[1]}, {part}"),
        ]
    found = i.results
    rows.put(found[0], code.address("%sign", list(zip(where, sign.strides))))
    rows.put(found[1], code.address("%logarithm", list(zip(where, logarithm.strides))))
    close(loops)
    return code.kernel()


def sign_of(rows: Rows, target: str) -> str:
    """Return the sign of the order of the rows as a number."""
    place = rows.code.address(target, [], rows.factors.order + 8 * rows.factors.size)
    sign = rows.op(f"load i64, ptr {place}, align 8")
    return rows.op(f"sitofp i64 {sign} to {rows.kind.name}")


def cholesky(a: Operand, out: Operand, upper: bool = False, vector: int = 0) -> Kernel:
    """Return a kernel ``(a, out, scratch)`` for Cholesky factors, with a status.

    The lower triangle of `a` is read, or the upper one.
    """
    code, rows, memory, where, loops = each_copy(a, vector)
    factors = rows.factors
    source = code.address("%a", list(zip(where, a.strides)))
    down, across = out.strides[-2:]
    if factors.large:  # which LAPACK takes for the transpose
        limits = bounds(rows, fill(rows, source, a, memory, "upper" if upper else "lower"))
        found = in_place(rows, memory, upper, "potrf")
        with code.loop(factors.size, [("i1", found)]) as k:
            root = on_diagonal(rows, memory, k.index)
            good = is_good(rows, rows.op(f"fmul {rows.kind.name} {root}, {root}"), limits)
            k.new = [rows.op(f"and i1 {k.values[0]}, {good}")]
        end_if_not(rows, k.results[0])
    else:
        turned = a._replace(strides=(*a.strides[:-2], a.strides[-1], a.strides[-2]))
        given = a if upper else turned
        eliminate(rows, memory, bounds(rows, fill(rows, source, given, memory, "upper")))
        if not upper:
            down, across = across, down
    put_rows(rows, memory, where, out, (down, across))
    close(loops)
    return code.kernel("0")


def inverse(a: Operand, out: Operand, upper: bool, vector: int = 0) -> Kernel:
    """Return a kernel ``(a, out, scratch)`` for inverses of large triangles, with a status."""
    code, rows, memory, where, loops = each_copy(a, vector)
    source = code.address("%a", list(zip(where, a.strides)))
    fill(rows, source, a, memory)
    end_if_not(rows, in_place(rows, memory, upper, "trtri", ord("N")))
    put_rows(rows, memory, where, out, out.strides[-2:])
    close(loops)
    return code.kernel("0")


def each_copy(a: Operand, vector: int) -> tuple[Routine, Rows, str, list, list]:
    """Begin a routine ``(a, out)`` that looks at each matrix of a stack.

    Return it, rows and memory for a copy, the indices of the matrix, and the loops to close.
    """
    factors = Factors(a.shape[:-2], a.shape[-1], a.dtype, vector or engine.vector_bytes())
    code = Routine(("a", "out"), status=True)
    memory = code.address("%scratch", [], code.reserve(factors.row * factors.size))
    where, loops = stack(code, factors.batch)
    return code, Rows(code, factors), memory, where, loops


def in_place(rows: Rows, memory: str, upper: bool, name: str, *options: int) -> str:
    """Call LAPACK for a triangle in memory; return if it went well."""
    factors, side = rows.factors, ord("L" if upper else "U")
    given: tuple[int | str, ...] = (side, *options, factors.size, memory, factors.leading)
    return blas.call_lapack(rows.code, rows.kind, name, *given)


def put_rows(
    rows: Rows, memory: str, where: list, out: Operand, steps: Sequence[int]
) -> None:  # fmt: skip
    """Copy a matrix to the result, where its rows and columns have these strides."""
    code, n = rows.code, rows.factors.size
    result = code.address("%out", list(zip(where, out.strides)))
    with code.loop(n) as i:
        line = code.address(memory, [(i.index, rows.row)])
        put_row(rows, line, code.address(result, [(i.index, steps[0])]), n, steps[1])


def eliminate(rows: Rows, memory: str, limits: tuple[str, str]) -> None:
    """Write the upper Cholesky factor of one matrix in place; a bad pivot returns status 1."""
    code, factors, kind = rows.code, rows.factors, rows.kind
    n, name = factors.size, kind.name
    suffix = "f64" if rows.item == 8 else "f32"
    step = rows.width * rows.item
    with code.loop(n) as k:
        own = code.address(memory, [(k.index, rows.row)])
        pivot = rows.number(code.address(own, [(k.index, rows.item)]))
        end_if_not(rows, is_good(rows, pivot, limits))
        root = code.intrinsic(f"llvm.sqrt.{suffix}", name, (name, pivot))
        inverse = rows.spread(rows.op(f"fdiv {name} {literal(kind, 1.0)}, {root}"))
        scaled = []
        for v in range(factors.vectors):
            place = code.address(own, [], v * step)
            scaled.append(rows.op(f"fmul {rows.vector} {rows.load(place)}, {inverse}"))
            rows.store(scaled[-1], place)
        rows.put(root, code.address(own, [(k.index, rows.item)]))
        following = rows.op(f"add i64 {k.index}, 1")
        count = rows.op(f"sub i64 {n - 1}, {k.index}")
        with code.loop(count if n > 1 else "0") as i:
            index = rows.op(f"add i64 {i.index}, {following}")
            line = code.address(memory, [(index, rows.row)])
            factor = rows.spread(rows.number(code.address(own, [(index, rows.item)])))
            for v, value in enumerate(scaled):
                place = code.address(line, [], v * step)
                # elements below the diagonal stay zeros
                part = rows.masked(rows.lanes(str(v * rows.width), "sge", index), value)
                rows.store(rows.minus_product(rows.load(place), part, factor), place)


WIDE = 6
"""The vectors of a row of the solution that stay in registers."""


def solve(
    factors: Factors, b: Operand | None, out: Operand, transposed: bool = False
) -> Kernel:  # fmt: skip
    """Return a kernel ``(factors, b, out, scratch)`` for the solution of ``a @ x = b``.

    Parameters
    ----------
    factors : Factors
        The factors of `a`.
    b, out : Operand
        Stacks of matrices ``(..., n, m)``. If `b` is None, it is the identity, and the kernel
        does not take it.
    transposed : bool
        Solve with the transpose of `a`.
    """
    code = Routine(("factors", "b", "out") if b is not None else ("factors", "out"))
    batch = out.shape[:-2]
    many = out.shape[-1]
    known = Operand("", out.dtype, factors.batch, factors.strides).broadcast(batch)
    where, loops = stack(code, batch)
    target = code.address("%factors", list(zip(where, known.strides)))
    rows = Rows(code, factors)
    given = ""
    if b is not None:
        b = b.broadcast((*batch, *b.shape[-2:]))
        given = code.address("%b", list(zip(where, b.strides)))
    result = code.address("%out", list(zip(where, out.strides)))
    if b is not None and many == 1:
        vector_system(rows, target, given, b, result, out, transposed)
    else:
        block = Block(rows, target, many)
        block.solve(given, b, result, out, transposed)
    close(loops)
    return code.kernel()


class Block:
    """Instructions for a system of several right-hand sides: rows of vectors in scratch memory."""

    def __init__(self, rows: Rows, factors: str, many: int):
        self.rows, self.code, self.factors, self.many = rows, rows.code, factors, many
        self.vectors = -(-many // rows.width)
        self.step = rows.width * rows.item
        self.row = self.vectors * self.step
        self.begin = self.code.reserve(rows.factors.size * self.row)
        self.memory = self.code.address("%scratch", [], self.begin)

    def solve(
        self, given: str, b: Operand | None, result: str, out: Operand, transposed: bool
    ) -> None:
        """Write all steps."""
        ordered = transposed is self.rows.factors.large
        self.gather(given, b, ordered)
        if self.rows.factors.large:
            self.by_blas(transposed)
        else:
            down, across = self.rows.row, self.rows.item
            if transposed:
                down, across = across, down
            self.triangle(down, across, False, not ordered)
            self.triangle(down, across, True, ordered)
        self.scatter(result, out, not ordered)

    def by_blas(self, transposed: bool) -> None:
        """Solve with both triangles of a large matrix."""
        factors = self.rows.factors
        a = blas.Matrix(self.factors, transposed, factors.leading)
        x = blas.Matrix(self.memory, False, self.row // self.rows.item)
        for upper in (transposed, not transposed):
            sizes = factors.size, self.many
            blas.trsm(self.code, self.rows.kind, sizes, a, x, upper, unit=upper)

    def source(self, i: str, ordered: bool) -> str:
        """Return the row that stands at a place of the factors."""
        if not ordered:
            return i
        place = self.code.address(self.factors, [(i, 8)], self.rows.factors.order)
        return self.rows.op(f"load i64, ptr {place}, align 8")

    def gather(self, given: str, b: Operand | None, ordered: bool) -> None:
        """Copy the right-hand side, in the order of the factors."""
        code, rows = self.code, self.rows
        n, whole = rows.factors.size, self.many // rows.width
        with code.loop(n) as i:
            goal = code.address(self.memory, [(i.index, self.row)])
            source = self.source(i.index, ordered)
            if b is None:
                for v in range(self.vectors):
                    rows.store("zeroinitializer", code.address(goal, [], v * self.step))
                one = literal(rows.kind, 1.0)
                rows.put(one, code.address(goal, [(source, rows.item)]))
                return
            down, across = b.strides[-2:]
            source = code.address(given, [(source, down)])
            if across == rows.item:
                for v in range(self.vectors):
                    place = code.address(source, [], v * self.step)
                    rest = self.many - v * rows.width
                    value = rows.load(place) if v < whole else rows.part(place, rest)
                    rows.store(value, code.address(goal, [], v * self.step))
                return
            rows.store("zeroinitializer", code.address(goal, [], self.row - self.step))
            with code.loop(self.many) as j:
                value = rows.number(code.address(source, [(j.index, across)]))
                rows.put(value, code.address(goal, [(j.index, rows.item)]))

    def scatter(self, result: str, out: Operand, ordered: bool) -> None:
        """Copy the solution to the result."""
        code, rows = self.code, self.rows
        down, across = out.strides[-2:]
        with code.loop(rows.factors.size) as i:
            source = code.address(self.memory, [(i.index, self.row)])
            goal = code.address(result, [(self.source(i.index, ordered), down)])
            put_row(rows, source, goal, self.many, across)

    def triangle(self, down: int, across: int, backward: bool, divide: bool) -> None:
        """Solve with one triangle, whose elements have these strides."""
        for first in range(0, self.vectors, WIDE):
            count = min(WIDE, self.vectors - first)
            memory = self.code.address(self.memory, [], first * self.step)
            self.panel(memory, count, down, across, backward, divide)

    def panel(
        self, memory: str, count: int, down: int, across: int, backward: bool, divide: bool
    ) -> None:
        """Solve for some vectors of each row, whose sums stay in registers."""
        code, rows = self.code, self.rows
        n = rows.factors.size
        with code.loop(n) as step:
            i, begin = step.index, "0"
            if backward:
                i = rows.op(f"sub i64 {n - 1}, {step.index}")
                begin = rows.op(f"add i64 {i}, 1")
            own = code.address(memory, [(i, self.row)])
            line = code.address(self.factors, [(i, down)])
            sums = [
                (rows.vector, rows.load(code.address(own, [], v * self.step))) for v in range(count)
            ]
            element = code.address(line, [(begin, across)])
            other = code.address(memory, [(begin, self.row)])
            with code.loop(step.index if n > 1 else "0", sums) as k:
                factor = rows.number(code.address(element, [(k.index, across)]))
                factor = rows.spread(factor)
                there = code.address(other, [(k.index, self.row)])
                k.new = [
                    rows.minus_product(
                        value, factor, rows.load(code.address(there, [], v * self.step))
                    )
                    for v, value in enumerate(k.values)
                ]
            inverse = ""
            if divide:
                inverse = rows.spread(reciprocal(rows, code.address(line, [(i, across)])))
            for v, value in enumerate(k.results):
                if divide:
                    value = rows.op(f"fmul {rows.vector} {value}, {inverse}")
                rows.store(value, code.address(own, [], v * self.step))


def reciprocal(rows: Rows, place: str) -> str:
    one = literal(rows.kind, 1.0)
    return rows.op(f"fdiv {rows.kind.name} {one}, {rows.number(place)}")


def vector_system(
    rows: Rows, factors: str, given: str, b: Operand, result: str, out: Operand, transposed: bool
) -> None:
    """Write the solution for one right-hand side: a vector in scratch memory."""
    code, n = rows.code, rows.factors.size
    ordered = transposed is rows.factors.large
    memory = code.address("%scratch", [], code.reserve(rows.row))
    block = Block.__new__(Block)
    block.rows, block.code, block.factors = rows, code, factors
    for v in range(rows.factors.vectors):
        rows.store("zeroinitializer", code.address(memory, [], v * rows.width * rows.item))
    with code.loop(n) as i:
        source = block.source(i.index, ordered)
        value = rows.number(code.address(given, [(source, b.strides[-2])]))
        rows.put(value, code.address(memory, [(i.index, rows.item)]))
    write = spread_out if transposed else summed_up
    write(rows, factors, memory, False, not ordered)
    write(rows, factors, memory, True, ordered)
    with code.loop(n) as i:
        value = rows.number(code.address(memory, [(i.index, rows.item)]))
        goal = block.source(i.index, not ordered)
        rows.put(value, code.address(result, [(goal, out.strides[-2])]))


def summed_up(rows: Rows, factors: str, memory: str, backward: bool, divide: bool) -> None:
    """Solve with a triangle by dot products of its rows with what is solved."""
    code, n, width = rows.code, rows.factors.size, rows.width
    name, shift = rows.kind.name, width.bit_length() - 1
    step = width * rows.item
    with code.loop(n) as loop:
        i = loop.index
        if backward:
            i = rows.op(f"sub i64 {n - 1}, {loop.index}")
        line = code.address(factors, [(i, rows.row)])
        # whole vectors of elements that are solved, and the ones beside the diagonal
        if backward:
            following = rows.op(f"add i64 {i}, {width}")
            begin = rows.op(f"lshr i64 {following}, {shift}")
            many = rows.op(f"sub i64 {rows.factors.vectors}, {begin}")
            edge = rows.op(f"mul i64 {begin}, {width}")
            over = rows.op(f"icmp slt i64 {edge}, {n}")
            edge = rows.op(f"select i1 {over}, i64 {edge}, i64 {n}")
            start = rows.op(f"add i64 {i}, 1")
            single = rows.op(f"sub i64 {edge}, {start}")
        else:
            begin = "0"
            many = rows.op(f"lshr i64 {i}, {shift}")
            start = rows.op(f"mul i64 {many}, {width}")
            single = rows.op(f"sub i64 {i}, {start}")
        x, y = [code.address(p, [(begin, step)]) for p in (line, memory)]
        with code.loop(many, [(rows.vector, "zeroinitializer")]) as v:
            left, right = [rows.load(code.address(p, [(v.index, step)])) for p in (x, y)]
            v.new = [rows.minus_product(v.values[0], left, right)]
        own = code.address(memory, [(i, rows.item)])
        x, y = [code.address(p, [(start, rows.item)]) for p in (line, memory)]
        with code.loop(single, [(name, rows.number(own))]) as k:
            left, right = [rows.number(code.address(p, [(k.index, rows.item)])) for p in (x, y)]
            k.new = [rows.minus_scalars(k.values[0], left, right)]
        reduce = f"llvm.vector.reduce.fadd.{rows.suffix}"
        code.declare(reduce, f"declare {name} @{reduce}({name}, {rows.vector})")
        total = rows.op(
            f"call reassoc {name} @{reduce}({name} {k.results[0]}, {rows.vector} {v.results[0]})"
        )
        if divide:
            diagonal = code.address(line, [(i, rows.item)])
            total = rows.op(f"fdiv {name} {total}, {rows.number(diagonal)}")
        rows.put(total, own)


def spread_out(rows: Rows, factors: str, memory: str, backward: bool, divide: bool) -> None:
    """Solve with the transpose of a triangle by taking multiples of its rows from the rest."""
    code, n, width = rows.code, rows.factors.size, rows.width
    name, step = rows.kind.name, width * rows.item
    vectors = rows.factors.vectors
    with code.loop(n) as loop:
        i = loop.index
        if backward:
            i = rows.op(f"sub i64 {n - 1}, {loop.index}")
        line = code.address(factors, [(i, rows.row)])
        own = code.address(memory, [(i, rows.item)])
        value = rows.number(own)
        if divide:
            diagonal = code.address(line, [(i, rows.item)])
            value = rows.op(f"fdiv {name} {value}, {rows.number(diagonal)}")
        many = rows.spread(value)
        for v in range(vectors):
            place = code.address(memory, [], v * step)
            before = rows.load(place)
            lanes = rows.lanes(str(v * width), "slt" if backward else "sgt", i)
            part = rows.masked(lanes, rows.load(code.address(line, [], v * step)))
            rows.store(rows.minus_product(before, many, part), place)
        rows.put(value, own)
