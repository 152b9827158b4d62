"""The transforms that users call: vmap, grad, vjp, jvp, Jacobians and products.

Imports `_cpython`, `_core`, `_mutation`, `_levels` and `_chunks`.
"""
