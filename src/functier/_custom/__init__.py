"""Rules that users write: custom_vjp and its like, Function and custom_op.

Imports `_core`, `_levels`, `_transforms`, `modes` and `overrides`.
"""
