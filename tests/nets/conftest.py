"""The fixture of nets whose programs make NumPy warn."""

import warnings

import numpy as np
import pytest

from support import load_all


@pytest.fixture
def quiet():
    """Let NumPy warn of nothing; the rules are loaded before."""
    load_all()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
