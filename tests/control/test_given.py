"""Loops that a compiled function has as loops of its program, however many steps they have."""

from functools import partial

import numpy as np
import pytest

import functier as ft
from faults.planted import nets_of_loops as faulty
from nets.test_given import NET
from strategies.given_loops import EFFECTS
from strategies.nestings import Level, Nesting
from strategies.programs import Program, Statement
from support.compiling import called, leaves
from support.unrolled import lines_of

X = np.array([0.1, 0.4, 0.7])


check = partial(called, of=leaves, backend="numpy")


# ---- one program for any length ----


WAYS = {
    "value": lambda f: f,
    "grad": ft.grad,
    "hessian": ft.hessian,
    "vmap of grad": lambda f: lambda x: ft.vmap(ft.grad(f))(np.stack([x, x * 0.5])),
}


# ---- lengths that are values ----


def until(x, n):
    return np.sum(
        ft.while_loop(lambda c: c[0] > 1.0 / n, lambda c: (c[0] * 0.9, c[1] * x), (1.0, x))[1]
    )


def up_to(x, n):
    table = np.linspace(0.0, 1.0, 100)
    return np.sum(ft.fori_loop(0, n, lambda i, c: np.sin(c) * x + table[i] + i, x))


def number_of_steps(x, n):
    count, y = ft.while_loop(lambda c: np.sum(c[1]) < n, lambda c: (c[0] + 1, c[1] + x), (0, x))
    return np.sum(y) * count + np.sum(ft.fori_loop(0, count, lambda i, c: c * x, x))


def twice(f):
    return ft.grad(lambda x: np.sum(ft.grad(f)(x)))


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("f", [until, up_to, number_of_steps])
@pytest.mark.parametrize("way", [*WAYS, "grad of grad"])
def test_one_program_for_all_lengths(f, way, backend):
    def g(x, n):
        return (WAYS | {"grad of grad": twice})[way](lambda x: f(x, n))(x)

    compiled = ft.compile(g, backend=backend)
    for n in (20, 30, 25, 60, 41):
        for _ in range(2):
            found = compiled(X, n)
        np.testing.assert_allclose(found, g(X, n), rtol=1e-13)

    batched = way == "vmap of grad" and f is number_of_steps
    if not batched and way != "grad of grad":  # whose rules take the lengths of arrays as known
        assert compiled._traced <= 2, compiled.explain()  # the first has a whole number as it is


def test_a_loop_of_no_steps():
    compiled = check(ft.grad(until), (X, 40.0), (X, 20.0), (X, 0.5), (X, 1.2))
    assert compiled._traced > 1


def test_a_later_step_of_a_loop_of_any_length_that_raises():
    def f(x, n):
        def step(i, c):
            return np.linalg.solve(np.eye(2) * (25.0 - c[0]), np.ones(2)) + c[0] + 1.0

        return ft.fori_loop(0, n, step, x)

    compiled = ft.compile(f, backend="numpy")
    for n in (10, 12, 14):
        np.testing.assert_array_equal(compiled(np.zeros(2), n), f(np.zeros(2), n))


# ---- steps that leave something behind ----


OTHERS = [
    ("class S: __slots__ = 'n'\ns = S()\ns.n = 0", "s.n += 1; {e} = {e} * 0.5 + s.n", "s.n"),
    ("import gc\npair = np.zeros(3), 1\ngc.collect()",  # which does not know the tuple from then on
     "pair[0][1] += 1; {e} = {e} * 0.5 + pair[0][1]", "pair[0][1]"),
    ("table = bytearray(3)", "table[1] += 1; {e} = {e} * 0.5 + table[1]", "table[1]"),
    ("import array\ntable = array.array('d', [0.0])", "table[0] += 1; {e} = {e} * 0.5 + table[0]",
     "table[0]"),
    ("import io\ntext = io.StringIO()", "text.write('x'); {e} = {e} * 0.5 + len(text.getvalue())",
     "len(text.getvalue())"),
    ("found = {{0}}", "found.add(len(found)); {e} = {e} * 0.5 + len(found)", "len(found)"),
    ("import contextvars\nvariable = contextvars.ContextVar('v', default=0)",
     "variable.set(variable.get() + 1); {e} = {e} * 0.5 + variable.get()", "variable.get()"),
]  # fmt: skip
"""Effects that the net of given loops does not draw: before a loop, in a step, and after it."""


def program_of(first, step, last):
    """A program of the net whose loop has an effect."""
    names = {"v": "v", "w": "y", "e": "e", "m": 3}
    step = ["v, e = c", *step.format(**names).split("; "), "return np.sin(v) + y, e"]
    step.sort(key=lambda line: not line.startswith("nonlocal"))
    block = [
        *map(Statement, first.format(**names).split("\n")),
        Statement("def body(i, c):", tuple(map(Statement, step))),
        Statement("v, e = lo.fori_loop(0, 20, body, (x, s))"),
    ]
    args = X, X * 0.5, np.float64(0.3), np.ones((41, 3)), np.eye(3)
    plain = {"TABLE": args[3], "LIST": [0.1, 0.2]}
    return Program(block, ["x", "y", "s", "xs", "A"], f"v, e, {last or 0}", args, {}, plain=plain,
                   alike=set())  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("roll", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("effect", [*EFFECTS, *OTHERS], ids=lambda effect: effect[1])
def test_an_effect_happens_in_each_step(effect, roll):
    for levels in ((), (Level("grad", (0, 1, 2)),)):
        counts = NET.check(drawn=(program_of(*effect), Nesting(levels)), roll=roll)
        assert counts.right == 1, counts.summary()


def test_a_list_has_the_values_of_all_steps():
    def f(x):
        history = []

        def body(c, _):
            history.append(c)
            return np.sin(c), None

        ft.scan(body, x, None, length=20)
        return np.stack(history)

    check(f, (X,), (X + 1,))


def test_a_write_to_a_plain_element_or_carry():
    def f(x):
        rows, first = np.zeros((20, 2)), np.zeros(2)

        def body(c, row):
            row += 1
            c[0][1] += 0.5
            return (c[0], np.sin(c[1]) + row.sum() + c[0][1]), None

        carry, _ = ft.scan(body, (first, x), rows)
        return carry[1] + rows.sum() + first.sum()

    check(f, (X,), (X + 1,))


# ---- what a loop carries ----


def swapped(x):
    return ft.fori_loop(0, 17, lambda i, c: (c[1], c[0]), (np.full(3, 0.25), x))


def rotated(x):
    return ft.fori_loop(0, 17, lambda i, c: (c[1], c[2], c[0]), (0.0 * X, x, x * 2))


def late(x):
    return ft.fori_loop(0, 17, lambda i, c: (c[1], c[2], np.sin(c[2]) + x), (0.0 * X, X, 1.0 * X))


def numbers(x):
    return ft.fori_loop(0, 17, lambda i, c: (c[0], c[1] + 1, c[2] * x), (0.5, 1, x))


def asked(x):
    table = [0.1 * k for k in range(50)]
    return ft.fori_loop(0, 17, lambda i, c: (c[0] + 1, c[1] * 0.5 + table[c[0]]), (1, x))


def results(x):
    return ft.scan(
        lambda c, row: ((c[0], np.sin(c[1])), (c[0], c[1], 2.0, row)), (x, x), np.ones(20)
    )


@pytest.mark.parametrize("f", [swapped, rotated, late, numbers, asked, results])
def test_what_a_loop_carries(f):
    check(f, (X,), (X + 1,), (X + 2,))


def test_second_derivatives_of_values_that_change_places():
    def f(x):
        return np.sum(ft.fori_loop(0, 16, lambda i, c: (c[1], np.sin(c[0])), (x, x))[0])

    compiled = ft.compile(ft.hessian(f), backend="numpy")
    for x in (X, X + 1, X):
        np.testing.assert_allclose(compiled(x), ft.hessian(f)(x), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("view", [np.copy, lambda a: a.copy(), lambda a: np.transpose(a, (1, 0))])
def test_steps_that_run_one_by_one_on_plain_values(view):
    def f(x):
        seen = []

        def body(c, _):
            seen.append(1)
            return (c[0], c[1] + x * view(c[0])[0, 0]), None

        return ft.scan(body, (np.full((2, 2), 0.5), x), length=12)[0][1]

    check(f, (X,), (X + 1,))


def passed_on(x, a):
    return ft.fori_loop(0, 20, lambda i, c: (c[0] * x, c[1]), (x, a))[1]


def closed_over(x, a):
    return ft.fori_loop(0, 20, lambda i, c: (c[0] * x, a), (x, a))[1]


def closed_over_later(x, a):
    return ft.fori_loop(0, 20, lambda i, c: (c[0] * x, a), (x, np.sin(x)))[1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loop", [passed_on, closed_over, closed_over_later])
def test_a_write_to_what_a_loop_returns_as_it_was(loop, way):
    def f(x):
        a = x * 1.0
        s = loop(x, a)
        s[1] = 5.0
        return np.sum(a * a) + np.sum(s * x)

    check(WAYS[way](f), (X,), (X + 1,))


# ---- what a user reads ----


def test_a_guard_that_fails_in_a_later_step():
    def f(x, a):
        def body(i, c):
            if int(c[0] / a):  # a whole number of a float, for which there are no arms
                return c * 0.5
            return c + 0.1

        return ft.fori_loop(0, 40, body, x)

    compiled = check(f, (X, 2.05), (X, 9.0), (X, 0.75))

    assert "in line" in compiled.explain()
    assert "of body" in compiled.explain()


def test_an_error_names_its_step():
    def f(x):
        def body(i, c):
            return c + 0.1 + 0 * np.linalg.inv(np.eye(3) * np.round(1.0 - c[0], 3))[0]

        return ft.fori_loop(0, 40, body, x)

    compiled = ft.compile(f, backend="numpy")
    for g in (f, compiled, compiled):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            g(np.zeros(3))
        assert "fori_loop(body): in iteration 10" in caught.value.__notes__


@pytest.mark.parametrize("lower", [0, 5])
def test_an_error_of_a_loop_whose_length_is_a_value_names_its_step(lower):
    def f(x, rows):
        n = 41 + 2 * np.sum(x > 0.2)
        return ft.fori_loop(lower, n, lambda i, c: c * 0.5 + rows[i - lower], x)

    for g in (f, ft.compile(f, backend="numpy")):
        with pytest.raises(IndexError) as caught:
            g(X, np.ones((30, 3)))
        assert caught.value.__notes__[0].endswith("in iteration 30")


@pytest.mark.parametrize("steps", [lambda x: 50, lambda x: 48 + int(np.sum(x > 0.2))])
def test_an_index_out_of_bounds_raises_where_nobody_uses_the_element(steps):
    def f(x, xs):
        def body(i, c):
            xs[i] * 2
            return np.sin(c) + x

        return ft.fori_loop(0, steps(x), body, x)

    compiled = ft.compile(f)
    for _ in range(3):
        with pytest.raises(IndexError) as caught:
            compiled(X, np.ones((41, 3)))
        assert "fori_loop(body): in iteration 41" in caught.value.__notes__


def test_an_index_of_a_later_call_out_of_bounds():
    compiled = ft.compile(lambda x, i: (x[i], x * 2)[1])
    compiled(X, 1), compiled(X, 2)
    with pytest.raises(IndexError):
        compiled(X, 3)


def test_an_error_after_a_call_without_one():
    def f(x, a):
        def body(c, row):
            with np.errstate(divide="raise"):
                return c + 0.1, 1 / np.round(a - c[0], 3)

        return ft.scan(body, x, np.ones(30))

    compiled = check(f, (np.zeros(3), np.float64(5.05)))
    with pytest.raises(FloatingPointError) as caught:
        compiled(np.zeros(3), np.float64(2.0))
    assert "scan(body): in step 20 of 30" in caught.value.__notes__


def test_explain_says_why_steps_run_one_by_one():
    def f(x):
        def body(i, c):
            if int(100 * c[0]) > 55 + 10 * (i % 2):
                return c * 0.5
            return c + 0.1

        return ft.fori_loop(0, 12, body, x)

    compiled = check(f, (X,))

    assert "no loop: line" in compiled.explain()


@pytest.mark.parametrize("batched", [False, True])
def test_arrays_that_only_change_places_are_the_same_after_the_loop(batched):
    def f(x):
        a, b = np.ones(3) * x, np.ones(3) * x * x
        c, s = ft.fori_loop(0, 21, lambda i, c: (c[1], c[0]), (a, b))
        s[1] = 5.0
        return np.sum(a * a) + np.sum(b * s) + np.sum(c)

    g, x = (ft.vmap(ft.grad(f)), np.array([1.5, 3.0])) if batched else (ft.grad(f), 1.5)
    compiled = ft.compile(g, backend="numpy")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), g(x))


def test_numbers_beside_small_floats_stay_weak():
    def f(y):
        def step(_, c):
            return c[0] * 0.5 + c[1] * c[0] * 0.01, c[1] + 0.1

        return ft.fori_loop(0, 33, step, (np.sin(y) * 0.5, 0.0))[0]

    y = np.linspace(0, 1, 3, dtype=np.float32)
    g = ft.grad(lambda y: np.sum(ft.grad(lambda y: np.sum(f(y)))(y) ** 2))
    check(g, (y,), (y + 1,))


@pytest.mark.parametrize("way", [lambda f: f, lambda f: lambda x: ft.vmap(f)(np.stack([x, -x]))])
def test_results_that_all_steps_share_are_arrays_to_write_to(way):
    def f(x):
        y = x * 2.0
        c, (a, b, k) = ft.scan(lambda c, _: (np.sin(c), (y, y, 3.0)), x, None, length=30)
        a[:1] = 7.0
        k[1:] = 8.0
        return c, a, b, k, y, ft.map(lambda z: y, np.arange(20.0))

    check(way(f), (X,), (X * 2.0,))


# ---- what a step uses, and where ----


def by_variable(x):
    rate = 1.5
    r = ft.fori_loop(0, 20, lambda i, c: np.sin(c * rate), x)
    rate = 3.0
    return np.sum(r * rate)


def by_variable_of_a_loop(x):
    for k in range(3):
        x = ft.fori_loop(0, 20, lambda i, c: np.sin(c * (1 + 0.1 * k)), x)
    return np.sum(x)


def by_value_of_the_program(x):
    first, rate = x, x * 0.5
    r, ys = ft.scan(lambda c, _: (np.sin(c * rate), rate * c), first, None, length=20)
    rate = rate * rate
    return np.sum(r * rate) + np.sum(ys)


def by_array(x):
    rates = np.full(3, 1.5)
    r = ft.fori_loop(0, 20, lambda i, c: np.sin(c * rates), x)
    rates[:] = 3.0
    return np.sum(r * rates)


def by_dict(x):
    rates = {"a": 1.5}
    r = ft.fori_loop(0, 20, lambda i, c: np.sin(c * rates["a"]), x)
    rates["a"] = 3.0
    return np.sum(r * rates["a"])


@pytest.mark.parametrize("way", [ft.grad, ft.hessian, lambda f: ft.jacfwd(ft.grad(f))])
@pytest.mark.parametrize("f", [by_variable, by_variable_of_a_loop, by_value_of_the_program])
def test_a_variable_that_changes_before_the_backward_pass(f, way):
    assert "not watched" not in check(way(f), [X]).explain()


@pytest.mark.parametrize("f", [by_array, by_dict])
def test_an_object_that_changes_before_the_backward_pass(f):
    compiled = check(ft.grad(f), [X])
    assert "a step of a loop uses has changed" in compiled.explain()


def test_an_index_of_a_loop_inside_that_grows_with_the_counter():
    def f(x, xs):
        def body(i, c):
            inner = ft.while_loop(
                lambda c: c[1] < 14, lambda c: (c[0] * 0.5 + xs[40 - i], c[1] + 1), (x, 0)
            )
            return c + inner[0]

        return ft.fori_loop(1, 12, body, x)

    check(f, [X, np.arange(123.0).reshape(41, 3)])


# ---- what a first call costs ----


def doubled(x, steps=60.0, doublings=4):
    def body(c):
        z = c[1]
        for _ in range(doublings):
            z = z + z
        return c[0] + 1.0, c[1] + np.sin(1e-3 * z)

    return ft.while_loop(lambda c: c[0] < steps, body, (0.0 * x, x))[1]


def lines_of_first_call(**options):
    compiled = ft.compile(ft.grad(partial(doubled, **options)), backend="numpy")
    return lines_of(lambda: compiled(0.5))


def test_a_gradient_records_few_steps_of_a_loop_forward_and_backward():
    few = lines_of_first_call(steps=60.0)
    assert lines_of_first_call(steps=120.0) < 1.1 * few


def test_a_value_that_a_step_uses_many_times_is_looked_at_once():
    few = lines_of_first_call(doublings=7)
    assert lines_of_first_call(doublings=14) < 1.5 * few


# ---- what few drawn programs show ----


def variable_that_changes_after_the_loop(x):
    k = 2.0

    def step(c, w):
        return np.sin(c) * k * w, np.cos(c)

    y, z = ft.scan(step, x, np.linspace(0.5, 1.0, 40))
    k = 10.0
    return np.sum(y * y) + np.sum(z)


def test_a_backward_pass_sees_variables_as_they_were_in_the_loop(monkeypatch):
    gradient, x = ft.grad(variable_that_changes_after_the_loop), X[:2]
    wanted = gradient(x)
    np.testing.assert_allclose(ft.compile(gradient, backend="numpy")(x), wanted)

    faulty.change_variables_before_the_backward_pass(monkeypatch)
    assert not np.allclose(ft.compile(gradient, backend="numpy")(x), wanted)


def element_that_nobody_needs(xs, i):
    def step(c, _):
        xs[i]
        return c * 1.5, None

    return ft.scan(step, xs[0], None, length=5)[0]


def test_an_element_that_is_not_there_raises_although_nobody_needs_it(monkeypatch):
    def outcomes():
        compiled = ft.compile(element_that_nobody_needs, backend="numpy")
        return [compiled(X, np.array(i)) for i in (0, 1, 9)]

    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        outcomes()
    faulty.drop_what_may_raise(monkeypatch)
    np.testing.assert_allclose(outcomes(), [X[0] * 1.5**5] * 3)
