"""Kinds of writes, as texts."""

from collections.abc import Callable

import numpy as np

from .expressions import Unfit
from .places import index_text

OTHERS = ("subtract", "multiply", "maximum", "negative")
OPS = ("+=", "-=", "*=", "/=")


def place(d, t: str, index: str) -> tuple[str, tuple[int, ...]]:
    """An index, and the shape of what may be written there."""
    text = index_text(d, index, t)
    shape = np.shape(d.value(f"{t}[{text}]"))
    if "own mask" in index:
        shape = ()
    elif index in ("mask", "mixture") and d.r.random() < 0.3:
        shape = ()
    return text, shape


def apart(d, t: str, e: str) -> str:
    """`e` as a copy where it is a view of `t`, and NumPy says nothing about the order."""
    value = d.value(e)
    return f"np.copy({e})" if np.may_share_memory(value, d.space[t]) else e


def setitem(d, t: str, index: str) -> str:
    if d.space[t].dtype.kind == "i" and d.r.random() < 0.5:
        return f"{t}[{place(d, t, index)[0]}] = {d.r.choice([2.7, -1, 1.2])}"
    text, shape = place(d, t, index)
    e = d.fit(shape, d.space[t].dtype.kind != "c")
    return f"{t}[{text}] = {apart(d, t, e) if 'mask' in index else e}"


def operand(d, t: str, op: str, shape: tuple[int, ...]) -> str:
    if d.space[t].dtype.kind == "i":
        return str(d.r.choice([1, 2, -3]))
    real = d.space[t].dtype.kind != "c"
    e = d.fit(shape, real)
    return f"2.0 + np.sin({e})" if op == "/=" else e


def augitem(d, t: str, index: str) -> str:
    text, shape = place(d, t, index)
    op = d.r.choice(OPS)
    return f"{t}[{text}] {op} {operand(d, t, op, shape)}"


def augment(d, t: str, index: str) -> str:
    op = d.r.choice(OPS)
    if d.r.random() < 0.1 and d.space[t].dtype.kind == "f":
        return f"{t} **= 2"
    return f"{t} {op} {operand(d, t, op, d.space[t].shape)}"


def out_ufunc(d, t: str, index: str) -> str:
    a, b = d.fit_to(d.space[t]), d.fit_to(d.space[t])
    target = d.r.choice([t, t, f"({t},)"])
    if d.r.random() < 0.4:
        a = t
    return d.r.choice([
        f"np.{d.r.choice(['add', 'multiply', 'subtract'])}({a}, {b}, out={target})",
        f"np.{d.r.choice(['sin', 'tanh', 'negative', 'cos'])}({a}, out={target})",
        f"np.maximum({a}, {b}, out={target})" if d.space[t].dtype.kind == "f" else
        f"np.conjugate({a}, out={target})",
        f"np.add({a}, {b}, {t})",
    ])  # fmt: skip


def mask_of(d, t: str) -> str:
    v = d.space[t]
    real = f"{t}.real" if v.dtype.kind == "c" else t
    flags = np.arange(v.size).reshape(v.shape) % 2 == 0
    return d.r.choice([f"{real} > 0.103", f"np.array({flags.tolist()})", f"np.abs({t}) < 0.803"])


def out_where(d, t: str, index: str) -> str:
    a, b, m = d.fit_to(d.space[t]), d.fit_to(d.space[t]), mask_of(d, t)
    return d.r.choice([
        f"np.{d.r.choice(['add', 'multiply'])}({a}, {b}, out={t}, where={m})",
        f"np.sin({a}, out={t}, where={m})",
    ])  # fmt: skip


def out_reduction(d, t: str, index: str) -> str:
    v = d.space[t]
    e = d.fit((d.r.choice([2, 3]), *v.shape), v.dtype.kind != "c", exact=True)
    same = d.fit_to(v, exact=True)
    real = v.dtype.kind == "f"
    options = [
        f"np.sum({e}, axis=0, out={t})", f"np.mean({e}, axis=0, out={t})",
        f"np.cumsum({same}, axis={d.r.randrange(v.ndim)}, out={t})", f"({e}).sum(0, out={t})",
        f"np.add.reduce({e}, axis=0, out={t})",
    ]  # fmt: skip
    if real:
        options += [f"np.max({e}, axis=0, out={t})"]
    return d.r.choice(options)


def out_take(d, t: str, index: str) -> str:
    v = d.space[t]
    e = d.fit((3, *v.shape[1:]), v.dtype.kind != "c", exact=True)
    places = [d.r.randrange(-3, 3) for _ in range(len(v))]
    mode = d.r.choice(["", ", mode='wrap'"])
    e = apart(d, t, e)
    return f"np.take({e}, {places}, axis=0, out={t}{mode})"


def out_clip(d, t: str, index: str) -> str:
    if d.space[t].dtype.kind == "c":
        raise Unfit
    e = d.r.choice([t, d.fit_to(d.space[t], exact=True)])
    return d.r.choice(
        [f"np.clip({e}, -0.403, 0.597, out={t})", f"({e}).clip(-0.503, None, out={t})"]
    )


def out_matmul(d, t: str, index: str) -> str:
    v = d.space[t]
    real = v.dtype.kind != "c"
    if v.ndim == 1:
        a, b = d.fit((len(v), 2), real, exact=True), d.fit((2,), real, exact=True)
    elif v.ndim == 2:
        a, b = d.fit((len(v), 2), real, exact=True), d.fit((2, v.shape[1]), real, exact=True)
    else:
        raise Unfit
    return f"np.{d.r.choice(['matmul', 'matmul', 'dot'])}({a}, {b}, out={t})"


def out_einsum(d, t: str, index: str) -> str:
    v = d.space[t]
    real = v.dtype.kind != "c"
    letters = "ijk"[: v.ndim]
    a = d.fit(v.shape, real, exact=True)
    b = apart(d, t, d.fit((len(v),), real, exact=True))
    a = apart(d, t, a)
    return f"np.einsum('{letters},i->{letters}', {a}, {b}, out={t})"


def ufunc_at(name: str) -> Callable:
    def write(d, t: str, index: str) -> str:
        text, shape = place(d, t, index)
        # not one that broadcasts: NumPy's ufunc.at reads beyond its end
        e = d.fit(d.r.choice([shape, ()]), d.space[t].dtype.kind != "c", exact=True)
        ufunc = d.r.choice(OTHERS) if name == "other" else name
        if ufunc == "maximum" and d.space[t].dtype.kind == "c":
            raise Unfit
        if ":" in text or "..." in text or "None" in text:
            text = f"np.s_[{text}]"
        elif "," in text and not text.startswith(("[", "np.")):
            text = f"({text})"
        elif text.startswith("[") and "]," in text:
            text = f"({text})"
        if ufunc == "negative":
            return f"np.negative.at({t}, {text})"
        return f"np.{ufunc}.at({t}, {text}, {e})"

    return write


def put(d, t: str, index: str) -> str:
    n = d.space[t].size
    places = [d.r.randrange(-n, n) for _ in range(d.r.choice([1, 2, 3]))]
    e = d.fit((d.r.choice([1, 2, 3]),), d.space[t].dtype.kind != "c", exact=True)
    if d.r.random() < 0.2:
        return f"np.put({t}, {[p + n for p in places]}, {e}, mode='wrap')"
    return d.r.choice([f"np.put({t}, {places}, {e})", f"{t}.put({places}, {e})"])


def place_(d, t: str, index: str) -> str:
    e = d.fit((d.r.choice([1, 2, 3]),), d.space[t].dtype.kind != "c", exact=True)
    return f"np.place({t}, {mask_of(d, t)}, {apart(d, t, e)})"


def putmask(d, t: str, index: str) -> str:
    e = d.r.choice([d.fit_to(d.space[t], exact=True), d.fit((2,), exact=True)])
    return f"np.putmask({t}, {mask_of(d, t)}, {e})"


def copyto(d, t: str, index: str) -> str:
    where = f", where={mask_of(d, t)}" if d.r.random() < 0.5 else ""
    return f"np.copyto({t}, {d.fit_to(d.space[t])}{where})"


def fill_diagonal(d, t: str, index: str) -> str:
    v = d.space[t]
    if v.ndim > 2 and len(set(v.shape)) > 1:
        raise Unfit
    e = apart(d, t, d.fit(d.r.choice([(), (2,)]), v.dtype.kind != "c", exact=True))
    wrap = d.r.choice(["", ", wrap=True"])
    return f"np.fill_diagonal({t}, {e}{wrap})"


def put_along_axis(d, t: str, index: str) -> str:
    v = d.space[t]
    axis = d.r.randrange(v.ndim)
    shape = tuple(1 if i == axis else n for i, n in enumerate(v.shape))
    places = np.array([d.r.randrange(v.shape[axis]) for _ in range(int(np.prod(shape)))])
    which = f"np.array({places.reshape(shape).tolist()})"
    if d.r.random() < 0.4 and v.dtype.kind == "f":
        which = f"np.argmax({t}, axis={axis}, keepdims=True)"
    return f"np.put_along_axis({t}, {which}, {d.fit(shape, v.dtype.kind != 'c')}, axis={axis})"


def fill(d, t: str, index: str) -> str:
    return f"{t}.fill({d.fit((), d.space[t].dtype.kind != 'c')})"


def sort(d, t: str, index: str) -> str:
    if d.space[t].dtype.kind == "c":
        raise Unfit
    return f"{t}.sort({d.r.choice(['', 'axis=0', '-1'])})"


def partition(d, t: str, index: str) -> str:
    if d.space[t].dtype.kind == "c":
        raise Unfit
    n = d.space[t].shape[-1]
    return f"{t}.partition({d.r.randrange(n)})"


def nan_to_num(d, t: str, index: str) -> str:
    return f"np.nan_to_num({t}, copy=False)"


def flat(d, t: str, index: str) -> str:
    v = d.space[t]
    n, real = v.size, v.dtype.kind != "c"
    i = d.r.randrange(-n, n)
    several = [d.r.randrange(-n, n) for _ in range(3)]
    three = apart(d, t, d.fit((3,), real, exact=True))
    half = apart(d, t, d.fit((len(range(0, n, 2)),), real, exact=True))
    return d.r.choice([
        f"{t}.flat[{i}] = {d.fit((), real)}", f"{t}.flat[{i}] += {d.fit((), real)}",
        f"{t}.flat[1:] = {d.fit((), real)}", f"{t}.flat[{several}] = {three}",
        f"{t}.flat[::2] = {half}",
    ])  # fmt: skip


WRITES: dict[str, Callable] = {
    "setitem": setitem, "item op=": augitem, "op=": augment, "out= ufunc": out_ufunc,
    "out= where=": out_where, "out= reduction": out_reduction, "out= take": out_take,
    "out= clip": out_clip, "out= matmul": out_matmul, "out= einsum": out_einsum,
    "add.at": ufunc_at("add"), "ufunc.at": ufunc_at("other"), "put": put, "place": place_,
    "putmask": putmask, "copyto": copyto, "fill_diagonal": fill_diagonal,
    "put_along_axis": put_along_axis, "fill": fill, "sort": sort, "partition": partition,
    "nan_to_num": nan_to_num, "flat": flat,
}  # fmt: skip
"""Makers of the text of a write to a name; those in `INDEXED` take a kind of index."""

INDEXED = {"setitem", "item op=", "add.at", "ufunc.at"}
RANK = dict.fromkeys(WRITES, 1) | {"fill_diagonal": 2}
"""The least number of axes of a target."""

OF_ELEMENTS = {"op=", "out= ufunc", "out= where=", "fill", "copyto", "nan_to_num"}
"""Those that are drawn for an array of no axes."""
