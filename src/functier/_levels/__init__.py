"""Levels: what a transform does to an operation, the kinds of level, and the life of a level.

Imports `_core` only.
"""
