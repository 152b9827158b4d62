"""A level whose tensors are truncated Taylor series, and the transforms that run it: jet, taylor.

Imports `_core`, `errors`, `_levels` and `protocol`.
"""
