"""Arrays that lie in several orders, and the transforms that methods of them are asked in."""

import numpy as np

import functier as ft

X = np.arange(1.0, 25.0).reshape(2, 3, 4)
ORDERS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "axes": lambda x: x.transpose(1, 2, 0),
    "backwards": lambda x: x[:, ::-1],
    "steps": lambda x: x[:, ::2],
}
"""Views of an array of three axes, each in another order."""

TRANSFORMS = {
    "grad": lambda f, x: ft.vjp(f, x)[0],
    "jvp": lambda f, x: ft.jvp(f, (x,), (x,))[0],
    "vmap": lambda f, x: ft.vmap(f)(np.stack([x, x])),
    "vmap of the last": lambda f, x: ft.vmap(f, in_dims=-1)(np.stack([x, x], -1)),
    "vmap of grad": lambda f, x: ft.vmap(lambda x: ft.vjp(f, x)[0])(np.stack([x, x])),
}
"""The value of a function inside each kind of level."""
