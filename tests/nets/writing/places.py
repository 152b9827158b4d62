"""Kinds of views and of indices, as texts."""

import random
from typing import Any

import numpy as np

VIEWS = (
    "slice", "step", "row", "computed", "newaxis", "reshape", "ravel", "T", "transpose",
    "swapaxes", "real", "imag", "iterated", "flip", "squeeze", "expand_dims", "split", "moveaxis",
    "element", "view of view",
)  # fmt: skip

INDICES = (
    "int", "negative", "slice index", "step index", "ellipsis", "newaxis index", "list", "array",
    "own mask", "mask", "tensor", "mixture",
)  # fmt: skip


def view_text(
    r: random.Random, kind: str, base: str, value: np.ndarray, space: dict[str, Any]
) -> str | None:
    """A view of an array; None where there is none of the kind."""
    nd, shape = value.ndim, value.shape
    if not nd and kind not in ("newaxis", "expand_dims", "reshape", "ravel", "real", "imag"):
        return None
    if kind == "slice":
        return f"{base}[{r.choice(['1:', ':-1', ':2', '..., 1:', '...', ':'])}]"
    if kind == "step":
        return f"{base}[{r.choice(['::2', '::-1', '1::2', '..., ::-1', '..., ::2'])}]"
    if kind == "element":  # an array of no axes
        return f"{base}[{', '.join(str(r.randrange(n)) for n in shape)}, ...]"
    if kind == "row":
        i = r.randrange(-shape[0], shape[0])
        return f"{base}[{i}]" if nd > 1 and r.random() < 0.7 else f"{base}[..., {i}]"
    if kind == "computed":
        return f"{base}[{computed_index(r, base, value, space)}]"
    if kind == "newaxis":
        return f"{base}[{r.choice(['None', '..., None', 'np.newaxis, ...'])}]"
    if kind == "reshape":
        n = value.size
        forms = [(n,), (1, n), (-1,)] + [(d, n // d) for d in (2, 3) if n % d == 0]
        form = r.choice(forms)
        return r.choice([f"{base}.reshape({form})", f"np.reshape({base}, {form})"])
    if kind == "ravel":
        return r.choice([f"{base}.ravel()", f"np.ravel({base})"])
    if kind == "T":
        return f"{base}.T"
    if kind == "transpose":
        return r.choice(
            [f"np.transpose({base})", f"{base}.transpose()", f"np.permute_dims({base})"]
        )
    if kind == "swapaxes":
        return r.choice([f"{base}.swapaxes(0, -1)", f"np.swapaxes({base}, 0, -1)"])
    if kind == "moveaxis":
        return r.choice([f"np.moveaxis({base}, 0, -1)", f"np.rollaxis({base}, {nd - 1})"])
    if kind in ("real", "imag"):
        if value.dtype.kind != "c":
            return None
        return r.choice([f"{base}.{kind}", f"np.{kind}({base})"])
    if kind == "iterated":
        if nd < 2:
            return None
        i = r.randrange(shape[0])
        return r.choice(
            [f"[row for row in {base}][{i}]", f"list({base})[{i}]", f"next(iter({base}))"]
        )
    if kind == "flip":
        return r.choice([f"np.flip({base})", f"np.flip({base}, 0)", f"np.flip({base}, -1)"])
    if kind == "squeeze":
        return r.choice(
            [f"np.squeeze({base}[:1])", f"{base}[None].squeeze(0)", f"{base}.squeeze()"]
        )
    if kind == "expand_dims":
        return f"np.expand_dims({base}, {r.choice([0, -1])})"
    if kind == "split":
        if shape[0] % 2:
            return f"np.array_split({base}, 2)[{r.choice([0, 1])}]"
        return f"np.split({base}, 2)[{r.choice([0, 1])}]"
    if kind == "view of view":
        first = view_text(r, r.choice(VIEWS[:10]), base, value, space)
        if first is None:
            return None
        try:
            seen = eval(first, dict(space))
        except Exception:
            return None
        if type(seen) is not np.ndarray or not seen.size:
            return None
        second = view_text(r, r.choice(VIEWS[:10]), "W", seen, space)
        return None if second is None else second.replace("W", first)
    raise KeyError(kind)


def computed_index(
    r: random.Random, base: str, value: np.ndarray, space: dict[str, Any]
) -> str:  # fmt: skip
    """A basic index with a number that is computed, and differs from example to example."""
    names = ["x", "y"] if value.dtype.kind == "c" else ["x", "y", base]
    numbers = ["k"] if "k" in space and not np.ndim(space["k"]) else []

    def number(n: int) -> str:
        found = [f"{f}({a})" for f in ("np.argmax", "np.argmin") for a in names] + numbers
        at = f"{r.choice(found)} % {n}"
        return r.choice([at, at, f"-({at}) - 1"])

    first, last = number(value.shape[0]), number(value.shape[-1])
    options = [f"{first}, ...", f"..., {last}"]
    if value.ndim > 1:
        options += [
            first, first, first, f"{first}, 1:", f"{first}, ::-1", f":, {number(value.shape[1])}",
            f"::-1, {number(value.shape[1])}", f"None, {first}", f"{first}, None",
        ]  # fmt: skip
    return r.choice(options)


def index_text(d, kind: str, name: str) -> str:
    """An index of a kind for an array that has a name."""
    r, value = d.r, d.space[name]
    shape, nd = value.shape, value.ndim
    n = shape[0] if nd else 1
    last = shape[-1] if nd else 1

    def ints(n: int, how_many: int) -> list[int]:
        return [r.randrange(-n, n) for _ in range(how_many)]

    if kind == "int":
        return ", ".join(str(r.randrange(m)) for m in shape[: r.randint(1, nd)])
    if kind == "negative":
        return ", ".join(str(-r.randint(1, m)) for m in shape[: r.randint(1, nd)])
    if kind == "slice index":
        return r.choice(["1:", ":-1", ":", ":2", ":, 1:", ":, :-1", "0, 1:"])
    if kind == "step index":
        return r.choice(["::2", "::-1", "1::2", "::-2", ":, ::-1", "..., ::2", "0, ::-1"])
    if kind == "ellipsis":
        return r.choice(["...", "..., 0", "0, ...", "..., 1:", "..., -1, :"])
    if kind == "newaxis index":
        return r.choice(["None", ":, None", "None, 0", "..., None", "0, None", "None, 1:"])
    if kind == "list":
        return r.choice([str(ints(n, 3)), str(ints(n, 2)), f":, {ints(last, 2)}", str(ints(n, 4))])
    if kind == "array":
        a = np.array(ints(n, 4)).reshape(2, 2).tolist()
        return r.choice([f"np.array({a})", f"np.array({ints(n, 3)})", f"np.array({ints(n, 1)})"])
    if kind == "own mask":
        real = f"{name}.real" if value.dtype.kind == "c" else name
        options = [f"{real} > 0.103", f"np.abs({name}) < 0.703", f"{real} <= -0.203"]
        if nd > 1:
            options.append(f"np.sum({real}, axis={tuple(range(1, nd))}) > 0.103")
        return r.choice(options)
    if kind == "mask":
        flags = np.array([r.random() < 0.6 for _ in range(value.size)]).reshape(shape)
        return f"np.array({r.choice([flags, flags[(slice(None), *[0] * (nd - 1))]]).tolist()})"
    if kind == "tensor":
        values = {m: d.space[m] for m in d.numbers()}
        others = [m for m, v in values.items() if v.ndim == 1 and v.dtype.kind == "f"]
        options = ["k", f"k, {r.randrange(last)}"] if "k" in d.space else []
        if others:
            o = r.choice(others)
            options += [f"np.argmax({o}) % {n}", f"np.argsort({o})[:2] % {n}"]
        if not options:
            options = [f"np.argmax({name}) % {n}"]
        return r.choice(options)
    if kind == "mixture":
        options = [
            f"1:, {ints(last, 2)}", f"{ints(n, 2)}, None", f"..., {ints(last, 2)}",
            f"{ints(n, 2)}, 1:", f"None, {ints(n, 3)}",
        ]  # fmt: skip
        if nd > 1:
            options += [f"{ints(n, 2)}, {ints(shape[1], 2)}", f"0, {ints(shape[1], 3)}"]
            if "k" in d.space:
                options += ["k, 1:", "k, ::-1", "..., k", "0, k"]
        return r.choice(options)
    raise KeyError(kind)
