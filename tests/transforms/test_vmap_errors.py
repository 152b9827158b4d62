"""Errors of vmap: each names the transform, the function, the path, what came, the remedy."""

import numpy as np
import pytest

import functier as ft
from functier._rules.constructors import primitive
from support import model, raises

X = np.arange(6.0).reshape(3, 2)
I = np.arange(3)  # noqa: E741


# ---- vmap: arguments ----


def test_batch_sizes_that_differ():
    raises(
        ValueError,
        lambda: ft.vmap(model)(X, X.T),
        "vmap(model) | args[1] | size 2 | batch size 3 | in_dims=(0, None)",
    )
    raises(ValueError, lambda: ft.vmap(model)({"a": X, "b": [X, X.T]}), "args[0]['b'][1]", "size 2")
    with ft.vmap() as B:
        B(X)
        with pytest.raises(ValueError, match="size 2 along its batch axis"):
            B(X.T)


@pytest.mark.parametrize("call,parts", [
    (lambda: ft.vmap(model, in_dims=None)(X), ["in_dims=None", "1 positional"]),
    (lambda: ft.vmap(model, in_dims=(None, None))(X, X), ["in_dims=(None, None)"]),
    (lambda: ft.vmap(model)(), ["0 positional"]),
    (lambda: ft.vmap(model)(x=X), ["0 positional"]),
    (lambda: ft.vmap(model)({}), ["in_dims=0"]),
])  # fmt: skip
def test_nothing_is_mapped(call, parts):
    raises(ValueError, call, "vmap(model)", "no argument is mapped", "at least one array", *parts)


@pytest.mark.parametrize(
    "dims,args", [((0, 0), (X,)), ((0,), (X, X)), ([0, 0, 0], (X,)), ((), (X,))]
)
def test_in_dims_of_the_wrong_length(dims, args):
    raises(
        ValueError,
        lambda: ft.vmap(model, in_dims=dims)(*args),
        f"vmap(model) | in_dims={dims!r} | {len(dims)} entries | {len(args)} positional",
        "None for an argument that is not mapped",
    )


@pytest.mark.parametrize("dims,args,form", [
    (({"a": 0},), ({"b": X},), "({'b': float64[3, 2]},)"),
    (((0, 0), 0), (X, X), "(float64[3, 2], float64[3, 2])"),
    ({"x": 0}, (X,), "(float64[3, 2],)"),
])  # fmt: skip
def test_in_dims_of_another_structure(dims, args, form):
    raises(
        ValueError,
        lambda: ft.vmap(model, in_dims=dims)(*args),
        f"vmap(model) | in_dims={dims!r}",
        form,
        "prefix",
    )


@pytest.mark.parametrize("dim", [2, -3, 7])
def test_in_dims_out_of_range(dim):
    raises(
        ValueError,
        lambda: ft.vmap(model, in_dims=dim)(X),
        f"vmap(model) | in_dim {dim} | args[0] of shape (3, 2) | from -2 to 1, or None",
    )


def test_the_path_of_an_axis_out_of_range():
    raises(
        ValueError,
        lambda: ft.vmap(model, in_dims=(0, {"w": [1]}))(X, {"w": [np.ones(3)]}),
        "in_dim 1 | args[1]['w'][0] of shape (3,)",
    )


def test_what_has_no_axis_to_map_over():
    raises(
        ValueError,
        lambda: ft.vmap(model)(np.float64(1.0)),
        "args[0] of shape () | no axis to map over",
    )
    raises(ValueError, lambda: ft.vmap(model)(X, 3.0), "args[1] is float 3.0", "in_dims=(0, None)")
    raises(ValueError, lambda: ft.vmap(model)(X, {"k": "text"}), "args[1]['k'] is str 'text'")


@pytest.mark.parametrize("dim", [1.0, "a", True])
def test_in_dims_of_another_type(dim):
    raises(
        TypeError,
        lambda: ft.vmap(model, in_dims=dim)(X),
        "vmap(model) | in_dims of args[0] is",
        repr(dim) if isinstance(dim, str) else type(dim).__name__,
        "as an int, or None",
    )


def test_an_axis_that_is_equal_to_an_int_and_is_none():
    pair = lambda x: (x, x)  # noqa: E731
    for dim in (0.0, False, np.float64(0)):
        for dims in (dim, (dim,)):
            raises(
                TypeError,
                lambda d=dims: ft.vmap(model, d)(X),
                "vmap(model) | write the axis as an int",
            )
        for dims in (dim, (dim, 1)):
            raises(TypeError, lambda d=dims: ft.vmap(pair, 0, d)(X), "out_dims of the result[0] is")


def test_one_array_at_two_places_is_named_by_both():
    raises(ValueError, lambda: ft.vmap(model, (0, 1))(X, X), "args[0] or args[1]", "size 2")


@primitive
def positives(x):
    return x[x > 1.0]


@primitive
def sometimes(x):
    return (x, x) if x[0] else [x]


@pytest.mark.filterwarnings("ignore::functier.FallbackWarning")
def test_a_loop_whose_results_differ_in_form():
    raises(
        ft.DataDependentError,
        lambda: ft.vmap(lambda x: positives(x))(X),
        "vmap(<lambda>) | positives | an array of shape (0,) | an array of shape (2,)",
        "numpy.where",
    )
    raises(ft.DataDependentError, lambda: ft.vmap(sometimes)(X), "[float64[2]] and (float64[2]")


# ---- vmap: results ----


def test_out_dims_none_for_a_result_that_varies():
    raises(
        ValueError,
        lambda: ft.vmap(lambda x: {"y": [x]}, out_dims=None)(X),
        "vmap(<lambda>) | out_dims is None | result['y'][0] | varies",
    )
    raises(ValueError, lambda: ft.vmap(model, out_dims=None)(X), "vmap(model)", "the result,")


@pytest.mark.parametrize("dim", [2, -3])
def test_out_dims_out_of_range(dim):
    raises(
        ValueError,
        lambda: ft.vmap(model, out_dims=dim)(X),
        f"vmap(model) | out_dim {dim} | shape (2,) for each example | from -2 to 1",
    )
    raises(
        ValueError,
        lambda: ft.vmap(lambda x: (x, 1.0), out_dims=(0, dim))(X),
        "result[1] | shape ()",
    )


@pytest.mark.parametrize("dims,f,form", [
    ((0,), lambda x: (x, x), "(float64[2], float64[2])"),
    ((0, 0), lambda x: x, "an array of shape (2,)"),
    ({"b": 0}, lambda x: {"a": x}, "{'a': float64[2]}"),
])  # fmt: skip
def test_out_dims_of_another_structure(dims, f, form):
    raises(
        ValueError,
        lambda: ft.vmap(f, out_dims=dims)(X),
        f"vmap(<lambda>) | out_dims={dims!r}",
        form,
        "prefix",
    )


def test_out_dims_of_another_type():
    raises(
        TypeError, lambda: ft.vmap(model, out_dims=1.5)(X), "vmap(model)", "is float 1.5", "an int"
    )
    raises(TypeError, lambda: ft.vmap(model, out_dims="a")(X), "vmap(model)", "'a'", "an int")


def test_results_that_are_no_arrays():
    raises(
        TypeError,
        lambda: ft.vmap(lambda x: {"y": "text"})(X),
        "vmap(<lambda>) | result['y'] is str 'text' | pytrees of arrays",
    )


def test_unwrap_of_the_imperative_style():
    with ft.vmap() as B:
        with pytest.raises(ValueError, match=r"no batch size yet; .* B\(xs\)"):
            B.unwrap(X)
        with pytest.raises(ValueError, match="out_dim 5 is out of range"):
            B.unwrap(B(X), 5)
        with pytest.raises(ValueError, match="out_dims is None"):
            B.unwrap(B(X), None)
        with pytest.raises(ValueError, match=r"in_dim 5 is out of range .* \(3, 2\)"):
            B(X, in_dim=5)
