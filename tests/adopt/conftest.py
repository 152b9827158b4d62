"""Fixtures that tests of adoption share."""

import pytest

from functier._adopt.adoption import _ACTIVE, _ADOPTED


@pytest.fixture
def nothing_is_adopted():
    """Fail the test that leaves something adopted."""
    yield
    assert not _ACTIVE and not _ADOPTED
