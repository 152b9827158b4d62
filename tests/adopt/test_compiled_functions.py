"""Adopted modules with functions that Numba compiles: plain calls are Numba's, others are right."""

import ast
import contextlib
import gc
import importlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import adopt_support as support
import numpy as np
import pytest

import functier as ft
from faults.planted import adoption as faulty
from support.basics import close, has_all
from support.turns import few

numba = pytest.importorskip("numba")

TEXT = """
import functools
import math
import numpy
import numpy as np
import numba
from math import sin
from numba import njit, prange

SCALE = 1.5

@njit
def inner(x):
    return max(sin(x), 0.0) + float(x) * SCALE

@njit(cache=True)
def loop(v):
    out = np.zeros(len(v))
    for i in range(len(v)):
        out[i] = inner(v[i]) * np.sqrt(v[i])
    return out

@njit("f8(f8)")
def declared(x):
    return math.exp(x)

@njit(["f8(f8, i8)", "f8(f8[:], i8)"])
def whole(x, n):
    return math.sin(1.0) * n

@njit("UniTuple(i8, 2)(f8)")
def rounded(x):
    return x * 2.5, -x

@njit
def zero_or(x, low):
    return (0, x) if x < low else (x * x, x)

@njit
def recursive(x, n):
    if n == 0:
        return x
    return recursive(x * SCALE, n - 1) + 1.0

@njit(parallel=True)
def parallel(v):
    s = 0.0
    for i in prange(v.shape[0]):
        s += v[i] ** 2
    return s

@njit
def running(v, a):
    out = np.empty_like(v)
    out[0] = v[0]
    for i in range(1, v.size):
        out[i] = a * out[i - 1] + (1.0 - a) * v[i]
    return out

@njit
def fill(out, x):
    for i in range(len(out)):
        out[i] = x + i
    return out[::2]

@njit
def parts(pair, k=2.0):
    x, (y, z) = pair
    return x * y + z ** k

@numba.vectorize
def clipped(x, low):
    if x < low:
        return 0
    return x * x

@numba.vectorize(["f8(f8)"])
def cube(x):
    return x ** 3

@numba.guvectorize(["void(f8[:], f8[:], f8[:])"], "(n),()->()")
def weighted(x, k, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.sin(x[i]) * k[0]
    out[0] = s

@numba.guvectorize("(n),()->(n)")
def summed(x, k, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * k
        out[i] = s

class Model:
    @staticmethod
    @njit
    def fixed(x):
        return np.sin(x) * 2

    method = njit(lambda self, x: x * 2.0)

    def value(self, x):
        return self.fixed(x)

def plain(x):
    return math.sqrt(float(x)) + np.array([x, inner(x)]).sum()

def make(k):
    import numpy as local
    @njit
    def made(x, n):
        return local.sin(x) * k if n == 0 else made(x, n - 1)
    return made

def made_here(x):
    return make(2.0)(x, 1)

def makes_ufunc(v):
    k = 3.0
    @numba.vectorize
    def scaled(x):
        return math.sin(x) * k
    return np.sum(scaled(v) * np.arange(len(v)))

def filled(x):
    out = np.zeros(5)
    none = (out * x).sum()
    head = fill(out, 2.0)
    none += (out * x).sum()
    out[2] = x
    total = (out * out).sum() + head[1]
    head[0] = x * 2
    return none + total + out[0] * 3

def new_array(x):
    v = running(np.arange(4.0), 0.5)
    v[1] = x
    return (v * v).sum()

def column(v):
    out = np.zeros(len(v))
    return np.sum(summed(v, 2.0, out) * np.arange(len(v)))

TABLE = {"inner": inner, "partial": functools.partial(parts, k=3.0)}

def by_table(x):
    return TABLE["inner"](x) + TABLE["partial"]((x, [x, 2.0]))
"""

V = np.array([0.5, 1.2, 0.3])
USES = {
    "jit": (lambda m, x: m.inner(x), 0.7),
    "a loop": (lambda m, x: np.sum(m.loop(x) * np.arange(3)), V),
    "a declared type": (lambda m, x: m.declared(x), 0.7),
    "a declared integer": (lambda m, x: m.whole(x, x * 5) * x, 0.7),
    "a declared integer is returned": (
        lambda m, x: (m.rounded(x)[0] + m.rounded(x * 2)[1]) * x,
        1.7,
    ),
    "recursion": (lambda m, x: m.recursive(x, 3), 0.7),
    "prange": (lambda m, x: m.parallel(x), V),
    "a running sum": (lambda m, x: np.sum(m.running(x, x[0]) * np.arange(3)), V),
    "nested arguments": (lambda m, x: m.parts((x, (2.0, x)), k=2), 0.7),
    "a keyword": (lambda m, x: m.parts((0.5, (2.0, 0.4)), k=x), 0.7),
    "vectorize": (lambda m, x: np.sum(m.clipped(x, 0.4) * np.arange(1, 4)), V),
    "vectorize, a number": (lambda m, x: m.clipped(x, 0.4), 0.7),
    "vectorize, the first is an int": (lambda m, x: np.sum(m.clipped(x[::-1], 0.4)), V),
    "vectorize of two shapes": (lambda m, x: np.sum(m.clipped(x[:, None], x * 0.9)), V),
    "vectorize, declared": (lambda m, x: np.sum(m.cube(x)), V),
    "guvectorize": (lambda m, x: m.weighted(x, x[1]), V),
    "guvectorize of rows": (lambda m, x: np.sum(m.weighted(np.outer(x, x), x) * x), V),
    "guvectorize, an output": (lambda m, x: m.column(x), V),
    "a static method": (lambda m, x: m.Model.fixed(x) + m.Model().value(x), 0.7),
    "a method": (lambda m, x: m.Model.method(None, x), 0.7),
    "a plain function": (lambda m, x: m.plain(x), 0.7),
    "an array of adopted code": (lambda m, x: m.filled(x), 0.7),
    "an array that Numba makes": (lambda m, x: m.new_array(x), 0.7),
    "a dict, a partial function": (lambda m, x: m.by_table(x), 0.7),
    "py_func": (lambda m, x: m.loop.py_func(x).sum(), V),
}


@contextlib.contextmanager
def known(module):
    """Have Python know a module: Numba links recursive functions by the module's name."""
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        del sys.modules[module.__name__]


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    with known(support.module_of(tmp_path_factory.mktemp("compiled"), TEXT)) as module:
        yield module


def difference(f, x, step=1e-6):
    """Return the slopes of a plain function."""
    x, slope = np.asarray(x, float), np.zeros(np.shape(x))
    for index in np.ndindex(x.shape):
        shift = np.zeros(x.shape)
        shift[index] = step
        slope[index] = (f((x + shift)[()]) - f((x - shift)[()])) / (2 * step)
    return slope


def check(module, use):
    """Compare a use under each transform with differences and loops of what Numba computes."""
    function, x = USES[use]

    def f(x):
        return function(module, x)

    value, slope = f(x), difference(f, x)
    points = [x, np.multiply(x, 1.1), np.multiply(x, 0.9)]
    slopes = [difference(f, p) for p in points]
    assert np.abs(slope).max() > 0.01
    with ft.adopt(module):
        again = f(x)
        assert again == value and type(again) is type(value)
        np.testing.assert_allclose(ft.grad(f)(x), slope, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            ft.jvp(f, (x,), (np.ones_like(x),))[1], slope.sum(), rtol=1e-6, atol=1e-8
        )
        batch = np.stack(points)
        got = ft.vmap(f, branches="split")(batch)
        np.testing.assert_allclose(got, [f(p) for p in points], rtol=1e-12)
        got = ft.vmap(ft.grad(f), branches="split")(batch)
        np.testing.assert_allclose(got, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.share(3)
@pytest.mark.parametrize("use", few(USES, 4))
def test_a_use(module, use):
    check(module, use)


def test_what_adopted_code_compiles(module):
    value = module.made_here(0.7), module.makes_ufunc(V)
    with ft.adopt(module):
        assert (module.made_here(0.7), module.makes_ufunc(V)) == value
        assert abs(ft.grad(module.made_here)(0.7) - 2 * np.cos(0.7)) < 1e-12
        slope = ft.grad(module.makes_ufunc)(V)
        np.testing.assert_allclose(slope, 3 * np.cos(V) * np.arange(3))


def test_an_integer_of_one_branch_is_a_float_as_numba_returns_it(module, monkeypatch):
    f = module.zero_or
    with ft.adopt(module):
        got = ft.vmap(f, in_dims=(0, None))(np.array([0.1, 0.2]), 0.5)
        assert got[0].dtype == np.float64 and type(f(0.1, 0.5)[0]) is float
        assert type(ft.jvp(f, (0.1, 0.5), (1.0, 0.0))[0][0]) is float
        faulty.an_integer_of_one_branch_is_a_float_as_numba_returns_it(monkeypatch)
        got = ft.vmap(f, in_dims=(0, None))(np.array([0.1, 0.2]), 0.5)
        assert got[0].dtype == np.int64  # so the check finds it


def state(module):
    """Return what an adoption may change in compiled functions."""
    found = [x for x in gc.get_objects() if type(x).__name__ == "CPUDispatcher"]
    found = [x for x in found if x.py_func.__globals__ is vars(module)]
    ufuncs = [module.clipped, module.cube, module.weighted, module.summed]
    rows = [(id(x), type(x), id(x.py_func), id(x.py_func.__code__)) for x in found]
    return sorted(rows, key=lambda r: r[0]), [type(x) for x in ufuncs], dict(vars(module))


def numba_itself():
    bytecode = sys.modules["numba.core.bytecode"]
    return (
        vars(bytecode.FunctionIdentity)["from_function"],
        numba.core.registry.CPUDispatcher.__init__,
        type(numba.vectorize(lambda x: x)).__init__,
    )


def test_all_is_undone(module):
    before, own = state(module), numba_itself()
    with ft.adopt(module):
        with ft.adopt(module):
            assert type(module.inner) is not before[0][0][1]
            assert type(module.inner).__name__ == "CPUDispatcher"
        assert type(module.inner) is not before[0][0][1]
        assert ft.grad(module.inner)(0.5) != 0.0
        assert state(module)[2].keys() >= before[2].keys()
    assert state(module) == before and numba_itself() == own
    assert module.loop._cache._py_func is module.loop.py_func


def test_types_that_come_first_while_adopted_are_compiled(module):
    wanted = [f for f in (module.inner, module.loop, module.recursive)]
    module.recursive(0.7, 2)  # which the other type leads to
    counts = [len(f.signatures) for f in wanted]
    with ft.adopt(module):
        x = np.float32(0.7)
        values = module.inner(x), module.loop(V.astype("f4")), module.recursive(x, 2)
        assert [len(f.signatures) for f in wanted] == [n + 1 for n in counts]
    assert values[0] == module.inner(x) and type(values[0]) is type(module.inner(x))
    np.testing.assert_array_equal(values[1], module.loop(V.astype("f4")))
    assert values[2] == module.recursive(x, 2)


def test_names_of_other_adopted_modules_are_as_they_were(tmp_path):
    files = {
        "numbapkg/__init__.py": "",
        "numbapkg/names.py": "from math import sin, cos\nimport numpy as np\nK = 2.0\n",
        "numbapkg/sub.py": (
            "from numba import njit\nfrom . import names\nfrom .names import cos\n"
            "@njit\ndef f(x):\n"
            "    return names.sin(x) * names.K + names.np.exp(x) + cos(x)\n"
        ),
        "numbapkg/user.py": "from .sub import f as g\ndef h(x):\n    return g(x) * float(x)\n",
    }
    support.write(tmp_path, files)
    with support.importable(tmp_path):
        user = importlib.import_module("numbapkg.user")
        with ft.adopt("numbapkg"):
            value = user.h(0.4)
            slope = ft.grad(user.h)(0.4)
        assert value == user.h(0.4)
        np.testing.assert_allclose(slope, difference(user.h, 0.4), rtol=1e-6)


def test_compiled_functions_of_another_package_are_reached(tmp_path, monkeypatch):
    files = {
        "numbakernel.py": (
            "import math\nfrom numba import njit, vectorize\n"
            "@njit\ndef f(x):\n    return math.sin(x)\n"
            "@vectorize\ndef g(x):\n    return math.exp(x)\n"
        ),
        "numbacaller.py": "from numbakernel import f, g\ndef h(x):\n    return f(x) * g(x)\n",
    }
    support.write(tmp_path, files)
    with support.importable(tmp_path):
        caller = importlib.import_module("numbacaller")
        with ft.adopt(caller):
            np.testing.assert_allclose(ft.grad(caller.h)(0.4), difference(caller.h, 0.4), rtol=1e-6)
        faulty.compiled_functions_of_another_package_are_reached(monkeypatch)
        with ft.adopt(caller), pytest.raises((TypeError, numba.core.errors.TypingError)):
            ft.grad(caller.h)(0.4)


def test_a_function_for_numba_alone_is_compiled(tmp_path):
    text = """
    import numpy as np
    from numba import njit
    from numba.extending import overload

    def special(x):
        return np.sum(x)

    @overload(special)
    def special_(x):
        if isinstance(x, float):
            return None
        def run(x):
            return np.sum(np.zeros(3)) + x * 2
        return run

    @njit
    def f(x):
        return special(x)

    def run_python(x):
        return np.sum(x)
    """
    module = support.module_of(tmp_path, text)
    with ft.adopt(module):
        assert module.f(2.0) == 4.0
        assert numba.njit(module.run_python)(np.ones(3)) == 3.0


def names_functier(data, folder):
    """Tell if pickles, or files of Numba's, name functier.

    They have the files of functions, too, and the folders of these may have any name.
    """
    libraries = [Path(library.__file__).parents[1] for library in (np, numba)]
    for place in (folder, *libraries, sys.base_prefix):
        data = data.replace(str(place).encode(), b"")
    return b"functier" in data


def test_the_cache_on_disk_is_that_of_the_module(tmp_path):
    text = "import math, numpy as np\nfrom numba import njit\n@njit(cache=True)\n"
    text += "def f(x):\n    return max(math.sin(float(x)), 0.0) + np.sin(x)\n"
    module = support.module_of(tmp_path, text)
    with known(module), support.importable(tmp_path):
        module.f(1.0)
        module = importlib.reload(module)
        with ft.adopt(module):
            assert module.f(1.0) == 2 * np.sin(1.0)
            assert sum(module.f._cache_hits.values()) == 1
            module.f(np.float32(1.0))
        module = importlib.reload(module)
        module.f(np.float32(1.0))
        assert sum(module.f._cache_hits.values()) == 1
    files = b"".join(p.read_bytes() for p in tmp_path.rglob("*.nb*"))
    assert files and not names_functier(files, tmp_path)


def test_a_pickle_knows_nothing_of_an_adoption(module):
    with ft.adopt(module):
        texts = [pickle.dumps(f) for f in (module.inner, module.clipped, module.summed)]
    folder = Path(module.__file__).parent
    assert not any(names_functier(t, folder) for t in texts)
    assert names_functier(pickle.dumps(ft.vmap), folder)


@pytest.mark.slow
def test_a_module_that_imports_numba_later(tmp_path):
    text = """
    import math
    import numpy as np

    def f(x):
        from numba import njit
        @njit
        def g(x):
            return math.sin(x)
        return g(x)
    """
    module = support.module_of(tmp_path, text)
    program = f"""
    import sys
    sys.path.insert(0, {str(tmp_path)!r})
    import functier as ft
    assert "numba" not in sys.modules
    import {module.__name__} as module
    import math
    with ft.adopt(module):
        assert module.f(1.0) == math.sin(1.0)
        assert abs(ft.grad(module.f)(1.0) - math.cos(1.0)) < 1e-12
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_threads(tmp_path):
    module = support.module_of(tmp_path, TEXT)
    errors, stop = [], threading.Event()
    sys.modules[module.__name__] = module

    def compile_all():
        kinds = ["f8", "f4", "i8", "i4", "u1"]
        while kinds and not errors:
            x = np.ones(3, kinds.pop())
            try:
                assert module.inner(x[0]) > 0 and module.recursive(x[0], 2) > 0
                assert module.running(x, 0.5)[0] == 1 and module.clipped(x, x).shape == (3,)
            except Exception as error:
                errors.append(error)
        stop.set()

    thread = threading.Thread(target=compile_all)
    thread.start()
    while not stop.is_set():
        with ft.adopt(module):
            assert ft.grad(module.inner)(0.5) > 1.5
    thread.join()
    del sys.modules[module.__name__]
    assert not errors, errors[0]


# ---- what is refused ----


def test_the_compiled_function_is_named_where_it_cannot_run(tmp_path):
    text = """
    from numba import njit, types
    from numba.extending import intrinsic

    @intrinsic
    def native(typing, x):
        return x(x), lambda context, builder, sig, args: args[0]

    @njit
    def f(x):
        return native(x)
    """
    module = support.module_of(tmp_path, text)
    with ft.adopt(module):
        assert module.f(1.0) == 1.0
        with pytest.raises(NotImplementedError) as caught:
            ft.grad(module.f)(1.0)
    assert f"{module.__name__}.f is compiled by Numba" in caught.value.__notes__[0]


@pytest.mark.slow
def test_a_gufunc_that_writes_to_its_inputs_is_refused(tmp_path):
    text = """
    from numba import guvectorize
    @guvectorize(["f8[:],f8[:]"], "(n)->(n)", writable_args=(0,))
    def f(x, out):
        x[0] = 2.0
        out[:] = x
    """
    module = support.module_of(tmp_path, text)
    with ft.adopt(module):
        with pytest.raises(ft.UnsupportedError, match="f: the function writes to its inputs"):
            ft.jacfwd(module.f)(V)


def test_options_of_a_ufunc_are_refused(module):
    with ft.adopt(module):
        with pytest.raises(ft.UnsupportedError, match=r"cube: .*without the option where"):
            ft.jacfwd(lambda x: module.cube(x, where=np.array([True, False, True])))(V)


def test_arguments_without_a_declared_signature_are_refused(module):
    with (
        ft.adopt(module),
        pytest.raises(TypeError, match=r"declared: no declared signature .*array\(float64, 1d"),
    ):
        ft.jacfwd(module.declared)(V)


def test_an_unknown_version_of_numba_leaves_the_module(tmp_path, monkeypatch):
    text = "import math, numba\n@numba.njit\ndef f(x):\n    return max(math.sin(x), 0.0)\n"
    module = support.module_of(tmp_path, text)
    faulty.an_unknown_version_of_numba_leaves_the_module(monkeypatch)
    with pytest.warns(UserWarning, match="f and others are compiled by a version of Numba"):
        with ft.adopt(module):
            assert module.f(1.0) == np.sin(1.0) and module.math.__name__ == "math"


# ---- planted faults ----


def test_numba_that_reads_the_twins_is_found(module, monkeypatch):
    faulty.numba_that_reads_the_twins(monkeypatch)
    with ft.adopt(module), pytest.raises(numba.core.errors.TypingError):
        module.inner(np.int16(3))


@pytest.mark.parametrize("fault", few(faulty.PLANTED, 4))
def test_a_planted_fault_is_found(module, fault, monkeypatch):
    use, plant = faulty.PLANTED[fault]
    check(module, use)
    plant(monkeypatch)
    with pytest.raises((AssertionError, ValueError, TypeError, ft.MutationError)):
        check(module, use)


# ---- in a first call that is compiled ----

SOFT = """
import numba as nb
import numpy as np
@nb.vectorize(nopython=True)
def _soft(width, x):
    m = (abs(abs(x) - width) + abs(x) - width) / 2
    return m * (0.0 if x == 0 else x / abs(x))
def soft(width, x): return _soft(width, x)
"""

CACHED = """
import numpy as np
from numba import jit, vectorize
@vectorize(["float64(float64)"], cache=True)
def inner(b): return np.exp(-b)
@jit(nopython=True, cache=True)
def one(a, b): return a * inner(b), a + b
def both(a, b): return np.vectorize(one, cache=True)(a, b)
"""

FIRST = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import functier as ft
import package
x = np.array([0.3, 0.7])
if sys.argv[2] == "plain":
    print(package.both(x[0], x[1]))
    sys.exit()
ft.adopt("package")
f = {f}
print(ft.compile(ft.grad(f))(x).tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, f, wanted",
    [
        pytest.param(
            SOFT, "lambda x: package.soft(0.2, x).sum()", [1.0, 1.0],
            id="a ufunc that is compiled in its first call",
        ),
        pytest.param(
            CACHED, "lambda x: sum(np.sum(r) for r in package.both(x[0], x[1]))",
            [np.exp(-0.7) + 1, 1 - 0.3 * np.exp(-0.7)], id="a function from the cache on disk",
        ),
    ],
)  # fmt: skip
def test_numba_compiles_in_a_first_call_that_is_compiled(text, f, wanted, tmp_path):
    """Nothing has been differentiated before, so each case has a process."""
    pytest.importorskip("numba")
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "package.py").write_text(text)
    (tmp_path / "first.py").write_text(FIRST.replace("{f}", f))
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for how in ["plain", *["compiled"] * 3] if text is CACHED else ["compiled"]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", tmp_path / "first.py", folder, how],
            capture_output=True, text=True, env=env,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-500:]
    close(np.array(ast.literal_eval(done.stdout)), np.array(wanted), 1e-9)


RANGES = """
import numba
import numpy as np

@numba.njit
def total(x, k):
    s = 0.0
    for i in range(k - 1.7, np.floor(k) + 1, True):
        s += x[i]
    return s

def by_factory(x, k):
    @numba.njit
    def made(x, k):
        return x[:1].sum() * len([i for i in range(k)])
    return made(x, k)

def plain(x, k):
    return x[range(k)]

@numba.njit
def parallel(x, k):
    s = 0.0
    for i in numba.prange(k):
        s += x[i]
    return s
"""


@pytest.mark.parametrize("name", ["total", "by_factory"])
@pytest.mark.parametrize("kind", [float, np.float32])
def test_a_range_cuts_off_the_digits_of_floats_as_in_compiled_code(name, kind, tmp_path):
    module, x = support.module_of(tmp_path, RANGES), np.arange(1.0, 6.0)
    f = getattr(module, name)
    wanted = [f(x, kind(k)) for k in (2.3, 3.6)]
    names = dict(vars(module)), code_of(f)
    with ft.adopt(module):
        assert f(x, kind(2.3)) == wanted[0]
        value, slope = ft.value_and_grad(lambda x: f(x, kind(2.3)))(x)
        assert value == wanted[0] and slope @ x == value
        assert ft.value_and_grad(lambda k: f(x, k))(kind(2.3)) == (wanted[0], 0.0)
        got = ft.vmap(f, in_dims=(None, 0), branches="split")(x, np.array([2.3, 3.6], kind))
        assert got.tolist() == wanted
        assert ft.compile(ft.grad(f))(x, kind(2.3)).tolist() == slope.tolist()
    assert (dict(vars(module)), code_of(f)) == names


def code_of(f):
    return getattr(f, "py_func", f).__code__


@pytest.mark.parametrize(
    "name, words",
    [("plain", ["interpreted as an integer"]), ("parallel", ["by Numba", "prange(int(n))"])],
)
def test_other_ranges_take_no_floats(name, words, tmp_path):
    module = support.module_of(tmp_path, RANGES)
    with ft.adopt(module), pytest.raises(TypeError) as raised:
        ft.grad(lambda x: getattr(module, name)(x, 2.3))(np.arange(3.0))
    has_all("".join([str(raised.value), *getattr(raised.value, "__notes__", [])]), *words)
