"""Custom operations, look-up by name, the list of all operations, and opcheck."""

import copy
import functools
import gc
import importlib
import math
import operator
import pickle
import weakref

import numpy as np
import pytest

import functier as ft
from functier._core.table import NAMESPACES, OPS
from functier._custom.registry import public_name
from functier.modes import TensorDispatchMode, TensorFunctionMode
from functier.overrides import TensorLike
from functier.testing import opcheck
from support.basics import close, equal, has_all, load_all, message, raises, recorder

pytestmark = pytest.mark.inside("Every test leaves the tables of operations as they were.")

V = np.array([0.5, -1.5, 2.0])
X = np.stack([V, 2 * V, -V, V + 1])


@pytest.fixture(autouse=True)
def restored():
    """Every test leaves the names and the table of operations as they were."""
    names, table = {k: dict(v) for k, v in NAMESPACES.items()}, dict(OPS)
    yield
    NAMESPACES.clear()
    NAMESPACES.update(names)
    assert {f: op for f, op in OPS.items() if op is not table.get(f, op)} == {}


def arrays_only(f):
    """Return `f` as compiled code would be: it takes plain arrays only."""

    @functools.wraps(f)
    def call(*xs):
        for x in xs:
            assert type(x) in (np.ndarray, np.float64, float, int), type(x)
        return f(*xs)

    return call


def cube(name="testlib::cube", vmap=True, vjp=True, jvp=False):
    op = ft.custom_op(name, arrays_only(lambda x, scale=1.0: scale * x**3))
    if vmap:
        op.register_vmap(lambda info, in_dims, x, scale: (op(x, scale), 0))
    if vjp:

        @op.register_vjp(setup_context=save)
        def backward(ctx, g):
            x, scale = ctx.saved_tensors
            return g * square(x) * 3 * scale, None

    if jvp:
        op.register_jvp(
            lambda ctx, t, _: 3 * square(ctx.saved_tensors[0]) * t * ctx.saved_tensors[1],
            setup_context=save,
        )
    return op


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def save_output(ctx, inputs, output):
    ctx.save_for_backward(output)


square = ft.custom_op("testlib::square", arrays_only(lambda x: x * x))
square.register_vmap(lambda info, in_dims, x: (square(x), 0))
square.register_vjp(lambda ctx, g: 2 * g * ctx.saved_tensors[0], setup_context=save)


# ---- an operation ----


def test_an_operation_is_called_by_its_name():
    """F11: defined, called as functier.ops.mylib.f, with vjp, jvp and vmap."""
    op = cube("mylib::f")
    assert ft.ops.mylib.f is op
    equal(ft.ops.mylib.f(V), V**3)
    equal(op(V, scale=2.0), 2 * V**3)
    close(ft.grad(lambda x: np.sum(ft.ops.mylib.f(x)))(V), 3 * V**2)
    close(ft.vmap(op)(X), X**3)
    close(ft.hessian(lambda x: np.sum(op(x)))(V), np.diag(6 * V))
    close(ft.vmap(ft.grad(ft.grad(op)))(V), 6 * V)
    close(ft.jvp(op, (V,), (V,))[1], 3 * V**3)
    close(ft.grad(lambda x: np.sum(ft.vmap(ft.grad(op))(x) * x))(V), 9 * V**2)


def test_forward_mode_alone():
    """F11, F12: reverse mode is its transpose."""
    op = cube("mylib::forward", vjp=False, jvp=True)
    close(ft.jvp(op, (V,), (V,))[1], 3 * V**3)
    close(ft.grad(lambda x: np.sum(op(x, 2.0)))(V), 6 * V**2)
    close(ft.jvp(ft.grad(op), (2.0,), (1.0,))[1], np.float64(12.0))


def test_the_decorators():
    """F12: custom_op and the registrations, with torch's names."""

    @ft.custom_op("mylib::sine", mutates_args=())
    def sine(x):
        """The sine."""
        return np.sin(x)

    @sine.register_autograd(setup_context=save)
    def backward(ctx, g):
        return g * np.cos(*ctx.saved_tensors)

    @sine.register_vmap
    def rule(info, in_dims, x):
        assert (info.batch_size, in_dims) == (4, (0,))
        return sine(x), 0

    @sine.register_jvp
    def jvp(ctx, t):
        return t * np.cos(*ctx.saved_tensors)

    assert callable(backward) and callable(rule) and callable(jvp)
    assert sine.__doc__ == "The sine." and sine.__name__ == "sine"
    assert sine.schema == "mylib::sine(x)" and repr(sine) == "<custom_op mylib::sine(x)>"
    close(ft.vmap(sine)(X), np.sin(X))
    close(ft.grad(lambda x: np.sum(sine(x)))(V), np.cos(V))
    close(ft.jvp(sine, (V,), (V,))[1], V * np.cos(V))


@pytest.mark.parametrize(
    ("name", "kind", "part"),
    [
        ("sine", ValueError, "'namespace::name'"),
        ("a::b::c", ValueError, "'namespace::name'"),
        ("my lib::f", ValueError, "'namespace::name'"),
        ("a.b::f", ValueError, "'namespace::name'"),
        (3, ValueError, "'namespace::name'"),
        ("operator::f", ValueError, "the namespace 'operator' belongs to functier"),
        ("_own::f", ValueError, "the namespace '_own' belongs to functier"),
        ("numpy::f", ValueError, "the namespace 'numpy' belongs to functier"),
    ],
)
def test_names(name, kind, part):
    """F11: what a name has to look like."""
    raises(kind, lambda: ft.custom_op(name, np.sin), "custom_op(", part)


def test_what_is_wrong_with_a_registration():
    """F12: each says what was expected."""
    raises(TypeError, lambda: ft.custom_op("mylib::f", 3.0), "func is a float")
    with pytest.raises(ValueError, match=r"mutates_args=.*return the new array"):
        ft.custom_op("mylib::f", np.sin, mutates_args=("x",))
    for register in ("register_vjp", "register_jvp", "register_vmap"):
        with pytest.raises(TypeError, match=f"testlib::square.{register}: func is a int"):
            getattr(square, register)(3)
    with pytest.raises(TypeError, match="3 is not a class; pass the class of the arrays"):
        square.register_kernel(3, np.sin)
    with pytest.raises(TypeError, match="S is a Tensor, which has hooks"):
        square.register_kernel(type("S", (ft.Tensor,), {}), np.sin)
    raises(TypeError, square, "missing a required argument")
    raises(TypeError, lambda: ft.custom_op("mylib::exp", np.exp)(x=V), "pass all by position")


def test_missing_rules():
    """F12: the words of Function."""
    op = cube("mylib::bare", vmap=False, vjp=False)
    with pytest.raises(
        ft.NoRuleError, match=r"bare has no derivative for reverse mode.*register_vjp"
    ):
        ft.grad(lambda x: np.sum(op(x)))(V)
    with pytest.raises(
        ft.NoRuleError, match=r"bare has no derivative for forward mode.*register_jvp"
    ):
        ft.jvp(op, (V,), (V,))
    raises(ft.NoRuleError, lambda: ft.vmap(op)(X), "mylib::bare does not have vmap support")
    arrays = ft.custom_op("mylib::arrays", lambda x: np.array(x, float))
    raises(ft.NoRuleError, lambda: ft.vmap(arrays)(X), "mylib::arrays does not  | register_vmap")
    numpy_code = ft.custom_op("mylib::numpy_code", lambda x: np.sin(x) * 2)
    close(ft.vmap(numpy_code)(X), 2 * np.sin(X))


def test_axes_of_containers():
    """F12: in_dims has the structure of the arguments; an option is one entry."""
    seen = []
    op = ft.custom_op("mylib::axes", lambda xs, shape, name: xs["a"] * xs["b"][0])

    @op.register_vmap
    def rule(info, in_dims, xs, shape, name):
        seen.append((info.batch_size, in_dims))
        return op(xs, shape, name), 0

    close(ft.vmap(lambda x: op({"a": x, "b": [V, 1.0]}, (2, 3), "name"))(X), X * V)
    assert seen == [(4, ({"a": 0, "b": [None, None]}, None, None))]
    close(ft.vmap(lambda x: op({"a": V, "b": (x,)}, [1], None), 1)(X.T), X * V)
    assert seen[1:] == [(4, ({"a": None, "b": (0,)}, None, None))]


def test_containers_are_differentiated():
    """F12: the gradient of a list, tuple or dict is such a container."""
    op = ft.custom_op("mylib::weighted", lambda xs, w: sum(w["w"] * x for x in xs) + w["b"])

    @op.register_vjp(setup_context=lambda ctx, inputs, _: vars(ctx).update(n=len(inputs[0])) or (
        ctx.save_for_backward(*inputs[0], inputs[1]["w"])
    ))  # fmt: skip
    def backward(ctx, g):
        *xs, w = ctx.saved_tensors
        return [g * w] * ctx.n, {"w": sum(g * x for x in xs), "b": None}

    def results(f):
        def loss(xs, w):
            return np.sum(f(xs, w) ** 2)

        xs, w = [V, 2 * V], {"w": V + 1, "b": 1.0}
        yield from ft.grad(loss)(xs, w)
        yield ft.grad(lambda v: loss(xs, {"w": v, "b": 1.0}))(w["w"])
        yield ft.hessian(lambda v: loss([v, v], w))(V)
        yield ft.vmap(ft.grad(lambda v: loss([v, V], w)))(X)

    for found, expected in zip(results(op), results(op._fn), strict=True):
        close(found, expected)
    wrong = ft.custom_op("mylib::wrong", lambda xs: xs[0] + xs[1])
    wrong.register_vjp(lambda ctx, g: ({"x": g},))
    with pytest.raises(TypeError, match=r"the gradient of argument 0 .* a tree of the structure"):
        ft.grad(lambda x: np.sum(wrong([x, x])))(V)


def test_pickles_and_copies_by_name():
    """F11: an operation is found again."""
    assert pickle.loads(pickle.dumps(square)) is square
    assert copy.deepcopy(square) is square
    op = cube("mylib::gone")
    data = pickle.dumps(op)
    op.unregister()
    raises(AttributeError, lambda: pickle.loads(data), "no custom operation mylib::gone")
    with pytest.raises(AttributeError, match=r"no operation mylib\.gone"):
        ft.ops.mylib.gone  # noqa: B018
    equal(op(V), V**3)
    again, latest = cube("mylib::again"), cube("mylib::again")
    assert ft.ops.mylib.again is latest is not again
    again.unregister()  # the name is another's
    assert ft.ops.mylib.again is latest


# ---- kernels, replacing ----


class Dual(TensorLike):
    """A duck array that is no NumPy array."""

    def __init__(self, value):
        self.value = np.asarray(value)


class Backend(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library: it speaks NumPy's protocols, and notes who asks."""

    log: list = []  # noqa: RUF012

    def __init__(self, value):
        self.value = np.asarray(value)
        self.shape, self.dtype, self.ndim = self.value.shape, self.value.dtype, self.value.ndim

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        values = [x.value if isinstance(x, Backend) else x for x in inputs]
        return Backend(getattr(ufunc, method)(*values, **kwargs))

    def __array_function__(self, func, types, args, kwargs):
        args = [x.value if isinstance(x, Backend) else x for x in args]
        result = func(*args, **kwargs)
        return Backend(result) if isinstance(result, (np.ndarray, np.generic)) else result

    def __getitem__(self, index):
        return Backend(self.value[index])

    def reshape(self, *shape):
        return Backend(self.value.reshape(*shape))


class Other(Backend):
    pass


def test_kernels_by_array_type():
    """F05: two backends are picked by the type of the arrays, under transforms too."""
    log = []
    op = ft.custom_op("mylib::twice", lambda x, y: log.append("numpy") or 2 * x * y)

    @op.register_kernel(Backend)
    def backend(x, y):
        log.append("backend")
        return Backend(2 * x.value * getattr(y, "value", y))

    op.register_vjp(lambda ctx, g: (2 * g * ctx.saved_tensors[1], None), setup_context=save)
    op.register_vmap(lambda info, in_dims, x, y: (op(x, y), 0))
    equal(op(V, 1.0), 2 * V)
    assert type(op(Backend(V), 1.0)) is Backend and type(op(Other(V), 1.0)) is Backend
    assert log == ["numpy", "backend", "backend"]
    op.register_kernel((Other, Dual), lambda x, y: log.append("other") or x)
    assert type(op(Other(V), 1.0)) is Other
    assert log.pop() == "other"
    log.clear()
    found = ft.vmap(lambda x: op(x, 3.0))(Backend(X))
    assert type(found) is Backend
    equal(found.value, 6 * X)
    _, pull = ft.vjp(lambda x: op(x, 3.0), Backend(V))
    equal(np.asarray(getattr(pull(Backend(V))[0], "value", None)), 6 * V)
    assert log == ["backend", "backend"]


def test_a_dask_array():
    """F05: with a kernel of its own, in chunks."""
    da = pytest.importorskip("dask.array", reason="needs Dask")
    op = cube("mylib::dask")
    kernel = op._fn
    op.register_kernel(da.Array, lambda x, scale: x.map_blocks(kernel, scale, dtype=x.dtype))
    x = da.from_array(X, chunks=2)
    found = op(x, 2.0)
    assert isinstance(found, da.Array) and found.chunks == x.chunks
    equal(found.compute(), 2 * X**3)


def test_replacing_and_restoring():
    """F11: replacing an implementation takes effect and is reversible."""
    op = cube("mylib::replaced")
    change = op.replaced(lambda x, scale=1.0: -x * scale)
    equal(op(V), -V)
    inner = op.replaced(
        lambda x, scale: x * 0,
        types=Backend,
        vjp=lambda ctx, g: (g * 7, None),
        vmap=lambda i, d, x, s: (x, 0),
    )
    close(ft.grad(lambda x: np.sum(op(x)))(V), np.full(3, 7.0))
    equal(ft.vmap(op)(X), X)
    equal(op(Backend(V)).value, V * 0)
    inner.undo()
    close(ft.grad(lambda x: np.sum(op(x)))(V), 3 * V**2)
    assert not op._kernels
    change.undo()
    equal(op(V), V**3)
    with op.replaced(lambda x, scale: x + 1.0) as same:
        assert same is op
        equal(ft.vmap(op)(X), X + 1.0)
    equal(ft.vmap(op)(X), X**3)
    with pytest.raises(ValueError, match="no"), op.replaced(lambda x, scale: 1 / 0):
        raise ValueError("no")
    equal(op(V), V**3)


def test_rules_for_a_function_of_another_library():
    """F11: missing rules of a function that dispatches are added, and taken away again."""
    calls = []

    def by_hand(x):
        calls.append(type(x))
        return math.gamma(x)

    gamma = np.frompyfunc(by_hand, 1, 1)
    op = ft.custom_op("mylib::gamma", lambda x: gamma(x).astype(float) if np.ndim(x) else gamma(x))
    op.register_vmap(lambda info, in_dims, x: (op(x), 0))
    op.register_vjp(lambda ctx, g: g * ctx.saved_tensors[0] * 0.5, setup_context=save_output)
    x = np.array([2.0, 4.0])
    raises(ft.NoRuleError, lambda: ft.grad(lambda x: np.sum(gamma(x)))(x))
    with op.implements(gamma):
        close(ft.grad(lambda x: np.sum(gamma(x)))(x), np.array([0.5, 3.0]))
        close(ft.vmap(gamma)(x), np.array([1.0, 6.0]))
        assert type(gamma(x)) is np.ndarray and gamma(x).dtype == object  # of plain arrays
    assert calls and set(calls) == {float}
    raises(ft.NoRuleError, lambda: ft.grad(lambda x: np.sum(gamma(x)))(x))


def test_replacing_rules_of_numpy():
    """F11: a NumPy function gets another rule, for transforms only; not the hot ones."""
    log = []
    op = ft.custom_op("mylib::solve", np.linalg.solve)

    @op.register_vjp(setup_context=lambda ctx, inputs, out: ctx.save_for_backward(inputs[0], out))
    def backward(ctx, g):
        log.append("backward")
        a, x = ctx.saved_tensors
        gb = np.linalg.solve(a.T, g)
        return -np.outer(gb, x), gb

    a, b = np.eye(3) + 0.1 * np.outer(V, V), V
    expected = ft.grad(lambda a: np.sum(np.linalg.solve(a, b)))(a)
    second = ft.hessian(lambda a: np.sum(np.linalg.solve(a, b)))(a)
    change = op.implements(np.linalg.solve)
    try:
        close(ft.grad(lambda a: np.sum(np.linalg.solve(a, b)))(a), expected)
        assert log == ["backward"]
        close(ft.hessian(lambda a: np.sum(np.linalg.solve(a, b)))(a), second)
        batch = ft.vmap(np.linalg.solve, (0, None))(np.stack([a, a]), b)  # by NumPy's own rule
        close(batch[1], np.linalg.solve(a, b))
        equal(np.linalg.solve(a, b), op(a, b))
    finally:
        change.undo()
    close(ft.vmap(np.linalg.solve, (0, None))(np.stack([a, a]), b)[0], np.linalg.solve(a, b))
    with pytest.raises(ValueError, match=r"the rules of numpy\.sin are built into the transforms"):
        op.implements(np.sin)


def test_a_ufunc_is_batched_in_one_call():
    """F12: of any ranks, and with several results."""
    calls = []
    half = np.frompyfunc(lambda x, y: calls.append(1) or x / y, 2, 1)
    op = ft.custom_op("mylib::half", half)
    out = ft.vmap(op, (0, None))(X, np.array([1.0, 2.0, 4.0]))
    equal(out.astype(float), X / np.array([1.0, 2.0, 4.0]))
    equal(ft.vmap(op)(X, np.arange(1.0, 5.0)).astype(float), X / np.arange(1.0, 5.0)[:, None])
    parts = ft.custom_op("mylib::modf", np.modf)
    for found, expected in zip(ft.vmap(parts, 1, 1)(X), np.modf(X)):
        equal(found, expected)
    raises(TypeError, lambda: op(X, 2.0, where=X > 0), "pass all by position")
    nested = ft.vmap(lambda x: ft.vmap(lambda y: op(x, y))(V))(V)
    equal(nested.astype(float), V[:, None] / V)


def test_a_ufunc_has_no_options():
    """F12: its arguments are its operands, whatever signature NumPy gives it."""
    op = ft.custom_op("mylib::double", functools.partial(np.multiply, 2.0))
    op.register_vjp(lambda ctx, g: 2.0 * g)
    assert op.schema == "mylib::double(*args)"
    close(ft.vmap(ft.grad(lambda x: np.sum(op(x))))(X), np.full(X.shape, 2.0))

    class Exp(ft.Function):
        forward = staticmethod(np.exp)

        @staticmethod
        def setup_context(ctx, inputs, output):
            assert len(inputs) == 1
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    close(ft.vmap(ft.grad(lambda x: np.sum(Exp.apply(x))))(X), np.exp(X))
    with pytest.raises(TypeError, match=r"Exp.apply: forward has no signature; pass all by posi"):
        Exp.apply(x=V)


def test_a_single_container():
    """F12: the gradient of the only argument is its list; integers in it have none."""
    op = ft.custom_op("mylib::summed", lambda xs: sum(xs))
    op.register_vjp(lambda ctx, g: [g, g, g])
    first, second = ft.grad(lambda a, b: np.sum(op([a, b, np.arange(3)])), (0, 1))(V, 2 * V)
    equal(first, np.ones(3))
    equal(second, np.ones(3))


def test_rules_of_a_function_that_has_none():
    """F11: an operation that stands for its own function has to have a batching rule."""
    gamma = np.frompyfunc(math.gamma, 1, 1)
    op = ft.custom_op("mylib::own", gamma)
    op.register_vmap(None)(lambda info, in_dims, x: (op(x), 0))
    plain = ft.custom_op("mylib::own_plain", lambda x: x)
    plain.replaced(gamma)
    with plain.implements(gamma):
        with pytest.raises(
            ft.NoRuleError, match="stands for the function that it calls; give it a rule with"
        ):
            ft.vmap(gamma)(X)
        assert "mylib::own" in ft.registry("mylib")
    with op.implements(gamma):
        equal(ft.vmap(gamma)(np.array([1.0, 4.0])).astype(float), np.array([1.0, 6.0]))


def test_a_loop_over_the_examples():
    """F12: a function for one example, with `sequential_vmap`, in every nesting."""
    calls = []

    def one(x, power=3):
        assert type(x) in (np.ndarray, np.float64) and np.ndim(x) < 2
        calls.append(np.shape(x))
        return x**power

    op = ft.custom_op("mylib::one", ft.sequential_vmap(one))
    op.register_vjp(lambda ctx, g: (3 * g * ctx.saved_tensors[0] ** 2, None), setup_context=save)
    close(ft.vmap(op)(X), X**3)
    assert calls == [(3,)] * 4
    close(ft.vmap(ft.grad(lambda x: np.sum(op(x))))(X), 3 * X**2)
    close(ft.grad(lambda x: np.sum(ft.vmap(op, 1)(x)))(X), 3 * X**2)
    close(ft.vmap(ft.vmap(op))(X), X**3)

    class One(ft.Function):
        forward = staticmethod(ft.sequential_vmap(one))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 3 * g * ctx.saved_tensors[0] ** 2, None

    close(ft.vmap(ft.grad(lambda x: np.sum(One.apply(x))))(X), 3 * X**2)
    close(ft.hessian(lambda x: np.sum(ft.vmap(One.apply)(x)))(V), np.diag(6 * V))


# ---- hooks and modes ----


def test_hooks_see_the_operation():
    """F08: the func of both hooks is what functier.ops gives."""
    op = cube("mylib::seen")
    cls = recorder()
    y = op(cls(V))
    assert type(y) is cls
    equal(y.elem(), V**3)
    assert cls.functions == [op] and [func for func, _ in cls.operations] == [op]
    assert ft.ops.mylib.seen is cls.functions[0]
    close(ft.vmap(op)(cls(X)).elem(), X**3)
    assert cls.functions.count(op) == 2
    plain_code = ft.custom_op("mylib::plain_code", lambda x: x * 3.0)
    plain_code.register_vjp(lambda ctx, g: 3.0 * g)
    found = ft.grad(lambda x: np.sum(plain_code(x)))(cls(V))  # below the level
    equal(found, np.full(3, 3.0))
    assert plain_code in cls.functions
    plain = op(ft.tensor(V))
    assert type(plain) is ft.Tensor
    equal(plain.elem(), V**3)


def test_duck_types_answer():
    """F08, F12: a class with the hook alone, and one that declines."""
    op = cube("mylib::duck")

    class Answers(TensorLike):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            return (func, len(args))

    assert op(Answers()) == (op, 2)
    raises(TypeError, lambda: op(Dual(V)), "no implementation found for 'functier.ops.mylib.duck'")


def test_modes_see_the_operation():
    """F08: those for functions and those for operations, once each."""
    seen = []

    class Functions(TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            seen.append(("function", func))
            return func(*args, **(kwargs or {}))

    class Operations(TensorDispatchMode):
        def __tensor_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(("operation", func))
            return func(*args, **(kwargs or {}))

    op = cube("mylib::moded")
    with Functions():
        equal(op(V), V**3)
    assert seen == [("function", op)]
    seen.clear()
    with Operations():
        close(ft.vmap(op)(X), X**3)
    assert ("operation", op) in seen and len([s for s in seen if s[1] is op]) == 1
    seen.clear()
    with Operations():
        close(ft.grad(lambda x: np.sum(op(x)))(V), 3 * V**2)
    assert seen.count(("operation", op)) == 1
    assert seen.count(("operation", square)) == 1


# ---- names ----


def test_names_are_looked_up_when_they_are_asked_for():
    """F08: NumPy's functions are their own operations; a namespace knows its names."""
    assert ft.ops.numpy.linalg.solve is np.linalg.solve
    assert ft.ops.numpy.add is np.add and ft.ops.numpy.fft.fft is np.fft.fft
    assert ft.ops.numpy.add.reduce.__self__ is np.add
    assert ft.ops.operator.getitem is operator.getitem
    assert {"linalg", "add", "einsum"} <= set(dir(ft.ops.numpy))
    assert "square" in dir(ft.ops.testlib) and repr(ft.ops.testlib) == "<functier.ops.testlib>"
    with pytest.raises(AttributeError, match="no namespace 'nothing'; import the module"):
        ft.ops.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"no operation numpy\.nothing; functier\.registry"):
        ft.ops.numpy.nothing  # noqa: B018
    assert not hasattr(ft.ops, "__wrapped__")
    equal(ft.ops.numpy.multiply(V, 2.0), 2 * V)


@pytest.mark.parametrize("space", ["linalg", "fft", "records", "registry", "Any", "numpy2"])
def test_a_namespace_is_the_users(space):
    """No name of a module of rules, or of the module itself, hides a namespace."""
    op = ft.custom_op(f"{space}::x", lambda v: v * 2.0)
    try:
        assert getattr(ft.ops, space).x is op is ft.registry(space)[f"{space}::x"].func
        assert importlib.import_module("functier.ops") is ft.ops
        assert space in dir(ft.ops) and list(ft.registry(space)) == [f"{space}::x"]
        assert pickle.loads(pickle.dumps(op)) is op
        assert op.__module__ == f"functier.ops.{space}"
        close(ft.vmap(getattr(ft.ops, space).x)(V), 2 * V)
    finally:
        op.unregister()


def test_all_other_names_of_the_module_are_private():
    assert [name for name in vars(ft.ops) if not name.startswith("_")] == []


def test_scipy_is_imported_when_it_is_asked_for():
    """F08: lazily."""
    special = pytest.importorskip("scipy.special", reason="needs SciPy")
    assert ft.ops.scipy.special.erf is special.erf


# ---- the list ----


def test_the_list_of_operations():
    """F10: each primitive with its schema and its rules; none lacks one without a mark."""
    load_all()
    op = cube("mylib::listed")
    others = {name for name in ft.registry() if "::" in name} - {"mylib::listed"}
    entries = {name: entry for name, entry in ft.registry().items() if name not in others}
    marks = {"rule", "itself", "parts", "zero", "refused", "transpose", "batched"}
    for name, entry in entries.items():
        assert {entry.vmap, entry.jvp, entry.vjp} <= marks, entry
        assert entry.name == name and entry.schema.startswith(f"{name}(")
        if (entry.vjp, entry.family) == ("rule", "elementwise"):
            assert entry.differentiable
    unlisted = {func for func in OPS if not public_name(func)}
    made = {func for func in unlisted if func.__name__.endswith(" (vectorized)")}  # by other tests
    assert {func.__name__ for func in unlisted - made} == {"clip"}  # which numpy.clip calls
    assert {"numpy.clip", "numpy.linalg.solve", "numpy.add", "operator.getitem"} <= entries.keys()
    assert not [name for name in entries if "._" in name or "rules" in name or name[0] == "_"]
    assert len(entries) >= len(OPS) - len(unlisted)
    assert list(entries) == sorted(entries)
    listed = entries["mylib::listed"]
    assert (listed.func, listed.vmap, listed.jvp, listed.vjp) == (op, "rule", "transpose", "rule")
    assert listed.schema == "mylib::listed(x, scale=1.0)"
    assert list(ft.registry("mylib")) == ["mylib::listed"]
    for name, rules in {
        "numpy.sin": ("rule", "rule", "rule"),
        "numpy.transpose": ("rule", "itself", "rule"),
        "numpy.floor": ("rule", "zero", "zero"),
        "numpy.var": ("parts",) * 3,
        "numpy.put": ("parts",) * 3,
    }.items():
        assert entries[name][4:7] == rules, name
    with pytest.raises(TypeError):
        ft.registry()["numpy.sin"] = None


def test_a_missing_rule_shows_in_the_list():
    """F10: planted, for the test above."""
    ft.custom_op("mylib::nothing", lambda x: x * 1.0)
    entry = ft.registry("mylib")["mylib::nothing"]
    assert (entry.vmap, entry.jvp, entry.vjp) == ("batched", "none", "none")


# ---- opcheck ----

GOOD = [(V,), (V, 2.0), (np.float64(1.5),), (X,), (np.repeat(V, 2)[::2],)]


def test_opcheck():
    """F12: all rules of an operation, on sample arguments."""
    op = cube("mylib::good", jvp=True)
    assert opcheck(op, GOOD) == dict.fromkeys(opcheck.__wrapped__.__globals__["TESTS"], "ok")
    assert opcheck(op, (V,), tests=["vmap"]) == {"vmap": "ok"}
    assert opcheck(np.sin, (V,))["second"] == "ok"
    cube("mylib::good")
    raises(ft.GradcheckError, lambda: opcheck(op, (V,)), "another operation has taken its name")


def broken(what):
    op = cube(f"mylib::bad_{what}", jvp=True)
    if what == "vjp":
        op.register_vjp(lambda ctx, g: (g * ctx.saved_tensors[0], None), setup_context=save)
    elif what == "jvp":
        op.register_jvp(lambda ctx, t, _: t * 2.0, setup_context=save)
    elif what == "second":
        op.register_vjp(
            lambda ctx, g: (g * 3 * ft.stop_gradient(ctx.saved_tensors[0]) ** 2, None),
            setup_context=save,
        )
    elif what == "vmap":
        op.register_vmap(lambda info, in_dims, x, scale: (op(x[::-1], scale), 0))
    elif what == "writes":
        op.replaced(lambda x, scale=1.0: operator.imul(x, 2.0) * 1.0)
    elif what == "shares":
        op.replaced(lambda x, scale=1.0: x[...])
    elif what == "random":
        op.replaced(lambda x, scale=1.0: x + np.random.default_rng().normal())
    elif what == "crash":
        op.register_vmap(lambda info, in_dims, x, scale: x.nothing)
    elif what == "count":
        op.register_vjp(lambda ctx, g: g, setup_context=save)
    return op


@pytest.mark.parametrize(
    ("what", "test", "part"),
    [
        ("vjp", "reverse", "reverse mode (vjp) is wrong"),
        ("jvp", "forward", "forward mode (jvp) is wrong"),
        ("second", "second", "is wrong"),
        ("vmap", "vmap", "differs in"),
        ("writes", "arguments", "it changed array 0 of its arguments"),
        ("shares", "arguments", "shares memory with array 0"),
        ("random", "arguments", "another result the second time"),
        ("crash", "vmap", "nothing"),
        ("count", "reverse", "incorrect number of gradients"),
    ],
)
def test_opcheck_finds_planted_faults(what, test, part):
    """F12: names the operation, the test and the sample."""
    op = broken(what)
    with pytest.raises(ft.GradcheckError) as error:
        opcheck(op, [(V,), (2 * V,)])
    has_all(message(error), f"mylib::bad_{what}", f"the test {test!r} failed for samples[0]", part)
    results = opcheck(op, [(V,), (2 * V,)], raise_exception=False)
    assert results[test].startswith("failed: ")
    has_all(results[test], "failed for samples[0]", part)


def test_opcheck_tells_what_is_refused():
    """F12: rules that do not exist are no failures."""
    op = cube("mylib::first_only", vmap=False, vjp=False)
    op.register_vjp(
        ft.once_differentiable(lambda ctx, g: (3 * np.array(g) * ctx.saved_tensors[0] ** 2, None)),
        setup_context=save,
    )
    results = opcheck(op, [(V,)], tests=["arguments", "reverse", "forward", "second"])
    assert results["arguments"] == results["reverse"] == "ok"
    assert results["second"].startswith("refused: trying to differentiate twice")
    assert results["forward"].startswith("refused: ")
    integers = ft.custom_op("mylib::integers", lambda n: n + 1)
    assert opcheck(integers, (np.arange(3),))["reverse"] == "nothing to test"
    with pytest.raises(ValueError, match="tests has 'all'; known are arguments, reverse"):
        opcheck(op, (V,), tests=["all"])
    raises(TypeError, lambda: opcheck(op, [V]), "a sample is a ndarray; write a tuple")


def test_opcheck_of_a_function_class():
    """F12: of anything that is called with arrays."""

    class Cube(ft.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * g * ctx.saved_tensors[0] ** 2, None

    assert set(opcheck(Cube.apply, [(V, "name"), (X, None)]).values()) == {"ok"}


# ---- foreign code, the engine ----


def test_foreign_functions():
    """F18: native extensions are out of scope for a library that is pure Python; what is native
    already is called through ctypes, here the C library's own function.
    """
    ctypes = pytest.importorskip("ctypes")
    try:
        libm = ctypes.CDLL("libm.so.6")
        libm.cbrt.restype, libm.cbrt.argtypes = ctypes.c_double, (ctypes.c_double,)
    except (OSError, AttributeError) as error:
        pytest.skip(f"there is no C library with cbrt: {error}")
    native = np.vectorize(libm.cbrt, otypes=[float])
    op = ft.custom_op("mylib::cbrt", lambda x: native(np.asarray(x))[()])
    op.register_vmap(lambda info, in_dims, x: (op(x), 0))
    op.register_vjp(lambda ctx, g: g / (3 * ctx.saved_tensors[0] ** 2), setup_context=save_output)
    close(ft.vmap(ft.grad(ft.grad(op)))(np.array([1.0, 8.0])), np.array([-2 / 9, -2 / 9 / 32]))
    assert set(opcheck(op, [(np.array([0.5, 2.0]),), (np.float64(3.0),)]).values()) == {"ok"}


def test_an_operation_keeps_nothing():
    """A call leaves neither arguments nor results behind."""
    op = cube("mylib::light")
    x = V.copy()
    ref = weakref.ref(x)
    ft.grad(lambda x: np.sum(op(x)))(x)
    del x
    gc.collect()
    assert ref() is None
