"""Subclasses of NumPy's array in adopted modules: values, classes and attributes are NumPy's."""

import re

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from faults.planted import adoption as faulty
from support.differences import check

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

class Old(np.ndarray):
    """A class that makes its instances by NumPy's ``__new__``."""

    def __new__(subtype, values, name=None):
        q = np.array(values, dtype=float)
        made = super(Old, subtype).__new__(subtype, q.shape, float, q)
        made.name = name
        return made

    def norm(self):
        return np.sqrt(self @ self)

class New(Old):
    def __new__(cls, values):
        q = np.array(values, dtype=float)
        made = super(Old, cls).__new__(cls, shape=(3,), dtype=float, buffer=q)
        return made

class Newest(np.ndarray):
    def __new__(cls, values):
        q = np.array(values, dtype=float)
        return super().__new__(cls, q.shape, q.dtype, buffer=q)

ORIGIN = Vector([1.0, -2.0, 0.5], "origin")
MATRIX = np.matrix([[1.0, 2.0], [3.0, 5.0]])

def note(y):
    for part in y if isinstance(y, (tuple, list)) else [y]:
        SEEN.append((type(part).__name__, np.shape(part), getattr(part, "name", "none")))
    return np.concatenate([np.ravel(np.asarray(v) * 1.0) for v in
                           (y if isinstance(y, (tuple, list)) else [y])])
'''

FUNCTION = """

def f{i}(x):
    v, p = Vector(x, "v"), np.abs(x).view(Plain)
    w = np.array([x, 2 * x + 1]).view(Plain)
    M = np.asmatrix(np.array([[x[0], 2.0], [x[1], x[2] * x[2] + 3]]))
    c = np.matrix([x[0], x[2]]).T
    {statement}
"""

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
np.ravel(M); np.ravel(v); np.squeeze(M); np.diagonal(M); np.reshape(M, (4, 1)); np.repeat(M, 2)
np.max(M, axis=0); np.mean(M); np.cumsum(M); np.sort(M); np.take(M, [1, 0]); np.unique(M)
np.argmax(M, axis=0) * c; np.transpose(M); np.prod(M, axis=0); np.swapaxes(M, 0, 1); np.round(M)
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
    "old": "y = Old([x[0], 1.0, x[2]], 'o'); return note([y * x, y.norm()])",
    "new": "y = New(x * 2); return note([y, y.norm()])",
    "newest": "y = Newest(x * 2); return note([y[1:], Newest([1.0, 2.0])])",
    "methods by the class": "return note([np.ndarray.sum(v), np.ndarray.__getitem__(v, 0)])",
    "views by keywords": (
        "y = x.view(type=Plain, dtype=x.dtype); z = v.view(type=Base); w = y.view(dtype=float)\n"
        "    return note([y, z, w, y.__pow__(2, None)])"
    ),
    "iteration": "return note([a * b for a, b in zip(v, M.A1)])",
    "attributes": "y = v[1:]; y.extra = 2; return note(y * y.extra * y.dimension)",
    "copies": "import copy; return note([copy.copy(v), copy.deepcopy(M)])",
    "case": "match M:\n        case np.matrix(): return note(M)\n    return x",
}

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")
X = np.array([0.7, -1.3, 2.1])


NESTINGS = [("vmap", "grad"), ("grad",), ("vmap",), ("grad", "vmap"), ("jvp", "jvp")]
ROWS = [f"return note({e})" for e in EXPRESSIONS] + list(STATEMENTS.values())
TEXT = HEAD + "".join(FUNCTION.format(i=i, statement=row) for i, row in enumerate(ROWS))


def same_class(seen):
    """Return what was noted, with one name for a number of NumPy's and of Python's."""
    if isinstance(seen, tuple) and seen[0] in ("float", "float64"):
        return "number", *seen[1:]
    return seen


def failure(module, reference, i, nestings):
    """Return what is wrong with a row, or None."""
    f, plain = getattr(module, f"f{i}"), getattr(reference, f"f{i}")
    try:
        for names in nestings:
            module.SEEN.clear()
            check(names, f, X, plain)
    except Exception as error:
        return f"{ROWS[i]}: {type(error).__name__}: {error}"
    found = [same_class(k) for k in module.SEEN]
    reference.SEEN.clear()
    plain(X.copy())
    wanted = [same_class(k) for k in reference.SEEN]
    return None if found == wanted else f"{ROWS[i]}: {found} for {wanted}"


def failures(folder, nestings, text=TEXT, rows=None):
    module, reference = module_of(folder, text), module_of(folder, TEXT)
    with ft.adopt(module):
        found = [failure(module, reference, i, nestings) for i in rows or range(len(ROWS))]
    return [text for text in found if text is not None]


def test_results_are_of_numpys_class(tmp_path):
    assert failures(tmp_path, [("jvp",)]) == []


@pytest.mark.slow
def test_results_under_nestings(tmp_path):
    assert failures(tmp_path, NESTINGS) == []


@pytest.mark.parametrize("name", faulty.FAULTS_OF_SUBCLASSES)
def test_a_fault_is_found(name, tmp_path, monkeypatch):
    faulty.fault_of_subclasses(monkeypatch, name)
    assert failures(tmp_path, [("jvp",)], rows=range(8))


def test_a_method_of_another_value_is_found(tmp_path):
    rows = [ROWS.index("return note(v.norm())")]
    assert failures(tmp_path, [("jvp",)], TEXT.replace("* self.scale", "* 2.0"), rows)


REFUSED = """
import numpy as np
import functier as ft

class Initialised(np.ndarray):
    def __new__(cls, x, unit): return np.asarray(x).view(cls)
    def __init__(self, x, unit): self.unit = unit

class Meta(type): pass
class Odd(np.ndarray, metaclass=Meta): pass
class Vector(np.ndarray): pass

def initialised(x): return Initialised(x, 2.0).unit * x
def odd(x): return x.view(Odd)
def masked(x): return x.view(np.ma.MaskedArray)
def another_dtype(x): return x.view(Vector).view(np.int64)
def inner(x): return ft.vmap(lambda m: m * m)(np.asmatrix([x, x]))
def memory(x): return x.view(Vector).tobytes()
def strided(x): return np.ndarray.__new__(Vector, (2,), float, x, 8)
def three_axes(x): return np.matrix(np.ones((2, 2, 2)) * x[0])
def into_plain(x): y = Vector((3,)); y[0] = x[0]; return y
"""


@pytest.mark.parametrize(
    "name, words",
    {
        "initialised": r"x\.view\(Initialised\): its __init__ would not run",
        "odd": r"x\.view\(Odd\): its class is a Meta",
        "masked": r"x\.view\(MaskedArray\) would put a tensor",
        "another_dtype": r"x\.view\(dtype\) reads the memory",
        "inner": "numpy.matrix of a tensor, whose class a transform would not keep",
        "memory": r"x\.tobytes\(\.\.\.\) is about the memory",
        "strided": r"a tensor hides its memory; write x\.reshape\(shape\)\.view\(Vector\)",
        "three_axes": "matrix must be 2-dimensional",
        "into_plain": "would lose the derivative|would turn a batch|made outside",
    }.items(),
)
def test_what_is_refused(name, words, tmp_path):
    module = module_of(tmp_path, REFUSED)
    with ft.adopt(module), pytest.raises(Exception, match=words):
        ft.jvp(getattr(module, name), (X,), (X,))


def test_outside_of_levels_and_after_the_adoption_all_is_numpys(tmp_path):
    module = module_of(tmp_path, TEXT)
    with ft.adopt(module):
        assert type(module.Vector(X)) is module.Vector
        assert type(module.np.asmatrix(X)) is np.matrix
    for made in (ft.vmap(lambda x: x.view(module.Vector))(np.stack([X, X])),
                 ft.jvp(lambda x: x.view(module.Vector), (X,), (X,))[1]):  # fmt: skip
        assert type(made) is np.ndarray


def test_a_compiled_function_that_returns_an_instance_runs_itself(tmp_path):
    module = module_of(tmp_path, HEAD + "\ndef f(x): return [Vector(x, 'own').unit()]\n")
    x = np.array([3.0, 4.0])
    with ft.adopt(module):
        compiled = ft.compile(module.f)
        for _ in range(2):
            [found] = compiled(x)
            assert type(found) is module.Vector
            assert np.array_equal(found, module.f(x)[0])
        assert "an array of the class Vector" in compiled.explain()
        with pytest.raises(ft.LevelError, match="returns a Vector, whose values"):
            ft.trace(module.f)(x)
