"""The net of shared memory: a write to a result shows where NumPy's shares it, and nowhere else.

A case is a call with a layout, a mode and a write; see `nets.sharing`. All functions, methods and
attributes are called, or have a reason.
"""

import fnmatch
import re
from collections import Counter

import numpy as np
import pytest

import functier.numpy as fnp
from faults.planted import nets as faulty
from nets.sharing.calls import GROUPS, NEVER
from nets.sharing.cases import CALLS, LAYOUTS, WRITES, Program, parts_of
from nets.sharing.modes import MODES
from nets.sharing.net import Net, cases
from nets.sharing.reasons import NO_MEANING, REASONS
from nets.verdicts import Verdicts
from support.surface import surface

pytestmark = pytest.mark.usefixtures("quiet")

PARTS = {
    "": fnp, "linalg.": fnp.linalg, "fft.": fnp.fft, "lib.scimath.": np.lib.scimath,
    "lib.stride_tricks.": np.lib.stride_tricks,
}  # fmt: skip


@pytest.fixture(scope="module")
def net():
    made = Net()
    yield made
    made.adoption.undo()


def test_results_share_what_numpy_s_share(net, verdicts, full):
    counts = {mode: verdicts(f"shared memory, {mode}", REASONS) for mode in MODES}
    for turn, program in cases(full):
        plain = net.plain(program)
        if plain is not None:
            net.judge(counts[turn[0]], turn, plain)
    wrong = [line for each in counts.values() for line in each.wrong]
    assert not wrong, "\n".join([f"{len(wrong)} cases are wrong", *wrong[:20]])
    total = sum(each.total for each in counts.values())
    refused = sum((each.refused for each in counts.values()), Counter())
    apart = sum(refused[reason] for reason in NO_MEANING)
    assert refused.total() - apart <= 0.04 * total, (total, apart, refused)


# ---- what is called ----


def named(path):
    owner = np
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def names():
    """The functions of NumPy and of `functier.numpy`, and the attributes of arrays."""
    found = {name.removeprefix("numpy.") for name in surface()}
    for path, part in PARTS.items():
        found |= {path + n for n in dir(part) if n[0] != "_" and callable(getattr(part, n))}
    numbers = {n for n in found if isinstance(f := named(n), type) and issubclass(f, np.generic)}
    return (found - numbers) | {"." + name for name in dir(np.ndarray)}


def unknown(of):
    """The names that are in no text, also not by another name, and that have no reason."""
    called = {
        name
        for text in CALLS
        for name in [
            *re.findall(r"\bnp\.((?:[a-z_]+\.)*\w+)", text),
            *re.findall(r"\ba(?:\.T)?(\.\w+)", text),
        ]
    }  # fmt: skip
    called |= {name.rpartition(".")[0] for name in called}
    functions = [f for f in map(named, called) if f is not None]
    excused = [name for reason in NEVER.values() for name in reason.split()]
    return [
        name
        for name in of
        if name not in called
        and (name[0] == "." or not any(named(name) is f for f in functions))
        and not any(fnmatch.fnmatchcase(name, pattern) for pattern in excused)
    ]


def test_every_name_is_called_or_has_a_reason():
    assert unknown(names()) == []
    assert unknown(["new_function", ".new_method"]) == ["new_function", ".new_method"]


def test_texts_are_in_the_group_of_what_numpy_shares(net):
    """A second witness: `numpy.shares_memory`, and a write to the source changes what shares."""
    for group, calls in GROUPS.items():
        for call in calls:
            found = set()
            for layout in sorted(LAYOUTS.keys() - {"scalar"}):  # of which NumPy makes new arrays
                program = Program(call, layout, "source")
                if net.plain(program) is None:
                    continue
                b, a, r = net.shared(program)
                if isinstance(r, np.ndarray) and r.size:
                    found.add(np.shares_memory(a, r))
                    before = r.copy()
                    parts_of(net.modules["np"], program)[2](b, r, 0.7)
                    assert np.shares_memory(b, r) == (r != before).any(), program
            wanted = {"view": [{True}], "either": [{True, False}]}.get(group, [{False}, set()])
            assert found in wanted, (call, found)


# ---- planted faults ----


@pytest.mark.parametrize("name", faulty.PLANTED)
def test_a_planted_fault_is_found(name, net, monkeypatch):
    plant, call, layout, mode = faulty.PLANTED[name]

    def wrong():
        counts = Verdicts("planted", REASONS)
        for write in WRITES:
            net.judge(counts, (mode, "np"), net.plain(Program(call, layout, write)))
        return counts.wrong

    assert not wrong()
    plant(monkeypatch)
    assert wrong()
