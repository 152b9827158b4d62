"""Functions as C libraries: header, object code and archives, without Python.

Imports `_cpython`, `_core` and `_programs`.
"""
