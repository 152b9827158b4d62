"""Rows for joining, splitting and padding arrays."""

import numpy as np

from functier._rules.pad import pad_with

from ._row import integers, normal, row

C, F32 = complex, np.float32
CUBE = normal(2, 3, 4)
INTS = integers(-5, 6, 4)

ROWS = [
    row(np.concatenate, (normal(2), normal(3))),
    row(np.concatenate, [normal(2, 3), normal(2, 1)], axis=-1),
    row(np.concatenate, [normal(2, 3), normal(0, 3), normal(1, 3)], 0),
    row(np.concatenate, [normal(2, 2), normal(3), normal()], axis=None),
    row(np.concatenate, [normal(2), INTS]),
    row(np.concatenate, [normal(2), [1.0, 2.0]]),
    row(np.concatenate, [normal(2, dtype=F32), normal(2)]),
    row(np.concatenate, [normal(2), normal(2, dtype=C)]),
    row(np.concatenate, [normal(2), normal(3)], dtype=F32),
    row(np.concatenate, [normal(2, 3)]),
    row(np.stack, [normal(3), normal(3)]),
    row(np.stack, [normal(2, 3), normal(2, 3), normal(2, 3)], axis=-1),
    row(np.stack, [normal(2, 3), normal(2, 3)], 1),
    row(np.stack, [normal(), normal(), 1.0]),
    row(np.stack, [normal(2, dtype=F32), normal(2, dtype=F32)], dtype=float),
    row(np.hstack, [normal(2), normal(3)]),
    row(np.hstack, [normal(2, 3), normal(2, 1)]),
    row(np.hstack, [normal(), normal()], dtype=F32),
    row(np.vstack, [normal(3), normal(2, 3)]),
    row(np.dstack, [normal(3), normal(3)]),
    row(np.dstack, [normal(2, 3), normal(2, 3, 2)]),
    row(np.column_stack, [normal(3), normal(3, 2)]),
    row(np.block, [[normal(2, 2), normal(2, 1)], [normal(1, 2), normal(1, 1)]]),
    row(np.block, [normal(2), normal(3), 1.0]),
    row(np.block, [[normal(2)], [normal(1, 2)]]),
    row(np.block, normal(2)),
    row(np.append, normal(2, 2), normal(3)),
    row(np.append, normal(2, 2), [[1.0, 2.0]], axis=0),
    row(np.split, normal(4), 2),
    row(np.split, CUBE, [1, 3], axis=-1),
    row(np.split, normal(4), [3, 2]),
    row(np.split, normal(4), [-1]),
    row(np.split, normal(4, dtype=C), (1, 7)),
    row(np.array_split, normal(5), 3),
    row(np.array_split, normal(2, 3), 2, axis=1),
    row(np.array_split, normal(2, 3), np.int64(2), axis=-1),
    row(np.array_split, normal(2), 3),
    row(np.hsplit, normal(2, 4), 2),
    row(np.hsplit, normal(4), [1]),
    row(np.vsplit, normal(4, 2), 2),
    row(np.dsplit, CUBE, 2),
    row(np.unstack, normal(3)),
    row(np.unstack, CUBE, axis=-2),
    # padding
    row(pad_with, normal(2, 3), [(1, 0), (0, 2)], 2.0),
    row(pad_with, normal(0), [(2, 1)], 0),
    row(np.pad, normal(3), 1),
    row(np.pad, normal(2, 3), ((1, 0), (0, 2))),
    row(np.pad, normal(2, 3), (1, 2), constant_values=((1, 2), (3, 4))),
    row(np.pad, normal(2), 1, constant_values=normal(1), _diff=(0,), _shared=(1,)),
    row(np.pad, INTS, 1, constant_values=2),
    row(np.pad, normal(0, 2), 1),
    row(np.pad, normal(), 1),
    row(np.pad, normal(2, 3), 2, "edge"),
    row(np.pad, normal(3), (3, 5), "reflect"),
    row(np.pad, normal(1, 3), 2, mode="reflect"),
    row(np.pad, normal(2, 3), ((0, 5), (1, 0)), "symmetric"),
    row(np.pad, normal(2, 3), 4, "wrap"),
    row(np.append, normal(3, dtype=np.float32), 1.5),
]
