"""The contents of drawn programs: the share of each feature, compared with a table."""

import pytest

from strategies.branches import branching
from strategies.given_loops import giving
from strategies.loops import looping
from strategies.nets import contents
from strategies.writes import INDICES, VIEWS, WRITES, writing

SHARES = {
    branching: """assign 90, write_mask 50, write 50, if 60, while 30, for 40, try 40,
        early_return 25, nested blocks 100""",
    writing: """create 35, look 50, read 50, alias 40, forget 30, write 70,
        dtype: f 80, view: computed 6, view: real 2, write: setitem 10, write: op= 10""",
    looping: """loop 90, update 90, rotate 12, swap 8, time 15, quiet 25, transform 15, writes 15,
        guards 8, draws of rng 10, draws of own 6""",
    giving: """fori 45, scan 25, map 7, while 12, effects 25, lengths that are values 20, guards 4,
        rotate 15, transform 15, python 12""",
}
"""In which part of the programs there is a kind of statement, or what else counts, in percent."""


@pytest.mark.parametrize("strategy", SHARES)
def test_programs_have_what_the_table_says(strategy):
    found = contents(strategy())
    for row in SHARES[strategy].replace("\n", " ").split(","):
        feature, _, share = row.strip().rpartition(" ")
        assert 0.25 * float(share) <= found.get(feature, 0) <= 2 * float(share) + 5, feature


@pytest.mark.long
def test_each_kind_of_write_and_view_is_drawn():
    """Those that fit few arrays are rare, but there."""
    found = contents(writing(), 1500)
    wanted = [f"write: {kind}" for kind in WRITES] + [f"view: {kind}" for kind in VIEWS]
    wanted += [f"index: {kind}" for kind in INDICES]
    assert not {*wanted} - {*found}
