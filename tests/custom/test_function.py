"""Function: the rows of the source documents on extending autograd (C01 to C59)."""

import gc
import math
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from functier.testing import gradcheck, gradgradcheck
from support.basics import close, equal, has_all, message, raises
from support.functions import (
    CUBES,
    AttributeCube,
    BothModes,
    ByJvp,
    CombinedCube,
    CombinedLinear,
    CompiledCube,
    LinearFunction,
    MulConstant,
    MulConstantNone,
    MyCube,
    Square,
    WrongCube,
    function,
    linear,
    my_cube,
    save,
)

rng = np.random.default_rng(7)
X, W, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)
V = np.array([0.5, -1.5, 2.0])


def combined(forward, backward=None, **methods):
    return function(forward, backward, setup_context=None, **methods)


# ---- definitions and calls ----


def test_a_class_with_static_methods_is_applied():
    """C01: users make no instances."""
    assert issubclass(MyCube, ft.Function)
    equal(my_cube(V), V**3)
    raises(TypeError, lambda: MyCube(V), "MyCube", "no instances", "MyCube.apply(")


@pytest.mark.parametrize("method", ["forward", "setup_context", "backward", "vjp", "jvp", "vmap"])
def test_methods_that_are_not_static_are_refused(method):
    """C01: with the remedy."""
    with pytest.raises(TypeError) as error:
        type("Op", (ft.Function,), {method: lambda self, x: x})
    has_all(message(error), "Op", method, "@staticmethod")


def test_a_function_without_forward():
    """C01: says what is missing."""
    with pytest.raises(NotImplementedError, match="Op must implement the static method forward"):
        type("Op", (ft.Function,), {}).apply(V)


def test_apply_is_forward_outside_of_transforms():
    """C02: also the objects are those that forward returns."""
    equal(MulConstant.apply(V, 3.0), V * 3.0)
    assert type(LinearFunction.apply(X, W, None)) is np.ndarray
    same = function(lambda x: x, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
    assert same.apply(V) is V
    assert function(lambda x: (x * 1.0, "text", None)).apply(V)[1:] == ("text", None)


def test_arguments_of_any_type_and_defaults():
    """C03, C56, C57: strings, dicts and callables pass through forward; defaults are honoured."""
    seen = []

    def forward(x, how="sin", table=None, f=np.sum):
        seen.append((how, table, f))
        return {"sin": np.sin, "cos": np.cos}[how](x) * (table or {"scale": 1.0})["scale"]

    def setup(ctx, inputs, output):
        assert len(inputs) == 4
        ctx.save_for_backward(inputs[0])
        ctx.how, ctx.scale = inputs[1], (inputs[2] or {"scale": 1.0})["scale"]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        d = np.cos(x) if ctx.how == "sin" else -np.sin(x)
        return g * d * ctx.scale, None, None, None

    op = function(forward, backward, setup_context=setup)
    equal(op.apply(V), np.sin(V))
    close(ft.grad(lambda x: np.sum(op.apply(x)))(V), np.cos(V))
    table = {"scale": 2.0}
    close(ft.grad(lambda x: np.sum(op.apply(x, "cos", table, len)))(V), -2 * np.sin(V))
    close(ft.grad(lambda x: np.sum(op.apply(x, table=table, how="cos")))(V), -2 * np.sin(V))
    assert seen[-1] == ("cos", table, np.sum) and seen[-1][1] is table
    close(ft.vmap(ft.grad(lambda x: np.sum(op.apply(x, "cos"))))(X), -np.sin(X))


def test_setup_context_gets_all_inputs_and_the_output():
    """C04: once after forward; a 1-tuple stays one."""
    log = []

    def forward(x, y):
        log.append("forward")
        return (x * y,)

    def setup(ctx, inputs, output):
        log.append(("setup", type(inputs), len(inputs), type(output), len(output)))
        ctx.save_for_backward(*inputs)

    op = function(forward, lambda ctx, g: (g * ctx.saved_tensors[1], None), setup_context=setup)
    out = op.apply(V, 2.0)
    assert isinstance(out, tuple) and len(out) == 1
    expected = ["forward", ("setup", tuple, 2, tuple, 1)]
    assert log == expected
    log.clear()
    close(ft.grad(lambda x: np.sum(op.apply(x, 2.0)[0]))(V), np.full(3, 2.0))
    assert log == expected


def test_combined_forward_under_transforms():
    """C05: supported, in nested levels as NumPy code, else it says what to write instead."""
    for transform in (ft.grad, lambda f: ft.vmap(ft.grad(lambda x: f(x[None])))):
        f = transform(lambda x: np.sum(CombinedCube.apply(x)))
        close(f(V), 3 * V**2)
    close(ft.hessian(lambda x: np.sum(CombinedCube.apply(x)))(V), np.diag(6 * V))

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.asarray(x) ** 2

    op = combined(forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    close(ft.grad(lambda x: np.sum(op.apply(x)))(V), 2 * V)
    with pytest.raises(ft.NoRuleError) as error:
        ft.hessian(lambda x: np.sum(op.apply(x)))(V)
    has_all(message(error), "Op", "forward(ctx, ...)", "setup_context(ctx, inputs, output)")


def test_backward_gets_a_gradient_for_each_output_and_returns_one_for_each_input():
    """C06, C15: a single output comes alone, several in a tuple."""
    counts = []

    def backward(ctx, *grads):
        counts.append(len(grads))
        x, y = ctx.saved_tensors
        return grads[0] * y, grads[0] * x + grads[1]

    op = function(lambda x, y: (x * y, y + 0.0), backward)
    first, second = ft.grad(lambda x, y: np.sum(op.apply(x, y)[0] + 2 * op.apply(x, y)[1]), (0, 1))(
        V, 2 * V
    )
    close(first, 2 * V)
    close(second, V + 2.0)
    assert counts == [2, 2]
    assert not isinstance(MulConstant.apply(V, 2.0), tuple)
    with ft.grad() as G:
        assert type(MulConstant.apply(G(V), 2.0)) is G
        assert [type(y) for y in op.apply(G(V), V)] == [G, G]


class Pair(NamedTuple):
    double: Any
    count: int


def test_a_named_tuple_is_a_tuple_of_outputs():
    """C04, C15: of the same type in setup_context, and for the caller."""
    seen = []

    def setup(ctx, inputs, output):
        seen.append(type(output))

    op = function(lambda x: Pair(2 * x, x.size), lambda ctx, g, _: 2 * g, setup_context=setup)
    assert type(op.apply(V)) is Pair
    with ft.grad() as G:
        pair = op.apply(G(V))
        assert type(pair) is Pair and type(pair.double) is G and pair.count == 3
    close(ft.vmap(lambda x: op.apply(x).double)(X), 2 * X)
    close(ft.vmap(ft.grad(lambda x: np.sum(op.apply(x).double)))(X), np.full(X.shape, 2.0))
    assert set(seen) == {Pair}


@pytest.mark.parametrize("bad", [[1.0], {"y": 1.0}, None])
def test_forward_returns_an_array_or_a_tuple(bad):
    """C15: another container says so."""
    with pytest.raises(TypeError, match=f"Op: forward returned a {type(bad).__name__}; return an"):
        function(lambda x: bad).apply(V)


def test_vjp_is_another_name_of_backward():
    """C07: both of them are refused."""
    op = function(lambda x: x * 2.0, vjp=lambda ctx, g: 2.0 * g)
    close(ft.grad(lambda x: np.sum(op.apply(x)))(V), np.full(3, 2.0))
    with pytest.raises(TypeError, match="Op: it implements both backward and vjp"):
        function(lambda x: x, lambda ctx, g: g, vjp=lambda ctx, g: g)


def test_code_that_is_no_numpy():
    """C08, C58: forward and backward of a compiled library, here those of SciPy's C code."""
    special = pytest.importorskip("scipy.special", reason="needs SciPy")

    def arrays(f):
        return lambda *xs: f(*[np.array(x, float) for x in xs])  # refuses tensors

    j0, j1 = arrays(special.j0), arrays(special.j1)
    op = function(
        j0,
        ft.once_differentiable(lambda ctx, g: -np.array(g) * j1(*ctx.saved_tensors)),
        vmap=lambda info, in_dims, x: (op.apply(x), in_dims[0]),
    )
    close(ft.grad(lambda x: np.sum(op.apply(x)))(V), -special.j1(V))
    close(ft.vmap(op.apply)(X), special.j0(X))
    assert gradcheck(op.apply, V, check_forward_ad=False)


def test_nothing_is_kept_but_what_is_saved():
    """C09: intermediates of a fused operation are gone when forward is over."""
    kept, gone = [], []

    def forward(x):
        wide = np.outer(x, x)
        y = np.exp(wide)
        gone.extend((weakref.ref(wide), weakref.ref(y)))
        return np.sum(y, axis=0)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        kept.append(weakref.ref(output))

    op = function(forward, lambda ctx, g: g * ctx.saved_tensors[0], setup_context=setup)
    _, pull = ft.vjp(lambda x: op.apply(x) + 1.0, V)
    assert [r() for r in gone] == [None, None]
    gc.collect()
    assert kept[0]() is None  # the output was not saved
    assert len(pull(np.ones(3))) == 1


def test_plain_numpy_needs_no_function():
    """C10: the same derivatives without rules."""
    close(ft.grad(lambda x: np.sum(x**3))(V), ft.grad(lambda x: np.sum(my_cube(x)))(V))
    assert "Plain NumPy code needs no `Function`" in ft.Function.__doc__


def test_state_belongs_to_the_caller():
    """C11: an operation has none of its own; parameters come as arguments."""
    grads = ft.grad(lambda w, b: np.sum(linear(X, w, b)), (0, 1))(W, B)
    close(grads[0], np.broadcast_to(X.sum(0), W.shape))
    close(grads[1], np.full(5, 4.0))


def test_hooks_see_and_change_gradients():
    """C12: a hook on a tensor, with a handle that removes it."""
    seen = []

    def f(x, remove=False, change=None):
        y = np.sin(x)
        handle = ft.register_hook(y, lambda g: seen.append(g) or change)
        if remove:
            handle.remove()
        return np.sum(2.0 * y)

    close(ft.grad(f)(V), 2 * np.cos(V))
    equal(seen.pop(), np.full(3, 2.0))
    close(ft.grad(f)(V, change=np.ones(3)), np.cos(V))
    seen.clear()
    close(ft.grad(f)(V, True), 2 * np.cos(V))
    assert not seen
    raises(ValueError, lambda: ft.grad(f)(V, change=np.ones(2)), "a gradient of shape")


def test_hooks_on_a_leaf_and_in_nested_levels():
    """C12: the gradient that the hook returns goes on, and is differentiated."""

    def f(x):
        with ft.register_hook(x, lambda g: g * x) as handle:
            pass
        assert not handle.active
        ft.register_hook(x, lambda g: 10.0 * g)
        return np.sum(x**3)

    close(ft.grad(f)(V), 30 * V**2)
    close(ft.hessian(f)(V), np.diag(60 * V))
    close(ft.vmap(ft.grad(f))(X), 30 * X**2)


@pytest.mark.parametrize("x", [1.0, V, "text"])
def test_hooks_need_a_gradient(x):
    """C12: a value without one is refused."""
    raises(TypeError, lambda: ft.register_hook(x, print), "cannot register a hook on a value")
    with ft.vmap() as B, pytest.raises(TypeError, match="has no gradient"):
        ft.register_hook(B(V), print)
    with ft.grad() as G, pytest.raises(TypeError, match="the hook is a float"):
        ft.register_hook(G(V), 1.0)


# ---- what forward gets ----


def test_arrays_in_containers_have_no_gradient():
    """C14: only direct arguments do, at every level; a batch goes into containers."""
    seen = []

    def forward(x, others):
        seen.append([type(y) for y in others["list"]])
        return x * others["list"][0]

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[1]["list"][0])

    op = function(forward, lambda ctx, g: (g * ctx.saved_tensors[0], None), setup_context=setup)

    def f(x):
        return np.sum(op.apply(x, {"list": [x, 2.0]}))

    close(ft.grad(f)(V), V)  # of x * x this would be 2 * V
    assert seen == [[np.ndarray, float]]
    close(ft.jvp(f, (V,), (np.ones(3),))[1], np.sum(V))
    close(ft.vmap(ft.grad(f))(X), X)
    close(ft.hessian(f)(V), np.zeros((3, 3)))
    forward_mode = function(
        forward, jvp=lambda ctx, t, none: t * ctx.saved_tensors[0] + (none is not None),
        setup_context=setup,
    )  # fmt: skip
    moved = ft.jvp(lambda x: forward_mode.apply(x, {"list": [x, 2.0]}), (V,), (V,))[1]
    close(moved, V * V)
    wrong = function(forward, lambda ctx, g: (g, {"list": [g, g]}), setup_context=setup)
    with pytest.raises(TypeError, match="a gradient different from None at position 1"):
        ft.grad(lambda x: np.sum(wrong.apply(x, {"list": [x, 2.0]})))(V)


def test_gradients_are_not_written_to():
    """C16: backward gets read-only views, and the error says what to write."""

    def backward(ctx, g):
        g *= 2.0
        return g

    op = function(lambda x: x * 2.0, backward)
    with pytest.raises(ft.MutationError, match=r"Op: backward has written to a gradient.*g = g|\*"):
        ft.grad(lambda x: np.sum(op.apply(x)))(V)
    passed = function(lambda x: x * 1.0, lambda ctx, g: g)
    _, pull = ft.vjp(passed.apply, V)
    given = np.ones(3)
    (grad,) = pull(given)
    grad[:] = 5.0  # the result is the caller's
    equal(given, np.ones(3))


def test_forward_does_not_write_to_the_callers_arrays():
    """C24: an input that is changed and not marked raises."""

    def forward(x):
        x *= 2.0
        return x

    op = function(forward, lambda ctx, g: 2.0 * g)
    x = V.copy()
    with pytest.raises(ft.MutationError) as error:
        ft.grad(lambda x: np.sum(op.apply(x)))(x)
    has_all(message(error), "Op: forward has changed an input in place", "ctx.mark_dirty(x)")
    equal(x, V)


# ---- the context ----


def test_needs_input_grad():
    """C17: what the level that is handled differentiates by, also in nested levels."""
    log = []

    def backward(ctx, g):
        log.append(ctx.needs_input_grad)
        x, y, *_ = ctx.saved_tensors
        return g * y, g * x, None

    op = function(lambda x, y, z: x * y, backward)
    ft.grad(lambda x: np.sum(op.apply(x, V, None)))(V)
    ft.grad(lambda y: np.sum(op.apply(V, y, None)))(V)
    ft.grad(lambda x, y: np.sum(op.apply(x, y, 1.0)), (0, 1))(V, V)
    assert log == [(True, False, False), (False, True, False), (True, True, False)]
    log.clear()

    def outer(x):
        inner = ft.grad(lambda y: np.sum(op.apply(x, y, None)))(V)
        return np.sum(inner * inner)

    close(ft.grad(outer)(V), 2 * V)
    assert log == [(False, True, False)]  # the backward was differentiated, not the forward
    log.clear()
    ft.grad(lambda x: np.sum(ft.vmap(lambda y: op.apply(x, y, None))(X)))(V)
    assert log == [(True, False, False)]


def test_requires_grad():
    """C45: whether a value is differentiated, at any level or a given one."""
    seen = []

    def f(x):
        def g(y):
            outer, inner = type(x), type(y)
            for value in (x, y, x + y, x.elem(), 1.0, "text"):
                seen.append([ft.requires_grad(value, c) for c in (None, outer, inner)])
            return np.sum(x * y)

        return np.sum(ft.grad(g)(V))

    ft.grad(f)(V)
    t, n = True, False
    assert seen == [[t, t, n], [t, n, t], [t, t, t], [n, n, n], [n, n, n], [n, n, n]]
    ft.vmap(lambda x: seen.append(ft.requires_grad(x)))
    assert ft.grad(lambda x: ft.vmap(lambda y: seen.append(ft.requires_grad(y)) or y)(x).sum())(
        V
    ).shape == (3,)
    assert seen[-1] is True
    with ft.grad() as G:
        x = G(V)
    with pytest.raises(ft.EscapedTensorError, match=r"grad\(\)"):
        ft.requires_grad(x)  # it is over
    with ft.grad(escape="passthrough") as G:
        x = G(V)
    assert not ft.requires_grad(x)


def test_none_stands_for_no_gradient():
    """C18: for inputs that need none, and for what is no array."""
    op = function(lambda x, y, name: x * y, lambda ctx, g: (None, g * ctx.saved_tensors[0], None),
                  setup_context=save)  # fmt: skip
    first, second = ft.grad(lambda x, y: np.sum(op.apply(x, y, "name")), (0, 1))(V, V)
    equal(first, np.zeros(3))
    equal(second, V)
    wrong = function(
        lambda x, name: x, lambda ctx, g: (g, g), setup_context=lambda ctx, inputs, output: None
    )
    with pytest.raises(TypeError) as error:
        ft.grad(lambda x: np.sum(wrong.apply(x, "name")))(V)
    has_all(message(error), "Op", "a gradient different from None at position 1", "return None")


@pytest.mark.parametrize("returned", [3, 1, 0])
def test_the_number_of_gradients(returned):
    """C19, C37: more are accepted if the rest is None; other numbers are not."""
    ok = function(lambda x, y: x * y, lambda ctx, g: (g * 2.0, g, None, None))
    close(ft.grad(lambda x: np.sum(ok.apply(x, 2.0)))(V), np.full(3, 2.0))
    bad = function(lambda x, y: x * y, lambda ctx, g: (g,) * returned)
    with pytest.raises(RuntimeError) as error:
        ft.grad(lambda x: np.sum(bad.apply(x, 2.0)))(V)
    has_all(message(error), f"an incorrect number of gradients (expected 2, got {returned})")


def test_saved_arrays_come_in_order():
    """C20, C21: inputs, outputs and None; they can be read again until they are freed."""
    log = []

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], None, output)

    def backward(ctx, g):
        x, none, y = ctx.saved_tensors
        assert ctx.saved_tensors[0] is x
        log.append((x, none, y, ctx))
        return g * x

    op = function(lambda x: x * x / 2, backward, setup_context=setup)
    _, pull = ft.vjp(op.apply, V)
    pull(np.ones(3))
    pull(np.ones(3))  # the tape of a vjp is not freed
    assert len(log) == 2
    x, none, y, ctx = log[0]
    equal(x, V)
    equal(y, V * V / 2)
    assert none is None
    with pytest.raises(RuntimeError, match=r"Op: ctx.saved_tensors was read after the backward"):
        ctx.saved_tensors  # noqa: B018


@pytest.mark.parametrize("wrong", ["text", [V], {"x": 1}, len])
@pytest.mark.parametrize("method", ["save_for_backward", "save_for_forward"])
def test_what_is_no_array_is_not_saved(method, wrong):
    """C20: the message says where to put it; also outside of transforms."""
    op = function(
        lambda x: x, setup_context=lambda ctx, inputs, output: getattr(ctx, method)(V, wrong)
    )
    with pytest.raises(TypeError) as error:
        op.apply(V)
    has_all(message(error), f"Op: {method}", "argument 1", type(wrong).__name__, "ctx.name = value")


def test_attributes_of_the_context():
    """C22: anything can be put there."""
    op = function(
        lambda x, c: x * c["factor"],
        lambda ctx, g: (g * ctx.constant["factor"] + (ctx.text == "no"), None),
        setup_context=lambda ctx, inputs, output: vars(ctx).update(constant=inputs[1], text="yes"),
    )
    close(ft.grad(lambda x: np.sum(op.apply(x, {"factor": 3.0})))(V), np.full(3, 3.0))
    f = ft.grad(lambda x: np.sum(op.apply(x, {"factor": 3.0})))
    close(ft.vmap(f)(X), np.full(X.shape, 3.0))


def test_what_is_neither_input_nor_output():
    """C23: saved by save_for_backward it is differentiated in both forms; as attribute it is
    a constant.
    """

    def factor(ctx, inputs, output):
        ctx.save_for_backward(3 * inputs[0] ** 2)

    separate = function(
        lambda x: x**3, lambda ctx, g: g * ctx.saved_tensors[0], setup_context=factor
    )
    for op in (separate, CombinedCube):
        close(ft.grad(ft.grad(op.apply))(2.0), np.float64(12.0))

    def forward(ctx, x):
        ctx.factor = 3 * x**2
        return x**3

    direct = combined(forward, lambda ctx, g: g * ctx.factor)
    close(ft.grad(direct.apply)(2.0), np.float64(12.0))
    equal(ft.grad(ft.grad(direct.apply))(2.0), np.float64(0.0))


# ---- in place ----


class Doubled(ft.Function):
    @staticmethod
    def forward(ctx, x):
        x *= 2.0
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2.0


class DoubledSeparate(ft.Function):
    @staticmethod
    def forward(x, y):
        x *= 2.0
        return y * 1.0, x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g_y, g_x):
        return g_x * 2.0, g_y

    @staticmethod
    def jvp(ctx, t_x, t_y):
        t_x *= 2.0
        return t_y, t_x


def test_an_input_that_is_changed_in_place():
    """C24, C50: the output is the input, with the right gradient; the array is not the
    caller's.
    """
    x = V.copy()
    assert Doubled.apply(x) is x
    equal(x, 2 * V)

    def f(x):
        y = np.sin(x)
        z = Doubled.apply(y)
        assert z is y
        return np.sum(y * y)  # 4 sin(x)**2

    x = V.copy()
    close(ft.grad(f)(x), 8 * np.sin(V) * np.cos(V))
    equal(x, V)

    def g(x):
        y = x * 1.0
        _, z = DoubledSeparate.apply(y, x)
        assert z is y
        return y * y

    close(ft.grad(lambda x: np.sum(g(x)))(x), 8 * V)
    close(ft.jvp(g, (x,), (np.ones(3),))[1], 8 * V)
    close(ft.hessian(lambda x: np.sum(g(x)))(x), np.diag(np.full(3, 8.0)))
    equal(x, V)


def test_what_is_wrong_with_marks():
    """C24, C50: dirty inputs are inputs, are returned, and can hold their new value."""

    def dirty(mark, out):
        def setup(ctx, inputs, output):
            ctx.mark_dirty(mark(inputs))

        return function(out, lambda ctx, g: g, setup_context=setup).apply

    with pytest.raises(
        ValueError, match="mark_dirty was called with an object that is not an input"
    ):
        dirty(lambda inputs: V, lambda x: x)(V.copy())
    with pytest.raises(ft.MutationError, match="must all be outputs"):
        dirty(lambda inputs: inputs[0], lambda x: x * 1.0)(V.copy())
    with pytest.raises(ft.LevelError, match="argument 0, of type ndarray, was marked dirty, but"):
        ft.grad(lambda y: np.sum(DoubledSeparate.apply(V.copy(), y)[1]))(V)
    with pytest.raises(ft.MutationError, match="does not have vmap support: it changes an input"):
        ft.vmap(Doubled.apply)(X)


def test_returning_an_input_as_it_is():
    """C55: while saving it; a view is right, and so is forward(ctx, x)."""
    op = function(lambda x: x, lambda ctx, g: g * 1.0)
    for call in (op.apply, ft.grad(lambda x: np.sum(op.apply(x)))):
        raises(ValueError, lambda: call(V), "An input that has been returned as-is is being saved")
    view = function(lambda x: x[...], lambda ctx, g: g * ctx.saved_tensors[0])
    close(ft.grad(lambda x: np.sum(view.apply(x)))(V), V)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    close(
        ft.grad(lambda x: np.sum(combined(forward, lambda ctx, g: 3 * g).apply(x)))(V),
        np.full(3, 3.0),
    )


def test_save_for_forward():
    """C55: jvp gets what was saved for it, backward what was saved for that."""
    close(ft.jvp(ByJvp.apply, (V,), (np.ones(3),))[1], 3 * V**2)
    close(ft.jvp(BothModes.apply, (V,), (np.ones(3),))[1], 3 * V**2)
    close(ft.grad(lambda x: np.sum(BothModes.apply(x)))(V), 3 * V**2)
    only = function(lambda x: x**2, jvp=lambda ctx, t: 2 * t * ctx.saved_tensors[0])
    close(ft.jvp(only.apply, (V,), (np.ones(3),))[1], 2 * V)  # saved for backward


# ---- what is not differentiable ----


def with_index(mark):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        if mark:
            ctx.mark_non_differentiable(output[1])

    return function(
        lambda x: (np.sort(x), np.argsort(x) * 1.0),
        lambda ctx, g, g_order: g[np.argsort(np.argsort(ctx.saved_tensors[0]))],
        setup_context=setup,
        jvp=lambda ctx, t: (t[np.argsort(ctx.saved_tensors[0])], np.ones(3)),
    )


def test_mark_non_differentiable():
    """C25: the output is a constant in both modes, also in nested levels and batches."""
    op, unmarked = with_index(True), with_index(False)

    def f(x):
        y, order = op.apply(x)
        assert not ft.requires_grad(order) and ft.requires_grad(y)
        return np.sum(y * order)

    expected = np.arange(3.0)
    close(ft.grad(f)(V), expected)
    close(ft.hessian(lambda x: f(x) ** 2)(V), 2 * np.outer(expected, expected))
    close(ft.jvp(f, (V,), (np.ones(3),))[1], np.float64(3.0))
    with ft.grad() as G:
        assert type(unmarked.apply(G(V))[1]) is G
    with pytest.raises(ValueError, match="mark_non_differentiable was called with an object that"):
        function(
            lambda x: x, setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(V)
        ).apply(V * 2)


def test_integers_never_have_a_gradient():
    """C26: marked or not; what is returned for an integer argument is let go."""
    power = function(lambda x, n: x * n, lambda ctx, g: (g * ctx.saved_tensors[1], g))
    close(ft.grad(lambda x: np.sum(power.apply(x, np.arange(3))))(V), np.arange(3.0))
    op = function(lambda x: (x * 2.0, np.arange(3), x > 0), lambda ctx, g, g_int, g_bool: 2.0 * g)

    def f(x):
        y, n, b = op.apply(x)
        assert type(n) is np.ndarray and type(b) is np.ndarray
        return np.sum(y * n * b)

    close(ft.grad(f)(V), 2.0 * np.arange(3) * (V > 0))
    close(ft.jvp(f, (V,), (np.ones(3),))[1], np.sum(2.0 * np.arange(3) * (V > 0)))


@pytest.mark.parametrize("materialize", [True, False])
def test_gradients_of_unused_outputs(materialize):
    """C27, C28, C40, F07: zeros of the output's form by default, else None; nested, too."""
    seen = []

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(materialize)

    def backward(ctx, g, g_other):
        seen.append(g_other)
        return None if g is None else 2 * g * ctx.saved_tensors[0]

    op = function(lambda x: (x * x, np.ones((2, 2), np.float32)), backward, setup_context=setup)
    close(ft.grad(lambda x: np.sum(op.apply(x)[0]))(V), 2 * V)
    first = ft.grad(lambda x: np.sum(op.apply(x)[0]))
    close(ft.grad(lambda x: np.sum(first(x) * V))(V), 2 * V)
    assert len(seen) >= 2
    for g in seen:
        if materialize:
            equal(g, np.zeros((2, 2), np.float32))
        else:
            assert g is None
    equal(ft.grad(lambda x: np.sum(op.apply(x)[1]) * np.sum(x))(V), np.full(3, 4.0))


def test_tangents_of_constant_arguments():
    """C52, F07: zeros by default, None with set_materialize_grads(False), None for no arrays."""
    seen = []

    def op(materialize):
        def setup(ctx, inputs, output):
            ctx.set_materialize_grads(materialize)
            ctx.save_for_forward(*inputs[:2])

        def jvp(ctx, *tangents):
            seen.append(tangents)
            return tangents[0] * ctx.saved_tensors[1]

        return function(lambda x, y, name: x * y, jvp=jvp, setup_context=setup).apply

    for materialize in (True, False):
        f = op(materialize)
        close(ft.jvp(lambda x, f=f: f(x, V, "name"), (V,), (V,))[1], V * V)
    equal(seen[0][1], np.zeros(3))
    assert seen[1][1] is None and seen[0][2] is seen[1][2] is None


# ---- once and twice ----


class Once(ft.Function):
    @staticmethod
    def forward(x):
        return math.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @ft.once_differentiable
    def backward(ctx, grad):
        assert not isinstance(grad, ft.Tensor)
        return grad * math.cos(*ctx.saved_tensors)


def test_once_differentiable():
    """C29: the first derivative works in any nesting, a second one raises."""
    close(ft.grad(Once.apply)(0.5), np.cos(0.5))
    close(
        ft.grad(lambda x: 2.0 * ft.stop_gradient(ft.grad(Once.apply)(x)) * x)(0.5), 2 * np.cos(0.5)
    )
    for second in (
        ft.grad(ft.grad(Once.apply)),
        lambda x: ft.jvp(ft.grad(Once.apply), (x,), (1.0,)),
        ft.hessian(Once.apply),
    ):
        with pytest.raises(RuntimeError) as error:
            second(0.5)
        has_all(message(error), "twice", "Once", "marked with @once_differentiable")


def test_attributes_and_once_differentiable():
    """C22, C29, C44: tensors of a batch among them, below and above the derivative."""
    f = ft.grad(lambda x: np.sum(AttributeCube.apply(x)))
    close(ft.vmap(f)(X), 3 * X**2)
    close(ft.vmap(ft.vmap(f, 1, 1))(np.stack([X, X])), np.stack([3 * X**2] * 2))

    def constant(x):
        return np.sum(x * ft.stop_gradient(ft.vmap(f)(x)))

    close(ft.grad(constant)(X), 3 * X**2)
    for second in (lambda x: np.sum(x * ft.vmap(f)(x)), lambda x: np.sum(f(x))):
        with pytest.raises(RuntimeError, match="twice"):  # and not the half of the derivative
            ft.grad(second)(X)

    def scaled(x):  # the gradient that comes in is differentiated, in a batch
        return ft.grad(lambda y: np.sum(AttributeCube.apply(y) * x))(np.ones(3))

    raises(RuntimeError, lambda: ft.grad(lambda x: np.sum(ft.vmap(scaled)(x)))(X), "twice")


def test_differentiable_backward():
    """C30, C43: second derivatives, where backward is NumPy code or uses another Function."""
    close(ft.hessian(lambda x: np.sum(my_cube(x)))(V), np.diag(6 * V))
    for order, expected in ((1, 12.0), (2, 12.0), (3, 6.0), (4, 0.0)):
        f = CompiledCube.apply
        for _ in range(order):
            f = ft.grad(f)
        close(f(2.0), np.float64(expected))


def test_saved_arrays_and_attributes_in_second_derivatives():
    """C44: gradients flow through what is saved, and not through attributes."""

    def setup(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x)
        ctx.y = y

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x * ctx.y, g * x * x

    op = function(lambda x, y: x * x * y, backward, setup_context=setup)
    first = ft.grad(op.apply)
    close(ft.grad(first)(3.0, 5.0), np.float64(10.0))  # by x, which was saved
    close(ft.grad(first, 1)(3.0, 5.0), np.float64(0.0))  # by y, which was not
    close(ft.vmap(first)(V, V), 2 * V * V)  # a batch goes with attributes, too


# ---- forward mode ----


def test_jvp():
    """C46, C47, C48, C51: right after forward; all outputs; what is on ctx can be freed."""
    log = []

    def forward(x, y):
        log.append("forward")
        return x * y, x + y

    def setup(ctx, inputs, output):
        log.append("setup")
        ctx.factors = inputs

    def jvp(ctx, t_x, t_y):
        log.append("jvp")
        x, y = ctx.factors
        del ctx.factors
        assert not hasattr(ctx, "factors")
        return t_x * y + x * t_y, t_x + t_y

    op = function(forward, jvp=jvp, setup_context=setup)

    def f(x):
        out = op.apply(x, 2.0)
        log.append("return")
        return out

    out, moved = ft.jvp(f, (V,), (np.ones(3),))
    assert log == ["forward", "setup", "jvp", "return"]
    close(out[0], 2 * V)
    close(moved[0], np.full(3, 2.0))
    close(moved[1], np.ones(3))


def test_jvp_is_differentiated():
    """C49: grad of jvp, jvp of jvp, and reverse mode by the transpose."""
    mixed = ft.grad(lambda x: ft.jvp(ByJvp.apply, (x,), (2.0,))[1])(3.0)
    close(mixed, np.float64(36.0))
    close(
        ft.jvp(lambda x: ft.jvp(ByJvp.apply, (x,), (1.0,))[1], (3.0,), (1.0,))[1], np.float64(18.0)
    )
    close(ft.grad(ft.grad(ByJvp.apply))(3.0), np.float64(18.0))


ERRORS = [
    (lambda ctx, t: (t, t), RuntimeError, "number of tangents (expected 1, got 2)"),
    (lambda ctx, t: t[:2], ValueError, "invalid tangent for output 0 | (2,) | (3,)"),
    (lambda ctx, t: "t", ValueError, "invalid tangent for output 0 | type str"),
]


@pytest.mark.parametrize(("jvp", "kind", "parts"), ERRORS)
def test_what_is_wrong_with_a_jvp(jvp, kind, parts):
    """C46, C50: number and form of the tangents are those of the outputs."""
    with pytest.raises(kind) as error:
        ft.jvp(function(lambda x: x * 1.0, jvp=jvp).apply, (V,), (V,))
    has_all(message(error), "Op: jvp returned", parts)


def test_tangents_are_not_written_to():
    """C50: where forward changes nothing in place, jvp does not either."""

    def jvp(ctx, t):
        t *= 2
        return t

    with pytest.raises(ft.MutationError, match="Op: jvp has written to a tangent"):
        ft.jvp(function(lambda x: x * 2.0, jvp=jvp).apply, (V,), (V,))


# ---- missing and wrong rules ----


def test_missing_rules():
    """C53: the words say what to implement."""

    def forward(x):
        return np.array(x, float) * 2.0

    op = function(forward)
    with pytest.raises(ft.NoRuleError, match=r"Op has no derivative.* must implement either the "
                       "backward or vjp method"):  # fmt: skip
        ft.grad(lambda x: np.sum(op.apply(x)))(V)
    raises(ft.NoRuleError, lambda: ft.jvp(op.apply, (V,), (V,)), "must implement the jvp function")
    compiled = function(forward, lambda ctx, g: np.array(g) * 2.0)
    close(ft.grad(lambda x: np.sum(compiled.apply(x)))(V), np.full(3, 2.0))
    with pytest.raises(ft.NoRuleError, match=r"cannot be transposed.*must implement the jvp"):
        ft.jvp(compiled.apply, (V,), (V,))
    once = function(forward, ft.once_differentiable(lambda ctx, g: np.array(g)))
    with pytest.raises(RuntimeError, match="forward mode needs no derivative of it where there is"):
        ft.jvp(once.apply, (V,), (V,))
    with pytest.raises(ft.NoRuleError, match="Op does not have vmap support: forward was run on"):
        ft.vmap(op.apply)(X)
    closed = function(lambda x: x * 2.0, generate_vmap_rule=False)
    with pytest.raises(ft.NoRuleError, match="Op does not have vmap support: generate_vmap_rule"):
        ft.vmap(closed.apply)(X)
    out = ft.grad(lambda x: np.sum(x * ft.stop_gradient(op.apply(x))))(V)  # nobody asks for it
    close(out, 2 * V)


FORM_ERRORS = [
    (lambda g: g[:2], ValueError, "position 0 | shape (2,) | shape (3,)"),
    (lambda g: "g", ValueError, "position 0 | a str | shape (3,)"),
]


@pytest.mark.parametrize(("gradient", "kind", "parts"), FORM_ERRORS)
def test_gradients_of_another_form(gradient, kind, parts):
    """C06: the form of a gradient is that of its input."""
    with pytest.raises(kind) as error:
        ft.grad(lambda x: np.sum(function(lambda x: x * 1.0, lambda ctx, g: gradient(g)).apply(x)))(
            V
        )
    has_all(message(error), "Op: backward returned an invalid gradient", parts)


def test_gradients_are_fitted_to_their_input():
    """C06: what broadcasting has added is summed, and the dtype is the input's."""
    op = function(
        lambda x, y: x * y, lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0])
    )
    x, y = np.float32([[1.0], [2.0]]), V
    first, second = ft.grad(lambda x, y: np.sum(op.apply(x, y)), (0, 1))(x, y)
    close(first, np.full((2, 1), V.sum(), np.float32), 1e-6)
    close(second, np.full(3, 3.0))


# ---- batches ----


def test_vmap_staticmethod():
    """C54: it gets the batch size, the randomness, the axes and the batched arguments."""
    seen = []

    def rule(info, in_dims, x, y, name):
        seen.append((info.batch_size, info.randomness, in_dims, x.shape, y.shape, name))
        return op.apply(x, y[None], name), 0

    op = function(lambda x, y, name: x * y, vmap=rule)
    mapped = ft.vmap(lambda x: op.apply(x, V, "name"), 1, randomness="same")
    close(mapped(X.T), X * V)
    assert seen == [(4, "same", (0, None, None), (4, 3), (3,), "name")]


def test_vmap_of_several_outputs():
    """C54: out_dims for each, or one for all; None for what is no batch."""
    for dims, out in (((1, None), lambda x: (x.T, V)), (0, lambda x: (x, x + 1))):
        op = function(
            lambda x: (x, V), vmap=lambda info, in_dims, x, dims=dims, out=out: (out(x), dims)
        )
        y, z = ft.vmap(op.apply, out_dims=(0, 0 if dims == 0 else None))(X)
        equal(y, X)
        equal(z, X + 1 if dims == 0 else V)


def test_both_kinds_of_batching_rule():
    """C54: are refused when the class is made."""
    with pytest.raises(TypeError) as error:
        function(lambda x: x, vmap=lambda *args: None, generate_vmap_rule=True)
    has_all(message(error), "Op", "both a vmap static method and generate_vmap_rule=True")


@pytest.mark.parametrize(
    ("rule", "kind", "text"),
    [
        (lambda info, dims, x: x, RuntimeError, "is expected to have two returns"),
        (lambda info, dims, x: (x, 0, 0), RuntimeError, "is expected to have two returns"),
        (lambda info, dims, x: (x, (0, 0)), RuntimeError, "returned an incompatible"),
        (lambda info, dims, x: ((x, x), (0,)), RuntimeError, "returned an incompatible"),
        (lambda info, dims, x: (x, 2), RuntimeError, "returned an incompatible"),
        (lambda info, dims, x: (x, "0"), RuntimeError, "returned an incompatible"),
        (lambda info, dims, x: (x, 1), ValueError, "the batch is of size 4"),
    ],
)
def test_what_is_wrong_with_a_vmap(rule, kind, text):
    """C54: arity, axes and sizes."""
    with pytest.raises(kind) as error:
        ft.vmap(function(lambda x: x, vmap=rule).apply)(X)
    has_all(message(error), "Op: the vmap rule", text)


def test_keyword_only_arguments():
    """C54: have no place in the rules."""
    op = function(lambda x, *, y: x * y)
    with pytest.raises(NotImplementedError, match=r"kwarg-only Tensor args .* declare y before"):
        ft.vmap(lambda x: op.apply(x, y=x))(X)


@pytest.mark.parametrize("generate", [True, None])
def test_generated_batching_rules(generate):
    """C54: forward, setup_context, backward and jvp run on the batch."""
    op = type("Op", (BothModes,), {"generate_vmap_rule": generate})
    close(ft.vmap(op.apply)(X), X**3)
    close(ft.vmap(ft.grad(lambda x: np.sum(op.apply(x))))(X), 3 * X**2)
    close(ft.grad(lambda x: np.sum(ft.vmap(op.apply)(x)))(X), 3 * X**2)
    close(ft.jvp(ft.vmap(op.apply), (X,), (X,))[1], 3 * X**3)
    close(ft.vmap(lambda x: ft.jvp(op.apply, (x,), (x,))[1])(X), 3 * X**3)


# ---- the documents' examples ----


@pytest.mark.parametrize("op", [LinearFunction.apply, CombinedLinear.apply, linear])
@pytest.mark.parametrize("bias", [B, None])
def test_linear(op, bias):
    """C35, C36, C37, C38, C59: both forms, as an alias and in a wrapper, with None for bias."""
    g = rng.normal(size=(4, 5))
    wanted = (0, 1) if bias is None else (0, 1, 2)

    def loss(x, w, b):
        return np.sum(g * op(x, w, b))

    equal(op(X, W, bias), X @ W.T if bias is None else X @ W.T + B)
    grads = ft.grad(loss, wanted)(X, W, bias)
    for found, expected in zip(grads, (g @ W, g.T @ X, g.sum(0))):
        close(found, expected)
    batch = np.stack([X, 2 * X])
    close(ft.vmap(lambda x: ft.grad(loss, 1)(x, W, bias))(batch), np.stack([g.T @ X, 2 * g.T @ X]))


def test_defaults_and_keywords():
    """C38, C56: by the wrapper, by forward's own defaults, and by name."""
    equal(linear(X, W), linear(X, bias=None, weight=W))
    equal(linear(X, W, bias=B), CombinedLinear.apply(X, W, bias=B))
    equal(CombinedLinear.apply(X, W), X @ W.T)
    close(
        ft.grad(lambda w: np.sum(CombinedLinear.apply(X, w)))(W), np.broadcast_to(X.sum(0), W.shape)
    )
    close(ft.grad(lambda w: np.sum(LinearFunction.apply(X, bias=None, weight=w)))(W),
          np.broadcast_to(X.sum(0), W.shape))  # fmt: skip


class OldMulConstant(ft.Function):
    """The form of the older note: two methods."""

    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


@pytest.mark.parametrize("op", [MulConstant, MulConstantNone, OldMulConstant])
def test_mul_constant(op):
    """C39, C40, C59: the gradient is (g * c, None), in each form."""
    _, pull = ft.vjp(lambda x: op.apply(x, 3.0), V)
    close(pull(V)[0], 3 * V)
    close(ft.jvp(lambda x: op.apply(x, 3.0), (V,), (V,))[1], 3 * V)
    close(ft.vmap(ft.grad(lambda x: np.sum(op.apply(x, 3.0) ** 2)))(X), 18 * X)
    assert ft.hessian(lambda x: np.sum(op.apply(x, 3.0)))(V).shape == (3, 3)


def test_mul_constant_gets_none():
    """C40: where nothing comes back, nothing is computed."""
    assert MulConstantNone.backward(None, None) == (None, None)
    seen = []

    class Two(MulConstantNone):
        @staticmethod
        def forward(x, c):
            return x * c, x + c

        @staticmethod
        def backward(ctx, g, g_other):
            seen.append((g is None, g_other is None))
            return (None if g is None else g * ctx.constant), None

    close(ft.grad(lambda x: np.sum(Two.apply(x, 3.0)[1]) + np.sum(x))(V), np.ones(3))
    assert seen == [(True, False)]


def test_intermediates_are_outputs_or_forward_is_combined():
    """C41, C42: the three first derivatives of a cube."""
    for f in (my_cube, CombinedCube.apply):
        for order, expected in enumerate((8.0, 12.0, 12.0, 6.0)):
            g = f
            for _ in range(order):
                g = ft.grad(g)
            close(g(2.0), np.float64(expected)) if order else equal(g(2.0), 8.0)
    close(ft.grad(lambda x: MyCube.apply(x)[1])(2.0), np.float64(12.0))  # of dx itself
    assert "(inputs, output)" not in str(MyCube.forward.__code__.co_varnames)


# ---- gradcheck ----


def test_gradcheck_of_the_documents():
    """C31: the call of the documents."""
    x, w = rng.normal(size=(20, 20)), rng.normal(size=(30, 20))
    assert gradcheck(linear, (x, w), eps=1e-6, atol=1e-4) is True


def test_gradcheck_finds_a_wrong_backward():
    """C32: with both Jacobians."""
    op = function(lambda x: x**2, lambda ctx, g: 2.02 * g * ctx.saved_tensors[0])
    with pytest.raises(ft.GradcheckError) as error:
        gradcheck(op.apply, V)
    has_all(message(error), "inputs[0]", "numerical", "analytical")
    assert gradcheck(op.apply, V, raise_exception=False) is False


@pytest.mark.parametrize("op", CUBES)
@pytest.mark.parametrize("x", [V, np.repeat(V, 2)[::2], 1.5])
def test_gradcheck_options(op, x):
    """C33: gaps in memory, undefined gradients, batches, forward mode."""
    assert gradcheck(
        CUBES[op], (x,), check_undefined_grad=True, check_batched_grad=True,
        check_batched_forward_grad=True, check_forward_ad=True,
    )  # fmt: skip


def test_complex_gradients():
    """C33: backward conjugates, as in PyTorch; a jvp is complex-linear, and its transpose right."""
    z = V + 1j * V[::-1]
    conjugated = function(lambda x: x**3, lambda ctx, g: g * np.conj(3 * ctx.saved_tensors[0] ** 2))
    plain = ft.grad(lambda z: np.real(np.sum(z**3)))(z)
    for op in (conjugated, ByJvp):
        assert gradcheck(op.apply, z)
        close(ft.grad(lambda z, op=op: np.real(np.sum(op.apply(z))))(z), plain)
    with pytest.raises(ft.GradcheckError):
        gradcheck(my_cube, z)  # the documents' rule is one for real numbers


@pytest.mark.parametrize("op", CUBES)
def test_gradgradcheck(op):
    """C34: passes for the documents' cube in every form."""
    assert gradgradcheck(CUBES[op], V, check_batched_grad=True)


def test_gradgradcheck_finds_a_wrong_second_order():
    """C34: where the contribution of dx was forgotten."""
    wrong = lambda x: WrongCube.apply(x)[0]  # noqa: E731
    assert gradcheck(wrong, V)
    raises(ft.GradcheckError, lambda: gradgradcheck(wrong, V))


# ---- nestings ----


def weighted(y):
    return np.sum(y * np.linspace(0.5, 1.5, math.prod(y.shape)).reshape(y.shape))


STEPS = {
    "grad": lambda f: ft.grad(lambda x: weighted(f(x))),
    "jvp": lambda f: lambda x: ft.jvp(f, (x,), (0.3 * x + 1.0,))[1],
    "vjp": lambda f: lambda x: ft.vjp(f, x)[1](np.cos(ft.stop_gradient(f(x))))[0],
    "jacrev": lambda f: lambda x: np.sum(ft.jacrev(f)(x), axis=0),
    "jacfwd": lambda f: lambda x: np.sum(ft.jacfwd(f)(x), axis=-1),
    "checkpoint": ft.checkpoint,
    "linearize": lambda f: lambda x: ft.linearize(f, x)[1](x),
    "vmap": ft.vmap,
    "vmap of the last": lambda f: ft.vmap(f, -1, -1),
}


def nested(steps, f):
    x = V
    for i, step in enumerate(steps):
        if step.startswith("vmap"):
            axis = 0 if step == "vmap" else -1
            x = np.stack([x * (1 + 0.2 * j) for j in range(2 + i % 2)], axis)
        f = STEPS[step](f)
    return f(x)


@pytest.mark.parametrize("kind", CUBES)
@pytest.mark.parametrize("step", STEPS)
def test_each_transform(kind, step):
    """C41: as of the function without rules."""
    close(nested([step], CUBES[kind]), nested([step], lambda x: x**3), 1e-10)


@pytest.mark.parametrize("kind", CUBES)
@given(st.lists(st.sampled_from(list(STEPS)), min_size=2, max_size=4))
def test_nestings(kind, steps):
    """C41, C43, C54: in every nesting as of the function without rules."""
    close(nested(steps, CUBES[kind]), nested(steps, lambda x: x**3), 1e-9)


def test_a_wrong_rule_is_seen_in_nestings():
    """The planted fault of WrongCube shows where a second derivative is taken."""
    wrong = lambda x: WrongCube.apply(x)[0]  # noqa: E731
    for steps in (["grad", "grad"], ["vmap", "grad", "jvp"], ["jacrev", "vmap", "jacfwd"]):
        with pytest.raises(AssertionError):
            close(nested(steps, wrong), nested(steps, lambda x: x**3), 1e-9)


def test_a_function_of_a_function():
    """C43: backward may call the Function itself, under every level."""

    class Exp(ft.Function):
        @staticmethod
        def forward(x):
            return math.exp(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * Exp.apply(*ctx.saved_tensors)

        @staticmethod
        def vmap(info, in_dims, x):
            return np.stack([Exp.apply(x[i]) for i in range(info.batch_size)]), 0

    f = Exp.apply
    for _ in range(4):
        f = ft.grad(f)
        close(f(0.5), np.exp(0.5))
    close(ft.vmap(ft.grad(Exp.apply))(V), np.exp(V))
    assert Square.apply(3.0) == 9.0
