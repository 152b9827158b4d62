"""The net of programs with loops over a slice of a seed, and faults that it finds."""

import pytest

from nets.loops import net

pytestmark = pytest.mark.usefixtures("frozen_heap")


def test_drawn_programs(full, record_property):
    found = net(2026)
    for number in range(200 if full else 20):
        found.run(number)
    record_property("net", found.summary())
    found.settle()
