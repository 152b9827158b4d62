"""Remedies for calls that would take a tensor out of its level: tables of texts.

NOTE [a remedy is followed literally]
    Each text completes "write ...", and is right for whoever does just that, under every
    transform that it is said for. None proposes the value under the level: a derivative, or
    the rest of a batch, would be lost. tests/levels/test_mistakes.py has a program for each entry.

In the braces stand the name of what was called, and its last part. Imports nothing of the
package.
"""

import ast

WRITING = "tensors can be written to such an array"
"""The end of the remedy for a write to a plain array."""

GENERAL: dict[str, str] = {
    "float": "(x * 1.0) for float(x), and numpy.sin(x) for math.sin(x)",
    "complex": "x + 0j for complex(x), and numpy.exp(x + 0j) for cmath.exp(x)",
    "numpy.asarray": "functier.numpy.asarray(x) for numpy.asarray(x), numpy.stack([x, y]) "
    "for numpy.array([x, y]), and functier.tensor(a)[x] for a[x]",
    "__dlpack__": "`return x` in the function, and hand the result of the transform to the other "
    "library",
    "item": "numpy.reshape(x, ()) for x.item(), which is a number under the transform",
    "tolist": "list(x) for x.tolist() of one axis, or `return x` in the function, and convert the "
    "result of the transform",
    "pickle.dumps": "`return x` in the function, and pickle the result of the transform",
    "format": "f'{{x}}' without a format, which shows the value, or vmap(..., branches='split') "
    "for the text of each example",
    **{
        how: f"{how}(functier.stop_gradient(x)) where no derivative should follow the text, under "
        "vmap(..., branches='split') where examples differ, f'{{x:.6g}}' to round x, or the "
        "text right in a call of print, logging or warnings.warn, or in a raise of ValueError or "
        "its like that no code catches by a name: print(f'{{x}}')"
        for how in ("str", "repr")
    },
    "hash": "numpy.isin(x, [2.0, 3.0]) for `x in {{2.0, 3.0}}`, numpy.where(x == 2.0, y, z) for "
    "{{2.0: y, 3.0: z}}[x], 1 + numpy.sum(numpy.diff(numpy.sort(v)) != 0) for len(set(v)), and "
    "f.__wrapped__(x) for a function f of functools.lru_cache",
    "as_integer_ratio": "x for a ratio of integers, as in numpy.mean(numpy.stack([x, y])) for "
    "statistics.mean([x, y])",
    "bool": "numpy.where(condition, a, b) or functier.cond(condition, f, g, x) for `if`, and "
    "functier.while_loop(condition, step, x) for `while`",
    "int": "numpy.trunc(x).astype(int) for int(x)",
    "__index__": "functier.tensor(numpy.stack(a))[x] for a[x], and "
    "functier.fori_loop(0, x, lambda i, y: ..., start) for range(x)",
}
"""Remedies by the conversion that was asked of the tensor, where no more is known."""

BY_EXPRESSION: dict[str, str] = {
    "a[i] = x": "{name} = functier.numpy.array({name}) right after {name} is made, inside the "
    "function, or make it by functier.numpy.zeros, .empty or .zeros_like: " + WRITING,
    "view[i] = x": "functier.numpy.array(a) for the array `a` that {name} shows a part of, right "
    "after `a` is made, inside the function, or make `a` by functier.numpy.zeros, .empty or "
    ".zeros_like: " + WRITING,
    "out=": "a = {name}(...) without out=, or make a inside the function, with "
    "functier.numpy.zeros or numpy.zeros_like(x)",
    "a += x": "{name} = {args}, or make {name} inside the function, with "
    "functier.numpy.zeros or numpy.zeros_like(x)",
    "a.fill": "{owner} = functier.numpy.array({owner}) right after {owner} is made, inside the "
    "function, or make it by functier.numpy.zeros, .empty or .zeros_like: " + WRITING,
    "a[x]": "functier.tensor({name})[x] for {name}[x]",
    "labels": "{array} for {name}, {label}",
    "labels method": "NumPy's functions of {array} for the methods of {name}, {label}",
    "labels written": "{name} = functier.numpy.array({array}) before it, for {label}: " + WRITING,
    "r_": "numpy.concatenate([x, y]), with numpy.atleast_1d(x) for a number x, for numpy.r_[x, y]",
    "c_": "numpy.column_stack([x, y]) for numpy.c_[x, y]",
    "mgrid": "numpy.meshgrid(x, y, indexing='ij') for {name}[...], of "
    "numpy.linspace(start, stop, n) or start + step * numpy.arange(n)",
    "list[x]": "functier.tensor(numpy.stack({name}))[x] for {name}[x]",
    "a[:x]": "numpy.where(numpy.arange(len(a)) < x, a, 0) for a[:x], which keeps all elements",
    "format": GENERAL["format"],
    "x in list": "numpy.any(numpy.equal(x, numpy.array(values))) for `x in values`",
    "cached function": "{name}.__wrapped__({args}) for {name}({args}), which has a cache",
    "a < x < b": "(a < x) & (x < b) for `a < x < b`, and numpy.where(condition, y, z) for a branch "
    "on it",
    "x and y": "numpy.logical_and, numpy.logical_or and numpy.logical_not for `and`, `or` and "
    "`not`, and numpy.where(condition, y, z) for a branch on them",
    "while": "functier.while_loop(lambda x: condition, lambda x: step, start) for `while`",
    "numpy.array of a list": "functier.numpy.array([x, y]) for {name}([x, y])",
    "numpy.array of lists": "functier.numpy.array([[x, y], [y, x]]) for {name}([[x, y], [y, x]])",
    "numpy of a list": "{name}(functier.numpy.array([x, y])) for {name}([x, y])",
    "numpy of lists": "{name}(functier.numpy.array([[x, y], [y, x]])) for {name}([[x, y], [y, x]])",
    "operator and a list": "a @ functier.numpy.array([x, y]) for a @ [x, y], and likewise for "
    "operators other than @",
    "numpy of lists and others": "{name}({arrays}) for {name}({args})",
    "numpy function": "{name}(functier.tensor(a), x) for {name}(a, x)",
    "initial=": "numpy.sum(a) + x for numpy.sum(a, initial=x), numpy.prod(a) * x for numpy.prod, "
    "and numpy.maximum(numpy.max(a), x) for numpy.max",
    "length": "an int n that is the same for all examples for the length x, and "
    "numpy.where(numpy.arange(n) < x, a, 0) for the part of `a` that an example has",
    "method": "functier.tensor({owner}).{last}({args}) for {name}({args})",
    "a.astype": "functier.numpy.asarray({owner}, dtype={args}) for {name}({args}), as it holds "
    "objects",
    "math": "numpy.{last}({args}) for {name}({args})",
    "cmath": "numpy.{last}(x + 0j) for {name}(x)",
    "scalar type": "functier.numpy.asarray(x, {name}) for {name}(x)",
    "numpy.random": "functier.random.default_rng(seed).{last}(x) for {name}(x), with "
    "randomness='different' or 'same' under vmap",
    "numpy.ma": "numpy.where(a.mask, fill, a.data) for a masked array `a`",
    "output": "`return x` in the function, and hand the result of the transform to {name}",
    "library": "NumPy's own functions for what {name} computes, "
    "g = functier.finite_difference(lambda x: {name}(...)) and g(x), whose derivatives are "
    "finite differences, or g = functier.custom_vjp(lambda x: {name}(...)) and g(x), "
    "with your own derivative, by g.defvjp(forward, backward)",
    "library of a batch": "g = functier.sequential_vmap(lambda x: {name}(...)) and g(x) for "
    "{name}(...), which is applied to one example after the other",
}
"""Remedies by the kind of expression that the user wrote."""

CALLS: dict[str, str] = {
    "float": "(x * 1.0) for float(x)",
    "complex": "x + 0j for complex(x)",
    "int": "numpy.trunc(x).astype(int) for int(x)",
    "range": "functier.fori_loop(0, x, lambda i, y: ..., start) for a loop over range(x)",
    "max": "numpy.maximum(x, y) for max(x, y), and numpy.max(x) for max(x)",
    "min": "numpy.minimum(x, y) for min(x, y), and numpy.min(x) for min(x)",
    "sorted": "numpy.sort(numpy.stack([x, y])) for sorted([x, y])",
    "any": "numpy.any(numpy.stack([x, y])) for any([x, y])",
    "all": "numpy.all(numpy.stack([x, y])) for all([x, y])",
    "numpy.array": "functier.{name}(x) for {name}(x), and numpy.stack([x, y]) for {name}([x, y])",
    "numpy.full": "numpy.zeros(shape) + x for numpy.full(shape, x)",
    "numpy.arange": "start + step * numpy.arange(n) for numpy.arange(start, stop, step), with an "
    "int n that is not a tensor",
    "numpy.fromiter": "numpy.stack(list(values)) for numpy.fromiter(values, dtype)",
    "numpy.vectorize": "functier.vmap(f)(x) for numpy.vectorize(f)(x), or f(x) where x is a number",
    "numpy.nditer": "numpy.ndindex(x.shape) for numpy.nditer(x), and x[index] in the loop",
    "numpy.ndenumerate": "numpy.ndindex(x.shape) for numpy.ndenumerate(x), and x[index] in the "
    "loop",
    "numpy.broadcast": "numpy.broadcast_shapes(x.shape, y.shape) for numpy.broadcast(x, y).shape, "
    "or numpy.broadcast_arrays(x, y)",
    "numpy.fill_diagonal": "numpy.fill_diagonal(a, x) for an array that was made inside the "
    "function, by functier.numpy.array(a), .zeros or .empty: " + WRITING,
    "numpy.lib.stride_tricks.as_strided": "numpy.lib.stride_tricks.sliding_window_view(x, n), or "
    "x[index] with an array of the indices",
    "statistics.mean": "numpy.mean(numpy.stack([x, y])) for {name}([x, y])",
    "statistics.median": "numpy.median(numpy.stack([x, y])) for {name}([x, y])",
    "statistics.stdev": "numpy.std(numpy.stack([x, y]), ddof=1) for {name}([x, y])",
    "statistics.pstdev": "numpy.std(numpy.stack([x, y])) for {name}([x, y])",
    "statistics.variance": "numpy.var(numpy.stack([x, y]), ddof=1) for {name}([x, y])",
    "statistics.pvariance": "numpy.var(numpy.stack([x, y])) for {name}([x, y])",
    "math.fsum": "numpy.sum(numpy.stack([x, y])) for math.fsum([x, y])",
    "math.dist": "numpy.linalg.norm(p - q) for math.dist(p, q)",
    "math.isclose": "numpy.isclose(x, y, rtol=1e-9, atol=0) for math.isclose(x, y)",
    "math.remainder": "x - y * numpy.round(x / y) for math.remainder(x, y)",
    "math.log": "numpy.log(x) for math.log(x), and numpy.log(x) / numpy.log(b) for math.log(x, b)",
    "math.erf": "scipy.special.erf(x) for math.erf(x)",
    "math.erfc": "scipy.special.erfc(x) for math.erfc(x)",
    "math.gamma": "scipy.special.gamma(x) for math.gamma(x)",
    "math.lgamma": "scipy.special.gammaln(x) for math.lgamma(x)",
    "math.factorial": "scipy.special.gamma(n + 1) for math.factorial(n)",
    "math.comb": "scipy.special.binom(n, k) for math.comb(n, k)",
    "math.perm": "scipy.special.poch(n - k + 1, k) for math.perm(n, k)",
    "math.isqrt": "numpy.floor(numpy.sqrt(n)).astype(int) for math.isqrt(n)",
    "math.ulp": "numpy.spacing(x) for math.ulp(x)",
    "cmath.phase": "numpy.angle(x) for cmath.phase(x)",
}
"""Remedies by the name of the function that the user called."""

ADOPTION = 'functier.adopt("{name}") before the transform: its code then takes tensors'
"""The remedy for a library whose module has plain NumPy code alone."""

TWIN_OF_SCIPY = "functier.{name} for {name}"
"""The remedy for a function of SciPy that has a rule."""

OF_LIBRARY = frozenset({BY_EXPRESSION["library"], BY_EXPRESSION["library of a batch"]})
"""Remedies that an adoption makes unnecessary."""

OF_LISTS = tuple([
    BY_EXPRESSION[key] for key in ("numpy of a list", "numpy of lists", "numpy of lists and others")
])  # fmt: skip

WITH_TWIN = frozenset({
    *[BY_EXPRESSION[key] for key in (
        "numpy.array of a list", "numpy.array of lists", "r_", "c_", "mgrid", "numpy function",
    )],
    *OF_LISTS,
    *[CALLS[f"numpy.{name}"] for name in (
        "array", "full", "fromiter", "vectorize", "nditer", "ndenumerate", "broadcast",
    )],
})  # fmt: skip
"""Remedies of calls whose twin in `functier.numpy` takes the tensor as it is."""

WITHOUT_TWIN = frozenset({"numpy.lexsort", "numpy.min_scalar_type", "numpy.linalg.matrix_rank"})
"""Functions that no twin makes right for tensors in a list; nor does it ufuncs."""

WITH_ADOPTED = frozenset({
    BY_EXPRESSION["math"],
    *[CALLS[name] for name in ("float", "int", "complex", "max", "min", "sorted")],
    *[CALLS[f"math.{name}"] for name in (
        "log", "fsum", "dist", "isclose", "remainder", "erf", "erfc", "gamma", "lgamma", "ulp",
    )],
})  # fmt: skip
"""Remedies of calls that `functier.adopt` gives twins to in another module."""

WITH_ARRAY = frozenset({
    *[BY_EXPRESSION[key] for key in (
        "a[i] = x", "view[i] = x", "a.fill", "a += x", "a[x]", "method",
    )],
    CALLS["numpy.fill_diagonal"],
})  # fmt: skip
"""Remedies for uses of a plain array that its maker's twin in `functier.numpy` makes right."""

FIRST = frozenset({CALLS["numpy.fill_diagonal"]})
"""Those of `WITH_ARRAY` whose array is the first argument."""

MAKERS = frozenset(
    f"numpy.{name}" for name in (
        "array", "asarray", "zeros", "ones", "empty", "full", "eye", "identity", "arange", "tri",
        "linspace", "zeros_like", "ones_like", "empty_like", "full_like", "copy",
    )
)  # fmt: skip
"""Functions whose twin makes an array that tensors can be written to, and can index."""

SAME: dict[str, str] = {
    "numpy.asarray": "numpy.array",
    "numpy.asanyarray": "numpy.array",
    "numpy.ascontiguousarray": "numpy.array",
    "numpy.asfortranarray": "numpy.array",
    "numpy.matrix": "numpy.array",
    "statistics.fmean": "statistics.mean",
}
"""Functions whose remedy is another one's."""

SHOWING = frozenset({
    "matplotlib", "pandas", "seaborn", "plotly", "json", "pickle", "csv", "struct", "logging",
    "array", "decimal", "fractions", "xarray",
})  # fmt: skip
"""Libraries that show, store or convert values, and are not differentiated through."""


def of_items(x: object) -> str:
    """Return the key of `BY_EXPRESSION` for a write to items of a plain array."""
    return "a[i] = x" if getattr(x, "base", None) is None else "view[i] = x"


def lists_in(*nodes: ast.AST | None) -> str:
    """Return the words of a key of `BY_EXPRESSION` for what is given: a list, or lists in one."""
    kinds = ast.List, ast.Tuple
    parts = [part for node in nodes if isinstance(node, kinds) for part in node.elts]
    return "lists" if any(isinstance(part, kinds) for part in parts) else "a list"
