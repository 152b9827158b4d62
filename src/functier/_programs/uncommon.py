"""Functions of whose calls a trace notes more than the calls, and those that are none of these."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.numpy_facts import UFUNC_OF
from .._core.sharing import sharing_of
from .._core.table import find
from ..protocol import Op
from .watching import TEXTS, VIEWING, is_known, is_public

SPELLED: dict[Any, Callable] = {ufunc: func for func, ufunc in UFUNC_OF.items()}

FACTS = {np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj}
"""Functions that ask for the form of a value, which is that of every run."""


FIRST, SECOND, ALL = slice(0, 1), slice(1, 2), slice(None)
LENGTHS: dict[Callable, slice] = {
    np.compress: FIRST, np.extract: FIRST, np.trim_zeros: FIRST, np.roots: FIRST,
    np.delete: SECOND, np.insert: SECOND, np.split: SECOND, np.array_split: SECOND,
    np.hsplit: SECOND, np.vsplit: SECOND, np.dsplit: SECOND, np.ix_: ALL, np.polymul: ALL,
    np.polydiv: ALL, np.union1d: ALL, np.intersect1d: ALL, np.setdiff1d: ALL, np.setxor1d: ALL,
}  # fmt: skip
"""The operands whose values tell how many elements a function has that is made of others."""

OTHERS = {*FACTS, *LENGTHS, *SPELLED, *TEXTS, *VIEWING, np.astype, np.nan_to_num}
"""Functions of whose arguments more has to be known."""


def common(func: Any) -> Op | None:
    """Return the record of a function that is noted as it is for numbers and arrays, or None."""
    return _common(func) if is_known(func) else None


@lru_cache(1024)
def _common(func: Callable) -> Op | None:
    op = find(func)
    if (
        op is None
        or op.by_value
        or op.family == "writing"
        or func in OTHERS
        or sharing_of(func) == "asked"
    ):
        return None
    if getattr(func, "body", None) is not None:
        return None
    return op if op.body is None or is_public(func) else None


@lru_cache(1)
def takes_numbers() -> frozenset[np.ufunc]:
    """Return NumPy's ufuncs of one or two operands, with one result."""
    ufuncs = {x for x in vars(np).values() if isinstance(x, np.ufunc)}
    return frozenset({x for x in ufuncs if x.nin < 3 and x.nout == 1 and common(x)} | {*SPELLED})
