"""Adoptions: undo, counts, threads, packages, later imports, and what is refused."""

import functools
import gc
import importlib
import math
import pickle
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest
from adopt_support import importable, module_of, state, write

import functier as ft
import functier.numpy  # which has a finder
from faults.planted import adoption as faulty
from support.basics import in_threads, raises

TEXT = """
import functools, math
import numpy as np
from numpy import zeros, linalg as la, float64

SCALE = 2.0

def f(x, norm=np.linalg.norm, *, sin=math.sin):
    import numpy.fft
    return float(x[0]) * max(x[1], sin(x[2])) * norm(np.array([x[0], x[1]])) * float64(x[2])

def make(a):
    def g(x):
        return float(x) * a
    return g

def generate(x):
    for v in x:
        yield float(v)
        yield np.float64(v)

class A:
    norm = np.linalg.norm
    root = math.sqrt
    both = staticmethod(np.zeros)

    def g(self, x):
        return isinstance(x, float)

    @functools.cached_property
    def h(self):
        return int(2.5)
"""

X = np.array([0.7, -1.3, 2.1])


@pytest.fixture
def module(tmp_path):
    made = module_of(tmp_path, TEXT)
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


@pytest.fixture(autouse=True)
def no_finder_is_left(nothing_is_adopted):
    finders = _finders()
    yield
    assert _finders() == finders


def _finders():
    """The finders of imports but those of the mirrors, which stay."""
    return [finder for finder in sys.meta_path if not hasattr(finder, "mirrored")]


def works(module):
    """Tell if the module takes tensors."""
    try:
        ft.grad(module.f)(X)
    except ft.LevelError:
        return False
    return True


def test_undo_restores_everything(module):
    closure = module.make(3.0)
    before, code = state(module), closure.__code__
    for _ in range(2):
        adopted = ft.adopt(module)
        assert works(module) and ft.grad(closure)(2.0) == 3.0
        assert state(module) != before
        adopted.undo()
        adopted.undo()
        assert state(module) == before and closure.__code__ is code and not works(module)


def test_odd_objects_in_a_module_are_no_obstacle(module):
    module.proxy = weakref.proxy(set())  # that refers to nothing any more
    module.itself = [module]
    module.itself.append(module.itself)
    module.strange = type("Strange", (), {"__class__": property(lambda self: 1 / 0)})()
    with ft.adopt(module):
        assert works(module)


def test_functions_keep_their_identity(module):
    f, method = module.f, module.A.g
    with ft.adopt(module):
        assert module.f is f and module.A.g is method
        assert pickle.loads(pickle.dumps(f)) is f
        assert pickle.loads(pickle.dumps(f.__kwdefaults__["sin"]))(0.5) == np.sin(0.5)


def test_adopted_functions_may_be_pickled_by_value(module):
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(module)
    with ft.adopt(module):
        text = cloudpickle.dumps(module.f)
    cloudpickle.unregister_pickle_by_value(module)
    assert np.allclose(ft.vmap(pickle.loads(text))(X[None]), module.f(X))


def test_a_block_ends_with_an_error(module):
    before = state(module)
    with pytest.raises(KeyError), ft.adopt(module):
        raise KeyError
    assert state(module) == before


def test_what_was_changed_meanwhile_stays(module):
    mine = lambda x: x  # noqa: E731
    with ft.adopt(module):
        module.zeros = mine
        module.f.__defaults__ = (mine,)
        module.A.root = mine
        module.make.__code__ = mine.__code__
    assert module.zeros is mine and module.f.__defaults__ == (mine,)
    assert vars(module.A)["root"] is mine and module.make.__code__ is mine.__code__
    assert module.np is np


def test_closures_that_adopted_code_made_are_restored(module):
    with ft.adopt(module):
        g = module.make(2.0)
        assert ft.grad(g)(1.0) == 2.0
    assert g(1.5) == 3.0 and "float" in g.__code__.co_names
    raises(ft.ConversionError, lambda: ft.grad(g)(1.0))


def test_a_generator_that_is_suspended_goes_on(module):
    with ft.adopt(module):
        running = module.generate(X)
        first = next(running)
    assert [first, *running] == np.repeat(X, 2).tolist()
    assert any(name.startswith("_functier") for name in vars(module))
    del running
    gc.collect()


def test_a_second_adoption_finds_what_is_new(module):
    before = state(module)
    with ft.adopt(module):
        exec("def late(x):\n    return np.float64(float(np.array([x, x])[0]))", vars(module))
        exec("from math import exp\nbox = np.zeros(2)", vars(module))
        with pytest.raises(ft.LevelError):
            ft.grad(module.late)(1.0)
        with ft.adopt(module):
            assert ft.grad(module.late)(1.0) == 1.0 and ft.grad(module.exp)(0.0) == 1.0
    assert "float" in module.late.__code__.co_names and module.exp is math.exp
    for name in ("late", "exp", "box"):
        delattr(module, name)
    assert state(module) == before


def test_adoptions_are_counted(module):
    before = state(module)
    first, second = ft.adopt(module), ft.adopt(module.f)
    first.undo()
    assert works(module)
    second.undo()
    assert state(module) == before
    with ft.adopt(module), ft.adopt(module, module):
        pass
    assert state(module) == before


def test_threads_may_overlap(module):
    before = state(module)

    def run(_):
        for _ in range(5):
            with ft.adopt(module):
                assert works(module)

    in_threads(run, range(4))
    assert state(module) == before


def test_functions_that_no_search_finds_are_restored():
    """The name of the class is bound to a twin meanwhile, and the heap may be frozen."""
    _kde = importlib.import_module("scipy.stats._kde")
    method = _kde.gaussian_kde.scotts_factor
    before = method.__code__
    gc.freeze()
    with ft.adopt(_kde, dependencies=False):
        assert method.__code__ is not before
    assert method.__code__ is before


def test_frozen_closures_of_adopted_code_run_after_undo(module):
    frozen = gc.get_freeze_count()
    with ft.adopt(module):
        frozen_later = module.make(3.0)
        gc.freeze()
    assert gc.get_freeze_count() > frozen
    assert frozen_later(2.0) == 6.0


def test_an_import_that_binds_a_global_is_undone(tmp_path):
    module = module_of(
        tmp_path, "import functier.numpy as fnp\ndef f():\n    global np\n    import numpy as np\n"
    )
    with ft.adopt(module):
        module.f()
        assert module.np is ft.numpy
    assert module.np is np and module.fnp is ft.numpy


def test_other_modules_notice_nothing(module, tmp_path):
    other = module_of(tmp_path, TEXT)
    ft.adopt(module).undo()  # the first one imports what NumPy itself imports on demand
    before = state(other), state(np), state(np.linalg), dir(__builtins__)
    with ft.adopt(module):
        assert (state(other), state(np), state(np.linalg), dir(__builtins__)) == before
        assert not works(other)


# ---- packages and later imports ----

PACKAGE = {
    "pack/__init__.py": "import numpy as np\nfrom .one import f\n",
    "pack/one.py": "import numpy as np\ndef f(x):\n    return np.array([x, float(x)])[1]\n",
    "pack/two.py": """
        from math import sin
        from .one import f as g
        def f(x):
            return g(x) * sin(x)
        """,
    "pack/sub/__init__.py": "",
    "pack/sub/three.py": "from math import exp\ndef f(x):\n    return max(exp(x), 0.5)\n",
    "packer.py": "def f(x):\n    return float(x)\n",
}


@pytest.fixture(params=["", "\n__name__ = 'Pack'\n"], ids=["", "renamed"])
def package(request, tmp_path):
    write(tmp_path, {name: textwrap.dedent(text) + request.param for name, text in PACKAGE.items()})
    with importable(tmp_path):
        yield


def derivative(name):
    return ft.grad(importlib.import_module(name).f)(0.5)


def test_a_package_is_adopted_with_its_modules_and_later_imports(package):
    with ft.adopt("pack") as adopted:
        assert derivative("pack") == derivative("pack.one") == 1.0
        assert np.isclose(derivative("pack.two"), np.sin(0.5) + 0.5 * np.cos(0.5))
        assert np.isclose(derivative("pack.sub.three"), np.exp(0.5))
        raises(ft.ConversionError, lambda: derivative("packer"))
        assert "pack" in repr(adopted) and "5 modules" in repr(adopted)
        spec = sys.modules["pack.two"].__spec__
        assert type(spec.loader) is type(sys.modules["pack.two"].__loader__)
        assert "functier" not in type(spec.loader).__module__
    for name in ("pack", "pack.two", "pack.sub.three"):
        raises(ft.ConversionError, lambda: derivative(name))
    assert sys.modules["pack.two"].sin.__module__ == "math"
    assert "undone" in repr(adopted)


def test_a_module_alone_is_adopted_alone(package):
    with ft.adopt("pack.one"):
        assert derivative("pack.one") == 1.0
        raises(ft.ConversionError, lambda: derivative("pack.sub.three"))


def test_overlapping_packages_count_what_is_imported_later(package):
    first, second = ft.adopt("pack"), ft.adopt("pack.sub")
    assert np.isclose(derivative("pack.sub.three"), np.exp(0.5))
    first.undo()
    assert np.isclose(derivative("pack.sub.three"), np.exp(0.5))
    second.undo()
    raises(ft.ConversionError, lambda: derivative("pack.sub.three"))


def test_a_module_that_is_loaded_again_is_adopted_again(package):
    with ft.adopt("pack"):
        module = importlib.import_module("pack.sub.three")
        old = module.f
        importlib.reload(module)
        assert module.f is not old and np.isclose(ft.grad(module.f)(0.5), np.exp(0.5))
    raises(ft.ConversionError, lambda: ft.grad(module.f)(0.5))


def test_an_import_that_fails_leaves_nothing(package, tmp_path):
    write(tmp_path, {"pack/broken.py": "import numpy\nraise RuntimeError('broken')"})
    importlib.invalidate_caches()
    with ft.adopt("pack"), pytest.raises(RuntimeError, match="broken"):
        importlib.import_module("pack.broken")
    assert "pack.broken" not in sys.modules
    with ft.adopt("pack"), pytest.raises(ModuleNotFoundError, match=r"pack\.nothing"):
        importlib.import_module("pack.nothing")


def test_a_function_or_a_class_stands_for_its_module(package):
    one = importlib.import_module("pack.one")
    for given in (one.f, one, "pack.one"):
        with ft.adopt(given) as adopted:
            assert adopted.names == ("pack.one",)
    with ft.adopt(functools.wraps(one.f)(lambda x: x)) as adopted:
        assert adopted.names == ("pack.one",)


def test_a_function_whose_module_has_another_name_stands_for_it(tmp_path):
    module = module_of(tmp_path, "__name__ = 'Other'\ndef f(x):\n    return float(x)\n")
    sys.modules[module.__spec__.name] = module
    with ft.adopt(module.f) as adopted:
        assert adopted.names == (module.__spec__.name,) and ft.grad(module.f)(0.5) == 1.0
    del sys.modules[module.__spec__.name]


def test_main_can_be_adopted():
    main = sys.modules["__main__"]
    before = state(main)
    with ft.adopt("__main__"):
        pass
    assert state(main) == before


@pytest.mark.parametrize("notebook", [False, True])
def test_a_message_names_the_adoption_of_a_script_or_a_notebook(notebook, tmp_path):
    """The program runs again as the message says; a cell is text of no file that has its lines."""
    text = """
        import functier as ft, math
        def f(x):
            return math.sin(x) * float(x)
        {adopt}
        try:
            print(ft.grad(f)(0.5))
        except ft.ConversionError as error:
            print(error)
        """
    cells = """
        import linecache
        name, text = "<ipython-input-1>", open({path!r}).read()
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"))
        """
    said, adoption = [], "pass"
    for _ in range(2):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text.format(adopt=adoption)))
        if notebook:
            path = tmp_path / "cells.py"
            path.write_text(textwrap.dedent(cells.format(path=str(tmp_path / "program.py"))))
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
        said.append(done.stdout)
        adoption = 'ft.adopt("__main__")'
    assert 'or functier.adopt("__main__") before the transform' in said[0], said
    assert math.isclose(float(said[1]), math.sin(0.5) + 0.5 * math.cos(0.5)), said


# ---- what is refused, and what is named ----


@pytest.mark.parametrize(
    "given", [np, "numpy", "numpy.linalg", np.linalg.norm, ft, "functier", ft.grad, "builtins", max]
)
def test_what_adopted_code_calls_is_refused(given):
    raises(ValueError, lambda: ft.adopt(given), "adopt:  |  cannot be adopted; give the module")


def test_the_module_behind_an_object_that_a_package_puts_in_its_place_is_adopted(tmp_path):
    text = """
        import sys
        from math import sqrt
        class Stand:
            def __init__(self, module):
                self.module = module
            def __getattr__(self, name):
                return getattr(self.module, name)
        def root(x):
            return sqrt(float(x))
        sys.modules[__name__] = Stand(sys.modules[__name__])
    """
    write(tmp_path, {"standing/__init__.py": text, "standing/inner.py": text})
    with importable(tmp_path):
        importlib.import_module("standing.inner")
        outer, inner = sys.modules["standing"], sys.modules["standing.inner"]
        for given in ("standing", outer.root):
            with ft.adopt(given) as adopted:
                assert ft.grad(outer.root)(4.0) == ft.grad(inner.root)(4.0) == 0.25
                assert "standing): 2 modules," in repr(adopted)


@pytest.mark.parametrize("given", [3, None, [1], object(), types.SimpleNamespace()])
def test_an_object_without_a_module_is_refused(given):
    raises(TypeError, lambda: ft.adopt(given), "is not a module and belongs to none; give a module")


def test_nothing_and_an_unknown_name_are_refused():
    raises(TypeError, lambda: ft.adopt(), "no module was given; write functier.adopt")
    raises(ModuleNotFoundError, lambda: ft.adopt("no_such_module"), "no_such_module")


KEPT = {
    "a set": ("TABLE = {np.zeros}", "TABLE holds numpy.zeros"),
    "a subclass of dict": (
        "class D(dict):\n    pass\nTABLE = D(a=math.sin)",
        "TABLE holds math.sin",
    ),
    "a subclass of list": (
        "class L(list):\n    pass\nclass A:\n    table = L([math.sin])",
        "A.table holds math.sin",
    ),
    "a default": (
        "class P(functools.partial):\n    pass\ndef f(x, g=P(np.array)):\n    return g(x)",
        "f holds numpy.array",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_bound_is_named(name, tmp_path):
    text, message = KEPT[name]
    module = module_of(tmp_path, f"import functools, math\nimport numpy as np\n{text}\n")
    before = state(module)
    with pytest.warns(UserWarning, match=f"{module.__name__}, {message}, which stays") as caught:
        with ft.adopt(module):
            pass
    assert caught[0].filename == __file__
    with pytest.raises(UserWarning):  # as the suite makes errors of warnings
        ft.adopt(module)
    assert state(module) == before


def test_code_with_many_names_is_changed_where_a_name_is_used_both_ways(tmp_path):
    names = "".join([f"v{i} = {i}\n" for i in range(300)])
    used = " + ".join([f"v{i}" for i in range(300)])
    text = f"{names}def f(x):\n    return float(x) if float is type(1.0) else {used}\n"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        assert module.f(2.0) == ft.grad(lambda x: module.f(x) * x)(1.0) == 2.0


def test_the_values_of_a_lazy_dict_are_not_asked_for(tmp_path):
    text = (
        "class Lazy(dict):\n    def values(self):\n        raise RuntimeError\nTABLE = Lazy(a=1)\n"
    )
    module = module_of(tmp_path, text)
    with ft.adopt(module) as adopted:
        assert "1 modules, 0 names bound, 1 functions" in repr(adopted)


def test_what_takes_tensors_itself_is_not_named(tmp_path):
    text = "import numpy as np\nTABLE = {np.sum, np.sin, float}\nOTHER = [np.sin, float]\n"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        assert np.sum in module.TABLE and module.OTHER == [np.sin, float]


# ---- planted faults ----


def test_a_planted_fault_of_the_counts_is_found(module, monkeypatch):
    faulty.adoptions_are_not_counted(monkeypatch)
    raises(AssertionError, lambda: test_adoptions_are_counted(module))
    faulty.undo_all()


@pytest.mark.parametrize("part", ["codes", "defaults", "attributes"])
def test_a_planted_fault_of_undo_is_found(part, module, monkeypatch):

    faulty.fault_of_undo(monkeypatch, part)
    raises(AssertionError, lambda: test_undo_restores_everything(module))
