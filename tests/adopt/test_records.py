"""Structured arrays of tensors, and arrays with labels that NumPy's functions drop."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from differences import check
from functier.numpy import _records

HEAD = """
import numpy as np

def f(x):
    r = np.rec.fromarrays([[3, 1, 2], x * x], names="a,b")
    q = np.zeros(3, dtype=[("u", float), ("v", "f8")])
    q["u"] = x
    q["v"][1] = x[0]
    return {} + 0.0 * x
"""

EXPRESSIONS = {
    "a field": "r.b * 2 + r['b'] * r.a",
    "an element": "r[1].b * r[0]['b'] + q[0][0] * r[2][1]",
    "a slice": "np.append(r[1:].b, q[::-1]['u'][0])",
    "a mask": "r[r.a > 1].b.sum() * q[[0, 2]]['u'].prod()",
    "several fields": "r[['b', 'a']].b",
    "sorted": "(r.sort(order='a'), r.b * [1, 2, 3])[1]",
    "a sorted copy": "np.sort(r, order='b').a * r.b",
    "argsort": "r.b[np.argsort(r, order='a')]",
    "form": "len(r) * r.b + r.size * r.ndim * (r.shape == (3,)) + (r.dtype.names == ('a', 'b'))",
    "class": "x * isinstance(r, np.recarray) * isinstance(q, np.ndarray)",
    "a row is written": "(q.__setitem__(2, (x[1], 2.0)), q['u'] * q['v'])[1]",
    "a row of another": "(q.__setitem__(0, q[1]), q['u'] + q['v'])[1]",
    "rows": "np.stack([row['u'] ** 2 * row[1] + row[0] for row in q])",
    "an attribute is written": "(setattr(r, 'b', x[::-1] * 2), r.b)[1]",
    "a copy": "(r.copy().b.fill(0.0), r.b)[1]",
    "tuples": "np.array([(x[0], 1.0), (x[2], x[1])], dtype=[('m', 'f8'), ('n', 'f8')])['m'].sum()",
    "fromrecords": "np.rec.fromrecords([(1, x[0]), (2, x[1])], names='i,w').w.prod() * x",
    "formats": "np.rec.fromarrays([x, x], dtype=[('s', float), ('t', 'f8')]).t ** 2",
    "joined": "np.concatenate([q, q[:1]])['u'].prod() * x",
    "numbers": "np.stack([a * b for a, b in q.tolist()])",
    "recarray": "q.view(np.recarray).u * 3",
    "field": "r.field('b') * r.field(1)",
}

X = np.array([1.1, -2.0, 0.5])
NESTINGS = [("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "vmap")]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_fields_are_arrays(name, tmp_path):
    text = HEAD.format(EXPRESSIONS[name])
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    with ft.adopt(module):
        for names in NESTINGS[1:4:2]:
            check(names, module.f, X, reference.f)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_fields_under_all_nestings(name, tmp_path):
    text = HEAD.format(EXPRESSIONS[name])
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    with ft.adopt(module):
        for names in NESTINGS:
            check(names, module.f, X, reference.f)


def test_a_fault_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_records.Records, "sort", lambda self, **options: None)
    with pytest.raises(AssertionError):
        test_fields_are_arrays("sorted", tmp_path)


REFUSED = {
    "q": "is a structured array, whose fields are separate values",
    "(q == q)": "structured arrays of tensors are not compared",
    "np.sum(q)": r"numpy\.sum of a structured array of tensors",
    "q.view(float)": "has no memory to view by another dtype",
    "q['z']": "no field of name z",
    "q.tobytes()": "has no tobytes",
    "q.u": "has no|no attribute u",
    "(q.__setitem__(0, 1.0), x)[1]": "takes a tuple of values",
    "np.rec.fromarrays([x, ['a', 'b', 'c']], names='a,b').a": "one number in each field",
    "np.rec.fromarrays([x, x[:2]], names='a,b').a": "array-shape mismatch in array 1",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused(expression, tmp_path):
    module = module_of(tmp_path, HEAD.format(expression).replace(" + 0.0 * x", ""))
    with ft.adopt(module), pytest.raises(Exception, match=REFUSED[expression]):
        ft.jvp(module.f, (X,), (X,))


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
