"""An operation, a tensor, level 0 and pytrees: what the protocol is made of, without a transform.

Imports `_cpython`, NumPy and optree only.
"""
