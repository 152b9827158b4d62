"""Calls of products of matrices and vectors, contractions and convolutions."""

from typing import Any

import numpy as np

from ..draw import Draw, Step, recipe


def size(d: Draw) -> int:
    return d.size() if d.chance(0.8) else d.pick(2, 3)


@recipe("np.dot np.inner np.matmul np.linalg.matmul")
def product(d: Draw, name: str) -> Step:
    low = 0 if name in ("np.dot", "np.inner") else 1
    x = d.x(nd=(low, 3), kinds="fciub")
    shape = d.form(x)
    n = shape[-1] if shape else 0
    kind = d.rng.random()
    if not shape or (kind < 0.1 and low == 0):
        other: tuple = d.pick((), d.shape((0, 2)))
    elif kind < 0.35:
        other = (n,)
    elif name == "np.inner":
        other = (*d.shape((0, 2)), n)
    elif name == "np.dot":
        other = (*d.shape((0, 1)), n, size(d))
    else:
        other = (*(d.sub(shape[:-2]) if len(shape) > 2 else d.shape((0, 1))), n, size(d))
    if d.chance(0.5):
        y = d.new(other, dtype=d.value(x).dtype)
    else:
        y = d.new(other, "fciub")
    if name == "np.matmul" and d.chance(0.4):
        return Step("({0} @ {1})", (x, y))
    if name == "np.dot" and d.chance(0.2) and x.text == d.main and shape:
        d.operands[y.text].needs = d.main
        return Step(f"{x}.dot", (y,))
    return Step(name, (x, y))


@recipe("np.vecdot np.linalg.vecdot np.matvec np.vecmat")
def gufunc(d: Draw, name: str) -> Step:
    lead = d.shape((0, 1))
    n, m = size(d), size(d)
    core = {"np.matvec": ((m, n), (n,)), "np.vecmat": ((n,), (n, m))}.get(name, ((n,), (n,)))
    x = d.x(shape=(*lead, *core[0])) if d.before is None else d.x(nd=(len(core[0]), 3))
    if d.form(x)[-len(core[0]) :] != core[0]:
        n = d.form(x)[-1]
        core = (core[0], (n,) if name != "np.vecmat" else (n, m))
    y = d.new((*d.sub(lead), *core[1]), "fci")
    kwargs: dict[str, Any] = {}
    if name.endswith("vecdot") and d.chance(0.2) and d.nd(x) == d.nd(y) > 1:
        kwargs["axis"] = d.pick(0, -1)
    return Step(name, (x, y), kwargs)


@recipe("np.outer np.linalg.outer np.kron np.vdot")
def pairs(d: Draw, name: str) -> Step:
    nd = {"np.linalg.outer": (1, 1), "np.kron": (0, 2), "np.outer": (0, 2)}.get(name, (0, 2))
    x = d.x(nd=nd)
    shape = d.form(x) if name == "np.vdot" else d.shape(nd)
    return Step(name, (x, d.new(shape)))


@recipe("np.tensordot np.linalg.tensordot")
def tensordot(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 3))
    shape = d.form(x)
    count = d.int(0, min(2, len(shape)))
    kind = d.rng.random()
    if kind < 0.4:
        axes: Any = count
        other = (*shape[len(shape) - count :], *d.shape((0, 1)))
    else:
        first = [int(a) for a in d.rng.permutation(len(shape))[:count]]
        other = (*(shape[a] for a in first), *d.shape((0, 1)))
        second = list(range(count))
        axes = (first, [a - (len(other) if d.chance(0.3) else 0) for a in second])
    return Step(name, (x, d.new(other, "fci")), {"axes": axes} if axes != 2 else {})


@recipe("np.einsum")
def einsum(d: Draw, name: str) -> Step:
    labels = "ijkl"[: d.int(1, 4)]
    sizes = {label: max(d.size(), 1) for label in labels}
    count = d.int(1, 3)
    if d.before is not None and (d.values[d.before.text].ndim > len(labels) or count > 2):
        count = 1
    terms: list[str] = []
    x = d.x(nd=(0, 3))
    for i in range(count):
        rank = d.nd(x) if i == 0 else d.int(0, 3)
        terms.append("".join(d.pick(*labels) for _ in range(rank)))
    for label, n in zip(terms[0], d.form(x)):
        if terms[0].count(label) > 1 and sizes.get(label) != n:
            terms[0] = "abc"[: d.nd(x)]
            break
        sizes[label] = n
    sizes.update(zip(terms[0], d.form(x)))
    operands = [x, *(d.new([sizes[c] for c in t], "fci") for t in terms[1:])]
    used = sorted(set("".join(terms)))
    text = ",".join(terms)
    if d.chance(0.8):
        chosen = [c for c in used if d.chance(0.6)]
        text += "->" + "".join(chosen[int(i)] for i in d.rng.permutation(len(chosen)))
    kwargs = {"optimize": True} if d.chance(0.2) else {}
    if d.chance(0.1):
        text = text.replace(",", "..., ").replace("->", "...->...")
        text = text if "->" in text else text + "..."
    return Step(name, (text, *operands), kwargs)


@recipe("np.cross np.linalg.cross")
def cross(d: Draw, name: str) -> Step:
    shape = (*d.shape((0, 2)), 3)
    x = d.x(shape=shape, kinds="fci") if d.before is None else d.x(nd=(1, 3), kinds="fci")
    y = d.new(d.over(d.form(x)) if d.chance(0.4) else d.form(x), "fci")
    return Step(name, (x, y))


@recipe("np.convolve np.correlate")
def convolve(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 1))
    y = d.new((d.size(),))
    return Step(name, (x, y), {"mode": d.pick("full", "same", "valid")} if d.chance(0.7) else {})


@recipe("np.cov np.corrcoef")
def cov(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 2), kinds="fci")
    kwargs: dict[str, Any] = {"rowvar": False} if d.chance(0.4) else {}
    if name == "np.cov":
        if d.chance(0.3):
            kwargs["bias"] = True
        if d.chance(0.3):
            kwargs["ddof"] = d.pick(0, 1)
        n = d.form(x)[-1 if kwargs.get("rowvar", True) or d.nd(x) == 1 else 0]
        if d.chance(0.25):
            kwargs["aweights"] = d.new((n,), "f", "positive")
        if d.chance(0.15):
            kwargs["fweights"] = d.new((n,), "i", "1:4")
    if d.chance(0.2):
        kwargs["y"] = d.new(d.form(x), "fci")
    return Step(name, (x,), kwargs)


@recipe("np.linalg.multi_dot")
def multi_dot(d: Draw, name: str) -> Step:
    x = d.x(nd=(1, 2))
    sizes = [d.form(x)[-1] if d.form(x) else 1, *(max(d.size(), 1) for _ in range(2))]
    others = [d.new((sizes[0], sizes[1]), "fc")]
    if d.chance(0.6):
        others.append(d.new((sizes[1], sizes[2]) if d.chance(0.6) else (sizes[1],), "fc"))
    return Step(name, ([x, *others],))


@recipe("np.linalg.matrix_power")
def matrix_power(d: Draw, name: str) -> Step:
    power = d.int(-2, 5)
    n = d.int(1, 3)
    shape = (*d.shape((0, 1)), n, n)
    x = d.x(nd=(2, 3), kinds="fc", style="dominant", shape=None if d.before else shape)
    if np.shape(d.value(x))[-1] != np.shape(d.value(x))[-2]:
        power = abs(power)
    return Step(name, (x, power))
