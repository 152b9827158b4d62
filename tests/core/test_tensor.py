"""Tensor: operators, methods, properties, conversions, refusals; plain and in levels."""

import copy
import operator
import pickle

import numpy as np
import pytest

import functier as ft
from functier._core import methods as _methods
from support.basics import equal, everywhere, has_all, message, plain, raises, same

pytestmark = pytest.mark.inside("The table of methods is complete.")

A = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]])
B = np.array([[2.0, 0.5, -1.0], [3.0, 1.5, 2.5]])


class Sub(ft.Tensor):
    """A user's subclass: results have its type."""


class Picklable(ft.Tensor):
    pass


NUMERIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
    operator.mod, divmod, operator.pow,
]  # fmt: skip
COMPARISON = [
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
]  # fmt: skip


def names(operators):
    return [f.__name__ for f in operators]


# ---- operators on plain tensors and subclasses ----


@pytest.mark.parametrize("cls", [ft.Tensor, Sub])
@pytest.mark.parametrize("op", NUMERIC + COMPARISON, ids=names(NUMERIC + COMPARISON))
def test_numeric_operators(op, cls):
    a, b = np.abs(A), np.abs(B)
    for left, right in ((cls(a), cls(b)), (cls(a), b), (a, cls(b))):
        out = op(left, right)
        same(out, op(a, b))
        assert all(type(y) is cls for y in (out if isinstance(out, tuple) else (out,)))
    for scalar in (2, 2.0, np.float64(2.0), np.float32(2.0), True):
        same(op(cls(a), scalar), op(a, scalar))
        same(op(scalar, cls(a)), op(scalar, a))


@pytest.mark.parametrize("op", [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow,
], ids=lambda f: f.__name__)  # fmt: skip
def test_augmented_assignment_writes_to_the_array(op):
    """The tensor and the array that it wraps are changed, as NumPy's are; a scalar is not."""
    a = A.copy()
    x = Sub(a)
    y = op(x, 2.0)
    assert y is x
    same(x, op(A.copy(), 2.0))
    equal(a, op(A.copy(), 2.0))
    s = t = np.sum(x)
    t = op(t, 2.0)
    assert t is not s and type(t) is Sub
    same(s, np.sum(a))


# ---- foreign operands ----


class OptsOut:
    __array_ufunc__ = None

    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __add__(self, other):
        return "add"


class Unknown:
    def __radd__(self, other):
        return "radd"

    def __add__(self, other):
        return "add"


@pytest.mark.parametrize("foreign", [OptsOut, Unknown])
def test_a_foreign_operand_answers_itself(foreign):
    def use(x):
        assert x + foreign() == "radd"
        assert foreign() + x == "add"

    everywhere(use)


@pytest.mark.parametrize("foreign", [object(), OptsOut()], ids=["object", "opts-out"])
def test_an_operand_nobody_knows_is_a_type_error(foreign):
    def use(x):
        for op in (operator.mul, operator.sub, operator.lt):
            with pytest.raises(TypeError, match=r"not supported between|unsupported operand"):
                op(x, foreign)

    everywhere(use)


def test_nothing_else_equals_a_tensor():
    def use(x):
        shape = np.shape(x) if type(x).level.depth else ()  # outside of levels it is no array
        for answer, wanted in ((x == object(), False), (x != object(), True)):
            assert np.shape(answer) == shape
            assert np.all(answer) == wanted == np.any(answer)

    everywhere(use)


# ---- methods and properties ----

METHOD_CALLS = {
    "all": [((), {}), ((0,), {}), ((), {"axis": 1, "keepdims": True})],
    "any": [((), {}), ((), {"axis": -1})],
    "argmax": [((), {}), ((1,), {})],
    "argmin": [((), {}), ((), {"axis": 0})],
    "argpartition": [((1,), {}), ((1,), {"axis": 0})],
    "argsort": [((), {}), ((0,), {})],
    "astype": [
        ((np.float32,), {}), ((int,), {}), ((), {"dtype": "f4", "copy": False}),
        ((complex, "C", "safe"), {}), (("f4",), {"order": "F", "casting": "same_kind"}),
    ],
    "choose": [],
    "clip": [((-1.0, 1.0), {}), ((), {"min": 0.0}), ((None, 2.0), {})],
    "compress": [(([True, False, True],), {"axis": 1}), (([True, False],), {"axis": 0})],
    "conj": [((), {})],
    "conjugate": [((), {})],
    "copy": [((), {})],
    "cumprod": [((), {}), ((1,), {})],
    "cumsum": [((), {}), ((0,), {})],
    "diagonal": [((), {}), ((1,), {})],
    "dot": [((B.T,), {}), ((2.0,), {})],
    "flatten": [((), {}), (("F",), {})],
    "max": [((), {}), ((0,), {}), ((), {"axis": (0, 1)})],
    "mean": [((), {}), ((), {"axis": 1, "keepdims": True})],
    "min": [((), {}), ((1,), {})],
    "nonzero": [((), {})],
    "prod": [((), {}), ((0,), {})],
    "ravel": [((), {}), (("F",), {})],
    "repeat": [((2,), {}), ((2,), {"axis": 1}), (([1, 2],), {"axis": 0})],
    "reshape": [
        ((-1,), {}), ((3, 2), {}), (((6,),), {}), (([2, 3],), {}), ((3, -1), {"order": "F"}),
    ],
    "round": [((), {}), ((1,), {})],
    "searchsorted": [],
    "squeeze": [((), {})],
    "std": [((), {}), ((0,), {"ddof": 1})],
    "sum": [((), {}), ((0,), {}), ((), {"axis": (0, 1)}), ((), {"axis": -1, "keepdims": True})],
    "swapaxes": [((0, 1), {})],
    "take": [(([0, 2],), {"axis": 1}), ((0,), {})],
    "trace": [((), {}), ((1,), {})],
    "transpose": [((), {}), ((1, 0), {}), (((1, 0),), {}), (([0, 1],), {}), ((None,), {})],
    "var": [((), {}), ((), {"axis": 1})],
}  # fmt: skip
CALLS = [(name, args, kwargs) for name, calls in METHOD_CALLS.items() for args, kwargs in calls]
IDS = [f"{name}-{i}" for i, (name, _, _) in enumerate(CALLS)]


def test_every_method_of_an_array_works_or_says_what_to_write():
    methods = {n for n, f in vars(np.ndarray).items() if callable(f) and not n.startswith("_")}
    methods -= {"tostring"}  # deprecated, and gone from NumPy 2.3
    assert not [name for name in methods if not callable(getattr(ft.Tensor, name, None))]

    def use(x):
        for name in _methods.MEMORY:
            if x.level.depth and name in _methods.STORED:  # the level raises its error again
                continue
            remedy = _methods.MEMORY[name] if x.level.depth else f"x.elem().{name}(...)"
            raises(ft.UnsupportedError, lambda: getattr(x, name)("f4"), remedy)

    everywhere(use)


def test_every_method_of_the_table_is_tested():
    assert {n for n in _methods.METHODS if not n.startswith("__")} == set(METHOD_CALLS)
    assert all(hasattr(np.ndarray, name) for name in METHOD_CALLS if name != "astype")


@pytest.mark.parametrize("name,args,kwargs", CALLS, ids=IDS)
def test_methods_are_those_of_the_array(name, args, kwargs):
    expected = getattr(A, name)(*args, **kwargs)
    for cls in (ft.Tensor, Sub):
        out = getattr(cls(A), name)(*args, **kwargs)
        same(out, expected)
        assert all(type(y) is cls for y in (out if isinstance(out, tuple) else (out,)))


@pytest.mark.parametrize("name,args,kwargs", CALLS, ids=IDS)
def test_methods_under_vmap_are_those_of_each_example(name, args, kwargs):
    xs = np.stack([A, B, A - B])
    if name == "nonzero":
        raises(ft.DataDependentError, lambda: ft.vmap(lambda x: x.nonzero())(xs), "numpy.nonzero")
        return
    out = ft.vmap(lambda x: getattr(x, name)(*args, **kwargs))(xs)
    expected = np.stack([getattr(x, name)(*args, **kwargs) for x in xs])
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out, expected, rtol=1e-13)


@pytest.mark.parametrize("name,args,kwargs", CALLS, ids=IDS)
def test_methods_under_grad_and_jvp_have_the_value_of_the_array(name, args, kwargs):
    expected = getattr(A, name)(*args, **kwargs)

    def check(x):
        out = getattr(x, name)(*args, **kwargs)
        for y, e in zip(
            *[(v if isinstance(v, tuple) else (v,)) for v in (out, expected)], strict=True
        ):
            equal(plain(y), e)
        return x

    ft.vjp(check, A)
    ft.jvp(check, (A,), (B,))


def test_astype_refuses_what_its_casting_forbids():
    def use(x):
        raises(TypeError, lambda: x.astype(int, casting="safe"), "cannot cast")

    everywhere(use)


def test_the_elements_in_one_row_are_an_operand_beside_a_tensor():
    def f(x):
        row = np.sin(x).reshape(-1)
        return np.sum(np.multiply(row, x.flat) + x.flat * row)

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    batch = np.stack([x, x + 0.5])
    np.testing.assert_allclose(ft.grad(f)(x), 2 * (np.sin(x) + x * np.cos(x)))
    np.testing.assert_allclose(ft.vmap(f)(batch), [f(x) for x in batch])
    np.testing.assert_allclose(ft.vmap(ft.grad(f))(batch), [ft.grad(f)(x) for x in batch])


def test_flatten_copies_and_ravel_does_not():
    x = ft.tensor(A.copy())
    assert not np.shares_memory(x.flatten().elem(), x.elem())
    assert np.shares_memory(x.ravel().elem(), x.elem())
    assert not np.shares_memory(x.copy().elem(), x.elem())


@pytest.mark.parametrize("name", ["T", "mT", "real", "imag"])
def test_properties(name):
    z = A + 1j * B
    for cls in (ft.Tensor, Sub):
        out = getattr(cls(z), name)
        assert type(out) is cls
        same(out, getattr(z, name))
    equal(
        ft.vmap(lambda x: getattr(x, name))(np.stack([z, 2 * z])),
        np.stack([getattr(z, name), getattr(2 * z, name)]),
    )


def test_attributes_of_form():
    x = Sub(A.astype(np.float32))
    assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((2, 3), 2, 6, np.float32, 2)
    s = Sub(1.5)
    assert (s.shape, s.ndim, s.size) == ((), 0, 1)
    for refused in (len, list):
        raises(TypeError, lambda: refused(s), "0-d tensor")


def test_making_a_tensor():
    x = ft.tensor([1, 2])
    equal(x.elem(), np.array([1, 2]))
    assert ft.tensor(x) is x
    assert type(Sub(x)) is Sub and Sub(x).elem() is x.elem()
    assert type(x.as_subclass(Sub)) is Sub and x.as_subclass(Sub).elem() is x.elem()
    with ft.vmap() as V:
        v = V(A)
        assert ft.tensor(v) is v
        raises(ft.LevelError, lambda: Sub(v), "vmap(): Sub(x) would put")
        raises(TypeError, lambda: x.as_subclass(V), "not a subclass of Tensor that can be made")


# ---- iteration, membership, identity ----


def test_what_is_not_data_is_refused():
    for cls in (ft.Tensor, Sub):
        raises(TypeError, lambda: cls([1], dtype=float), "takes the data alone")
        raises(TypeError, lambda: cls([1], float), "takes the data alone")

    class Unit(ft.Tensor):
        __slots__ = ("unit",)

        def __init__(self, data, unit):
            self.unit = unit

    assert Unit([1.0], "m").unit == "m"


def test_iteration_and_membership():
    x = Sub(A)
    rows = list(x)
    assert [type(r) for r in rows] == [Sub, Sub]
    same(rows[1], A[1])
    same(list(Sub(A).flat)[3], A.flat[3])
    assert 4.0 in x and 9.0 not in x
    a, b = x
    same(a + b, A[0] + A[1])


def test_iteration_in_levels():
    equal(ft.vmap(lambda x: sum(x))(A), A.sum(axis=1))
    equal(ft.grad(lambda x: sum(v * v for v in x))(A[0]), 2 * A[0])


def test_membership_under_grad_and_vmap():
    assert ft.grad(lambda x: x[0] if 4.0 in x else x[1])(A[1]).tolist() == [1.0, 0.0, 0.0]
    raises(ft.DataDependentError, lambda: ft.vmap(lambda x: 1.0 in x)(A))


def test_the_hash_of_a_number_is_that_of_its_value():
    x, y = Sub(A[0])[0], Sub(A[0])[0]
    assert len({x, y, A[0, 0]}) == 1 and {A[0, 0]: 1}[x] == 1


def test_an_array_has_no_hash():
    for x in (Sub(A), Sub(A)[0], ft.tensor(1.0)):
        raises(TypeError, lambda: hash(x), "unhashable type")


# ---- copies ----


def test_copies():
    x = Sub(A.copy())
    for y in (copy.copy(x), copy.deepcopy(x), x.copy()):
        assert type(y) is Sub and y is not x
        same(y, A)
        assert not np.shares_memory(y.elem(), x.elem())


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("cls", [ft.Tensor, Picklable])
def test_pickle(cls, protocol):
    y = pickle.loads(pickle.dumps(cls(A), protocol))
    assert type(y) is cls
    same(y, A)


def test_a_tensor_of_a_level_is_not_pickled():
    with ft.vmap() as V, pytest.raises((ft.ConversionError, pickle.PicklingError)) as error:
        pickle.dumps(V(A))
    has_all(message(error), "vmap()", "pickle the result of the transform")


# ---- arrays, scalars and tensors of levels in all orders ----


@pytest.mark.parametrize(
    "op",
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("other", [
    2, 2.0, True, np.float64(2.0), np.float32(2.0), np.array(2.0), np.array([2.0, 3.0, 4.0]),
    np.array([[1.0], [2.0]]), np.arange(1, 4), [1.0, 2.0, 3.0],
], ids=repr)  # fmt: skip
def test_operators_in_levels_with_other_operands(op, other):
    xs = np.abs(A) + 1.0
    for f in (lambda x: op(x, other), lambda x: op(other, x)):
        equal(ft.vmap(f)(xs), np.stack([f(x) for x in xs]))
        equal(ft.vjp(f, xs[0])[0], f(xs[0]))
        equal(ft.jvp(f, (xs[0],), (xs[0],))[0], f(xs[0]))


@pytest.mark.parametrize(
    "op",
    [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge],
    ids=lambda f: f.__name__,
)
def test_comparisons_in_levels(op):
    equal(ft.vmap(lambda x: op(x, B[0]))(A), op(A, B[0]))
    equal(ft.vmap(lambda x: op(B[0], x))(A), op(B[0], A))
    seen = []
    ft.grad(lambda x: seen.append(op(x, B)) or x.sum())(A)
    ft.jvp(lambda x: seen.append(op(B, x)) or x, (A,), (A,))
    equal(seen[0], op(A, B))
    equal(seen[1], op(B, A))


def test_augmented_assignment_in_levels():
    """Both names of the array see the write; the caller's array does not."""

    def f(x):
        y = x
        y += 1.0
        y *= x
        return y

    before = A.copy()
    equal(ft.vmap(f)(A), (A + 1.0) ** 2)
    equal(ft.grad(lambda x: np.sum(f(x)))(A), 2 * (A + 1.0))
    equal(ft.jvp(f, (A,), (A,))[1], 2 * (A + 1.0) * A)
    equal(A, before)


def test_plain_and_user_tensors_in_levels():
    equal(ft.vmap(lambda x: x + ft.tensor(A[0]))(A), A + A[0])  # made inside: an array
    row = ft.tensor(A[0])
    equal(ft.vmap(lambda x: x + row)(A).elem(), A + A[0])
    out = ft.vmap(lambda x: x * 2)(Sub(A))
    assert type(out) is Sub
    same(out, A * 2)
    g = ft.grad(lambda x: np.sum(x * x))(Sub(A))
    assert type(g) is Sub
    same(g, 2 * A)
