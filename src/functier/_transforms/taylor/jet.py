"""Taylor series of functions: jet and taylor."""
import math
from collections.abc import Callable
from typing import Any
import numpy as np

from ..._core.keywords import checks_keywords
from ..._core.pytree import check_callable, flatten, name_of_function, paths, unflatten
from ..._core.tracebacks import leave
from ..._levels.checks import arrays_of, check_inputs, match
from ..._levels.memory import own_memory
from ...protocol import run
from .level import Series, SeriesLevel, zero


def jet(func, primals, series, *, factorial_scaled=True):
    label = f"jet({name_of_function(func)})"
    leaves, structure = flatten(primals)
    orders = [len(s) for s in series]
    order = orders[0]
    rows = []
    for k in range(1, order + 1):
        own, _ = flatten(tuple(s[k - 1] for s in series))
        own = match(label, leaves, structure, tuple(s[k - 1] for s in series), "coefficient", "primals")
        rows.append([c / math.factorial(k) if factorial_scaled else c for c in own])

    def body(level):
        level.order = order
        made = [level.cls.join(level.lower(x), Series(None, [level.lower(r[i]) for r in rows])) for i, x in enumerate(leaves)]
        out = func(*unflatten(structure, made))
        outputs, tree = arrays_of(level, out)
        return [[level.coefficient(y, k) for k in range(order + 1)] for y in outputs], tree

    found, tree = run(SeriesLevel, label, [*leaves, *[c for r in rows for c in r]], body)
    values = [row[0] for row in found]
    terms = [[zero(row[0]) if c is None else c * math.factorial(k) if factorial_scaled else c for k, c in enumerate(row) if k] for row in found]
    return unflatten(tree, values), unflatten(tree, terms)
