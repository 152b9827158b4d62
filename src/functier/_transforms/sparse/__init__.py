"""Sparse Jacobians and Hessians: colouring, and products that find the entries.

Imports `_core`, `_cpython` and `_transforms`.
"""
