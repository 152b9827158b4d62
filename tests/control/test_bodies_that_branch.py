"""Given loops of a compiled function whose steps take other ways: arms of one body."""

import numpy as np
import pytest

import functier as ft
from strategies.outcomes import difference
from support.compiling import leaves

N = 60


def kalman(theta, ys, seen):
    q, r = theta[0], theta[1]

    def observed(m, p, y):
        k = p / (p + r)
        return m + k * (y - m), (1 - k) * p, (y - m) ** 2 / (p + r)

    def step(state, row):
        m, p = state[0], state[1] + q
        m, p, loss = ft.cond(row[1], observed, lambda m, p, y: (m, p, 0.0 * p), m, p, row[0])
        return (m, p), loss

    return np.sum(ft.scan(step, (0.0 * q, 1.0 + 0.0 * q), (ys, seen))[1])


def clipped(x):
    def step(i, c):
        c = c + 0.1 * np.sin(3.0 * c) + 0.05
        return ft.cond(c[0] > 1.0, lambda c: 0.5 * c, lambda c: c, c)

    return np.sum(ft.fori_loop(0, N, step, x) ** 2)


def methods(x, kinds):
    euler, implicit, mixed = (
        lambda c: c + 0.01 * np.sin(c),
        lambda c: 0.9 * c + 0.1,
        lambda c: np.tanh(c) + c * 0.5,
    )

    def step(c, kind):
        c = ft.switch(kind, [euler, implicit, mixed], c)
        return c, c * 2.0

    return np.sum(ft.scan(step, x, kinds)[1])


def plain_if(x):
    def step(i, c):
        if i % 3 == 1:
            c = c + 0.1
        elif c[1] > 0.8:
            return c * 0.5
        return c + 0.03 * c[::-1]

    return np.sum(ft.fori_loop(0, N, step, x) ** 2)


def nested(x, kinds):
    def outer(c, kind):
        def inner(i, c):
            return ft.cond(np.sum(c) > 1.2, lambda c: 0.4 * c, lambda c: c * 1.3 + 0.01, c)

        return ft.cond(kind > 0, lambda c: ft.fori_loop(0, 12, inner, c), np.sin, c), c[0]

    c, ys = ft.scan(outer, x, kinds)
    return np.sum(c * c) + np.sum(ys)


def argument(f, seed):
    r = np.random.default_rng(seed)
    if f is kalman:
        return np.array([0.1, 0.2 + 0.01 * seed]), r.normal(size=N), r.random(N) > 0.3
    x = r.uniform(0.1, 0.9, 3)
    return (x,) if f in (clipped, plain_if) else (x, r.integers(0, 2 if f is nested else 3, N))


WAYS = {
    "value": lambda f: f,
    "grad": ft.grad,
    "jvp": lambda f: lambda x, *rest: ft.jvp(lambda x: f(x, *rest), (x,), (np.cos(x),)),
    "hessian": ft.hessian,
    "vmap of grad": lambda f: (
        lambda x, *rest: ft.vmap(ft.grad(f), in_dims=(0, *[None] * len(rest)), branches="split")(
            np.stack([x, x * 0.5]), *rest
        )
    ),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("backend", ["numpy", pytest.param("llvm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [kalman, clipped, methods, plain_if, nested])
def test_steps_that_take_other_ways(f, way, backend):
    g = WAYS[way](f)
    compiled = ft.compile(g, backend=backend)
    for seed in (0, 1, 2, 0):
        args = argument(f, seed)
        found, wanted = leaves(compiled(*args)), leaves(g(*args))
        if backend == "numpy" and way in ("value", "jvp"):
            assert difference(found, wanted) is None
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("f", [kalman, clipped, methods, plain_if])
def test_one_program_for_all_orders_of_ways(f):
    compiled = ft.compile(f, backend="numpy")
    for seed in range(5):
        compiled(*argument(f, seed))

    (program,) = compiled.programs
    assert len(program.source.splitlines()) < 60
    assert "arms of a loop: " in compiled.explain()


def test_one_program_for_the_gradient_of_linear_arms():
    """Its cotangents are constants in each way, and depend on the ways that steps take."""

    def f(x):
        def step(i, c):
            return ft.cond(c[0] > 1.0, lambda c: 0.5 * c, lambda c: c * 1.1 + 0.01, c)

        return np.sum(ft.fori_loop(0, N, step, x))

    compiled = ft.compile(ft.grad(f), backend="numpy")
    for seed in range(6):
        x = argument(clipped, seed)
        assert difference(leaves(compiled(*x)), leaves(ft.grad(f)(*x))) is None

    assert len(compiled.programs) == 1


def test_few_programs_for_a_gradient():
    compiled = ft.compile(ft.grad(kalman), backend="numpy")
    for seed in range(8):
        compiled(*argument(kalman, seed))

    assert len(compiled.programs) <= 3


def test_an_arm_that_no_step_takes_does_not_run():
    """An inverse of a singular matrix would raise."""

    def f(x, flags):
        def step(c, flag):
            return ft.cond(flag, lambda c: np.linalg.inv(c) * 0.5, lambda c: c + 0.25, c), None

        return ft.scan(step, x, flags)[0]

    compiled = ft.compile(f, backend="numpy")
    regular, flags = np.eye(2), np.arange(20) % 3 == 0
    np.testing.assert_array_equal(compiled(regular, flags), f(regular, flags))
    never = np.zeros(20, bool)
    np.testing.assert_array_equal(compiled(np.zeros((2, 2)), never), f(np.zeros((2, 2)), never))
    assert len(compiled.programs) == 1
    with pytest.raises(np.linalg.LinAlgError) as caught:
        compiled(np.zeros((2, 2)), flags)
    assert any(["in step 0 of 20" in note for note in caught.value.__notes__])


def test_an_arm_is_traced_when_a_step_first_takes_it():
    compiled = ft.compile(methods, backend="numpy")
    x, kinds = argument(methods, 0)
    for most, programs in ((1, 1), (2, 2), (2, 2), (1, 2)):
        few = np.minimum(kinds, most)
        np.testing.assert_array_equal(compiled(x, few), methods(x, few))
        assert len(compiled.programs) == programs


@pytest.mark.parametrize("table", [np.linspace(0.0, 1.0, N), [*np.linspace(0.0, 1.0, N)]])
@pytest.mark.parametrize("way", ["value", "grad"])
def test_an_arm_reads_a_table_at_its_step(table, way):
    def f(x):
        def step(i, c):
            c = np.sin(c) + table[i]
            return ft.cond(c[0] > 1.2, lambda c: c * table[N - 1 - i], lambda c: c * 0.9, c)

        return np.sum(ft.fori_loop(0, N, step, x))

    g = WAYS[way](f)
    compiled = ft.compile(g, backend="numpy")
    for scale in (1.0, 2.0, 3.0, 1.0):
        x = scale * argument(clipped, 0)[0]
        np.testing.assert_allclose(compiled(x), g(x), rtol=1e-13)


def test_arms_that_draw_keep_their_order():
    def f(x):
        rng = ft.random.default_rng(5)

        def step(i, c):
            return ft.cond(c[0] > 0.5, lambda c: c * rng.random(), lambda c: c + rng.random(), c)

        return ft.fori_loop(0, N, step, x), rng.random()

    compiled = ft.compile(f, backend="numpy")
    for scale in (1.0, 2.0, 1.0):
        x = scale * argument(clipped, 0)[0]
        assert difference(leaves(compiled(x)), leaves(f(x))) is None
    assert "a step draws random numbers" in compiled.explain()


def test_a_step_that_raises_leaves_no_effect():
    """Other steps have theirs once, those of an arm as well."""
    seen = []

    def f(x):
        def step(i, c):
            if c[0] > 1.0:
                seen.append(i)
                c = c * 0.4
            if c[1] > 9.0:
                raise ValueError("too large")
            return c * 1.2

        return ft.fori_loop(0, N, step, x)

    def outcome(g, x):
        seen.clear()
        try:
            result = g(x)
        except ValueError as error:
            result = str(error), error.__notes__[0]
        return repr(result), [*seen]

    compiled = ft.compile(f, backend="numpy")
    for x in ([0.3, 0.1], [0.3, 0.4], [1e-9, 1e-9], [0.3, 0.5], [1e-9, 0.5], [0.3, 0.1]):
        assert outcome(compiled, np.array(x)) == outcome(f, np.array(x))


def test_an_arm_with_an_effect_runs_once_in_its_step():
    def f(x, flags):
        seen = []

        def step(c, flag):
            if flag:
                seen.append(c)
            return np.sin(c) + 0.1, None

        c, _ = ft.scan(step, x, flags)
        return c, np.stack(seen)

    compiled = ft.compile(f, backend="numpy")
    for seed in (0, 1):
        args = argument(kalman, seed)[1][:3], np.arange(20) % 7 == 6
        assert difference(leaves(compiled(*args)), leaves(f(*args))) is None


def test_an_arm_that_writes_to_what_it_takes():
    def f(x, flags):
        def step(c, flag):
            if flag:
                c = c.copy()
                c[0] = 0.0
            return c * 1.01, None

        return ft.scan(step, x, flags)[0]

    compiled = ft.compile(f, backend="numpy")
    for seed in (0, 1):
        args = argument(clipped, seed)[0], np.arange(20) % 7 == 6
        assert difference(leaves(compiled(*args)), leaves(f(*args))) is None


def test_a_carry_that_no_step_has_changed_is_the_same_array():
    """A write to it changes the array from before the loop, as in the function itself."""

    def f(x, flags):
        a = x * 1.0
        c, _ = ft.scan(
            lambda c, flag: (ft.cond(flag, lambda c: c + 1.0, lambda c: c, c), None), a, flags
        )
        c[0] = 5.0
        return a * 1.0, c

    compiled = ft.compile(f, backend="numpy")
    x = np.array([0.25, 0.5])
    for flags in (np.arange(20) % 3 == 0, np.zeros(20, bool), np.arange(20) > 12):
        assert difference(leaves(compiled(x, flags)), leaves(f(x, flags))) is None


def test_ways_with_results_of_other_forms_run_step_by_step():
    def f(x, flags):
        def step(c, flag):
            c = c * 1.01
            return np.copy(c, order="F") if flag else c, None

        return ft.scan(step, x, flags)[0]

    compiled = ft.compile(f, backend="numpy")
    x, flags = np.ones((2, 3)), np.arange(20) % 4 == 3
    for _ in range(2):
        assert difference(leaves(compiled(x, flags)), leaves(f(x, flags))) is None


@pytest.mark.slow
def test_steps_by_machine_code():
    compiled = ft.compile(kalman, backend="llvm")
    for seed in range(6):
        args = argument(kalman, seed)
        np.testing.assert_allclose(compiled(*args), kalman(*args), rtol=1e-12)

    assert "compiled parts: 1, the whole program" in compiled.explain()


@pytest.mark.slow
def test_large_arrays_that_an_arm_leaves_as_they_are():
    def f(x, flags):
        def step(c, flag):
            a, b = ft.cond(flag, lambda a, b: (a * 0.5 + b, b), lambda a, b: (a, b * 1.5), *c)
            return (a, b), a[0]

        return ft.scan(step, (x, x * 2.0), flags)

    compiled = ft.compile(f, backend="llvm")
    x = np.linspace(0.0, 1.0, 500)
    for k in range(2, 8):
        flags = np.arange(30) % k == 1
        assert difference(leaves(compiled(x, flags)), leaves(f(x, flags))) is None
