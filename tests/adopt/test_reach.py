"""Modules that are adopted with a package: those that it calls, by their facts."""

import gc
import importlib
import itertools
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from adopt_support import importable, state, write

import functier as ft
from faults.planted import adoption as faulty
from support.basics import in_threads

FILES = {
    # the adopted package: it calls `helper` in several ways
    "caller/__init__.py": "from .models import *\n",
    "caller/models.py": """
        import decimal, json
        import numpy as np
        import helper.trig
        import helper.classes as classes
        from helper import shared, Lazy
        from helper.decorators import squared
        from plain_tools import clip

        def by_module(x):
            return helper.trig.sine(x) * x

        def by_function(x):
            return shared(x) + 1.0

        def by_class(x):
            return classes.Angle(x).cosine()

        def by_instance(x):
            return Lazy.compute(x)

        @squared
        def by_decorator(x):
            return np.array([x, 2.0])[0]

        def by_import_inside(x):
            from later.functions import exponential
            return exponential(x)

        def by_import_of_a_module_inside(x):
            from later import roots
            return roots.root(x)

        def by_second_package(x):
            return helper.trig.second(x)

        def by_tools(x):
            return clip(x) * x
        """,
    "helper/__init__.py": """
        from .core import shared, Lazily
        Lazy = Lazily()
        """,
    "helper/core.py": """
        import math
        from . import constants
        def shared(x):
            return math.sin(x) * constants.TWO * constants.number(x)
        class Lazily:
            def compute(self, x):
                from . import inside
                return inside.log(x)
        """,
    "helper/constants.py": """
        TWO = 2.0
        def number(x):
            if not isinstance(x, (int, float)):
                raise TypeError("not a number")
            return float(x)
        """,
    "helper/inside.py": "import math\ndef log(x):\n    return math.log(x)\n",
    "helper/trig.py": """
        import math
        import second as other
        def sine(x):
            return math.sin(x)
        def second(x):
            return other.exp(x)
        """,
    "helper/classes.py": """
        import math
        class Angle:
            def __init__(self, x):
                self.x = float(x)
            def cosine(self):
                return math.cos(self.x)
        """,
    "helper/decorators.py": """
        import functools, math
        def squared(f):
            @functools.wraps(f)
            def g(*args):
                return math.pow(f(*args), 2)
            return g
        """,
    "second.py": "import math\ndef exp(x):\n    return math.exp(x)\n",
    "later/__init__.py": "",
    "later/functions.py": "from math import exp\ndef exponential(x):\n    return exp(float(x))\n",
    "later/roots.py": "import math\ndef root(x):\n    return math.sqrt(x)\n",
    "plain_tools.py": "import math\ndef clip(x):\n    return max(float(x), math.floor(0.5))\n",
    "unrelated.py": "import math\ndef f(x):\n    return math.sin(x)\n",
}

FUNCTIONS = {
    "by_module": lambda x: np.sin(x) + x * np.cos(x),
    "by_function": lambda x: 2 * np.sin(x) + 2 * x * np.cos(x),
    "by_class": lambda x: -np.sin(x),
    "by_instance": lambda x: 1 / x,
    "by_decorator": lambda x: 2 * x,
    "by_import_inside": np.exp,
    "by_import_of_a_module_inside": lambda x: 0.5 / np.sqrt(x),
    "by_second_package": np.exp,
    "by_tools": lambda x: 2 * x,
}
REFUSED = (ft.LevelError, TypeError)


@pytest.fixture
def packages(tmp_path, nothing_is_adopted):
    write(tmp_path, FILES)
    with importable(tmp_path):
        yield tmp_path


def call(name):
    return getattr(importlib.import_module("caller"), name)


def is_right(name, x=0.7):
    try:
        return bool(np.isclose(ft.grad(call(name))(x), FUNCTIONS[name](x)))
    except REFUSED:
        return False


def works(function, x=0.7):
    """Tell if a function takes a tensor."""
    try:
        ft.grad(function)(x)
    except REFUSED:
        return False
    return True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_package_calls_is_adopted(packages, name):
    importlib.import_module("caller")
    assert not is_right(name)
    with ft.adopt("caller"):
        assert is_right(name)
        assert np.isclose(ft.jvp(call(name), (0.7,), (1.0,))[1], FUNCTIONS[name](0.7))
        batch = np.array([0.7, 1.3])
        assert np.allclose(ft.vmap(ft.grad(call(name)))(batch), FUNCTIONS[name](batch))
    assert not is_right(name)
    with ft.adopt("caller", dependencies=False):
        assert not is_right(name)


@pytest.mark.parametrize("when", ["before", "inside"])
def test_everything_is_as_it_was_afterwards(packages, when):
    names = [n[:-3].replace("/", ".").removesuffix(".__init__") for n in FILES]
    modules = [importlib.import_module(n) for n in names if when == "before" or n[:5] != "later"]
    before = [state(m) for m in modules]
    with ft.adopt("caller"):
        assert all(map(is_right, FUNCTIONS))
        assert not works(importlib.import_module("unrelated").f)
    assert [state(m) for m in modules] == before
    assert not any(map(is_right, FUNCTIONS))


def test_a_module_that_others_import_later_is_adopted(packages):
    """A function imports what is there already: nobody looks for it again."""
    with ft.adopt("caller"):
        functions = importlib.import_module("later.functions")
        assert works(functions.exponential) and is_right("by_import_inside")
        assert not works(importlib.import_module("unrelated").f)
    assert not works(functions.exponential)


def test_adoptions_with_and_without_dependencies_are_counted(packages):
    first = ft.adopt("caller")
    second = ft.adopt("helper.trig", dependencies=False)
    assert is_right("by_module") and is_right("by_class")
    first.undo()
    assert not works(importlib.import_module("helper.classes").Angle)
    assert works(importlib.import_module("helper.trig").sine)
    third = ft.adopt("caller")
    second.undo()
    assert all(map(is_right, FUNCTIONS))
    third.undo()
    assert not any(map(is_right, FUNCTIONS))


def test_a_second_adoption_has_the_same_modules(packages):
    """The names of the modules are twins when it looks at them."""
    importlib.import_module("caller")
    with ft.adopt("caller") as first, ft.adopt("caller") as second:
        assert set(first.modules) == set(second.modules)
        assert len(second.modules) == 10


def test_the_twins_are_not_adopted_themselves(tmp_path):
    """Code that has been adopted imports them."""
    text = "def f(x):\n    import numpy.linalg, math\n    return math.sin(x)\n"
    write(tmp_path, {"inside.py": text})
    with importable(tmp_path):
        inside = importlib.import_module("inside")
        with ft.adopt(inside), ft.adopt(inside) as second:
            assert second.modules == [inside] and works(inside.f)


def test_threads_may_overlap(packages):
    def run(_):
        for _ in range(5):
            with ft.adopt("caller"):
                assert all(map(is_right, FUNCTIONS))

    in_threads(run, range(3))


def test_modules_may_be_imported_while_it_looks_at_them(packages):
    """A collection may run other code wherever something is made, and so another thread."""
    names = (f"imported_meanwhile_{i}" for i in itertools.count())

    def imports(phase, info):
        sys.modules[next(names)] = sys

    with ft.adopt("caller"):  # what is made only once has been made
        pass
    thresholds, before = gc.get_threshold(), set(sys.modules)
    gc.callbacks.append(imports)
    gc.set_threshold(1)
    try:
        with ft.adopt("caller"):
            pass
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(imports)
        for name in set(sys.modules) - before:
            del sys.modules[name]


def test_the_numbers_are_told(packages):
    with ft.adopt("caller", dependencies=False) as alone:
        assert "2 modules, " in repr(alone)
    with ft.adopt("caller") as adopted:
        assert "2 modules and 8 that they call, " in repr(adopted)
        assert adopted.left == {}
        assert is_right("by_import_inside")
        assert "2 modules and 10 that they call, " in repr(adopted)


# ---- what is left alone ----


@pytest.fixture
def left(tmp_path, monkeypatch):
    """A function that tells what is left alone of a module `dependency` that is called."""

    def run(files):
        user = "from dependency import f\ndef g(x):\n    return f(x)\n"
        write(tmp_path, {"user.py": user, **files})
        with importable(tmp_path):
            module = importlib.import_module("user")
            with ft.adopt("user") as adopted:
                return adopted.left, works(module.g)

    return run


SINE = "import math\ndef f(x):\n    return math.sin(x)\n"


def test_a_plain_module_is_adopted(left):
    assert left({"dependency.py": SINE}) == ({}, True)


def test_a_module_beside_compiled_code_is_left(left):
    """That reaches compiled code of its package, or has that of another library."""
    compiled = "from optree import _C\n" if "optree._C" in sys.modules else "import optree._C\n"
    package = {
        "dependency/__init__.py": "from .inner import f\nfrom . import formulas\n",
        "dependency/inner.py": f"from .fast import h\n{SINE}",
        "dependency/fast.py": f"{compiled}import math\ndef h(x):\n    return x\n",
        "dependency/formulas.py": SINE,
    }
    user = "from dependency import f, formulas\ndef g(x):\n    return f(x)\n"
    found, works = left({**package, "user.py": user})
    assert not works and list(found) == ["dependency.inner"]
    assert "compiled" in found["dependency.inner"]


def test_formulas_beside_compiled_code_are_adopted(left):
    package = {
        "dependency/__init__.py": "from .formulas import f\nimport optree._C as fast\n",
        "dependency/formulas.py": SINE,
    }
    assert left(package)[1]


@pytest.mark.parametrize("numerical", [1, 2, 3])
def test_a_package_with_few_numerical_modules_is_left(left, numerical):
    """Of twenty modules, the package among them, two are a tenth."""
    names = [f"part{i}" for i in range(19)]
    files = {f"dependency/{n}.py": "def f(x):\n    return float(x)\n" for n in names}
    files |= {f"dependency/{n}.py": SINE for n in names[:numerical]}
    lines = [f"from . import {n}\n" for n in names]
    files["dependency/__init__.py"] = "".join(lines) + "from .part0 import f\n"
    files["user.py"] = "import dependency\nfrom dependency import f\ndef g(x):\n    return f(x)\n"
    found, works = left(files)
    assert works == (numerical >= 2)
    assert list(found) == ([] if works else ["dependency"])


@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_package_hands_numbers_to_is_followed_but_for_compiled_code(left, compiled):
    package = {
        "dependency.py": f"{'import optree._C as c' if compiled else ''}\nimport inner\n"
        "def f(x):\n    return inner.f(x)\n",
        "inner.py": SINE,
    }
    found, works = left(package)
    assert list(found) == ["dependency"] and works != compiled


def test_packages_in_one_namespace_are_counted_apart(left):
    files = {f"dependency/other/part{i}.py": "def f(x):\n    return x\n" for i in range(19)}
    lines = [f"from . import part{i}\n" for i in range(19)]
    files["dependency/other/__init__.py"] = "".join(lines)
    files["dependency/own/__init__.py"] = SINE
    files["user.py"] = (
        "import dependency.other\nfrom dependency.own import f\ndef g(x):\n    return f(x)\n"
    )
    found, works = left(files)
    assert works and set(found) == {"dependency", "dependency.other"}


def test_an_adoption_is_printed_as_a_table(tmp_path):
    write(tmp_path, {
        "dependency.py": "def f(x):\n    return x\n",
        "other.py": SINE,
        "user/__init__.py": "import math\nfrom . import part",
        "user/part.py": "import math\nimport dependency, other\nABS = {math.fabs}\n",
    })  # fmt: skip
    with importable(tmp_path):
        importlib.import_module("user")
        with pytest.warns(UserWarning, match="holds math.fabs"), ft.adopt("user") as adopted:
            lines = str(adopted).splitlines()
            left = [line.split("  ", 1)[0] for line in lines[5:]]
            assert lines[0] == repr(adopted)[1:-1]
            assert [line.split() for line in lines[1:4]] == [
                ["adopted", "modules", "names", "functions"], ["user", "2", "2", "0"],
                ["other", "1", "1", "1"],
            ]  # fmt: skip
            assert lines[4].split() == ["left", "alone", "why"] and left == list(adopted.left)
            assert lines[5].endswith(
                "  is of a package in which few modules use NumPy, SciPy or math"
            )
        assert str(adopted) == "functier.adopt(user): undone"


def test_the_message_names_what_was_left_alone(tmp_path, monkeypatch):
    """Its remedy, followed literally, is right."""
    home = tmp_path / "site-packages"
    names = [f"part{i}" for i in range(19)]
    files = {f"few/{n}.py": "def f(x):\n    return x\n" for n in names}
    files["few/__init__.py"] = "".join([f"from . import {n}\n" for n in names])
    files["few/part0.py"] = SINE
    files["calling.py"] = "import few\ndef g(x):\n    return few.part0.f(x) * 2.0\n"
    write(home, files)
    with importable(home):
        calling = importlib.import_module("calling")
        with ft.adopt("calling"):
            with pytest.raises(ft.LevelError, match=r'write functier\.adopt\("few\.part0"\)'):
                ft.grad(calling.g)(0.5)
            with ft.adopt("few.part0"):
                assert np.isclose(ft.grad(calling.g)(0.5), 2 * np.cos(0.5))


def test_a_dependency_that_cannot_be_changed_gives_no_warning(left):
    with warnings.catch_warnings(action="error"):
        found, works = left({"dependency.py": f"TABLE = {{1}}\n{SINE}KINDS = {{math.sin}}\n"})
    assert (
        works and list(found) == ["dependency: KINDS"] and "math.sin" in found["dependency: KINDS"]
    )


LIBRARIES = "pandas", "matplotlib.pyplot", "sklearn.linear_model", "pytest", "IPython", "hypothesis"


@pytest.mark.slow
def test_large_libraries_are_left_alone(tmp_path):
    """In a process of its own, as they are many modules."""
    script = textwrap.dedent(f"""
        import importlib, sys, types
        import functier as ft
        module = sys.modules["user"] = types.ModuleType("user")
        for name in {LIBRARIES!r}:
            try:
                vars(module)[name.partition(".")[0]] = importlib.import_module(name)
            except ImportError:
                pass
        with ft.adopt("user") as adopted:
            roots = {{m.__name__.partition(".")[0] for m in adopted.modules}}
        print(roots & {{name.partition(".")[0] for name in {LIBRARIES!r}}})
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


def test_odd_modules_are_no_obstacle(left):
    odd = """
        import math, types
        class Loading(types.ModuleType):
            def __getattribute__(self, name):
                raise RuntimeError(name)
        class Any:
            def __getattribute__(self, name):
                raise RuntimeError(name)
        class Meta(type):
            def __getattr__(cls, name):
                raise RuntimeError(name)
        class Other(metaclass=Meta):
            __module__ = 3
        thing = Any()
        def f(x):
            return math.sin(x)
        f.__module__ = None
        module = Loading("loading")
        def g():
            from ......above import nothing
            from . import this_one
        """
    assert left({"dependency.py": odd})[1]


# ---- planted faults ----


def test_planted_faults_are_found(packages, monkeypatch):
    importlib.import_module("caller")
    names = [
        "by_module", "by_function", "by_class", "by_instance", "by_decorator", "by_import_inside",
        "by_second_package",
    ]  # fmt: skip
    faults = {
        "modules_of": lambda value: [],
        "imports_in": lambda code, package: [],
        "is_numerical": lambda value: False,
    }
    for part, fault in faults.items():
        with monkeypatch.context() as patch:
            faulty.faults(patch, fault, part)
            with ft.adopt("caller"):
                assert not all(map(is_right, names)), part


@pytest.mark.parametrize("part", ["is_compiled", "SHARE"])
def test_planted_faults_of_the_facts_are_found(part, left, monkeypatch):
    faulty.faults_of_the_facts(monkeypatch, part)
    with pytest.raises(AssertionError):
        if part == "SHARE":
            test_a_package_with_few_numerical_modules_is_left(left, 1)
        test_a_module_beside_compiled_code_is_left(left)


def test_a_planted_fault_of_later_imports_is_found(packages, monkeypatch):
    faulty.no_import_is_awaited(monkeypatch)
    with ft.adopt("caller"):
        assert not is_right("by_import_inside")
