"""Parts of programs as machine code, by LLVM.

Imports nothing.
"""
