"""A level that records a program, and the transforms that run it: linearize, linear_transpose.

Imports `_cpython`, `_core`, `_levels` and `_transforms`.
"""
