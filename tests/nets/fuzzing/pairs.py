"""Transforms of transforms of a drawn program."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import functier as ft

from .batches import BY_VALUE, by_value, loop_of, numpy_loop, vmap, vmap_vmap
from .derivatives import adjoint, cotangents, hold_to_differences, jvp, tied, vjp
from .references import Inconclusive, check_forms, form
from .setting import Setting, Trial, direction, hold, tup

KINKED = re.compile("pow|hypot|norm|abs|std|remainder|mod|sign|max|min|svd|cond|interp|heaviside")
"""Functions that have a kink where something is 0, which a square of them does not show."""


def _first(s: Setting, mode: str) -> tuple[Callable, list[int], list]:
    """The first derivative as a function of the points, along fixed directions."""
    where, results = s.differentiated(), s.smooth()
    f = s.of(where, results)
    if mode == "jvp":
        tangents = tuple(s.tangents(where))
        return (lambda *p: ft.jvp(f, p, tangents)[1]), where, list(tangents)
    weights = tuple(cotangents(s, results))
    return (lambda *p: ft.vjp(f, *p)[1](weights)), where, list(weights)


def _second(outer: str, within: str) -> Callable[[Setting], Trial]:
    """Order two: `outer` of the derivative by `within`, against differences of the latter."""

    def make(s: Setting) -> Trial:
        g, where, given = _first(s, within)
        points = [s.point[i] for i in where]
        if not all(np.isfinite(x).all() for x in points):
            raise Inconclusive
        if tied(s) or ("np.corrcoef" in s.program.names and any(op.again for op in s.operands)):
            raise Inconclusive  # what is 1 but for rounding is clipped
        if KINKED.search(" ".join(s.program.names)) and any(np.any(x == 0) for x in s.point):
            raise Inconclusive
        turned = s.tangents(where)
        names = [s.names[i] for i in where]
        letter = "t" if within == "jvp" else "g"
        inputs = {f"{letter}{j}": x for j, x in enumerate(given)}
        inputs |= {f"u{j}": u for j, u in enumerate(turned)}
        first = np.random.default_rng(int(s.rng.integers(1 << 30)))
        known: dict[str, Any] = {}

        def run() -> Any:
            if outer == "jvp":
                return ft.jvp(g, tuple(points), tuple(turned))
            value, pullback = ft.vjp(g, *points)
            known["back"] = [direction(y, first) for y in value]
            return value, pullback(tuple(known["back"]))

        def check(actual: Any) -> None:
            value, second = actual
            expected = g(*points)
            hold(s, value, expected, lambda p: g(*p), points, 100)
            if outer == "jvp":
                check_forms(second, [form(v) for v in expected])
                return hold_to_differences(s, g, points, turned, second, 5)
            check_forms(second, [form(x) for x in points])
            moved = ft.jvp(g, tuple(points), tuple(turned))[1]
            adjoint(s, known["back"], moved, second, turned, points, 100)

        h = s.text_of(where)
        if within == "jvp":
            inside = f"lambda *p: ft.jvp({h}, p, {tup(list(inputs)[: len(given)])})[1]"
        else:
            inside = f"lambda *p: ft.vjp({h}, *p)[1]({tup(list(inputs)[: len(given)])})"
        line = f"g = {inside}\n"
        if outer == "jvp":
            line += f"ft.jvp(g, {tup(names)}, {tup(list(inputs)[len(given) :])})"
        else:
            line += f"y, pb = ft.vjp(g, {', '.join(names)}); pb(y)"
        return s.trial(line, inputs, run, check)

    return make


def _vmap_of(mode: str) -> Callable[[Setting], Trial]:
    """vmap of a derivative, over points, directions or both, against a loop of it."""

    def make(s: Setting) -> Trial:
        where, results = s.differentiated(), s.smooth()
        f = s.of(where, results)
        p, n = len(where), s.length(False)
        if by_value(s.program) or (mode == "vjp" and BY_VALUE & set(s.program.names)):
            raise Inconclusive  # an example's cotangent may be real
        leads = [s.point[i] for i in where] if mode == "jvp" else [s.values[j] for j in results]
        inputs: list = []
        dims: list = []
        points = s.rng.random() < 0.8
        chosen = s.batched() if points else []
        for i in where:
            on = i in chosen
            inputs.append(s.batch(i, n) if on else s.point[i])
            dims.append(0 if on else None)
        moves = s.rng.random() < 0.6 or all(d is None for d in dims)
        symmetric = [s.operands[i].symmetric for i in where] if mode == "jvp" else [False] * 99
        for x, sym in zip(leads, symmetric):
            like = np.zeros((n, *np.shape(x)), np.result_type(x)) if moves else x
            inputs.append(direction(like, s.rng, sym))
            dims.append(0 if moves else None)
        if all(d is None for d in dims):
            raise Inconclusive

        def g(*xs: Any) -> tuple:
            if mode == "jvp":
                return tuple(ft.jvp(f, tuple(xs[:p]), tuple(xs[p:]))[1])
            return tuple(ft.vjp(f, *xs[:p])[1](tuple(xs[p:])))

        def reference(xs: Sequence) -> list:
            return loop_of(g, n, xs, dims)

        def check(actual: Any) -> None:
            expected = reference(inputs)
            check_forms(actual, [form(e) for e in expected])
            hold(s, actual, expected, reference, inputs, 100)

        names = [s.names[i] for i in where]
        extra = [f"{'t' if mode == 'jvp' else 'g'}{j}" for j in range(len(leads))]
        every = ", ".join([*names, *extra])
        call = (
            f"ft.jvp({s.text_of(where)}, {tup(names)}, {tup(extra)})[1]"
            if mode == "jvp"
            else f"ft.vjp({s.text_of(where)}, {', '.join(names)})[1]({tup(extra)})"
        )
        line = f"ft.vmap(lambda {every}: {call}, {tuple(dims)})({every})"
        return s.trial(
            line, dict(zip([*names, *extra], inputs)),
            lambda: ft.vmap(g, tuple(dims))(*inputs), check,
        )  # fmt: skip

    return make


def _of_vmap(mode: str) -> Callable[[Setting], Trial]:
    """A derivative of vmap, against a loop: what is not batched gets the sum over the batch."""

    def make(s: Setting) -> Trial:
        where, results = s.differentiated(), s.smooth()
        f, n = s.of(where, results), s.length()
        chosen = s.batched()
        on = [i in chosen for i in where]
        if not any(on):
            raise Inconclusive
        dims: list = [None] * len(where)
        inputs: list = []
        for k, i in enumerate(where):
            x = s.point[i]
            if on[k]:
                x, dims[k] = s.place(s.batch(i, n))
            inputs.append(x)
        mapped = ft.vmap(f, tuple(dims))
        forms = [((n, *s.values[j].shape), s.values[j].dtype) for j in results]
        if by_value(s.program):
            raise Inconclusive
        if not n and BY_VALUE & set(s.program.names):
            raise Inconclusive
        if n and [form(y) for y in numpy_loop(f, n, inputs, dims)] != forms:
            raise Inconclusive  # the dtype is told by the values
        names = [s.names[i] for i in where]
        call = f"ft.vmap({s.text_of(where)}, {tuple(dims)})"

        def examples(xs: Sequence, j: int) -> list:
            return [np.moveaxis(x, d, 0)[j] if d is not None else x for x, d in zip(xs, dims)]

        if mode == "jvp":
            tangents = [_placed_direction(s, x, d, i) for x, d, i in zip(inputs, dims, where)]

            def check(actual: Any) -> None:
                value, moved = actual
                check_forms(value, forms)
                check_forms(moved, forms)

                def reference(xs: Sequence) -> list:
                    rows = [
                        ft.jvp(f, tuple(examples(xs, j)), tuple(examples(tangents, j)))[1]
                        for j in range(n)
                    ]
                    return [np.stack(c) for c in zip(*rows)]

                if n:
                    hold(s, moved, reference(inputs), reference, inputs, 100)

            extra = [f"t{name}" for name in names]
            return s.trial(
                f"ft.jvp({call}, {tup(names)}, {tup(extra)})",
                dict(zip([*names, *extra], [*inputs, *tangents])),
                lambda: ft.jvp(mapped, tuple(inputs), tuple(tangents)), check,
            )  # fmt: skip

        weights = [direction(np.zeros(*form_), s.rng) for form_ in forms]

        def run() -> Any:
            value, pullback = ft.vjp(mapped, *inputs)
            return value, pullback(tuple(weights))

        def check_back(actual: Any) -> None:
            value, pulled = actual
            check_forms(value, forms)
            check_forms(pulled, [form(x) for x in inputs])

            def reference(xs: Sequence) -> list:
                rows = [
                    ft.vjp(f, *examples(xs, j))[1](tuple(w[j] for w in weights)) for j in range(n)
                ]
                return [
                    np.moveaxis(np.stack(c), 0, d) if d is not None
                    else np.sum(np.stack(c), axis=0, dtype=np.result_type(*c))
                    for c, d in zip(zip(*rows), dims)
                ]  # fmt: skip

            if n:
                hold(s, pulled, reference(inputs), reference, inputs, 100)
            else:
                found = [np.asarray(c) for c in pulled]
                single = len(s.program.steps) == 1
                left = any(np.any(c[np.isfinite(c)]) for c in found)
                left |= single and not all(np.isfinite(c).all() for c in found)
                assert not left, "a cotangent of no example"

        extra = [f"g{j}" for j in range(len(weights))]
        return s.trial(
            f"ft.vjp({call}, {', '.join(names)})[1]({tup(extra)})",
            dict(zip([*names, *extra], [*inputs, *weights])), run, check_back,
        )  # fmt: skip

    return make


def _placed_direction(s: Setting, x: np.ndarray, d: int | None, i: int) -> np.ndarray:
    symmetric = s.operands[i].symmetric
    if d is None:
        return direction(x, s.rng, symmetric)
    return np.moveaxis(direction(np.moveaxis(x, d, 0), s.rng, symmetric), 0, d)


MODES: dict[str, Callable[[Setting], Trial]] = {
    "vmap": vmap,
    "jvp": jvp,
    "vjp": vjp,
    "vmap of vmap": vmap_vmap,
    "vmap of jvp": _vmap_of("jvp"),
    "vmap of vjp": _vmap_of("vjp"),
    "jvp of vmap": _of_vmap("jvp"),
    "vjp of vmap": _of_vmap("vjp"),
    "jvp of jvp": _second("jvp", "jvp"),
    "jvp of vjp": _second("jvp", "vjp"),
    "vjp of jvp": _second("vjp", "jvp"),
    "vjp of vjp": _second("vjp", "vjp"),
}
"""Makers of a trial, for each transform and pair of transforms."""
