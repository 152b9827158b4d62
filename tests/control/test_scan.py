"""scan, map and associative_scan beside Python's loops; what loops keep in memory."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_control import DERIVATIVES, looped, under

import functier as ft
from functier import associative_scan, cond, fori_loop, scan, while_loop
from support.basics import close, equal, held, model, raises

RNG = np.random.default_rng(7)


def scan_python(f, init, xs=None, length=None, reverse=False):
    """The loop that scan stands for, of one array."""
    n = length if xs is None else len(xs)
    carry, ys = init, [None] * n
    for i in range(n)[:: -1 if reverse else 1]:
        carry, ys[i] = f(carry, None if xs is None else xs[i])
    return carry, np.stack(ys)


# ---- scan ----


def step(c, x):
    return np.sin(c) * x + 0.5, c * c + x


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
def test_a_scan_is_a_loop(n, reverse):
    xs = RNG.normal(size=(n, 3))
    for f, init in ((step, xs[0] * 2), (lambda c, x: step(c, np.sum(x)), 0.5)):
        carry, ys = scan(f, init, xs, reverse=reverse)
        expected = scan_python(f, init, xs, reverse=reverse)
        equal(carry, expected[0])
        equal(ys, expected[1])


def test_a_scan_of_a_length():
    carry, ys = scan(lambda c, x: (c * 2, (x, c)), 1, None, 4)
    assert carry == 16
    assert ys[0] is None
    equal(ys[1], np.array([1, 2, 4, 8]))
    assert scan(lambda c, x: (c + x, None), 0, np.arange(5), length=np.int64(5)) == (10, None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, np.float32(2), 1], np.array([1.5, 2, 1], np.float32)),
        ([np.float32(2), 1.5, True], np.array([2, 1.5, 1], np.float32)),
        ([1, 2.5, 3], np.array([1, 2.5, 3])),
        ([2.5, 1, np.complex64(1j)], np.array([2.5, 1, 1j], np.complex64)),
        ([True, 2, np.int8(3)], np.array([1, 2, 3], np.int8)),
        ([1, 2.5, np.int64(3)], None),
        ([2.5, 1, np.int64(3)], None),
        ([1, np.float32(2), np.float64(3)], None),
        ([np.int64(1), 2.5], None),
    ],
)
def test_python_numbers_among_results_take_the_dtype_of_the_arrays(values, expected):
    def stacked():
        return scan(lambda i, _: (i + 1, values[i]), 0, None, len(values))[1]

    if expected is None:
        raises(TypeError, stacked, "return one shape and dtype in all steps")
    else:
        equal(stacked(), expected)


def test_trees_go_in_and_out():
    xs = {"a": np.arange(3.0), "b": (np.ones((3, 2)), None)}

    def f(c, x):
        return {"n": c["n"] + 1}, {"sum": x["a"] + x["b"][0], "n": c["n"], "none": x["b"][1]}

    carry, ys = scan(f, {"n": 0}, xs)
    assert carry == {"n": 3}
    assert ys["none"] is None
    equal(ys["sum"], np.arange(3.0)[:, None] + np.ones((3, 2)))
    equal(ys["n"], np.arange(3))


@pytest.mark.parametrize("transform", [None, "vmap", "grad"])
def test_no_steps_give_results_of_the_right_form(transform):
    calls = []

    def f(c, x):
        calls.append(x)
        return c, (np.float32(1) * x["a"].astype(np.float32), {"n": x["b"] / 0})

    def empty(c):
        carry, ys = scan(f, c, {"a": np.zeros((0, 2)), "b": np.zeros(0, int)})
        equal(np.asarray(carry) if transform is None else 0.0, 0.0)
        equal(ys[0], np.zeros((0, 2), np.float32))
        equal(ys[1]["n"], np.zeros(0))
        return carry * 2.0

    if transform is None:
        equal(empty(0.0), 0.0)
    elif transform == "vmap":
        equal(ft.vmap(empty)(np.arange(3.0)), np.arange(3.0) * 2)
    else:
        equal(ft.grad(empty)(1.0), 2.0)
    assert len(calls) == 1
    equal(scan(lambda c, x: (c, None), 1.0, None, 0)[0], 1.0)


@st.composite
def programs(draw):
    """A nesting, and arrays of a scan with a batch axis for each vmap of it."""
    nest = draw(st.lists(st.sampled_from(["vmap", "vmap", *DERIVATIVES]), max_size=4))
    while sum(name != "vmap" for name in nest) > 2:
        nest.remove(next(name for name in nest if name != "vmap"))
    batch = [draw(st.sampled_from([0, 1, 2])) for name in nest if name == "vmap"]
    n = draw(st.integers(1, 5))
    values = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(*batch, n))
    return nest, values, draw(st.booleans())


@given(programs())
def test_a_scan_under_any_nesting_is_a_loop(drawn):
    """Over the argument, with the argument as the carry too, and with a choice in each step."""
    nest, xs, reverse = drawn

    def program(scan, choose):
        def f(xs):
            def step(c, x):
                return choose(c > x, np.cos, lambda c: c * x, c) * 0.3 + x * xs[0], np.tanh(c) * x

            carry, ys = scan(step, xs[-1], xs, reverse=reverse)
            return ys * carry

        return f

    def python(pred, yes, no, c):
        return yes(c) if pred else no(c)

    own = under(nest, program(scan, cond), ft.vmap)(xs)
    close(own, under(nest, program(scan_python, python), looped)(xs), 1e-10)


def test_closures_of_every_level():
    """The step uses values of levels that are not among its arguments."""

    def program(scan, vmap):
        def outer(a):
            def inner(b):
                xs = np.stack([a, b, a * b])
                return np.sum(scan(lambda c, x: (c * x + b, c * a), b, xs)[1])

            return np.sum(vmap(ft.grad(inner))(np.array([0.5, 2.0])) * a)

        return vmap(lambda a: ft.jvp(outer, (a,), (2.0 + a,))[1])(np.array([1.5, -1.0]))

    close(program(scan, ft.vmap), program(scan_python, looped))


def test_a_carry_becomes_a_batch():
    def f(x):
        return scan(lambda c, _: (c + x, c), 0.0, None, 3)

    carry, ys = ft.vmap(f)(np.array([1.0, 2.0]))
    equal(carry, np.array([3.0, 6.0]))
    equal(ys, np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]))


def test_slices_of_a_tensor_cost_what_they_are():
    """Backward no slice is put into an array of the size of them all."""
    n = 4096
    sizes = []

    class Watched(ft.Tensor):
        @classmethod
        def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
            out = super().__tensor_dispatch__(func, types, args, kwargs)
            sizes.append(np.size(getattr(out, "_value", 0)))
            return out

    def last(xs):
        return scan(lambda c, x: (c + x * x, None), 0.0, xs)[0]

    xs = RNG.normal(size=n)
    slopes = ft.grad(last)(Watched(xs))
    equal(slopes.elem(), 2 * xs)
    assert sum(sizes) < 600 * n  # n * n would be 4096 * n


# ---- map ----


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("n", [1, 5, 6])
def test_a_map_is_a_loop(n, batch_size):
    xs = {"a": RNG.normal(size=(n, 2)), "b": RNG.normal(size=n)}

    def f(x):
        return x["a"] * x["b"], (np.sum(x["a"]),)

    a, (b,) = ft.map(f, xs, batch_size=batch_size)
    equal(a, xs["a"] * xs["b"][:, None])
    equal(b, np.sum(xs["a"], axis=1))


def test_a_map_in_batches_calls_the_function_once_a_batch():
    calls = []

    def f(x):
        calls.append(x)
        return x * 2.0

    equal(ft.map(f, np.arange(5.0), batch_size=2), np.arange(5.0) * 2)
    assert len(calls) == 3
    equal(ft.map(f, np.arange(5.0)), np.arange(5.0) * 2)
    assert len(calls) == 8


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize(
    "nest", [["grad"], ["vmap"], ["vmap", "grad"], ["grad", "vmap"], ["jvp", "vmap", "vjp"]]
)
def test_a_map_under_transforms(nest, batch_size):
    def f(xs):
        return ft.map(lambda x: np.sin(x) * xs[0], xs, batch_size=batch_size)

    def python(xs):
        return np.stack([np.sin(x) * xs[0] for x in xs])

    xs = RNG.normal(size=(2, 3) if "vmap" in nest else 3)
    close(under(nest, f, ft.vmap)(xs), under(nest, python, looped)(xs))


def test_a_map_may_branch_by_values():
    equal(ft.map(lambda x: x if x > 0 else -x * 2, np.array([1.0, -1.0])), np.array([1.0, 2.0]))
    equal(ft.map(lambda x: x * 2, np.zeros((0, 3))), np.zeros((0, 3)))


# ---- associative_scan ----


@pytest.mark.parametrize("n", range(10))
@pytest.mark.parametrize("reverse", [False, True])
def test_partial_products(n, reverse):
    xs = RNG.normal(size=(2, n, 3))
    along = xs[:, ::-1] if reverse else xs
    expected = np.cumsum(along, axis=1)
    close(associative_scan(np.add, xs, reverse, 1), expected[:, ::-1] if reverse else expected)
    equal(associative_scan(np.maximum, xs, axis=-2), np.maximum.accumulate(xs, axis=1))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_operation_that_does_not_commute(n, reverse):
    m, v = RNG.normal(size=(n, 2, 2)), RNG.normal(size=(n, 2))

    def compose(a, b):  # x -> m x + v, a before b
        (m, v), (k, w) = a, b
        return k @ m, np.einsum("...ij,...j", k, v) + w

    got = associative_scan(compose, (m, v), reverse=reverse)
    order = list(range(n))[:: -1 if reverse else 1]
    total = m[order[0]], v[order[0]]
    for i, place in enumerate(order):
        if i:
            total = compose(total, (m[place], v[place]))
        close(got[0][place], total[0])
        close(got[1][place], total[1])


def test_a_logarithm_of_calls():
    calls = []

    def add(a, b):
        calls.append(len(a))
        return a + b

    equal(associative_scan(add, np.ones(1024)), np.arange(1.0, 1025))
    assert len(calls) < 2 * 10
    assert sum(calls) < 2 * 1024


@pytest.mark.parametrize(
    "nest", [["grad"], ["vmap"], ["vmap", "grad"], ["jvp", "vmap"], ["grad", "grad"]]
)
def test_associative_scan_under_transforms(nest):
    xs = RNG.normal(size=(2, 5) if "vmap" in nest else 5)
    program = under(nest, lambda x: associative_scan(np.multiply, x) * x[0], ft.vmap)
    close(program(xs), under(nest, lambda x: np.cumprod(x) * x[0], looped)(xs), 1e-10)


# ---- errors ----

X = np.ones(2)


ERRORS = [
    (TypeError, lambda: scan(3, 0.0, X), "scan: f is a Python int | pass a function"),
    (ValueError, lambda: scan(model, 0.0), "scan(model): xs contains no arrays | length"),
    (ValueError, lambda: scan(model, 0.0, X, 3), "xs has length 2 along axis 0, but length is 3"),
    (ValueError, lambda: scan(model, 0.0, length=-1), "length=-1"),
    (TypeError, lambda: scan(model, 0.0, length=2.0), "length is a Python float"),
    (ValueError, lambda: scan(model, 0.0, 1.0), "xs is a Python float, which has no axis"),
    (ValueError, lambda: scan(model, 0.0, {"a": X, "b": "text"}), "xs['b'] is a Python str"),
    (
        ValueError,
        lambda: scan(model, 0.0, (X, [X, np.ones(3)])),
        "xs[1][1] has length 3 along axis 0, but that of xs[0] is 2",
    ),
    (
        TypeError,
        lambda: scan(lambda c, x: c, 0.0, X),
        "f returned an array of shape () | (carry, y)",
    ),
    (TypeError, lambda: scan(lambda c, x: (c, x, x), 0.0, X), "f returned (float"),
    (
        TypeError,
        lambda: scan(lambda c, x: ({"a": c["a"][0]}, x), {"a": X}, X),
        "f returned float64[] for init['a'] of the carry, which was float64[2]",
    ),
    (
        TypeError,
        lambda: scan(lambda c, x: (c + 1, np.ones(c)), 1, X),
        "the result is float64[2], but was float64[1] before",
    ),
    (
        TypeError,
        lambda: scan(lambda c, x: (c + 1, (x, x) if c else {"a": x}), 0, X),
        "f returned the result (float64[], float64[]), but {'a': float64[]} before",
    ),
    (
        TypeError,
        lambda: scan(lambda c, x: (c, "a"), 0, X),
        "the result is a Python str; return arrays",
    ),
    (TypeError, lambda: ft.map(None, X), "map: f is a Python NoneType"),
    (ValueError, lambda: ft.map(model, 2.0), "map(model): xs is a Python float"),
    (
        TypeError,
        lambda: ft.map(lambda x: None if x > 2 else "a", X),
        "map(<lambda>) | return arrays",
    ),
    (ValueError, lambda: ft.map(model, X, batch_size=0), "map(model): batch_size=0 | at least 1"),
    (TypeError, lambda: associative_scan(3, X), "associative_scan: fn is a Python int"),
    (
        ValueError,
        lambda: associative_scan(model, {"a": X}, axis=1),
        "associative_scan(model) | elems['a'] | no axis 1",
    ),
    (
        ValueError,
        lambda: associative_scan(model, (X, np.ones(3))),
        "elems[1] has length 3 | elems[0] has 2",
    ),
    (
        TypeError,
        lambda: associative_scan(lambda a, b: a[:0], np.ones(4)),
        "fn returned an array of shape (0,)",
    ),
    (
        TypeError,
        lambda: associative_scan(lambda a, b: (a, b), np.ones(4)),
        "fn returned (float64[2]",
    ),
]


@pytest.mark.parametrize(("kind", "call", "parts"), ERRORS)
def test_errors_say_what_is_wrong(kind, call, parts):
    raises(kind, call, parts)


@pytest.mark.parametrize("reverse", [False, True])
def test_an_error_in_a_scan_tells_the_step(reverse):
    def f(c, x):
        return c / (x - 2), 0

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as error:
        scan(f, 1.0, np.arange(5.0), reverse=reverse)
    assert error.value.__notes__ == ["scan(f): in step 2 of 5"]

    with pytest.raises(ZeroDivisionError) as error:
        ft.map(lambda x: 1 / int(x), np.array([1.0, 0.0]))
    assert error.value.__notes__ == ["map(<lambda>): in step 1 of 2"]


# ---- memory ----

SIZE = 5000
ONE = SIZE * 8
"""An array, and its bytes."""
WORK = 8
"""The number of arrays that the body makes, each of which reverse mode has to keep."""


def body(c):
    for _ in range(WORK):
        c = np.sin(c)
    return c


def peak(f, *args):
    """The bytes that a call needs at most, in arrays of `SIZE`."""
    f(*args)  # what is made once
    return held(lambda: f(*args))[2] / ONE


def loops(body, n):
    """The three loops of `n` steps, of which nothing remains but the last carry."""
    return {
        "scan": lambda c: scan(lambda c, _: (body(c), None), c, None, n)[0],
        "while_loop": lambda c: while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, body(s[1])), (0, c)
        )[1],
        "fori_loop": lambda c: fori_loop(0, n, lambda i, c: body(c), c),
    }


NAMES = list(loops(body, 0))
C = RNG.normal(size=SIZE)


@pytest.mark.parametrize("name", NAMES)
def test_reverse_mode_keeps_what_the_body_records(name):
    few, many = [peak(ft.grad(lambda c, n=n: np.sum(loops(body, n)[name](c))), C) for n in (5, 25)]
    assert 20 * WORK - 1 < many - few < 20 * WORK + 2


@pytest.mark.parametrize("name", NAMES)
def test_with_a_checkpoint_it_keeps_one_carry_a_step_and_one_body(name):
    def loss(n):
        return ft.grad(lambda c: np.sum(loops(ft.checkpoint(body), n)[name](c)))

    few, many = peak(loss(5), C), peak(loss(25), C)
    assert 20 - 1 < many - few < 20 + 2
    assert few < 5 + 2 * WORK
    equal(loss(5)(C), ft.grad(lambda c: np.sum(loops(body, 5)[name](c)))(C))


FORWARD = {
    "nothing": lambda f: f,
    "vmap": lambda f: ft.vmap(f),
    "jvp": lambda f: lambda c: ft.jvp(f, (c,), (c,)),
    "vmap of jvp": lambda f: ft.vmap(lambda c: ft.jvp(f, (c,), (c,))),
}


@pytest.mark.parametrize(("transform", "name"), list(itertools.product(FORWARD, NAMES)))
def test_forward_mode_and_vmap_keep_nothing_that_grows(transform, name):
    few, many = [peak(FORWARD[transform](loops(body, n)[name]), C) for n in (5, 50)]
    assert abs(many - few) < 0.5
    assert few < 8


def test_a_loop_that_ends_at_different_times_keeps_nothing_that_grows():
    def f(c, n):
        return fori_loop(0, n, lambda i, c: body(c), c)

    few, many = [peak(ft.vmap(f), C.reshape(2, -1), np.array([n, n // 2])) for n in (6, 60)]
    assert abs(many - few) < 0.5


def test_results_are_held_twice_while_they_are_stacked():
    n = 40
    out = peak(lambda c: scan(lambda c, _: (np.sin(c), np.cos(c)), c, None, n), C)
    assert 2 * n <= out < 2 * n + 4
    two = peak(lambda c: scan(lambda c, _: (np.sin(c), (np.cos(c), np.exp(c))), c, None, n), C)
    assert 3 * n <= two < 3 * n + 5


def test_the_measure_of_memory_finds_what_is_kept():
    kept = []
    few, many = [peak(lambda c, n=n: kept.extend(np.sin(c) for _ in range(n)), C) for n in (5, 25)]
    assert many - few > 15
