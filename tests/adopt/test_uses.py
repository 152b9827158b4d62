"""Each use of a name in an adopted module: what it means plainly, and under transforms."""

import sys

import numpy as np
import pytest
from adopt_support import importable, module_of, write

import functier as ft
from faults.planted import adoption as faulty
from support.differences import check
from support.tables import sources

HEAD = """
import collections, functools, math, numbers
import numpy as np
import numpy.linalg as la
from math import cos as cosine
from numpy import array as make, float64, ndarray, zeros as nulls
M = np.arange(9.0).reshape(3, 3)
"""

X = np.array([0.7, -1.3, 2.1])

CALLS = sources("""
call :: return float(x[0]) * x[1]
keyword call :: return max(x, key=lambda v: v * v) * x[1]
keywords alone :: return max([], default=2.0) * x[1] + complex(real=x[0], imag=x[1]).real
star call :: return max(*x) * x[0] + min(*x, 3.0)
star keywords :: return sorted(x, **{'reverse': True})[0] * x[1]
iterable :: return max(x) * min(list(x)) + max(v * v for v in x)
attributes that a number does not have :: return x[0] ** 2 if not hasattr(x[0], '__len__') and
    hasattr(x[0], 'dtype') else x[1] * x[2]
attributes that an array has :: return x ** 2 if hasattr(x, '__iter__') and hasattr(x, 'tobytes')
    and not hasattr(x, 'iloc') else x
flags :: y = np.outer(x, x).T //
    return (y * x if y.flags.f_contiguous and not y.flags['C_CONTIGUOUS'] else y) *
    x.flags.writeable
mapped :: return np.stack(list(map(float, x))) * sum(map(round, x)) * max(map(float, x), key=float)
mapped by several :: return sum(map(max, x, [0.5, 0.5, 0.5])) * next(map(float64, x))
a key that converts :: return max(x, key=float) * min(list(x), key=float) * sorted(x, key=float)[1]
sorted by key :: return np.stack(sorted(x, key=lambda v: -abs(v))) * x
comprehension :: return np.stack([float(v) ** 2 for v in x])
generator :: return sum(float(v) ** 2 for v in x if isinstance(v, float))
dict comprehension :: return {k: max(v, 0.5) for k, v in enumerate(x)}[1] * x[0]
lambda :: return (lambda v: max(v, 0.0) * float(v))(x[0])
nested :: def g(v): return float(v) * v // return g(x[0]) + g(x[1])
generator function :: def g(): // \tyield float(x[0]) // \tyield max(x[1], 0.1) // return sum(g())
branch in argument :: return float(x[0] if len(x) == 3 else x[1]) * max(len(x) and x[0], 0 or x[2])
chain in argument :: return max(1.0 if 0 < len(x) < 9 else 0.0, x[2]) * float(not x is None)
walrus :: return max((y := x[0] * 2), 0.3) * y
nested calls :: return max(float(x[0]), min(float(x[2]), max(x[1], 5.0)))
format :: f'{float(2.5):{max(3, 4)}.1f}' // return float(x[0]) ** 2
try :: try: return float(x[0]) ** 2 // finally: min(1, 2)
with :: import contextlib // with contextlib.suppress(KeyError): return max(x[0], x[1]) ** 2
loop :: t = 0.0 // for v in sorted(x): t = float(t) * 0.5 + v * v // return t
class body :: class A: // \ty = float(x[0]) // \tz = max(x[1], y) // return A.y * A.z
class body with its own :: class A: // \tdef float(v): return v * 3 // \ty = float(x[0]) //
    return A.y
method :: class A: // \tdef g(self, v): return max(v, float(v) * 2) // return A().g(x[0])
property :: class A: // \t@property // \tdef g(self): return float(x[0]) ** 2 // return A().g
int :: return int(x[2] * 3) * x[0] + int('7', 8) + int(b'3', base=4)
complex :: return (complex(x[0], x[1]) * complex(x[2])).real + complex('1j').imag
case :: match x[0]: // \tcase int(): return x[1] //
    \tcase float(y) if y > -9: return y * float(y) // \tcase _: return x[2]
case of an array :: match x: // \tcase float() | int(): return x * 3 //
    \tcase np.ndarray(ndim=1): y = x * x[0] // \tcase _: y = x // match y: //
    \tcase ndarray(): return y * x
math :: return math.sin(x[0]) * cosine(x[1]) * math.pi + math.pow(x[2], 3)
math of a list :: return math.fsum(x) * math.prod(x) + math.hypot(*x) + math.dist(x, [0, 0, 1])
math rounding :: return math.floor(x[0]) + math.ceil(x[1]) * x[2] ** 2 + math.trunc(x[2])
math truth :: return np.where(math.isclose(x[0], 0.7, rel_tol=0.3), x[1], x[2]) * x[0]
numpy type :: return np.float64(x[0]) * np.float64(2) * np.int64(3.7) + float64(x[1])
numpy type of an array :: return np.float64(x) * x * np.asarray(x, dtype=np.float64)
array of a list :: return np.array([x[0], 2.0, x[1]]) * make([x[2], x[0], 1.0])
ndarray of a tensor :: t = 1.0 if isinstance(x, np.ndarray) and isinstance(x, (int, ndarray)) else
    2.0 // y = np.ndarray((3,)) // y[:] = x // return np.ndarray.sum(x) * y * t
write :: y = np.zeros(3) // y[0] = x[1] // z = nulls(3) // z[1:] = x[:2] ** 2 // return y + z
full :: return np.full(3, x[0]) * x
global in linalg :: return la.norm(x) * np.linalg.norm(x[:2])
import in a function :: import numpy // return numpy.array([x[0], x[1]]) ** 2
import as :: import numpy as n, math as m // return n.array([x[0], m.sin(x[1])]) ** 2
import of a submodule :: import numpy.linalg //
    return numpy.array([x[0], x[1]]) * numpy.linalg.norm(x)
import of a submodule as :: import numpy.linalg as l // return l.norm(np.array([x[0], x[1]]))
import from :: from numpy import array as a, pi // from math import exp, e //
    return a([exp(x[0]), pi, e]) * x
import from a submodule :: from numpy.linalg import norm // return norm(np.array([x[0], x[1]]))
types out of a table :: return {'f': np.float64}['f'](x[0]) * [float, int][0](x[1]) + [max,
    min][len(x) > 2](x) * {0: x}[0]
a table of one that calls :: return {'f': lambda v, w=1.0: float(v) * w}['f'](x[0], w=x[1]) +
    [np.sin][0](*x[:1])
dot of a plain array :: return np.eye(3).dot(x) * M.dot(x).dot(x) + M.T.dot(b=x)
copies of a plain array :: a, b, c = M.copy(), M.astype(float), (M if len(x) else x).flatten() //
    a[0], b[:, 1], c[2:5] = x, x * 2, x[0] // return a.sum(axis=0) * b[1] + c[:3]
copies that are asked for :: return M.copy().tolist()[0][1] * x + M.astype(int).dtype.itemsize +
    len(M.flatten(order='F'))
""")
"""Bodies of ``f(x)`` with calls: value, derivative and batch are those of NumPy."""

VALUES = sources("""
dtype= :: return np.zeros(2, dtype=float) + np.arange(2, dtype=int)
astype :: return x.astype(float).dtype == float and x.dtype == np.float64
type is :: return type(2.0) is float, type(2) is int, type([]) in (float, int, complex)
key :: return {float: 1, int: 2, max: 3}[float], {max: 1}.get(max), float in {float}
called from a table :: return {float: abs, int: str}[type(-2.0)](-2.0), (float, int)[1](2.5)
called from a list :: return [max, min][1](3, 2), (max if x is None else min)(3, 2)
ndarray :: a = type(x) is np.ndarray, x.__class__ == ndarray, type(nulls(2)) is ndarray //
    return a, {np.ndarray: 1}[type(x)], {ndarray} & {np.ndarray}
methods of ndarray :: a = np.ndarray.sum(x), ndarray.sum(x), np.ndarray.__name__ //
    return a, np.ndarray((2,)).shape, ndarray((1,)).dtype
returned :: return (lambda: float)() is float, (lambda: max)()(1, 2)
attribute :: return float.fromhex('0x1p1'), int.from_bytes(*[b'1', 'big']), max.__name__
equal :: return float == float and max is max and (float or int) is float
map :: return list(map(float, [1, 2])), list(map(int, '12'))
key= :: return sorted(['2', '10'], key=float), max('2', '10', key=int)
given on :: return functools.reduce(max, [1, 3, 2]), functools.partial(float, 3)()
default factory :: return collections.defaultdict(float)['a'], collections.defaultdict(int)[1]
subclass :: class F(float): pass // return F(2), isinstance(F(2), float), F.__mro__[1] is float
annotation :: def g(v: float = 2.0) -> int: // \ty: float = v // \treturn y //
    return g.__annotations__
except :: try: float('x') // except (ValueError, np.linalg.LinAlgError) as e: return str(e)
raised :: try: max() // except TypeError as e: return str(e)
except of linalg :: try: la.inv(nulls((2, 2))) // except la.LinAlgError: return 'singular'
local :: max = lambda a, b: 'mine' // return max(1, 2), [max(1, 2) for _ in 'a']
parameter :: def g(float): return float(2) // return g(str)
enclosing :: def float(v): return 'mine' // def g(): return float(2) // return g()
match :: match 2.5: // \tcase float() as y: return y // return None
issubclass :: return issubclass(float, numbers.Number), issubclass(np.float64, float)
isinstance :: return isinstance(2, (int, float)), isinstance(2, int | str), isinstance(x,
    np.ndarray)
keywords of functions :: return int('12', base=8), float(), int(), complex(), sorted('ba')
decorator :: @list // @sorted // @lambda g: g() // def h(): yield from (3, 2) // return h
delete :: global gone // gone = 3 // del gone // return 'gone' in globals()
exec :: return eval('float(2)'), eval('float is type(2.0)')
ufunc :: return np.add.reduce([1, 2]), np.maximum(1, 2), np.float64 is float64
constants :: return math.pi, math.e, math.inf, math.tau, np.pi, np.newaxis, math.nan is math.nan
names :: return math.sin.__name__, math.__name__, np.zeros.__name__
""")
"""Bodies whose results are those of the module that is not adopted."""


def body(text):
    lines = text.strip().replace("\n", "\n    ")
    return f"{HEAD}\n\ndef f(x):\n    {lines}\n"


def compare(folder, text, nestings, x=X):
    """Check a module that is adopted against one of the same text that is not."""
    module, reference = module_of(folder, text), module_of(folder, text)
    with ft.adopt(module):
        for names in nestings:
            check(names, module.f, x, reference.f)


NESTINGS = [("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "vmap")]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_tensors(name, tmp_path):
    compare(tmp_path, body(CALLS[name]), NESTINGS)


@pytest.mark.parametrize("name", [*CALLS, *VALUES])
def test_without_tensors_a_use_is_what_it_was(name, tmp_path):
    text = body((CALLS | VALUES)[name])
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    expected = reference.f(X.copy())
    with ft.adopt(module):
        found = module.f(X.copy())

    assert type(found) is type(expected)
    np.testing.assert_equal(found, expected)


MODULES = {
    "default argument": """
        def f(x, norm=np.linalg.norm, make=np.array):
            return norm(make([x[0], x[1]]))
        """,
    "keyword default": "def f(x, *, sin=math.sin, to=float):\n    return sin(x[0]) * to(3)",
    "class attribute": """
        class A:
            norm = staticmethod(np.linalg.norm)
            make = np.array
            def g(self, x):
                return self.norm(self.make([x[0], x[1]])) + A.make([x[2]])[0]
        def f(x):
            return A().g(x)
        """,
    "class attribute of math": """
        class A:
            sin = math.sin
        def f(x):
            return A().sin(x[0]) * A.sin(x[1])
        """,
    "methods": """
        class A:
            def __init__(self, x): self.x = float(x)
            @classmethod
            def make(cls, x): return cls(max(x, 0.1))
            @staticmethod
            def twice(x): return 2 * float(x)
            @property
            def square(self): return math.pow(self.x, 2)
            @functools.cached_property
            def cube(self): return math.pow(self.x, 3)
            class B:
                def g(self, x): return max(x, -9.0)
        def f(x):
            a = A.make(x[0])
            return a.square * a.cube + A.twice(x[1]) * A.B().g(x[2])
        """,
    "decorated": """
        def decorate(g):
            @functools.wraps(g)
            def inner(*args):
                return float(g(*args)) * 2
            return inner
        @decorate
        def g(x):
            return max(x[0], x[1])
        f = decorate(functools.partial(g))
        """,
    "vectorized": """
        @np.vectorize
        def g(v, a=2.0):
            return math.sin(v) * max(v, a)
        class A:
            h = staticmethod(np.vectorize(lambda v: float(v) ** 2, otypes=[float]))
        def f(x):
            return g(x) * A.h(x)
        """,
    "in a table": """
        TABLE = {"a": [lambda x: float(x[0]) ** 2]}
        def f(x):
            return TABLE["a"][0](x)
        """,
    "the module's own": """
        def max(a, b):
            return a * b
        def f(x):
            return max(x[0], x[1]) * float(x[2])
        """,
    "an own name later": """
        def change():
            global min
            min = lambda a, b: a * b
        def f(x):
            change()
            return min(x[0], x[1])
        """,
    "another name": """
        biggest, to = max, float
        def f(x):
            return biggest(to(x[0]), x[2]) ** 2
        """,
    "both uses in one function": """
        def f(x):
            kinds = {float: 2.0, int: 3.0}
            return kinds[float] * float(x[0]) * np.ones(2, dtype=float) * (type(2.0) is float)
        """,
    "many names": "def f(x):\n    return "
    + " + ".join(["0.0", *[f"float(x[0]) * v{i}" for i in range(300)]])
    + " + max(float(x[0]), 2.0)\n"
    + "".join([f"v{i} = {i / 100}\n" for i in range(300)]),
}
"""Modules with a function ``f(x)``."""


def text_of(name):
    import textwrap

    return HEAD + textwrap.dedent(MODULES[name])


@pytest.mark.parametrize("name", MODULES)
def test_a_module_takes_tensors(name, tmp_path):
    compare(tmp_path, text_of(name), NESTINGS)


def test_a_closure_that_a_caller_keeps_takes_tensors(tmp_path):
    text = (
        HEAD
        + "def make(a):\n    def g(x):\n        return float(x[0]) * max(a, x[1])\n    return g\n"
    )
    module, reference = module_of(tmp_path, text), module_of(tmp_path, text)
    before = module.make(0.5)
    with ft.adopt(module):
        inside = module.make(0.5)
        for g in (before, inside):
            check(("grad",), g, X, reference.make(0.5))
            check(("vmap",), g, X, reference.make(0.5))
    assert "float" in before.__code__.co_names
    assert before.__code__ is inside.__code__ is module.make(0.5).__code__


def test_another_module_gets_what_it_would(tmp_path):
    files = {
        "giver.py": "import numpy as np\ndef f(g):\n    return g(float), g(np.float64), g(max)"
    }
    write(tmp_path, files)
    with importable(tmp_path), ft.adopt("giver"):
        given = sys.modules["giver"].f(lambda value: value)

    assert given == (float, np.float64, max)


# ---- planted faults ----


@pytest.mark.parametrize("fault", faulty.FAULTS_OF_USES)
def test_a_planted_fault_is_found(fault, tmp_path, monkeypatch):
    if fault == "a mark is enough" and sys.version_info >= (3, 13):
        pytest.skip("it is, since then")
    plant, row = faulty.FAULTS_OF_USES[fault]
    plant(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017  # of any kind: it is found
        if row in MODULES:
            test_a_module_takes_tensors(row, tmp_path)
        elif row in CALLS:
            test_a_call_takes_tensors(row, tmp_path)
        else:
            test_without_tensors_a_use_is_what_it_was(row, tmp_path)
