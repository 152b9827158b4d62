"""The protocol for other libraries: decorator, mixin, implementations, names, lint."""

import inspect
import operator
import pickle
import types

import numpy as np
import pytest

import functier as ft
from functier import overrides
from support.basics import equal, has_all, message, raises, recorder

A = np.array([[1.0, 2.0], [3.0, 4.0]])


class Sub(ft.Tensor):
    """A subclass that overrides nothing."""


class Duck(overrides.TensorLike):
    """No tensor: answers every call with -1, and notes it."""

    seen: list = []  # noqa: RUF012

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append((func, tuple(types), args, kwargs))
        return -1


@pytest.fixture
def duck():
    Duck.seen.clear()
    return Duck()


# ---- TensorLike ----


def test_a_class_that_is_no_tensor_is_seen_by_numpy(duck):
    """A03, A26: its answer is the result, even an int"""
    assert np.mean(duck) == np.add(A, duck) == np.add(duck, A) == np.sin(duck) == -1
    assert np.concatenate([A, duck]) == np.add.reduce(duck) == np.linalg.inv(duck) == -1
    assert [f for f, *_ in Duck.seen] == [
        np.mean, np.add, np.add, np.sin, np.concatenate, np.add.reduce, np.linalg.inv
    ]  # fmt: skip
    np.mean(A)
    assert len(Duck.seen) == 7


def test_operators_of_arrays_and_tensors_reach_a_class_that_is_no_tensor(duck):
    """A63: the operator of a tensor comes as the method, that of an array as the ufunc"""
    assert A + duck == ft.tensor(A) + duck == duck * ft.tensor(A) == -1
    funcs = [f for f, *_ in Duck.seen]
    assert funcs == [np.add, ft.Tensor.__add__, ft.Tensor.__rmul__]
    assert [f.__name__.strip("_") for f in funcs] == ["add", "add", "rmul"]


def test_the_hook_gets_a_function_types_a_tuple_and_a_dict(duck):
    """A10, A21, E06: arguments as they were given, and the classes of those that have a hook."""
    np.sum(duck, axis=0)
    np.add(ft.tensor(A), duck)
    (func, kinds, args, kwargs), (_, both, *_) = Duck.seen
    assert func is np.sum and kinds == (Duck,) and args == (duck,) and kwargs == {"axis": 0}
    assert type(args) is tuple and type(kwargs) is dict
    assert set(both) == {ft.Tensor, Duck}


def test_a_mixin_has_no_storage_and_declines_by_itself():
    class Bare(overrides.TensorLike):
        __slots__ = ()

    assert not hasattr(Bare(), "__dict__")
    raises(TypeError, lambda: np.mean(Bare()), "no implementation found for 'numpy.mean'  | [Bare]")


@pytest.mark.parametrize(("use", "name"), [
    (np.mean, "numpy.mean"), (np.sin, "numpy.sin"), (np.add.reduce, "numpy.add.reduce"),
    (lambda d: np.multiply(d, 3), "numpy.multiply"), (lambda d: A * d, "numpy.multiply"),
    (lambda d: ft.tensor(A) * d, "functier.Tensor.__mul__"),
    (lambda d: np.linalg.norm(d), "numpy.linalg.norm"),
    (lambda d: np.zeros(3, like=d), "numpy.zeros"),
])  # fmt: skip
def test_one_text_for_functions_ufuncs_and_operators(use, name):
    """A29, A53, E12: where all decline, the error names the function and the classes."""

    class Declines(overrides.TensorLike):
        pass

    with pytest.raises(TypeError) as error:
        use(Declines())
    head = f"no implementation found for {name!r} on types that implement __tensor_function__: ["
    assert message(error).startswith(head) and "Declines]" in message(error)


def test_like_reaches_the_hook(duck):
    assert np.zeros(3, like=duck) == np.array([1.0], like=duck) == -1
    assert [f for f, *_ in Duck.seen] == [np.zeros, np.array]


def test_a_hook_of_three_parameters_fails_loudly():
    """A22: the older form, without types, raises when it is called."""

    class Old(overrides.TensorLike):
        @classmethod
        def __tensor_function__(cls, func, args=(), kwargs=None):
            return -1

    raises(TypeError, lambda: np.sum(Old()), "Old.__tensor_function__() takes from 2 to 4")


def test_a_class_without_a_hook_is_refused_by_its_name():
    """E01: by functions and by methods."""

    class ScalarTensor:
        pass

    raises(TypeError, lambda: np.mean(ScalarTensor()), "ScalarTensor")
    raises(TypeError, lambda: ft.Tensor.sum(ScalarTensor()), "ScalarTensor")


def test_a_method_takes_a_tensor_first_unless_the_class_handles_it(duck):
    """A61: called on the class, with an array, a tensor or anything that has the hook."""
    assert ft.Tensor.sum(duck) == -1
    assert Duck.seen[0][0] is ft.Tensor.sum
    equal(ft.Tensor.sum(A, axis=0), A.sum(axis=0))
    with pytest.raises(TypeError, match=r"functier\.Tensor\.sum takes a tensor .* got a object"):
        ft.Tensor.sum(object())


# ---- functions of other libraries ----


@overrides.tensor_function_dispatch(lambda x, y, *, scale=None: (x, y))
def blend(x, y, *, scale=2.0):
    """The sum of two arrays, scaled."""
    return (x + y) * scale


class Matrix(recorder()):
    """A subclass with a method of its own that is overridable, and one that is not."""

    @overrides.tensor_function_dispatch(lambda self, power: (self,))
    def scaled(self, power):
        return self * power

    def shifted(self, by):
        return self + by


@pytest.fixture
def matrix():
    Matrix.functions.clear()
    return Matrix(A)


def test_a_decorated_function_computes_where_nobody_overrides():
    """A08, A26: arrays and plain tensors run its body."""
    equal(blend(A, A), 4 * A)
    equal(blend(A, A, scale=1.0), 2 * A)
    assert type(blend(ft.tensor(A), A)) is ft.Tensor
    equal(blend._implementation(A, A), 4 * A)


def test_a_decorated_function_is_dispatched(duck, matrix):
    """A08, A46: the hook gets the function itself, by whichever argument."""
    assert blend(A, duck, scale=1) == -1
    assert Duck.seen == [(blend, (Duck,), (A, duck), {"scale": 1})]
    out = blend(matrix, A)
    assert type(out) is Matrix
    equal(out.elem(), 4 * A)
    assert Matrix.functions == [blend, ft.Tensor.__add__, ft.Tensor.__mul__]
    assert type(blend(A, Sub(A))) is Sub


def test_a_decorated_function_keeps_its_face():
    """A46: name, docstring, signature and pickle, and it is listed."""
    assert blend.__name__ == "blend" and blend.__doc__ == "The sum of two arrays, scaled."
    assert str(inspect.signature(blend)) == "(x, y, *, scale=2.0)"
    assert pickle.loads(pickle.dumps(blend)) is blend
    assert overrides.resolve_name(blend) == "test_overrides.blend"
    assert overrides.get_function("blend", "test_overrides") is blend
    assert blend in overrides.get_overridable_functions()[inspect.getmodule(blend)]
    assert (
        str(inspect.signature(overrides.get_testing_overrides()[blend])) == "(x, y, *, scale=2.0)"
    )


def test_relevant_arguments_alone_count(duck):
    """A25, A51, A31: None is passed over, and what the dispatcher leaves out is not asked"""

    @overrides.tensor_function_dispatch(lambda x, other, weight=None: (x, weight))
    def f(x, other, weight=None):
        return x, other, weight

    assert f(1.0, duck) == (1.0, duck, None)
    assert f(1.0, 2.0, duck) == f(1.0, 2.0, weight=duck) == -1


def test_sequences_of_relevant_arguments(duck):
    """A32: the dispatcher may return a list, also one of lists."""

    @overrides.tensor_function_dispatch(lambda xs: xs)
    def total(xs):
        return sum(xs)

    assert total([1.0, 2.0]) == 3.0
    assert total((1.0, [duck])) == total([A, duck]) == -1
    assert overrides.tensor_function_dispatch(lambda xs: [xs])(lambda xs: 0)([[duck, 1]]) == -1


def test_transforms_see_what_a_decorated_function_calls(matrix):
    equal(ft.vmap(blend)(A, A), 4 * A)
    equal(ft.grad(lambda x: np.sum(blend(x, A) * x))(A), 2 * (2 * A + A))
    out = ft.vmap(blend)(matrix, A)
    assert type(out) is Matrix
    assert blend not in Matrix.functions  # levels come first, and do what it does


def test_arguments_that_do_not_fit_are_named_as_the_functions():
    raises(TypeError, lambda: blend(A), "blend() missing a required argument: 'y'")
    with pytest.raises(TypeError, match="give the dispatcher the same parameters"):
        overrides.tensor_function_dispatch(lambda x: (x,))(lambda x, y: x)
    raises(TypeError, lambda: overrides.tensor_function_dispatch((1, 2)), "takes a dispatcher")
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        overrides.tensor_function_dispatch(lambda x: 1)(lambda x: x)(A)


def test_a_decorated_method_is_overridable_and_another_is_not(matrix):
    """A45, A47, A48: the hook sees the decorated one, and what the other calls."""
    out = matrix.scaled(2.0)
    assert type(out) is Matrix
    assert Matrix.functions == [Matrix.scaled, ft.Tensor.__mul__]
    Matrix.functions.clear()
    out = matrix.shifted(1.0)
    assert type(out) is Matrix
    assert Matrix.functions == [ft.Tensor.__add__]


def test_a_plain_function_is_never_wrapped(matrix):
    """A49: a method without the decorator stays the function that it is."""
    before = vars(Matrix)["shifted"]
    matrix.shifted(1.0)
    assert vars(Matrix)["shifted"] is before and isinstance(before, types.FunctionType)
    assert not hasattr(before, "_implementation")


def test_unrelated_trees_are_not_mixed_by_decorated_functions():
    """A24, A36: two classes without a common one below Tensor are refused."""

    class Other(ft.Tensor):
        pass

    with pytest.raises(TypeError, match=r"'test_overrides.blend' on types .*\[Sub, Other\]"):
        blend(Sub(A), Other(A))


def test_no_dispatch_reaches_decorated_functions(matrix):
    with ft.no_dispatch(Matrix):
        equal(blend(matrix, A), 4 * A)
    assert Matrix.functions == []


def test_a_library_can_ask_by_itself(duck):
    """A25: by has_tensor_function and handle_tensor_function, without the decorator."""

    def f(x, y):
        if overrides.has_tensor_function((x, y)):
            return overrides.handle_tensor_function(f, (x, y), x, y=y)
        return x + y

    assert f(1.0, 2.0) == 3.0
    assert f(1.0, duck) == -1
    assert Duck.seen == [(f, (Duck,), (1.0,), {"y": duck})]
    assert not overrides.has_tensor_function((A, None, 1.0, ft.tensor(A)))
    assert overrides.has_tensor_function([Sub(A)])
    with ft.vmap() as B:
        assert not overrides.has_tensor_function([B(A)])
        equal(overrides.handle_tensor_function(f, (B(A),), B(A), A[0]).elem(), A + A[0])


# ---- the implementation, without dispatch ----


def test_every_overridable_function_has_an_implementation(duck):
    """A34: a callable of the same name that is not the function."""
    count = 0
    for functions in overrides.get_overridable_functions().values():
        for func in functions:
            inner = overrides.implementation(func)
            assert callable(inner) and inner is not func
            assert inner.__name__ == func.__name__
            count += 1
    assert count > 400


def test_an_implementation_asks_no_hook():
    """A34: it computes on the values of a subclass."""
    Recorder = recorder()
    x = Recorder(A)
    for func, args, expected in (
        (np.sum, (x,), A.sum()),
        (np.add, (x, 1.0), A + 1),
        (np.add.reduce, (x,), A.sum(axis=0)),
        (np.concatenate, ([x, A],), np.concatenate([A, A])),
        (np.linalg.inv, (x,), np.linalg.inv(A)),
        (ft.Tensor.__add__, (x, x), A + A),
        (ft.Tensor.reshape, (x, -1), A.reshape(-1)),
        (ft.Tensor.T.__get__, (x,), A.T),
        (ft.Tensor.__getitem__, (x, 0), A[0]),
    ):
        out = overrides.implementation(func)(*args)
        assert type(out) is ft.Tensor
        equal(out.elem(), expected)
        plain = overrides.implementation(func)(*[A if a is x else a for a in args])
        assert func is np.concatenate or type(plain) in (np.ndarray, np.float64)
    assert Recorder.functions == Recorder.operations == []


def test_the_generic_hook_of_the_rfc_written_out():
    """A33, A34, A35: by implementation and as_subclass a user writes the same."""
    seen = []

    class Own(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            if not all(issubclass(cls, t) for t in types):
                return NotImplemented
            ret = overrides.implementation(func)(*args, **(kwargs or {}))
            if isinstance(ret, ft.Tensor):
                ret = ret.as_subclass(cls)
            return ret

    x = Own(A)
    uses = (
        lambda v: np.sum(v, axis=0), lambda v: v + v, lambda v: 1 - v, lambda v: v[0],
        lambda v: v.T, lambda v: np.linalg.det(v), lambda v: v.mean(axis=1), np.var,
    )  # fmt: skip
    for use in uses:
        out = use(x)
        assert type(out) is Own
        equal(out.elem(), use(A))
    assert len(seen) == len(uses)
    assert type(x.shape) is tuple and type(bool(x[0, 0])) is bool
    raises(TypeError, lambda: np.add(x, Sub(A)), "[Own, Sub]")


# ---- as_subclass ----


def test_as_subclass_shares_memory_and_calls_no_hook():
    """A11, A56, A57, A58: a tensor or an array in another class, with its dtype and strides."""
    Recorder = recorder()
    array = A.copy()
    base = ft.tensor(array)
    x, y = base.as_subclass(Recorder), overrides.as_subclass(array, Recorder)
    for t in (x, y):
        assert type(t) is Recorder and np.shares_memory(t.elem(), array)
        assert t.dtype == array.dtype and t.shape == array.shape
        assert t.elem().strides == array.strides
        assert t.elem().__array_interface__["data"] == array.__array_interface__["data"]
        array[...] += 1.0
        equal(t.elem(), array)
    base[...] = 9.0
    assert type(base) is ft.Tensor and (array == 9.0).all()
    z = x.as_subclass(ft.Tensor)
    assert type(z) is ft.Tensor and Recorder.functions == []
    raises(TypeError, lambda: base.as_subclass(np.ndarray), "not a subclass of Tensor")


# ---- recursion ----


@pytest.mark.parametrize(("use", "name"), [
    (lambda x: x + 1, "functier.Tensor.__add__"), (np.sum, "numpy.sum"), (np.sin, "numpy.sin"),
    (lambda x: x[0], "functier.Tensor.__getitem__"), (lambda x: x.T, "functier.Tensor.T.__get__"),
])  # fmt: skip
def test_a_hook_that_calls_the_function_on_its_own_instances(use, name):
    """A43, E17, E24: the error names the hook and the function, and says what to write."""

    class Endless(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError) as error:
        use(Endless(A))
    assert type(error.value) is overrides.HookRecursionError
    has_all(
        message(error), name, "Endless.__tensor_function__", "super().__tensor_function__",
        "no_dispatch(Endless)",
    )  # fmt: skip


def test_an_endless_duck_is_named_too():
    """E17: a class that is no tensor, with such a hook."""

    class Endless(overrides.TensorLike):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    raises(overrides.HookRecursionError, lambda: np.mean(Endless()), "calls numpy.mean on its own")


def test_another_recursion_that_runs_too_deep_stays_what_it_is():
    class Deep(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            def down():
                down()

            down()

    with pytest.raises(RecursionError) as error:
        Deep(A) + 1
    assert type(error.value) is RecursionError


# ---- names ----


def test_names_and_functions_are_inverse():
    """A50, A62: resolve_name and get_function, for every overridable function."""
    assert overrides.get_function("linalg.norm", "numpy") is np.linalg.norm
    for functions in overrides.get_overridable_functions().values():
        for func in functions:
            name = overrides.resolve_name(func)
            assert name and "<" not in name
            assert overrides.get_function(name) == func, name
            if getattr(func, "__module__", None):
                assert overrides.get_function(func.__qualname__, func.__module__) is func
    assert overrides.resolve_name(np.add.reduce) == "numpy.add.reduce"
    assert overrides.get_function("numpy.add.reduce")(A[0]) == 3.0
    assert overrides.resolve_name(ft.Tensor.T.__get__) == "functier.Tensor.T.__get__"
    raises(AttributeError, lambda: overrides.get_function("linalg.nrm", "numpy"))


def test_what_is_a_method_or_property():
    """A15, A64, A65: of Tensor, and not of arrays or users' classes."""
    is_method = overrides.is_tensor_method_or_property
    yes = [ft.Tensor.sum, ft.Tensor.__add__, ft.Tensor.__getitem__, ft.Tensor.T.__get__]
    yes += [ft.Tensor.sort, ft.Tensor.real.__get__, ft.Tensor.__repr__]
    no = [np.add, np.sum, lambda x: x, np.add.reduce, operator.add, Matrix.shifted, 3, "sum", blend]
    assert all(map(is_method, yes)) and not any(map(is_method, no))
    assert is_method(ft.Tensor.__hash__) and not is_method(np.ndarray.__add__)
    assert not is_method(property(len).__get__) and not is_method(ft.Tensor.T.__set__)


def test_methods_and_operators_can_be_told_by_their_names():
    """A15, A16: a hook can tell functions, methods and operators apart."""
    Recorder = recorder()
    x = Recorder(A)
    np.sum(x), x.sum(), x + 1, x[0], x.T, np.add(x, 1)
    seen = Recorder.functions
    own = list(vars(ft.Tensor).values())
    assert [f in own for f in seen] == [False, True, True, True, False, False]
    assert [f.__name__.endswith("__") for f in seen] == [False, False, True, True, True, False]


# ---- lint ----


def hooked(hook, base=ft.Tensor, name="Linted"):
    return type(name, (base,), {"__tensor_function__": hook})


def reads(cls, func, types, args=(), kwargs=None):
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    return func(*args)


def reads_inside(cls, func, kinds, args=(), kwargs=None):
    return NotImplemented if [k for k in (1,) if len(kinds) > k] else 0


def ignores(cls, func, types, args=(), kwargs=None):
    return func(*args)


def writes(cls, func, types, args=(), kwargs=None):
    types = ()  # noqa: F841
    return func(*args)


@pytest.mark.parametrize("base", [ft.Tensor, overrides.TensorLike])
def test_lint_flags_a_hook_that_ignores_types(base):
    """B33: also one that it inherits, and not one that reads them."""
    for hook in (reads, reads_inside):
        assert overrides.lint_hook(hooked(classmethod(hook), base)) == []
    [text] = overrides.lint_hook(hooked(classmethod(writes), base))
    assert "never looks at" in text
    [text] = overrides.lint_hook(hooked(classmethod(ignores), base))
    has_all(text, "Linted.__tensor_function__", "never looks at 'types'", "NotImplemented")
    heir = type("Heir", (hooked(classmethod(ignores), base, "Ancestor"),), {})
    assert "Ancestor.__tensor_function__" in overrides.lint_hook(heir)[0]


def test_lint_knows_good_hooks():
    """B33: handing `types` on to super is looking at it; levels and the base do"""
    assert overrides.lint_hook(ft.Tensor) == overrides.lint_hook(overrides.TensorLike) == []
    assert overrides.lint_hook(Matrix) == overrides.lint_hook(recorder()) == []
    for enter in (ft.vmap, ft.grad, ft.jvp):
        with enter() as level:
            assert overrides.lint_hook(level) == []


def test_lint_flags_forms_that_the_protocol_does_not_call():
    [text] = overrides.lint_hook(hooked(reads))
    assert "method of instances" in text
    old = classmethod(lambda cls, func, args=(), kwargs=None: func)
    assert "(cls, func, types, args=(), kwargs=None)" in overrides.lint_hook(hooked(old))[0]
    static = staticmethod(lambda func, types, args=(), kwargs=None: len(types))
    assert "staticmethod" in overrides.lint_hook(hooked(static))[0]
    assert len(overrides.lint_hook(hooked(classmethod(lambda *args: args)))) == 0
    raises(TypeError, lambda: overrides.lint_hook(int), "has no __tensor_function__")


def test_like_gives_the_class():
    """A32, F15: functions that make arrays dispatch on `like`"""
    Recorder = recorder()
    x = Recorder(A)
    for out in (
        np.zeros(3, like=x),
        np.array([1.0], like=x),
        np.arange(3, like=x),
        np.eye(2, like=x),
    ):
        assert type(out) is Recorder
    assert Recorder.functions == [np.zeros, np.array, np.arange, np.eye]
    assert type(np.ones(2, like=ft.tensor(A))) is ft.Tensor
    with ft.no_dispatch(Recorder):
        assert type(np.zeros(3, like=x)) is np.ndarray
