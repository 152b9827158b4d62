"""The line to change: what a message says of an import is followed literally, and is right.

Each program is a file. Its message is read, the import is rewritten as the message says, and the
file runs again.
"""

import importlib
import importlib.util
import linecache
import re
import sys

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.tables import sources

X = np.array([0.7, 1.3])
COUNTS = np.array([2, 0])
CHANGE = re.compile(r', or "(?P<new>[^"]*)" for "(?P<old>[^"]*)" in line (?P<line>\d+) of (\S+)$')

PROGRAMS = sources("""
array of a list :: import numpy as np // def program(x): return np.array([x, 1.0, x * x])
array of lists :: import numpy // def program(x): return numpy.array([[x, 1.0], [0.0, x * x]])
asarray :: import math, numpy as np, sys // def program(x): return np.asarray(x) * math.pi
from numpy import :: from numpy import array, sum as total //
    def program(x): return total(array([x, x * x]))
import of everything :: from numpy import * // def program(x): return array([x, 2.0])
import in the function :: import numpy // def program(x): // \timport numpy as np //
    \treturn np.full(3, x)
a guarded import :: try: import numpy as np // except ImportError: np = None //
    def program(x): return np.full((2, 2), x) @ np.ones(2)
another name :: import numpy as xp // def program(x): return xp.full(3, x) * xp.arange(3)
a write :: import numpy as np // def program(x): // \tout = np.zeros(3) //
    \tfor i in range(3): out[i] = x * i // \treturn out
a write to a part :: from numpy import ones // def program(x): // \tout = ones((2, 3)) //
    \trows = [0, 1] // \tout[rows, 1] = x // \treturn out
a write to a view :: import numpy as np // def program(x): // \tout = np.empty((2, 2)) //
    \tout.fill(0.0) // \tout.T[0] = x // \treturn out
fill :: import numpy as np // def program(x): // \tout = np.zeros(3) // \tout.fill(x) //
    \treturn out
the diagonal :: import numpy as np // def program(x): // \ta = np.eye(3) //
    \tnp.fill_diagonal(a, x) // \treturn a
a sum in place :: import numpy as np // def program(x): // \ttotal = np.zeros(2) //
    \tfor i in range(3): total += x * i // \treturn total
out= :: import numpy as np // def program(x): // \ta = np.empty(2) //
    \tnp.multiply(x, [1.0, 2.0], out=a) // \treturn a
a helper :: import numpy as np // def pair(x): return np.array([x, 2 * x]) //
    def program(x): return pair(x) * pair(1.0)
r_ :: import numpy as np // def program(x): return np.r_[x, 1.0, x]
c_ :: import numpy as np // def program(x): return np.c_[np.stack([x, x]), np.ones(2)]
mgrid :: import numpy as np // def program(x): return np.mgrid[0:x:3j, 0:1:2j]
mean of a list :: from numpy import mean // def program(x): return mean([x, 1.0, x * x])
norm of a list :: import numpy.linalg as la // def program(x): return la.norm([x, 1.0])
norm of a list, by a module :: from numpy import linalg //
    def program(x): return linalg.norm([x, 1.0])
norm of a list, by NumPy :: import numpy.linalg //
    def program(x): return numpy.linalg.norm([x, 1.0])
a list in a list :: import numpy as np //
    def program(x): return np.dot([[x, 1.0], [0.0, x]], [x, 2.0])
vectorize :: import numpy as np // def program(x): return np.vectorize(lambda v: v * v)(x)
a vectorized function :: import numpy as np // square = np.vectorize(lambda v: v * v) //
    def program(x): return square(x)
a decorated function :: import numpy as np // @np.vectorize // def square(v): return v * v //
    def program(x): return square(x)
nditer :: import numpy as np //
    def program(x): return sum(v * v for v in np.nditer(np.stack([x, 2 * x])))
ndenumerate :: import numpy as np //
    def program(x): return sum(v * i[0] for i, v in np.ndenumerate(np.stack([x, 2 * x])))
broadcast :: import numpy as np //
    def program(x): return sum(a * b for a, b in np.broadcast(np.stack([x, x]), np.ones((2, 2))))
fromiter :: import numpy as np //
    def program(x): return np.fromiter((x * i for i in range(3)), float)
a method of an array :: import numpy as np //
    def program(x): return np.eye(2).dot(np.stack([x, x * x]))
a method of an array with a name :: import numpy as np // def program(x): // \tm = np.eye(2) //
    \treturn m.dot(np.stack([x, x * x]))
ix_ :: import numpy as np // def program(x): return np.ix_([x, 1.0], [0, 1])[0]
where :: import numpy as np // def program(x): return np.where([True, False], [x, 1.0], 0.0)
""")
OF_COUNTS = sources("""
an index :: import numpy as np // def program(n): // \ttable = np.array([10.0, 20.0, 30.0]) //
    \treturn table[n] * 2
a place :: import numpy as np // def program(n): // \ttable = np.linspace(0.0, 1.0, 5) //
    \treturn np.take(table, n)
a place in a global array :: import numpy as np // table = np.linspace(0.0, 1.0, 5) //
    def program(n): return np.take(table, n)
a method with a place :: import numpy as np // def program(n): return np.arange(5.0).take(n)
a list of places :: import numpy as np // def program(n): // \tm = np.eye(3) //
    \treturn m[np.ix_([n, 1], [0, 1])]
""")
"""Programs under vmap, of integers."""


def load(path, source=None):
    """The function `program` of a file, after its source was written."""
    if source is not None:
        path.write_text(source)
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module.program


def message(run, program):
    with pytest.raises(ft.LevelError) as error:
        run(program)
    return str(error.value)


def follow(text, path):
    """The source of a file after the change that a message asks for."""
    change = CHANGE.search(text)
    assert change, text
    assert change[4] == path.name
    lines = path.read_text().splitlines()
    at = int(change["line"]) - 1
    assert lines[at].count(change["old"]) == 1, lines[at]
    lines[at] = lines[at].replace(change["old"], change["new"])
    return "\n".join(lines)


def slope(program, x):
    h = 1e-6
    return (program(x + h) - program(x - h)) / (2 * h)


RUNS = {
    "vmap": (lambda f: ft.vmap(f)(X), lambda f: np.stack([f(x) for x in X])),
    "grad": (lambda f: ft.grad(lambda x: np.sum(f(x)))(0.7), lambda f: np.sum(slope(f, 0.7))),
    "jvp": (lambda f: ft.jvp(f, (0.7,), (1.0,))[1], lambda f: slope(f, 0.7)),
    "vmap grad": (
        lambda f: ft.vmap(ft.grad(lambda x: np.sum(f(x))))(X),
        lambda f: np.stack([np.sum(slope(f, x)) for x in X]),
    ),
}
CASES = [(name, mode) for name in PROGRAMS for mode in RUNS]


@pytest.mark.parametrize("name,mode", CASES, ids=[f"{n}-{m}" for n, m in CASES])
def test_the_import_is_changed_as_the_message_says(name, mode, tmp_path):
    path = tmp_path / "model.py"
    program = load(path, PROGRAMS[name])
    run, expected = RUNS[mode]
    wanted = expected(program)

    text = message(run, program)

    changed = load(path, follow(text, path))
    np.testing.assert_allclose(run(changed), wanted, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(expected(changed), wanted, rtol=1e-5)


@pytest.mark.parametrize("name", OF_COUNTS)
def test_the_import_is_changed_for_integers(name, tmp_path):
    path = tmp_path / "model.py"
    program = load(path, OF_COUNTS[name])

    text = message(lambda f: ft.vmap(f)(COUNTS), program)

    changed = load(path, follow(text, path))
    np.testing.assert_allclose(ft.vmap(changed)(COUNTS), [program(n) for n in COUNTS])


@pytest.mark.parametrize("advised", ["scalar type", "initial="])
def test_advice_that_does_not_help_is_found(advised, tmp_path, monkeypatch):
    """For these the twins are NumPy's own, so their messages say nothing of the import."""
    body = {"scalar type": "np.float64(x)", "initial=": "np.sum([1.0], initial=x)"}[advised]
    path = tmp_path / "model.py"
    program = load(path, f"import numpy as np\ndef program(x):\n    return {body}\n")
    run = RUNS["grad"][0]
    assert not CHANGE.search(message(run, program))

    faulty.advice_that_does_not_help(monkeypatch, advised)
    changed = load(path, follow(message(run, program), path))

    with pytest.raises(ft.LevelError):
        run(changed)


# ---- where a change of the import would not help ----

UNCHANGED = sources("""
the twins are there already :: import functier.numpy as np // import numpy //
    def program(x): return np.sum(numpy_array(x)) // from somewhere import numpy_array
a global array :: import numpy as np // out = np.zeros(2) // def program(x): // \tout[0] = x //
    \treturn out
an array around the level :: import numpy as np, functier as ft // def program(x): //
    \tout = np.zeros(2) // \twith ft.vmap() as B: out[0] = B(x) // \treturn out
a method of a global array :: import numpy as np // m = np.eye(2) //
    def program(x): return m.dot(np.stack([x, x]))
an item of a global array :: import numpy as np // table = np.arange(5.0) //
    def program(x): return table[(x > 1).astype(int)]
a ufunc :: import numpy as np // def program(x): return np.sin([x, 1.0])
a type :: import numpy as np // def program(x): return np.float64(x)
a function that shows :: import numpy as np // def program(x): //
    \tnp.testing.assert_allclose(x, x) // \treturn x * x
an argument :: import numpy as np // def program(x, out=np.zeros(2)): // \tout[0] = x //
    \treturn out
a name that is no import :: def program(x): return xp.array([x, 1.0]) // import numpy //
    def find(): return numpy // xp = find()
a list :: import numpy as np // def program(x): // \tout = [np.zeros(2)] // \tout[0][1] = x //
    \treturn out[0]
math :: from math import sin // def program(x): return sin(x)
a number :: def program(x): return float(x) * 2
""")


@pytest.mark.parametrize("name", UNCHANGED)
def test_nothing_is_said_of_an_import_that_does_not_help(name, tmp_path, monkeypatch):
    other = tmp_path / "somewhere.py"
    other.write_text("import numpy as np\ndef numpy_array(x):\n    return np.array([x, 1.0])\n")
    monkeypatch.syspath_prepend(tmp_path)
    program = load(tmp_path / "model.py", UNCHANGED[name])
    try:
        text = message(lambda f: f(X) if "level" in name else ft.vmap(f)(X), program)
    finally:
        sys.modules.pop("somewhere", None)

    assert "model.py" not in text.partition("): ")[2] and "__main__" not in text
    assert "; write " in text


def test_the_twins_are_named_where_the_name_has_another_source():
    """In a session each cell is a source by itself."""
    names = {"np": np}
    source = "def program(x):\n    return np.array([x, 1.0])\n"
    linecache.cache["<cell 7>"] = len(source), None, source.splitlines(True), "<cell 7>"
    exec(compile(source, "<cell 7>", "exec"), names)

    text = message(lambda f: ft.vmap(f)(X), names["program"])

    assert text.endswith(', or "import functier.numpy as np" for "import numpy as np"')
    exec("import functier.numpy as np", names)
    np.testing.assert_allclose(ft.vmap(names["program"])(X), [[0.7, 1.0], [1.3, 1.0]])
