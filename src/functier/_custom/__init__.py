"""Rules that users write: custom_vjp, custom_jvp, custom_vmap, Function and custom_op;
finite_difference.

Imports `_cpython`, `_core`, `_mutation`, `_levels`, `_transforms`, `_control`, `modes` and
`overrides`.
"""
