"""A function as a flat program of NumPy calls: recorded, simplified, printed and replayed.

Imports `_core`, `_cpython`, `_rules`, `_mutation`, `_levels`, `protocol` and `_chunks`.
"""
