"""Calls of public packages that were chosen by a rule before any of them was run.

The rule: 40 fields, one package for each, from a list of packages with their summaries. The summary
names the field; of the packages that are functions of numbers and arrays in Python over NumPy
and SciPy, by their documentation, it is the one that is downloaded most, or a well-known one where
the list has no downloads. Those that the notes of the project name are left out. The names were
put in the order of their SHA-256: the first 24, then the 16 that were added later. The calls of the
first twelve may have been tried under transforms while faults were mended. Those of the others were
written from the documentation, with hashes before any ran under a transform: their first run is the
one that counts. Those of the last 16 had run in plain NumPy, which said that they can, and at which
inputs differences have an error that is small.

``python -m adopt.packages`` in `tests` installs them and runs their calls: see `__main__`.
"""
