"""The kernel needs no outer room: its tests pass in a copy of the package that has none."""

import re

import pytest

from support.alone import run

SKIPPED = 600
"""The most tests of the kernel's folders that ask for an outer room, among some 9,000."""


@pytest.mark.slow
def test_the_tests_of_the_kernel_are_collected_without_the_outer_rooms():
    done = run("-p", "no:cacheprovider", "--collect-only")

    assert done.returncode == 0, done.stdout[-5000:]
    assert int(re.findall(r"(\d+)(?:/\d+)? tests collected", done.stdout)[-1]) > 8000


@pytest.mark.long
def test_the_tests_of_the_kernel_pass_without_the_outer_rooms():
    done = run("-p", "no:cacheprovider", "--tb=short", "-r", "fE")
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", done.stdout.split("\n")[-2])}

    assert done.returncode == 0, done.stdout[-5000:]
    assert counts["passed"] > 8000
    assert counts["skipped"] < SKIPPED


@pytest.mark.slow
def test_a_kernel_that_needs_an_outer_room_is_found():
    done = run("-k", "test_rfc", added="from . import optim\n")

    assert done.returncode
    assert "cannot import name 'optim'" in done.stdout
