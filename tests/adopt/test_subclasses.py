"""Subclasses of NumPy's array in adopted modules: values, classes and attributes are NumPy's."""

import re

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from differences import check

HEAD = '''
import math
import numpy as np

SEEN = []

class Base(np.ndarray):
    """A vector with a name, as NumPy's guide writes it."""

    name = None

    def __new__(cls, values, name=None):
        made = np.asarray(values).view(cls)
        made.name = name
        return made

    def __array_finalize__(self, obj):
        if obj is None:
            return
        self.name = getattr(obj, "name", None)
        self.dimension = self.size

    @classmethod
    def between(cls, a, b):
        return cls(np.subtract(b, a), "between")

    @staticmethod
    def half(y):
        return y / 2

    def norm(self):
        return math.sqrt(self.dot(self))

    def unit(self):
        return self / self.norm()

    def __getitem__(self, index):
        return super(Base, self).__getitem__(index)

class Vector(Base):
    scale = 3.0

    def norm(self):
        return super().norm() * self.scale

    def __add__(self, other):
        return super().__add__(other) * 1.0

    @property
    def double(self):
        return 2 * self

class Plain(np.ndarray):
    pass

class Logged(np.ndarray):
    """A class with NumPy's protocol for ufuncs."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        inputs = [v.view(np.ndarray) if isinstance(v, Logged) else v for v in inputs]
        SEEN.append(ufunc.__name__)
        made = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return made.view(Logged) if isinstance(made, np.ndarray) else made

class Wrapping(np.ndarray):
    """A class with the older protocol for results."""

    def __array_wrap__(self, made, context=None, return_scalar=False):
        if made.ndim == 0:
            return made[()]
        return super().__array_wrap__(made, context, return_scalar)

ORIGIN = Vector([1.0, -2.0, 0.5], "origin")
MATRIX = np.matrix([[1.0, 2.0], [3.0, 5.0]])

def note(y):
    for part in y if isinstance(y, (tuple, list)) else [y]:
        SEEN.append((type(part).__name__, np.shape(part), getattr(part, "name", "none")))
    return np.concatenate([np.ravel(np.asarray(v) * 1.0) for v in
                           (y if isinstance(y, (tuple, list)) else [y])])

def f(x):
    v, p = Vector(x, "v"), np.abs(x).view(Plain)
    w = np.array([x, 2 * x + 1]).view(Plain)
    M = np.asmatrix(np.array([[x[0], 2.0], [x[1], x[2] * x[2] + 3]]))
    c = np.matrix([x[0], x[2]]).T
    return note({})
'''

EXPRESSIONS = """
v.sum(); np.sum(v); w.sum(0); v[0]; v[...]; v[1:]; np.add.reduce(v); np.sin(v); v @ v; w @ v
np.dot(v, v); np.dot(w, v); v.dot(v); np.inner(v, v); np.mean(v); np.mean(w, axis=0); np.std(v)
np.where(v > 0, v, 0); np.concatenate([v, v]); np.stack([v, p]); np.cumsum(v); w.T; v.astype(float)
v.copy(); np.copy(v); w.flatten(); v.max(); v.argmax(); np.cross(v, p); np.linalg.norm(v)
np.array(v); np.asanyarray(v); v.real; np.einsum("i,i", v, p); np.clip(p, 0.9, 2); v == v
np.add.outer(v, p); np.outer(v, p); np.roll(v, 1); np.diff(v); np.sort(v); v.reshape(3, 1)
v.flat[:]; np.zeros_like(v) + x; np.broadcast_to(v, (2, 3)); np.expand_dims(v, 0); np.average(v)
np.median(v); np.percentile(v, 30); np.linalg.solve(np.eye(3) * 2, v); np.linalg.svd(w)[1]
[r for r in w]; v.var(); np.prod(v); v.item(0); v.min(keepdims=True); np.atleast_2d(v)
np.maximum(v, p); -v; v + 1; 1 + v; divmod(p, 0.45); v ** 2; np.modf(p); np.meshgrid(v, p)
np.tile(v, 2); np.append(v, 1); np.nan_to_num(v); np.insert(v, 0, x[1]); np.interp(0.3, v, p)
v.unit(); v.double; v.norm(); Vector.between(v, 1.0); v.half(v); p * v; v * p; x * v; v * x
ORIGIN * x; x * ORIGIN; ORIGIN + v; v - ORIGIN; np.dot(x, ORIGIN); (x + ORIGIN).norm()
np.vstack([ORIGIN, x]); max(v); min(p[0], v[1]); sorted(v)[0]; sum(v); float(v.sum()) * v
math.exp(v.mean()); v.tolist(); np.float64(v.sum()); v.view(); v.view(Plain); v.view(np.ndarray)
isinstance(v, np.ndarray) and isinstance(v, Base) and not isinstance(v, Plain)
type(v) is Vector and v.__class__ is Vector and type(np.sin(v)) is Vector; len(v); v.dimension
x.view(Logged) * 2 + np.exp(x.view(Logged)); np.add.reduce(x.view(Logged)); x.view(Wrapping).sum()
x.view(Wrapping) * x; v[[0, 2]]; v[v > 0]; w[:, 1]; w[0, 1:]
M; M * M; M * c; c.T * c; (c.T * c)[0, 0]; M.T; M.I; M.I * c; M.A * M.A; M.A1; M.H; M ** 2; M[0]
M[:, 1]; M[0, 1]; M[1][0, 0]; M.sum(); M.sum(0); M.mean(axis=1); M.std(); M.max(1)
np.sum(M, axis=1)
M.argmax(); np.multiply(M, M); 2 * M; M * 2; M / 2 - M; M.diagonal(); np.trace(M); np.linalg.det(M)
np.linalg.inv(M); np.linalg.solve(M, c); MATRIX * M; M * MATRIX; MATRIX * x[:2, None]; M.tolist()
x[None, :2] * MATRIX; MATRIX + x[:2]; np.dot(x[:2], MATRIX); M.flatten(); M.ravel(); M.reshape(1, 4)
np.bmat([[M, M], [M.T, c * c.T]]); np.asarray(M); np.array(M); M.copy(); M.astype(float); abs(M)
M.getA(); np.matrix(M, copy=False) is M; np.concatenate([M, M], axis=1); np.vstack([c, c]); M == M
type(M) is np.matrix and isinstance(M, np.matrix) and isinstance(M, np.ndarray); [r for r in M]
np.kron(M, c); M.prod(0); M.squeeze(); np.exp(M); float((c.T * c)[0, 0]); M.tolist()[0][1]; M @ c
"""
EXPRESSIONS = [e for e in re.split(r";\s|\n", EXPRESSIONS) if e]

STATEMENTS = {
    "a write": "y = v.copy(); y[0] = x[1]; y[1:] *= 2; return note([y, y[1]])",
    "a view": "y = v.copy(); z = y[1:]; z[0] = 5 * x[0]; return note([y, z])",
    "augmented": "y = Vector(x); y += x; y *= 2; return note(y)",
    "into an array": "y = np.zeros(3); y += v; y[0] = v[1]; return note(y)",
    "into a matrix": "y = np.matrix(np.zeros((2, 2))); y[0] = x[:2]; y *= M; return note([y, y.T])",
    "out": "y = np.zeros(3).view(Plain); z = np.add(v, 1.0, out=y); return note([y, z])",
    "shape": "y = v.copy(); y.shape = (3, 1); return note(y)",
    "sort": "y = v.copy(); y.sort(); return note(y)",
    "an index": "return note(x[v > 0] * 1.0)",
    "ndarray.__new__": "return note(np.ndarray.__new__(Plain, (3,), float, x * 1.0))",
    "methods by the class": "return note([np.ndarray.sum(v), np.ndarray.__getitem__(v, 0)])",
    "iteration": "return note([a * b for a, b in zip(v, M.A1)])",
    "attributes": "y = v[1:]; y.extra = 2; return note(y * y.extra * y.dimension)",
    "copies": "import copy; return note([copy.copy(v), copy.deepcopy(M)])",
    "case": "match M:\n        case np.matrix(): return note(M)\n    return x",
}

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")
X = np.array([0.7, -1.3, 2.1])


def text_of(statement):
    return HEAD.replace("return note({})", statement)


def both(folder, statement):
    return module_of(folder, text_of(statement)), module_of(folder, text_of(statement))


NESTINGS = [("jvp",), ("vmap", "grad")]
MORE = [("grad",), ("vmap",), ("grad", "vmap"), ("jvp", "jvp"), ("jvp", "grad")]
ROWS = [f"return note({e})" for e in EXPRESSIONS] + list(STATEMENTS.values())


def compare(folder, statement, nestings):
    module, reference = both(folder, statement)
    with ft.adopt(module):
        for names in nestings:
            check(names, module.f, X, reference.f)
        module.SEEN.clear()
        ft.jvp(module.f, (X,), (X,))
    reference.SEEN.clear()
    reference.f(X.copy())
    assert [same_class(k) for k in module.SEEN] == [same_class(k) for k in reference.SEEN]


def same_class(seen):
    """Return what was noted, with one name for a number of NumPy's and of Python's."""
    if isinstance(seen, tuple) and seen[0] in ("float", "float64"):
        return "number", *seen[1:]
    return seen


@pytest.mark.parametrize("start", range(0, len(ROWS), 12))
def test_results_are_of_numpys_class(start, tmp_path):
    for statement in ROWS[start : start + 12]:
        compare(tmp_path, statement, [("jvp",)])


@pytest.mark.slow
@pytest.mark.parametrize("statement", ROWS)
def test_results_under_nestings(statement, tmp_path):
    compare(tmp_path, statement, NESTINGS + MORE)
