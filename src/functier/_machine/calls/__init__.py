"""Builtins: the function that Python calls for a part, its memory and its threads.

Imports `_programs` and `compiler`.
"""
