"""The rows of the samples as functions to trace: values, derivatives and batches."""

import checks
import functier as ft
from samples._batch import examples, free


def cases(row, second=False):
    """The row, its derivatives and a batch of it, each as a function and its arguments.

    Derivatives of these where `second` is true.
    """
    f = checks.leaves_of(row)
    yield "value", f, row.leaves
    if checks.differentiable(row):
        g, points = checks.function_of(row)
        n = len(points)
        tangents = checks.directions(points, 0)
        weights = checks.directions(g(*points), 100)
        push = lambda *a: ft.jvp(g, a[:n], a[n:])[1]  # noqa: E731
        pull = lambda *a: ft.vjp(g, *a[:n])[1](list(a[n:]))  # noqa: E731
        yield "jvp", push, [*points, *tangents]
        yield "vjp", pull, [*points, *weights]
        if second:
            yield "jvp of jvp", lambda *a: ft.jvp(push, a, a)[1], [*points, *tangents]
            yield "jvp of vjp", lambda *a: ft.jvp(pull, a, a)[1], [*points, *weights]
            yield "vjp of vjp", lambda *a: pulled(*ft.vjp(pull, *a)), [*points, *weights]
        for i in (0, n - 1) if n > 1 else ():  # the others are constants of the program
            yield f"vjp by operand {i}", *alone(g, points, i, weights)
    if row.vmap and free(row) and not row.loop:
        many = [examples(row, i, 3) if i in free(row) else x for i, x in enumerate(row.leaves)]
        dims = tuple(0 if i in free(row) else None for i in range(len(many)))
        yield "vmap", ft.vmap(f, dims), many


def pulled(value, back):
    return back(value)


def alone(g, points, i, weights):
    """The derivative of a function by one operand, and the arguments: that operand, and weights."""

    def f(x, *weights):
        return ft.vjp(lambda x: g(*points[:i], x, *points[i + 1 :]), x)[1](list(weights))

    return f, [points[i], *weights]
