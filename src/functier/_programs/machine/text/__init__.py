"""Text of LLVM: instructions for lanes, functions of a module, operands.

Imports nothing.
"""
