"""The cases that the nets have of one row of the samples, for the check of one function."""

import functools
import random
from collections.abc import Callable, Iterator

from nets import test_aliasing as aliasing
from nets import test_both_modes as modes
from nets import test_dtypes as dtypes
from nets import test_forms as forms
from nets import test_results as results
from nets import test_sizes as sizes
from nets.verdicts import Verdicts
from samples._row import Row
from support import checks, row_cases
from support.basics import silent

Case = Callable[[Verdicts], None]


def of_table(judge: Callable, name: str, row: Row) -> Iterator[Case]:
    """The one case of a net that judges a table of rows."""

    def run(counts: Verdicts) -> None:
        with silent():
            judge(counts, {name: row})

    yield run


def of_traces(name: str, row: Row) -> Iterator[Case]:
    def run(counts: Verdicts) -> None:
        right, found = row_cases.run({name: row})
        counts.right += right["right"]
        counts.wrong += [f"{k}: {v}" for k, v in row_cases.unforeseen(found).items()]

    yield run


def of_forms(name: str, row: Row) -> Iterator[Case]:
    if checks.differentiable(row):
        for item in [(name, row), *forms.in_other_sizes(sizes.cases_of(name, row))]:
            yield lambda counts, item=item: forms.run(counts, [item])


def of_sizes(name: str, row: Row) -> Iterator[Case]:
    for case in sizes.cases_of(name, row):
        yield lambda counts, case=case: sizes.run(counts, [case])


def of_aliasing(name: str, row: Row) -> Iterator[Case]:
    for transform in aliasing.TRANSFORMS if name in aliasing.ROWS else ():
        yield lambda counts, transform=transform: aliasing.run(counts, [name], [transform])


def of_modes(name: str, row: Row) -> Iterator[Case]:
    if modes.is_judged(name):
        yield lambda counts: modes.run(counts, [name])


def of_dtypes(name: str, row: Row) -> Iterator[Case]:
    names = [n for n in (name, f"{name}, numbers as arrays") if n in dtypes.ROWS]
    for case in [case for n in names for case in dtypes.cases_of(n)]:
        yield functools.partial(of_dtype, case)
    if name in dtypes.gradient_cases():
        yield lambda counts: dtypes.judge_gradient(counts, name)


def of_dtype(case: tuple, counts: Verdicts) -> None:
    with silent():
        dtypes.judge_row(counts, case, random.Random(dtypes.shown(case)), False)


NETS: dict[str, tuple[dict[str, str], Callable[[str, Row], Iterator[Case]]]] = {
    "memory order": (results.NO_CASE, functools.partial(of_table, results.judge_orders)),
    "points": (results.NO_CASE, functools.partial(of_table, results.judge_points)),
    "traces": ({}, of_traces),
    "forms": (forms.REASONS, of_forms),
    "sizes": (sizes.REASONS, of_sizes),
    "aliasing": (aliasing.REASONS, of_aliasing),
    "both modes": (modes.REASONS, of_modes),
    "dtypes": (dtypes.REASONS, of_dtypes),
}
"""The refusals that each net foresees, and its cases of a row; the last ones take longest."""
