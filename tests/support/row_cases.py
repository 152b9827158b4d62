"""The rows of the samples as functions to trace: values, derivatives and batches.

A run of them reports right, refused and wrong. What is refused needs a reason in `REASONS`.
"""

import re
from collections import Counter

import functier as ft
from samples._batch import examples, free
from support import checks
from support.basics import silent
from support.bits import difference

REASONS = {
    r"constant\.(shares_memory|may_share_memory)": "it asks for the memory of an array",
    r"scipy_\w+\..*draws from NumPy's global generator": "SciPy draws for an estimate",
    r"scipy_places\.(KDTree|ConvexHull)": "SciPy's object is made of the values",
    r"scipy_stats_tests\.expectile.* refused: .* calls a function": "SciPy searches for a root",
    r"scipy_places\.directed_hausdorff": "SciPy shuffles the points",
    r"scipy_stats_tests\.(student|intervals|choices|kolmogorov|places)-.* value another": (
        "the row leaves out the attributes of a result, which a program does not return"
    ),
    r"indexing\.getitem(\(\[0,2,0\],\))?-d\[3,2\](,l\[2,2\])? vmap another order in memory": (
        "NumPy's own index of a slice and a list puts the axis of the list first in memory"
    ),
    r"scipy_(spatial\.ofpairs|splines\.surfaces).* vmap another order in memory": (
        "each example lies as NumPy's, and the examples among each other or not"
    ),
    r"scipy_rotation\.from_rotvec-d\[3\],d\[2,3\] value another order in memory": (
        "SciPy's compiled code returns rotated vectors as a transposed array"
    ),
}
"""Rows that are refused or have another order in memory than plain arguments, and why."""

TO_ROUNDING = {
    r"scipy_spatial\.ofpairs.* vjp of vjp": (
        "a pass that looks at norms of 0 again leaves out zeros that a program adds"
    ),
    r"scipy_(integrate\.simpson|stats\.entropy).* vjp of vjp": (
        "a rule leaves a choice out where no element needs it, which changes the order of a sum"
    ),
    r"scipy_linalg_functions\.onthecut.* vjp of vjp": (
        "SciPy draws for an estimate, and chooses the number of its steps by that"
    ),
    r"scipy_(interpolate|splines|rotation)\..* (value|vjp by operand \d)$": (
        "SciPy's compiled code computes plain tables in another order"
    ),
}
"""Rows that plain arguments compute in another order than tensors, so that some last bits differ.
"""


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


def run(rows, second=False):
    """Trace and replay some rows; return the counts, and the names of those that are not right."""
    counts, found = Counter(), {}
    for name, row in rows.items():
        with silent():
            for kind, f, args in cases(row, second):
                try:
                    expected = f(*args)
                except Exception:
                    if " of " not in kind:
                        raise
                    continue  # it has no second derivative, or is not smooth there
                try:
                    program = ft.trace(f)(*args)
                except ft.LevelError as error:
                    counts["refused"] += 1
                    found[f"{name} {kind}"] = f"refused: {error}"
                    continue
                try:
                    loose = any(re.match(r, f"{name} {kind}") for r in TO_ROUNDING)
                    wrong = difference(program(*args), expected, 1e-13 if loose else 0.0)
                except Exception as error:  # which the function itself has not raised
                    wrong = f"{type(error).__name__}: {error}"
                counts["wrong" if wrong else "right"] += 1
                if wrong:
                    found[f"{name} {kind}"] = wrong
    return counts, found


def unforeseen(found):
    """The names of those that are not right for no known reason, and what they are."""
    return {k: v for k, v in found.items() if not any(re.match(r, f"{k} {v}") for r in REASONS)}
