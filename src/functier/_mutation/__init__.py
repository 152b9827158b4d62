"""Writes: memories, the views of them, and the arrays that can be written to.

Imports `_cpython`, `_core` and `_rules`.
"""
