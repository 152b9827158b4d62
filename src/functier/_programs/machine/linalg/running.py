"""Running sums, as routines: several side by side, as each number waits for the one before."""

from collections.abc import Sequence

from ..text.routines import Kernel, Numbers, Operand, Routine, numbers
from .factors import close, stack

BYTES = 64
"""The bytes of a vector."""


def running_sums(a: Operand, out: Operand, axis: int) -> Kernel | None:
    """Return the routine of ``numpy.cumsum(a, axis)``; None for a dtype that it does not know.

    It adds in NumPy's order, so the results are equal.
    """
    known = numbers(a.dtype)
    if known is None:
        return None
    code, size = Routine(("a", "out")), known.size
    axes = [*zip(a.shape, a.strides, out.strides)]
    along = axes.pop(axis)
    axes.sort(key=lambda x: (x[1:] == (size, size), x[0]))
    many, *steps = axes.pop() if axes else (1, 0, 0)
    ways = [(8, 1), (1, 1)]
    if steps == [size, size]:
        ways = [(4, BYTES // size), (1, BYTES // size), (1, 1)]
    where, loops = stack(code, [x[0] for x in axes])
    bases = [
        code.address(name, [*zip(where, [x[k] for x in axes])])
        for k, name in ((1, "%a"), (2, "%out"))
    ]
    done = 0
    for count, lanes in ways:
        group = count * lanes
        times = (many - done) // group
        if times:
            with code.loop(times) as loop:
                index = loop.index
                pair = [
                    code.address(base, [(index, group * step)], done * step)
                    for base, step in zip(bases, steps)
                ]
                apart = [[k * lanes * step for k in range(count)] for step in steps]
                add_up(code, known, along, pair, apart, lanes)
            done += times * group
    close(loops)
    return code.kernel()


def add_up(
    code: Routine, known: Numbers, along: Sequence[int], pair: Sequence[str],
    apart: Sequence[Sequence[int]], lanes: int,
) -> None:  # fmt: skip
    """Write the sums of some vectors, each so many bytes apart from the first one."""
    kind, add = known.vector(lanes), "fadd" if known.real else "add"
    first = known.zero(lanes)
    if known.real:  # to which all numbers are added without a change
        first = "-0.0" if lanes == 1 else f"splat ({known.name} -0.0)"
    count, *steps = along
    with code.loop(count, [(kind, first)] * len(apart[0])) as loop:
        given, out = [code.address(base, [(loop.index, step)]) for base, step in zip(pair, steps)]
        new = []
        for value, here, there in zip(loop.values, *apart):
            place = code.address(given, [], here)
            x = code.instruction(f"load {kind}, ptr {place}, align {known.size}")
            new.append(code.instruction(f"{add} {kind} {value}, {x}"))
            place = code.address(out, [], there)
            code.line(f"store {kind} {new[-1]}, ptr {place}, align {known.size}")
        loop.new = new
