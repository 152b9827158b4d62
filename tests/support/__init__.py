"""Helpers that all tests share: comparisons, tables, counts, and the commands that pages name.

A test writes ``from support.basics import equal``. A module here has one subject, which its first
line says. Those that are commands are run by their path: ``python tests/support/function.py``.
Helpers of one folder of tests stand in that folder.
"""
