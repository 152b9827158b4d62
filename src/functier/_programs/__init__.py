"""A function as a flat program of NumPy calls: recorded, simplified, printed and replayed.

Imports `_cpython`, `_core`, `_rules`, `_mutation`, `_levels`, `protocol` and `_transforms`.
"""
