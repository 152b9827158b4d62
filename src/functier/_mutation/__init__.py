"""What a write is: memories, the views of them, and the arrays that may be written to.

Imports `_core` and `_rules`.
"""
