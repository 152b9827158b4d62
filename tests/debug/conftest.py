"""After each test of debugging: nothing is left on."""

import pytest

import functier as ft
from functier._core import blocks as _observers
from functier._levels import level as _level
from functier.debug import _calls


@pytest.fixture(autouse=True)
def _nothing_left_on():
    yield
    assert _calls.WATCH.get() is None
    assert _calls.RUNNING.get() is None
    assert _observers.LEVELS == []
    assert _observers.RULES == []
    assert _level.AMBIENT.get() is ft.Tensor
