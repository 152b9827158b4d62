"""Products of arrays and systems of small matrices as routines.

Imports `_cpython`, `_programs`, `compiler`, `elementary` and `text`.
"""
