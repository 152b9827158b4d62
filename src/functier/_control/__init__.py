"""Control flow: branches, loops, scans, checkpoints, collectives and solvers.

Imports `_cpython`, `_core`, `_mutation`, `_levels` and `_transforms`.
"""
