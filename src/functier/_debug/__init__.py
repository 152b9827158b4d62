"""Looking at levels from outside: NaNs, leaks and the values that tensors hold.

Imports `_core`, `_levels` and `_chunks`.
"""
