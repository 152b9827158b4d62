"""Parts of programs as machine code, by LLVM.

Imports `_core`, `_cpython`, `_rules`, `_mutation` and `_programs`.

The folders of this room import one way, too: `compiler`, `text`, `elementary`, `loops`, `linalg`,
`lowering`, `parts`, `calls`. At the end `backend` puts them together.
"""
