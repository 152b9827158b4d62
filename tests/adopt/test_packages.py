"""The list of packages, and the trials of their calls: what is wrong is found."""

import hashlib
import sys

import numpy as np
import pytest

import functier as ft
from adopt.packages.__main__ import HERE, PACKAGES, interval
from adopt.packages.call import call
from adopt.packages.trials import MODES, Trial, path_of

GIVEN = 0.7, 1.3, 2.1


def mark(f):
    return call(*GIVEN)(f)


def right(x):
    return np.sin(x) * x[0]


@ft.custom_vjp
def off(x):
    return np.sin(x)


off.defvjp(lambda x: (np.sin(x), x), lambda x, g: (1.001 * g * np.cos(x),))


@ft.custom_jvp
def off_forward(x):
    return np.sin(x)


off_forward.defjvp(lambda primals, tangents: (np.sin(*primals), 1.001 * np.cos(*primals)))


def refused(x):
    return np.array([float(x[0]), 1.0])


def test_what_is_right_is_right_in_all_modes():
    trial = Trial(mark(lambda x: right(x)))
    assert {mode: trial.run(mode) for mode in MODES} == dict.fromkeys(MODES, "right")


@pytest.mark.parametrize("f, modes", [(off, ("grad", "vmap(grad)")), (off_forward, ("jvp",))])
def test_a_derivative_that_is_off_by_a_thousandth_is_found(f, modes):
    trial = Trial(mark(lambda x: f(x)))
    for mode in modes:
        assert trial.run(mode).startswith("wrong")


def test_a_batch_that_is_off_is_found(monkeypatch):
    trial = Trial(mark(lambda x: right(x)))
    monkeypatch.setattr(ft, "vmap", lambda f, **_: lambda b: np.stack([f(x) for x in b[::-1]]))
    assert trial.run("vmap").startswith("wrong")


def test_an_error_is_a_refusal_with_its_place():
    found = Trial(mark(refused)).run("grad")
    assert found.startswith("refused: ConversionError") and "adopt/test_packages.py" in found


def test_the_path_of_a_call():
    assert path_of(mark(lambda x: right(x)), __name__)[0] == 3  # with the test
    assert path_of(mark(lambda x: right(x)), "another")[0] == 0


def test_an_interval_counts_packages_where_calls_of_one_are_alike():
    assert interval([(5, 5)] * 16) == "100 % (81 to 100 %)"  # Wilson's for 16
    assert interval([(5, 5), (0, 5)] * 8) == interval([(1, 1), (0, 1)] * 8)
    assert interval([(1, 1), (0, 1)] * 8) == "50 % (27 to 73 %)"
    assert interval([(4, 5), (3, 5)] * 8) == "70 % (59 to 79 %)"  # Wilson's for 80


def test_the_calls_are_those_that_were_chosen():
    chosen = dict(line.split()[::-1] for line in (HERE / "hashes.txt").read_text().splitlines())
    files = {file.name: file.read_bytes() for file in HERE.glob("on_*.py")}
    assert {name: hashlib.sha256(text).hexdigest() for name, text in files.items()} == chosen
    assert {f"{row['module']}.py" for row in PACKAGES.values()} == chosen.keys()
    names = [hashlib.sha256(name.encode()).hexdigest() for name in PACKAGES]
    assert names[16:30] == sorted(names[16:30])
    assert names[30:] == sorted(names[30:])
    assert not {row["module"] for row in PACKAGES.values()} & sys.modules.keys()
