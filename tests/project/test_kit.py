"""The kit: the outer rooms take no private name of the kernel that is not listed.

``pytest -s tests/project/test_kit.py`` prints the names of each room.
"""

from pathlib import Path

import functier
from support import figures
from support.kit import NAMES

MOST = 95
"""The most names that the kit may have; it only goes down."""


def test_rooms_take_the_names_of_the_kit_and_no_others():
    taken = figures.kit_names(figures.Package(Path(functier.__file__).parent))
    for room, names in taken.items():
        print(f"{room}: {len(names)}", *sorted(n.removeprefix("functier.") for n in names))
    every = set().union(*taken.values())

    assert taken.keys() == figures.ROOMS
    assert not every - NAMES, "taken by a room, and not in tests/support/kit.py"
    assert not NAMES - every, "in tests/support/kit.py, and taken by no room"
    assert len(NAMES) <= MOST
