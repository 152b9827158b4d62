"""The fixture of nets whose programs make NumPy warn."""

import pytest

from support.basics import load_all, silent


@pytest.fixture
def quiet():
    """Let NumPy warn of nothing; the rules are loaded before."""
    load_all()
    with silent():
        yield
