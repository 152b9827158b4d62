"""Arrays with labels that NumPy's functions drop, and structured arrays, which take no tensors."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from differences import check

X = np.array([1.1, -2.0, 0.5])

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


@pytest.mark.parametrize("transform", [ft.jacfwd, ft.vmap])
def test_structured_arrays_take_no_tensors(transform):
    kinds = [("u", float), ("v", float)]
    for f in (
        lambda x: fnp.array([(x, 1.0), (x, 2.0)], dtype=kinds)["u"],
        lambda x: fnp.asarray([(x, 1.0)], dtype=kinds)["u"],
        lambda x: fnp.rec.fromarrays([[x, x], [1, 2]], names="u,v").u,
        lambda x: fnp.rec.fromrecords([(x, 1)], names="u,v").u,
    ):
        refused = pytest.raises(
            (ft.UnsupportedError, ft.LevelError), match="write a dict of arrays"
        )
        with refused:
            transform(f)(X)
