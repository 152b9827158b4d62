"""Parts of a program: which nodes are in one, and its steps as calls of routines.

Imports `_programs`, `loops`, `lowering` and `text`.
"""
