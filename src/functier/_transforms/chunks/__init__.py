"""A batch in parts: the parts, the results put together, and the random stream of each part.

Imports `_cpython`, `_core` and `_levels`.
"""
