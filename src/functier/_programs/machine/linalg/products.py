"""The best code for a contraction: own tiles, or BLAS."""

from collections.abc import Sequence
from typing import Any

from ..compiler import engine
from ..compiler.targets import is_own
from ..text.routines import Kernel, Numbers, Operand, Routine, numbers
from . import blas
from .contractions import Axis, Labels, axes_of, joined
from .tiles import Tiles

LIMIT = 64**3
"""The number of multiplications from which BLAS computes a product of matrices."""
NO_BLAS = 128**3
"""The same where there is no BLAS: NumPy's call may be faster."""


def contract(
    labels: Labels,
    a: Operand,
    b: Operand,
    out: Operand,
    same: bool = False,
    vector: int = 0,
) -> Kernel | None:
    """Return a kernel ``(a, b, out, scratch)`` that computes a contraction.

    Parameters
    ----------
    labels : Labels
        The axes that the operands share.
    a, b, out : Operand
        Their layouts; the pointers are not used. The result has no two elements in one place,
        and shares no memory with the operands.
    same : bool
        Both operands are the same memory, apart from their strides, as in ``a @ a.T``.
    vector : int
        The bytes of a vector; 0 for those of this processor.

    Returns
    -------
    Kernel or None
        None if the call stays with NumPy.
    """
    kind = numbers(out.dtype)
    axes = axes_of(labels, a, b, out)
    if kind is None or axes is None or {a.dtype, b.dtype} != {out.dtype}:
        return None
    code = Routine(("a", "b", "out"))
    if any([axis.size == 0 for axis in axes]):
        zero(code, kind, [axis for axis in axes if not axis.summed])
        return code.kernel()
    axes = joined(axes)
    count = 1
    for axis in axes:
        count *= axis.size
    if kind.real and count > LIMIT and by_blas(code, axes, kind, same, count > NO_BLAS):
        return code.kernel()
    if count > NO_BLAS and is_matrix_product(axes) and not is_own():
        return None
    by_tiles(code, axes, kind, vector or engine.vector_bytes())
    return code.kernel()


def is_matrix_product(axes: Sequence[Axis]) -> bool:
    """Return whether there is an axis of each kind: rows, columns, and summed."""
    return None not in roles(axes)


def roles(axes: Sequence[Axis]) -> tuple[Axis | None, Axis | None, Axis | None]:
    """Return the largest axes of rows, of columns, and summed."""
    m = [axis for axis in axes if axis.a and not axis.b and not axis.summed]
    n = [axis for axis in axes if axis.b and not axis.a and not axis.summed]
    k = [axis for axis in axes if axis.a and axis.b and axis.summed]
    found = [max(part, key=lambda axis: axis.size, default=None) for part in (m, n, k)]
    return found[0], found[1], found[2]


def zero(code: Routine, kind: Numbers, axes: Sequence[Axis]) -> None:
    """Write zeros to a result."""
    if any([axis.size == 0 for axis in axes]):
        return
    places, loops = [], []
    for axis in axes:
        loops.append(code.loop(axis.size))
        places.append((loops[-1].__enter__().index, axis.out))
    place = code.address("%out", places)
    code.line(f"store {kind.name} {kind.zero(1)}, ptr {place}, align {kind.size}")
    for loop in reversed(loops):
        loop.__exit__(None, None, None)


def by_blas(code: Routine, axes: Sequence[Axis], kind: Numbers, same: bool, packs: bool) -> bool:
    """Write calls of BLAS; False if it has no such function.

    `packs`: also where several axes are summed, or the result has other strides than BLAS takes.
    """
    m, n, k = roles(axes)
    if k is not None and len(axes) == 2 and (m is None or n is None):
        return by_gemv(code, m or n, k, kind)
    if m is None or n is None or k is None or not blas.address(blas.blas("gemm", kind)):
        return False
    if min(m.size, n.size, k.size) < 4:
        return False
    rest = [axis for axis in axes if axis not in (m, n, k)]
    if any([axis.summed for axis in rest]):
        if not packs or not all([axis.a and axis.b for axis in axes if axis.summed]):
            return False
        a, b, axes = packed_both(code, axes, kind)
        return by_blas_of(code, axes, roles(axes), kind, a, b)
    item = kind.size
    out = blas.matrix("", m.size, n.size, m.out, n.out, item)
    if out is None and not packs:
        return False
    a = blas.matrix("%a", m.size, k.size, m.a, k.a, item)
    b = blas.matrix("%b", k.size, n.size, k.b, n.b, item)
    plain = not (rest or a is None or out is None)
    if same and plain and m[:2] == (n.size, n.b) and k.a == k.b:
        blas.syrk(code, kind, n.size, k.size, a, out._replace(pointer="%out"))
        return True
    if a is None:
        pointer, moved = packed_copy(code, "%a", "a", axes, (m, k), kind)
        axes, (m, n, k) = moved, [moved[axes.index(axis)] for axis in (m, n, k)]
        return by_blas_of(code, axes, (m, n, k), kind, pointer, "%b")
    if b is None:
        pointer, moved = packed_copy(code, "%b", "b", axes, (k, n), kind)
        axes, (m, n, k) = moved, [moved[axes.index(axis)] for axis in (m, n, k)]
        return by_blas_of(code, axes, (m, n, k), kind, "%a", pointer)
    return by_blas_of(code, axes, (m, n, k), kind, "%a", "%b")


def by_gemv(code: Routine, free: Axis | None, k: Axis, kind: Numbers) -> bool:
    """Write a product of a matrix and a vector as a call; False if BLAS does not take it."""
    if free is None or not blas.address(blas.blas("gemv", kind)):
        return False
    item = kind.size
    left, right = (k.a, k.b) if free.a else (k.b, k.a)
    names = ("%a", "%b") if free.a else ("%b", "%a")
    a = blas.matrix(names[0], free.size, k.size, free.a or free.b, left, item)
    steps = right, free.out
    if a is None or any([step <= 0 or step % item for step in steps]):
        return False
    sizes = free.size, k.size
    blas.gemv(code, kind, sizes, a, (names[1], right), ("%out", free.out))
    return True


def by_blas_of(
    code: Routine, axes: Sequence[Axis], of: Sequence[Any], kind: Numbers, left: str, right: str,
) -> bool:  # fmt: skip
    """Write calls of BLAS for operands that it takes as they are, but for the right one.

    A result that it does not take is a copy.
    """
    m, n, k = of
    item = kind.size
    if blas.matrix("", k.size, n.size, k.b, n.b, item) is None:
        right, moved = packed_copy(code, right, "b", axes, (k, n), kind)
        m, n, k = [moved[axes.index(axis)] for axis in of]
        axes = moved
    loops, places = [], []
    for axis in axes:
        if axis not in (m, n, k):
            loops.append(code.loop(axis.size))
            places.append((loops[-1].__enter__().index, axis))
    x = code.address(left, [(i, axis.a) for i, axis in places])
    y = code.address(right, [(i, axis.b) for i, axis in places])
    z = code.address("%out", [(i, axis.out) for i, axis in places])
    a = blas.matrix(x, m.size, k.size, m.a, k.a, item)
    b = blas.matrix(y, k.size, n.size, k.b, n.b, item)
    out = blas.matrix(z, m.size, n.size, m.out, n.out, item)
    sizes = m.size, n.size, k.size
    if out is not None:
        blas.gemm(code, kind, sizes, a, b, out)
    else:
        own = code.address("%scratch", (), code.reserve(m.size * n.size * item))
        blas.gemm(code, kind, sizes, a, b, blas.Matrix(own, False, n.size))
        with code.loop(m.size) as i, code.loop(n.size) as j:
            here = code.address(own, [(i.index, n.size * item), (j.index, item)])
            there = code.address(z, [(i.index, m.out), (j.index, n.out)])
            value = code.instruction(f"load {kind.name}, ptr {here}, align {item}")
            code.line(f"store {kind.name} {value}, ptr {there}, align {item}")
    for loop in reversed(loops):
        loop.__exit__(None, None, None)
    return True


def packed_both(
    code: Routine, axes: Sequence[Axis], kind: Numbers
) -> tuple[str, str, list[Axis]]:  # fmt: skip
    """Write copies of both operands in which the axes that are summed are one.

    Returns the pointers to the copies, and the axes. Rows and columns have the order of the result.
    """
    order = sorted(axes, key=lambda axis: -axis.out)
    summed = [axis for axis in axes if axis.summed]
    rows, columns = [
        [x for x in order if not x.summed and bool(x.a) is mine and bool(x.b) is not mine]
        for mine in (True, False)
    ]
    a, moved = packed_copy(code, "%a", "a", axes, (*rows, *summed), kind)
    last = [moved[axes.index(axis)] for axis in (*summed, *columns)]
    b, moved = packed_copy(code, "%b", "b", moved, last, kind)
    return a, b, joined(moved)


def packed_copy(
    code: Routine, pointer: str, name: str, axes: Sequence[Axis], last: Sequence[Axis],
    kind: Numbers,
) -> tuple[str, list[Axis]]:  # fmt: skip
    """Write a copy of an operand into scratch memory, in order, with some axes last.

    Returns the pointer to the copy, and the axes with its strides.
    """
    moving = [axis for axis in axes if getattr(axis, name)]
    moving = [axis for axis in moving if axis not in last] + [x for x in last if x in moving]
    stride, strides = kind.size, {}
    for axis in reversed(moving):
        strides[axis] = stride
        stride *= axis.size
    begin = code.reserve(stride)
    target = code.address("%scratch", (), begin)
    # the writes go to memory in order, so the last axis is the inner loop
    loops, places = [], []
    for axis in moving:
        loops.append(code.loop(axis.size))
        places.append((loops[-1].__enter__().index, axis))
    here = code.address(pointer, [(i, getattr(axis, name)) for i, axis in places])
    there = code.address(target, [(i, strides[axis]) for i, axis in places])
    value = code.instruction(f"load {kind.name}, ptr {here}, align {kind.size}")
    code.line(f"store {kind.name} {value}, ptr {there}, align {kind.size}")
    for loop in reversed(loops):
        loop.__exit__(None, None, None)
    if name == "a":
        return target, [axis._replace(a=strides.get(axis, 0)) for axis in axes]
    return target, [axis._replace(b=strides.get(axis, 0)) for axis in axes]


def by_tiles(code: Routine, axes: Sequence[Axis], kind: Numbers, vector: int) -> None:
    """Write own tiles, with the form that the strides allow; other operands are copied first."""
    item = kind.size
    pointers = {"a": "%a", "b": "%b"}

    def write(axes: Sequence[Axis], form: str, axis: Axis, vector: int = vector) -> None:
        tiles = Tiles(code, axes, kind, vector)
        tiles.a, tiles.b = pointers["a"], pointers["b"]
        getattr(tiles, form)(axis)

    near = [axis for axis in axes if not axis.summed and axis.out == item]
    across = [x for x in near if {x.a, x.b} <= {0, item} and (x.a or x.b)]
    if across:
        return write(axes, "columns", across[0])
    along = [x for x in axes if x.summed and x.a == x.b == item]
    if along and not packing_pays(axes, along[0], near):
        return write(axes, "dots", along[0])
    summed = [x for x in axes if x.summed]
    if near and summed and (near[0].a or near[0].b):
        chosen: Any = near[0]
        form = "columns"
    elif summed:
        chosen = max(summed, key=lambda x: (x.a == item) + (x.b == item) + x.size / 1e9)
        form = "dots"
    else:
        one = Axis(1, 0, 0, 0, False)
        chosen = max(axes, key=lambda x: x.size, default=one)
        return write(axes, "columns", chosen, item)
    for name in ("a", "b"):
        stride = getattr(chosen, name)
        if stride not in (0, item):
            number = list(axes).index(chosen)
            pointers[name], axes = packed_copy(code, pointers[name], name, axes, (chosen,), kind)
            chosen = axes[number]
    return write(axes, form, chosen)


def packing_pays(axes: Sequence[Axis], along: Axis, near: Sequence[Axis]) -> bool:
    """Return whether a copy with the columns side by side is faster than dot products."""
    if not near:
        return False
    column = near[0]
    rows = [x for x in axes if not x.summed and x is not column]
    others = [x for x in rows if bool(x.a) != bool(column.a) or bool(x.b) != bool(column.b)]
    many = max([x.size for x in others], default=1)
    return column.size >= 4 and many > along.size * 0.4 and many >= 8
