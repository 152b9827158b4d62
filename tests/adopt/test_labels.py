"""Structured arrays, which take no tensors, and arrays with labels that NumPy's functions drop."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from differences import check

X = np.array([1.1, -2.0, 0.5])

WRITES = """
import numpy as np

def f(x):
    q = np.zeros(3, dtype=[("u", float), ("v", "f8")])
    q["u"] = x
    return q["u"]
"""


def test_a_structured_array_takes_no_tensors(tmp_path):
    module = module_of(tmp_path, WRITES)
    with ft.adopt(module):
        with pytest.raises(ft.MutationError, match=r"in q\['u'\] = x, .* write a dict of arrays"):
            ft.jvp(module.f, (X,), (X,))
        with pytest.raises(ft.ConversionError, match="fromarrays calls"):
            ft.jvp(lambda x: np.rec.fromarrays([x, x], names="a,b").a, (X,), (X,))


# ---- labels ----

LABELLED = {
    "interp": lambda x, s: np.interp(x, s, s * s),
    "interp at labels": lambda x, s: np.interp(s, np.sort(x), x),
    "trapezoid": lambda x, s: np.trapezoid(x, s),
    "where": lambda x, s: np.where(x > 0, s, x),
    "concatenate": lambda x, s: np.concatenate([x, s]) ** 2,
    "average": lambda x, s: np.average(x, weights=s),
    "polyval": lambda x, s: np.polyval(s, x),
    "outer": lambda x, s: np.outer(x, s),
    "convolve": lambda x, s: np.convolve(x, s),
}


@pytest.mark.parametrize("name", LABELLED)
def test_functions_drop_labels(name):
    pandas = pytest.importorskip("pandas")
    values = np.array([0.2, 1.5, 3.0])
    series = pandas.Series(values, index=[2, 0, 1])
    f = LABELLED[name]
    for names in (("jvp",), ("vmap", "grad")):
        check(names, lambda x: f(x, series), X, lambda x: f(x, values))


def test_what_keeps_labels_is_refused():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([0.2, 1.5, 3.0], index=[2, 0, 1])
    for f in (
        lambda x: x * series,
        lambda x: np.add(x, series),
        lambda x: np.clip(series, x, x),
        lambda x: np.dot(series, x),
        lambda x: np.interp(x, series.astype(str), x),
    ):
        with pytest.raises(TypeError, match="whose labels and missing values no transform"):
            ft.jvp(f, (X,), (X,))
