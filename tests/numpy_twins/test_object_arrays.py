"""Object arrays of tensors: each element is a value by itself."""

import contextlib
import operator
import types

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import twins as faulty
from support.differences import check
from support.turns import in_turn

X = np.array([0.7, -1.3, 2.1, 0.4])


def stored(np, x):
    """Return an object array whose one element is an array."""
    made = np.empty((1, 1), dtype=object)
    made[0, 0] = np.array([x[0], 2.0 * x[1]])
    return made


FUNCTIONS = {
    "unequal lengths": lambda np, x: np.sum(np.array([x[:1], x[1:]], dtype=object)[1] ** 2),
    "equal lengths": lambda np, x: np.array([x[:2], x[2:]], dtype=object)[1, 0] ** 2 * x[0],
    "scalars": lambda np, x: np.array([x[0], 2.0, x[3]], dtype=object)[2] * x,
    "pieces": lambda np, x: np.stack(
        [np.sum(p) ** 2 for p in np.array(np.split(x, [1, 3]), dtype=object)]
    ),
    "asarray": lambda np, x: np.asarray([x[:1], [x[0], x[1] ** 2]], dtype=object)[1][1] * x[2],
    "arithmetic": lambda np, x: (np.array([x[:1], x[1:]], dtype=object) * 2 + 1)[1] * x[0],
    "a sum": lambda np, x: np.sum(np.array([x[0], x[1] * x[2]], dtype=object)) ** 2,
    "a tensor": lambda np, x: np.array(x, dtype=object)[1] ** 2,
    "a loop": lambda np, x: sum(
        p[-1] * i for i, p in enumerate(np.array([x, x[1:]], dtype=object))
    ),
    "concatenated": lambda np, x: np.concatenate(np.array([x[:1] ** 2, x], dtype=object)),
    "numbers again": lambda np, x: np.array(np.array([x[0], x[1]], dtype=object), dtype=float) ** 2,
    "a matrix of numbers": lambda np, x: np.array([[x[0], 1], [2, x[1]]], dtype="O")[1, 1] ** 2,
    "arrays as elements": lambda np, x: np.squeeze(stored(np, x).tolist()) ** 2,
    "strings beside": lambda np, x: np.array(["a", x[:2]], dtype=object)[1] ** 2,
}


USES = {
    "sum": "np.sum({O})",
    "method sum": "{O}.sum()",
    "prod": "np.prod({O})",
    "mean": "{O}.mean()",
    "dot": "{O}.dot(x)",
    "matmul": "({O} @ x)",
    "rmatmul": "(np.eye(4) @ {O})[1] * x[0]",
    "matmul objs": "{O} @ {O}",
    "times": "({O} * x).astype(float)",
    "plus": "({O} + 1.0).astype(float)",
    "rplus": "(2.0 * {O}).astype(float)",
    "power": "({O} ** 2).sum()",
    "neg": "(-{O})[1]",
    "astype": "{O}.astype(float)",
    "astype d": "{O}.astype('float64') * x",
    "asarray": "np.asarray({O}, dtype=float)",
    "np.astype": "np.astype({O}, float)",
    "map": "np.array(list(map(lambda v: v * 2, x)), dtype=object).astype(float)",
    "vectorize O": "np.vectorize(lambda v: v * 2, otypes=[object])(x).astype(float)",
    "vectorize 'O'": "np.vectorize(lambda v: v * v, otypes='O')(x).sum()",
    "frompyfunc": "np.frompyfunc(lambda v: v * v, 1, 1)(x).astype(float)",
    "frompyfunc 2": "np.frompyfunc(lambda v, w: v * w, 2, 1)(x, 2.0).astype(float)",
    "frompyfunc 1,2": "np.frompyfunc(lambda v: (v, v * v), 1, 2)(x)[1].astype(float)",
    "frompyfunc outer": "np.frompyfunc(lambda v, w: v * w, 2, 1).outer(x, x).astype(float)",
    "apply_along_axis": "np.apply_along_axis(lambda r: r ** 2, 0, np.stack([x, 2 * x]))",
    "empty object": "{E}; y = o.astype(float); y",
    "empty object sum": "{E}; y = o.sum(); y",
    "empty object arrays": (
        "o = np.empty(2, object); o[0] = x[:1]; o[1] = x[1:] * 3; np.concatenate(o)"
    ),
    "empty object stack": "o = np.empty(2, object); o[:] = [x[0], x[1]]; np.array(o.tolist())",
    "zeros object": (
        "o = np.zeros((2, 2), object); o[0, 1] = x[0] ** 2; o[1, 0] = 3.0; o.astype(float)"
    ),
    "full object": "np.full(3, x[0], dtype=object).astype(float)",
    "matrix": "{M}.astype(float)",
    "matrix product": "({M} @ np.array([x[2], 1.0])).astype(float)",
    "np.dot": "np.dot({M}, np.array([x[2], 1.0])).astype(float)",
    "T": "{M}.T.astype(float)",
    "sum axis": "{M}.sum(axis=0).astype(float)",
    "np.sum axis": "np.sum({M}, axis=1).astype(float)",
    "reshape": "{O}.reshape(2, 2).astype(float)",
    "slice": "{O}[1:].astype(float)",
    "mask": "{O}[np.array([True, False, True, True])].astype(float)",
    "fancy": "{O}[[2, 0]].astype(float)",
    "concatenate": "np.concatenate([{O}, x])",
    "stack": "np.stack([{O}, {O}]).astype(float)",
    "where": "np.where(x > 0, {O}, 0.0).astype(float)",
    "cumsum": "np.cumsum({O}).astype(float)",
    "sort": "np.sort({O}).astype(float)",
    "objs of arrays": "np.array([x[:2], x[2:]], dtype=object).astype(float)",
    "objs of unequal": "np.array([x[:1], x[1:]], dtype=object)[1].astype(float)",
    "np.sum of equal arrays": "np.sum(np.array([x[:2], x[2:]], object), axis=0).astype(float)",
    "vstack": "np.vstack(np.array([x[:2], x[2:]], dtype=object)).astype(float)",
    "array of x": "np.array(x, dtype=object).sum()",
    "inplace": "o = {O}; o += x; y = o.astype(float); y",
    "setitem": "o = {O}; o[1] = x[2] ** 2; y = o.astype(float); y",
    "abs": "abs({O}).astype(float)",
    "np.abs": "np.abs({O}).sum()",
    "argmax": "x[np.argmax({O})]",
    "size": "x * {O}.size + {O}.ndim",
    "complex": "np.abs({O}.astype(complex))",
    "int objs": "x * np.array([1, 2, 3, 4], dtype=object)",
    "int objs astype": "(x * np.array([1, 2, 3, 4], dtype=object)).astype(float)",
    "np.dot plain objs": "np.dot(x, np.array([1.0, 2.0, 3.0, 4.0], dtype=object))",
    "outer": "np.outer(x, np.array([1.0, x[0]], dtype=object)).astype(float)",
    "diff": "np.diff({O}).astype(float)",
    "trace": "np.trace({M})",
    "nested list rows": "np.array([[v, 2 * v] for v in x], dtype=object)[:, 1].astype(float)",
    "add.reduce": "np.add.reduce({O})",
    "clip": "np.clip({O}, 0, 1).astype(float)",
    "polyval": "np.polyval({O}, 0.5)",
    "times from the left": "x * {O}",
    "minus from the left": "(x - {O}).astype(float) ** 2",
    "matmul from the left": "x @ {O}",
    "divided": "{O} / x",
    "a number times": "x[0] * {O}",
    "a write of all": "y = np.zeros(4); y[:] = {O}; y * x",
    "sum with keepdims": "np.sum({O}, keepdims=True)",
    "mean of an axis": "np.mean({M}, axis=1, keepdims=True)",
    "a complex result": "np.abs(np.array([x[0] * 1j, x[1]], dtype=object).astype(complex))",
    "of booleans": "x * ({O} < x[2] * 2)",
}
"""Uses of object arrays: those in braces have numbers, and tensors among them."""
OBJECTS = {
    "{O}": "np.array([x[0], x[1] * 2, x[2], 1.5], dtype=object)",
    "{M}": "np.array([[x[0], 1], [2, x[1]]], dtype=object)",
    "{E}": "o = np.empty(2, dtype=object); o[0] = x[0]; o[1] = x[1] * 3",
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("nesting", [("grad",), ("jvp",), ("vmap",), ("vmap", "grad")])
def test_elements_keep_what_transforms_know(name, nesting):
    f = FUNCTIONS[name]
    check(nesting, lambda x: f(fnp, x), X, lambda x: f(np, x))


def test_forms_are_those_of_numpy():
    def f(x):
        for make in (
            lambda x: [x, x], lambda x: [x, x[:1]], lambda x: [[x], [x]], lambda x: [(x, 1), x[:2]],
            lambda x: x, lambda x: x[0], lambda x: [x[0], [x[1]]], lambda x: [[], x],
        ):  # fmt: skip
            found, wanted = fnp.array(make(x), dtype=object), np.array(make(X), dtype=object)
            assert found.shape == wanted.shape and found.dtype == wanted.dtype == object
        return np.sum(x)

    ft.grad(f)(X)
    ft.vmap(f)(X[None])


@pytest.mark.parametrize(
    ("name", "nesting", "adopted"),
    in_turn(USES, [("grad",), ("jvp",), ("vmap",), ("vmap", "grad")], [False, True]),
)
def test_everyday_uses(name, nesting, adopted):
    use = USES[name]
    for short, text in OBJECTS.items():
        use = use.replace(short, text)
    *lines, last = use.split("; ")
    body = "".join(f"    {line}\n" for line in [*lines, f"return {last}"])
    module, reference = types.ModuleType("objects_in_use"), types.ModuleType("reference")
    exec(f"import {'' if adopted else 'functier.'}numpy as np\ndef f(x):\n{body}", vars(module))
    exec(f"import numpy as np\ndef f(x):\n{body}", vars(reference))
    wanted = lambda x: np.asarray(reference.f(x), float)  # noqa: E731
    with ft.adopt(module) if adopted else contextlib.nullcontext():
        check(nesting, module.f, X, wanted)


def test_an_object_array_is_no_result():
    with pytest.raises(ft.LevelError, match=r"numpy\.stack"):
        ft.jvp(lambda x: fnp.array([x[:1], x], dtype=object), (X,), (X,))


def test_results_are_arrays_of_their_numbers():
    for f in (
        lambda x: x * fnp.array([x[0], 2.0], dtype=object),
        lambda x: [x * fnp.full(2, 2, object)],
    ):
        found = ft.vmap(f)(np.array([[1.0, 2.0], [3.0, 4.0]]))
        assert np.asarray(found).dtype == float
    z = ft.vmap(lambda x: fnp.array([x * 1j, x], dtype=object))(np.array([1.0, 2.0]))
    assert z.tolist() == [[1j, 1], [2j, 2]]
    with pytest.raises(ft.LevelError, match=r"numpy\.stack"):
        ft.vmap(lambda x: fnp.array([x, "a"], dtype=object))(np.array([1.0, 2.0]))


def test_other_errors_are_numpys():
    for f in (
        lambda np, x: np.sqrt(np.array([x[0], 1.0], dtype=object)),
        lambda np, x: np.linalg.det(np.array([[x[0], 1.0], [2.0, x[1]]], dtype=object)),
        lambda np, x: np.isnan(np.array([x[0], 1.0], dtype=object)),
        lambda np, x: np.array([x[:1], x], dtype=object).astype(float),
        lambda np, x: np.array([x[0], "a"], dtype=object).astype(float),
    ):
        with pytest.raises((TypeError, ValueError)):
            f(np, X)
        with pytest.raises((TypeError, ValueError)):
            ft.jvp(lambda x, f=f: f(fnp, x), (X,), (X,))


def test_without_tensors_it_is_an_object_array():
    def f(x):
        o = fnp.array(["a", None, 2], dtype=object)
        assert o.__class__ is np.ndarray and isinstance(o, np.ndarray) and o.dtype == object
        assert (o == "a").tolist() == [True, False, False] and o.tolist() == ["a", None, 2]
        assert fnp.vectorize(str)(o).tolist() == ["a", "None", "2"]
        assert fnp.vectorize(lambda v: v is None)(o).tolist() == [False, True, False]
        assert fnp.array([1, 2], dtype=object).sum() == 3 and o[1:].shape == (2,)
        return x

    ft.grad(f)(1.0)
    ft.vmap(f)(np.ones(2))


PRODUCTS = {
    "@": operator.matmul, "dot": np.dot, "inner": np.inner, "vdot": np.vdot, "*": operator.mul,
    "+": operator.add, "/": operator.truediv, "**": operator.pow, "outer": np.outer,
    "tensordot": lambda a, b: np.tensordot(a, b, 1), "einsum": lambda a, b: np.einsum("i,i", a, b),
    "where": lambda a, b: np.where([True, False, True, False], a, b), "kron": np.kron,
    "maximum": np.maximum, "stack": lambda a, b: np.stack([a, b]),
    "matvec": lambda a, b: b * (a @ b),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("number", [True, False])
def test_plain_numpy_refuses_them_or_is_right(name, left, number):
    """Code that was not adopted makes a plain object array, which no level knows."""
    func = PRODUCTS[name]

    def objects(x):
        o = np.empty(4, object)
        for i in range(4):
            o[i] = x[i] * (i + 1)
        if number:
            o[1] = 1.5
        return o

    def f(x):
        y = func(objects(x), x) if left else func(x, objects(x))
        return sum(np.ravel(y).tolist()) if isinstance(y, np.ndarray) else np.sum(y)

    for nesting in [("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("vmap", "jvp")]:
        with contextlib.suppress(ft.LevelError, TypeError, ValueError):
            check(nesting, f, np.abs(X))


def test_numbers_of_objects():
    def f(x):
        objects = fnp.array([2 * x], dtype=object)[0]
        return objects.astype(float)

    def g(x):
        objects = fnp.array([2 * x], dtype=object)[0]
        return fnp.asarray(objects, dtype=float)

    x = np.array([1.0, 2.0])
    assert np.array_equal(ft.jvp(f, (x,), (x,))[1], 2 * x)
    assert np.array_equal(ft.jvp(g, (x,), (x,))[1], 2 * x)


@pytest.mark.parametrize("fault", faulty.FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    faulty.FAULTS[fault](monkeypatch)
    with pytest.raises((AssertionError, ft.LevelError, TypeError, RecursionError)):
        test_everyday_uses("times", ("jvp",), False)
