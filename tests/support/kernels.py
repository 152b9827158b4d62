"""Loops over one elementwise rule, and their errors in units in the last place."""

import ctypes

import numpy as np

from functier._programs.machine.compiler import engine
from functier._programs.machine.text.emitter import ATTRIBUTES, INT64, Declarations, Emitter

SLACK = 0.0 if np.finfo(np.longdouble).nmant >= 63 else 0.75
"""A bound for platforms whose long doubles are doubles: the reference errs as well."""


def loop(name, rule, dtypes, width, outlined, declarations):
    """The text of `i32 name(i64 n, in..., out)`, and the dtype of its result."""
    e = Emitter(width, "v", declarations, outlined)
    e.block = "loop"
    ins = [f"%in{i}" for i in range(len(dtypes))]

    def place(pointer, dtype):
        offset = e.emit(f"mul i64 %i, {dtype.itemsize}", INT64)
        return e.emit(f"getelementptr i8, ptr {pointer}, i64 {offset.text}", INT64).text

    result = rule(e, *(e.load(place(p, d), d) for p, d in zip(ins, dtypes)))
    e.store(result, place("%out", result.dtype))
    refused = e.refused()
    bad = "false" if refused is None else e.any(refused)
    head = (
        f"define i32 @{name}(i64 %n, {', '.join(f'ptr {p}' for p in ins)}, ptr %out) {ATTRIBUTES}"
    )
    body = "\n".join(e.lines)
    return (
        f"""{head} {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %{e.block} ]
  %before = phi i1 [ false, %entry ], [ %bad, %{e.block} ]
{body}
  %bad = or i1 %before, {bad}
  %next = add i64 %i, {max(width, 1)}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %status = zext i1 %bad to i32
  ret i32 %status
}}
""",
        result.dtype,
    )


class Kernel:
    """A compiled loop: call it with arrays of any shapes that broadcast."""

    def __init__(self, library, name, dtypes, result, width):
        self.library, self.dtypes, self.result, self.width = library, dtypes, result, width
        pointers = [ctypes.c_void_p] * (len(dtypes) + 1)
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, *pointers)(library[name])
        self.status = 0

    def __call__(self, *arrays):
        arrays = np.broadcast_arrays(*arrays)
        size, step = arrays[0].size, max(self.width, 1)
        padded = -(-size // step) * step
        flat = [np.ones(padded, d) for d in self.dtypes]
        for target, array in zip(flat, arrays):
            target[:size] = array.ravel()
        out = np.empty(padded, self.result)
        self.status = self.entry(padded, *(x.ctypes.data for x in [*flat, out]))
        return out[:size].reshape(arrays[0].shape)


def kernels(rules, width=4, outlined=False, opt=1):
    """Compile `{name: (rule, dtypes)}` in one module."""
    declarations, loops, made = Declarations(), [], {}
    for name, (rule, dtypes) in rules.items():
        dtypes = [np.dtype(d) for d in dtypes]
        symbol = f"kernel_{name}"  # fmod alone would stand for that of libm
        text, result = loop(symbol, rule, dtypes, width, outlined, declarations)
        loops.append(text)
        made[name] = symbol, dtypes, result
    text = "\n".join([*loops, declarations.text()])
    library = engine.load(text, [row[0] for row in made.values()], opt=opt, stored=False)
    return {name: Kernel(library, *row, width) for name, row in made.items()}


def kernel(rule, dtypes, width=4, outlined=False, opt=1):
    """Compile one rule."""
    return kernels({"kernel": (rule, dtypes)}, width, outlined, opt)["kernel"]


def ulps(actual, exact):
    """The distance from values in a wider dtype, in units in the last place; inf is wrong."""
    with np.errstate(all="ignore"):
        near = np.asarray(exact).astype(actual.dtype)
        gap = np.abs(actual.astype(np.longdouble) - exact) / np.spacing(np.abs(near))
        same = (actual == near) | (np.isnan(actual) & np.isnan(near))
        gap = np.where(np.isfinite(near) & np.isfinite(actual), gap, np.where(same, 0, np.inf))
        minus = np.signbit(actual) != np.signbit(near)
        return np.where((near == 0) & (actual == 0) & minus, np.inf, gap).astype(float)
