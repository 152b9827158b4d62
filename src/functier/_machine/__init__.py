"""Parts of programs as machine code, by LLVM.

Imports `_core`, `_rules`, `_mutation` and `_programs`.
"""
