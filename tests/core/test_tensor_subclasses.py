"""Users' classes under transforms: subclasses of Tensor, duck arrays, quantities, Dask arrays."""

import importlib.util
import logging
import operator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from functier import overrides
from support.basics import close, equal, message, raises, recorder
from support.programs import TRANSFORMS, apply, programs, starts

FILE = Path(__file__).parents[2] / "examples" / "subclasses.py"
SPEC = importlib.util.spec_from_file_location("subclasses_example", FILE)
zoo = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(zoo)

A = np.array([[1.0, 2.0], [3.0, 4.0]])


class Sub(ft.Tensor):
    """The class of the RFC: it has a class attribute, a method and a property."""

    a = 1

    def scaled(self, by):
        return self * by

    @property
    def half(self):
        return self / 2

    @classmethod
    def made_by(cls):
        return cls

    @staticmethod
    def one():
        return 1


class Tagged(Sub):
    """With an attribute of each instance, which its hook hands on."""

    def __init__(self, data, tag="none"):
        self.tag = tag

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        result = super().__tensor_function__(func, types, args, kwargs)
        tags = [x.tag for x in args if isinstance(x, Tagged)]
        if isinstance(result, Tagged) and tags:
            result.tag = tags[0]
        return result


def layers(x):
    """The classes of a value from the outside in, levels by the name of their kind."""
    found = []
    while isinstance(x, ft.Tensor):
        level = type(x).level
        found.append(level.kind.__name__ if level.depth else type(x).__name__)
        x = x.elem()
    return [*found, type(x).__name__]


# ---- results and derivatives keep the class ----

TRANSFORMED = {
    "vmap": lambda f, x: ft.vmap(f)(x),
    "vmap vmap": lambda f, x: ft.vmap(ft.vmap(f))(x),
    "grad": lambda f, x: ft.grad(lambda x: np.sum(f(x)))(x),
    "vmap grad": lambda f, x: ft.vmap(ft.grad(lambda x: np.sum(f(x))))(x),
    "grad vmap": lambda f, x: ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(x),
    "value_and_grad": lambda f, x: ft.value_and_grad(lambda x: np.sum(f(x)))(x),
    "jvp": lambda f, x: ft.jvp(f, (x,), (x,)),
    "jvp plain": lambda f, x: ft.jvp(f, (x,), (A,)),
    "vjp": lambda f, x: ft.vjp(f, x)[1](x),
    "jacfwd": lambda f, x: ft.jacfwd(f)(x),
    "jacrev": lambda f, x: ft.jacrev(f)(x),
    "hessian": lambda f, x: ft.hessian(lambda x: np.sum(f(x)))(x),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("cls", [Sub, Tagged, recorder(), zoo.LoggingTensor, zoo.NanDetector])
def test_transforms_keep_the_class_through_results_and_derivatives(transform, cls):
    """A02, A06: and their values are those of plain arrays"""
    run = TRANSFORMED[transform]

    def f(x):
        return np.tanh(x) * x + x[..., :1] - 2 * x.T.T

    if transform.count("vmap") == 2:
        f = np.tanh
    out, expected = run(f, cls(A)), run(f, A)
    for o, e in zip(*[v if isinstance(v, tuple) else (v,) for v in (out, expected)]):
        assert type(o) is cls
        close(o.elem(), e)


@pytest.mark.parametrize("func", [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, np.maximum,
    np.add, np.arctan2, lambda a, b: np.stack([a, b]), lambda a, b: np.where(a > b, a, b),
    lambda a, b: np.dot(a, b),
])  # fmt: skip
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("enter", [ft.vmap, ft.grad, ft.jvp])
def test_a_subclass_and_a_level_mix_in_any_order(func, flip, enter):
    """B42: the level is outside, the class inside, whichever stands left"""
    other = np.array([[2.0, 0.5], [1.5, 3.0]])
    with enter() as level:
        x = level(A, A) if enter is ft.jvp else level(np.stack([A, A]) if enter is ft.vmap else A)
        pair = (Sub(other), x) if flip else (x, Sub(other))
        out = func(*pair)
        assert layers(out)[1:] == ["Sub", "ndarray"] and type(out) is level
        expected = func(*((other, A) if flip else (A, other)))
        value = out.elem().elem()
        equal(value[0] if enter is ft.vmap else value, expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["vmap", "grad", "jvp"]), min_size=1, max_size=4), st.data())
def test_a_subclass_inside_any_nesting(kinds, data):
    """B08: one level out each, the user's class innermost, plain arrays below it"""
    x = Sub(np.arange(1.0, 1.0 + 2 ** len(kinds)).reshape((2,) * len(kinds)))

    def enter(x, kinds):
        if not kinds:
            y = x * Sub(np.float64(2.0)) if data.draw(st.booleans()) else Sub(np.float64(2.0)) * x
            seen.append((layers(y), layers(np.sin(x))))
            return np.sum(y)
        if kinds[0] == "vmap":
            return np.sum(ft.vmap(lambda x: enter(x, kinds[1:]))(x))
        if kinds[0] == "grad":
            return np.sum(ft.grad(lambda x: enter(x, kinds[1:]))(x) * x)
        return ft.jvp(lambda x: enter(x, kinds[1:]), (x,), (x,))[1]

    seen: list = []
    out = enter(x, kinds)
    assert type(out) is Sub
    close(out.elem(), 2.0 * np.sum(x.elem()))
    for found in seen[0]:
        assert found[-2:] == ["Sub", "ndarray"] and len(found) == len(kinds) + 2
        assert "Sub" not in found[:-2]


@settings(max_examples=100, deadline=None)
@given(
    nesting=st.lists(st.sampled_from(TRANSFORMS), min_size=1, max_size=4),
    program=programs,
    start=starts,
)
def test_random_programs_keep_the_class(nesting, program, start):
    """A02: and have the values that arrays have; what does not depend on it may be plain"""
    expected = apply(nesting, program, [start])
    out = apply(nesting, program, [Sub(start)])
    assert np.shape(out) == np.shape(expected)
    assert type(out) is Sub or not np.any(expected)
    value = out.elem() if isinstance(out, Sub) else out
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


# ---- methods and attributes of a subclass, inside ----


@pytest.mark.parametrize("cls", [Sub, Tagged])
def test_own_methods_and_properties_inside_transforms(cls):
    """A45: `self` is the tensor of the level"""

    def f(x):
        return np.sum(x.scaled(3.0) * x.half) * x.a * x.one()

    for run in (f, ft.vmap(f), ft.vmap(ft.vmap(lambda x: x.scaled(3.0) * x.half))):
        out = run(cls(A))
        assert type(out) is cls
    close(ft.grad(f)(cls(A)).elem(), 3.0 * A)
    close(ft.vmap(ft.grad(f))(cls(A)).elem(), 3.0 * A)
    close(ft.jvp(f, (cls(A),), (cls(A),))[1].elem(), 3.0 * np.sum(A * A))
    out = ft.hessian(lambda x: np.sum(x.scaled(x)) * f(x))(cls(A[0]))
    close(out.elem(), ft.hessian(lambda x: 1.5 * np.sum(x * x) ** 2)(A[0]))


def test_attributes_of_the_class_and_of_the_instance_inside_transforms():
    """A06: both can be read from the tensors of every level."""
    seen = []

    def f(x):
        seen.append((x.a, x.tag, x.made_by(), (x * 2).tag, type(x.half).level.depth))
        return x

    out = ft.vmap(f)(Tagged(A, tag="speed"))
    assert out.tag == "speed" and seen == [(1, "speed", Tagged, "speed", 1)]
    ft.vmap(ft.grad(lambda x: np.sum(f(x))))(Tagged(A, tag="speed"))
    assert seen[1] == (1, "speed", Tagged, "speed", 2)


@pytest.mark.parametrize("nest", [
    lambda f, x: ft.vmap(f)(x),
    lambda f, x: ft.grad(lambda x: np.sum(f(x)))(x),
    lambda f, x: ft.vmap(ft.vmap(f))(x),
    lambda f, x: ft.vmap(ft.grad(lambda x: np.sum(f(x))))(x),
])  # fmt: skip
def test_attributes_where_a_level_before_was_written_to(nest):
    """At the same line, where levels expect writes from their beginning."""
    seen = []

    def write(x):
        y = np.atleast_1d(x) * 1.0
        y[...] = 2.0
        return y

    def read(x):
        seen.append((x.a, x.tag))
        return x

    for _ in range(2):
        nest(write, A)
        nest(read, Tagged(A, tag="speed"))
    assert seen == [(1, "speed")] * 2


def test_own_methods_in_a_with_statement():
    with ft.vmap() as B:
        y = B(Sub(A)).scaled(2.0)
        assert layers(y) == ["BatchLevel", "Sub", "ndarray"]
    with ft.grad() as G:
        x = G(Sub(A))
        close(G.gradient(np.sum(x.scaled(2.0) * x), x).elem(), 4 * A)
    with ft.jvp() as J:
        close(J.unwrap(J(Sub(A), Sub(A)).half)[1].elem(), A / 2)


def test_attributes_that_are_arrays_are_refused_inside():
    class Masked(ft.Tensor):
        def __init__(self, data, mask=None):
            self.mask = np.ones(self.shape) if mask is None else mask

    with pytest.raises(ft.LevelError, match=r"vmap.*x\.mask is an array that a Masked has"):
        ft.vmap(lambda x: x.mask)(Masked(A))


def test_attributes_that_are_not_there():
    for x in (A, Sub(A)):
        raises(AttributeError, lambda: ft.vmap(lambda x: x.nothing)(x), "'nothing'")
        assert not ft.vmap(lambda x: [x, hasattr(x, "nothing")])(x)[1].any()
    with ft.vmap() as B:
        x = B(Sub(A))
        assert not hasattr(x, "__nothing__")
    raises(ft.EscapedTensorError, lambda: x.scaled(2.0))
    with ft.vmap(escape="passthrough") as B:
        x = B(Sub(A))
    equal(x.scaled(2.0).elem(), 2 * A)


def test_a_level_that_has_met_a_users_class_is_used_again_for_such():
    classes = []

    def noted(x):  # a name of its own: tensors of no other level of the name were written to
        classes.append("__getattr__" in vars(type(x)))
        return x

    f = ft.vmap(lambda x: x * 2)
    for x in (A, Sub(A), A, Sub(A)):
        ft.vmap(noted)(x)
        f(x)
    assert classes == [False, True, False, True]


# ---- the examples ----


def test_logging_tensor(caplog):
    """A14, A55, E22: with `repr` of the arguments inside the hook"""
    x = zoo.LoggingTensor([1.0, 2.0])
    with caplog.at_level(logging.INFO, "functier.examples"):
        x.sum(), x[0], np.sum(x)
    texts = [record.getMessage() for record in caplog.records]
    assert texts == [
        "func: sum, args: (LoggingTensor([1., 2.]),), kwargs: {}",
        "func: __getitem__, args: (LoggingTensor([1., 2.]), 0), kwargs: {}",
        "func: sum, args: (LoggingTensor([1., 2.]),), kwargs: {}",
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, "functier.examples"):
        assert type(ft.vmap(np.sin)(x)) is zoo.LoggingTensor
    assert len(caplog.records) == 1


def test_nan_detector():
    x = zoo.NanDetector([1.0, -1.0])
    raises(FloatingPointError, lambda: ft.vmap(np.sqrt)(x), "numpy.sqrt made a NaN")
    with pytest.raises(FloatingPointError, match=r"numpy\.log made a NaN"):
        ft.grad(lambda x: np.sum(np.log(x)))(x)
    spoiled = zoo.NanDetector([np.nan, 1.0])
    assert np.isnan((spoiled + 1).elem()[0])  # came in with an operand
    q, r = np.divmod(zoo.NanDetector([3.0]), 2.0)
    assert type(q) is type(r) is zoo.NanDetector
    close(ft.grad(lambda x: np.sum(np.exp(x)))(x).elem(), np.exp(x.elem()))


def test_verified():
    x = np.random.default_rng(0).normal(size=(3, 1000)).astype("f")
    out = ft.vmap(lambda r: np.sum(np.exp(r)))(zoo.Verified(x))
    exact = np.sum(np.exp(x.astype(np.longdouble)), axis=1)
    assert type(out) is zoo.Verified and out.elem().dtype == np.float32
    assert out.error() == float(np.max(np.abs(out.elem() - exact))) and 0 < out.error() < 1e-3
    slope = ft.grad(lambda r: np.sum(np.sin(r) ** 2))(zoo.Verified(x))
    assert type(slope) is zoo.Verified and slope.error() < 1e-6
    assert zoo.Verified([1.0]).error() == 0.0
    q, r = divmod(zoo.Verified([5.5]), 2.0)
    assert q.error() == r.error() == 0.0


def test_quantity():
    length, time = zoo.Quantity([2.0, 4.0], m=1), zoo.Quantity(2.0, s=1)
    speed = ft.vmap(lambda x: x / time)(length)
    equal(speed.elem(), np.array([1.0, 2.0]))
    assert speed.unit == {"m": 1, "s": -1}
    slope = ft.grad(lambda v: np.sum(v**2))(speed)
    equal(slope.elem(), 2 * speed.elem())
    assert slope.unit == {"m": 1, "s": -1}
    value, moved = ft.jvp(lambda v: v * time, (speed,), (speed,))
    assert value.unit == moved.unit == {"m": 1}
    assert ft.vmap(ft.grad(lambda x: np.sqrt(x)))(length).unit == {"m": -0.5}
    for wrong in (lambda x: x + time, lambda x: np.sin(x), lambda x: x < time):
        raises(TypeError, lambda: ft.vmap(wrong)(length), "unit")
    equal((length / length).to_base(), np.ones(2))
    raises(TypeError, lambda: length.to_base(), "has a unit")
    assert repr(speed) == "Quantity([1., 2.] m^1 s^-1)"


def test_tracked():
    zoo.Tracked.alive = zoo.Tracked.peak = 0
    out = ft.vmap(lambda r: np.sin(np.sin(r)))(zoo.Tracked(np.ones((4, 250))))
    assert zoo.Tracked.peak == 16_000 and zoo.Tracked.alive == 8_000
    del out
    assert zoo.Tracked.alive == 0


def test_negated():
    n = zoo.Negated(A)
    assert -n is A and (n.T).array.base is A
    equal(np.asarray(n), -A)
    equal(n + 1, 1 - A)
    equal(n * n, A * A)
    equal(n * 2, -2 * A)
    equal(ft.vmap(lambda r: r * 2 + n[0])(A), 2 * A - A[0])
    equal(ft.grad(lambda x: np.sum(x * n))(A), -A)
    out = ft.vmap(lambda r: r)(n)
    assert isinstance(out, zoo.Negated) and out.array is A


@pytest.mark.parametrize("make", [
    lambda: zoo.Diagonal(np.array([1.0, 2.0, 3.0])),
    lambda: zoo.LowRank(np.array([[1.0], [2.0], [0.5]]), np.array([[1.0, -1.0, 2.0]])),
])  # fmt: skip
def test_matrices_that_are_not_written_out(make):
    m, dense, v = make(), make().dense(), np.array([1.0, 0.5, -2.0])
    b = np.arange(6.0).reshape(3, 2)
    kind = type(m)
    for out, expected, kept in [
        (m @ v, dense @ v, None), (v @ m, v @ dense, None), (np.trace(m), np.trace(dense), None),
        (m.T, dense.T, kind), (m @ m, dense @ dense, kind), (m.sum(), dense.sum(), None),
        (np.cos(m), np.cos(dense), None), (m[0], dense[0], None),
        (m + b @ b.T, dense + b @ b.T, None),
    ]:  # fmt: skip
        assert isinstance(out, kind) == (kept is not None)
        close(np.asarray(out), np.asarray(expected))
    close(np.asarray(m @ b), dense @ b)
    close(ft.vmap(lambda r: m @ r)(b.T), b.T @ dense.T)
    close(ft.vmap(lambda r: r @ m)(b.T), b.T @ dense)
    close(ft.grad(lambda v: v @ (m @ v))(v), (dense + dense.T) @ v)
    close(ft.jvp(lambda v: m @ v, (v,), (v,))[1], dense @ v)
    close(ft.jacrev(lambda v: m @ v)(v), dense)
    close(ft.vmap(ft.grad(lambda r: r @ (m @ r)))(b.T), b.T @ (dense + dense.T))


def test_diagonals_stay_diagonal():
    d = zoo.Diagonal(np.array([1.0, 2.0, 4.0]))
    for out, expected in (
        (d + d, d.dense() * 2), (d * 3.0, d.dense() * 3), (2.0 * d, d.dense() * 2),
        (np.linalg.inv(d), np.linalg.inv(d.dense())), (d * d, d.dense() ** 2),
    ):  # fmt: skip
        assert isinstance(out, zoo.Diagonal)
        close(out.dense(), expected)
    assert np.linalg.det(d) == 8.0
    close(np.linalg.solve(d, np.ones(3)), 1 / d.diagonal)
    inside = ft.grad(lambda v: np.trace(zoo.Diagonal(v) @ zoo.Diagonal(v)))(d.diagonal)
    close(inside, 2 * d.diagonal)  # made of a tensor of the level
    raises(TypeError, lambda: np.add(d, zoo.ScalarTensor(3, 1.0)), "no implementation")


def test_scalar_tensor():
    """E02, E03, E04, E07, E08, E09: a scaled identity with a mean and sums, and its errors."""
    d, s = zoo.ScalarTensor(5, 2), zoo.ScalarTensor(2, 2)
    assert repr(d) == "ScalarTensor(N=5, value=2)"
    equal(d.tensor(), 2.0 * np.eye(5))
    assert np.mean(d) == 0.4 and type(np.mean(d)) is float
    assert repr(np.add(s, s)) == "ScalarTensor(N=2, value=4)"
    t = np.ones((2, 2))
    for out in (np.add(s, t), np.add(t, s), t + s, np.add(ft.tensor(t), s).elem()):
        equal(out, np.array([[3.0, 1.0], [1.0, 3.0]]))
    raises(ValueError, lambda: np.add(s, d), "Shape mismatch!")
    with pytest.raises(TypeError, match=r"add\(\) got an unexpected keyword argument 'where'"):
        np.add(s, s, where=True)
    with pytest.raises(TypeError) as error:
        np.multiply(s, 3)
    assert message(error) == (
        "no implementation found for 'numpy.multiply' on types that implement "
        "__tensor_function__: [ScalarTensor]"
    )
    assert zoo.scalar_mean.__name__ == "mean" and zoo.scalar_mean.__wrapped__ is np.mean


def test_scalar_tensor_with_a_fallback():
    """E05, E14: no table; what is not handled gets arrays"""

    class Falling(zoo.ScalarTensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            args = [a.tensor() if isinstance(a, cls) else a for a in args]
            return func(*args, **(kwargs or {}))

    s = Falling(2, 2)
    equal(np.multiply(s, s), np.array([[4.0, 0.0], [0.0, 4.0]]))
    equal(np.matmul(s, A), 2 * A)


def test_metadata_tensor():
    """E15: an array beside a dict that results keep."""
    metadata = {"owner": "Ministry of Silly Walks"}
    m = zoo.MetadataTensor([[1, 2], [3, 4]], metadata=metadata)
    t = np.array([[1, 2], [1, 2]])
    out = np.add(t, m)
    assert repr(out) == (
        "Metadata:\n{'owner': 'Ministry of Silly Walks'}\n\ndata:\n[[2 4]\n [4 6]]"
    )
    equal(np.multiply(t, m).data, np.array([[1, 4], [3, 8]]))
    x = zoo.MetadataTensor(A, metadata)
    for out, expected in (
        (ft.vmap(lambda r: r * 2 + r.sum())(x), A * 2 + A.sum(axis=1, keepdims=True)),
        (ft.grad(lambda x: np.sum(np.sin(x)))(x), np.cos(A)),
        (ft.vmap(ft.grad(lambda r: np.sum(r**3)))(x), 3 * A**2),
        (ft.jvp(np.tanh, (x,), (x,))[1], (1 - np.tanh(A) ** 2) * A),
        (ft.vmap(lambda r, s: r * s, (0, None))(A, x), A[:, None] * A),
        (ft.vmap(lambda r, s: s * r, (0, None))(A, x), A[:, None] * A),
    ):
        assert type(out) is zoo.MetadataTensor and out.metadata is metadata
        close(out.data, expected)


def test_wrapped_tensor():
    """A59: methods, properties, indexing, functions, mixed with arrays on either side"""
    w = zoo.WrappedTensor(A)
    for out, expected in (
        (w.sum(axis=0), A.sum(axis=0)), (w.T, A.T), (w[0], A[0]), (w.reshape(-1), A.reshape(-1)),
        (np.sin(w), np.sin(A)), (w + 1, A + 1), (A - w, np.zeros((2, 2))), (w @ A, A @ A),
        (np.concatenate([w, A]), np.concatenate([A, A])), (w.real, A),
    ):  # fmt: skip
        assert type(out) is zoo.WrappedTensor
        equal(out._wrapped.elem(), expected)
    assert w.shape == (2, 2) and w.dtype == np.float64
    out = ft.vmap(lambda r: np.sin(r) * 2)(w)
    assert type(out) is zoo.WrappedTensor
    equal(out._wrapped.elem(), np.sin(A) * 2)
    out = ft.grad(lambda x: np.sum(np.sin(x)))(w)
    assert type(out) is zoo.WrappedTensor
    close(out._wrapped.elem(), np.cos(A))


# ---- classes of other libraries ----


@pytest.fixture
def units():
    pint = pytest.importorskip("pint", reason="pint is not installed")
    return pint.UnitRegistry()


def test_a_pint_quantity_as_a_wrapped_value(units):
    q = A * units.metre
    weight = 2 * units.second
    for out, expected, unit in (
        (ft.vmap(lambda r: r * r.sum())(q), A * A.sum(axis=1, keepdims=True), "metre**2"),
        (ft.vmap(lambda r: r * weight)(q), 2 * A, "metre * second"),
        (ft.vmap(lambda r, s: r + s)(q, q.to("cm")), 2 * A, "metre"),
        (ft.vmap(lambda r: r @ np.ones(2))(q), A.sum(axis=1), "metre"),
        (ft.grad(lambda x: np.sum(x * x))(q), 2 * A, "metre"),
        (ft.vmap(ft.grad(lambda r: np.sum(r * r)))(q), 2 * A, "metre"),
        (ft.grad(lambda x: np.sum(x * weight))(q), np.full((2, 2), 2.0), "second"),
        (ft.jvp(lambda x: x * x, (q,), (A,))[1], 2 * A * A, "metre"),
        (ft.vmap(lambda r: r * q[0])(A), A * A[0], "metre"),
    ):
        assert isinstance(out, units.Quantity) and out.units == units.Unit(unit)
        close(out.magnitude, expected)
    with pytest.raises(Exception, match="Cannot convert"):
        ft.vmap(lambda r: r + weight)(q)


def test_a_dask_array_as_a_wrapped_value():
    array = pytest.importorskip("dask.array", reason="Dask is not installed")
    d = array.from_array(A, chunks=1)
    for out, expected in (
        (ft.vmap(lambda r: np.sin(r) - r.mean())(d), np.sin(A) - A.mean(axis=1, keepdims=True)),
        (ft.vmap(lambda r: r @ np.ones(2))(d), A.sum(axis=1)),
        (ft.grad(lambda x: np.sum(np.sin(x) ** 2))(d), np.sin(2 * A)),
        (ft.vmap(ft.grad(lambda r: np.sum(r**3)))(d), 3 * A**2),
        (ft.jvp(np.sin, (d,), (d,))[1], np.cos(A) * A),
        (ft.vmap(lambda r: r * d[0])(A), A * A[0]),
        (ft.vmap(lambda r: d[0] * r)(A), A * A[0]),
    ):
        assert isinstance(out, array.Array)  # nothing has been computed yet
        close(out.compute(), expected)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_dask_array_that_may_hold_tensors_is_refused():
    array = pytest.importorskip("dask.array", reason="Dask is not installed")
    d = array.from_array(A, chunks=1)
    for lazy in (
        lambda w: array.sum(array.sin(d * w)),
        lambda w: d.map_blocks(lambda block: block * w).sum(),
        lambda w: array.asarray(w * A).sum(),
    ):
        for transform in (ft.grad, ft.jacrev, ft.jacfwd):
            with pytest.raises(ft.ConversionError, match=r"return y.compute\(\) for y"):
                transform(lazy)(0.5)
            value = np.asarray(transform(lambda w: lazy(w).compute(scheduler="synchronous"))(0.5))
            h = 1e-6
            close(value, (lazy(0.5 + h) - lazy(0.5 - h)).compute() / (2 * h), 1e-6)


def test_a_duck_array_with_the_hook_alone_under_levels():
    """A03, B42: a class that is not a tensor is asked, too, beside tensors of levels."""

    class Loud(overrides.TensorLike):
        shape, dtype, ndim = (2,), np.dtype(float), 1

        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            values = [np.array([2.0, 3.0]) if isinstance(a, cls) else a for a in args]
            return func(*values, **(kwargs or {}))

        def reshape(self, *shape):
            return np.reshape(self, *shape)

    for f in (lambda r: r * Loud(), lambda r: np.multiply(Loud(), r)):
        equal(ft.vmap(f)(A), A * [2.0, 3.0])
        equal(ft.grad(lambda x: np.sum(f(x)))(A), np.array([[2.0, 3.0]] * 2))
