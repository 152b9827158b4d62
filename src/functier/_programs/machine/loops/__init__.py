"""Loops over the elements of arrays: as data, as text, and in blocks.

Imports `_programs`, `elementary` and `text`.
"""
