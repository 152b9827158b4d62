"""Errors: each names the transform, the function, the path, what came, and the remedy."""

import math

import numpy as np
import pytest

import functier as ft
from functier.protocol import primitive
from support.basics import equal, has_all, loss, message, model, raises

X = np.arange(6.0).reshape(3, 2)
I = np.arange(3)  # noqa: E741


# ---- inputs of derivatives ----


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "grad_and_value"])
def test_integer_inputs(name):
    raises(
        TypeError,
        lambda: getattr(ft, name)(loss)(I),
        f"{name}(loss) | args[0] | int64 | x.astype(float) | argnums",
    )


@pytest.mark.parametrize(
    "value,kind", [(I, "int64"), (3, "int64"), (True, "bool"), (I > 1, "bool")]
)
def test_inputs_of_a_dtype_without_derivative(value, kind):
    raises(TypeError, lambda: ft.grad(loss, 1)(X, value), "grad(loss)", "args[1]", kind)


def test_the_path_of_an_integer_in_a_tree():
    raises(
        TypeError,
        lambda: ft.grad(loss)({"layers": [1.0, {"w": I}]}),
        "grad(loss) | args[0]['layers'][1]['w'] | int64",
    )


def test_inputs_that_are_no_arrays():
    raises(
        TypeError,
        lambda: ft.grad(loss)({"a": [X, "text"]}),
        "grad(loss) | args[0]['a'][1] | str | the str by an argument other than args[0]",
    )


def test_integer_primals():
    raises(TypeError, lambda: ft.vjp(model, X, I), "vjp(model)", "primals[1]", "int64")
    raises(
        TypeError,
        lambda: ft.jvp(model, ({"w": I},), ({"w": I},)),
        "jvp(model) | primals[0]['w'] | int64",
    )


def test_inputs_of_the_imperative_style():
    with ft.grad() as G, pytest.raises(TypeError) as error:
        G(I)
    has_all(message(error), "grad()", "int64", "x.astype(float)")
    with ft.jvp() as J:
        raises(TypeError, lambda: J(X), "jvp(): no tangent was given; write J(x, tangent)")
        raises(ValueError, lambda: J(X, X.T), "jvp()", "(2, 3)", "(3, 2)")


# ---- argnums ----


@pytest.mark.parametrize("argnums", [2, -3, (0, 2)])
def test_argnums_out_of_range(argnums):
    raises(
        ValueError,
        lambda: ft.grad(loss, argnums)(X, X),
        f"grad(loss) | argnums={argnums!r} | out of range for 2 positional arguments",
    )


@pytest.mark.parametrize("argnums", [(0, 0), (1, -1), ()])
def test_argnums_twice_or_empty(argnums):
    raises(
        ValueError,
        lambda: ft.grad(loss, argnums)(X, X),
        f"grad(loss) | argnums={argnums!r} | at least one, and each once",
    )


@pytest.mark.parametrize("argnums", ["x", [0], True, 1.0, None, (0, "x")])
def test_argnums_of_another_type(argnums):
    raises(
        TypeError,
        lambda: ft.grad(loss, argnums)(X, X),
        f"grad(loss) | argnums={argnums!r} | an int or a tuple of ints",
    )


def test_differentiated_arguments_by_keyword():
    raises(ValueError, lambda: ft.grad(loss)(x=X), "0 positional arguments", "by position")


# ---- outputs of derivatives ----


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "grad_and_value"])
def test_outputs_that_are_no_scalar(name):
    raises(
        ValueError,
        lambda: getattr(ft, name)(model)(X),
        f"{name}(model) | shape (3, 2) | numpy.sum(y) | numpy.mean(y) | functier.jacrev(f)",
    )


def test_one_element_is_no_scalar():
    raises(ValueError, lambda: ft.grad(lambda x: np.sum(x, keepdims=True))(X), "shape (1, 1)")


@pytest.mark.parametrize("f,kind", [
    (lambda x: np.sum(x) * 1j, "complex128"), (lambda x: np.argmax(x), "int64"),
    (lambda x: True, "bool"), (lambda x: 3, "int64"),
])  # fmt: skip
def test_outputs_that_are_not_real(f, kind):
    remedy = "numpy.real(y) or numpy.abs(y)" if kind == "complex128" else "y.astype(float)"
    raises(TypeError, lambda: ft.grad(f)(X), "grad(<lambda>)", kind, remedy)


@pytest.mark.parametrize("out,form", [
    (None, "None"), ("text", "str"), ((1.0, 2.0), "(float, float)"), ({"a": X}, "float64[3, 2]"),
])  # fmt: skip
def test_outputs_that_are_no_arrays(out, form):
    raises(
        TypeError,
        lambda: ft.grad(lambda x: out)(X),
        "grad(<lambda>)",
        form,
        "return one scalar | has_aux=True",
    )
    if form in ("str",):
        raises(
            TypeError, lambda: ft.vjp(lambda x: {"k": out}, X), "vjp(<lambda>) | result['k'] | str"
        )
        raises(
            TypeError,
            lambda: ft.jvp(lambda x: {"k": out}, (X,), (X,)),
            "jvp(<lambda>) | result['k'] | str",
        )


@pytest.mark.parametrize("run", [
    lambda f: ft.grad(f, has_aux=True)(X),
    lambda f: ft.value_and_grad(f, has_aux=True)(X),
    lambda f: ft.vjp(f, X, has_aux=True),
    lambda f: ft.jvp(f, (X,), (X,), has_aux=True),
], ids=["grad", "value_and_grad", "vjp", "jvp"])  # fmt: skip
@pytest.mark.parametrize("f,came", [
    (lambda x: np.sum(x), "an array of shape ()"),
    (lambda x: (np.sum(x), 1, 2), "(float64[], int, int)"),
    (lambda x: [np.sum(x), 1], "[float64[], int]"),
])  # fmt: skip
def test_has_aux_without_a_pair(run, f, came):
    raises(TypeError, lambda: run(f), "(<lambda>)", "has_aux=True", "(output, aux)", came)


def test_the_gradient_of_the_imperative_style():
    with ft.grad() as G:
        x = G(X)
        raises(ValueError, lambda: G.gradient(x * 2, x), "grad()", "shape (3, 2)", "numpy.sum(y)")
        raises(ValueError, lambda: G.gradient(np.sum(x), X), "gradient(y, x)", "an array")
    with ft.vmap() as B, pytest.raises(ft.LevelError, match="needs a level of grad"):
        B.gradient(B(X), B(X))


# ---- levels of one label ----


def test_levels_of_one_label_have_their_depth():
    with ft.vmap() as A, ft.vmap() as B:
        x, y = A(X), B(X[0])
        assert repr(A) == "<class 'functier vmap() at depth 1'>" != repr(B)
        has_all(repr(x), "of 3 examples in vmap() at depth 1:")
        has_all(repr(x + y), "of 3 x 2 examples in vmap() at depth 1, vmap() at depth 2:")
        raises(ft.ConversionError, lambda: np.asarray(y), "vmap() at depth 2: numpy.asarray(x)")
        raises(ft.ConversionError, lambda: np.asarray(x), "vmap() at depth 1: numpy.asarray(x)")
    raises(
        ft.EscapedTensorError,
        lambda: y + 1,
        "a tensor of vmap() at depth 2 | Tensor <- vmap() at depth 1 <- vmap() at depth 2",
    )
    raises(ft.EscapedTensorError, lambda: x + 1, "a tensor of vmap() was used | Tensor <- vmap(),")


def test_siblings_of_one_label():
    def hold():
        with ft.vmap() as B:
            yield B(X)

    one, two = hold(), hold()
    x, y = next(one), next(two)
    raises(ft.LevelError, lambda: x + y, "another vmap() at depth 1 met a tensor of vmap() at")
    list(two), list(one)  # to the end of their blocks
    with ft.grad() as A, ft.grad() as B:
        x, y = A(X), B(X)
        came = "got a tensor of grad() at depth 1"
        raises(ValueError, lambda: B.gradient(np.sum(y), x), "grad() at depth 2: gradient", came)


def test_a_class_that_is_used_again_has_its_depth_and_the_new_label():
    seen = []

    def first(x):
        return x * x

    def second(x):
        seen.append(repr(type(x)))
        return np.asarray(x) * x

    ft.grad(ft.grad(first))(1.0)
    chain = "Tensor <- grad(second) at depth 1 <- grad(second) at depth 2"
    raises(ft.ConversionError, lambda: ft.grad(ft.grad(second))(1.0), chain)
    assert seen == ["<class 'functier grad(second) at depth 2'>"]


# ---- tangents and cotangents ----


def test_tangents_of_another_shape():
    raises(
        ValueError,
        lambda: ft.jvp(model, ({"w": [X]},), ({"w": [X.T]},)),
        "jvp(model) | tangent of primals[0]['w'][0] | (2, 3) | (3, 2)",
    )


def test_tangents_of_another_structure():
    raises(
        ValueError,
        lambda: ft.jvp(model, ({"w": X},), (X,)),
        "jvp(model) | (float64[3, 2],) | ({'w': float64[3, 2]},) | was expected",
    )
    raises(
        ValueError, lambda: ft.jvp(model, (X, X), (X,)), "jvp(model)", "one tangent for each value"
    )


def test_complex_tangents_of_real_primals():
    raises(
        ValueError,
        lambda: ft.jvp(model, (X,), (1j * X,)),
        "jvp(model) | primals[0] | complex128 | float64 | real part",
    )


def test_primals_that_are_no_tuple():
    raises(TypeError, lambda: ft.jvp(model, X, X), "jvp(model)", "ndarray", "jvp(f, (x,), (t,))")
    raises(TypeError, lambda: ft.jvp(model, (X,), X), "jvp(model)", "tangents is a ndarray")


def test_no_primals():
    raises(ValueError, lambda: ft.vjp(model), "vjp(model)", "vjp(func, x, ...)")
    raises(ValueError, lambda: ft.jvp(model), "jvp(model)", "jvp(f, (x,), (t,))")


def test_cotangents_that_do_not_fit():
    _, pullback = ft.vjp(lambda x: {"a": [x]}, X)
    raises(
        ValueError,
        lambda: pullback({"a": [X.T]}),
        "vjp(<lambda>) | cotangent of output['a'][0] | (2, 3) | (3, 2)",
    )
    raises(ValueError, lambda: pullback(X), "vjp(<lambda>)", "cotangents", "{'a': [float64[3, 2]]}")
    raises(ValueError, lambda: pullback({"a": [1j * X]}), "complex128", "real part")


@pytest.mark.parametrize("call,name", [
    (lambda: ft.vmap(X), "vmap"), (lambda: ft.grad(X), "grad"), (lambda: ft.vjp(X, X), "vjp"),
    (lambda: ft.jvp(X, (X,), (X,)), "jvp"), (lambda: ft.value_and_grad(X), "value_and_grad"),
])  # fmt: skip
def test_what_is_not_a_function(call, name):
    raises(TypeError, call, f"{name}: func is a ndarray", "pass a function as the first argument")


# ---- leaving a level ----


def test_a_branch_under_vmap():
    raises(
        ft.DataDependentError,
        lambda: ft.vmap(lambda x: x if x.sum() > 3 else -x)(X),
        "vmap(<lambda>) | bool(x) | numpy.where(condition, a, b)",
    )


def test_an_index_under_vmap():
    raises(
        ft.DataDependentError,
        lambda: ft.vmap(lambda i: [1, 2, 3][i])(I),
        "vmap(<lambda>) | __index__(x) | functier.tensor(numpy.stack([1, 2, 3]))[x]",
    )
    raises(ft.DataDependentError, lambda: ft.vmap(lambda i: range(i))(I), "vmap(<lambda>)")
    raises(
        ft.ConversionError,
        lambda: ft.vmap(lambda i: X[i])(I),
        "vmap(<lambda>) | functier.tensor(X)[x]",
    )


LEAVING = {
    "asarray": (np.asarray, "numpy.asarray(x)", "numpy.stack"),
    "array": (
        lambda x: np.array([x, x]),
        "numpy.asarray(x)",
        "functier.numpy.array([x, y]) for numpy.array",
    ),
    "full": (lambda x: np.full((2, *x.shape), x), "numpy.zeros(shape) + x for numpy.full"),
    "math": (lambda x: math.sin(x[0]), "float(x)", "numpy.sin(x[0]) for math.sin(x[0])"),
    "float": (lambda x: float(x[0]), "float(x)", "(x * 1.0) for float(x)"),
    "item": (lambda x: x[0].item(), "item(x)", "numpy.reshape(x, ())"),
    "tolist": (lambda x: x.tolist(), "tolist(x)", "list(x)"),
}


@pytest.mark.parametrize("case", LEAVING)
@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp"])
def test_what_would_lose_the_level(transform, case):
    f, *parts = LEAVING[case]
    run = {
        "vmap": lambda: ft.vmap(f)(X),
        "grad": lambda: ft.grad(lambda x: np.sum(f(x)))(X[0]),
        "jvp": lambda: ft.jvp(f, (X[0],), (X[0],)),
    }
    raises(ft.ConversionError, run[transform], f"{transform}(", *parts)


def assigned(x):
    a = np.zeros(2)
    a[:] = x


def assigned_by_a_view(x):
    a = np.zeros((2, 2))
    np.einsum("ii->i", a)[:] = x


IN_PLACE = {
    "assign": (
        assigned,
        "a = functier.numpy.array(a) right after a is made",
        "inside the function",
    ),
    "a view": (assigned_by_a_view, "functier.numpy.array(a)", "inside the function"),
    "iadd": (lambda x: np.zeros(2).__iadd__(x), "numpy.add(..., out=a)", "without out="),
    "imul": (lambda x: np.ones(2).__imul__(x), "numpy.multiply(..., out=a)", "without out="),
    "out": (lambda x: np.sin(x, out=np.zeros(2)), "numpy.sin(..., out=a)", "a = numpy.sin(...)"),
    "sum": (lambda x: np.sum(x, out=np.zeros(())), "numpy.sum(..., out=a)", "a = numpy.sum(...)"),
    "full_like": (lambda x: np.full_like(np.zeros(2), x), "numpy.zeros_like(a) + t"),
    "copyto": (lambda x: np.copyto(np.zeros(2), x), "numpy.copyto", "functier.numpy.array(a)"),
    "at": (lambda x: np.add.at(np.zeros(2), [0, 1], x), "numpy.add.at", "functier.numpy.zeros"),
}


@pytest.mark.parametrize("case", IN_PLACE)
@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp"])
def test_what_would_write_a_tensor_to_a_plain_array(transform, case):
    f, *parts = IN_PLACE[case]
    run = {
        "vmap": lambda: ft.vmap(f)(X),
        "grad": lambda: ft.grad(lambda x: np.sum(f(x)))(X[0]),
        "jvp": lambda: ft.jvp(f, (X[0],), (X[0],)),
    }
    raises(ft.MutationError, run[transform], f"{transform}(", *parts)


def test_a_tensor_keeps_its_size():
    """`resize` is about the memory of an array; the remedies give a new one, filled as by it."""
    raises(
        ft.UnsupportedError,
        lambda: ft.vmap(lambda x: x.resize(4))(X),
        "numpy.concatenate((x, numpy.",
    )
    equal(ft.vmap(lambda x: np.resize(x, 4))(X), np.stack([np.resize(x, 4) for x in X]))


def test_an_array_that_was_nearly_written_to_is_unchanged():
    a = np.ones(2)
    for use in (lambda x: a.__iadd__(x), lambda x: np.copyto(a, x), lambda x: np.add(x, 1, out=a)):
        raises(ft.MutationError, lambda: ft.grad(lambda x, use=use: np.sum(use(x)))(X[0]))
    equal(a, np.ones(2))


# ---- the classes of errors ----


def test_the_classes():
    for cls in (ft.EscapedTensorError, ft.ConversionError, ft.DataDependentError, ft.MutationError):
        assert issubclass(cls, ft.LevelError) and not issubclass(cls, TypeError)
    assert issubclass(ft.UnsupportedError, TypeError)
    assert issubclass(ft.NoRuleError, NotImplementedError)
    assert issubclass(ft.FallbackWarning, UserWarning)


def test_an_operation_without_a_derivative_rule():
    @np.vectorize
    def strange(x):
        return x

    with pytest.raises((ft.NoRuleError, ft.ConversionError)):
        ft.grad(lambda x: np.sum(strange(x)))(X)

    @primitive
    def unruled(x):
        return x * 1.0

    raises(
        ft.NoRuleError,
        lambda: ft.grad(lambda x: np.sum(unruled(x)))(X),
        "grad(<lambda>) | unruled | no derivative rule | other NumPy functions",
    )
    raises(ft.NoRuleError, lambda: ft.jvp(unruled, (X,), (X,)), "jvp(unruled)", "unruled")


@pytest.mark.parametrize("f,name", [
    (np.frompyfunc(lambda a: a + 1.0, 1, 1), "<lambda> (vectorized)"),
    (np.frompyfunc(lambda a, b: a + b, 2, 1).accumulate, "<lambda> (vectorized).accumulate"),
    (np.frompyfunc(lambda a, b: a + b, 2, 1).reduce, "<lambda> (vectorized).reduce"),
    (lambda x: np.linalg._umath_linalg.det(x[:2])[None], "det"),
])  # fmt: skip
def test_functions_that_have_no_derivative_rule_say_so_by_name(f, name):
    for call in (
        lambda: ft.grad(lambda x: np.sum(f(x)))(X),
        lambda: ft.vjp(f, X),
        lambda: ft.jvp(f, (X,), (X,)),
        lambda: ft.jvp(ft.vmap(f), (X[None],), (X[None],)),
    ):
        raises(ft.NoRuleError, call, name, "no derivative rule", "for its argument")
    equal(ft.grad(lambda x: np.sum(x) + np.size(f(X)[0]))(X), np.ones((3, 2)))


def test_unknown_options():
    for make in (
        lambda: ft.vmap(model, escape="ghost"),
        lambda: ft.grad(loss, escape="ghost"),
        lambda: ft.vjp(model, X, escape="ghost"),
        lambda: ft.jvp(model, (X,), (X,), escape="ghost"),
        lambda: ft.vmap(escape="ghost"),
        lambda: ft.grad(escape="ghost"),
        lambda: ft.jvp(escape="ghost"),
    ):
        raises(ValueError, make, "escape='ghost'", "'dead'", "'passthrough'")
