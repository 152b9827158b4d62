"""Code that cannot be edited: its names of NumPy and `math`, and its calls of builtins.

Imports `_cpython`, `_control`, `_core`, `_mutation`, `_levels`, `_transforms`, `numpy`
and `progress`.
"""
