"""The two hooks: what each sees, in which order they are asked, how they decline."""

import numpy as np
import pytest

import functier as ft
from support.basics import equal, has_all, message, raises, recorder

A = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.fixture
def log():
    """A recording subclass with empty lists, and one tensor of it."""
    cls = recorder()
    return cls, cls(A.copy())


# ---- the upper hook sees everything, as it was written ----

USES = {
    "function": (lambda x: np.sum(x), np.sum),
    "sequence": (lambda x: np.concatenate([A, x]), np.concatenate),
    "keyword": (lambda x: np.clip(A, 0.0, a_max=x), np.clip),
    "ufunc": (lambda x: np.sin(x), np.sin),
    "ufunc2": (lambda x: np.add(A, x), np.add),
    "where": (lambda x: np.sum(A, where=x), np.add.reduce),  # NumPy asks `a` and `out` alone
    "reduce": (lambda x: np.add.reduce(x), np.add.reduce),
    "outer": (lambda x: np.multiply.outer(A, x), np.multiply.outer),
    "method": (lambda x: x.sum(), ft.Tensor.sum),
    "reshape": (lambda x: x.reshape(-1), ft.Tensor.reshape),
    "add": (lambda x: x + 1, ft.Tensor.__add__),
    "radd": (lambda x: 1 + x, ft.Tensor.__radd__),
    "array_sub": (lambda x: A - x, np.subtract),
    "rsub": (lambda x: 2.0 - x, ft.Tensor.__rsub__),
    "matmul": (lambda x: x @ A, ft.Tensor.__matmul__),
    "divmod": (lambda x: divmod(x, 2.0), ft.Tensor.__divmod__),
    "neg": (lambda x: -x, ft.Tensor.__neg__),
    "abs": (lambda x: abs(x), ft.Tensor.__abs__),
    "eq": (lambda x: x == 1, ft.Tensor.__eq__),
    "getitem": (lambda x: x[0], ft.Tensor.__getitem__),
    "T": (lambda x: x.T, ft.Tensor.T.__get__),
    "real": (lambda x: x.real, ft.Tensor.real.__get__),
}


@pytest.mark.parametrize("use", USES)
def test_the_upper_hook_sees_what_was_written(log, use):
    """A07, A09: functions, methods, operators, indexing and properties, as they were called."""
    cls, x = log
    call, func = USES[use]
    x = x > 1 if use == "where" else x
    cls.functions.clear()
    call(x)
    assert cls.functions[0] == func


def test_each_class_stands_once_in_types():
    seen = []

    class P(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            seen.append((cls, tuple(types)))
            return super().__tensor_function__(func, types, args, kwargs)

    class C(P):
        pass

    p, c = P(A), C(A)
    out = np.concatenate([p, c, p, c])
    assert type(out) is C
    assert seen == [(C, (C, P))]


# ---- the lower hook sees canonical operations ----

CANONICAL = {
    "function": (lambda x: np.sum(x), np.sum),
    "method": (lambda x: x.sum(), np.sum),
    "ufunc": (lambda x: np.sin(x), np.sin),
    "add": (lambda x: x + 1, np.add),
    "radd": (lambda x: 1 + x, np.add),
    "abs": (lambda x: abs(x), np.absolute),
    "T": (lambda x: x.T, np.transpose),
    "transpose": (lambda x: x.transpose(1, 0), np.transpose),
    "reshape": (lambda x: x.reshape(4, 1), np.reshape),
    "astype": (lambda x: x.astype(int), np.astype),
    "getitem": (lambda x: x[0], None),
    "cumsum": (lambda x: x.cumsum(axis=0), np.cumsum),
    "conj": (lambda x: np.conj(x), np.conjugate),
    "matmul": (lambda x: x @ A, np.matmul),
    "rmatmul": (lambda x: [[1.0, 0.0], [0.0, 1.0]] @ x, np.matmul),
}


@pytest.mark.parametrize("use", CANONICAL)
def test_the_lower_hook_sees_the_numpy_function_it_means(log, use):
    """F09: function, operator and method are one operation there."""
    cls, x = log
    call, func = CANONICAL[use]
    out = call(x)
    assert type(out) is cls
    assert len(cls.operations) == 1
    assert func is None or cls.operations[0][0] is func


def test_the_lower_hook_sees_operands_in_their_order():
    seen = []

    class Noted(ft.Tensor):
        @classmethod
        def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args))
            return super().__tensor_dispatch__(func, types, args, kwargs)

    x = Noted(A)
    equal((2.0 - x).elem(), 2.0 - A)
    equal((x - 2.0).elem(), A - 2.0)
    assert seen == [(np.subtract, (2.0, x)), (np.subtract, (x, 2.0))]


def test_composite_functions_reach_the_lower_hook_in_parts(log):
    """F06: it gets the operations that they are made of."""
    cls, x = log
    out = np.var(x)
    equal(out.elem(), np.var(A))
    assert cls.functions[0] is np.var
    functions = [func for func, _ in cls.operations]
    assert np.var not in functions and len(functions) > 1


def test_a_class_without_a_lower_hook_runs_composites_whole():
    class Upper(ft.Tensor):
        seen: list = []  # noqa: RUF012

        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(func)
            return super().__tensor_function__(func, types, args, kwargs)

    equal(np.var(Upper(A)).elem(), np.var(A))
    assert Upper.seen == [np.var]


# ---- declining ----


def declining(name, base=ft.Tensor):
    def hook(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    return type(name, (base,), {"__tensor_function__": classmethod(hook)})


@pytest.mark.parametrize("use,called", [
    (lambda x: 1.0 + x, "__radd__"), (lambda x: -x, "__neg__"), (lambda x: x[0], "__getitem__"),
    (lambda x: x.T, "T.__get__"), (lambda x: x.sum(), "sum"), (lambda x: x.sort(), "sort"),
])  # fmt: skip
def test_the_error_names_operators_methods_and_properties_alike(use, called):
    with pytest.raises(TypeError) as error:
        use(declining("First")([1.0]))
    has_all(message(error), f"'functier.Tensor.{called}'", "[First]")


def test_unrelated_subclasses_decline_each_other_by_default():
    """E21: the message has the classes in the order of the arguments."""

    class P(ft.Tensor):
        pass

    class Q(ft.Tensor):
        pass

    for use, order in (
        (lambda: P(A) + Q(A), "P, Q"), (lambda: np.multiply(Q(A), P(A)), "Q, P"),
        (lambda: np.stack([P(A), Q(A)]), "P, Q"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"__tensor_function__: \[{order}\]"):
            use()
    assert type(P(A) + ft.tensor(A)) is P
    assert type(ft.tensor(A) + P(A)) is P


def test_exceptions_of_a_hook_pass_through_unchanged():
    """A28: what a hook raises is raised as it is."""

    class Broken(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            raise error

    error = KeyError("mine")
    x = Broken(A)
    uses = (
        lambda: np.sum(x),
        lambda: np.sin(x),
        lambda: x + 1,
        lambda: 1 + x,
        lambda: x.sum(),
        lambda: x[0],
        lambda: x.T,
        lambda: np.add(A, x),
        lambda: ft.tensor(A) + x,
    )
    for use in uses:
        with pytest.raises(KeyError) as caught:
            use()
        assert caught.value is error


def test_a_class_that_is_no_tensor_can_have_the_hook():
    class Foreign:
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            return func, len(args)

    assert ft.tensor(A) + Foreign() == (ft.Tensor.__add__, 2)
    assert Foreign() * ft.tensor(A) == (ft.Tensor.__rmul__, 2)
    assert np.concatenate([ft.tensor(A), Foreign()]) == (np.concatenate, 1)


# ---- control flow with super ----


def test_a_hook_can_unwrap_and_call_the_function_it_was_given():
    class Unwrapping(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            values = [a.elem() if isinstance(a, cls) else a for a in args]
            return func(*values, **(kwargs or {}))

    x = Unwrapping(A)
    equal(np.sum(x), A.sum())
    equal(x.sum(axis=0), A.sum(axis=0))
    equal(x.reshape(1, 4), A.reshape(1, 4))
    equal(x + 1, A + 1)
    equal(1 - x, 1 - A)
    equal(-x, -A)
    equal(x @ x, A @ A)
    equal(x[1], A[1])
    equal(x.T, A.T)
    equal(x.imag, A.imag)
    equal(np.add.reduce(x), A.sum(axis=0))


def test_results_are_of_the_class_also_in_tuples_and_namedtuples():
    class S(ft.Tensor):
        pass

    q, r = divmod(S(A), 2.0)
    assert type(q) is type(r) is S
    result = np.linalg.eigh(S(A @ A.T))
    assert type(result).__name__ == "EighResult"
    assert type(result.eigenvalues) is type(result.eigenvectors) is S


# ---- hooks below levels ----


def test_a_hook_that_raises_inside_a_transform():
    class Refuses(ft.Tensor):
        @classmethod
        def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is np.sin:
                raise RuntimeError("no sine here")
            return super().__tensor_dispatch__(func, types, args, kwargs)

    for run in (
        lambda: ft.vmap(np.sin)(Refuses(A)),
        lambda: ft.grad(lambda x: np.sum(np.sin(x)))(Refuses(A)),
        lambda: ft.jvp(np.sin, (Refuses(A),), (A,)),
    ):
        raises(RuntimeError, run, "no sine here")


def test_the_upper_hook_of_a_users_class_inside_levels(log):
    cls, x = log
    with ft.vmap() as B:
        B(x) + 1.0
    assert len(cls.functions) == 1
    assert cls.operations == [(np.add, ((2, 2),))]


def test_the_hooks_of_a_level_class_do_what_its_level_does():
    with ft.vmap() as B:
        x = B(A)
        for hook in (B.__tensor_function__, B.__tensor_dispatch__):
            out = hook(np.add, (B,), (x, 1.0))
            assert type(out) is B
            equal(out.elem(), A + 1.0)
        equal(B.__tensor_function__(ft.Tensor.sum, (B,), (x,)).elem(), A.sum(axis=1))
    raises(ft.EscapedTensorError, lambda: B.__tensor_dispatch__(np.add, (B,), (x, 1.0)))


def test_the_namespace_of_the_array_api_is_numpy():
    def softplus(x):
        xp = x.__array_namespace__(api_version="2023.12")
        return xp.sum(xp.log1p(xp.exp(x)))

    equal(ft.vmap(softplus)(np.zeros((3, 2))), np.full(3, 2 * np.log(2.0)))
    equal(ft.grad(softplus)(np.zeros(2)), np.full(2, 0.5))
