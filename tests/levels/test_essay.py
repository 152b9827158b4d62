"""The essay on levels as dynamically allocated classes: what it says, one test a claim;
the appendices on `no_dispatch` and the `types` of a hook.
"""

import contextvars

import numpy as np
import pytest

import functier as ft
from support.basics import LEVEL_ERRORS, equal, has_all, in_thread, message, raises, recorder

XS = np.arange(20.0).reshape(10, 2)
YS = 100 * np.arange(30.0).reshape(15, 2)
SUMS = XS[:, None] + YS[None]


# ---- the example: outer and inner addition ----


def test_the_addition_of_the_essay():
    """B10, B41: the function comes first, `vmap(f)(xs)`"""
    out = ft.vmap(lambda x: ft.vmap(lambda y: x + y)(YS))(XS)
    equal(out, SUMS)


def test_the_addition_is_one_numpy_addition():
    """B11: of both batches at once, whose axes broadcast."""
    Recorder = recorder()
    ft.vmap(lambda x: ft.vmap(lambda y: x + y)(YS))(Recorder(XS))
    additions = [shapes for func, shapes in Recorder.operations if func is np.add]
    assert additions == [((10, 1, 2), (1, 15, 2))]


def test_shapes_inside_are_logical():
    """B12: inside both levels shape, ndim, len and size are those of one example."""
    seen = []

    def inner(x, y):
        for t in (x, y, x + y):
            seen.append((t.shape, t.ndim, len(t), t.size))
        return x + y

    ft.vmap(lambda x: ft.vmap(lambda y: inner(x, y))(YS))(XS)
    assert seen == [((2,), 1, 2, 2)] * 3


def test_the_first_dimension_belongs_to_the_outer_level_also_with_equal_sizes():
    """B09: the order of the levels matters"""
    xs, ys = XS[:3], YS[:3]
    out = ft.vmap(lambda x: ft.vmap(lambda y: x - 2 * y)(ys))(xs)
    equal(out, np.stack([[x - 2 * y for y in ys] for x in xs]))
    flipped = ft.vmap(lambda y: ft.vmap(lambda x: x - 2 * y)(xs))(ys)
    equal(flipped, np.swapaxes(out, 0, 1))


# ---- classes ----


def test_every_call_mints_a_fresh_class():
    """B01: two calls of one transformed function have classes that are unrelated."""
    seen = []
    f = ft.vmap(lambda x: seen.append(type(x)) or x)
    f(XS)
    f(XS)
    first, second = seen
    assert first is not second
    assert not issubclass(first, second) and not issubclass(second, first)


def test_the_class_inherits_from_the_enclosing_level():
    """B02, B16, B21: each class has one base, and depth counts them."""
    seen = []

    def note_classes(x, y, z):
        seen.extend([type(x), type(y), type(z)])
        assert [ft.depth_of(t) for t in (x, y, z, 1.0, XS)] == [1, 2, 3, 0, 0]
        return z

    ft.vmap(lambda x: ft.vmap(lambda y: ft.vmap(lambda z: note_classes(x, y, z))(XS))(XS))(XS)
    x, y, z = seen
    assert x.__bases__ == (ft.Tensor,) and y.__bases__ == (x,) and z.__bases__ == (y,)
    assert z.__mro__ == (z, y, x, ft.Tensor, object)


@pytest.mark.parametrize("outer", ["vmap", "grad", "jvp"])
@pytest.mark.parametrize("inner", ["vmap", "grad", "jvp"])
def test_levels_of_all_transforms_are_in_one_chain(outer, inner):
    """B02: for an enclosing level of any transform."""
    enter = {"vmap": ft.vmap, "grad": ft.grad, "jvp": ft.jvp}
    with enter[outer]() as A, enter[inner]() as B:
        assert A.__bases__ == (ft.Tensor,) and B.__bases__ == (A,)


def test_level_classes_are_empty():
    """B16: they have their level and what all of their kind share."""
    with ft.vmap() as B, ft.grad() as G, ft.jvp() as J:
        for cls in (B, G, J):
            names = set(vars(cls)) - {"__module__", "__doc__", "__static_attributes__"}
            shared = cls.level.kind.methods  # the same functions for every class of a kind
            assert all(vars(cls)[name] is function for name, function in shared.items())
            names -= set(shared)
            assert names - {"__firstlineno__"} == {"__slots__", "level"}
            assert vars(cls)["__slots__"] == ()
            assert not hasattr(J(XS, XS) if cls is J else cls(XS), "__dict__")


def test_class_names_tell_transform_and_function_and_need_not_be_unique():
    """B40: names are for people, and nothing looks classes up by them."""
    seen = []

    def model(x):
        seen.append(type(x))
        return x.sum()

    ft.vmap(model)(XS)
    ft.grad(model)(XS[0])
    ft.jvp(model, (XS[0],), (XS[0],))
    ft.grad(ft.grad(lambda x: x**3))(1.0)
    assert [cls.__name__ for cls in seen] == ["vmap(model)", "grad(model)", "jvp(model)"]


# ---- dispatch among levels ----


def test_the_inner_level_runs_first_and_redispatches_outward():
    """B17, B19, B08: the rule of a level runs on values one level out, which dispatch again."""
    Recorder = recorder()
    log, classes = [], []

    def note(cls, method, name):
        call = getattr(cls, method)
        setattr(cls, method, lambda *args: log.append(name) or call(*args))
        classes.append(cls)  # what was done to it must not serve another level

    def outer(x):
        def inner(y):
            note(type(y), "__mul__", "inner")
            note(type(x), "__rmul__", "outer")
            out = y * x
            assert type(out) is type(y) and type(out.elem()) is type(x)
            assert type(out.elem().elem()) is Recorder
            return out

        return ft.vjp(inner, 2.0)[0]

    out = ft.vmap(outer)(Recorder(np.ones(3)))
    assert log == ["inner", "outer"]
    assert [op for op in Recorder.operations if op[0] is np.multiply] == [(np.multiply, ((3,),))]
    equal(out.elem(), np.full(3, 2.0))


def test_an_inner_level_without_operands_is_not_entered():
    """B20: an operation on outer tensors alone does not call the inner level."""
    calls = []

    def outer(x):
        def inner(y):
            level = type(y).level
            for name in ("unary", "binary", "function", "apply"):
                setattr(level, name, lambda *a, **k: calls.append(a))
            double = np.sin(x) * 2
            assert type(double) is type(x)
            del level.unary, level.binary, level.function, level.apply
            return y + double

        return ft.vmap(inner)(YS)

    equal(ft.vmap(outer)(XS), YS[None] + 2 * np.sin(XS)[:, None])
    assert calls == []


def test_dispatch_does_not_read_ambient_state():
    """B24: the classes of the arguments decide, also in a context that knows no level"""

    def inner(x, y):
        return contextvars.Context().run(lambda: x + y)

    equal(ft.vmap(lambda x: ft.vmap(lambda y: inner(x, y))(YS))(XS), SUMS)


def test_unwrapping_goes_one_level_out():
    """B08, B37: elem and unwrap give the value of the next level, and the array at the end."""

    def inner(x, y):
        assert type(y.elem()) is type(x)
        assert type(x.elem()) is np.ndarray
        equal(x.elem(), XS)
        equal(ft.unwrap(ft.unwrap(y + x)), SUMS)
        assert ft.unwrap(3) == 3
        return y

    with ft.vmap() as B0, ft.vmap() as B1:
        inner(B0(XS), B1(YS) + 0 * B0(XS))


# ---- non-lexical levels: the escape program ----


def escape_program(ys, xs=XS):
    box = [None]

    def write(x):
        box[0] = x
        return x

    def read(y):
        return box[0] + y

    equal(ft.vmap(write)(xs), xs)
    return ft.vmap(read)(ys)


def test_the_escape_program_raises():
    """B13, B22, B25: a tensor that was kept and used later names its level and the line."""
    with pytest.raises(ft.EscapedTensorError) as error:
        escape_program(np.ones((20, 10, 2)))
    has_all(message(error), "vmap(write)", "Tensor <- vmap(write)", "test_essay.py:", "x.elem()")


def test_the_escape_program_raises_with_equal_batch_sizes():
    """B14: what integer levels get silently wrong"""
    raises(ft.EscapedTensorError, lambda: escape_program(np.ones((10, 2))), "vmap(write)")


def test_siblings_under_one_level_do_not_mix():
    """B22: a tensor of the first call raises in the second, under one outer level."""

    def outer(x):
        box = []
        ft.vmap(lambda y: box.append(y) or y)(YS)
        return ft.vmap(lambda y: y + box[0])(YS)

    raises(ft.EscapedTensorError, lambda: ft.vmap(outer)(XS))


def test_a_dead_level_is_known_while_another_of_the_same_depth_is_live():
    """B25: depth alone would take one for the other."""
    with ft.vmap() as A:
        a = A(XS)
    with ft.vmap() as B:
        b = B(XS)
        assert ft.depth_of(b) == 1
        for use in (lambda: a + b, lambda: b + a, lambda: np.add(b, a), lambda: b.sum() * a):
            raises(ft.EscapedTensorError, use)


# ---- the appendix on escape ----


def test_ending_a_level_ends_all_its_tensors_at_once_and_keeps_their_class():
    """B36, B39: wherever they are kept."""
    with ft.vmap() as B:
        kept = {"a": B(XS), "b": [B(XS), (B(XS),)]}
    for x in (kept["a"], kept["b"][0], kept["b"][1][0]):
        assert type(x) is B
        raises(ft.EscapedTensorError, lambda: x + 1)


# ---- constants created inside a level ----


def test_arrays_that_are_created_inside_interact_without_surprises():
    """B28, B29: a constant has no level, whichever level was ambient when it was made"""

    def inner(x, c0):
        c1 = np.full(2, 3.0)
        return ft.grad(lambda y: np.sum(c0 * y * y * x + c1 * y + np.zeros(2)))(np.ones(2)).sum()

    def outer(x):
        return inner(x, np.array([1.0, 2.0]))

    # d/dx sum(2 c0 y x + c1) = sum(2 c0)
    equal(ft.grad(outer)(5.0), np.float64(6.0))
    equal(ft.vmap(outer)(np.array([0.0, 1.0])), np.array([6.0, 12.0]))


def test_the_errors_of_levels_are_a_kind_that_no_protocol_swallows():
    """B13: the message comes out, and not what NumPy makes of a TypeError"""
    for error in LEVEL_ERRORS:
        assert issubclass(error, ft.LevelError) and not issubclass(error, (TypeError, ValueError))


# ---- no_dispatch and the `types` of a hook: the appendices of the essay ----


# ---- the appendix on no_dispatch ----


def test_no_dispatch_of_a_users_class():
    """B30: its hooks are not called, those of another class are."""
    Quiet, Loud = recorder(), recorder()
    q, loud = Quiet([1.0, 2.0]), Loud([3.0, 4.0])
    with ft.no_dispatch(Quiet):
        equal(np.add(q, 1.0), np.array([2.0, 3.0]))
        equal(q + 1.0, np.array([2.0, 3.0]))
        equal(q.sum(), np.float64(3.0))
        out = loud + q
        assert type(out) is Loud
    assert Quiet.functions == [] and Quiet.operations == []
    assert len(Loud.functions) == 1
    assert type(np.add(q, 1.0)) is Quiet and Quiet.functions == [np.add]


def test_no_dispatch_of_a_class_leaves_its_subclasses_dispatching():
    """B30: that class alone"""
    Parent = recorder()

    class Child(Parent):
        pass

    with ft.no_dispatch(Parent):
        assert type(Child([1.0]) + 1.0) is Child
        equal(Parent([1.0]) + 1.0, np.array([2.0]))


def test_no_dispatch_of_a_level_class():
    """B30: its tensors act as their values inside the block, and as a batch after it."""
    with ft.vmap() as B:
        x = B(XS)
        with ft.no_dispatch(B):
            equal(x + 1, XS + 1)
            equal(np.sum(x), np.float64(XS.sum()))
            assert x.shape == (10, 2)
        y = np.sum(x)
        assert y.shape == ()
        equal(y.elem(), XS.sum(axis=1))


def test_no_dispatch_of_one_level_leaves_the_others():
    """B30: an operation goes on to the level outside."""
    with ft.vmap() as B0, ft.grad() as G:
        x = G(B0(XS))
        with ft.no_dispatch(G):
            y = x * 2
            assert type(y) is B0
            equal(y.elem(), 2 * XS)
        assert type(x * 2) is G


def test_no_dispatch_of_an_inner_level_whose_tensor_meets_an_outer_one():
    ys = 2 * XS
    with ft.vmap() as B0, ft.vmap() as B1:
        x, y = B0(XS), B1(ys)
        with ft.no_dispatch(B1):
            for use in (
                lambda x, y: x + y,
                lambda x, y: y + x,
                lambda x, y: x @ y.T,
                lambda x, y: divmod(x, y + 1)[0],
                lambda x, y: np.add(x, y),
                lambda x, y: np.concatenate([x, y[0]]),
            ):
                out = use(x, y)
                assert type(out) is B0
                equal(out.elem(), np.stack([use(row, ys) for row in XS]))


def test_no_dispatch_is_reentrant_and_restored_on_exceptions():
    """B30: an inner block that raises leaves the outer one in force."""
    S = recorder()
    s = S([1.0])
    with ft.vmap() as B:
        x = B(XS)
        with ft.no_dispatch(S), ft.no_dispatch(B):
            with pytest.raises(ZeroDivisionError), ft.no_dispatch(S), ft.no_dispatch(B):
                raise ZeroDivisionError
            equal(s + 1.0, np.array([2.0]))
            equal(x + 1, XS + 1)
        assert type(s + 1.0) is S and type(x + 1) is B
        assert (x + 1).shape == (2,)


def test_no_dispatch_does_not_reach_other_threads():
    """B30: a thread that starts inside the block dispatches."""
    S = recorder()
    with ft.vmap() as B:
        x, s = B(XS), S([1.0])
        with ft.no_dispatch(S), ft.no_dispatch(B):
            kinds = in_thread(lambda: (type(s + 1.0), type(x + 1), (x + 1).shape))
        assert kinds == (S, B, (2,))


def test_a_level_that_ends_inside_no_dispatch_is_dead():
    with ft.vmap() as B:
        x = B(XS)
        manager = ft.no_dispatch(B)
        manager.__enter__()
    manager.__exit__(None, None, None)
    raises(ft.EscapedTensorError, lambda: x + 1)


def test_no_dispatch_ends_the_recursion_of_a_hook():
    """B31: a hook calls functions on its own instances in the block."""

    class Sums(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            with ft.no_dispatch(cls):
                totals = [np.sum(a) for a in args]
                return func(*args, **(kwargs or {})), totals

    value, totals = np.add(Sums([1.0, 2.0]), Sums([3.0, 4.0]))
    equal(value, np.array([4.0, 6.0]))
    assert totals == [3.0, 7.0]


def test_no_dispatch_wants_a_class_with_the_hook():
    with (
        pytest.raises(TypeError, match="not a class with __tensor_function__"),
        ft.no_dispatch(int),
    ):
        pass


# ---- the appendix on type testing ----


@pytest.fixture
def careless():
    class Careless(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            values = [a.elem() if isinstance(a, ft.Tensor) else a for a in args]
            return cls(func(*values, **(kwargs or {})))  # never looks at `types`

    return Careless([1.0, 2.0])


def test_a_hook_that_ignores_types_cannot_corrupt_a_level(careless):
    """B33, B42: levels answer first, in any order of the operands"""
    with ft.vmap() as B:
        x = B(XS)
        for use in (
            lambda: x + careless,
            lambda: careless + x,
            lambda: np.add(careless, x),
            lambda: np.multiply(x, careless),
            lambda: careless * x,
        ):
            out = use()
            assert type(out) is B
            assert type(out.elem()) is type(careless)


def test_every_level_class_answers_before_a_users_subclass(careless):
    """B33, B42: also before a hook that ignores the types."""
    for enter in (ft.grad, ft.jvp):
        with enter() as G:
            x = G(np.ones(2), np.ones(2)) if enter is ft.jvp else G(np.ones(2))
            assert type(careless * x) is G
            assert type(x * careless) is G


def test_the_upper_hook_declines_foreign_classes():
    """B15, B33: that of Tensor answers for classes that it is a base of."""

    class A(ft.Tensor):
        pass

    class B(ft.Tensor):
        pass

    class C(A):
        pass

    hook = ft.Tensor.__tensor_function__.__func__
    a = A([1.0])
    assert hook(A, np.add, (A, B), (a, B([1.0]))) is NotImplemented
    assert hook(A, np.add, (A, C), (a, C([1.0]))) is NotImplemented
    assert type(hook(C, np.add, (A, C), (a, C([1.0])))) is C
    assert type(hook(A, np.add, (A, ft.Tensor), (a, ft.tensor([1.0])))) is A
    with pytest.raises(TypeError, match=r"'numpy.add' on types .*: \[A, B\]"):
        np.add(a, B([1.0]))
