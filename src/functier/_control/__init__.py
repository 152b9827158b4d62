"""Control flow: functions that decide what runs, how often, and for which examples.

Imports `_core`, `_levels`, `_chunks`, `_tracing` and `_transforms`.
"""
