"""Text becomes machine code in memory, and object code on disk.

Imports nothing.
"""
