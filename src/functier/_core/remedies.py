"""Remedies for calls that would take a tensor out of its level: texts, and the import to change.

NOTE [a remedy is followed literally]
    Each text completes "write ...", and is right for whoever does just that, under every
    transform that it is said for. None proposes the value under the level: a derivative, or
    the rest of a batch, would be lost. tests/levels/test_mistakes.py has a program for each entry.

In the braces stand the name of what was called, and its last part.

The imports of a module: the line to change in it, and the names of what it has.
That is the import of a name, in code that was written for plain NumPy. Only errors ask for it.
"""

import ast
import os
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._cpython.code import names_of
from .._cpython.frames import (
    Frame,
    code_at,
    file_at,
    globals_at,
    has_variable,
    line_at,
    module_at,
    qualified_name_at,
    variables_at,
)  # fmt: skip
from .._cpython.sources import (
    Import,
    find_import,
    is_extension,
    node_at,
    shows_place,
    tree_of,
)  # fmt: skip
from .hooks import PACKAGE, is_copied, scipy_twin
from .table import OPS, load

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
    "fields": "a dict of arrays, {{'u': functier.numpy.zeros(n), 'v': functier.numpy.zeros(n)}}, "
    "for the structured array {name}, or that {name} shows a field of: " + WRITING,
    "out=": "a = {name}(...) without out=, or make a inside the function, with "
    "functier.numpy.zeros or numpy.zeros_like(x)",
    "a += x": "{name} = {args}, or make {name} inside the function, with "
    "functier.numpy.zeros or numpy.zeros_like(x)",
    "a.fill": "{owner} = functier.numpy.array({owner}) right after {owner} is made, inside the "
    "function, or make it by functier.numpy.zeros, .empty or .zeros_like: " + WRITING,
    "a[x]": "functier.tensor({name})[x] for {name}[x]",
    "a[:, x] of booleans": "numpy.sum({name}, axis=axis, where=mask) for a sum of {name}[:, mask] "
    "along an axis, and numpy.where(mask, {name}, 0) to keep all elements",
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
    "output": "functier.stop_gradient(x) for x in {name}(...), or `return x` in the function, and "
    "hand the result of the transform to {name}",
    "output of a batch": "`return x` in the function, and hand the result of the transform to "
    "{name}",
    "library": "NumPy's own functions for what {name} computes, "
    "g = functier.finite_difference(lambda x: {name}(...)) and g(x), whose derivatives are "
    "finite differences, or g = functier.custom_vjp(lambda x: {name}(...)) and g(x), "
    "with your own derivative, by g.defvjp(forward, backward)",
    "library of a batch": "g = functier.sequential_vmap(lambda x: {name}(...)) and g(x) for "
    "{name}(...), which is applied to one example after the other",
}
"""Remedies by the kind of expression that the user wrote."""

OF_FLOATS = {
    False: "{name}[int(x)] for {name}[x], as an index is an int",
    True: "functier.tensor({name})[numpy.trunc(x).astype(int)] for {name}[x], as an index is an "
    "int",
}
"""The remedy for an index that has to be an integer, in plain NumPy, too."""

METHODS = {"fill": "a.fill", "astype": "a.astype", "put": "a[i] = x", "__setitem__": "a[i] = x"}
"""Methods of arrays that have a remedy for themselves, and its key."""

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
    "numpy.rec.fromarrays": "a dict of arrays, {{'u': x, 'v': y}}, for {name}([x, y], names='u,v')",
    "numpy.rec.fromrecords": "a dict of arrays, {{'u': numpy.stack([x, y])}}, for "
    "{name}([(x,), (y,)], names='u')",
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

OF_STORED = {
    **dict.fromkeys(
        ("float", "item"),
        ", or float(functier.stop_gradient(x)) for a number to print or to store",
    ),
    "tolist": ", or functier.stop_gradient(x).tolist() for numbers to print or to store",
    "pickle.dumps": ", or functier.stop_gradient(x) to pickle its value",
    "numpy.asarray": ", or functier.stop_gradient(x) for an array to plot or to store",
}
"""The ends of the remedies for what has a derivative alone, by the conversion."""
OF_SHOWN = {"float": ", or functier.debug.show(x) to print x"}
"""The ends of the remedies where no plain number is to be had, as in a program."""
OF_BATCH = {
    "float": OF_SHOWN["float"] + ", or, for a function f that takes numbers alone, "
    "functier.sequential_vmap(f)(x), or f.def_vmap(rule) where f is a functier.custom_vjp",
}
"""The ends of the remedies for what is of a batch."""

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
    "numpy.fromarrays": "numpy.rec.fromarrays",
    "numpy.fromrecords": "numpy.rec.fromrecords",
}
"""Functions whose remedy is another one's."""

SHOWING = frozenset({
    "matplotlib", "pandas", "seaborn", "plotly", "json", "pickle", "csv", "struct", "logging",
    "array", "decimal", "fractions", "xarray",
})  # fmt: skip
"""Libraries that show, store or convert values, and are not differentiated through."""


def of_items(x: object) -> str:
    """Return the key of `BY_EXPRESSION` for a write to items of a plain array."""
    base = getattr(x, "base", None)
    if any([getattr(getattr(a, "dtype", None), "names", None) for a in (x, base)]):
        return "fields"
    return "a[i] = x" if base is None else "view[i] = x"


def of_index(index: ast.expr, kind: str, batch: bool) -> str:
    """Return the remedy for a plain array with an index of a kind of dtype."""
    if kind == "f":
        return OF_FLOATS[batch]
    masks = kind == "b" and isinstance(index, ast.Tuple)
    return BY_EXPRESSION["a[:, x] of booleans" if masks else "a[x]"]


def lists_in(*nodes: ast.AST | None) -> str:
    """Return the words of a key of `BY_EXPRESSION` for what is given: a list, or lists in one."""
    kinds = ast.List, ast.Tuple
    parts = [part for node in nodes if isinstance(node, kinds) for part in node.elts]
    return "lists" if any(isinstance(part, kinds) for part in parts) else "a list"


HERE = "functier.numpy"


def line_to_change(frame: Frame, name: str) -> str | None:
    """Return what to write for the import of `name`, by which a frame's code has NumPy.

    None where the name is not NumPy's, or where nothing tells how the module has it.
    """
    node = import_of(frame, name)
    if node is None:
        known = globals_at(frame).get(name)  # of a session: another cell has imported it
        bound = has_variable(frame, name) or known is not np
        return None if bound else f'"import {HERE} as {name}" for "import numpy as {name}"'
    old, new = rewrite(node, name)
    if new is None:
        return None
    file = os.path.basename(file_at(frame))
    return f'"{new}" for "{old}" in line {node.lineno} of {file}'


def rewrite(node: Import, name: str) -> tuple[str, str | None]:
    """Return a part of an import statement, and what to write for it to have the twins, or None."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level or not _is_numpy(module):
            return "", None
        return f"from {module} import", f"from {HERE}{module[5:]} import"
    for part in node.names:
        if name == (part.asname or part.name.partition(".")[0]) and _is_numpy(part.name):
            old = part.name + (f" as {part.asname}" if part.asname else "")
            inner = part.name if part.asname else "numpy"
            first = node.names[0] is part
            new = f"{HERE}{inner[5:]} as {name}"
            return (f"import {old}", f"import {new}") if first else (old, new)
    return "", None


def _is_numpy(module: str) -> bool:
    return module.partition(".")[0] == "numpy"


def import_of(frame: Frame, name: str) -> Import | None:
    """Return the statement that binds `name` for the line of a frame, if that is an import."""
    tree = tree_of(frame)
    return None if tree is None else find_import(tree, name, line_at(frame), _has_name)


def _has_name(name: str) -> bool:
    """Return whether NumPy has a name, so that a star may bring it."""
    return hasattr(np, name)


def is_numpys(value: Any) -> bool:
    """Return whether an object is NumPy, a module of it, or what such a module has."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return _is_numpy(name or "") or isinstance(value, np.ufunc)


def is_compiled(function: Any) -> bool:
    """Return whether an object that is called is compiled code of a library other than NumPy."""
    if isinstance(function, (FunctionType, type, np.ufunc)) or not callable(function):
        return False
    known = type(function).__name__ == "fortran" or is_of_ctypes(function)
    return known or is_extension(module_of(function))


def is_of_ctypes(function: Any) -> bool:
    return any([kind.__name__ == "CFuncPtr" for kind in type(function).__mro__])


def module_of(x: Any) -> str:
    """Return the module of a function, or that of the class which a method belongs to."""
    return getattr(getattr(x, "__objclass__", None) or x, "__module__", None) or ""


def is_plain_python(names: dict[str, Any]) -> bool:
    """Return whether a module, by its global names, has no compiled code of a library but NumPy."""
    for value in names.values():
        if isinstance(value, ModuleType):
            if is_extension(value.__name__):
                return False
        elif is_compiled(value) or (isinstance(value, type) and is_extension(module_of(value))):
            return False
    return True


# ---- names ----


def reason_in(text: str) -> str:
    """Return what the reason of an unsupported function says to write, or the reason."""
    return text.partition("write ")[2] or text


def public_name(frames: list[Frame]) -> str:
    """Return the public name of the outermost of some functions."""
    found = ""
    for frame in frames:
        module = module_at(frame).split(".")
        parts = [part for part in qualified_name_at(frame).split(".") if part[:1] != "_"]
        if parts and "<locals>" not in parts:
            return without_private([*module, *parts])
        found = found or without_private([*module, ""]).rstrip(".")
    return found


def without_private(parts: list[str]) -> str:
    """Return ``scipy.linalg.solve`` for ``scipy.linalg._basic.solve``."""
    module = parts[:-1]
    for i, part in enumerate(module):
        if part.startswith("_"):
            module = module[:i]
            break
    if module[:1] == ["numpy"] and hasattr(np, parts[-1]):
        module = ["numpy"]
    return ".".join([*module, parts[-1]])


# ---- SciPy's names ----


def twin_name(name: str) -> str:
    """Return the name in SciPy for which `functier.scipy` has what takes tensors, or "".

    `name` is that of the function that was called. A method of a frozen distribution stands for
    its module, where the distribution is made, and another method for its class.
    """
    library, *parts = name.split(".")
    if library != "scipy" or len(parts) < 2:
        return ""
    module = parts.pop(0)
    while len(parts) > 1 and f"scipy.{module}.{parts[0]}" in sys.modules:
        module = f"{module}.{parts.pop(0)}"
    load(f"scipy.{module}")
    owner = sys.modules.get(f"scipy.{module}")
    found = getattr(owner, parts[0], None)
    if found is None:
        return "scipy.stats" if module == "stats" and owner and parts[0][0] != "_" else ""
    if any([base.__name__ == "rv_generic" for base in type(found).__mro__]):
        has_twin = scipy_twin(found, f"{module}.{parts[0]}") is not found
        return name if parts[1:] and has_twin else ""
    if isinstance(found, ModuleType) or found in OPS:
        return name if found in OPS and not parts[1:] else ""
    here = f"{PACKAGE}.scipy"
    twin = scipy_twin(found, f"{module}.{parts[0]}")
    if twin is found or (
        getattr(twin, "__module__", here) == here  # it may have SciPy's code alone
        and not isinstance(found, type)
        and not is_copied(found)
    ):
        return ""
    return f"scipy.{module}.{parts[0]}"


def calls_shuffle(frame: Frame) -> bool:
    """Tell if `frame` is at a call of a function or method that is named ``shuffle``, or may be."""
    if not shows_place(frame):
        return frame is None or "shuffle" in names_of(code_at(frame))
    try:
        node = node_at(frame)
    except Exception:  # where the source is not there
        return False
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Name):
        for names in (variables_at(frame), globals_at(frame)):
            if func.id in names:
                return getattr(names[func.id], "__name__", "") == "shuffle"
    return isinstance(func, ast.Attribute) and func.attr == "shuffle"
