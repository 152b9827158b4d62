"""Code that cannot be edited: its names of NumPy and `math`, and its calls of builtins.

Imports `_control`, `_core`, `_cpython`, `_mutation`, `_levels`, `_transforms` and `numpy`.
"""
