"""Programs are compared to the last bit here, so that they run as NumPy calls."""

import pytest

from functier._programs import compiled


@pytest.fixture(autouse=True)
def numpys(monkeypatch):
    monkeypatch.setattr(compiled, "has_llvm", lambda: False)
