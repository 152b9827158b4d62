"""The ways of note 2: the sequences are those of the calls, and no way is longer."""

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import ways

NOTE = Path(__file__).resolve().parents[2] / "design" / "0002-the-house.md"
TITLE = re.compile(r"(.+?) +(\d+) calls in +(\d+) files$")
STEP = re.compile(r" +([\w/]+): (.+?)(?:  .*)?$")

MOST = {
    "a * b on vmap in grad": (10, 6), "vmap(grad(f))(x)": (103, 24),
    "x[1] = x[0] under vmap": (158, 24), "an adopted call of 4 operations": (88, 19),
}  # fmt: skip
"""The most calls and files of a way. `solve_ivp` has no number, as SciPy chooses its steps."""


def drawn():
    """The blocks of note 2 that are ways: the title, and the steps."""
    text = NOTE.read_text(encoding="utf-8")
    for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        title, *lines = block.splitlines()
        if steps := [step.groups() for line in lines if (step := STEP.match(line))]:
            yield title, steps


def taken():
    """The same of the ways that the calls take, and the numbers of calls and files.

    Another process has not met other code.
    """
    command = [sys.executable, ways.__file__, *ways.WAYS]
    text = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    for way in re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]:
        head, *lines = way.splitlines()
        title, calls, files = TITLE.match(head).groups()
        yield title, int(calls), int(files), [step_of(line) for line in lines]


def step_of(line):
    home, _, name = line.strip().partition(": ")
    fast = re.match(r"(.+)\.py \((.+)\)$", home)  # of a function that is made from a template
    return fast.groups() if fast else (home, name.rpartition("<locals>.")[2])


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="others call no comprehensions")
def test_the_ways_of_note_2_are_those_of_the_calls():
    pairs = zip(drawn(), taken(), strict=True)
    for (title, steps), (name, calls, files, found) in pairs:
        most, homes = MOST.get(name, (math.inf, math.inf))
        assert title.startswith(name)
        rest = iter(found)
        assert [step for step in steps if step not in rest] == [], title
        assert calls <= most and files <= homes, title
