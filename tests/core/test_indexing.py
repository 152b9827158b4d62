"""Indexing under every transform: NumPy's rules for where axes go, its errors, its sums."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import functier as ft
from support.basics import close, equal, has_all, message, raises, recorder

N = 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2, 3, 2))
ROW = RNG.integers(-2, 2, (N, 2))
ONE = RNG.integers(-2, 2, N)
PAIRS = RNG.integers(0, 2, (N, 2, 2))
ROWS = np.array([True, False])
PLANE = np.array([[True, False, True], [False, True, False]])

INDEXES = {
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x[:, i],
    "x[..., i]": lambda x, i: x[..., i],
    "x[..., i, :]": lambda x, i: x[..., i, :],
    "x[i, :, i]": lambda x, i: x[i, :, i],
    "x[i, ..., i]": lambda x, i: x[i, ..., i],
    "x[i, i, ..., i]": lambda x, i: x[i, i, ..., i],
    "x[i, None, i]": lambda x, i: x[i, None, i],
    "x[:, None, i]": lambda x, i: x[:, None, i],
    "x[None, ..., i, None, 0]": lambda x, i: x[None, ..., i, None, 0],
    "x[0, i]": lambda x, i: x[0, i],
    "x[0, :, i]": lambda x, i: x[0, :, i],
    "x[i, :, 0]": lambda x, i: x[i, :, 0],
    "x[-1, i, np.int64(1)]": lambda x, i: x[-1, i, np.int64(1)],
    "x[1:, i, ::-1]": lambda x, i: x[1:, i, ::-1],
    "x[:, i, [1]]": lambda x, i: x[:, i, [1]],
    "x[[1], ..., i]": lambda x, i: x[[1], ..., i],
    "x[i, [[0], [1]]]": lambda x, i: x[i, [[0], [1]]],
    "x[array(0), :, i]": lambda x, i: x[np.array(0), :, i],
    "x[ROWS, :, i[..., :1]]": lambda x, i: x[ROWS, :, i.reshape(-1)[:1]],
    "x[PLANE, i[0]]": lambda x, i: x[PLANE, i.reshape(-1)[0]],
    "x[True, i]": lambda x, i: x[True, i],
    "x[i.T]": lambda x, i: x[i.T],
}


@pytest.fixture(params=[ONE, ROW, PAIRS], ids=["0-d", "1-d", "2-d"])
def many(request):
    """One index array for each example."""
    return request.param


def loop_over(f, dims, *operands):
    """Compute the result that `vmap` has to have: one example after the other."""
    n = next(len(x) for x, d in zip(operands, dims) if d == 0)
    examples = [[x[j] if d == 0 else x for x, d in zip(operands, dims)] for j in range(n)]
    return np.stack([f(*example) for example in examples])


def plain(y):
    """A root tensor's value; `ndarray[tensor]` is not ours, so tests index a root tensor."""
    return y.elem() if isinstance(y, ft.Tensor) else y


def as_root(f):
    """`f` that may have a plain array to index."""
    return lambda x, i: f(ft.tensor(x), i)


# ---- a batch ----


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("f", INDEXES.values(), ids=INDEXES)
def test_batch_is_a_loop(f, dims, many):
    operands = [v if d == 0 else v[0] for v, d in zip((X, many), dims)]

    actual = ft.vmap(as_root(f), dims)(*operands)

    equal(plain(actual), loop_over(f, dims, *operands))


@pytest.mark.parametrize("outer", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("f", INDEXES.values(), ids=INDEXES)
def test_nested_batch_is_a_nested_loop(f, dims, outer):
    x, i = [v if d == 0 else v[0] for v, d in zip((X, ROW), dims)]
    operands = [v if d is None else np.stack([v, np.roll(v, 1, -1)]) for v, d in zip((x, i), outer)]

    actual = ft.vmap(ft.vmap(as_root(f), dims), outer)(*operands)

    equal(plain(actual), loop_over(lambda x, i: loop_over(f, dims, x, i), outer, *operands))


def test_a_number_has_a_new_axis():
    assert ft.grad(lambda x: x[None][0])(2.0) == 1.0
    assert ft.grad(lambda x: x[...] * x[()])(2.0) == 4.0


# ---- derivatives ----


@pytest.mark.parametrize(
    "index",
    [
        (RNG.integers(0, 40, 300),),
        (slice(None), RNG.integers(0, 30, 100)),
        (RNG.integers(0, 40, 90), slice(None, None, 2), RNG.integers(-3, 3, 90)),
        (RNG.integers(-40, 40, (50, 1)), RNG.integers(0, 30, (50, 30)), slice(0, 2)),
    ],
)
@pytest.mark.parametrize("shape", [(40, 30, 3), (400, 300, 3)])
def test_gradient_of_large_arrays(index, shape):
    g = RNG.normal(size=np.zeros(shape)[index].shape)
    expected = np.zeros(shape)
    np.add.at(expected, index, g)

    close(ft.vjp(lambda x: x[index], np.zeros(shape))[1](g)[0], expected)


def test_sort_gives_the_gradient_of_ties_to_the_stable_order():
    x = np.array([2.0, 1.0, 2.0, 1.0])
    w = np.array([1.0, 2.0, 3.0, 4.0])

    equal(ft.grad(lambda x: np.sum(np.sort(x) * w))(x), np.array([3.0, 1.0, 4.0, 2.0]))
    equal(ft.jvp(np.sort, (x,), (w,))[1], np.array([2.0, 4.0, 1.0, 3.0]))
    equal(ft.grad(lambda x: np.sum(np.unique(x) * w[:2]))(x), np.array([2.0, 1.0, 0.0, 0.0]))


def test_default_of_select_is_differentiated():
    def f(x):
        return np.sum(np.select([x > 2, x > 1], [x * x, 2 * x], x))

    equal(ft.grad(f)(np.array([0.5, 1.5, 3.0])), np.array([1.0, 2.0, 6.0]))


# ---- errors ----

WRONG = {
    "too many": lambda x: x[0, 0, 0, 0],
    "too many behind an ellipsis": lambda x: x[..., 0, 0, 0, 0],
    "too many slices": lambda x: x[:, :, :, :],
    "out of range": lambda x: x[0, 3],
    "out of range from the end": lambda x: x[:, -4],
    "array out of range": lambda x: x[:, [0, 3]],
    "two ellipses": lambda x: x[..., ...],
    "a float": lambda x: x[1.0],
    "a float array": lambda x: x[np.array([1.0])],
    "a string": lambda x: x["name"],
    "a mask of another shape": lambda x: x[np.array([True, False, True])],
    "arrays that do not broadcast": lambda x: x[[0, 1], [0, 1, 1]],
}


@pytest.mark.parametrize("f", WRONG.values(), ids=WRONG)
def test_errors_are_those_of_numpy(f):
    calls = [
        lambda: ft.vmap(f)(X),
        lambda: ft.vmap(ft.vmap(f))(X[None]),
        lambda: ft.grad(lambda x: np.sum(f(x)))(X[0]),
        lambda: ft.vmap(ft.grad(lambda x: np.sum(f(x))))(X),
    ]
    with pytest.raises(IndexError) as expected:
        f(X[0])
    for call in calls:
        with pytest.raises(IndexError) as actual:
            call()
        assert message(actual) == message(expected)


def test_error_of_a_batched_index_speaks_of_one_example():
    with pytest.raises(IndexError) as error:
        ft.vmap(lambda x, j: x[:, j])(X, np.array([0, 1, 7]))
    has_all(message(error), "index 7 is out of bounds for axis 1 with size 3")


def test_batched_mask_is_refused_with_the_remedy():
    x = RNG.normal(size=(3, 4))
    with pytest.raises(ft.DataDependentError) as error:
        ft.vmap(lambda x: x[x > 0])(x)
    has_all(message(error), "vmap(<lambda>): ", "levels: Tensor <- ", "boolean mask", "numpy.where")


@pytest.mark.parametrize(
    "f",
    [
        np.nonzero, np.flatnonzero, np.argwhere, np.where, np.unique, np.unique_all,
        lambda x: np.extract(x > 0, x),
        lambda x: np.compress(x > 0, x),
        lambda x: np.setdiff1d(x, [1.0]),
    ],
)  # fmt: skip
def test_what_depends_on_the_data_is_refused_with_the_remedy(f):
    with pytest.raises(ft.DataDependentError) as error:
        ft.vmap(f)(np.tri(3, 4))
    has_all(message(error), "test_indexing.py:", "depends on the data", "numpy.where")


def test_slice_with_batched_ends_is_refused():
    raises(ft.DataDependentError, lambda: ft.vmap(lambda x, j: x[:j])(X, ONE))


WRITING = {
    "copyto": lambda a, t: np.copyto(a, t),
    "put": lambda a, t: np.put(a, [0], t),
    "put_along_axis": lambda a, t: np.put_along_axis(a, np.array([0]), t[:1], 0),
    "place": lambda a, t: np.place(a, np.array([True, False]), t),
    "putmask": lambda a, t: np.putmask(a, np.array([True, False]), t),
    "fill_diagonal": lambda a, t: np.fill_diagonal(a[:, None], t),
}


@pytest.mark.parametrize("name", WRITING)
def test_functions_that_write_do_what_numpy_does(name):
    """To a tensor: the array has the new elements, and the derivative is that of those."""

    def program(t):
        a = t + 1.0
        WRITING[name](a, t * 3.0)
        return a

    t = np.array([[1.0, 2.0], [4.0, 8.0]])
    slope = [[3.0, 1.0], [3.0, 3.0]][name == "copyto"]
    equal(ft.vmap(program)(t), loop_over(program, (0,), t))
    equal(ft.jacrev(program)(t[0]), np.diag(slope))
    equal(ft.jacfwd(program)(t[0]), np.diag(slope))


@pytest.mark.parametrize("name", [name for name in WRITING if name != "fill_diagonal"])
@pytest.mark.parametrize("transform", [ft.vmap, lambda f: lambda x: ft.vjp(f, x)])
def test_a_tensor_is_not_written_to_a_plain_array(name, transform):
    """The message says what to write, and the array is unchanged."""
    a = np.zeros(2)
    with pytest.raises(ft.MutationError) as error:
        transform(lambda t: WRITING[name](a, t))(np.ones((2, 2)))
    has_all(
        message(error), "test_indexing.py:", f"numpy.{name} ", "plain array",
        "functier.numpy.zeros or functier.numpy.array(a)",
    )  # fmt: skip
    equal(a, np.zeros(2))


def test_full_like_a_plain_array_names_itself_and_what_to_write():
    with pytest.raises(ft.MutationError) as error:
        ft.grad(lambda t: np.sum(np.full_like(np.ones(2), t)))(1.0)
    has_all(message(error), "numpy.full_like", "numpy.zeros_like(a) + t")


def test_full_like_a_tensor():
    equal(ft.vmap(lambda x: np.full_like(x, x[0]))(X[..., 0, 0]), np.repeat(X[:, :1, 0, 0], 2, 1))
    assert ft.grad(lambda x: np.sum(np.full_like(x[:3], x[0] * x[1])))(np.ones(4))[0] == 3.0


# ---- the protocol ----


def test_a_hook_sees_getitem():
    cls = recorder()
    x = cls(X[0])

    equal(x[0, [1, 2]].elem(), X[0][0, [1, 2]])
    assert cls.operations[0][0] is operator.getitem
    assert isinstance(ft.vmap(lambda i: x[i])(ROW), cls)


# ---- whatever is drawn ----


@st.composite
def arrays_and_indices(draw):
    """A shape, and an index for it: basic, or with integer arrays among its parts."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=3))
    if draw(st.integers(0, 2)) == 0:
        return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=8))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    arrays = draw(
        hnp.integer_array_indices(
            tuple(shape[a] for a in sorted(axes)),
            result_shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
        )
    )
    parts = []
    for axis, n in enumerate(shape):
        if draw(st.integers(0, 4)) == 0:
            parts.append(None)
        if axis in axes:
            parts.append(arrays[sorted(axes).index(axis)])
        else:
            parts.append(draw(st.one_of(st.integers(-n, n - 1), st.slices(n))))
    return shape, tuple(parts)


@given(arrays_and_indices(), st.data())
def test_drawn_indices(drawn, data):
    shape, index = drawn
    parts = index if isinstance(index, tuple) else (index,)
    places = [p for p, part in enumerate(parts) if isinstance(part, np.ndarray)]
    varying = sorted(data.draw(st.sets(st.sampled_from(places)))) if places else []
    x = np.arange(2.0 * np.prod(shape)).reshape(2, *shape)
    others = [np.stack([parts[p], parts[p][::-1] if parts[p].ndim else parts[p]]) for p in varying]

    def f(x, *arrays):
        return x[
            tuple(
                arrays[varying.index(p)] if p in varying else part for p, part in enumerate(parts)
            )
        ]

    equal(ft.vmap(f)(x, *others), np.stack([f(x[j], *[o[j] for o in others]) for j in range(2)]))
    if others:
        dims = (None, *[0] * len(others))
        same = ft.vmap(lambda x, *arrays: f(ft.tensor(x), *arrays), dims)(x[0], *others)
        equal(plain(same), np.stack([f(x[0], *[o[j] for o in others]) for j in range(2)]))
    y = f(x[0], *[o[0] for o in others])
    w = np.arange(1.0, 1.0 + y.size).reshape(np.shape(y))
    gradient = ft.vmap(ft.grad(lambda x, *arrays: np.sum(f(x, *arrays) * w)))(x, *others)
    for j in range(2):
        expected = np.zeros(x[j].size)
        positions = f(np.arange(x[j].size).reshape(shape), *[o[j] for o in others])
        np.add.at(expected, np.ravel(positions), np.ravel(w))
        equal(gradient[j], expected.reshape(shape))
