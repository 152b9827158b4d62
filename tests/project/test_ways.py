"""The ways of note 2: the sequences are those of the calls, and no way is longer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import ways

NOTE = Path(__file__).resolve().parents[2] / "design" / "0002-the-house.md"
TITLE = re.compile(r"(.+?):? +(\d+) calls in +(\d+) files$")
STEP = re.compile(r" +([\w/]+): (.+?)(?:  .*)?$")


def drawn():
    """The blocks of note 2 that are ways: the title, the numbers of calls and files, and steps."""
    text = NOTE.read_text(encoding="utf-8")
    for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        title, *lines = block.splitlines()
        if found := TITLE.match(title):
            steps = [step.groups() for line in lines if (step := STEP.match(line))]
            yield found[1], int(found[2]), int(found[3]), steps


def taken():
    """The same of the ways that the calls take; another process has not met other code."""
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
    for (title, most, homes, steps), (name, calls, files, found) in pairs:
        assert title.startswith(name)
        rest = iter(found)
        assert [step for step in steps if step not in rest] == [], title
        assert "solve" in title or (calls <= most and files <= homes)  # SciPy chooses its steps
