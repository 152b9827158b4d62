"""The transforms that users call: vmap, grad, vjp, jvp, Jacobians and products.

Imports `_cpython`, `_core`, `_mutation` and `_levels`.

The folders `chunks`, `tracing` and `sparse` are rooms, too: the files beside them import the first
one, and the other two import these files.
"""
