"""Loops over the elements of arrays: as data, as text, and in blocks.

Imports `elementary` and `text`.
"""
