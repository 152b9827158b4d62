"""Control flow: branches, loops, scans, checkpoints, collectives and solvers.

Imports `_cpython`, `_core`, `_mutation`, `_levels`, `_tracing` and `_transforms`.
"""
