"""Each row of the table of what is silent is a wrong number today, and its remedy a right one."""

import numpy as np
import pytest

from support import silent

CASES = [(name, program) for name, programs in silent.PROGRAMS.items() for program in programs]


def test_each_row_has_a_program():
    cells = silent.rows()
    assert len(cells) == len(silent.PROGRAMS)
    for cell, name in zip(cells, silent.PROGRAMS):
        assert cell.startswith(name), cell


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, program", CASES, ids=[p.__name__ for _, p in CASES])
def test_a_row_is_silent_and_its_remedy_works(name, program):
    """A row goes once its number is right, or an error."""
    wrong, right, remedy = program()
    assert not np.allclose(wrong, right, rtol=1e-6, atol=1e-9), "the row may go"
    np.testing.assert_allclose(np.array(remedy, float), right, rtol=1e-6, atol=1e-9)
