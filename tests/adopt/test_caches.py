"""Functions with caches in adopted code: tensors pass the cache by."""

import copy
import functools
import importlib
import inspect
import pickle
import sys

import numpy as np
import pytest
from adopt_support import importable, module_of, state, write

import functier as ft
from faults.planted import adoption as faulty
from support.basics import raises
from support.differences import check

CACHED = type(functools.cache(len))

SQUARE = """
import functools, math
from functools import lru_cache

CALLS = []

@lru_cache(maxsize=8)
def square(x, power=2):
    CALLS.append(1)
    return math.pow(float(x), power)
"""

MODELS = {
    "a function": SQUARE + "def f(x):\n    return square(x[0]) + 3.0 * square(x[1])",
    "a keyword": SQUARE + "def f(x):\n    return square(x=x[0]) + 3.0 * square(x=x[1], power=3)",
    "cache": "import functools\nimport numpy as np\n@functools.cache\ndef g(x):\n"
    "    return np.sin(x)\ndef f(x):\n    return g(x[0]) * g(x[1])",
    "a method": """
import functools, math

class Model:
    scale = 2.0

    @functools.lru_cache(None)
    def square(self, x):
        return math.exp(x) * self.scale

def f(x):
    return Model().square(x[0]) - 2.0 * Model().square(x[1])
""",
    "methods of a class": """
import functools, math

class Model:
    scale = 2.0

    @staticmethod
    @functools.lru_cache
    def static(x):
        return math.exp(x)

    @classmethod
    @functools.lru_cache
    def of_class(cls, x):
        return math.sin(x) * cls.scale

def f(x):
    return Model.static(x[0]) * Model().of_class(x[1]) + Model().static(x[1])
""",
    "tuples": SQUARE
    + """
@functools.lru_cache
def both(pair, *rest):
    return pair[0] * pair[1][0] + sum(rest)

def f(x):
    return both((x[0], (x[1], 1.0))) + both((x[1], (x[1], 2.0)), 2.0)
""",
    "a call of itself": """
import functools

@functools.lru_cache(None)
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)

def f(x):
    return power(x[0], 3) + power(x[1], 2)
""",
    "an alias": SQUARE + "other = square\ndef f(x):\n    return other(x[0]) * square(x[2])",
    "a frozen dataclass": """
import functools, math
from dataclasses import dataclass

@dataclass(frozen=True)
class Gas:
    pressure: float
    volume: tuple

    @functools.lru_cache
    def work(self, factor=2.0):
        return self.pressure * math.exp(self.volume[0]) * factor

def f(x):
    return Gas(x[0], (x[1], 1.0)).work() + Gas(x[1], (x[1], 1.0)).work(factor=x[0])
""",
    "made inside": """
import functools
from functools import lru_cache, cache as memo

class Model:
    def __init__(self, scale):
        self.scale = scale
        self.square = functools.lru_cache(maxsize=None)(self._square)

    def _square(self, x):
        return x * x * self.scale

def f(x):
    @functools.lru_cache
    def first(y):
        return y * x[2]

    @lru_cache(maxsize=4, typed=True)
    def second(y):
        return y * first(y)

    @memo
    def third(y):
        return y + x[0]

    @functools.cache
    def fourth(y):
        return third(y) * 2.0

    assert second.cache_parameters() == {"maxsize": 4, "typed": True}
    return Model(x[0]).square(x[1]) + second(x[0]) + fourth(x[1])
""",
    "in containers and closures": """
import functools, math

def exp(x):
    return math.exp(x)

def make(g):
    kept = functools.lru_cache(g)
    def call(x):
        return kept(x)
    return call

class Model:
    def __init__(self):
        self.sine = functools.lru_cache(lambda x: math.sin(x))

TABLE = {"exp": functools.lru_cache(exp)}
LIST = [functools.cache(lambda x: x * x)]
PART = functools.partial(functools.cache(lambda x, y: x * y), 2.0)
model, square = Model(), make(lambda x: math.pow(x, 2.0))

def f(x):
    return TABLE["exp"](x[0]) + LIST[0](x[1]) * PART(x[1]) + model.sine(x[0]) * square(x[2])
""",
    "a cached property": """
import functools

class Model:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def square(self):
        return self.x * self.x

def f(x):
    model = Model(x[0])
    return model.square + model.square * x[1]
""",
}

XS = np.array([[1.0, 1.0, 2.0], [0.5, 1.5, 0.25], [1.0, 1.0, 2.0]])


def run(model):
    """Compare derivatives and batches of an adopted model, and what it is afterwards."""
    before = state(model)
    with ft.adopt(model):
        for x in XS:
            for nesting in (), ("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("jvp", "grad"):
                check(nesting, model.f, x)
            np.testing.assert_allclose(model.f(x), model.f(x))
        found = ft.vmap(ft.grad(model.f))(XS)
        np.testing.assert_allclose(found, [ft.grad(model.f)(x) for x in XS])
    assert state(model) == before


@pytest.mark.parametrize("name", MODELS)
def test_tensors_pass_the_cache_by(name, tmp_path):
    run(module_of(tmp_path, MODELS[name]))


@pytest.mark.parametrize("name", sorted({*MODELS} - {"a cached property"}))
def test_without_an_adoption_it_is_refused(name, tmp_path):
    model = module_of(tmp_path, MODELS[name].replace("math.", "numpy.").replace(", math", ", numpy")
                      .replace("numpy.pow(float(x)", "numpy.power((x)"))  # fmt: skip
    with pytest.raises(ft.ConversionError, match=r"^grad\(f\): hash\(x\)"):
        ft.grad(model.f)(XS[0])


def test_keys_of_tensors_in_the_cache_are_found(tmp_path, monkeypatch):
    """The check fails where tensors do not pass the cache by and have the hash of their value."""
    faulty.keys_of_tensors_in_the_cache(monkeypatch)
    raises(ft.ConversionError, lambda: run(module_of(tmp_path, MODELS["a function"])), "hash(x)")


def test_plain_calls_have_the_cache(tmp_path):
    model = module_of(tmp_path, SQUARE)
    model.square(2.0)
    with ft.adopt(model):
        assert model.square(2.0) == 4.0 and len(model.CALLS) == 1
        assert model.square.cache_info() == (1, 1, 8, 1)
        assert model.square.cache_parameters() == {"maxsize": 8, "typed": False}
        model.square(3.0)
        assert ft.grad(model.square)(3.0) == 6.0 and ft.grad(model.square)(3.0) == 6.0
        assert model.square.cache_info().currsize == 2
        model.square.cache_clear()
        assert model.square.cache_info() == (0, 0, 8, 0)
        model.square.note = 1
    assert model.square.note == 1 and isinstance(model.square, CACHED)


def test_an_array_is_no_key(tmp_path):
    model = module_of(tmp_path, SQUARE)
    with ft.adopt(model):
        for x in (np.ones(2), [1.0]):
            raises(TypeError, lambda: model.square(x), "unhashable type")
        raises(TypeError, lambda: ft.grad(model.square)(np.ones(2)), "unhashable type")


def test_it_looks_like_the_original(tmp_path):
    model = module_of(tmp_path, SQUARE)
    original = model.square
    with ft.adopt(model):
        twin = model.square
        assert twin is not original and twin == original and hash(twin) == hash(original)
        assert {original: 1}[twin] == 1 and twin != len
        assert inspect.signature(twin) == inspect.signature(original)
        assert twin.__name__ == "square" and twin.__module__ == model.__name__
        assert twin.__wrapped__ is original.__wrapped__ and isinstance(twin, CACHED)
        assert repr(twin) == repr(original) and dir(twin) == dir(original)
        assert copy.copy(twin) is twin and copy.deepcopy(twin) is twin
        around = functools.wraps(twin)(lambda x: twin(x))
        assert around.__wrapped__ is twin
        assert vars(around).keys() == vars(functools.wraps(original)(lambda x: x)).keys()
        sys.modules[model.__name__] = model
        try:
            assert pickle.loads(pickle.dumps(twin)) is twin
        finally:
            del sys.modules[model.__name__]


def test_other_modules_of_the_package(tmp_path):
    """One twin for all, also where a module is imported later; the way back is for all."""
    write(tmp_path, {
        "cached_package/__init__.py": "",
        "cached_package/first.py": SQUARE,
        "cached_package/second.py": "from .first import square\n"
        "def f(x):\n    return square(x) * x",
        "cached_package/later.py": "from .first import square\nfrom . import first\n"
        "def f(x):\n    return square(x) * first.square(x)",
    })  # fmt: skip
    with importable(tmp_path):
        second = importlib.import_module("cached_package.second")
        first = sys.modules["cached_package.first"]
        original = first.square
        with ft.adopt("cached_package"):
            later = importlib.import_module("cached_package.later")
            assert first.square is second.square is later.square is not original
            assert ft.grad(second.f)(2.0) == 12.0
            assert ft.grad(later.f)(2.0) == 32.0
            with ft.adopt(second):
                assert second.square is first.square
            assert second.square is first.square
        assert first.square is second.square is later.square is original
        assert second.f(2.0) == 8.0


CONSTANTS = """
import functools
import numpy as np

class Table(np.ndarray):
    def __new__(cls, data):
        return np.asarray(data).view(cls)
    def __array__(self):
        return np.asarray(self)

@functools.lru_cache(8)
def table(n):
    made = np.zeros(n)
    made[0] = 2.0
    return made, Table([[0.0, 1.0], [1.0, 0.0]])

def f(x):
    row, pairs = table(3)
    return np.sum(row) * x + np.sum(pairs * x)
"""


@pytest.mark.parametrize("transform", [ft.grad, ft.compile, lambda f: ft.compile(ft.grad(f))])
def test_constants_in_a_cache_are_numpys(transform, tmp_path):
    """They are kept for plain calls, too, so no level makes them."""
    model = module_of(tmp_path, CONSTANTS)
    with ft.adopt(model):
        transform(model.f)(1.5)
        row, pairs = model.table(3)
        assert type(row) is np.ndarray and type(pairs) is model.Table
        assert model.f(1.5) == 6.0
        assert ft.grad(model.f)(1.5) == 4.0 and model.table.cache_info().misses == 1
    assert model.f(1.5) == 6.0
