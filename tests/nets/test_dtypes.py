"""Values and result dtypes are NumPy's, for all dtypes of numbers and Python's own numbers.

Every operand of every row of the sample table is turned into every dtype, and so are those of
ufuncs, their methods and the operators. NumPy decides what a call accepts, and what it gives:
under vmap the loop over the examples, under jvp and vjp the call itself.
"""

import itertools
import operator
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samples
from checks import examples, leaves_of
from nets._recast import (
    KINDS,
    STRONG,
    WEAK,
    kind_of,
    recast,
    under_derivatives,
    under_vmap,
)
from samples._batch import choices, free

REASONS: dict[str, str] = {
    "DataDependentError.*the number of leading zeros differs": "the length of the result does",
    "DataDependentError.*the shape of the result of": "a mask as an index: the length differs",
}

LEFT_OUT: dict[str, str] = {
    r"quantile\.nanmedian.* wide": "NumPy's adds the two in the middle in their own dtype",
    r"lstsq\.lstsqresiduals": "a matrix whose rank depends on the precision",
    r"sorting\.partition": "the order of what is not sorted depends on the precision",
    r"ufunc_methods\.obl_ang1": "SciPy's own function does not return in single precision",
}


ROWS = samples.named()


def integer(kind: str) -> bool:
    return kind in STRONG and STRONG[kind].kind in "iu"


# ---- the sample rows ----


def row_cases() -> list[tuple]:
    """(row, positions, kind, wide): what is turned into what."""
    found = []
    for name, row in ROWS.items():
        numbers = [i for i, x in enumerate(row.leaves) if x.dtype.kind in "biufc"]
        data = tuple(i for i in numbers if row.leaves[i].dtype.kind in "fc")
        places = [(i,) for i in numbers] + ([data] if len(data) > 1 else [])
        for where, kind in itertools.product(places, KINDS):
            if kind in WEAK and any(not row.leaves[i].size for i in where):
                continue
            found.append((name, where, kind, False))
            if integer(kind) and set(where) <= set(data):
                found.append((name, where, kind, True))
    return [c for c in found if not any(re.match(pattern, shown(c)) for pattern in LEFT_OUT)]


def shown(case: tuple) -> str:
    name, where, kind, wide = case
    return f"{name}: {','.join(map(str, where))} as {kind}{' wide' * wide}"


def judge_row(counts: Any, case: tuple, draw: random.Random, full: bool) -> None:
    name, where, kind, wide = case
    row = ROWS[name]
    one: list = list(row.leaves)
    for i in where:
        one[i] = recast(one[i], kind, wide)
    f = leaves_of(row)
    lenient = kind in WEAK and any(row.leaves[i].ndim for i in where)
    if row.vmap:
        dims = [d for d in plans(row, one) if any(v == 0 for v in d)]
        for d in dims if full else dims[:1] + draw.sample(dims[1:], min(1, len(dims[1:]))):
            many = [examples(row, i, 3) if v == 0 else None for i, v in enumerate(d)]
            for i in where:
                many[i] = None if many[i] is None else recast(many[i], kind, wide)
            own = [x if m is None or i not in where else m[0] for i, (x, m) in enumerate(zip(one, many))]
            under_vmap(counts, shown(case), f, own, many, d, row.loop, lenient)
    inexact = tuple(
        i for i, x in enumerate(one) if kind_of(x) in "fc" and row.leaves[i].dtype.kind in "fc"
    )
    wanted = tuple(i for i in row.differentiated() if i in inexact)
    if wanted and row.order:
        places = [wanted, *((i,) for i in wanted)] if len(wanted) > 1 else [wanted]
        for at in places if full else [draw.choice(places)]:
            under_derivatives(counts, shown(case), f, one, at, not wide, lenient)


def plans(row: Any, one: list) -> list[tuple]:
    """Which operands are batched: of those that may vary and are arrays, any."""
    able = [i for i in free(row) if isinstance(one[i], np.ndarray)]
    found = []
    for choice in choices(len(able), (0,)) if able else []:
        dims: list = [None] * len(one)
        for i, d in zip(able, choice):
            dims[i] = d
        found.append(tuple(dims))
    return found
