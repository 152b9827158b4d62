"""Tables, closures and partial functions of an adopted module: what they hold has twins;
labelled arrays.
"""

import functools
import importlib
import math
import sys
import types

import numpy as np
import pytest
from adopt_support import importable, module_of, write

import functier as ft
import functier.numpy as fnp
from faults.planted import adoption as faulty
from support.differences import check
from support.tables import sources

HEAD = """
import collections, functools, math
import numpy as np
"""

BODIES = sources("""
a dict :: TABLE = {"sin": math.sin, "pair": np.array, "max": max, "pi": math.pi} // def f(x): //
    \ta = [TABLE["sin"](x[0]), TABLE["max"](x[1], 0.5)] // \treturn TABLE["pair"](a) * TABLE["pi"]
a list :: TABLE = [math.exp, np.cos, math.sqrt] //
    def f(x): return np.array([g(v) for g, v in zip(TABLE, x)])
a tuple :: TABLE = (math.exp, (math.cos, 3.0)) //
    def f(x): return TABLE[0](x[0]) * TABLE[1][0](x[1]) * TABLE[1][1]
nested :: TABLE = {"a": [{"b": (math.sin, "text")}], "c": collections.OrderedDict(d=math.cos)} //
    def f(x): return TABLE["a"][0]["b"][0](x[0]) * TABLE["c"]["d"](x[2])
modules :: TABLE = {"numpy": np, "math": math} //
    def f(x): return TABLE["numpy"].array([TABLE["math"].sin(x[0]), x[1]])
a partial :: power = functools.partial(math.pow, 2.0) //
    filled = functools.partial(np.full, shape=2) // twice = functools.partial(power) //
    def f(x): return filled(fill_value=power(x[0])) * twice(x[1])
a partial with a function among its arguments :: def apply(g, x): return g(x) //
    part = functools.partial(apply, math.sin) // other = functools.partial(apply, g=math.cos) //
    def f(x): return part(x[0]) * other(x=x[1])
a closure :: def wrap(g): // \tdef wrapped(*args): return g(*args) // \treturn wrapped //
    sine, arrays = wrap(math.sin), wrap(np.array) // def f(x): return arrays([sine(x[0]), x[1]])
closures of closures :: def wrap(g, table): //
    \tdef wrapped(*args): return g(*args) * table["f"](args[0]) // \treturn wrapped //
    product = wrap(wrap(math.hypot, {"f": math.sin}), {"f": math.exp}) //
    def f(x): return product(x[0], x[1])
functions from text :: space = {"math": math} //
    for name in ("sin", "exp"): exec(f"def {name}_(x):\\n    return math.{name}(float(x))",
    globals()) // product = eval("lambda x, y: math.sin(x) * y") //
    def f(x): return sin_(x[0]) * exp_(x[1]) + product(x[0], x[2])
operators by a table :: class Number: // \tdef __init__(self, x): self.x = x // def wrap(g): //
    \tdef wrapped(a, *others): //
    \t\tothers = [b.x if isinstance(b, Number) else b for b in others] //
    \t\tresult = g(a.x, *others) //
    \t\treturn result if result is NotImplemented else Number(result) // \treturn wrapped //
    for name in ("add", "radd", "mul", "rmul", "truediv", "rsub", "pow", "neg", "abs", "rpow"):
    setattr(Number, f"__{name}__", wrap(getattr(float, f"__{name}__"))) // def f(x): //
    \ta, b = Number(float(x[0])), Number(float(x[2])) //
    \treturn (2.0 - (a + b * 3 + abs(-a)) / b + a ** 2 + 2.0 ** b).x
defaults :: def f(x, gs=(math.sin, [np.array]), *, part=functools.partial(math.pow, 2.0)): return
    gs[1][0]([gs[0](x[0]), part(x[1])])
attributes of classes :: class A: // \ttable = {"sin": math.sin} //
    \tpair = (math.cos, np.array) // \tpart = functools.partial(math.pow, 2.0) // def f(x): //
    \ta = A() // \treturn a.pair[1]([a.table["sin"](x[0]), a.pair[0](x[1])]) * A.part(x[2])
attributes of functions :: def g(x): return g.inner(x) * g.table[0](x) //
    g.inner, g.table = math.sin, [math.exp] // def f(x): return g(x[0])
instances in a table :: class Model: //
    \tdef __init__(self, g): self.g, self.others = g, [math.exp] //
    \tdef __call__(self, x): return self.g(x) * self.others[0](x) //
    MODELS = {"a": Model(math.sin), "b": [Model(math.cos)]} //
    def f(x): return MODELS["a"](x[0]) * MODELS["b"][0](x[1])
a queue :: QUEUE = collections.deque([math.sin, math.cos]) //
    COUNTS = collections.defaultdict(list, a=[math.exp]) //
    def f(x): return QUEUE[0](x[0]) * QUEUE[1](x[1]) * COUNTS["a"][0](x[2])
an object that holds itself :: TABLE = [math.sin] // TABLE.append(TABLE) //
    def f(x): return TABLE[1][1][0](x[0])
""")

X = np.array([0.7, -1.3, 2.1])


def text_of(name):
    return HEAD + BODIES[name]


def contents_of(value, depth=0, seen=()):
    """Return the contents of a value, as numbers of objects."""
    kind = type(value)
    inner = []
    if id(value) in seen or depth > 6:
        return id(value)
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, (list, tuple)) or kind.__name__ == "deque":
        inner = list(enumerate(value))
    elif kind is functools.partial:
        inner = [(0, value.func), (1, value.args), (2, value.keywords)]
    elif kind is types.FunctionType:
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        inner = list(enumerate([value.__code__, value.__defaults__, value.__kwdefaults__, *cells]))
        inner += vars(value).items()
    elif isinstance(value, type) or hasattr(value, "g"):
        inner = [(k, v) for k, v in vars(value).items() if k[:2] != "__" or callable(v)]
    found = [(k, contents_of(v, depth + 1, (*seen, id(value)))) for k, v in inner]
    return id(value), found


def whole(module):
    return {k: contents_of(v) for k, v in vars(module).items() if k[:2] != "__"}


@pytest.mark.parametrize("name", BODIES)
def test_what_is_held_has_a_twin(name, tmp_path):
    module, plain = [module_of(tmp_path, text_of(name)) for _ in range(2)]
    before = whole(module)
    for _ in range(2):
        with ft.adopt(module):
            for nesting in (("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "grad")):
                check(nesting, module.f, np.abs(X), plain.f)
            assert np.array_equal(module.f(np.abs(X)), plain.f(np.abs(X)))
        assert whole(module) == before
    with pytest.raises((ft.LevelError, TypeError)):
        ft.grad(lambda x: np.sum(module.f(x)))(np.abs(X))


def test_a_container_stays_the_same_object(tmp_path):
    module = module_of(tmp_path, text_of("nested"))
    table = module.TABLE
    with ft.adopt(module):
        assert module.TABLE is table and table["c"]["d"] is not math.cos
        assert table["c"]["d"](0.5) == math.cos(0.5)
    assert table["c"]["d"] is math.cos


def test_what_was_changed_meanwhile_stays(tmp_path):
    text = HEAD + "D = {'a': math.sin, 'b': math.cos}\nL = [math.sin, math.cos, math.exp]\n"
    text += "P = functools.partial(math.pow, 2.0)\n"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        del module.D["a"]
        module.D["b"] = 3
        module.L.insert(0, "new")
        module.L[2] = "other"
        module.P.__setstate__((max, (), {}, {}))
    assert module.D == {"b": 3} and module.P.func is max
    assert module.L == ["new", math.sin, "other", math.exp]


def test_containers_of_others_stay(tmp_path):
    """A dict that a module without adoption has, and the namespace of a module."""
    text = "import math\nTABLE = {'sin': math.sin}\n"
    write(tmp_path, {"owner.py": text, "user.py": "from owner import TABLE\nALIAS = TABLE\n"})
    with importable(tmp_path):
        user, owner = importlib.import_module("user"), importlib.import_module("owner")
        with pytest.warns(UserWarning, match=r"user, TABLE holds math\.sin, which stays"):
            with ft.adopt(user, dependencies=False):
                assert owner.TABLE["sin"] is math.sin
        with ft.adopt(user, owner):
            assert owner.TABLE["sin"] is not math.sin
        assert owner.TABLE["sin"] is math.sin


def test_the_namespace_of_a_module_stays(tmp_path):
    text = "import math\nNAMES = vars(math)\nHERE = globals()\nTABLE = [math.__dict__]\n"
    module = module_of(tmp_path, text)
    sine = math.sin
    with ft.adopt(module) as adoption:
        assert math.sin is sine and math.sin is vars(math)["sin"]
        assert not adoption.left
    assert module.math is math


def test_long_tables_and_odd_objects_are_no_obstacle(tmp_path):
    text = HEAD + "LONG = [math.sin] * 5000\nNUMBERS = list(range(5000))\n"
    text += "class Odd(dict):\n    def values(self):\n        raise RuntimeError\n"
    text += "    __iter__ = __len__ = values\nODD = [Odd(a=1), Odd()]\n"
    module = module_of(tmp_path, text)
    with ft.adopt(module):
        assert module.LONG[0] is math.sin


# ---- the operators of float ----


# ---- planted faults ----


@pytest.mark.parametrize("part", faulty.FAULTS_OF_CONTENTS)
def test_a_planted_fault_is_found(part, tmp_path, monkeypatch):
    name, plant = faulty.FAULTS_OF_CONTENTS[part]
    plant(monkeypatch)
    with pytest.raises((AssertionError, ft.LevelError, TypeError)):
        test_what_is_held_has_a_twin(name, tmp_path)


def test_planted_faults_of_what_others_hold_are_found(tmp_path, monkeypatch):
    faulty.faults_of_what_others_hold(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_containers_of_others_stay(tmp_path)
    for name in ("owner", "user"):
        sys.modules.pop(name, None)


def test_a_masked_array_among_the_globals_takes_no_tensor(tmp_path):
    text = "import numpy as np\nMASKED = np.ma.array([1, 2])\ndef f(x): return (MASKED * x).sum()"
    module = module_of(tmp_path, text)
    with (
        ft.adopt(module),
        pytest.raises(ft.ConversionError, match=r"numpy\.where\(a\.mask, fill, a\.data\)"),
    ):
        ft.grad(module.f)(np.array([3.0, 4.0]))
    assert module.f(np.array([3.0, 4.0])) == 11


# Arrays with labels that NumPy's functions drop, and structured arrays, which take no tensors


X_LABELS = np.array([1.1, -2.0, 0.5])

LABELLED = {
    "interp": lambda x, s: np.interp(x, s, s * s),
    "interp at labels": lambda x, s: np.interp(s, np.sort(x), x),
    "trapezoid": lambda x, s: np.trapezoid(x, s),
    "where": lambda x, s: np.where(x > 0, s, x),
    "concatenate": lambda x, s: np.concatenate([x, s]) ** 2,
    "average": lambda x, s: np.average(x, weights=s),
    "polyval": lambda x, s: np.polyval(s, x),
    "outer": lambda x, s: np.outer(x, s),
    "convolve": lambda x, s: np.convolve(x, s),
}


@pytest.mark.parametrize("name", LABELLED)
def test_functions_drop_labels(name):
    pandas = pytest.importorskip("pandas")
    values = np.array([0.2, 1.5, 3.0])
    series = pandas.Series(values, index=[2, 0, 1])
    f = LABELLED[name]
    for names in (("jvp",), ("vmap", "grad")):
        check(names, lambda x: f(x, series), X_LABELS, lambda x: f(x, values))


def test_what_keeps_labels_is_refused():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([0.2, 1.5, 3.0], index=[2, 0, 1])
    for f in (
        lambda x: x * series,
        lambda x: np.add(x, series),
        lambda x: np.clip(series, x, x),
        lambda x: np.dot(series, x),
        lambda x: np.interp(x, series.astype(str), x),
    ):
        with pytest.raises(TypeError, match="whose labels and missing values no transform"):
            ft.jvp(f, (X_LABELS,), (X_LABELS,))


@pytest.mark.parametrize("transform", [ft.jacfwd, ft.vmap])
def test_structured_arrays_take_no_tensors(transform):
    kinds = [("u", float), ("v", float)]
    for f in (
        lambda x: fnp.array([(x, 1.0), (x, 2.0)], dtype=kinds)["u"],
        lambda x: fnp.asarray([(x, 1.0)], dtype=kinds)["u"],
        lambda x: fnp.rec.fromarrays([[x, x], [1, 2]], names="u,v").u,
        lambda x: fnp.rec.fromrecords([(x, 1)], names="u,v").u,
    ):
        refused = pytest.raises(
            (ft.UnsupportedError, ft.LevelError), match="write a dict of arrays"
        )
        with refused:
            transform(f)(X_LABELS)
