"""The transforms that users call: vmap, grad, vjp, jvp, Jacobians and products.

Imports `_cpython`, `_core`, `_mutation` and `_levels`.
"""
