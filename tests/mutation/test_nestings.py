"""Programs that write, in the nestings of the transforms, beside NumPy and differences."""

import itertools

import pytest

from differences import check
from rows import run_each
from turns import few
from view_programs import INTO, THROUGH_VIEWS
from write_programs import AT_INDEXES, WRITES, X

TABLES = {"indexes": AT_INDEXES, "functions": WRITES, "views": THROUGH_VIEWS, "arrays": INTO}
FEW = {
    name: {**AT_INDEXES, **WRITES, **THROUGH_VIEWS, **INTO}[name]
    for name in (
        "y[step] = v", "y[repeats] = v", "y[int arrays] *= v", "y[column] += v", "y[mask] = v",
        "y += x", "recurrence", "shift by itself", "twice", "rows", "out is an operand",
        "add.at", "fill_diagonal", "sort", "sorted_places", "read_at_a_place",
        "through reversed of a result", "through a view of a view of zeros",
        "beside T of a result", "beside asarray of zeros", "filled the argument", "kept ufunc",
    )
}  # fmt: skip


def nestings(depth):
    """All nestings of three transforms, the outermost first."""
    return list(itertools.product(("vmap", "grad", "jvp"), repeat=depth))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("names", nestings(1), ids=" ".join)
def test_a_program_that_writes_under_a_transform(table, names):
    """The value, or its derivative, and the caller's array is unchanged."""
    run_each(TABLES[table], lambda f: check(names, f, X))


@pytest.mark.parametrize("table", ["functions", "arrays"])
@pytest.mark.parametrize("names", few(nestings(2), 4), ids=" ".join)
def test_a_program_that_writes_under_two_transforms(table, names):
    """Every pair of vmap, grad and jvp."""
    run_each(TABLES[table], lambda f: check(names, f, X))


@pytest.mark.slow
@pytest.mark.parametrize("table", ["indexes", "views"])
@pytest.mark.parametrize("names", nestings(2), ids=" ".join)
def test_a_program_with_an_index_or_a_view_under_two_transforms(table, names):
    """The same for the large tables."""
    run_each(TABLES[table], lambda f: check(names, f, X))


@pytest.mark.parametrize("names", nestings(2) + nestings(3), ids=" ".join)
def test_a_few_programs_that_write_under_three_transforms(names, request):
    """Every pair and every triple, of a program for each kind of write.

    A quick run takes the programs in turn: each under nine triples, each triple with a third.
    """
    turn, step = 0, 1
    if len(names) == 3 and not request.config.getoption("--slow"):
        turn, step = nestings(3).index(names) % 3, 3
    run_each(dict(list(FEW.items())[turn::step]), lambda f: check(names, f, X))
