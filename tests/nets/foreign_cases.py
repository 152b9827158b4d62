"""The cases of the net on foreign arrays: objects of other libraries, of Python and of NumPy, and
the places where one meets a tensor.

A place is a program of the object `s` and a vector `x`. What it means is what it gives for
``numpy.asarray(s)``.
"""

import array
import collections
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import xarray as xr

import functier as ft
import functier.numpy as fnp
from nets.border_cases import mapped, records

V = np.array([0.5, 1.5])
ROWS = np.stack([V, 2 * V])

# ---- objects ----


class ArrayOnly:
    """Something that NumPy converts by a method."""

    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return np.array(self.a, dtype)


class Interface:
    """Something that NumPy converts by a description of its memory."""

    def __init__(self, a):
        self.a = a
        self.__array_interface__ = a.__array_interface__


class Exchange:
    """Something that another library converts, and NumPy does not by itself."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **options):
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


def objects(a):
    out = np.empty(a.shape, object)
    out[...] = a
    return out


def missing(a):
    return pd.Series([None, *a[1:]], dtype="Float64")


LABELLED: dict[str, Callable] = {
    "series": pd.Series,
    "series with an index": lambda a: pd.Series(a, index=[5, 3]),
    "series of int": lambda a: pd.Series(a.astype(int)),
    "series of bool": lambda a: pd.Series(a > 1),
    "series with NaN": lambda a: pd.Series(np.where(a < 1, np.nan, a)),
    "series of Float64": lambda a: pd.Series(a, dtype="Float64"),
    "series of Float64 with NA": missing,
    "series of objects": lambda a: pd.Series(list(a), dtype=object),
    "series of categories": lambda a: pd.Series(a).astype("category"),
    "series of dates": lambda a: pd.Series(a.astype("M8[s]")),
    "frame": lambda a: pd.DataFrame({"p": a, "q": 2 * a}),
    "frame of int and float": lambda a: pd.DataFrame({"p": a, "q": a.astype(int)}),
    "frame with text": lambda a: pd.DataFrame({"p": a, "q": ["u", "v"]}),
    "index": pd.Index,
    "extension array": pd.array,
    "data array": lambda a: xr.DataArray(a, dims="i"),
    "data array with labels": lambda a: xr.DataArray(a, dims="i", coords={"i": [5, 3]}),
    "dataset": lambda a: xr.Dataset({"p": ("i", a)}),
    "variable": lambda a: xr.Variable("i", a),
    "sparse matrix": lambda a: scipy.sparse.csr_matrix(np.diag(a)),
    "sparse array": lambda a: scipy.sparse.csr_array(np.diag(a)),
    "exchange only": Exchange,
    "masked array": lambda a: np.ma.array(a, mask=a < 1),
    "matrix": lambda a: a.view(np.matrix),
    "structured array": records,
    "recarray": lambda a: records(a).view(np.recarray),
}
"""Objects that are refused by name; some are converted where NumPy itself converts."""

CONVERTED: dict[str, Callable] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "list of lists": lambda a: [a.tolist(), a.tolist()],
    "array scalar": lambda a: a[0],
    "float32 scalar": lambda a: np.float32(a[0]),
    "memoryview": lambda a: memoryview(a.copy()),
    "array.array": lambda a: array.array("d", a),
    "bytearray": lambda a: bytearray(b"ab"),
    "range": lambda a: range(2),
    "deque": collections.deque,
    "memmap": mapped,
    "__array__ only": ArrayOnly,
    "__array_interface__ only": Interface,
    "objects": objects,
    "recarray of numbers": lambda a: a.view(np.recarray),
}
OTHER: dict[str, Callable] = {
    "Decimal": lambda a: Decimal("0.5"),
    "Decimals": lambda a: np.array([Decimal("0.5"), Decimal("1.5")]),
    "Fraction": lambda a: Fraction(1, 2),
    "dates": lambda a: a.astype("M8[s]"),
    "durations": lambda a: a.astype("m8[s]"),
    "strings": lambda a: a.astype("U4"),
    "bytes": lambda a: b"ab",
    "set": set,
}
KINDS = LABELLED | CONVERTED | OTHER
CONTAINERS = {"list", "tuple", "list of lists", "deque"}
"""Pytrees, whose leaves are arguments and results."""

# ---- places ----


def written(s, x):
    y = x * 1.0
    y[:] = s
    return y * x


def written_to_new(s, x):
    y = fnp.zeros(2)
    y[:] = s
    return y * x


def added(s, x):
    y = x * 1.0
    y += s
    return y


PLACES: dict[str, Callable] = {
    "x + s": lambda s, x: x + s,
    "s + x": lambda s, x: s + x,
    "s * x[0]": lambda s, x: s * x[0],
    "x[0] * s": lambda s, x: x[0] * s,
    "s @ x": lambda s, x: s @ x,
    "x @ s": lambda s, x: x @ s,
    "s ** x": lambda s, x: s**x,
    "x < s": lambda s, x: np.where(x < s, x, 2 * x),
    "s > x": lambda s, x: np.where(s > x, x, 2 * x),
    "add(s, x)": lambda s, x: np.add(s, x),
    "add(x, s)": lambda s, x: np.add(x, s),
    "multiply(x[0], s)": lambda s, x: np.multiply(x[0], s),
    "exp(s) * x": lambda s, x: np.exp(s) * x,
    "dot(s, x)": lambda s, x: np.dot(s, x),
    "outer(s, x)": lambda s, x: np.outer(s, x),
    "concatenate": lambda s, x: np.concatenate([x, s]),
    "stack": lambda s, x: np.stack([s, x]),
    "where(s, x, 0)": lambda s, x: np.where(s, x, 0),
    "where(x > 1, x, s)": lambda s, x: np.where(x > 1, x, s),
    "clip": lambda s, x: np.clip(x, s, None),
    "sum of a product": lambda s, x: np.sum(np.multiply(s, x)),
    "x[s]": lambda s, x: x[s],
    "y[:] = s": written,
    "new y[:] = s": written_to_new,
    "y += s": added,
    "s += x": lambda s, x: operator.iadd(s, x) * 1.0,
    "array(s)": lambda s, x: fnp.array(s) * x,
    "asarray(s)": lambda s, x: fnp.asarray(s) * x,
    "the result": lambda s, x: s,
    "an argument": lambda s, x: ft.vmap(lambda c, v: v * c, in_dims=(None, 0))(s, x),
}
TRANSFORMS: dict[str, Callable] = {
    "vmap": lambda f: ft.vmap(f)(ROWS),
    "grad": lambda f: ft.grad(lambda x: np.sum(f(x)))(V),
    "jvp": lambda f: ft.jvp(f, (V,), (np.ones(2),))[1],
}
ARGUMENTS: dict[str, Callable] = {
    "of vmap": lambda s: ft.vmap(lambda x: np.multiply(x, 2.0) * x)(s),
    "of vmap, not mapped": lambda s: ft.vmap(lambda c, x: x * c, in_dims=(None, 0))(s, ROWS),
    "of grad": lambda s: ft.grad(lambda x: np.sum(x * x))(s),
    "of grad, not chosen": lambda s: ft.grad(lambda x, c: np.sum(x * c))(V, s),
    "of jvp": lambda s: ft.jvp(lambda x: x * x, (s,), (np.ones(2),))[1],
    "tangent": lambda s: ft.jvp(lambda x: x * x, (V,), (s,))[1],
    "cotangent": lambda s: ft.vjp(lambda x: x * x, V)[1](s)[0],
}


def programs(meanings: dict[str, Callable]) -> Any:
    """The name and the program, of one argument, of each cell of the table; the same in plain
    NumPy; and the program that it is compared with.
    """
    for place, f in PLACES.items():
        for name, transform in TRANSFORMS.items():
            run, meaning = [
                lambda s, g=g, t=transform: t(lambda x: g(s, x))
                for g in (f, meanings.get(place, f))
            ]
            yield f"{place}, {name}", run, lambda s, f=f: f(s, V.copy()), meaning
    for place, run in ARGUMENTS.items():
        yield f"argument {place}", run, None, run
