"""After each test of debugging: nothing is left on."""

import pytest

from functier._core import blocks as _observers
from functier.debug import _calls


@pytest.fixture(autouse=True)
def _nothing_left_on():
    yield
    assert _calls.WATCH.get() is None
    assert _calls.RUNNING.get() is None
    assert _observers.LEVELS == []
    assert _observers.RULES == []
