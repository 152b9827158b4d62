"""The passes of a program, each alone: what it drops, what it keeps, and a fault that is found."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from functier._programs import dead, passes, source, stores
from functier._programs.graph import Form, Graph, Node, form_of
from strategies.outcomes import difference
from support.basics import held, raises

pytestmark = pytest.mark.inside("Passes work on graphs, which are written down as text.")

X = np.array([0.5, -1.0, 2.0])
BIG = np.random.default_rng(0).normal(size=1000)


@pytest.fixture
def only(monkeypatch):
    """Return a function that leaves these passes alone."""

    known = passes.PASSES

    def leave(*names):
        monkeypatch.setattr(passes, "PASSES", {n: known[n] for n in names})

    return leave


def steps(f, *args):
    """Return how many steps the program of a call has; its results are those of the function."""
    program = ft.trace(f)(*args)
    for points in (args, [np.sin(x) - 0.1 for x in args]):
        problem = difference(program(*points), f(*points))
        assert problem is None, problem
    return len(program._costs)


# ---- dead nodes ----


def test_dead_nodes(only):
    only("drop_dead")

    assert steps(lambda x: (np.cos(x), x * 2)[1], X) == 1
    assert steps(lambda x: (np.cos(x), x + 1 if x[0] > -9 else x)[1], X) > 1


def test_a_guard_keeps_what_it_needs(only):
    only("drop_dead")
    program = ft.trace(lambda x: x if np.sum(x) > 0 else -x)(X)

    raises(ValueError, lambda: program(-X), "trace the function again")


def test_effects_that_nobody_reads_later(only):
    def f(x):
        y = fnp.zeros(3)
        y[0] = x[0]
        z = y * 1.0
        y[1] = np.exp(x[1])
        return z

    only("drop_dead")
    dropped = ft.trace(f)(X)._replay.written()[0]
    only()
    kept = ft.trace(f)(X)._replay.written()[0]

    assert ".exp" not in dropped.split("def f")[1].split(":", 1)[1] or "exp" in kept
    assert dropped.count("\n") < kept.count("\n")
    assert difference(ft.trace(f)(X)(X + 1), np.array([1.5, 0, 0])) is None


# ---- whole memories ----


def squared(z, c):
    z = z.copy()
    np.multiply(z, z, z)
    np.add(z, c, z)
    return np.absolute(z) + z[np.array([2, 0, 1])]


def in_parts(z, c):
    z = z.copy()
    np.multiply(z, z, z)
    z[1] = c[0]
    first = z * 1.5
    np.add(z, c, z)
    z[:2] += first[1:]
    return z, first


def test_whole_writes_are_values(only):
    text = {}
    for names in (("drop_dead",), ("settle", "drop_dead")):
        only(*names)
        steps(squared, X, X + 1)
        steps(in_parts, X, X + 1)
        text[names] = ft.trace(squared)(X, X)._replay.written()[0]

    before, after = text.values()
    assert "[...] = " in before and "[...] = " not in after
    assert before.count(".copy()") > after.count(".copy()") == 1


def test_writes_of_other_forms_are_not_values(only):
    def f(x):
        whole, one = np.zeros_like(x, int), np.zeros_like(x)
        whole[...] = x * 3
        one[...] = x[:1] * 2
        turned = np.zeros_like(x.reshape(1, 3).T)
        turned[...] = x[:, None] + 1
        places = np.array([2, 0, 1, 1])
        return whole[places] * 1.5 + one[places], turned.ravel()[places], whole + one

    only("settle", "drop_dead")
    steps(f, X)


def test_a_value_that_is_returned_is_not_the_memory(only):
    only("settle", "drop_dead")

    def f(x):
        y, z = -x, x.copy()
        z[...] = y
        return y, z

    first, second = ft.trace(f)(X)(X)
    np.testing.assert_array_equal(first, second)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("k", (-2, -1, 0, 1, 3))
@pytest.mark.parametrize("func", (np.tril, np.triu))
def test_triangles_are_choices_by_a_mask(func, k):
    for x in (np.random.default_rng(0).normal(size=(2, 3, 4)), np.asfortranarray(np.ones((3, 3)))):
        program = ft.trace(lambda x: func(x, k=k) * 1.0)(x)
        problem = difference(program(-x), func(-x, k=k) * 1.0)
        assert problem is None, problem
        assert "numpy.where" in program._replay.written()[0]
    vector = np.ones(3)
    assert np.array_equal(ft.trace(lambda x: func(x, k))(vector)(vector), func(vector, k))


def test_masks_that_are_checked_are_places():
    def f(z, c):
        inside = np.absolute(z) < 1.0
        z = z.copy()
        z[inside] = z[inside] ** 2 + c[inside]
        return z

    z = np.linspace(-2.0, 2.0, 30).reshape(5, 6).T
    program = ft.trace(f)(z, z + 1)
    text, _ = program._replay.written()
    assert text.count(".reshape(-1)[c") == 3, text
    for points in ((z, z * 3), (z * 0.999, z[::-1])):
        assert difference(program(*points), f(*points)) is None
    raises(ValueError, lambda: program(z * 0.1, z), "differs from the trace")


# ---- equal nodes ----


def test_equal_nodes(only):
    only("share")

    assert steps(lambda x: np.sin(x) + np.sin(x), X) == 2
    assert steps(lambda x: np.sum(x, axis=0) + np.sum(x, axis=-1), X) == 3
    assert steps(lambda x: x * 0.0 + x * -0.0, X) == 3
    assert steps(lambda x: x * 1 + x * True, X) == 3
    assert steps(lambda x: x * np.float32(1) + x * np.float64(1), X) == 3
    assert steps(lambda x: x * np.ones(3) + x * np.ones(3), X) == 2
    assert steps(lambda x: x * np.zeros(3) + x * -np.zeros(3), X) == 3


def test_equal_results_have_their_own_memory(only):
    only("share")
    program = ft.trace(lambda x: (np.sin(x), np.sin(x), np.flip(np.sin(x))))(X)
    a, b, c = program(X)

    assert not any([np.shares_memory(*pair) for pair in ((a, b), (a, c), (b, c))])


def test_reads_are_not_shared_across_a_write(only):
    def f(x):
        y = fnp.array(x)
        before = y + 0
        y[0] = 7.0
        return before + y

    only("share", "drop_dead")

    steps(f, X)


def test_settings_are_part_of_a_node(only):
    def f(x):
        y = 1 / x
        with np.errstate(divide="raise"):
            return y + 1 / x

    only("share")

    assert steps(f, X) == 3


# ---- identities ----

SAME = {
    "times one": lambda x: np.sin(x * 1),
    "one times": lambda x: np.sin(1.0 * x),
    "times ones": lambda x: np.sin(x * np.ones(3)),
    "over one": lambda x: np.sin(x / 1),
    "negative twice": lambda x: np.sin(np.negative(-x)),
    "positive": lambda x: np.sin(+x),
    "reshape": lambda x: np.sin(x.reshape(3)),
    "transposed twice": lambda x: np.sin(x.T.T),
}
OTHER = {
    "plus zero": lambda x: np.sin(x + 0),
    "minus zero": lambda x: np.sin(x - 0.0),
    "times zero": lambda x: np.sin(x * 0),
    "one over": lambda x: np.sin(1 / x),
    "another dtype": lambda x: np.sin(x * np.complex128(1)),
    "another shape": lambda x: np.sin(x * np.ones((2, 3))),
    "power": lambda x: np.sin(x**2),
}


def forced(step):
    """A loop that is given, whose steps have a part that is the same in all."""

    def f(x, n=6):
        def whole(c, _):
            return step(c, np.exp(-x) / (1.0 + x)), None

        return np.sum(ft.scan(whole, 0.0 * x, None, length=n)[0])

    return f


@pytest.mark.parametrize(
    "step",
    [
        lambda c, w: 0.9 * c + w,
        lambda c, w: ft.scan(lambda d, _: (0.5 * d + np.sin(w), None), c, None, length=4)[0],
        lambda c, w: 2.0 * w,
        lambda c, w: w[::-1],
    ],
    ids=["a sum", "a loop in it", "a value that is carried", "a view that is carried"],
)
def test_what_is_the_same_in_each_step_is_computed_before_a_loop(step):
    f, x = forced(step), np.linspace(0.5, 1.0, 3)
    for g in (f, ft.grad(f)):
        compiled = ft.compile(g, backend="numpy")
        assert np.array_equal(compiled(x), g(x)) and np.array_equal(compiled(2 * x), g(2 * x))
        (program,) = compiled.programs
        inside = [line for line in program.source.splitlines() if line.startswith("        ")]
        assert not [line for line in inside if "np.exp" in line or "np.sin" in line]


def test_a_loop_without_steps_computes_nothing_before_it():
    def f(x, n):
        return ft.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + 1 / x), (0, x))[1]

    compiled = ft.compile(f, backend="numpy")
    assert [compiled(2.0, n) for n in (2, 2, 0)] == [3.0, 3.0, 2.0]
    with np.errstate(divide="raise"):
        assert compiled(0.0, 0) == 0.0


def test_identities(only):
    only("simplify", "drop_dead")

    assert {name: steps(f, X) for name, f in SAME.items()} == dict.fromkeys(SAME, 1)
    assert {name: steps(f, X) for name, f in OTHER.items()} == dict.fromkeys(OTHER, 2)


def test_reshapes_are_joined(only):
    only("simplify", "drop_dead")

    assert steps(lambda x: np.sin(x.reshape(4, 250).reshape(2, 500)), BIG) == 2


def test_a_result_is_not_the_argument(only):
    only("simplify")

    for f in (lambda x: x * 1, lambda x: (x * 1).reshape(-1), lambda x: np.flip(np.negative(-x))):
        assert not np.shares_memory(ft.trace(f)(X)(X), X)


# ---- uniform constants ----


def test_uniform_constants(only):
    only("spread_once")
    program = ft.trace(lambda x: x * np.full(1000, 3.0))(BIG)

    assert not [c for c in program._replay.written()[1].values() if np.size(c) > 1]
    assert difference(program(BIG + 1), (BIG + 1) * 3) is None


def test_constants_that_are_not_uniform(only):
    only("spread_once")
    zeros = np.array([0.0, -0.0, 0.0])
    nans = np.array([np.nan, np.nan, 1.0])

    for f in (lambda x: x * zeros, lambda x: x * nans, lambda x: x * np.ones((2, 3))):
        steps(f, X)
    assert passes.uniform(zeros) is None
    assert passes.uniform(nans) is None
    assert passes.uniform(np.full(3, -0.0)) == 0


# ---- liveness ----


def in_place(f, *args):
    """Return how many steps write to an operand; the results are those of the function."""
    program = ft.trace(f)(*args)
    kept = [x.copy() for x in args]
    for _ in range(2):
        assert difference(program(*args), f(*args)) is None
        assert difference(args, tuple(kept)) is None
    graph = []
    init = stores.Liveness.__init__

    def note(self, given):
        init(self, given)
        graph.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores.Liveness, "__init__", note)
        ft.trace(f)(*args)(*args)
    return len(graph[0].targets)


M = BIG.reshape(25, 40)[:, :25].copy()


def test_what_is_written_over():
    assert in_place(lambda x: np.cos(np.sin(x)) + 1, BIG) == 2
    assert in_place(lambda x: np.cos(x), BIG) == 0


LIVE = {
    "argument": lambda x: x * 2,
    "view of an argument": lambda x: np.cos(x.T),
    "einsum": lambda x: np.cos(np.einsum("ij->ji", x)),
    "flip": lambda x: (lambda u: (lambda v, w: v + w)(np.flip(u), u * 2))(np.sin(x)),
    "rot90": lambda x: (lambda u: (lambda v, w: v + w)(np.rot90(u), u * 2))(np.sin(x)),
    "split": lambda x: (lambda u: (lambda v, w: (v[0] * 2, w))(np.split(u, 5), u * 2))(np.sin(x)),
    "result": lambda x: (lambda u: (u, u * 2))(np.sin(x)),
    "view of a result": lambda x: (lambda u: (u.T, u * 2))(np.sin(x)),
    "diagonal": lambda x: (lambda u: (np.diagonal(u), u * 2))(np.sin(x)),
    "broadcast": lambda x: np.cos(np.broadcast_to(np.sin(x), x.shape)),
    "row of a broadcast": lambda x: np.cos(np.broadcast_to(np.sin(x)[:, None], (25, 2, 25))[:, 1]),
    "constant": lambda x: np.cos(np.where(x > 0, M, M)) + np.cos(np.atleast_2d(M) * x),
    "read": lambda x: (lambda y: (y.__setitem__(0, x[0]), np.cos(y + 0) + y)[1])(fnp.array(x)),
}


@pytest.mark.parametrize("name", LIVE)
def test_what_lives_is_not_written_over(name, monkeypatch):
    monkeypatch.setattr(stores, "LARGE", 0)

    in_place(LIVE[name], M)


def test_names_are_dropped():
    program = ft.trace(lambda x: np.sum(np.outer(np.sin(x), np.cos(x)), axis=0))(BIG)

    assert "del " in program._replay.written()[0]


def peak(f, x):
    """The most that a call has allocated at one time, in arrays like `x`."""
    return held(lambda: f(x))[2] / x.nbytes


def needs_no_more_than_eager_mode():
    def chain(x):
        for _ in range(20):
            x = np.tanh(np.sin(x * 1.01 + 0.1))
        return np.sum(x)

    gradient, x = ft.grad(chain), np.linspace(-1, 1, 50_000)
    compiled = ft.compile(gradient, backend="numpy")
    compiled(x)
    return peak(compiled, x) <= peak(gradient, x) <= 43


def test_memory_is_at_most_that_of_eager_mode(monkeypatch):
    assert needs_no_more_than_eager_mode()
    monkeypatch.setattr(stores, "LARGE", 1 << 40)  # nothing is dropped
    assert not needs_no_more_than_eager_mode()


def test_groups_that_may_share_memory():
    x = Node(None, (), {}, form_of(BIG))
    view = Node(np.flip, (x,), {}, form_of(BIG[::-1]))
    fresh = Node(np.sin, (view,), {}, form_of(BIG))
    tied = Node(np.broadcast_arrays, (fresh, BIG), {}, (form_of(BIG), form_of(BIG)))
    found = stores.Sharing(Graph([x, view, fresh, tied], [x], [tied]))

    assert found.of(x) is found.of(view)
    assert found.of(fresh) is found.of(tied)
    assert found.of(fresh) in found.constant
    assert found.of(x) not in found.constant
    assert isinstance(x.form, Form)


# ---- planted faults ----


def plant_identity(patch):
    patch.setitem(passes.IDENTITIES, np.add, lambda node, args: args[0])


def plant_shared(patch):
    patch.setattr(passes, "exact", type)


def plant_uniform(patch):
    patch.setattr(passes, "uniform", lambda value: value.flat[0] if np.size(value) else None)


def plant_dead(patch):
    patch.setattr(dead, "READS", set())


def plant_fresh(patch):
    patch.setattr(stores, "is_fresh", lambda node: True)
    patch.setattr(stores, "LARGE", 0)


def plant_settled(patch):
    patch.setattr(passes, "is_whole", lambda node: True)


def plant_places(patch):
    patch.setattr(np, "flatnonzero", lambda mask: np.arange(np.count_nonzero(mask)))


def plant_output(patch):
    patch.setattr(source.Source, "output", lambda self, value, shared: self.expr(value))


def check_flip():
    for name in ("flip", "rot90", "split", "diagonal"):
        in_place(LIVE[name], M)


def check_constant():
    program = ft.trace(lambda x: (x, np.zeros(3)))(X)
    program(X)[1][0] = 5.0
    assert program(X)[1][0] == 0.0


def check_writes():
    def f(x):
        y = fnp.zeros(3)
        y[0] = x[0]
        return y * 2

    steps(f, X)


PLANTED = {
    "identity": (plant_identity, lambda: steps(lambda x: np.sin(x + 2), X)),
    "shared": (plant_shared, lambda: steps(lambda x: np.sin(x) + np.sin(np.cos(x) * 2), X)),
    "uniform": (plant_uniform, lambda: steps(lambda x: x * np.arange(3.0), X)),
    "dead": (plant_dead, check_writes),
    "fresh": (plant_fresh, check_flip),
    "settled": (plant_settled, lambda: steps(in_parts, X, X + 1)),
    "places": (plant_places, test_masks_that_are_checked_are_places),
    "output": (plant_output, check_constant),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name):
    plant, run = PLANTED[name]
    run()

    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with pytest.raises(AssertionError):
            run()
