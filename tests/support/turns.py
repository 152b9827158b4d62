"""Which tests run, and in which order: a quick run takes few, ``--slow`` many, ``--full`` all."""

import itertools
import random
import zlib

import pytest

import samples


def families():
    """Return the families of samples; a quick run takes NumPy's."""
    return [pytest.param(f, marks=_slow(samples.is_of_scipy(f))) for f in samples.families()]


def takes_turn(name, share):
    """Tell if a name is in the part of a table that a run with ``--slow`` takes.

    It is the same part each time, whatever else is in the table.
    """
    return zlib.crc32(name.encode()) % share == 0


HEAVY = "second", "vmap", "vmap_nested", "vmap_of_derivatives", "derivatives_of_vmap"
"""Checks of a row that make it run often."""


def in_part(rows, check, full):
    """Return the rows that a check takes: all that are chosen, and of others a fifth if heavy."""
    if full or check not in HEAVY:
        return rows
    chosen = samples.chosen()
    return {k: v for k, v in rows.items() if k in chosen or takes_turn(f"{k} {check}", 5)}


def in_turn(cases, *ways):
    """Return each case with each way; a quick run takes one combination a case, in turn."""
    combinations = list(itertools.product(*ways))
    return [
        pytest.param(*given.values, *chosen, marks=[*given.marks, *turn(i, j, len(combinations))])
        for i, given in enumerate(map(_param, cases))
        for j, chosen in enumerate(combinations)
    ]


def turn(i, j, count):
    """Return the marks of case `i` in way `j`, if a quick run takes one of the first `count`."""
    return _slow(j != i % count)


def few(cases, step):
    """Return cases, of which a quick run takes the first of so many."""
    return [pytest.param(case, marks=_slow(i % step > 0)) for i, case in enumerate(cases)]


def _param(case):
    return case if hasattr(case, "marks") else pytest.param(case)


def _slow(is_slow):
    return [pytest.mark.slow] if is_slow else []


def shuffle(items, seed):
    """Bring the modules, and the tests of each, into an order that is the same in all workers."""
    chance, modules = random.Random(seed), {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    groups = list(modules.values())
    for group in (groups, *modules.values()):
        chance.shuffle(group)
    items[:] = [item for group in groups for item in group]
