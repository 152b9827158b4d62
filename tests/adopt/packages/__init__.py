"""Calls of public packages that were chosen by a rule before any of them was run.

The rule: one package for each field, from a list of packages with their summaries. The summary
names the field; of the packages that are functions of numbers and arrays in Python over NumPy
and SciPy, by their documentation, it is the one that is downloaded most, or a well-known one where
the list has no downloads. Those that the notes of the project name are left out.

There were five lists, of 12, 12, 16, 14 and 10 packages; the names of each are in the order of
their SHA-256. The last two have replaced 24 packages of the others whose calls were all right.
The calls of the first list may have been tried under transforms while faults were mended. Those
of the others were written from documentation and sources, with hashes before any ran under a
transform: their first run is the one that counts. Those of the last three had run in plain NumPy,
which said that they can, and at which inputs differences have an error that is small.

``python -m adopt.packages`` in `tests` installs them and runs their calls: see `__main__`.
"""
