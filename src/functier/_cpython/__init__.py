"""CPython: what functier asks of the interpreter itself, and what happens where it does not answer.

Imports the standard library only.
"""
