"""The transforms that users call: vmap, grad, vjp, jvp, Jacobians and products.

Imports `_cpython`, `_core`, `errors`, `_mutation`, `_levels` and `protocol`.

The folders `chunks`, `tracing`, `sparse` and `series` are rooms, too: the files beside them import
the first one, and the other three import these files or none of them.
"""
