"""The class that a tensor shows to adopted code: ``x.__class__`` and `functools.singledispatch`."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from differences import check
from functier._adopt import caches
from functier._core.adopted import ADOPTED, ClassAttribute

HEAD = """
import functools, numbers
from functools import singledispatch as dispatch
import numpy as np

@functools.singledispatch
def by_class(x):
    return 5 * x

@by_class.register(float)
def _(x):
    return x ** 2

@by_class.register(np.ndarray)
def _(x):
    return np.cumsum(x * x)

class Methods:
    @functools.singledispatchmethod
    def method(self, x):
        return -x

    @method.register
    def _(self, x: np.ndarray):
        return x ** 3

    def name(self):
        return self.__class__.__name__

"""

FUNCTIONS = {
    "is": "return 2 * x if x.__class__ is np.ndarray else 3 * x",
    "equal": "return 2 * x if x.__class__ == np.ndarray else 3 * x",
    "of an element": "return x * 3 if x[0].__class__ == float else x * x",
    "in": "return x ** 2 if x.__class__ in (list, np.ndarray) else x",
    "its name": "return x ** 2 if x.__class__.__name__ == 'ndarray' else x",
    "of an array": "y = np.zeros(3); y[:] = x; return y ** 2 if y.__class__ is np.ndarray else y",
    "issubclass": "return x * x if issubclass(x.__class__, np.ndarray) else x",
    "singledispatch": "return by_class(x) + by_class(x[0])",
    "singledispatchmethod": "return Methods().method(x)",
    "made inside": """
    @dispatch
    def f(x):
        return x
    @f.register(np.ndarray)
    def _(x):
        return x * x[::-1]
    return f(x)""",
    "a class of its own": "return x * (Methods().__class__ is Methods)",
}

X = np.array([0.7, -1.3, 2.1])
NESTINGS = [("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "vmap")]


def modules(folder, name):
    text = f"{HEAD}def f(x):\n    {FUNCTIONS[name]}\n"
    return module_of(folder, text), module_of(folder, text)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_numpys(name, tmp_path):
    module, reference = modules(tmp_path, name)
    with ft.adopt(module):
        for names in NESTINGS:
            check(names, module.f, X, reference.f)


def test_numbers(tmp_path):
    text = f"{HEAD}def f(x): return 2 * x if x.__class__ is float else 3 * x"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        assert ft.grad(module.f)(1.5) == 2.0 and ft.grad(module.f)(np.float64(1.5)) == 3.0
        assert ft.grad(module.by_class)(1.5) == 3.0
        assert ft.vmap(module.f)(np.ones(2)).tolist() == [3.0, 3.0]


def test_other_code_sees_the_tensor(tmp_path):
    module, _ = modules(tmp_path, "is")
    seen, before = [], set(ADOPTED)
    with ft.adopt(module):
        ft.grad(lambda x: (seen.append(x.__class__ is type(x)), x)[1])(1.0)
        assert "__get__" in vars(ClassAttribute)
    assert seen == [True] and (before or "__get__" not in vars(ClassAttribute))


def test_only_code_that_asks_for_it_has_it(tmp_path):
    module = module_of(tmp_path, "class A:\n    def f(self): return self.__class__.__name__")
    before = "__get__" in vars(ClassAttribute)
    with ft.adopt(module):
        assert ("__get__" in vars(ClassAttribute)) == before and module.A().f() == "A"


def test_a_fault_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "type_", type)
    for name in ("is", "singledispatch", "singledispatchmethod"):
        with pytest.raises(AssertionError):
            test_it_is_numpys(name, tmp_path)
