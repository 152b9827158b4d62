"""Nodes of a program become steps of a part: one rule for each function.

Imports `_core`, `_rules`, `_mutation`, `_programs`, `compiler`, `elementary`, `linalg`, `loops`
and `text`.
"""
