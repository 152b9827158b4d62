"""Builtins: the function that Python calls for a part, its memory and its threads.

Imports `_core`, `_cpython`, `_programs` and `compiler`.
"""
