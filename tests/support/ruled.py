"""One function of pytrees, with rules of every kind: what the tests of custom rules share."""

from functools import partial

import numpy as np

import functier as ft
from functier._core.pytree import flatten

W, B, X = np.array([0.3, -0.8, 1.2]), np.array(0.7), np.array([0.5, 1.5, -0.4])


def formula(p, x, power=2):
    y = np.sin(p["w"] * x)
    return {"y": p["b"] * y**power, "none": None, "up": x > 0}, np.sum(y)


def fwd(call, p, x, power=2):
    return call(p, x, power), (p, x, power)


def bwd(scale, residuals, g):
    p, x, power = residuals
    first, total = g
    s, c = np.sin(p["w"] * x), np.cos(p["w"] * x)
    inner = (first["y"] * p["b"] * power * s ** (power - 1) + total) * c
    b = np.sum(first["y"] * s**power)
    return {"w": inner * x * scale, "b": b}, inner * p["w"], None


def jvp_rule(call, scale, primals, tangents):
    p, x, power = primals
    dp, dx, _ = tangents
    s, c = np.sin(p["w"] * x), np.cos(p["w"] * x)
    ds = c * (dp["w"] * x * scale + p["w"] * dx)
    y = p["b"] * power * s ** (power - 1) * ds + dp["b"] * s**power
    return call(p, x, power), ({"y": y, "none": None, "up": None}, np.sum(ds))


def vmap_rule(call, scale, size, in_batched, *args):
    args = [
        {k: wide(size, p, in_batched[0][k]) for k, p in args[0].items()},
        wide(size, args[1], in_batched[1]),
        args[2],
    ]
    w, b, x, power = args[0]["w"], args[0]["b"], args[1], args[2]
    y = np.sin(w * x) * scale
    first = {"y": b[:, None] * y**power, "none": None, "up": x > 0}
    return (first, np.sum(y, axis=1)), ({"y": True, "none": None, "up": True}, True)


def wide(size, x, batched):
    return x if batched else np.broadcast_to(x, (size, *x.shape))


def with_vjp(scale=1.0, make=ft.custom_vjp, again=False):
    f = make(formula)
    f.defvjp(partial(fwd, f if again else formula), partial(bwd, scale))
    return f


def with_jvp(scale=1.0, again=False):
    f = ft.custom_jvp(formula)
    f.defjvp(partial(jvp_rule, f if again else formula, scale))
    return f


def with_partials():
    f = ft.custom_jvp(formula)

    def by_p(dp, out, p, x, power):
        return partials(p, x, power, dp, 0.0)

    def by_x(dx, out, p, x, power):
        return partials(p, x, power, {"w": 0.0, "b": 0.0}, dx)

    f.defjvps(by_p, by_x, None)
    return f


def partials(p, x, power, dp, dx):
    return jvp_rule(formula, 1.0, (p, x, power), (dp, dx, None))[1]


def with_vmap(scale=1.0):
    f = ft.custom_vmap(formula)
    f.def_vmap(partial(vmap_rule, f, scale))
    return f


def with_vmap_again():
    """A batching rule that calls the function itself."""
    f = ft.custom_vmap(formula)

    @f.def_vmap
    def rule(size, in_batched, p, x, power):
        rows = [
            f(
                {k: v[i] if in_batched[0][k] else v for k, v in p.items()},
                x[i] if in_batched[1] else x,
                power,
            )
            for i in range(size)
        ]
        y = np.stack([first["y"] for first, _ in rows])
        up = np.stack([first["up"] for first, _ in rows])
        return ({"y": y, "none": None, "up": up}, np.stack([total for _, total in rows])), True

    return f


def with_all():
    f = with_vjp(again=True)
    f.defjvp(partial(jvp_rule, f, 1.0))
    f.def_vmap(partial(vmap_rule, f, 1.0))
    return f


def with_vjp_and_vmap():
    f = with_vjp()
    f.def_vmap(partial(vmap_rule, f, 1.0))
    return f


KINDS = {
    "vjp": with_vjp, "vjp again": partial(with_vjp, again=True), "jvp": with_jvp,
    "jvp again": partial(with_jvp, again=True), "partials": with_partials, "vmap": with_vmap,
    "vmap again": with_vmap_again, "loop": lambda: ft.sequential_vmap(formula), "all": with_all,
    "vjp and vmap": with_vjp_and_vmap,
}  # fmt: skip


def total(tree):
    """A scalar of a pytree: each element of a floating-point leaf has its own weight."""
    found = 0.0
    for leaf in flatten(tree)[0]:
        if np.result_type(leaf).kind == "f":
            size = int(np.prod(leaf.shape))
            found = found + np.sum(leaf * np.linspace(0.5, 1.5, size).reshape(leaf.shape))
    return found


def floats(tree):
    return [leaf for leaf in flatten(tree)[0] if np.result_type(leaf).kind == "f"]
