"""Which tests run, and in which order: a quick run takes a few, and ``--slow`` takes all."""

import itertools
import random

import pytest

import samples


def families():
    """Return the families of samples; a quick run takes NumPy's."""
    return [pytest.param(f, marks=_slow(samples.is_of_scipy(f))) for f in samples.families()]


def in_turn(cases, *ways):
    """Return each case with each way; a quick run takes one combination a case, in turn."""
    combinations = list(itertools.product(*ways))
    return [
        pytest.param(
            *given.values, *chosen, marks=[*given.marks, *_slow(j != i % len(combinations))]
        )
        for i, given in enumerate(map(_param, cases))
        for j, chosen in enumerate(combinations)
    ]


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
