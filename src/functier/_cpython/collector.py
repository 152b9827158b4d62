"""The collector and reference counts: who holds an object, and what it holds."""

import gc

observers = gc.callbacks
"""The functions that are told when a collection begins and ends."""

get_objects = gc.get_objects
"""All objects that may refer to others."""

get_referents = gc.get_referents
"""What some objects refer to."""
