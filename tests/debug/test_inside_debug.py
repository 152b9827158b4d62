"""Tests of observers that look inside."""

import pytest

from functier.debug import _leaks

pytestmark = pytest.mark.inside("What is kept meanwhile is found in the state.")


# ---- leaks ----


def test_a_search_ends_where_nobody_holds_anything(monkeypatch):
    """Each step of it is a pass over all objects."""
    asked = []
    monkeypatch.setattr(_leaks, "holders_of", lambda objects: asked.append(objects) or [])

    search = _leaks._Search([object()])

    assert len(asked) == len(search.objects) == 1
