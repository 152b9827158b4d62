"""Determinants and Cholesky factors of matrices as code. Imports blas, factors, operands."""

from collections.abc import Sequence

from ..compiler import engine
from ..text.operands import Operand
from ..text.routines import Kernel, Routine
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
    with code.loop(factors.size, [(name, sign_of(rows, target)), (name, zero)]) as i:
        element = on_diagonal(rows, target, i.index)
        below = rows.op(f"fcmp olt {name} {element}, {zero}")
        turned = rows.op(f"fneg {name} {i.values[0]}")
        suffix = "f64" if rows.item == 8 else "f32"
        size = rows.magnitude(element)
        part = code.intrinsic(f"llvm.log.{suffix}", name, (name, size))
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
