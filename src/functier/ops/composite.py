"""Operations that are made of other operations: plain NumPy bodies."""

import numpy as np

from ._families import elementwise

elementwise(
    np.real,
    holomorphic=False,
    params="val",
    jvp={"val": lambda t: np.real(t)},
    vjp={"val": lambda g: g},
)
