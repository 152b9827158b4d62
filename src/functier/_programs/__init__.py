"""A function as a flat program of NumPy calls: recorded, simplified, printed and replayed.

Imports `_cpython`, `_core`, `progress`, `_rules`, `_mutation`, `_levels`, `protocol` and
`_transforms`.

The folder `machine`, which is a room, too, imports the other files, and none of them imports it:
`compiled` loads it where machine code is wanted and LLVM is there.
"""
