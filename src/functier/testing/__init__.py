"""Checkers: derivatives against finite differences, `vmap` against a loop.

For the rules that you write (`Function`, `custom_vjp`, `custom_jvp`, `custom_op`), and for
functions whose derivatives you rely on.
"""
