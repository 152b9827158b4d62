"""Calls of ufuncs and of their operators, and of what works on each element by itself."""

from typing import Any

import numpy as np

from ..draw import Draw, Ref, Step, recipe

DOMAINS = {
    "log": "positive", "log2": "positive", "log10": "positive", "sqrt": "positive",
    "log1p": "positive", "arcsin": "unit", "arccos": "unit", "arctanh": "unit",
    "arccosh": "above", "asin": "unit", "acos": "unit", "atanh": "unit", "acosh": "above",
    "reciprocal": "above",
}  # fmt: skip
"""Domains of ufuncs; numbers are drawn from there mostly."""

SKIPPED = {"isnat", "matmul", "vecdot", "matvec", "vecmat", "spacing", "nextafter"}
UFUNCS = sorted(
    n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and n not in SKIPPED
)  # fmt: skip
UNARY = [n for n in UFUNCS if getattr(np, n).nin == 1]
BINARY = [n for n in UFUNCS if getattr(np, n).nin == 2]

INTEGERS = {
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_invert", "invert",
    "bitwise_count", "gcd", "lcm", "left_shift", "right_shift", "bitwise_left_shift",
    "bitwise_right_shift",
}  # fmt: skip
REAL = {
    "arctan2", "atan2", "copysign", "fmod", "hypot", "heaviside", "logaddexp", "logaddexp2",
    "remainder", "mod", "floor_divide", "divmod", "ldexp", "frexp", "modf", "cbrt", "fabs",
    "deg2rad", "rad2deg", "degrees", "radians", "floor", "ceil", "trunc", "signbit",
}  # fmt: skip


def kinds_of(name: str) -> str:
    return "iub" if name in INTEGERS else "fib" if name in REAL else "fciub"


def masked(d: Draw, call: Step, shape: tuple) -> Step:
    """The call, with ``where=``, a dtype, or as it is; what `where` leaves out is not looked at."""
    single = getattr(np, call.func.removeprefix("np.")).nout == 1
    if single and d.chance(0.1):
        mask = d.mask(d.sub(shape), constant=True)
        call.kwargs |= {"where": mask, "out": None}
        return Step("np.where({0}, {1}, 0)", (mask, Ref(call.text())))
    if d.chance(0.06):
        call.kwargs["dtype"] = Ref(d.pick("np.float32", "np.float64", "np.complex128", "'int64'"))
    return call


@recipe(" ".join(f"np.{n}" for n in UNARY))
def unary(d: Draw, name: str) -> Step:
    short = name.removeprefix("np.")
    style = DOMAINS.get(short) if d.chance(0.9) else None
    x = d.x(kinds=kinds_of(short), style=style)
    operator = {"negative": "-{0}", "positive": "+{0}", "absolute": "abs({0})", "invert": "~{0}"}
    if short in operator and d.chance(0.3):
        return Step(operator[short], (x,))
    return masked(d, Step(name, (x,)), d.form(x))


OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "divide": "/",
    "floor_divide": "//", "mod": "%", "remainder": "%", "power": "**", "pow": "**",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
POWERS = {"power", "pow", "float_power"}


def second(d: Draw, short: str, x: Ref) -> Any:
    """The other operand of a binary ufunc: an array, or a Python number."""
    kinds = kinds_of(short)
    if short in POWERS:
        if d.chance(0.5):
            return d.pick(2, 3, 1, 0, 0.5, -1.0, 2.5, -1)
        return d.new(d.over(d.form(x)), "fci", d.pick("positive", "ties", "normal"))
    if short in ("divide", "true_divide", "fmod", "remainder", "mod", "floor_divide", "divmod"):
        style = d.pick("positive", "above", "normal", "ties")
    elif short == "copysign":
        style = "normal"  # where both are zero, each is a kink of the other
    elif "shift" in short:
        return d.new(d.over(d.form(x)), "iu", "0:5")
    elif short == "ldexp":
        return d.new(d.over(d.form(x)), "i", "-3:4") if d.chance(0.7) else d.int(-2, 3)
    else:
        style = None
    if d.chance(0.15):
        return d.pick(2, 1.5, -0.5, 3) if kinds != "iub" else d.int(0, 5)
    return d.like(x, None if d.chance(0.5) else kinds, style)


@recipe(" ".join(f"np.{n}" for n in BINARY))
def binary(d: Draw, name: str) -> Step:
    short = name.removeprefix("np.")
    style = "positive" if short in POWERS and d.chance(0.8) else None
    x: Any = d.x(kinds=kinds_of(short), style=style)
    if short == "float_power" and d.value(x).dtype.kind in "f":
        y: Any = second(d, short, x)
    else:
        y = x if d.chance(0.04) else second(d, short, x)
    try:
        shape = np.broadcast_shapes(*(d.form(v) for v in (x, y) if isinstance(v, Ref)))
    except ValueError:
        shape = ()
    if short not in (*POWERS, "ldexp") and "shift" not in short and d.chance(0.3):
        x, y = y, x
    # Of a bool and a Python number, NumPy's scalars make another dtype than its arrays.
    both = [d.value(v).dtype.kind != "b" if isinstance(v, Ref) else True for v in (x, y)]
    if short in OPERATORS and all(both) and d.chance(0.4):
        return Step(f"({{0}} {OPERATORS[short]} {{1}})", (x, y))
    return masked(d, Step(name, (x, y)), shape)


@recipe("np.spacing")
def spacing(d: Draw, name: str) -> Step:
    return Step(name, (d.x(kinds="f"),))


@recipe("np.nextafter")
def nextafter(d: Draw, name: str) -> Step:
    x = d.x(kinds="f")
    return Step(name, (x, d.new(d.sub(d.form(x)), "f")))


# ---- functions that are no ufuncs ----


@recipe(
    "np.real np.imag np.angle np.sinc np.fix np.iscomplex np.isreal np.real_if_close np.i0 "
    "np.isneginf np.isposinf"
)
def function(d: Draw, name: str) -> Step:
    short = name.removeprefix("np.")
    kinds = {"i0": "f", "isneginf": "fi", "isposinf": "fi", "sinc": "fc", "fix": "fi"}
    x = d.x(kinds=kinds.get(short, "fcib"))
    if short in ("real", "imag") and d.chance(0.4):
        return Step(f"{{0}}.{short}", (x,))
    if short == "angle" and d.chance(0.4):
        return Step(name, (x,), {"deg": d.pick(True, False)})
    return Step(name, (x,))


@recipe("np.round np.around")
def rounding(d: Draw, name: str) -> Step:
    x = d.x()
    kwargs = {"decimals": d.int(-1, 2)} if d.chance(0.6) else {}
    if d.chance(0.3):
        return Step(f"{x}.round", (), kwargs)
    return Step(name, (x,), kwargs)


@recipe("np.clip")
def clip(d: Draw, name: str) -> Step:
    x = d.x(kinds="fi")
    method = d.chance(0.3)
    facts = {"needs": d.main} if method else {}

    def bound(low: float, high: float) -> Any:
        if d.chance(0.5):
            return round(float(d.rng.uniform(low, high)), 2)
        if d.chance(0.2):
            return d.int(int(low) - 1, int(high) + 1)
        return d.new(d.over(d.form(x)), "f", "normal", **facts)

    low, high = bound(-1.5, 0.0), bound(0.0, 1.5)
    kind = d.rng.random()
    low, high = (None, high) if kind < 0.15 else (low, None) if kind < 0.3 else (low, high)
    if method:
        return Step(f"{x}.clip", (low, high))
    return Step(name, (x, low, high))


@recipe("np.nan_to_num")
def nan_to_num(d: Draw, name: str) -> Step:
    x = d.x(kinds="fci", style=d.pick("nan", "inf", "normal"))
    kwargs: dict[str, Any] = {}
    if d.chance(0.4):
        kwargs["nan"] = 1.5
    if d.chance(0.3):
        kwargs |= {"posinf": 9.0, "neginf": -9.0}
    return Step(name, (x,), kwargs)


@recipe("np.isclose np.allclose np.array_equal np.array_equiv")
def comparing(d: Draw, name: str) -> Step:
    x = d.x()
    y = x if d.chance(0.2) else d.like(x, style=d.pick(None, "ties"))
    kwargs = {"rtol": 0.3} if name.endswith("close") and d.chance(0.5) else {}
    if name == "np.array_equal" and d.chance(0.3):
        kwargs = {"equal_nan": True}
    return Step(name, (x, y), kwargs)


@recipe("np.astype")
def astype(d: Draw, name: str) -> Step:
    x = d.x()
    kind = d.value(x).dtype.kind
    names = "complex128 complex64" if kind == "c" else "float64 float32 complex128 float16 int64"
    dtype = Ref("np." + d.pick(*names.split()))
    return Step(f"{x}.astype", (dtype,)) if d.chance(0.5) else Step(name, (x, dtype))


@recipe("np.copy")
def copy(d: Draw, name: str) -> Step:
    x = d.x()
    return d.pick(Step(name, (x,)), Step("{0}.copy()", (x,)), Step("{0}.flatten()", (x,)))


@recipe("np.zeros_like np.ones_like np.full_like")
def creation(d: Draw, name: str) -> Step:
    x = d.x()
    args = (x, 1.5) if name == "np.full_like" else (x,)
    kwargs: dict[str, Any] = {"dtype": Ref("np.float32")} if d.chance(0.3) else {}
    if d.chance(0.2):
        kwargs["shape"] = (2, 3)
    return (
        Step("{0} + {1}", (x, Ref(Step(name, args).text())))
        if d.chance(0.4)
        else Step(name, args, kwargs)
    )


@recipe(
    "np.emath.sqrt np.emath.log np.emath.log2 np.emath.log10 np.emath.arccos np.emath.arcsin "
    "np.emath.arctanh"
)
def emath(d: Draw, name: str) -> Step:
    return Step(name, (d.x(kinds="fci", style=d.pick("positive", "normal", "unit")),))


@recipe("np.emath.power np.emath.logn")
def emath_two(d: Draw, name: str) -> Step:
    x = d.x(kinds="fi", style=d.pick("positive", "normal"))
    other: Any = d.pick(2, 3, 2.5, -1)
    if name.endswith("logn"):
        return Step(name, (abs(other) + 1, x))
    return Step(name, (x, other if d.chance(0.5) else d.like(x, style="positive")))


@recipe("np.unwrap")
def unwrap(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3), kinds="f")
    kwargs: dict[str, Any] = {"axis": d.axis(d.nd(x))} if d.chance(0.6) else {}
    if d.chance(0.3):
        kwargs["period"] = d.pick(1.0, 4)
    if d.chance(0.2):
        kwargs["discont"] = 0.7
    return Step(name, (x,), kwargs)
