"""Parameters of tests of which a quick run takes a few, and ``--slow`` takes all."""

import itertools

import pytest


def in_turn(cases, *ways):
    """Return each case with each way; a quick run takes one combination a case, in turn."""
    combinations = list(itertools.product(*ways))
    return [
        _of((case, *chosen), quick=j == i % len(combinations))
        for i, case in enumerate(cases)
        for j, chosen in enumerate(combinations)
    ]


def few(cases, step):
    """Return cases, of which a quick run takes the first of so many."""
    return [_of((case,), quick=i % step == 0) for i, case in enumerate(cases)]


def _of(values, quick):
    return pytest.param(*values, marks=[] if quick else pytest.mark.slow)
