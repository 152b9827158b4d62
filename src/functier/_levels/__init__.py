"""Levels: the kinds of level, the effect of each on an operation, and the life of a level.

Imports `_cpython`, `_core` and `_mutation`.
"""
