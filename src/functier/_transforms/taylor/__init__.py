"""A level whose tensors are truncated Taylor series, and the transforms that run it: jet, taylor.

Imports `_core`, `_cpython`, `_levels`, `_transforms` and `protocol`.
"""
