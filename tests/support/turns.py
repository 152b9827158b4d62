"""Which tests run, and in which order: a quick run takes few, ``--slow`` many, ``--full`` all."""

import itertools
import random

import pytest

import samples


def families():
    """Return the families of samples; a quick run takes NumPy's."""
    return [pytest.param(f, marks=_slow(samples.is_of_scipy(f))) for f in samples.families()]


def in_turn(cases, *ways, share=1):
    """Return each case with each way; a quick run takes one combination a case, in turn.

    ``--slow`` takes one of so many others as `share` says, and ``--full`` takes all.
    """
    combinations = list(itertools.product(*ways))
    return [
        pytest.param(
            *given.values, *chosen, marks=[*given.marks, *turn(i, j, len(combinations), share)]
        )
        for i, given in enumerate(map(_param, cases))
        for j, chosen in enumerate(combinations)
    ]


def turn(i, j, count, share):
    """Return the marks of case `i` in way `j`, if a quick run takes one of the first `count`."""
    if j == i % count:
        return []
    return _slow(True) if (i + j) % share == 0 else [pytest.mark.long]


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
