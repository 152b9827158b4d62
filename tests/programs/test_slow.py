"""The line that says what takes long, while a program is made."""

import numpy as np
import pytest

import functier as ft
from functier._programs import rolling


def growing(x):
    for _ in range(6):
        x = np.concatenate([x, x[:1]]) * 0.5
    return np.sum(x)


def decaying(x):
    for _ in range(300):
        x = x - 0.1 * np.sin(x)
    return x


@pytest.mark.parametrize(
    ("f", "words"),
    [(growing, r"these are not a loop: line \d+ of growing, 6 times: .*results of other forms"),
     (decaying, r"for 90\d calls; each step of a Python loop is recorded")],
)  # fmt: skip
def test_what_takes_long_is_said_once(f, words, monkeypatch):
    monkeypatch.setattr(rolling, "PATIENCE", 0.0)
    compiled, x = ft.compile(f, backend="numpy"), np.ones(3)

    with pytest.warns(RuntimeWarning, match=words) as seen:
        compiled(x)
        compiled(x)

    assert len(seen) == 1
    assert seen[0].filename == __file__


def test_what_is_quick_is_not_said(recwarn):
    ft.compile(growing)(np.ones(3))

    assert not recwarn.list
