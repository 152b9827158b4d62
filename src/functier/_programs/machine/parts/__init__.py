"""Parts of a program: which nodes are in one, and its steps as calls of routines.

Imports `_core`, `_rules`, `_programs`, `compiler`, `elementary`, `loops`, `lowering` and `text`.
"""
