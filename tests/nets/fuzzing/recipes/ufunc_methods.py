"""Calls of the methods of ufuncs: reduce, accumulate, outer, reduceat, and ``at`` never."""

from typing import Any

from ..draw import Draw, Ref, Step, recipe
from .elementwise import kinds_of

REDUCING = (
    "add multiply maximum minimum fmax fmin logaddexp logaddexp2 logical_and logical_or "
    "logical_xor subtract divide hypot bitwise_and bitwise_or bitwise_xor gcd lcm equal "
    "copysign remainder float_power"
).split()
"""Without `power` and `arctan2`, whose `reduce` NumPy 2.4 itself gets wrong: where the
processor has AVX512, the result depends on how the array lies in memory."""
REORDERED = set(
    "add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and "
    "bitwise_or bitwise_xor gcd lcm logaddexp logaddexp2 hypot".split()
)  # several axes at once
IDENTITY = set(REDUCING[:2]) | {"logical_and", "logical_or", "logical_xor", "bitwise_or"}


def operand(d: Draw, short: str, nd: tuple[int, int]) -> Ref:
    style = "positive" if short in ("power", "float_power", "divide", "remainder") else None
    return d.x(nd=nd, kinds=kinds_of(short), style=style)


@recipe(" ".join(f"np.{n}.reduce" for n in REDUCING))
def reduce(d: Draw, name: str) -> Step:
    short = name.split(".")[1]
    x = operand(d, short, (0, 3))
    kwargs: dict[str, Any] = {}
    if d.chance(0.7):
        kwargs["axis"] = d.axes(d.nd(x)) if short in REORDERED else d.axis(d.nd(x))
    if d.chance(0.3):
        kwargs["keepdims"] = True
    if d.chance(0.15):
        kwargs["initial"] = d.pick(0, 1, 2) if "power" not in short else 2
    if d.chance(0.15):
        kwargs["where"] = d.mask(d.sub(d.form(x)), constant=True)
        if short not in IDENTITY:
            kwargs["initial"] = 1
    if d.chance(0.06):
        kwargs["dtype"] = Ref(d.pick("np.float32", "np.float64"))
    return Step(name, (x,), kwargs)


@recipe(" ".join(f"np.{n}.accumulate" for n in [*REDUCING, "power", "arctan2"]))
def accumulate(d: Draw, name: str) -> Step:
    x = operand(d, name.split(".")[1], (1, 3))
    kwargs: dict[str, Any] = {}
    if d.chance(0.7):
        kwargs["axis"] = d.axis(d.nd(x))
    return Step(name, (x,), kwargs)


@recipe(" ".join(f"np.{n}.reduceat" for n in REDUCING))
def reduceat(d: Draw, name: str) -> Step:
    x = operand(d, name.split(".")[1], (1, 3))
    axis = d.axis(d.nd(x)) if d.chance(0.6) else 0
    shape = d.form(x)
    n = shape[axis] if -len(shape) <= axis < len(shape) else 1
    indices = [d.int(0, max(n - 1, 0)) for _ in range(d.int(1, 4))]
    if d.chance(0.6):
        indices.sort()
    kwargs = {"axis": axis} if axis else {}
    return Step(name, (x, indices), kwargs)


OUTER = "add subtract multiply divide maximum hypot power arctan2 less fmod logaddexp floor_divide"


@recipe(" ".join(f"np.{n}.outer" for n in OUTER.split()))
def outer(d: Draw, name: str) -> Step:
    short = name.split(".")[1]
    x = operand(d, short, (0, 2))
    y = d.new(d.shape((0, 2)), kinds_of(short), "above" if short == "fmod" else None)
    return Step(name, (x, y))
