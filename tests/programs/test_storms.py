"""Calls that no program fits: whole numbers are inputs, and the plain function runs in a storm."""

import math
import time
import warnings

import numpy as np
import pytest

import functier as ft
from faults.planted import programs as faulty
from strategies.outcomes import difference
from support.basics import raises

X, K, M = np.array([0.5, -1.0, 2.0]), np.array([1, 2, 3]), np.arange(12.0).reshape(3, 4)
NUMBERS = 1, 2, 3, 5, 4, 2, 0, -1, 7, 12
LARGE = 2**53 + 1, 2**62, 2**63, 2**70


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return type(error)


def check(f, numbers):
    fast = ft.compile(f)
    for n in numbers:
        found, wanted = outcome(fast, X, n), outcome(f, X, n)
        assert found == wanted if isinstance(wanted, type) else not difference(found, wanted), n
    return fast


INPUTS = {
    "product": lambda x, n: x * n,
    "power": lambda x, n: x**n,
    "base": lambda x, n: 0.9**n * x,
    "of integers": lambda x, n: K + n,
    "of float32": lambda x, n: x.astype("f4") * n + n,
    "of bytes": lambda x, n: np.array([250, 3], np.uint8) + n,
    "of Python": lambda x, n: (n * n + 1, n // 2, n % 3, n / 3, -n, n << 1, n & 1, ~n, n < 2),
    "large": lambda x, n: x * (n * 10**30),
    "ufunc": lambda x, n: np.maximum(x, n) + np.add(n, 1),
    "where": lambda x, n: np.where(x > 0, x, n),
    "result": lambda x, n: {"n": n, "next": n + 1, "x": x * n},
    "truth": lambda x, n: x if n % 2 == 0 else 2 * x,
    "vmap": lambda x, n: ft.vmap(lambda y, k: y * k, (0, None))(x, n),
    "grad": lambda x, n: ft.grad(lambda y: np.sum(y * n))(x.astype("f4")),
}
"""Functions of an array and a whole number, which take it as an operand alone."""

ASKED = {
    "range": lambda x, n: sum([x * i for i in range(n)]),
    "size": lambda x, n: np.zeros(n) + np.full(n, 2.0),
    "axis": lambda x, n: np.sum(M * x[0], axis=n).shape,
    "slice": lambda x, n: x[:n],
    "index": lambda x, n: x[n],
    "power of two": lambda x, n: x * ((K * 2**n).dtype.kind == "f"),
    "computed": lambda x, n: np.add(n * 10**18, 1).dtype.kind,
    "float": lambda x, n: x * float(n) + math.sqrt(n),
    "texts": lambda x, n: x * len(f"{n}{n:4d}{n!r}" + "%s%d" % (n, n)),  # noqa: UP031
    "key": lambda x, n: {1: 2.0, 2: 3.0}.get(n, 1.0) * x,
    "array": lambda x, n: np.array([n, 1.0]) * 2,
    "round": lambda x, n: np.round(x / 3, n),
    "fft": lambda x, n: np.abs(np.fft.fft(x, n)),
    "method": lambda x, n: x * n.bit_length(),
    "isinstance": lambda x, n: x if isinstance(n, int) else -x,
    "type": lambda x, n: x if type(n) is int else -x,
    "repeated": lambda x, n: [x] * n,
    "derivative": lambda x, n: ft.grad(lambda y: np.sum(y**n * n))(x),
}
"""Functions that ask for the number itself."""


@pytest.fixture
def patient(monkeypatch):
    faulty.patient(monkeypatch)


@pytest.mark.parametrize("name", INPUTS)
def test_whole_numbers_are_inputs(name, patient):
    fast = check(INPUTS[name], NUMBERS + LARGE * (name not in ("power", "base")))

    assert fast._traced <= 5


@pytest.mark.parametrize("name", ASKED)
def test_whole_numbers_that_are_asked_for_are_answers(name, patient):
    check(ASKED[name], NUMBERS)


def test_a_number_that_is_always_the_same_is_part_of_the_program():
    fast = ft.compile(lambda x, n: x**n)
    for _ in range(3):
        fast(X, 2)

    assert "x ** 2" in fast.programs[0].source


def test_a_step_counter_is_an_input():
    def adam(p, m, v, t, g):
        t = t + 1
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v, t

    fast = ft.compile(adam)
    found = wanted = np.ones(3), np.zeros(3), np.zeros(3), 0
    for _ in range(40):
        found, wanted = fast(*found, X), adam(*wanted, X)
        assert difference(found, wanted) is None
    assert fast._traced == 2
    assert type(found[3]) is int


@pytest.mark.parametrize("name", ["axis", "float", "power of two", "computed"])
def test_a_planted_fault_is_found(name, monkeypatch, patient):
    (faulty.numbers_are_not_asked if name == "float" else faulty.integers_are_not_asked)(
        monkeypatch
    )
    raises(AssertionError, lambda: check(ASKED[name], NUMBERS))


# ---- storms ----


def halved(x):
    steps = 0.0
    while x > 1:
        x, steps = x * 0.5, steps + 1
    return x + steps


def storm(fast, calls, lengths=60):
    points = np.random.default_rng(0).integers(0, lengths, calls)
    for k in points:
        assert fast(1.5 * 2.0**k) == halved(1.5 * 2.0**k)


@pytest.mark.filterwarnings("ignore:compile")
def test_a_loop_of_another_length_each_time_is_seldom_traced():
    fast = ft.compile(halved)
    storm(fast, 300)
    early = fast._traced
    storm(fast, 3000)

    assert early <= 14
    assert fast._traced <= early + 5
    assert len(fast.programs) <= 16


def test_one_warning_says_why():
    fast = ft.compile(halved)

    with pytest.warns(RuntimeWarning, match=r"in most calls: .*, bool\(.*in line") as seen:
        storm(fast, 300)
    assert len(seen) == 1
    assert seen[0].filename == __file__


@pytest.mark.filterwarnings("ignore:compile")
def test_a_function_whose_calls_become_alike_is_replayed():
    entered = []
    fast = ft.compile(lambda x: (entered.append(1), halved(x))[1], on_unwatched="keep")
    storm(fast, 100)
    for _ in range(600):
        fast(3.0)
    entered.clear()
    for _ in range(100):
        fast(3.0)

    assert not entered
    assert not fast._misses.debt


def test_a_few_shapes_in_turn_are_no_storm():
    fast = ft.compile(lambda x: x * 2.0)
    with warnings.catch_warnings(action="error"):
        for _ in range(20):
            for n in range(7):
                fast(np.ones(n))

    assert fast._traced == 7


@pytest.mark.filterwarnings("ignore:compile")
def test_the_function_as_it_is_raises_and_writes():
    def f(a, n):
        if n < 0:
            raise KeyError(n)
        for _ in range(n):
            a += 1.0
        return a

    fast = ft.compile(f)
    for n in range(30):
        a = np.zeros(2)
        assert fast(a, n) is a
        assert a[0] == n
    assert fast._misses.left
    raises(KeyError, lambda: fast(a, -1))


@pytest.mark.filterwarnings("ignore:compile")
def test_misses_that_are_not_counted_are_found(monkeypatch):
    faulty.misses_that_are_not_counted(monkeypatch)
    fast = ft.compile(halved)
    storm(fast, 40)

    assert fast._traced > 14


def test_a_function_that_runs_as_it_is_says_so_once():
    clocked = ft.compile(lambda x: x * (time.time() > 0))
    with pytest.warns(RuntimeWarning, match=r"compile\(<lambda>\) runs .* time.time, ") as heard:
        for _ in range(40):
            clocked(1.0)
    assert [warning.filename for warning in heard] == [__file__]
