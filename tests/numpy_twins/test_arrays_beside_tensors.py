"""An array that a function has made, as an operand beside a tensor: it counts as its values.

Every row of the sample table with several operands, each of which is an `Array` in turn.
"""

import numpy as np
import optree
import pytest

import functier as ft
import functier.numpy as fnp
from samples._row import is_array
from support.basics import silent
from support.rows import run_each
from support.turns import families


def cases(rows):
    """Rows of which one operand is differentiable and another is an array of numbers."""
    return {
        f"{name}:{i}": (row, i)
        for name, row in rows.items()
        if len(row.leaves) > 1
        for i, x in enumerate(row.leaves)
        if x.ndim and x.dtype.kind in "biufc" and set(row.differentiated()) - {i}
    }


def check(row, i):
    """The derivative by another operand is that with the plain array."""
    j = next(j for j in row.differentiated() if j != i)

    def call(x, kind):
        made = [kind(v) if k == i else x if k == j else v for k, v in enumerate(row.leaves)]
        given = iter(made)
        args, kwargs = optree.tree_map(
            lambda v: next(given) if is_array(v) else v, (row.args, row.kwargs)
        )
        return row.func(*args, **kwargs)

    x = row.leaves[j]
    with silent():
        wanted = ft.jvp(lambda x: call(x, np.array), (x,), (x,))
        found = ft.jvp(lambda x: call(x, fnp.array), (x,), (x,))
    for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(wanted), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", families())
def test_an_array_is_its_values(family, rows_of):
    run_each(cases(rows_of(family)), lambda case: check(*case))
