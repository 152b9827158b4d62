"""An adoption searches all objects for functions and classes: those of other tests stay out."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def fewer_objects(frozen_heap):
    return frozen_heap
