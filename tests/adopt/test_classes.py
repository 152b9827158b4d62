"""Questions of adopted code about a class, and objects through which it reaches NumPy."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
import functier.numpy as fnp
from faults.planted import adoption as faulty
from support.differences import check

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


def test_a_fault_is_found(tmp_path, monkeypatch):
    faulty.fault(monkeypatch)
    for name in ("is", "singledispatch", "singledispatchmethod"):
        with pytest.raises(AssertionError):
            test_it_is_numpys(name, tmp_path)


# ---- objects through which adopted code reaches NumPy ----


BODY = """
def f(x):
    y = {0}.empty(2 * len(x))
    y[::2] = x ** 2
    y[1::2] = {0}.array([x[0], 1.0, float(x[2])])
    return y[1:] * {0}.sin(y[:-1]) if isinstance(y, {0}.ndarray) else None
"""

SHIM = """
import importlib, math, types
import numpy

class Shim:
    def __init__(self, source):
        self.source = source

    def __getattr__(self, name):
        return getattr(self.source, name)
"""

LAZY = """
import importlib, types

class Lazy(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.path = name

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(importlib.import_module(self.path), name)
"""

TEXTS = {
    "a shim": SHIM + "xp = Shim(numpy)" + BODY.format("xp"),
    "a shim of a shim": SHIM + "xp = Shim(Shim(numpy))" + BODY.format("xp"),
    "a shim that hides numpy": SHIM + "numpy = Shim(numpy)" + BODY.format("numpy"),
    "a lazy module": LAZY + "xp = Lazy('numpy')" + BODY.format("xp"),
    "an attribute": """
class Backend:
    def __init__(self, module):
        self.np = module
import numpy
backend = Backend(numpy)"""
    + BODY.format("backend.np"),
    "a namespace": "import numpy, types\nspace = types.SimpleNamespace(np=numpy)"
    + BODY.format("space.np"),
    "functions": """
import numpy, types
space = types.SimpleNamespace(
    empty=numpy.empty, array=numpy.array, sin=numpy.sin, ndarray=numpy.ndarray
)"""
    + BODY.format("space"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_an_object_leads_to_twins(name, tmp_path):
    module, plain = [module_of(tmp_path, TEXTS[name]) for _ in range(2)]
    names = dict(vars(module))
    with ft.adopt(module):
        for nesting in (("grad",), ("jvp",), ("vmap",), ("vmap", "grad")):
            check(nesting, module.f, X, plain.f)
    assert vars(module) == names
    with pytest.raises(ft.LevelError):
        ft.grad(lambda x: np.sum(module.f(x)))(X)


def test_a_shim_takes_another_backend(tmp_path):
    module = module_of(tmp_path, TEXTS["a shim"])
    with ft.adopt(module):
        assert module.xp.source is fnp
        module.xp.source = "changed meanwhile"
    assert module.xp.source == "changed meanwhile"


def test_a_lazy_module_is_as_it_was(tmp_path):
    module = module_of(tmp_path, TEXTS["a lazy module"])
    lazy = module.xp
    with ft.adopt(module):
        assert module.xp.path == "numpy" and "zeros" not in vars(lazy)
        module.xp.path = "math"
        assert module.xp.tau == lazy.tau and repr(module.xp) == repr(lazy)
        del module.xp.path
    assert module.xp is lazy and "path" not in vars(lazy)


POLYNOMIALS = """
import numpy as np
from scipy.interpolate import PPoly

class Form(PPoly):
    @property
    def order(self):
        return len(self.c)

class Doubled(PPoly):
    def __call__(self, x):
        return 2 * super().__call__(x)

def f(x, kind=Form):
    form = kind.construct_fast(np.array([[x[0], 1.0], [0.5, x[1]]]), np.array([0.0, 1.0, 2.0]))
    return form(np.array([0.5, 1.5])) * getattr(form, "order", 1)
"""


def test_a_subclass_of_scipy_s_inherits_from_the_twin_of_its_base(tmp_path):
    module, plain = module_of(tmp_path, POLYNOMIALS), module_of(tmp_path, POLYNOMIALS)
    base = module.Form.__bases__
    with ft.adopt(module):
        assert module.Form.__bases__ != base and module.Doubled.__bases__ == base
        for nesting in (("grad",), ("jvp",), ("vmap",), ("vmap", "grad")):
            check(nesting, module.f, X, plain.f)
        with pytest.raises(ft.ConversionError):
            ft.grad(lambda x: np.sum(module.f(x, module.Doubled)))(X)
        kept = module.Form.construct_fast(np.array([[2.0]]), np.array([0.0, 1.0]))
    assert module.Form.__bases__ == base and kept(0.5) == 2.0
    assert np.array_equal(module.f(X), plain.f(X))


def test_an_object_of_another_package_stays(tmp_path):
    other = module_of(tmp_path, SHIM + "xp = Shim(numpy)\n")
    module = module_of(tmp_path, "xp = None\n" + BODY.format("xp"))
    module.xp = other.xp
    with ft.adopt(module):
        assert other.xp.source is np and module.xp is other.xp


def test_an_object_whose_attributes_raise_is_no_obstacle(tmp_path):
    text = "class Odd:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n"
    module = module_of(tmp_path, f"{text}x = Odd()\n")
    with ft.adopt(module):
        assert type(module.x).__name__ == "Odd"


@pytest.mark.parametrize("part", ["_bind_inside", "forwarding"])
def test_a_planted_fault_is_found(part, tmp_path, monkeypatch):
    faulty.nothing_is_bound_by(part, monkeypatch)
    with pytest.raises((AssertionError, ft.LevelError)):
        test_an_object_leads_to_twins(
            "a shim" if part == "_bind_inside" else "a lazy module", tmp_path
        )
