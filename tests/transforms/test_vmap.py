"""vmap: axes, trees, batch sizes, contiguous levels and their cost; its errors."""

import functools
import operator
from collections import OrderedDict, namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import functier as ft
from faults.planted import transforms as faulty
from functier.protocol import primitive
from support.basics import close, equal, model, raises, recorder

A = np.arange(6.0).reshape(3, 2)
B = 10.0 * np.arange(6.0).reshape(3, 2)

Pair = namedtuple("Pair", "left right")


class Point(NamedTuple):
    x: np.ndarray
    y: np.ndarray


# ---- axes ----


@pytest.mark.parametrize(
    "dims", [(0, 1), (1, 0), (-1, None), (None, 0), (np.int64(1), np.int64(0))]
)
def test_in_dims_for_each_argument(dims):
    a = A if dims[0] in (0, None) else A.T
    b = B if dims[1] in (0, None) else B.T
    a, b = (a if dims[0] is not None else A[0]), (b if dims[1] is not None else B[0])
    out = ft.vmap(np.subtract, in_dims=dims)(a, b)
    full = np.broadcast_to
    equal(
        out,
        full(A if dims[0] is not None else A[0], (3, 2))
        - full(B if dims[1] is not None else B[0], (3, 2)),
    )


def test_an_argument_that_is_not_mapped_stays_what_it_is():
    seen = []

    def f(x, y, options):
        seen.append((type(y), options))
        return x + y

    equal(ft.vmap(f, in_dims=(0, None, None))(A, B[0], {"flag": True, "name": "text"}), A + B[0])
    assert seen == [(np.ndarray, {"flag": True, "name": "text"})]


def test_keyword_arguments_are_not_mapped():
    out = ft.vmap(lambda x, *, w, scale=1.0: (x * w).sum() * scale)(A, w=B[1], scale=2.0)
    equal(out, 2.0 * (A * B[1]).sum(axis=1))


# ---- trees ----


def test_a_dict_with_in_dims_for_each_key():
    f = ft.vmap(lambda p, x: p["w"] * x + p["b"], in_dims=({"w": 1, "b": None}, 0))
    equal(f({"w": A.T, "b": B[0]}, A), A * A + B[0])


def test_a_prefix_stands_for_the_tree_below_it():
    tree = {"a": [A, (B, A)], "b": A[0]}
    out = ft.vmap(
        lambda t: t["a"][0] + t["a"][1][0] + t["a"][1][1] + t["b"], in_dims=({"a": 0, "b": None},)
    )(tree)
    equal(out, 2 * A + B + A[0])


def test_namedtuples_ordered_dicts_and_nested_lists_keep_their_type():
    def f(pair, point, mapping, nested):
        assert type(pair) is Pair and type(point) is Point and type(mapping) is OrderedDict
        assert type(nested) is list and type(nested[0]) is list
        return Pair(pair.left + 1, [point.x, {"y": point.y}]), mapping, nested

    args = Pair(A, B), Point(A, B), OrderedDict(k=A), [[A], B]
    pair, mapping, nested = ft.vmap(f)(*args)
    assert type(pair) is Pair and type(mapping) is OrderedDict and type(nested) is list
    equal(pair.left, A + 1)
    equal(pair.right[0], A)
    equal(pair.right[1]["y"], B)
    equal(mapping["k"], A)
    equal(nested[0][0], A)


def test_none_and_empty_containers_pass_through():
    out = ft.vmap(lambda t: {"x": t[0], "none": None, "empty": ()})((A, None))
    equal(out["x"], A)
    assert out["none"] is None and out["empty"] == ()


def test_none_in_a_tree_beside_axes_that_differ():
    tree = {"a": A, "b": None, "c": [B.T, None, B]}
    dims = {"a": 0, "b": None, "c": [1, None, 0]}
    for in_dims in ((dims,), [dims], ({**dims, "b": 0},)):
        out = ft.vmap(lambda t: t["a"] + 2 * t["c"][0] + 3 * t["c"][2], in_dims)(tree)
        equal(out, A + 5 * B)
    out = ft.vmap(lambda x: (x, None, {"k": x}), out_dims=(1, None, 0))(A)
    equal(out[0], A.T)
    equal(out[2]["k"], A)
    assert out[1] is None


def test_none_in_one_argument_leaves_the_axes_of_the_next_alone():
    def f(p, x):
        assert p["bias"] is None
        return p["weight"] @ x

    weights = np.stack([A, A + 1.0])
    equal(ft.vmap(f, (None, 0))({"bias": None, "weight": A}, B), B @ A.T)
    equal(ft.vmap(f, (0, None))({"bias": None, "weight": weights}, B[1]), weights @ B[1])
    equal(ft.vmap(f, (None, 1))({"bias": None, "weight": A}, B.T), B @ A.T)


def test_out_dims_for_each_result():
    x, y, z = ft.vmap(lambda v: (v, v * 2, np.float64(7.0)), out_dims=(0, 1, None))(A)
    equal(x, A)
    equal(y, 2 * A.T)
    equal(z, np.float64(7.0))


def test_out_dims_as_a_prefix_tree():
    out = ft.vmap(lambda v: {"a": v, "b": (v, v)}, out_dims={"a": 0, "b": 1})(A)
    equal(out["a"], A)
    equal(out["b"][0], A.T)
    equal(out["b"][1], A.T)


def test_a_result_that_does_not_vary_is_repeated():
    out = ft.vmap(lambda v: (np.array([1, 2, 3]), 4.5, np.float32(2)))(A)
    equal(out[0], np.tile([1, 2, 3], (3, 1)))
    equal(out[1], np.full(3, 4.5))
    equal(out[2], np.full(3, np.float32(2)))
    out[0][0, 0] = 9
    assert out[0][1, 0] == 1
    equal(ft.vmap(lambda x: ft.vmap(lambda y: np.broadcast_arrays(x, y)[0])(B))(A[:2]),
          np.repeat(A[:2, None], 3, axis=1))  # fmt: skip


def test_a_result_that_does_not_vary_with_out_dims():
    equal(ft.vmap(lambda v: np.array([1, 2]), out_dims=1)(A), np.tile([[1], [2]], 3))
    equal(ft.vmap(lambda v: np.array([1, 2]), out_dims=None)(A), np.array([1, 2]))


# ---- calling styles ----


def test_decorator():
    @ft.vmap
    def f(x):
        """Doubled."""
        return 2 * x

    assert (f.__name__, f.__doc__) == ("f", "Doubled.")
    equal(f(A), 2 * A)


def test_decorator_with_options():
    @ft.vmap(in_dims=(1, None), out_dims=-1)
    def f(x, y):
        return x + y

    equal(f(A.T, B[0]), (A + B[0]).T)


def test_empty_parentheses():
    @ft.vmap()
    def f(x):
        return x - 1

    equal(f(A), A - 1)


def test_partials_methods_and_callable_objects():
    class Model:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * self.w

        def method(self, x):
            return x + self.w

    model = Model(B[1])
    equal(ft.vmap(model)(A), A * B[1])
    equal(ft.vmap(model.method)(A), A + B[1])
    equal(ft.vmap(functools.partial(np.multiply, 3.0))(A), 3.0 * A)
    equal(ft.vmap(np.sin)(A), np.sin(A))


def test_recursion():
    def power(x, n):
        return x if n == 1 else ft.vmap(lambda v: v * v, in_dims=0)(power(x, n - 1))

    equal(power(A, 3), A**4)


# ---- batch sizes ----


def test_batch_size_zero():
    seen = []

    def f(x):
        seen.append(x.shape)
        return np.sin(x) * 2, x.sum(), np.array([1, 2])

    a, b, c = ft.vmap(f)(np.zeros((0, 2), np.float32))
    assert seen == [(2,)]
    equal(a, np.zeros((0, 2), np.float32))
    equal(b, np.zeros(0, np.float32))
    equal(c, np.zeros((0, 2), int))


def test_a_subclass_of_ndarray_is_an_array():
    equal(np.asarray(ft.vmap(lambda v: v * 2)(np.ma.masked_array(A).data)), A * 2)


# ---- nested, chained and closed over ----


def test_elem_drops_an_axis_that_does_not_vary():
    with ft.vmap() as B0, ft.vmap() as B1:
        B0(A)
        y = B1(B)
        equal(y.elem(), B)
        assert y.shape == (2,)


# ---- the cost of contiguous levels ----


def at_depth(f, depth):
    for _ in range(depth):
        f = ft.vmap(f)
    return f


PROGRAM = {
    "unary": np.sin,
    "scalar": lambda x: x * 2.0,
    "array": lambda x: x + np.ones(2),
    "itself": lambda x: x * x,
    "sum": lambda x: x.sum(axis=0),
    "reshape": lambda x: x.reshape(2, 1),
    "several": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
}


@pytest.mark.parametrize("name", PROGRAM)
def test_the_number_of_numpy_calls_does_not_grow_with_the_depth(name):
    """B27: a program has as many in five levels as in one."""
    counts = []
    for depth in range(1, 6):
        cls = recorder()
        shape = (2,) * (depth + 1)
        value = np.arange(float(2 ** (depth + 1))).reshape(shape)
        out = at_depth(PROGRAM[name], depth)(cls(value))
        assert type(out) is cls
        counts.append((len(cls.operations), len(cls.functions)))
        flat = value.reshape(-1, 2)
        expected = np.stack([PROGRAM[name](row) for row in flat])
        close(out.elem(), expected.reshape(*shape[:depth], *expected.shape[1:]))
    assert counts == [counts[0]] * 5


def test_one_operation_between_all_levels_is_one_call():
    """B27, B11: a sum of tensors of each level calls NumPy once for each addition."""
    for depth in range(1, 6):
        cls = recorder()
        rows = [np.arange(float(n + 2)) for n in range(depth)]

        def nest(tensors, level, rows=rows, cls=cls, depth=depth):
            if level == depth:
                cls.operations.clear()
                x = tensors[0]
                for y in tensors[1:]:
                    x = x + y
                return x
            return ft.vmap(lambda v: nest([*tensors, v], level + 1))(cls(rows[level]))

        out = nest([], 0)
        additions = [func for func, _ in cls.operations if func is np.add]
        assert len(additions) == depth - 1
        expected = functools.reduce(np.add.outer, rows)
        equal(out.elem(), expected)


def test_hook_calls_of_levels_do_not_grow_with_the_depth(monkeypatch):
    """B27: one level handles the operation, whatever the depth"""
    calls = []

    monkeypatch.setattr(ft.Tensor.level, "spare", {})
    faulty.hook_calls_of_levels_do_not_grow_with_the_depth(monkeypatch, calls)
    for depth in range(1, 6):
        calls.clear()
        at_depth(lambda x: np.sin(x) * x, depth)(np.ones((1,) * depth + (2,)))
        assert calls == [np.sin, operator.mul]


# ---- a function that has no rule ----


@primitive
def sorted_twice(x, times=2, scale=None):
    """A function of another library: it dispatches, and nobody has declared it."""
    assert type(x) is np.ndarray
    out = np.sort(x) * times
    return {"sorted": out if scale is None else out * scale, "total": x.sum()}


def test_a_function_without_a_rule_is_looped_over_with_one_warning():
    with pytest.warns(ft.FallbackWarning, match="sorted_twice has no batching rule") as caught:
        out = ft.vmap(lambda x: sorted_twice(-x, times=3))(A)
        ft.vmap(sorted_twice)(A)
    assert len(caught) == 1
    equal(out["sorted"], np.sort(-A) * 3)
    equal(out["total"], -A.sum(axis=1))
    nested = ft.vmap(lambda x: ft.vmap(lambda y: sorted_twice(x, scale=y)["sorted"])(B[:2]))(A)
    equal(nested, np.sort(A)[:, None] * 2 * B[:2])
    equal(ft.vmap(sorted_twice)(A[:0])["sorted"], np.zeros((0, 2)))


# ---- Errors of vmap: each names the transform, the function, the path, what came, the remedy ----


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
        raises(ValueError, lambda: B(X.T), "size 2 along its batch axis")


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
        raises(ValueError, lambda: B.unwrap(B(X), 5), "out_dim 5 is out of range")
        raises(ValueError, lambda: B.unwrap(B(X), None), "out_dims is None")
        with pytest.raises(ValueError, match=r"in_dim 5 is out of range .* \(3, 2\)"):
            B(X, in_dim=5)
