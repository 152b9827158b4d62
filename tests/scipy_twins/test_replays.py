"""Replays of right-hand sides give what the function itself gives, or do not run."""

import warnings

import numpy as np
import pytest
import right_hand_sides as sides

import functier as ft
from functier._programs.reads import Reads
from functier.scipy import _replays
from support.basics import close, ours
from support.turns import turn

P, T = np.array([1.3, 0.4]), np.array([0.3, -0.7])
PS = np.stack([P, P + 0.1 * T])
WAYS = {
    "grad": lambda f: (f(P), ft.grad(f)(P)),
    "jvp": lambda f: ft.jvp(f, (P,), (T,)),
    "vmap": lambda f: (ft.vmap(f)(PS),),
    "vmap of grad": lambda f: (ft.vmap(ft.grad(f))(PS),),
    "grad of vmap": lambda f: (ft.grad(lambda q: np.sum(ft.vmap(f)(q)))(PS),),
    "hessian": lambda f: (ft.hessian(f)(P),),
}
PAIRS = [
    ("RK45", "grad"), ("LSODA", "jvp"), ("DOP853", "vmap of grad"), ("Radau", "grad"),
    ("BDF", "jvp"), ("RK23", "grad"), ("RK45", "vmap"), ("LSODA", "grad of vmap"),
    ("RK45", "hessian"),
]  # fmt: skip
PLAIN = "jvp", "vmap"
"""Ways whose first result is what SciPy's solution has, to the last bit."""


@pytest.fixture
def made(monkeypatch):
    """The programs that a test makes; it starts without any."""
    found = []

    def programs_of(*key):
        found.append(fresh(*key))
        return found[-1]

    fresh = _replays.functools.lru_cache(128)(_replays.Programs)
    monkeypatch.setattr(_replays, "programs_of", programs_of)
    return found


def outcome(side, method, way, first, warm, monkeypatch):
    """The results of a program or its error, and what it has done besides."""
    monkeypatch.setattr(_replays, "FIRST", first)
    monkeypatch.setattr(_replays, "WARM", warm)
    sides.SEEN.clear()
    sides.GAIN = 1.0
    np.random.seed(0)  # noqa: NPY002, another state than the draws of a side leave
    with warnings.catch_warnings(action="ignore"):
        try:
            return WAYS[way](lambda p: side(p, method)), [*sides.SEEN]
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:100], [*sides.SEEN]


def check(side, method, way, monkeypatch):
    own, seen = outcome(side, method, way, np.inf, np.inf, monkeypatch)
    for warm in (np.inf, np.inf, 60):  # programs are made, are there, and are machine code
        found, now = outcome(side, method, way, 2, warm, monkeypatch)
        assert now == seen
        if isinstance(own, str) or isinstance(found, str):
            assert found == own
            continue
        if way in PLAIN:
            assert np.array_equal(found[0], own[0])
        for x, y in zip(found, own):
            close(x, y, 1e-4)


def cases():
    """Each program under each pair; quick and slow runs take theirs in turn."""
    for i, side in enumerate(sides.SIDES):
        for j, pair in enumerate(PAIRS):
            if side is sides.events and pair[1] == "hessian":
                continue  # refused with an error of the inside, replayed or not
            yield pytest.param(side, *pair, marks=turn(i, j, 3, 4))


@pytest.mark.parametrize("side, method, way", [*cases()])
def test_replays_give_what_calls_give(side, method, way, made, monkeypatch):
    check(side, method, way, monkeypatch)
    if way in ("grad", "jvp") and side is not sides.compiled:
        tried = [programs for programs in made if any(p.count for p in programs.backends)]
        refused = [programs.refused for programs in tried]
        assert all(refused) if side in sides.REFUSED else tried and not all(refused)


# ---- planted faults ----


def always(self):
    return True


def _without_tangents(self, x, real=_replays.Replay._parts):
    value, tangents, more = real(self, x)
    return value, 0 * tangents, more


FAULTS = [
    (_replays.Held, "unchanged", always, sides.event_changes_cell),
    (_replays.Held, "unchanged", always, sides.event_changes_list),
    (Reads, "tells", lambda *a: None, sides.prints),
    (_replays.Replay, "_parts", _without_tangents, sides.closure),
]


@pytest.mark.parametrize("place, name, wrong, side", FAULTS)
def test_faults_of_replays_are_found(place, name, wrong, side, made, monkeypatch):
    monkeypatch.setattr(place, name, ours(wrong))
    if name == "_parts":
        check(side, "RK45", "jvp", monkeypatch)  # each new program is compared with the function
        assert made[-1].refused
        made.clear()
        monkeypatch.setattr(_replays.Replay, "_is_same", ours(lambda *a: True))
    with pytest.raises(AssertionError):
        check(side, "RK45", "grad", monkeypatch)
