"""Collectives: what they are on the arrays of all examples, at any place among levels.

The reference is the same program on whole arrays with an axis for each name, in plain
NumPy. A transform inside a named level is that transform of the whole program: its examples
are its inputs and outputs.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from faults.planted import transforms as faulty
from support.basics import HANG, close, equal, has_all, in_thread, message, model, raises

NAMES = "ij"


# ---- the reference ----


class Whole:
    """The collectives of arrays with the axes of the names in front, each whole or 1."""

    def __init__(self, sizes):
        self.sizes = sizes

    def places(self, names):
        return [NAMES.index(n) for n in (names if isinstance(names, tuple) else (names,))]

    def full(self, x):
        return np.broadcast_to(x, (*self.sizes, *np.shape(x)[2:]))

    def axis_size(self, names):
        return int(np.prod([self.sizes[p] for p in self.places(names)]))

    def psum(self, x, names):
        return np.sum(self.full(x), axis=tuple(self.places(names)), keepdims=True)

    def pmean(self, x, names):
        return np.mean(self.full(x), axis=tuple(self.places(names)), keepdims=True)

    def pmax(self, x, names):
        return np.max(self.full(x), axis=tuple(self.places(names)), keepdims=True)

    def pmin(self, x, names):
        return np.min(self.full(x), axis=tuple(self.places(names)), keepdims=True)

    def examples(self, x, names):
        """Of all examples in a row, with axes of size 1 in the places of their own."""
        rows = [self.full(x)]
        for p in self.places(names):
            rows = [np.take(r, [i], p) for r in rows for i in range(self.sizes[p])]
        return rows

    def axis_index(self, names):
        index = 0
        for p in self.places(names):
            shape = [1, 1]
            shape[p] = self.sizes[p]
            index = index * self.sizes[p] + np.reshape(np.arange(self.sizes[p]), shape)
        return index

    def all_gather(self, x, names, axis=0, tiled=False):
        rows = self.examples(x, names)
        if tiled:
            return np.concatenate(rows, axis + 2 if axis >= 0 else axis)
        return np.stack(rows, axis + 2 if axis >= 0 else axis)

    def psum_scatter(self, x, names, scatter_dimension=0, tiled=False):
        at = scatter_dimension + 2 if scatter_dimension >= 0 else scatter_dimension % x.ndim
        total, places = self.psum(x, names), self.places(names)
        parts = np.array_split(total, self.axis_size(names), at)
        if not tiled:
            parts = [np.squeeze(part, at) for part in parts]
        for p in reversed(places):  # the last name counts fastest
            n = self.sizes[p]
            parts = [np.concatenate(parts[i : i + n], p) for i in range(0, len(parts), n)]
        return parts[0]


def wave(x):
    return np.sin(x) * np.arange(1.0, x.shape[-1] + 1)


PROGRAMS = {
    "psum": lambda c, x, n: c.psum(x * x, n) * np.cos(x),
    "psum alone": lambda c, x, n: c.psum(np.exp(x), n),
    "twice": lambda c, x, n: c.psum(x * c.psum(np.sin(x), n), n),
    "pmean": lambda c, x, n: (x - c.pmean(x, n)) ** 3,
    "pmax": lambda c, x, n: c.pmax(np.sin(x), n) * x,
    "pmin": lambda c, x, n: c.pmin(x * x, n) + x,
    "standardized": lambda c, x, n: x / np.sqrt(1 + c.pmean((x - c.pmean(x, n)) ** 2, n)),
    "axis_size": lambda c, x, n: x**2 / c.axis_size(n),
    "all_gather": lambda c, x, n: np.einsum("...ad,...d->...a", c.all_gather(wave(x), n), x),
    "all_gather last": lambda c, x, n: np.sum(c.all_gather(x, n, axis=-1) ** 2, axis=-1) * x,
    "all_gather tiled": lambda c, x, n: wave(c.all_gather(x * x, n, tiled=True)),
    "psum_scatter": lambda c, x, n: x * (
        c.psum_scatter(wave(x)[..., :1] * wave(c.all_gather(x[..., 0], n) ** 2), n)[..., None]
    ),
    "psum_scatter tiled": lambda c, x, n: c.psum_scatter(
        c.all_gather(x, n, axis=-1, tiled=True) ** 2 * wave(x)[..., :1], n,
        scatter_dimension=-1, tiled=True,
    ),
}  # fmt: skip


def push(f):
    return lambda x: ft.jvp(f, (x,), (np.cos(x),))[1]


def pull(f):
    def pulled(x):
        y, back = ft.vjp(f, x)
        return back(np.cos(y))[0]

    return pulled


def same(f):
    return f


TRANSFORMS = {"push": push, "pull": pull, "same": same}


def by_levels(program, transforms, shared, names):
    """The program under vmap over i and j, with a transform outside, between and inside."""
    outside, between, inside = (TRANSFORMS[t] for t in transforms)
    dims = [None if name in shared else 0 for name in NAMES]
    f = inside(lambda x: program(ft, x, names))
    f = between(ft.vmap(f, in_dims=dims[1], axis_size=3, axis_name="j"))
    return outside(ft.vmap(f, in_dims=dims[0], axis_size=2, axis_name="i"))


def by_whole_arrays(program, transforms, sizes, names):
    """The same, where `x` has an axis of size 1 for what is shared."""
    outside, between, inside = (TRANSFORMS[t] for t in transforms)
    whole = Whole(sizes)
    f = inside(lambda x: whole.full(program(whole, x, names)))
    g = between(lambda x: f(np.broadcast_to(x, (x.shape[0], sizes[1], *x.shape[2:]))))
    return outside(lambda x: g(np.broadcast_to(x, (sizes[0], *x.shape[1:]))))


def compare(program, transforms, shared, names, form=by_levels):
    sizes = (2, 3)
    shape = (*(1 if name in shared else n for name, n in zip(NAMES, sizes)), 4)
    x = np.sin(np.arange(np.prod(shape)) * 1.7 + 0.3).reshape(shape)
    expected = by_whole_arrays(program, transforms, sizes, names)(x)
    own = np.squeeze(x, tuple(p for p, name in enumerate(NAMES) if name in shared))
    got = form(program, transforms, shared, names)(own)
    assert got.size == expected.size
    close(got, np.reshape(expected, got.shape), 1e-10)


PLACES = [
    ("same", "same", "same"),
    ("same", "same", "pull"),
    ("same", "same", "push"),
    ("same", "pull", "same"),
    ("same", "push", "same"),
    ("pull", "same", "same"),
    ("push", "same", "same"),
]


@pytest.mark.parametrize("transforms", PLACES, ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@settings(max_examples=8)
@given(
    names=st.sampled_from(["i", "j", ("i",), ("i", "j"), ("j", "i")]),
    shared=st.sampled_from(["", "", "i", "j"]),
)
def test_a_collective_is_what_it_is_on_whole_arrays(program, transforms, names, shared):
    compare(program, transforms, shared, names)


@settings(max_examples=150)
@given(
    program=st.sampled_from(list(PROGRAMS)),
    names=st.sampled_from(["i", "j", ("i", "j"), ("j", "i")]),
    transforms=st.tuples(*[st.sampled_from(list(TRANSFORMS))] * 3),
)
def test_transforms_around_each_other(program, names, transforms):
    compare(PROGRAMS[program], transforms, "", names)


@pytest.mark.parametrize("fault", faulty.FAULTS)
def test_a_wrong_transpose_is_found(fault, monkeypatch):
    faulty.wrong_transpose(monkeypatch, fault)
    with pytest.raises(AssertionError):
        for name in ("psum", "all_gather", "psum_scatter"):
            compare(PROGRAMS[name], ("same", "same", "pull"), "", "i")


@pytest.mark.parametrize("fault", ["axis", "shared"])
def test_a_wrong_batch_axis_is_found(fault, monkeypatch):
    faulty.wrong_batch_axis(monkeypatch, fault)
    shared, names = ("", "i") if fault == "axis" else ("j", "j")
    with pytest.raises((AssertionError, ValueError)):
        compare(PROGRAMS["psum alone"], ("same", "same", "same"), shared, names)


# ---- particular values ----

X = np.arange(12.0).reshape(4, 3) + 1


def over(f, *args, **options):
    return ft.vmap(f, axis_name="i", **options)(*args)


def test_derivatives_inside_are_of_the_sum_over_all_examples():
    f = lambda x: np.sum(ft.psum(x * x, "i"))  # noqa: E731
    equal(over(ft.grad(f), X), 8 * X)
    equal(ft.grad(lambda x: np.sum(over(f, x)))(X), 8 * X)
    total = np.sum(X * X, axis=0)
    equal(over(lambda x: ft.jvp(f, (x,), (x,))[1], X), np.full(4, 2 * np.sum(total)))


def test_a_second_derivative():
    f = lambda x: ft.psum(x**3, "i") * x  # noqa: E731
    whole = lambda x: np.sum(x**3, 0) * x  # noqa: E731
    g = over(ft.grad(lambda x: ft.grad(f)(x) ** 2), X[:, 0])
    h = ft.grad(lambda x: np.sum(ft.grad(lambda y: np.sum(whole(y)))(x) ** 2))(X[:, 0])
    close(g, h)


def test_jacobians_and_hessians_inside():
    f = lambda x: ft.psum(np.sin(x), "i") * x[0]  # noqa: E731
    reverse = over(ft.jacrev(f), X)
    rows = np.stack([over(lambda x, e=e: ft.vjp(f, x)[1](e)[0], X) for e in np.eye(3)], 1)
    close(reverse, rows)
    forward = over(ft.jacfwd(f), X)
    columns = np.stack([over(lambda x, e=e: ft.jvp(f, (x,), (e,))[1], X) for e in np.eye(3)], -1)
    close(forward, columns)
    second = over(ft.hessian(lambda x: np.sum(f(x))), X)
    assert second.shape == (4, 3, 3)
    by_hand = over(ft.jacfwd(ft.jacrev(lambda x: np.sum(f(x)))), X)
    close(second, by_hand)


def test_batched_cotangents_after_the_call_inside():
    def f(x):
        _, back = ft.vjp(lambda x: ft.psum(np.sin(x), "i"), x)
        return ft.vmap(lambda g: back(g)[0])(np.eye(3))

    close(over(f, X), np.eye(3) * 4 * np.cos(X)[:, None])


PRODUCTS = {
    "linearize": lambda f, x: ft.linearize(f, x)[1](np.cos(x)),
    "linear_transpose": lambda f, x: ft.linear_transpose(f, x)(np.cos(f(x)))[0],
    "checkpoint": lambda f, x: ft.vjp(ft.checkpoint(f), x)[1](np.cos(f(x)))[0],
    "scan": lambda f, x: ft.scan(lambda c, y: (c, f(x * y)), 0.0, np.arange(2.0))[1],
    "jacrev in chunks": lambda f, x: ft.jacrev(f, chunk_size=2)(x),
    "jacfwd in chunks": lambda f, x: ft.jacfwd(f, chunk_size=2)(x),
    "hvp": lambda f, x: ft.hvp(lambda x: np.sum(f(x) ** 3), (x,), (np.cos(x),))[1][0],
}
BY_HAND = {
    "linearize": lambda f, x: ft.jvp(f, (x,), (np.cos(x),))[1],
    "linear_transpose": lambda f, x: ft.vjp(f, x)[1](np.cos(f(x)))[0],
    "checkpoint": lambda f, x: ft.vjp(f, x)[1](np.cos(f(x)))[0],
    "scan": lambda f, x: np.stack([f(x * 0), f(x)]),
    "jacrev in chunks": lambda f, x: ft.jacrev(f)(x),
    "jacfwd in chunks": lambda f, x: ft.jacfwd(f)(x),
    "hvp": lambda f, x: ft.jvp(ft.grad(lambda x: np.sum(f(x) ** 3)), (x,), (np.cos(x),))[1],
}
LINEAR = {
    "psum": lambda x: ft.psum(x, "i"),
    "gather": lambda x: ft.all_gather(x, "i", axis=1),
    "scatter": lambda x: ft.psum_scatter(np.arange(1.0, 5.0) * x[0], "i") + x,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_other_transforms_inside(name, f):
    close(over(lambda x: PRODUCTS[name](f, x), X), over(lambda x: BY_HAND[name](f, x), X), 1e-10)


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
@pytest.mark.parametrize("grad", [False, True])
def test_a_branch_that_some_examples_take_has_not_all_of_them(f, grad):
    inner = ft.jacrev(f) if grad else f

    def some(x):
        return ft.cond(x[0] > 4, inner, lambda x: inner(x) * 2, x)

    raises(
        ft.DataDependentError, lambda: over(some, X), "'i'", "needs all examples",
        "call it before cond",
    )  # fmt: skip
    raises(ft.DataDependentError, lambda: over(lambda x: ft.cond(x[0] < 4, f, f, x), X), "'i'")
    for pred in (True, X[0, 0] < 4):
        close(over(lambda x, p=pred: ft.cond(p, inner, inner, x), X), over(inner, X))
    close(over(lambda x: ft.cond(x[0] > 0, inner, inner, x), X), over(inner, X))  # all take it
    # What other levels' examples choose is no concern of this one's; nor are numbers.
    nested = ft.vmap(lambda y: over(lambda x: ft.cond(y > 0, inner, inner, x * y), X))
    close(nested(np.array([-1.0, 2.0])), np.stack([over(inner, X * y) for y in (-1.0, 2.0)]))
    sized = over(lambda x: ft.cond(x[0] > 4, lambda: ft.psum(1, "i"), lambda: 0), X)
    equal(sized, np.array([0, 0, 4, 4]))


def test_equal_extremes_share_the_gradient():
    x = np.array([2.0, 1.0, 2.0, 0.0])
    for name, sign in (("pmax", 1), ("pmin", -1)):
        f = lambda x: getattr(ft, name)(x, "i")  # noqa: E731
        equal(over(ft.grad(f), sign * x), np.array([2.0, 0, 2, 0]))
        equal(ft.grad(lambda x: over(f, x)[0])(sign * x), np.array([0.5, 0, 0.5, 0]))


@pytest.mark.parametrize(
    ("dtype", "total"),
    [("int8", "int64"), ("uint8", "uint64"), ("bool", "int64"), ("float32", "float32"),
     ("float16", "float16"), ("complex64", "complex64"), ("int64", "int64")],
)  # fmt: skip
def test_dtypes_are_those_of_numpys_sum_whether_it_varies_or_not(dtype, total):
    xs = np.array([1, 0, 1], dtype)
    equal(over(lambda x: ft.psum(x, "i"), xs), np.full(3, 2, total))
    one = xs[0]
    equal(over(lambda x: ft.psum(one, "i"), xs), np.full(3, 3, total))
    equal(over(lambda x: ft.psum(np.stack([one]), "i"), xs), np.full((3, 1), 3, total))


def test_numbers_of_python():
    def f(x):
        assert ft.psum(1, "i") == ft.axis_size("i") == 4
        assert type(ft.psum(1, "i")) is type(ft.psum(True, "i")) is type(ft.axis_size("i")) is int
        assert ft.psum(0.5, "i") == 2.0 and type(ft.psum(0.5, "i")) is float
        assert ft.pmean(3.0, "i") == 3.0
        return np.zeros(ft.psum(1, "i")) + x[0]

    equal(over(f, X), np.tile(X[:, :1], (1, 4)))


class Pair(NamedTuple):
    first: object
    second: object


def test_trees():
    result = over(lambda x: ft.psum({"a": x, "b": Pair(1.0, [x[0]])}, "i"), X)
    equal(result["a"], np.tile(X.sum(0), (4, 1)))
    equal(result["b"].first, np.full(4, 4.0))
    equal(result["b"].second[0], np.full(4, X[:, 0].sum()))
    assert over(lambda x: (x, ft.psum(None, "i")), X)[1] is None


def test_gathering_copies_nothing():
    seen = []

    def f(x):
        y = ft.all_gather(x, "i", axis=1)
        seen.append(np.shares_memory(y.elem(), X))
        return y

    equal(over(f, X, out_dims=0), np.tile(X.T, (4, 1, 1)))
    assert seen == [True]


def test_what_is_gathered_does_not_vary():
    equal(over(lambda x: ft.all_gather(x, "i"), X)[2], X)
    equal(over(lambda x: ft.psum(x, "i").elem()[0], X, out_dims=None), X.sum(0))


def test_scattering_is_the_sum_at_the_index():
    def both(x):
        y = np.arange(4.0)[:, None] * x
        total = ft.psum(y, "i")
        own = np.take_along_axis(total, np.reshape(ft.axis_index("i"), (1, 1)), axis=0)[0]
        return ft.psum_scatter(y, "i"), own

    scattered, taken = over(both, X)
    equal(scattered[:, 0], taken[:, 0])
    shared = over(lambda x: ft.psum_scatter(np.arange(8.0), "i", tiled=True), X)
    equal(shared, 4 * np.arange(8.0).reshape(4, 2))


@pytest.mark.parametrize("n", [0, 1])
def test_batches_of_none_and_of_one(n):
    xs = np.ones((n, 3))
    equal(over(lambda x: ft.psum(x, "i"), xs), xs)
    equal(over(lambda x: ft.all_gather(x, "i"), xs), np.ones((n, n, 3)))
    equal(over(lambda x: ft.psum_scatter(ft.all_gather(x, "i"), "i"), xs), xs)
    equal(over(lambda x: ft.axis_index("i"), xs), np.arange(n))
    equal(over(ft.grad(lambda x: np.sum(ft.psum(x, "i"))), xs), np.ones((n, 3)))


def test_the_index_of_several_names_counts_the_last_fastest():
    f = lambda x: (ft.axis_index(("i", "j")), ft.axis_index(("j", "i")), ft.axis_size(("i", "j")))  # noqa: E731
    ij, ji, size = ft.vmap(ft.vmap(f, axis_name="j"), axis_name="i")(np.zeros((2, 3)))
    equal(ij, np.arange(6).reshape(2, 3))
    equal(ji, np.arange(6).reshape(3, 2).T)
    equal(size, np.full((2, 3), 6))


# ---- names ----


def test_a_name_that_no_level_has():
    raises(
        NameError, lambda: over(lambda x: ft.psum(x, "k"), X), "psum", "'k'", "there are: 'i'",
        "vmap(f, axis_name='k')",
    )  # fmt: skip
    raises(NameError, lambda: ft.psum(X, "i"), "psum", "'i'", "there are: none")
    nested = ft.vmap(ft.vmap(lambda x: ft.pmax(x, None), axis_name="b"), axis_name="a")
    raises(NameError, lambda: nested(X), "pmax", "None", "'b', 'a'")
    for name in ("axis_index", "axis_size"):
        raises(NameError, lambda name=name: getattr(ft, name)("i"), name, "'i'")


def test_a_level_that_has_ended_has_no_name():
    over(model, X)
    raises(NameError, lambda: ft.psum(1, "i"), "none")


@pytest.mark.parametrize("names", [(), ("i", "i")])
def test_names_that_are_no_set(names):
    raises(ValueError, lambda: over(lambda x: ft.psum(x, names), X), "psum", "each name once")


def test_the_innermost_of_two_levels_of_one_name():
    f = ft.vmap(ft.vmap(lambda x: ft.psum(x, "i"), axis_name="i"), axis_name="i")
    equal(f(X), np.tile(X.sum(1, keepdims=True), (1, 3)))


def test_any_hashable_is_a_name():
    name = frozenset({1})
    equal(ft.vmap(lambda x: ft.psum(x, name), axis_name=name)(X[:, 0]), np.full(4, X[:, 0].sum()))


def test_levels_of_with_statements_have_names():
    with ft.vmap(axis_name="i") as B, ft.vmap(axis_name="j") as C:
        x, y = B(X), C(np.ones(2))
        z = ft.psum(x * y[None] if y.ndim else x * y, ("i", "j"))
        equal(B.unwrap(C.unwrap(z)), np.tile(2 * X.sum(0), (4, 2, 1)))
        equal(B.unwrap(ft.axis_index("i")), np.arange(4))


def test_a_with_level_has_no_size_before_its_first_tensor():
    def size():
        with ft.vmap(axis_name="i"):
            ft.axis_size("i")

    raises(ValueError, size, "vmap()", "no batch size yet", "axis_size=n")
    with ft.vmap(axis_name="i", axis_size=3):
        assert ft.axis_size("i") == 3


def test_the_level_of_a_generator_has_its_name_in_it_only():
    def generator_in_level():
        with ft.vmap(axis_name="i") as B:
            x = B(X)
            yield
            yield B.unwrap(ft.psum(x, "i"))

    generator = generator_in_level()
    next(generator)
    raises(NameError, lambda: ft.psum(1, "i"), "there are: none")
    equal(next(generator), np.tile(X.sum(0), (4, 1)))
    generator.close()


def test_a_tensor_in_another_thread_brings_its_levels():
    equal(over(lambda x: in_thread(lambda: ft.psum(x, "i")), X), np.tile(X.sum(0), (4, 1)))
    raises(NameError, lambda: over(lambda x: in_thread(lambda: ft.axis_index("i")), X))


def test_threads_have_names_of_their_own():
    barrier = threading.Barrier(2)

    def f(name):
        def g(x):
            barrier.wait(HANG)
            return ft.psum(x, name)

        return ft.vmap(g, axis_name=name)(X)

    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(f, ["i", "k"]):
            equal(result, np.tile(X.sum(0), (4, 1)))


# ---- what is wrong ----


def test_what_is_no_array():
    raises(
        TypeError, lambda: over(lambda x: ft.psum({"a": [x, "text"]}, "i"), X), "psum",
        "x['a'][1]", "'text'", "pass arrays",
    )  # fmt: skip


ERRORS = [
    (lambda x: ft.all_gather(x, "i", axis=2), ValueError, "all_gather | axis 2 | (3,)"),
    (lambda x: ft.all_gather(x, "i", axis=1, tiled=True), ValueError, "axis 1 | -1 to 0"),
    (lambda x: ft.all_gather(x[0], "i", tiled=True), ValueError, "() | no axis"),
    (lambda x: ft.all_gather(x, "i", axis=0.0), TypeError, "all_gather: axis | float"),
    (lambda x: ft.psum_scatter(x, "i"), ValueError, "psum_scatter | 3 elements | 4 examples"),
    (
        lambda x: ft.psum_scatter(x, "i", tiled=True),
        ValueError,
        "psum_scatter | 3 elements | a multiple",
    ),
    (
        lambda x: ft.psum_scatter(x, "i", scatter_dimension=1),
        ValueError,
        "scatter_dimension 1 | -1 to 0",
    ),
]


@pytest.mark.parametrize(("call", "kind", "parts"), ERRORS)
def test_axes_that_do_not_fit(call, kind, parts):
    raises(kind, lambda: over(call, X), parts)


def test_a_tensor_whose_level_has_ended():
    with ft.vmap(axis_name="i") as B:
        x = B(X)

    with pytest.raises(ft.EscapedTensorError) as error, ft.vmap(axis_name="i", axis_size=4):
        ft.psum(x, "i")
    has_all(message(error), "vmap()", "test_collectives.py:")


# ---- chunks ----


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin", "all_gather"])
@pytest.mark.parametrize("chunk_size", [1, 3])
@pytest.mark.parametrize("inside", [False, True])
def test_a_chunk_has_not_all_examples(name, chunk_size, inside):
    f = lambda x: np.sum(getattr(ft, name)(x, "i"))  # noqa: E731
    call = ft.vmap(ft.grad(f) if inside else f, axis_name="i", chunk_size=chunk_size)
    raises(ValueError, lambda: call(X), "'i'", "a chunk has only some", "leave chunk_size out")


def test_one_chunk_has_all_examples():
    f = lambda x: x / ft.psum(x, "i")  # noqa: E731
    equal(ft.vmap(f, axis_name="i", chunk_size=4)(X), over(f, X))
    nested = ft.vmap(ft.vmap(f, axis_name="i"), chunk_size=1, axis_name="j")
    equal(nested(X), ft.vmap(ft.vmap(f, axis_name="i"))(X))


@pytest.mark.parametrize("chunk_size", [1, 3, 4])
def test_what_a_chunk_knows_of_the_whole_batch(chunk_size):
    def f(x):
        of_each = ft.psum_scatter(np.arange(4.0), "i")
        return ft.axis_index("i") * x, ft.axis_size("i"), ft.psum(1, "i"), of_each

    index, size, one, of_each = ft.vmap(f, axis_name="i", chunk_size=chunk_size)(X)
    equal(index, np.arange(4)[:, None] * X)
    equal(size, np.full(4, 4))
    equal(one, np.full(4, 4))
    equal(of_each, 4 * np.arange(4.0))


def test_names_around_chunks_are_known_in_threads():
    f = lambda x: ft.vmap(lambda y: ft.psum(x * y, "i"), chunk_size=1, executor=pool)(x)  # noqa: E731
    with ThreadPoolExecutor(2) as pool:
        equal(over(f, X), np.tile(X.T @ X, (4, 1, 1)))
