"""writes: arrays that a function refills although a derivative keeps them."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
import functier.numpy as fnp
import samples
from support import checks
from support.basics import equal, has_all, in_thread, line_of, message
from support.differences import check
from support.programs import apply, programs, starts
from support.rows import run_each
from support.view_programs import INTO, THROUGH_VIEWS
from support.write_programs import AT_INDEXES, WRITES


def found(call):
    """The text of the MutationError that `call` raises while writes is on."""
    with ft.debug.writes(), pytest.raises(ft.MutationError) as error:
        call()
    return message(error)


X = np.array([0.5, -0.4, 1.2])
BUFFER = np.zeros(3)


# ---- functions that refill an array; each says what it would be with copies ----


def refilled(x, own=lambda a: a):
    """A buffer of a module, refilled for each term of a sum."""
    total = 0.0
    for i in range(3):
        BUFFER[:] = i + 1.0
        total = total + np.sum(own(BUFFER) * x * x)
    return total


def doubled(x, own=lambda a: a):
    """Coefficients that an operator changes in place."""
    c = np.ones(3)
    y = x
    for _ in range(3):
        y = y * own(c)
        c *= 2.0
    return np.sum(y)


def moved(x, own=lambda a: a):
    """The positions of an index."""
    at = np.zeros(2, int)
    total = 0.0
    for i in range(2):
        at[:] = i, i + 1
        total = total + np.sum(x[own(at)] * (i + 1.0))
    return total


def masked(x, own=lambda a: a):
    """The condition of numpy.where, and a list of operands."""
    mask = np.zeros(3, bool)
    total = 0.0
    for i in range(3):
        mask[:] = np.arange(3) == i
        total = total + (i + 1.0) * np.sum(np.where(own(mask), x, 0.0))
    return total


def contracted(x, own=lambda a: a):
    """A view of a large array, and a composite that multiplies by it."""
    table = np.ones((40, 40))
    y = np.einsum("ij,j->i", own(table)[:3, :3], x)
    table[2, 2] = 5.0
    return np.sum(y)


def solved(x, own=lambda a: a):
    """A matrix that an object of two rules keeps."""
    a = np.eye(3) * 2.0
    y = np.linalg.solve(own(a), x)
    a[0, 0] = 7.0
    return np.sum(y * y)


def rerun(x, own=lambda a: a):
    """An argument of a function that runs again in the backward pass."""
    b = np.ones(3)
    y = ft.checkpoint(lambda x, b: np.sin(x * b))(x, own(b))
    b *= 3.0
    return np.sum(y)


@ft.custom_vjp
def scaled(x, factor):
    return x * factor


scaled.defvjp(lambda x, factor: (x * factor, factor), lambda factor, g: (g * factor, None))


def custom(x, own=lambda a: a):
    """An array that a custom rule keeps."""
    b = np.ones(3)
    y = scaled(x, own(b))
    b *= 3.0
    return np.sum(y)


FAULTS = {f.__name__: f for f in (
    refilled, doubled, moved, masked, contracted, solved, rerun, custom,
)}  # fmt: skip
TRANSFORMS = {
    "grad": lambda f: ft.grad(f)(X),
    "value_and_grad": lambda f: ft.value_and_grad(f)(X)[1],
    "vjp": lambda f: ft.vjp(f, X)[1](1.0)[0],
    "jacrev": lambda f: ft.jacrev(lambda x: np.stack([f(x), 2.0 * f(x)]))(X)[0],
    "vmap(grad)": lambda f: ft.vmap(ft.grad(f))(np.stack([X, X]))[1],
    "grad(vmap)": lambda f: ft.grad(lambda x: np.sum(ft.vmap(f)(np.stack([x, x]))))(X) / 2.0,
    "grad(jvp)": lambda f: ft.grad(lambda x: ft.jvp(f, (x,), (X,))[0])(X),
    "jvp(grad)": lambda f: ft.jvp(ft.grad(f), (X,), (X,))[0],
    "grad(grad)": lambda f: ft.grad(lambda x: ft.grad(lambda y: f(y) + np.sum(x * y))(X)[0])(X),
    "linearize": lambda f: np.stack([ft.linearize(f, X)[1](e) for e in np.eye(3)]),
    "grad block": lambda f: block_gradient(f),
}


def block_gradient(f):
    with ft.grad() as G:
        x = G(X)
        return G.gradient(f(x), x)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_refilled_array_is_copied(name, transform):
    f, take = FAULTS[name], TRANSFORMS[transform]
    with ft.debug.writes():
        equal(take(f), take(lambda x: f(x, np.copy)))


TABLE = np.ones((400, 120))


def skipped(x, own=lambda a: a):
    """A row of a matrix that is read once, between the elements of the fingerprint."""
    TABLE[1] = 1.0
    y = np.sum(own(TABLE) @ np.tile(x, 40))
    TABLE[1] = 2.0
    return y * y


@pytest.mark.parametrize("transform", [name for name in TRANSFORMS if name != "linearize"])
def test_what_a_fingerprint_misses_is_found(transform):
    take = TRANSFORMS[transform]
    text = found(lambda: take(skipped))
    has_all(text, "would read", "TABLE", "which was written to after", ", in skipped: ", "copy")
    with ft.debug.writes():
        equal(
            take(lambda x: skipped(x, np.copy)),
            take(lambda x: np.sum(np.ones((400, 120)) @ np.tile(x, 40)) ** 2),
        )


# ---- the message ----


def test_message_names_transform_operation_array_line_and_remedy():
    text = found(lambda: ft.grad(skipped)(X))

    has_all(
        text,
        "grad(skipped): the derivative of numpy.matmul for its operand 'x2' would read TABLE, "
        "float64 of shape (400, 120), which was written to after numpy.matmul had kept it",
        f"{line_of(__file__, 'y = np.sum(own(TABLE)')}, in skipped: y = ",
        "pass TABLE.copy() to the operation, or make the array inside the function with "
        "functier.numpy, which tracks writes",
    )


def test_message_on_a_view():
    table = np.zeros((400, 240))

    def part(x):
        y = table[:, :120] @ np.tile(x, 40)
        table[1] = 1.0
        return np.sum(y)

    text = found(lambda: ft.grad(part)(X))
    has_all(
        text, "read a view of the memory of table, float64 of shape (400, 120),", "table.copy()"
    )


@pytest.mark.parametrize("checked", [True, False])
def test_a_large_array_is_found_in_the_block_and_outside(checked):
    large = np.zeros((300, 300))

    def f(x):
        y = np.sum(large * x[0])
        large[7, 8] = 2.0
        return y

    with ft.debug.writes(checked), pytest.raises(ft.MutationError) as error:
        ft.grad(f)(X)
    has_all(
        message(error),
        "grad(f): the derivative of numpy.multiply would read an array, float64 of shape "
        "(300, 300), which was written to after numpy.multiply had kept it",
        f"{line_of(__file__, 'y = np.sum(large * x[0])')}, in f: y = ",
    )


def test_an_argument_that_the_function_writes_to():
    xs = X.copy()

    def f(x):
        y = np.sum(x * x)
        xs[:] = 9.0
        return y

    text = found(lambda: ft.grad(f)(xs))
    has_all(text, "read xs, float64 of shape (3,),", "write to a copy, xs.copy()")


def test_a_result_that_the_function_writes_to():
    def f(x):
        y = np.exp(x)
        y.elem()[:] = 0.0
        return np.sum(y)

    text = found(lambda: ft.grad(f)(X))
    has_all(text, "read its result, float64 of shape (3,),", "write to a copy of it")


def test_an_array_without_a_name():
    class Store:
        array = np.ones((400, 120))

    def f(x):
        y = Store.array @ np.tile(x, 40)
        Store.array[1] = 2.0
        return np.sum(y)

    text = found(lambda: ft.grad(f)(X))
    has_all(text, "read its operand 'x1', float64 of shape (400, 120),", "the array.copy()")


# ---- what is right is not reported ----


def sum_of_refilled(x):
    total = 0.0
    for i in range(3):
        BUFFER[:] = i
        total = total + np.sum(BUFFER + x)
    return total


def dead_branch(x):
    BUFFER[:] = 1.0
    x * BUFFER
    BUFFER[:] = 2.0
    return np.sum(x * x)


def same_content(x):
    y = x * BUFFER
    BUFFER[:] = BUFFER.copy()
    return np.sum(y)


def inside_array(x):
    b = fnp.zeros(3)
    total = 0.0
    for i in range(3):
        b[:] = i + 1.0
        total = total + np.sum(b * x)
    return total


def not_a_number(x):
    b = np.full(3, np.nan)
    return np.sum(np.where(np.isnan(b), x, x * b))


RIGHT = {
    f.__name__: f for f in (sum_of_refilled, dead_branch, same_content, inside_array, not_a_number)
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_no_derivative_reads_is_not_reported(name, transform):
    f, take = RIGHT[name], TRANSFORMS[transform]
    expected = take(f)
    with ft.debug.writes():
        equal(take(f), expected)


def test_forward_mode_is_right():
    for f in FAULTS.values():
        with ft.debug.writes():
            moved = ft.jvp(f, (X,), (X,))[1]
        equal(moved, ft.jvp(lambda x, f=f: f(x, np.copy), (X,), (X,))[1])


def test_arrays_that_are_written_to_after_the_call():
    """A pullback owns copies."""
    b, x = np.ones(3), X.copy()
    with ft.debug.writes():
        _, pullback = ft.vjp(lambda x: x * x * b, x)
        _, pushforward = ft.linearize(lambda x: x * x * b, x)
        b[:], x[:] = 5.0, 6.0
        equal(pullback(np.ones(3))[0], 2.0 * X)
        equal(pushforward(np.ones(3)), 2.0 * X)


ROWS = [
    pytest.param(row, id=name, marks=[pytest.mark.slow] * (name.startswith("scipy") or k % 2 == 1))
    for k, (name, row) in enumerate([*samples.named().items()][::110])
]


@pytest.mark.parametrize("row", ROWS)
def test_samples_raise_nothing(row):
    with np.errstate(all="ignore"), ft.debug.writes():
        for test in checks.checks_of(row).values():
            test(row)


@given(
    nesting=st.lists(st.sampled_from(["vmap", "grad", "jvp", "vjp"]), min_size=1, max_size=3),
    program=programs,
    start=starts,
)
def test_random_programs_raise_nothing(nesting, program, start):
    expected = apply(nesting, program, [start])
    with ft.debug.writes():
        equal(apply(nesting, program, [start]), expected)


@pytest.mark.parametrize("names", [["grad"], ["vmap", "grad"], ["grad", "jvp"]], ids=" ".join)
def test_programs_that_write_raise_nothing(names):
    table = {**AT_INDEXES, **WRITES, **THROUGH_VIEWS, **INTO}

    def test(f):
        with ft.debug.writes():
            check(names, f, X)

    run_each(dict([*table.items()][::8]), test)


# ---- the block ----


def test_a_pullback_that_is_called_outside_of_the_block():
    with ft.debug.writes():
        _, pullback = ft.vjp(skipped, X)
    with pytest.raises(ft.MutationError, match="would read TABLE"):
        pullback(1.0)


def test_outside_of_the_block_nothing_is_checked():
    with ft.debug.writes():
        pass
    ft.grad(skipped)(X)
    with ft.debug.writes(), ft.debug.writes(check=False):
        ft.grad(skipped)(X)


def test_a_block_inside_the_function():
    def f(x):
        with ft.debug.writes():
            return skipped(x)

    with pytest.raises(ft.MutationError, match="would read TABLE"):
        ft.grad(f)(X)


def test_as_a_decorator():
    with pytest.raises(ft.MutationError, match="would read TABLE"):
        ft.debug.writes()(ft.grad(skipped))(X)
    with pytest.raises(TypeError, match=r"write True or False, and @writes\(\) with"):
        ft.debug.writes(np.sin)


def test_together_with_the_others():
    text = found(lambda: ft.debug.debug_nans()(ft.debug.detect_anomaly()(ft.grad(skipped)))(X))
    assert "would read TABLE" in text
    with ft.debug.writes(), np.errstate(all="ignore"):
        assert np.isinf(ft.grad(np.sqrt)(0.0))
        with pytest.raises(ft.NonFiniteError), ft.debug.debug_nans():
            ft.grad(np.sqrt)(0.0)


def test_other_threads_are_not_affected():
    ready = threading.Event()
    with ft.debug.writes():
        in_thread(lambda: (ft.grad(skipped)(X), ready.set()))
    assert ready.is_set()


def test_nothing_is_on_where_it_is_off():
    """The levels, their rules and their steps are those of an untouched process."""
    kinds = []

    def f(x):
        kinds.append(type(type(x).level).__name__)
        y = x * x
        kinds.append(type(y._extra[2]).__name__)
        return np.sum(y)

    ft.grad(f)(X)
    with ft.debug.writes():
        ft.grad(f)(X)
    ft.grad(f)(X)

    assert kinds == ["GradLevel", "function", "WatchedGradLevel", "Edge", "GradLevel", "function"]
