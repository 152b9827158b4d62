"""The modules that `import functier` loads, and those that are loaded later.

Each test is a separate process.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing.overrides import allows_array_function_override

import functier as ft

pytestmark = pytest.mark.inside("What an import loads is looked at.")

PACKAGE = Path(ft.__file__).parent
DECLARATIONS = {
    ".".join(["functier", *path.relative_to(PACKAGE).with_suffix("").parts])
    for path in (PACKAGE / "_rules").rglob("[!_]*.py")
    if "scipy" not in path.parts[len(PACKAGE.parts) :]
}
LATE = {
    f"functier._rules.{name}"
    for name in (
        "fft",
        "polynomial_multivariate",
        "unsupported_records",
        "unsupported_text",
        "velocities",
    )
}
"""The declarations that are loaded for a module which NumPy imports on demand, or a user."""

LOADED = """
import sys
import numpy as np, optree
before = set(sys.modules)
import functier as ft

def loaded():
    return {m for m in set(sys.modules) - before if m.split(".")[0] not in sys.stdlib_module_names}
"""


def run(script):
    """Return the output of a script, in a process where every warning is an error."""
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-W", "error", "-c", LOADED + script]
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8")
    assert not done.stderr, done.stderr
    return set(done.stdout.split())


def test_an_import_loads_the_files_of_the_core_and_nothing_else():
    loaded = run("print(*loaded())")

    assert {m.split(".")[1] for m in loaded if "." in m} == {
        "_cpython", "_core", "_mutation", "_levels", "_rooms", "_transforms"
    }  # fmt: skip
    of_cpython = {m for m in loaded if m.split(".")[1:2] == ["_cpython"]}
    assert len(loaded - of_cpython) < 100
    assert len(of_cpython) < 9


def test_an_import_brings_few_modules_of_the_standard_library():
    """`pathlib` alone, which NumPy does without, costs a tenth of it."""
    loaded = run("""
print(*[m for m in set(sys.modules) - before if m.split(".")[0] in sys.stdlib_module_names])
""")

    assert loaded <= {"_queue", "cmath", "gc", "queue"}


def test_plain_tensors_need_no_declarations():
    loaded = run("""
import copy, pickle
x = ft.tensor([1.0, 2.0])
assert str(np.sum(pickle.loads(pickle.dumps(x)) + copy.copy(x))) == "Tensor(6.)"
print(*loaded())
""")

    assert not any(name.startswith("functier._rules") for name in loaded)


def test_the_first_level_loads_the_declarations():
    loaded = run("ft.vmap(lambda x: x)(np.ones(2)); print(*loaded())")

    assert loaded >= DECLARATIONS - LATE
    assert not loaded & LATE
    assert not any(name.startswith(("numpy.fft", "numpy.polynomial")) for name in loaded)


def test_a_hook_that_asks_for_the_parts_of_a_function_loads_the_declarations():
    found = run("""
class Counted(ft.Tensor):
    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        print(func.__name__)
        return super().__tensor_dispatch__(func, types, args, kwargs)

np.var(Counted([1.0, 2.0]))
""")

    assert "var" not in found
    assert {"mean", "subtract"} <= found


def test_a_function_of_a_module_that_numpy_imports_on_demand_is_found():
    loaded = run("""
from functier._core.table import find
from numpy import char, fft
from numpy.lib import recfunctions
from numpy.polynomial import polynomial
from numpy.testing.overrides import allows_array_function_override
for func in filter(allows_array_function_override, (char.join, recfunctions.join_by)):
    try:
        find(func)
    except ft.UnsupportedError:
        continue
    raise AssertionError(func)
assert find(fft.fft).family == "linear"
assert find(polynomial.polyval2d).body is not None
assert find(polynomial.polyfromroots) is None
print(*loaded())
""")

    text = (
        set()
        if allows_array_function_override(np.char.join)
        else {"functier._rules.unsupported_text"}
    )
    of_users = {"functier._rules.velocities"}
    assert loaded >= DECLARATIONS - of_users - text
    assert not any(name.startswith("scipy") for name in loaded)


def test_functions_of_scipy_are_found_where_it_is_imported():
    loaded = run("""
double = np.frompyfunc(lambda x: 2 * x, 1, 1)
ft.vmap(double)(np.ones(2))
assert not any(name.startswith("scipy") for name in loaded())
from scipy import special
ft.vmap(double)(np.ones(2))
assert "functier.scipy._rules.special" not in sys.modules
assert ft.grad(special.erf)(0.0) == 2 / np.sqrt(np.pi)
print(*loaded())
""")

    assert "functier.scipy._rules.special" in loaded


def test_every_function_is_known_from_the_first_call():
    run("""
from numpy.lib.recfunctions import structured_to_unstructured

np.testing.assert_array_equal(ft.grad(lambda x: np.fft.fft(x)[0].real)(np.ones(2)), np.ones(2))
for call, kind in (
    (lambda x: np.save("name", x), ft.UnsupportedError),
    (lambda x: structured_to_unstructured(x), ft.UnsupportedError),
    (lambda x: np.frompyfunc(abs, 1, 1)(x), ft.NoRuleError),
):
    try:
        ft.grad(call)(np.ones(2))
    except kind:
        continue
    raise AssertionError(kind)
""")


def test_the_first_calls_of_several_threads_at_once():
    """Each gets through, and none finds a table that is half full."""
    run("""
import threading
sys.setswitchinterval(1e-6)
calls = [
    lambda x: np.sum(np.sin(x)), lambda x: np.polyval(x, 2.0), lambda x: np.prod(x),
    lambda x: np.linalg.det(np.diag(x)), lambda x: np.sort(x)[0], lambda x: np.var(x),
    lambda x: np.median(x), lambda x: np.sum(np.tile(x, 3)),
]
x, results = np.array([1.0, 2.0, 4.0]), [None] * len(calls)
start = threading.Barrier(len(calls))

def first(i):
    start.wait()
    results[i] = ft.grad(calls[i])(x)

threads = [threading.Thread(target=first, args=(i,)) for i in range(len(calls))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for call, result in zip(calls, results):
    np.testing.assert_array_equal(result, ft.grad(call)(x))
""")


def test_a_first_call_that_was_interrupted_can_be_made_again():
    run("""
sys.modules["functier._rules.shape"] = None  # its import raises
try:
    ft.grad(np.sum)(np.ones(2))
except ImportError:
    del sys.modules["functier._rules.shape"]
assert "functier._rules.shape" not in sys.modules
np.testing.assert_array_equal(ft.grad(lambda x: np.sum(np.reshape(x, -1)))(np.ones(2)), np.ones(2))
""")


def test_the_list_of_operations_has_what_is_declared_on_demand():
    run("""
assert {"numpy.fft.fft", "numpy.add", "numpy.linalg.solve"} <= ft.registry().keys()
assert ft.registry("scipy").keys() >= {"scipy.special.erf", "scipy.special.zeta"}
""")


def test_a_namespace_of_custom_operations_needs_no_declarations():
    loaded = run("""
square = ft.custom_op("linalg::square", lambda x: x * x)
assert ft.ops.linalg.square is square
print(*loaded())
""")

    assert not any(name.startswith("functier._rules") for name in loaded)


def test_a_star_brings_functions_and_classes():
    names = {}
    exec("from functier import *", names)  # as a user writes it

    assert {"vmap", "grad", "scan", "psum", "Tensor", "LevelError"} <= set(names)
    assert not {"map", "random", "numpy", "testing", "_batch"} & set(names)
    assert all(names[name] is getattr(ft, name) for name in ft.__all__)


def test_classes_of_others_keep_their_module():
    """A class that names functier as its module is one of functier's public names."""
    found = [
        f"{name}.{key}"
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "functier"
        for key, value in list(vars(module).items())
        if isinstance(value, type)
        and value.__module__ == "functier"
        and getattr(ft, value.__name__, None) is not value
    ]
    assert not found
