"""BLAS and LAPACK of NumPy's own library, called from machine code.

NOTE [whose library]
    NumPy's wheels bring a library next to the package, whose names begin with "scipy_". Its
    functions take matrices by address, and its integers have 64 bits. Where NumPy was built in
    another way, nothing is known here, and these calls stay with NumPy.
"""

import ctypes
import glob
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..compiler.targets import is_own, needs_process
from ..text.routines import Numbers, Routine

ROW_MAJOR, NO, YES, UPPER, LOWER = 101, 111, 112, 121, 122
"""Constants of CBLAS: the order of elements, if a matrix is transposed, and which triangle."""
NOT_UNIT, UNIT, LEFT = 131, 132, 141
"""Others: if a triangle has ones on its diagonal, and the side that it is on."""


def library() -> Any:
    """Return NumPy's own OpenBLAS as it is loaded; None if NumPy has another one, or own code
    computes what it would.
    """
    return None if is_own() else loaded()


@lru_cache(1)
def loaded() -> Any:
    home = os.path.dirname(np.__file__)
    places = (os.path.join(os.path.dirname(home), "numpy.libs"), os.path.join(home, ".dylibs"))
    for place in places:
        for path in sorted(glob.glob(os.path.join(glob.escape(place), "*openblas64_*"))):
            try:
                found = ctypes.CDLL(path)
            except OSError:
                continue
            if hasattr(found, "scipy_cblas_dgemm64_"):
                return found
    return None


def address(name: str) -> int:
    """Return the address of a function; 0 where there is none."""
    return 0 if is_own() else address_in_process(name)


@lru_cache(256)
def address_in_process(name: str) -> int:
    known = loaded()
    found = getattr(known, name, None) if known is not None else None
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


def blas(name: str, kind: Numbers) -> str:
    """Return the name of a function of BLAS for a dtype."""
    return f"scipy_cblas_{letter(kind)}{name}64_"


def letter(kind: Numbers) -> str:
    return {"double": "d", "float": "s"}[kind.name]


def lapack(name: str, kind: Numbers) -> str:
    """Return the name of a function of LAPACK for a dtype."""
    return f"scipy_{letter(kind)}{name}_64_"


BLAS, LAPACK = ("gemm", "gemv", "syrk", "trsm"), ("getrf", "potrf", "trtri")


def addresses() -> Mapping[str, int]:
    """Return the addresses of all functions that routines may call, by name."""
    kinds = [Numbers(np.dtype(np.float64), "double", True), Numbers(np.dtype("f4"), "float", True)]
    names = [blas(name, kind) for kind in kinds for name in BLAS]
    names += [lapack(name, kind) for kind in kinds for name in LAPACK]
    return {name: address(name) for name in names if address(name)}


def declare(code: Routine, name: str, text: str) -> None:
    """Declare a function of the library."""
    needs_process(name)
    code.declare(name, text)


class Matrix(NamedTuple):
    """A matrix as BLAS takes it."""

    pointer: str
    transposed: bool
    leading: int


def matrix(pointer: str, rows: int, columns: int, down: int, across: int, item: int) -> Any:
    """Return a matrix with strides in bytes; None if no side of it is without gaps."""
    for transposed, near, far, length in (
        (False, across, down, columns),
        (True, down, across, rows),
    ):
        if near == item and far % item == 0 and far >= item * length:
            return Matrix(pointer, transposed, far // item)
    return None


def gemm(
    code: Routine, kind: Numbers, sizes: tuple[int, int, int], a: Matrix, b: Matrix, out: Matrix
) -> None:
    """Write ``out = a @ b``, for sizes (m, n, k)."""
    m, n, k = sizes
    if out.transposed:
        a, b = b._replace(transposed=not b.transposed), a._replace(transposed=not a.transposed)
        m, n = n, m
    name, real = blas("gemm", kind), kind.name
    declare(
        code,
        name,
        f"declare void @{name}(i32, i32, i32, i64, i64, i64, {real}, ptr, i64, ptr, i64, "
        f"{real}, ptr, i64)",
    )
    code.line(
        f"call void @{name}(i32 {ROW_MAJOR}, i32 {flag(a)}, i32 {flag(b)}, i64 {m}, i64 {n}, "
        f"i64 {k}, {real} 1.0, ptr {a.pointer}, i64 {a.leading}, ptr {b.pointer}, "
        f"i64 {b.leading}, {real} 0.0, ptr {out.pointer}, i64 {out.leading})"
    )


def gemv(
    code: Routine, kind: Numbers, sizes: tuple[int, int], a: Matrix, b: tuple[str, int],
    out: tuple[str, int],
) -> None:  # fmt: skip
    """Write ``out = a @ b`` for sizes (n, k) and vectors, which are pointers and strides."""
    name, real = blas("gemv", kind), kind.name
    declare(
        code,
        name,
        f"declare void @{name}(i32, i32, i64, i64, {real}, ptr, i64, ptr, i64, {real}, ptr, i64)",
    )
    n, k = reversed(sizes) if a.transposed else sizes
    code.line(
        f"call void @{name}(i32 {ROW_MAJOR}, i32 {flag(a)}, i64 {n}, i64 {k}, {real} 1.0, "
        f"ptr {a.pointer}, i64 {a.leading}, ptr {b[0]}, i64 {b[1] // kind.size}, "
        f"{real} 0.0, ptr {out[0]}, i64 {out[1] // kind.size})"
    )


def syrk(code: Routine, kind: Numbers, n: int, k: int, a: Matrix, out: Matrix) -> None:
    """Write ``out = a @ a.T`` for sizes (n, k): half of the products, and a copy of them."""
    name, real, item = blas("syrk", kind), kind.name, kind.size
    declare(
        code,
        name,
        f"declare void @{name}(i32, i32, i32, i64, i64, {real}, ptr, i64, {real}, ptr, i64)",
    )
    code.line(
        f"call void @{name}(i32 {ROW_MAJOR}, i32 {LOWER}, i32 {flag(a)}, i64 {n}, i64 {k}, "
        f"{real} 1.0, ptr {a.pointer}, i64 {a.leading}, {real} 0.0, ptr {out.pointer}, "
        f"i64 {out.leading})"
    )
    with code.loop(n - 1) as i:
        row = code.instruction(f"add i64 {i.index}, 1")
        source = code.address(out.pointer, [(row, out.leading * item)])
        goal = code.address(out.pointer, [(row, item)])
        with code.loop(row) as j:
            place = code.address(source, [(j.index, item)])
            value = code.instruction(f"load {real}, ptr {place}, align {item}")
            place = code.address(goal, [(j.index, out.leading * item)])
            code.line(f"store {real} {value}, ptr {place}, align {item}")


def trsm(
    code: Routine, kind: Numbers, sizes: tuple[int, int], a: Matrix, out: Matrix, upper: bool,
    unit: bool,
) -> None:  # fmt: skip
    """Write the solution of ``a @ x = out`` to `out`, of sizes (n, m), for a triangle `a`.

    `upper` is the triangle before `a` is transposed, and a `unit` one has ones on its diagonal.
    """
    name, real = blas("trsm", kind), kind.name
    declare(
        code,
        name,
        f"declare void @{name}(i32, i32, i32, i32, i32, i64, i64, {real}, ptr, i64, ptr, i64)",
    )
    code.line(
        f"call void @{name}(i32 {ROW_MAJOR}, i32 {LEFT}, i32 {UPPER if upper else LOWER}, "
        f"i32 {flag(a)}, i32 {UNIT if unit else NOT_UNIT}, i64 {sizes[0]}, i64 {sizes[1]}, "
        f"{real} 1.0, ptr {a.pointer}, i64 {a.leading}, ptr {out.pointer}, i64 {out.leading})"
    )


def call_lapack(code: Routine, kind: Numbers, name: str, *given: int | str) -> str:
    """Write a call of LAPACK, and return if it went well.

    It gets the addresses of numbers, and pointers as they are.
    """
    symbol, pointers = lapack(name, kind), []
    declare(code, symbol, f"declare void @{symbol}({', '.join(['ptr'] * (len(given) + 1))})")
    begin = code.reserve(8 * len(given) + 8)
    for i, x in enumerate((*given, 0)):
        if isinstance(x, int):
            place = code.address("%scratch", [], begin + 8 * i)
            code.line(f"store i64 {x}, ptr {place}, align 8")
            x = place
        pointers.append(x)
    code.line(f"call void @{symbol}({', '.join([f'ptr {x}' for x in pointers])})")
    status = code.instruction(f"load i64, ptr {pointers[-1]}, align 8")
    return code.instruction(f"icmp eq i64 {status}, 0")


def flag(matrix: Matrix) -> int:
    return YES if matrix.transposed else NO
