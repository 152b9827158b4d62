"""cond, switch, while_loop and fori_loop beside the Python they stand for, under every nesting."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from faults.planted import transforms as faulty
from functier import cond, fori_loop, switch, while_loop
from support.basics import close, equal, raises

POINTS = np.array([-1.5, 0.0, 0.75, 1.0, 4.0])
"""Below 0, at it and above: no branch of the programs is safe for all of them."""


# ---- programs, and the Python they stand for ----


def root(x):
    return cond(x > 0, np.sqrt, lambda x: 3.0 * x * x, x)


def root_python(x):
    return np.sqrt(x) if x > 0 else 3.0 * x * x


def pieces(x):
    """Three branches, two of which are safe on their own side only."""
    kind = np.astype(np.sign(x) + 1, int)
    return switch(kind, [lambda x: np.log(-x) * x, lambda x: x * 5.0, lambda x: np.log(x) ** 2], x)


def pieces_python(x):
    if x < 0:
        return np.log(-x) * x
    return np.log(x) ** 2 if x > 0 else x * 5.0


def halving(x):
    """A body that only what has not finished can go through."""
    return while_loop(lambda x: x > 0.5, lambda x: np.sqrt(x - 0.5) * 0.7 + np.sin(x) / 9, x)


def halving_python(x):
    while x > 0.5:
        x = np.sqrt(x - 0.5) * 0.7 + np.sin(x) / 9
    return x


def powers(x):
    """As many steps as the value says, none for the negative ones."""
    n = np.astype(np.floor(x), int)
    total, _ = fori_loop(0, n, lambda i, c: (c[0] + c[1] * i, c[1] * np.log(x + 2)), (x, 1.0))
    return total


def powers_python(x):
    total, power = x, 1.0
    for i in range(int(np.floor(x))):
        total, power = total + power * i, power * np.log(x + 2)
    return total


def between(x):
    """From a bound that differs from example to example."""
    n = np.astype(np.ceil(x), int)
    return fori_loop(n, 5, lambda i, y: y * np.cos(y) + i, x)


def between_python(x):
    y = x
    for i in range(int(np.ceil(x)), 5):
        y = y * np.cos(y) + i
    return y


def nested_choice(x):
    """A choice in a choice in a loop, over a tree, with a closure."""

    def step(state):
        n, tree = state
        inner = {"y": cond(tree["y"] > 1, np.log, lambda y: y + x * y, tree["y"])}
        return n - 1, cond(n > 2, lambda t: {"y": t["y"] * 0.5}, lambda t: t, inner)

    n = np.astype(np.abs(x), int) + 1
    return while_loop(lambda s: s[0] > 0, step, (n, {"y": x}))[1]["y"]


def nested_choice_python(x):
    n, y = int(abs(x)) + 1, x
    while n > 0:
        y = np.log(y) if y > 1 else y + x * y
        y = y * 0.5 if n > 2 else y
        n -= 1
    return y


PROGRAMS = {
    "root": (root, root_python),
    "pieces": (pieces, pieces_python),
    "halving": (halving, halving_python),
    "powers": (powers, powers_python),
    "between": (between, between_python),
    "nested": (nested_choice, nested_choice_python),
}


# ---- every nesting ----


def looped(f):
    """Return the stacked results of a loop, which vmap has to equal."""
    return lambda xs: np.stack([f(x) for x in xs]) if len(xs) else np.zeros_like(xs)


def by_vjp(f):
    def pulled(x):
        y, pullback = ft.vjp(f, x)
        return pullback(np.ones_like(y))[0]

    return pulled


DERIVATIVES = {
    "grad": lambda f: ft.grad(lambda x: np.sum(f(x))),
    "jvp": lambda f: lambda x: ft.jvp(f, (x,), (np.ones_like(x),))[1],
    "vjp": by_vjp,
}


def under(nest, f, vmap):
    """`f` under the transforms of `nest`, outermost first."""
    for name in reversed(nest):
        f = vmap(f) if name == "vmap" else DERIVATIVES[name](f)
    return f


def agree(nest, program, python, x):
    """A program under a nesting is its Python under loops, and computes nothing invalid."""
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        expected = under(nest, python, looped)(x)
        close(under(nest, program, ft.vmap)(x), expected, 1e-10)


@st.composite
def nests(draw):
    """Transforms, and an input with one axis for each vmap."""
    nest = draw(st.lists(st.sampled_from(["vmap", "vmap", *DERIVATIVES]), max_size=5))
    while sum(name != "vmap" for name in nest) > 2:
        nest.remove(next(name for name in nest if name != "vmap"))
    shape = [draw(st.sampled_from([0, 1, 2, 3])) for name in nest if name == "vmap"]
    values = draw(
        st.lists(
            st.sampled_from(list(POINTS)),
            min_size=int(np.prod(shape)),
            max_size=int(np.prod(shape)),
        )
    )
    return nest, np.array(values).reshape(shape)[()]


@pytest.mark.parametrize("name", PROGRAMS)
@given(nests())
def test_a_program_under_any_nesting_is_its_python(name, drawn):
    nest, x = drawn
    agree(nest, *PROGRAMS[name], x)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("points", [POINTS, POINTS[:2], POINTS[3:], POINTS[:0]])
def test_mixed_and_uniform_choices(name, points):
    program, python = PROGRAMS[name]
    for nest in (["vmap"], ["vmap", "grad"], ["grad", "vmap"], ["jvp", "vmap", "grad"]):
        agree(nest, program, python, points)
    both = np.stack([points, points[::-1]])
    for nest in (["vmap", "vmap"], ["vmap", "grad", "vmap"], ["vmap", "vmap", "jvp"]):
        agree(nest, program, python, both)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians(name):
    program, python = PROGRAMS[name]
    equal(ft.vmap(ft.hessian(program))(POINTS), np.array([ft.hessian(python)(x) for x in POINTS]))


@pytest.mark.parametrize("name", faulty.PLANTED)
def test_the_check_finds_planted_faults(name, monkeypatch):
    faulty.wrong_mask(name, monkeypatch)
    with pytest.raises((AssertionError, FloatingPointError, IndexError)):
        agree(["vmap"], root, root_python, POINTS)


def test_the_check_finds_a_wrong_derivative():
    def rounded(x):  # the value of the one branch, and half of its derivative
        return cond(x > 0, np.sqrt, lambda x: 3.0 * x * np.round(x, 6), x)

    agree(["vmap"], rounded, root_python, POINTS)
    for nest in (["vmap", "grad"], ["jvp", "vmap"]):
        with pytest.raises(AssertionError):
            agree(nest, rounded, root_python, POINTS)


# ---- donors ----


def from_zero(x):
    """With an infinite derivative at a point that a branch is for."""
    return cond(x >= 0, np.sqrt, lambda x: 2.0 * x, x)


@pytest.mark.parametrize(
    "nest", [["vmap", "grad"], ["grad", "vmap"], ["vmap", "jvp"], ["vjp", "vmap"]]
)
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_an_infinite_derivative_of_the_donor_stays_its_own(nest, order):
    xs, slopes = np.array([0.0, -1.0, 4.0])[order], np.array([np.inf, 2.0, 0.25])[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        equal(under(nest, from_zero, ft.vmap)(xs), slopes)


@pytest.mark.parametrize("mode", DERIVATIVES)
def test_a_derivative_by_what_is_no_batch_is_one_for_each_example(mode):
    """The parameter is the same for all; its derivative is infinite for the first only."""

    def slope(x):
        def f(a):
            return cond(x >= 0, lambda a, x: np.sqrt(a + x), lambda a, x: a * x, a, x)

        return DERIVATIVES[mode](f)(0.0)

    with np.errstate(divide="ignore", invalid="ignore"):
        equal(ft.vmap(slope)(np.array([0.0, -3.0, 1.0])), np.array([np.inf, -3.0, 0.5]))


def test_a_value_that_is_no_batch_is_passed_as_it_is():
    seen = []

    def f(w, x):
        seen.append(w)
        return w @ x

    w = np.eye(3)
    ft.vmap(lambda x: cond(x[0] > 0, f, lambda w, x: x, w, x))(np.array([[1.0, 2, 3], [-1, 2, 3]]))

    assert seen[0] is w


@pytest.mark.parametrize("func", [np.linalg.inv, np.linalg.cholesky])
def test_what_was_not_chosen_raises_nothing(func):
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    bad = np.array([[0.0, 1.0], [0.0, 0.0]])

    def f(a):
        return cond(a[0, 0] > 0, func, lambda a: 0.0 * a, a)

    expected = np.stack([np.zeros((2, 2)), func(good), np.zeros((2, 2))])
    stack = np.stack([bad, good, bad])
    equal(ft.vmap(f)(stack), expected)
    slopes = ft.vmap(ft.grad(lambda a: np.sum(f(a))))(stack)
    equal(slopes[[0, 2]], np.zeros((2, 2, 2)))
    close(slopes[1], ft.grad(lambda a: np.sum(func(a)))(good))
    equal(ft.vmap(ft.vmap(f))(stack[None]), expected[None])
    with pytest.raises(np.linalg.LinAlgError):
        ft.vmap(lambda a: cond(a[0, 1] > 0, func, lambda a: 0.0 * a, a))(stack)


@pytest.mark.parametrize("loop", [
    lambda n, body, y: ft.fori_loop(0, n, lambda i, y: body(y), y),
    lambda n, body, y: ft.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, body(c[1])),
                                      (0, y))[1],
    lambda n, body, y: ft.cond(n > 2, body, lambda y: y, y),
    lambda n, body, y: ft.switch(n - 2, [lambda y: y, body], y),
])  # fmt: skip
def test_what_is_kept_of_a_step_of_some_examples_is_refused(loop):
    """The values of the others are those of a donor; apart, each example has its own."""

    def f(n, y):
        kept = [y]

        def body(y):
            kept.append(y * y)
            return kept[-1] + 1

        return loop(n, body, y), sum(kept)

    counts, ys = np.array([2, 3, 2]), np.array([0.1, 0.2, 0.3])
    expected = [np.stack(x) for x in zip(*map(f, counts, ys))]
    for wrapped in (ft.vmap(f), ft.compile(ft.vmap(f))):
        with pytest.raises(ft.MutationError, match="return the value, in a loop as a part of"):
            wrapped(counts, ys)
    for x, y in zip(ft.vmap(f, branches="split")(counts, ys), expected):
        close(x, y)


def test_the_donor_of_two_levels_is_one_example():
    """The operand varies along either level or both, the predicate along both."""
    seen = []

    def f(a, b, c):
        seen.extend([ft.unwrap(ft.unwrap(x)) for x in (a, b, c)])
        return np.log(a) + np.log(b) + np.log(c)

    def inner(a, b, c):
        return cond((a > 0) & (b > 0), f, lambda a, b, c: a - b + c, a, b, c)

    rows, columns = np.array([-1.0, 2.0, 3.0]), np.array([0.0, -4.0, 5.0, 6.0])
    grid = np.abs(rows[:, None] * columns) + 1
    with np.errstate(all="raise"):
        out = ft.vmap(lambda a, c: ft.vmap(lambda b, c: inner(a, b, c))(columns, c))(rows, grid)

    good = (rows[:, None] > 0) & (columns > 0)
    for values in seen:
        assert values.shape == (3, 4)
        assert values.min() > 0
    a, b = rows[:, None] + 0 * columns, columns + 0 * rows[:, None]
    safe = np.where(good, a, 1), np.where(good, b, 1)
    close(out, np.where(good, np.log(safe[0] * safe[1] * grid), a - b + grid))


AXES = [(), ("a",), ("b",), ("a", "b")]


@pytest.mark.parametrize("chosen", AXES[1:])
@pytest.mark.parametrize("operand", AXES)
@pytest.mark.parametrize("between", [None, *DERIVATIVES])
def test_the_levels_of_predicate_and_operand_may_differ(chosen, operand, between):
    """Each varies along some of two levels, with a derivative between these, or none."""
    rows, columns = np.array([-1.0, 4.0, 0.0]), np.array([2.0, 0.0, -3.0, 9.0])

    def program(choose, vmap):
        def f(a, b):
            values = {"a": a, "b": b}
            pred = np.prod(np.stack([values[n] for n in chosen])) > 0
            x = sum((values[n] for n in operand), 1.0)
            positive = np.prod(np.stack([values[n] for n in chosen])) + 0 * x
            return choose(
                pred, lambda x, p: np.sqrt(p) * x, lambda x, p: p * x - a * b * p, x, positive
            )

        def row(a):
            return np.sum(vmap(lambda b: f(a, b))(columns) * np.arange(4.0))

        return vmap(row if between is None else DERIVATIVES[between](row))(rows)

    with np.errstate(divide="raise", invalid="raise"):
        close(program(cond, ft.vmap), program(python_cond, looped))


def python_cond(pred, yes, no, *operands):
    """Return the result of an if statement, which cond has to equal."""
    return yes(*operands) if pred else no(*operands)


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_switch_along_levels_with_a_derivative_between(kind):
    branches = [np.sqrt, lambda x: -np.log(-x), lambda x: x * 0.5]
    rows, columns = np.array([1.0, -2.0]), np.array([2.0, -1.0, 0.0, 4.0])

    def program(switch, vmap):
        def f(a, b):
            x = a * b
            index = np.astype((x < 0) + 2 * (x == 0), kind)
            return switch(index, branches, x) * a

        return vmap(ft.grad(lambda a: np.sum(vmap(lambda b: f(a, b))(columns))))(rows)

    with np.errstate(divide="raise", invalid="raise"):
        python = program(lambda i, branches, x: branches[int(i)](x), looped)
        close(program(switch, ft.vmap), python)


def test_levels_of_with_statements():
    with ft.vmap() as B:
        x = B(POINTS)
        with ft.grad() as G:
            y = G(x)
            slope = G.gradient(root(y), y)
        value = B.unwrap(root(x))
        slope = B.unwrap(slope)
    close(value, np.array([root_python(x) for x in POINTS]))
    close(slope, np.array([ft.grad(root_python)(x) for x in POINTS]))


def test_levels_with_a_derivative_between():
    """The predicate's two batch levels are not contiguous."""
    rows, columns = np.array([-1.0, 2.0, 0.0]), np.array([0.0, 4.0])

    def value(a, b):
        return cond(a * b > 0, lambda a, b: np.sqrt(a) * np.log(b), lambda a, b: a + b * a, a, b)

    def python(a, b):
        return np.sqrt(a) * np.log(b) if a * b > 0 else a + b * a

    def total(f, vmap):
        return vmap(ft.grad(lambda a: np.sum(vmap(lambda b: f(a, b))(columns))))(rows)

    with np.errstate(divide="raise", invalid="raise"):
        close(total(value, ft.vmap), total(python, looped))


# ---- a choice in a choice: who is asked ----


def ending(body):
    """A body that fails where a loop does not end."""

    def once_more(*args):
        once_more.left -= 1
        assert once_more.left, "the loop does not end"
        return body(*args)

    once_more.left = 100
    return once_more


def test_a_loop_in_a_branch_ends_with_those_that_chose_it():
    """For the others it would not: they have the factor of their own."""

    def f(x):
        def grown(c):
            return while_loop(lambda c: c < 100, ending(lambda c: c * x), c)

        return cond(x > 1, grown, lambda c: -c, x)

    xs = np.array([0.5, 3.0, -1.0, 10.0, 1.0])
    expected = np.array([-0.5, 243.0, 1.0, 100.0, -1.0])
    equal(ft.vmap(f)(xs), expected)
    slopes = ft.vmap(ft.grad(f))(xs)
    close(slopes, np.array([-1.0, 405.0, -1.0, 20.0, -1.0]))


def test_a_loop_in_a_checkpointed_body_ends_in_the_second_run_too():
    def f(x):
        @ft.checkpoint
        def body(c):
            return while_loop(lambda c: c < 100, ending(lambda c: c * x), c) - 99.0

        return cond(x > 1, body, lambda c: -c, x)

    xs = np.array([0.5, 3.0, -1.0, 10.0, 1.0])
    slopes = np.array([-1.0, 405.0, -1.0, 20.0, -1.0])
    close(ft.vmap(ft.grad(f))(xs), slopes)
    _, pullback = ft.vjp(ft.vmap(f), xs)
    close(pullback(np.ones(5))[0], slopes)

    def within(g, x):  # the second run is made where others are asked
        return cond(x < 0, lambda g: pullback(g)[0], lambda g: g * 0.0, g)

    rows = ft.vmap(within)(np.eye(5), np.array([-1.0, 1.0, -1.0, -1.0, 1.0]))
    close(rows, np.diag(slopes * [1, 0, 1, 1, 0]))


@pytest.mark.parametrize(
    ("plant", "check"),
    [
        (faulty.no_mask_around, test_a_loop_in_a_branch_ends_with_those_that_chose_it),
        (
            faulty.no_mask_in_a_second_run,
            test_a_loop_in_a_checkpointed_body_ends_in_the_second_run_too,
        ),
    ],
)
def test_a_loop_would_not_end_otherwise(plant, check, monkeypatch):
    plant(monkeypatch)
    raises(AssertionError, check, "does not end")


@pytest.mark.parametrize("nest", [["vmap"], ["vmap", "grad"], ["grad", "vmap"]])
def test_a_choice_in_a_branch_by_what_it_closes_over(nest):
    """The inner donor is one of those that chose the outer branch."""

    def program(choose):
        def f(x):
            def yes(y):
                return choose(x > 2, lambda y: y * 2.0, lambda y: np.log(y - x + 1.0 + x * y), y)

            return choose(x > 0, yes, lambda y: y - 1.0, x)

        return f

    xs = np.array([-3.0, 1.0, 4.0, -0.25, 0.5])
    with np.errstate(all="raise"):
        expected = under(nest, program(python_cond), looped)(xs)
        close(under(nest, program(cond), ft.vmap)(xs), expected)


def test_a_branch_that_only_others_would_choose_does_not_run():
    inner = counted(np.negative)
    by_index = counted(np.negative)

    def f(x):
        def yes(y):
            kind = np.astype(x, int)  # out of range for those that are not asked
            return cond(x > 0, np.sqrt, inner, y) + switch(kind, [by_index, np.log, np.log], y)

        return cond(x > 0, yes, lambda y: y, x)

    equal(ft.vmap(f)(np.array([-5.0, 1.0, 0.0])), np.array([-5.0, 1.0, 0.0]))
    assert (inner.times, by_index.times) == (0, 0)
    raises(IndexError, lambda: ft.vmap(f)(np.array([-5.0, 1.0, 7.0])), "index 7")


def test_who_is_asked_at_levels_of_its_own():
    """A batch inside a branch, and a predicate of the outer batch inside of that."""

    def program(choose, repeat, vmap):
        def f(x):
            def yes(y):
                def inner(z):
                    grown = choose(
                        z > 0, lambda z: repeat(lambda c: c < 9, lambda c: c * x, z), np.sin, z
                    )
                    return grown + choose(x > 3, lambda z: z * x, lambda z: z, z)

                return y * np.sum(vmap(inner)(np.array([1.0, -2.0, 0.5])))

            return choose(x > 1, yes, lambda y: 3.0 * y, x)

        return vmap(ft.grad(f))(np.array([0.5, 2.0, 4.0, -3.0]))

    def python_while(going, body, c):
        while going(c):
            c = body(c)
        return c

    close(program(cond, while_loop, ft.vmap), program(python_cond, python_while, looped))


def test_who_is_asked_in_the_threads_of_an_executor():
    xs = np.array([0.5, 3.0, 10.0])
    with ThreadPoolExecutor(2) as executor:

        def f(x):
            def yes(y):
                def grown(z):
                    return while_loop(lambda c: c < 100, ending(lambda c: c * x), z * y)

                parts = ft.vmap(grown, chunk_size=1, executor=executor)(np.array([1.0, 2.0, 3.0]))
                return np.sum(parts)

            return cond(x > 1, yes, lambda y: -y, x)

        equal(ft.vmap(f)(xs), np.array([-0.5, 648.0, 600.0]))
        close(ft.vmap(ft.grad(f))(xs), np.array([-1.0, 945.0, 120.0]))


# ---- who runs, and with what ----


def counted(f):
    def call(*args):
        call.times += 1
        return f(*args)

    call.times = 0
    return call


@pytest.mark.parametrize(
    ("xs", "runs"), [([1.0, 2.0], (1, 0)), ([-1.0], (0, 1)), ([1.0, -1.0], (1, 1)), ([], (1, 0))]
)
def test_only_what_is_chosen_runs(xs, runs):
    yes, no = counted(np.sqrt), counted(np.negative)
    equal(
        ft.vmap(lambda x: cond(x > 0, yes, no, x))(np.array(xs)),
        [x**0.5 if x > 0 else -x for x in xs],
    )

    assert (yes.times, no.times) == runs


def test_only_the_branches_that_occur_run():
    branches = [counted(lambda x, i=i: x * i) for i in range(5)]
    equal(
        ft.vmap(lambda i, x: switch(i, branches, x))(np.array([3, 1, 3]), np.ones(3)),
        [3.0, 1.0, 3.0],
    )
    assert [b.times for b in branches] == [0, 1, 0, 1, 0]

    equal(ft.vmap(lambda i: switch(i, branches, 2.0), axis_size=2)(np.array([4, 4])), [8.0, 8.0])
    equal(ft.vmap(lambda i: switch(i, branches, 2.0))(np.zeros(0, int)), np.zeros(0))
    assert [b.times for b in branches] == [1, 1, 0, 1, 1]
    assert switch(2, branches, 3.0) == 6.0 == switch(np.int8(2), branches, 3.0)


def test_plain_predicates_choose_as_python_does():
    for pred in (True, np.True_, 1, 2.5, np.float32(1), np.array(3), ft.tensor(True), np.nan):
        assert cond(pred, lambda: "yes", lambda: "no") == "yes"
    for pred in (False, np.False_, 0, -0.0, np.array(0, np.uint8), ft.tensor(np.array(0.0))):
        assert cond(pred, lambda: "yes", lambda: "no") == "no"


def test_a_number_is_true_where_it_is_not_zero():
    def f(x):
        return cond(x, lambda x: x * 3.0, lambda x: x + 5.0, x)

    xs = np.array([2.0, 0.0, -1.0])
    equal(ft.vmap(f)(xs), np.array([6.0, 5.0, -3.0]))
    equal(ft.vmap(ft.grad(f))(xs), np.array([3.0, 1.0, 3.0]))
    equal(ft.vmap(f)(np.array([2, 0])), np.array([6.0, 5.0]))


@pytest.mark.parametrize("transform", DERIVATIVES)
def test_a_predicate_under_a_derivative_is_plain(transform):
    """It is no tensor of that level, so Python could branch by it as well."""
    for x in POINTS:
        seen = []

        def f(x, seen=seen):
            def yes(x):
                seen.append("yes")
                return np.sin(x)

            return cond(x > 0.5, yes, np.cos, x)

        expected = np.cos(x) if x > 0.5 else -np.sin(x)
        close(DERIVATIVES[transform](f)(x), expected)
        assert seen == ["yes"] * bool(x > 0.5)


def test_closures_over_tensors_of_every_level():
    """Each branch uses a value of each level without being given it."""

    def program(choose, vmap):
        def outer(a):
            def middle(b):
                def inner(c):
                    return choose(c > 0, lambda c: np.sin(c) * a * b, lambda c: a * c - b * b, c)

                return b * np.sum(vmap(ft.grad(lambda c: inner(c) * c))(np.array([1.0, -2.0, 0.5])))

            return ft.jvp(ft.grad(middle), (a * 2.0,), (1.0 + a,))[1]

        return vmap(outer)(np.array([0.5, -1.0]))

    close(program(cond, ft.vmap), program(python_cond, looped))


class Pair(NamedTuple):
    first: object
    second: object


def test_trees():
    """Operands and results may be any pytree; None has no leaves."""

    def yes(t):
        return Pair({"x": np.log(t["x"]), "n": None}, [t["y"][0], 1])

    def no(t):
        return Pair({"x": t["x"] - 1, "n": None}, [t["y"][0] * 2, 0])

    def f(x, y):
        return cond(x > 0, yes, no, {"x": x, "y": (y, "text", None)})

    with np.errstate(all="raise"):
        out = ft.vmap(f)(np.array([1.0, -1.0]), np.array([[1, 2], [3, 4]]))

    assert type(out) is Pair and out.first["n"] is None
    equal(out.first["x"], np.array([0.0, -2.0]))
    equal(out.second[0], np.array([[1, 2], [6, 8]]))
    equal(out.second[1], np.array([1, 0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int8, np.uint16, bool])
def test_dtypes_are_kept(dtype):
    """Python numbers adapt to the array of the other branch."""
    xs = np.array([0, 1, 3]).astype(dtype)
    ones = np.where(xs.real > 0, xs, xs.dtype.type(1))
    equal(ft.vmap(lambda x: cond(x.real > 0, lambda x: x, lambda x: np.ones_like(x), x))(xs), ones)
    number = bool(1) if dtype is bool else 1
    equal(ft.vmap(lambda x: cond(x.real > 0, lambda x: x, lambda x: number, x))(xs), ones)
    equal(ft.vmap(lambda x: cond(x.real > 0, lambda x: number, lambda x: x, x))(xs).dtype, xs.dtype)


def test_python_numbers_promote_each_other():
    def f(yes, no):
        return ft.vmap(lambda p: cond(p, lambda: yes, lambda: no))(np.array([True, False]))

    equal(f(1, 2), np.array([1, 2]))
    equal(f(1, 2.5), np.array([1.0, 2.5]))
    equal(f(1j, 2), np.array([1j, 2]))
    equal(f(True, False), np.array([True, False]))


def test_a_users_tensor_stays_one():
    class Own(ft.Tensor):
        pass

    xs = np.array([4.0, -1.0, 9.0])
    out = ft.vmap(root)(Own(xs))

    assert type(out) is Own
    equal(out.elem(), np.array([2.0, 3.0, 3.0]))
    assert type(root(Own(4.0))) is Own


def test_arrays_of_the_caller_are_not_changed():
    xs = POINTS.copy()
    xs.flags.writeable = False
    for program, _ in PROGRAMS.values():
        out = ft.vmap(program)(xs)
        assert not np.shares_memory(out, xs)


# ---- loops ----


def test_the_carry_of_a_loop_becomes_a_batch():
    """It starts as one value for all examples, and as a Python number."""
    limits = np.array([0.5, 3.0, 10.0])

    def f(limit):
        return while_loop(
            lambda c: c[0] < limit, lambda c: (c[0] * 2.0, c[1] + limit), (1.0, np.zeros(2))
        )

    doubled, total = ft.vmap(f)(limits)
    equal(doubled, np.array([1.0, 4.0, 16.0]))
    equal(total, np.array([[0.0, 0.0], [6.0, 6.0], [40.0, 40.0]]))


def test_a_python_number_takes_the_dtype_of_the_first_step():
    single = np.float32(1.5)
    equal(fori_loop(0, 2, lambda i, c: c + single, 0), np.float32(3))
    equal(fori_loop(0, 2, lambda i, c: 0.5, single), np.float32(0.5))
    equal(while_loop(lambda c: c < 4, lambda c: c + single, 0.0), np.float32(4.5))
    assert type(fori_loop(0, 3, lambda i, c: c + i, 0)) is int


def test_what_has_finished_keeps_its_value_exactly():
    xs = np.array([0.1 + 0.2, -0.0, 1e-310, np.nan, np.inf, 7.0])

    def f(x):
        return while_loop(lambda c: c[0] == 7, lambda c: (c[0] + 1, c[1] * np.nan), (x, x))

    done, bits = ft.vmap(f)(xs)
    assert bits[:5].tobytes() == xs[:5].tobytes()
    equal(done[5], 8.0)
    assert np.isnan(bits[5])


def test_the_body_sees_only_what_goes_on():
    seen = []

    def body(x):
        seen.append(np.array(x.elem()))
        return x - 1.0

    equal(
        ft.vmap(lambda x: while_loop(lambda x: x > 0, body, x))(np.array([1.0, -2.0, 3.0])),
        [0.0, -2.0, 0.0],
    )
    equal(np.stack(seen), np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0]]))


@pytest.mark.parametrize("kind", [int, np.int8, np.uint32, np.array, ft.tensor])
def test_bounds_are_integers_of_any_kind(kind):
    equal(fori_loop(kind(1), kind(4), lambda i, c: c * 10 + i, 0), 123)
    equal(fori_loop(kind(4), kind(1), lambda i, c: c * 10 + i, 0), 0)
    stops = np.array([1, 3, 4], np.int8 if kind is np.int8 else int)
    equal(ft.vmap(lambda n: fori_loop(kind(1), n, lambda i, c: c * 10 + i, 0))(stops), [0, 12, 123])


def test_the_index_is_an_int_where_it_can_be():
    """So that it can index what is closed over."""
    data = [np.float64(2.0), np.float64(3.0), np.float64(5.0)]
    n = np.array([3, 0, 1])
    equal(ft.vmap(lambda n: fori_loop(0, n, lambda i, c: c * data[i], 1.0))(n), [30.0, 1.0, 2.0])


@given(st.lists(st.integers(-2, 4), max_size=4), st.lists(st.integers(-2, 4), max_size=3))
def test_bounds_that_differ_along_two_levels(starts, stops):
    starts, stops = np.array(starts, int), np.array(stops, int)

    def f(a, b):
        return fori_loop(a, b, lambda i, c: c * 2 + i, 1)

    def python(a, b):
        c = 1
        for i in range(a, b):
            c = c * 2 + i
        return c

    expected = np.array([[python(a, b) for b in stops] for a in starts], int)
    expected = expected.reshape(len(starts), len(stops))
    equal(ft.vmap(lambda a: ft.vmap(lambda b: f(a, b))(stops))(starts), expected)
    equal(ft.vmap(lambda b: ft.vmap(lambda a: f(a, b))(starts), out_dims=1)(stops), expected)


@pytest.mark.parametrize(
    "nest", [["grad"], ["vmap", "grad"], ["grad", "vmap"], ["vmap", "jvp", "grad"]]
)
def test_a_checkpointed_body(nest):
    def f(body):
        return lambda x: while_loop(lambda c: c > 0.5, body, x)

    def body(x):
        return np.sqrt(x - 0.5) * 0.7 + np.sin(x) / 9

    x = POINTS if "vmap" in nest else POINTS[-1]
    equal(under(nest, f(ft.checkpoint(body)), ft.vmap)(x), under(nest, f(body), ft.vmap)(x))


def test_a_pullback_through_checkpoints_after_the_level_has_ended():
    """The bodies run again when the batch is long over."""
    xs = np.array([0.3, 2.0, 5.0])

    def f(x):
        return while_loop(lambda c: c > 1, ft.checkpoint(lambda c: np.sqrt(c) - 0.1), x * 1.0)

    out, pullback = ft.vjp(ft.vmap(f), xs)
    slopes = np.array([ft.grad(f)(x) for x in xs])
    close(out, np.array([f(x) for x in xs]))
    close(pullback(np.ones(3))[0], slopes)
    close(ft.vmap(lambda g: pullback(g)[0])(np.eye(3)), np.diag(slopes))
