"""Arrays that a compiled function finds outside: they are read at each call, as arguments are;
writes to a row whose number is computed.
"""

import array
import collections
import gc
import types
import weakref

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import programs as faulty
from support.basics import alike, raises, silent

W = np.array([1.0, -2.0, 0.5])
HEAD = """
import numpy as np, functier as ft
rng = np.random.default_rng(0)
def new(*shape): return rng.normal(size=shape)
"""


def module(text):
    """Return a module with this source."""
    made = types.ModuleType("user_module")
    exec(text, vars(made))
    return made


PLACES = {
    "global": ("X = new(4, 3)", "X", "global X; X = new(4, 3)"),
    "attribute": ("class M: pass\nm = M(); m.X = new(4, 3)", "m.X", "m.X = new(4, 3)"),
    "slot": ("class M: __slots__ = ('X',)\nm = M(); m.X = new(4, 3)", "m.X", "m.X = new(4, 3)"),
    "class": ("class M: X = new(4, 3)", "M.X", "M.X = new(4, 3)"),
    "dict": ("d = {'X': new(4, 3)}", "d['X']", "d['X'] = new(4, 3)"),
    "list": ("d = [new(4, 3)]", "d[-1]", "d[-1] = new(4, 3)"),
    "complex": ("X = new(4, 3) * 1j", "X", "global X; X = new(4, 3) + 1j"),
}  # fmt: skip
TRANSFORMS = {
    "": "{f}",
    "grad": "ft.grad({f})",
    "jvp": "lambda w: ft.jvp({f}, (w,), (w,))",
    "hessian": "ft.hessian({f})",
    "vmap of grad": "lambda w: ft.vmap(ft.grad({f}))(np.stack([w, 2 * w]))",
    "grad of vmap": "ft.grad(lambda w: np.sum(ft.vmap({f})(np.stack([w, 2 * w]))))",
}
USES = {
    "product": "{X} @ w",
    "operand": "{X} * w + w / {X} - {X}",
    "function": "np.dot({X}, w) + np.maximum({X}, w)[:, 0]",
    "list": "np.stack([{X}[0], w])",
    "einsum": "np.einsum('ij,j->i', {X}, w)",
    "outer": "np.add.outer({X}, w)",
    "row": "{X}[1] * w",
    "part": "{X}[1:3].T * w[0] + {X}.T[:, 2:] * w[1]",
    "column": "{X}[:, 1] * w[0]",
    "transposed": "{X}.T @ ({X} @ w)",
    "reshaped": "{X}.reshape(3, 4)[1] * w[0] + {X}.ravel()[4:8] * w[1]",
    "form": "np.zeros_like({X}) + w + {X}.shape[0] * len({X})",
    "inner vmap": "ft.vmap(lambda x: np.sum(x * w))({X})",
    "inner grad": "ft.grad(lambda v, x: np.sum((x @ v) ** 2))(w, {X})",
}


def run(user, changes, traces=1):
    """Call after each change; return the compiled function."""
    compiled = ft.compile(user.f, backend="numpy")
    for change in (None, *changes, *changes):
        if change is not None:
            exec(f"def change():\n {change}\nchange()", vars(user))
        found, wanted = compiled(W), user.f(W)
        np.testing.assert_allclose(found, wanted, 1e-13)  # the last bits are those of BLAS
        assert type(found) is type(wanted)
    assert compiled._traced == traces, compiled.explain()
    return compiled


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("place", PLACES)
def test_places(place, transform):
    make, name, other = PLACES[place]
    f = TRANSFORMS[transform].format(f=f"(lambda w: np.sum(abs({name} @ w - 2) ** 2))")
    run(module(f"{HEAD}{make}\nf = {f}"), [other, f"{name}[1] *= 2.0"])


@pytest.mark.parametrize("transform", ["", "grad"])
@pytest.mark.parametrize("use", USES)
def test_uses(use, transform):
    make, name, other = PLACES["global"]
    body = f"np.sum(({USES[use].format(X=name)}) ** 2)"
    f = TRANSFORMS[transform].format(f=f"(lambda w: {body})")
    run(module(f"{HEAD}{make}\nf = {f}"), [other, "X[1] += 1.0"])


PYTREES = {
    "grad": "lambda w: ft.grad(lambda p: {loss})(P)['in'][0]",
    "value_and_grad": "lambda w: ft.value_and_grad(lambda p: {loss})(P)[1]['b']",
    "second": "lambda w: ft.grad(lambda p, q: {loss} * q['b'][0], 1)(P, P)['b']",
    "vjp": "lambda w: ft.vjp(lambda p: {loss}, P)[1](1.0)[0]['b']",
    "jvp": "lambda w: ft.jvp(lambda p: {loss}, (P,), (P,))[1]",
    "vmap": "lambda w: ft.vmap(lambda w, p: {loss}, (0, None))(np.stack([w, w]), P)",
}
LOSS = "np.sum((w * p['in'][0] * p['in'][1]['z'] + p['b']) ** 2)"


@pytest.mark.parametrize("name", PYTREES)
def test_the_arrays_of_pytrees_from_outside(name):
    """A loop over steps of an optimizer changes the parameters, and traces once."""
    make = "P = {'in': (new(3), {'z': new(3)}), 'b': new(3)}\nP['in'] = [*P['in']]\n"
    user = module(f"{HEAD}{make}f = {PYTREES[name].format(loss=LOSS)}")
    run(user, ["P['b'] = new(3)", "P['b'] *= 2.0", "P['in'][0] = new(3)", "P['in'][1]['z'] -= 1.0"])


@pytest.mark.parametrize("change", [
    "P['in'].append(new(2))", "P['c'] = new(2)", "P['in'][1]['z'] = 2.0",
    "P['in'] = tuple(P['in'])",
    "b = P.pop('b'); P['b'] = b; P['in'][1]['y'] = b",
])  # fmt: skip
def test_another_structure_of_a_pytree_is_traced_again(change):
    make = "P = {'in': [new(3), {'z': new(3)}], 'b': new(3)}\n"
    user = module(f"{HEAD}{make}f = lambda w: ft.grad(lambda p: {LOSS})(P)")
    compiled = ft.compile(user.f, backend="numpy")
    for _ in range(2):
        alike(compiled(W), user.f(W))
        exec(f"def change():\n {change}\nchange()", vars(user))
    alike(compiled(W), user.f(W))
    assert compiled._traced > 1


def test_a_cell():
    def model(X):
        def change(Y):
            nonlocal X
            X = Y

        return ft.grad(lambda w: np.sum((X @ w) ** 2)), change

    f, change = model(np.ones((4, 3)))
    compiled = ft.compile(f)
    for X in (np.ones((4, 3)), np.eye(4, 3)):
        change(X)
        np.testing.assert_allclose(compiled(W), f(W))
    assert compiled._traced == 1


CHANGES = {
    "another shape": ("X * w", "global X; X = new(len(X) + 1, 3)"),
    "another dtype": ("X * w", "global X; X = X.astype('f4' if X.dtype == float else 'f8')"),
    "another order": (
        "np.sum(X * w)", "global X; X = X.copy('F' if X.flags.c_contiguous else 'C')",
    ),
    "no array": ("X * w", "global X; X = 2.0 if type(X) is np.ndarray else new(4, 3)"),
    "what was one": ("X * w + Y", "global Y; Y = X if Y is not X else new(4, 3)"),
    "which one it is": ("X * w * (X is Y)", "global Y; Y = X if Y is not X else new(4, 3)"),
    "by id": ("X * w * (id(X) == id(Y))", "global Y; Y = X if Y is not X else new(4, 3)"),
    "base": ("X * w * (V.base is X)", "global V; V = X[0] if V.base is not X else new(3)"),
    "truth": ("X * w if X[0, 0] > 0 else w", "X[:] = -X"),
    "product of two": ("(Y @ Y.T) @ X * w", "Y[0] += 1.0"),
    "method of a view": ("w * X.T.sum()", "X[0, 0] += 1.0"),
    "number of a view": ("w * X.T[0, 0]", "X[0, 0] += 1.0"),
    "float of a view": ("w * float(X[0:2].T[0, 0])", "X[0, 0] += 1.0"),
    "view of a part": ("w * Z.T.sum()", "Z[:] += 1.0"),
    "in a tuple": ("w * X + T[0]", "global X; X = T[0] if X is not T[0] else new(4, 3)"),
    "in a partial": ("w * X + P()", "global X; X = T[0] if X is not T[0] else new(4, 3)"),
    "a default": ("w * X + w * G()", "global X; X = T[0] if X is not T[0] else new(4, 3)"),
}  # fmt: skip


@pytest.mark.parametrize("transform", ["", "grad"])
@pytest.mark.parametrize("name", CHANGES)
def test_changes(name, transform):
    """They decide something: the function is traced again, or another program is right."""
    body, change = CHANGES[name]
    f = TRANSFORMS[transform].format(f=f"(lambda w: np.sum({body}))")
    make = "X = Y = new(4, 3); V = X[0]; T = (X,); Z = new(8, 3)[::2]\n"
    make += "import functools; P = functools.partial(lambda x: x, X); G = lambda x=X: x"
    user = module(f"{HEAD}{make}\nf = {f}")
    compiled = ft.compile(user.f, backend="numpy")
    for _ in range(4):
        np.testing.assert_array_equal(compiled(W), user.f(W))
        exec(f"def change():\n {change}\nchange()", vars(user))
    assert compiled._traced > 1


WRITES = {
    "out": "np.add(w[0], 1.0, out=X)",
    "copyto": "np.copyto(X, 2.0 * np.ones(3))",
    "item of a view": "X.T[0, 0] += 1.0",
    "fill of a view": "X[0].fill(X[0, 0] + 1.0)",
    "diagonal": "np.fill_diagonal(X, X[0, 0] + 1.0)",
    "in place": "Y = X; Y += 1.0",
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    """A function that writes to such an array runs itself: the caller's array has the value."""
    text = f"{HEAD}X = new(4, 3)\ndef f(w):\n {WRITES[name]}\n return np.sum(X * w)"
    plain, user = module(text), module(text)
    compiled = ft.compile(user.f)
    for _ in range(4):
        assert compiled(W) == plain.f(W)
        np.testing.assert_array_equal(user.X, plain.X)


def test_arrays_are_let_go():
    user = module(f"{HEAD}X = new(4, 3)\nf = ft.grad(lambda w: np.sum((X @ w) ** 2))")
    compiled = ft.compile(user.f, backend="numpy")
    compiled(W)
    gone = weakref.ref(user.X)
    user.X = np.ones((4, 3))
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(compiled(W), user.f(W))
    assert compiled._traced == 1
    np.testing.assert_array_equal(compiled.programs[0](W), user.f(W))
    user.X = None
    raises(ValueError, lambda: compiled.programs[0](W), "has changed; call the compiled function")


def test_arrays_of_a_module_that_is_compiled_are_arguments_alone():
    """No fact is about them, and other weights need no trace."""
    net = ft.nn.Sequential(ft.nn.Linear(3, 3), ft.nn.Tanh(), ft.nn.Linear(3, 3))
    compiled = ft.compile(net, backend="numpy")
    for factor in (1.0, 2.0, 3.0):
        net[0].weight = ft.nn.Parameter(np.full((3, 3), factor))
        np.testing.assert_array_equal(compiled(W), net(W))
    assert compiled._traced == 1
    assert "contents" not in compiled.explain()


# ---- planted faults ----


def test_a_second_way_that_is_not_compared_is_found(monkeypatch):
    faulty.second_way_that_is_not_compared(monkeypatch)
    raises(AssertionError, lambda: test_changes("what was one", ""))


def test_arrays_that_are_not_fixed_are_found(monkeypatch):
    faulty.arrays_that_are_not_fixed(monkeypatch)
    for name in ("which one it is", "in a tuple", "in a partial"):
        raises(AssertionError, lambda: test_changes(name, ""))


def test_a_wrong_view_is_found(monkeypatch):
    faulty.wrong_view(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        test_uses("transposed", "")


# ---- Writes to a row whose number is computed: a program writes to the row of its own call ----


X = np.arange(1.0, 5).reshape(2, 2)
POINTS = np.array([0.0, 1.0]), np.array([1.0, 0.0])


def named(x, y):
    v = np.array(x, like=x)
    w = v[np.argmax(y)]
    w += 1
    return v


def augmented(x, y):
    v = x * 1
    v[np.argmax(y) % 2] *= x[0]
    return v


def written_before(x, y):
    v = np.array(x, like=x)
    v[0] = 1
    w = v[np.argmax(y)]
    w += x[0]
    return v


def made(x, y):
    v = fnp.zeros((2, 2))
    v[np.argmax(y)] += x[0]
    return v


def of_a_view(x, y):
    v = x * 1
    w = v.T[:, np.argmax(y)][::-1]
    w *= 3
    return v


def of_parts(x, y):
    v = x * 1
    w = np.array_split(v[np.argmax(y)], 2)[1]
    w *= 3
    return v


def of_parts_of_all(x, y):
    v = x * 1
    w = np.array_split(v[np.argmax(y)], 2)[1]
    v *= x[0]
    return v, w * 1


def number(x, y):
    v = np.cumsum(x)
    v[np.argmax(y)] += 1
    return v


def slope(f):
    return ft.grad(lambda x, y: np.sum(np.sin(f(x, y))))


TRANSFORMS_VIEWS = {
    "value": lambda f: f,
    "grad": slope,
    "jvp": lambda f: lambda x, y: ft.jvp(lambda x: f(x, y), (x,), (x,))[1],
    "vmap": lambda f: ft.vmap(f, (0, None)),
    "vmap grad": lambda f: ft.vmap(slope(f), (0, None)),
}


@pytest.mark.parametrize("transform", TRANSFORMS_VIEWS)
@pytest.mark.parametrize("f", [named, augmented, written_before, made, of_a_view, of_parts, number])
def test_a_later_call_writes_to_another_row(f, transform):
    call = TRANSFORMS_VIEWS[transform](f)
    x = np.stack([X, X + 1]) if "vmap" in transform else X
    compiled = ft.compile(call, backend="numpy")
    for y in (*POINTS, *POINTS):
        np.testing.assert_array_equal(compiled(x, y), call(x, y))
    assert len(compiled.programs) == (1 if f is number else 2)


def test_a_part_of_another_row_that_a_write_to_all_changes():
    compiled = ft.compile(of_parts_of_all, backend="numpy")
    for y in (*POINTS, *POINTS):
        for found, wanted in zip(compiled(X, y), of_parts_of_all(X, y)):
            np.testing.assert_array_equal(found, wanted)


def test_a_row_that_is_read_has_no_guard():
    compiled = ft.compile(slope(lambda x, y: x[np.argmax(y)] * 2))
    for y in POINTS:
        np.testing.assert_array_equal(compiled(X, y), slope(lambda x, y: x[np.argmax(y)] * 2)(X, y))
    assert len(compiled.programs) == 1


def test_a_place_that_is_not_noted_is_found(monkeypatch):
    faulty.place_that_is_not_noted(monkeypatch)
    compiled = ft.compile(named, backend="numpy")
    compiled(X, POINTS[0])
    assert not np.array_equal(compiled(X, POINTS[1]), named(X, POINTS[1]))


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("key", [7, -3, (1, 2)])
def test_one_element_of_a_large_array_is_looked_at_alone(backend, key):
    user = module("def f(x): return x * big[key]")
    user.key, shape = key, (100, 50) if type(key) is tuple else (5000,)
    user.big = np.arange(5000.0).reshape(shape)
    fast = ft.compile(user.f, backend=backend)

    def traces():
        before = fast._traced
        for _ in range(3):
            alike(fast(W), user.f(W))
        return fast._traced - before

    assert traces() == 1
    user.big[0] = 5.0
    user.big = user.big + 0.0  # another array, with the same number there
    assert not traces()
    for value in (8.0, np.nan, 0.0, -0.0, 3.0):
        user.big[key] = value
        assert traces() == (value == 8.0)  # it is an input from then on
    user.big = user.big.astype("f4")
    assert traces() == 1


PARTS = {
    "element of a view": "A[3][2]",
    "elements": "sum([A[i, 2] for i in range(3, 40)])",
    "a list of places": "A[[3, 5], [2, 1]].sum()",
    "an array of places": "A[3, np.array([2, 0])].sum()",
    "method": "A[3].sum()",
    "arithmetic": "np.sum(A[3, :5] + 1.0)",
    "text": "len(str(A[3, :5].tolist()))",
    "iterated": "sum([a for a in A[3, :5]])",
    "column": "A.T[2].sum()",
    "whole numbers": "(I[3, :5] * 2).sum()",
    "complex": "abs(C[3, 2])",
    "order of columns": "F[3, :5].sum()",
    "base": "V.base[3, 2]",
    "beside it": "stride(A[0, :2], (2,), (3 * A.strides[0] + 16,))[1]",
}


@pytest.mark.parametrize("transform", ["", "grad"])
@pytest.mark.parametrize("name", PARTS)
def test_the_part_that_was_read_is_looked_at_alone(name, transform):
    f = TRANSFORMS[transform].format(f=f"(lambda w: np.sum(w) * ({PARTS[name]}))")
    make = "A = new(60, 50); I = rng.integers(1, 9, (60, 50)); C = A * (1 + 1j); V = A[:2]\n"
    make += "F = np.asfortranarray(A); stride = np.lib.stride_tricks.as_strided; G = (A, I, C, F)\n"
    user = module(f"{HEAD}{make}f = {f}")
    compiled = ft.compile(user.f, backend="numpy")
    for there, traced in (((-1, -1), 1), ((3, 2), 2), ((-1, -1), 2)):
        alike(compiled(W), user.f(W))
        for x in user.G:
            x[there] = 77
        alike(compiled(W), user.f(W))
        assert name == "beside it" or compiled._traced == traced, compiled.explain()


def test_a_part_that_is_not_compared_is_found(monkeypatch):
    faulty.part_that_is_not_compared(monkeypatch)
    for name in ("method", "a list of places", "elements"):
        raises(AssertionError, lambda: test_the_part_that_was_read_is_looked_at_alone(name, ""))


MOVING = {
    "elements": "w * A[0, 1] + A[1][2]",
    "branch": "w * A[0, 1] if A[1, 1] < 2 else w",
    "arithmetic": "w * (A[0] * 2 + A[1])",
    "function": "w * np.exp(A)[0] + np.sum(A)",
    "places": "w * A[[2, 1, 0], 0]",
    "in a function": "w * G(A[0])",
    "many": "w * sum([A[i % 4, 0] for i in range(40)])",
    "iterated": "w * sum([a for a in A[0]])",
}


@pytest.mark.parametrize("transform", ["", "grad", "vmap of grad"])
@pytest.mark.parametrize("name", MOVING)
def test_elements_that_change_are_inputs_from_then_on(name, transform):
    f = TRANSFORMS[transform].format(f=f"(lambda w: np.sum({MOVING[name]}))")
    user = module(f"{HEAD}A = abs(new(4, 3))\nG = lambda a: np.linalg.norm(a)\nf = {f}")
    run(user, ["A[:] *= 1.01", "global A; A = A * 1.01"], traces=2)


FIXED = {
    "float": "w * float(A[0, 1])",
    "array": "w * np.array([A[0, 1], 2.0, 1.0])",
    "type": "w * (2.0 if type(A[0, 1]) is np.float64 else 3.0)",
    "method": "w * A.mean()",
}


@pytest.mark.parametrize("name", FIXED)
def test_elements_of_which_code_needs_the_number_stay_facts(name):
    user = module(f"{HEAD}A = new(4, 3)\nf = lambda w: np.sum({FIXED[name]})")
    run(user, ["A[0] *= 1.5", "global A; A = A * 1.01"], traces=5)


def test_a_constant_whose_trace_has_paid_is_computed_once():
    user = module(f"{HEAD}A = new(3, 3)\nf = lambda w: np.linalg.inv(A) @ w")
    compiled = ft.compile(user.f, backend="numpy")
    for _ in range(2):
        for _ in range(30):
            alike(compiled(W), user.f(W))
        user.A[0] += 1.0
    assert "inv" not in compiled.programs[0].source


def test_the_elements_of_all_of_a_large_array_are_one_fact():
    user = module(f"{HEAD}A = new(60, 50)\nf = lambda w: w * sum([A[i].sum() for i in range(60)])")
    compiled = ft.compile(user.f, backend="numpy")
    alike(compiled(W), user.f(W))
    assert compiled.explain().count("contents") == 1


def test_many_elements_of_a_large_array_are_looked_at_together():
    user = module("def f(x): return x * sum([big[i] for i in range(100)])")
    user.big = np.arange(5000.0)
    fast = ft.compile(user.f, backend="numpy")
    for i in (0, 50, 99):
        fast(W)
        user.big[i] = -1.0
        alike(fast(W), user.f(W))
    assert fast.explain().count("the item") <= 20


# ---- other memory than that of arrays ----


class Own(np.ndarray):
    pass


class Converted:
    """An object that NumPy converts."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, **options):
        return np.asarray(self.values, dtype)

    def __setitem__(self, index, value):
        self.values[index] = value


MEMORIES = {
    "own class": lambda: np.array([1.0, 2.0]).view(Own),
    "matrix": lambda: np.matrix([1.0, 2.0]),
    "records": lambda: np.array([1.0, 2.0]).view(np.recarray),
    "converted": lambda: Converted(np.array([1.0, 2.0])),
    "array of Python": lambda: array.array("d", [1.0, 2.0]),
    "memory": lambda: memoryview(np.array([1.0, 2.0])),
    "bytes": lambda: bytearray(b"\x01\x02"),
    "deque": lambda: collections.deque([1.0, 2.0]),
}


@pytest.mark.parametrize("use", [np.dot, lambda w, x: np.where(x > 1.5, x, w) * x])
@pytest.mark.parametrize("kind", MEMORIES)
def test_a_program_has_what_was_in_memory_at_its_use(kind, use):
    def f(x):
        w = MEMORIES[kind]()
        y = use(w, x * x)
        w[0] = 9
        return np.sum(y)

    x = np.array([0.5, 3.0])
    with silent():
        for call in (ft.compile(f, backend="numpy"), ft.trace(f)(x)):
            assert [call(x), call(2 * x), call(x)] == [f(x), f(2 * x), f(x)]
