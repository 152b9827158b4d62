"""Faults of mechanisms, by rooms: each function breaks one with the monkeypatch that it is given.

These files look inside, so that tests which show that a check finds a fault need not.
"""


def change(place, name, value, **options):
    """Return a function that puts something else into a module or a class."""
    return lambda monkeypatch: monkeypatch.setattr(place, name, value, **options)
