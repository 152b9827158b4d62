"""functier.random: NumPy's numbers outside, and what each level makes of a draw."""

import copy
import cProfile
import gc
import inspect
import pickle
import random
import secrets
import subprocess
import sys
import threading
import types
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from faults.planted import transforms as faulty
from functier.random import Generator, default_rng
from support.basics import close, equal, in_thread, raises

SEED = 7
same = partial(ft.vmap, randomness="same")
different = partial(ft.vmap, randomness="different")
ARRAY = np.arange(24.0).reshape(4, 3, 2)
P = np.array([0.1, 0.2, 0.3, 0.4])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])

DRAWS = {
    "beta": ((2.0, 3.0), {"size": 3}),
    "binomial": ((10, 0.3), {"size": (2, 2)}),
    "chisquare": ((3.0,), {"size": 2}),
    "dirichlet": ((np.array([1.0, 2.0, 3.0]),), {"size": 2}),
    "exponential": ((2.0,), {"size": 3}),
    "f": ((3.0, np.array([4.0, 5.0])), {}),
    "gamma": ((2.0, 3.0), {"size": 3}),
    "geometric": ((0.3,), {"size": 3}),
    "gumbel": ((1.0, 2.0), {"size": 3}),
    "hypergeometric": ((10, 5, 7), {"size": 3}),
    "integers": ((3, 90), {"size": (2, 3)}),
    "laplace": ((1.0, 2.0), {"size": 3}),
    "logistic": ((1.0, 2.0), {"size": 3}),
    "lognormal": ((0.5, 0.25), {"size": 3}),
    "logseries": ((0.95,), {"size": 6}),
    "multinomial": ((20, P), {"size": 2}),
    "multivariate_hypergeometric": ((np.array([5, 6, 7]), 8), {"size": 2}),
    "multivariate_normal": ((np.array([1.0, 2.0]), COV), {"size": 3}),
    "negative_binomial": ((4, 0.3), {"size": 3}),
    "noncentral_chisquare": ((3.0, 2.0), {"size": 3}),
    "noncentral_f": ((3.0, 4.0, 1.0), {"size": 3}),
    "normal": ((np.array([1.0, 2.0]), 2.0), {}),
    "pareto": ((3.0,), {"size": 3}),
    "poisson": ((4.0,), {"size": 3}),
    "power": ((3.0,), {"size": 3}),
    "random": ((), {"size": (2, 3)}),
    "rayleigh": ((2.0,), {"size": 3}),
    "standard_cauchy": ((), {"size": 3}),
    "standard_exponential": ((), {"size": 3, "method": "inv"}),
    "standard_gamma": ((2.0,), {"size": 3, "dtype": np.float32}),
    "standard_normal": ((), {"size": (3, 1), "dtype": np.float32}),
    "standard_t": ((3.0,), {"size": 3}),
    "triangular": ((0.0, 1.0, 4.0), {"size": 3}),
    "uniform": ((-1.0, 3.0), {"size": 3}),
    "vonmises": ((0.5, 2.0), {"size": 3}),
    "wald": ((2.0, 3.0), {"size": 3}),
    "weibull": ((2.0,), {"size": 3}),
    "zipf": ((1.5,), {"size": 6}),
}
"""The methods with a size: arguments, and options with the shape for one example."""

ORDERS = {
    "choice": [
        ((ARRAY,), {"size": 2, "axis": 1}),
        ((ARRAY,), {"size": (2, 2)}),
        ((4,), {"size": 3, "p": P}),
        ((4,), {}),
        ((ARRAY,), {"size": 3, "replace": False}),
        ((4,), {"size": 2, "replace": False, "p": P}),
        ((9,), {"size": 4, "replace": False, "shuffle": False}),
    ],
    "permutation": [((ARRAY,), {}), ((ARRAY,), {"axis": 1}), ((5,), {}), ((list("abc"),), {})],
    "permuted": [((ARRAY,), {}), ((ARRAY,), {"axis": 0}), ((ARRAY,), {"axis": -1})],
}
OTHERS = {"bit_generator", "bytes", "shuffle", "spawn"}
CALLS = [(name, *call) for name, call in DRAWS.items()]
CALLS += [(name, *call) for name, calls in ORDERS.items() for call in calls]


def names(call):
    return f"{call[0]}-{'-'.join(call[2])}" if isinstance(call, tuple) else str(call)


def draw(rng, call):
    name, args, options = call
    return getattr(rng, name)(*args, **options)


def numpy_rng():
    return np.random.default_rng(SEED)


def state(rng):
    return rng.bit_generator.state


# ---- the methods are NumPy's ----


def test_every_method_of_numpys_generator_is_there_with_its_parameters():
    public = {name for name in dir(np.random.Generator) if not name.startswith("_")}

    assert {name for name in dir(Generator) if not name.startswith("_")} == public
    assert public == DRAWS.keys() | ORDERS.keys() | OTHERS
    for name in public - {"bit_generator"}:
        own, theirs = [
            [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]
            for method in (vars(Generator)[name], getattr(np.random.Generator, name))
        ]
        assert own == theirs, name
        assert inspect.getdoc(vars(Generator)[name])


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_outside_of_vmap_the_numbers_are_numpys(call):
    rng, theirs = default_rng(SEED), numpy_rng()

    for _ in range(2):
        expected = draw(theirs, call)
        result = draw(rng, call)
        assert type(result) is type(expected)
        equal(result, expected)
    assert state(rng) == state(theirs)

    found = []
    ft.grad(lambda x: (found.append(draw(rng, call)), x)[1])(1.0)  # asks no level of vmap
    equal(found[0], draw(theirs, call))


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_out_is_written_outside_of_vmap(name):
    out, expected = np.zeros(3), np.zeros(3)

    assert getattr(default_rng(SEED), name)(out=out) is out
    getattr(numpy_rng(), name)(out=expected)
    equal(out, expected)


def test_what_writes_or_is_no_array_outside_of_vmap():
    rng, theirs = default_rng(SEED), numpy_rng()
    a, b = ARRAY.copy(), ARRAY.copy()
    rng.shuffle(a, axis=1)
    theirs.shuffle(b, axis=1)
    equal(a, b)
    c, d = list("abcdef"), list("abcdef")
    rng.shuffle(c)
    theirs.shuffle(d)
    assert c == d
    assert rng.bytes(5) == theirs.bytes(5)
    equal(rng.permuted(a, axis=0, out=a), theirs.permuted(b, axis=0, out=b))
    equal(a, b)
    equal(rng.standard_gamma(2.0, out=np.zeros(2)), theirs.standard_gamma(2.0, out=np.zeros(2)))
    for child, other in zip(rng.spawn(2), theirs.spawn(2), strict=True):
        assert type(child) is Generator
        equal(child.normal(size=2), other.normal(size=2))


def test_what_a_generator_is_made_of():
    sequence = np.random.SeedSequence(3)
    for seed in (3, [1, 2], sequence, np.random.Philox(3)):
        equal(default_rng(copy.deepcopy(seed)).normal(), np.random.default_rng(seed).normal())
    rng = default_rng(SEED)
    assert default_rng(rng) is rng
    shared = numpy_rng()
    equal([default_rng(shared).normal(), shared.normal()], numpy_rng().normal(size=2))
    twister = np.random.Generator(np.random.MT19937(3))
    equal(Generator(np.random.MT19937(3)).random(), twister.random())
    assert default_rng().normal() != default_rng().normal()
    assert repr(rng) == "functier.random.Generator(PCG64)"
    raises(AttributeError, lambda: Generator(3))


def test_other_libraries_take_it_for_numpys():
    rng = default_rng(SEED)

    assert isinstance(rng, np.random.Generator)
    assert np.random.default_rng(rng) is rng


def pickled(x):
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
def test_copies_continue_by_themselves(duplicate):
    rng = default_rng(SEED)
    rng.normal()
    other = duplicate(rng)
    expected = numpy_rng().normal(size=3)[1:]

    equal([rng.normal(), rng.normal()], expected)
    equal([other.normal(), other.normal()], expected)
    assert type(other) is Generator


# ---- the three modes ----


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_error_names_the_vmap_and_what_to_write(call):
    rng = default_rng(SEED)

    def model(x):
        return draw(rng, call)

    name = call[0]
    raises(
        ft.RandomnessError,
        lambda: ft.vmap(model)(np.zeros(3)),
        "vmap(model)", __file__, f"rng.{name}(...)", "'different'", "'same'",
    )  # fmt: skip
    raises(ft.RandomnessError, lambda: ft.vmap(lambda x: ft.grad(lambda y: model(y))(x))(ARRAY))
    assert state(rng) == state(numpy_rng())


@pytest.mark.parametrize("call", CALLS, ids=names)
def test_same_draws_once(call):
    rng, theirs = default_rng(SEED), numpy_rng()
    result = same(lambda x: draw(rng, call))(np.zeros(3))
    expected = draw(theirs, call)

    equal(result, np.stack([expected] * 3))
    assert state(rng) == state(theirs)


@pytest.mark.parametrize("call", [c for c in CALLS if c[0] in DRAWS], ids=names)
def test_different_is_one_draw_of_the_whole_batch(call):
    name, args, options = call
    rng, theirs = default_rng(SEED), numpy_rng()
    result = different(lambda x: draw(rng, call))(np.zeros(5))
    size = options.get("size", (2,))
    lead = (5, *(size if isinstance(size, tuple) else (size,)))

    equal(result, getattr(theirs, name)(*args, **{**options, "size": lead}))
    assert state(rng) == state(theirs)
    assert len({row.tobytes() for row in result}) == 5


@pytest.mark.parametrize("call", [c for c in CALLS if c[0] in ORDERS], ids=names)
def test_different_picks_and_orders_for_each_example(call):
    name, args, _ = call
    rng = default_rng(SEED)
    rows = different(lambda x: draw(rng, call))(np.zeros(20))
    one = draw(numpy_rng(), call)

    assert rows.shape == (20, *np.shape(one))
    assert rows.dtype == np.asarray(one).dtype
    assert len({row.tobytes() for row in rows}) > (3 if np.ndim(one) == 0 else 4)
    if name != "choice":
        everything = np.arange(args[0]) if isinstance(args[0], int) else np.asarray(args[0])
        for row in rows:
            equal(np.sort(row, axis=None), np.sort(everything, axis=None))
    elif call[2].get("replace") is False:
        assert all(len(np.unique(row, axis=0)) == len(one) for row in rows)
        picks = [draw(theirs, call) for theirs in [numpy_rng()] for _ in range(20)]
        equal(rows, np.stack(picks))  # one after the other


def test_orders_along_an_axis_keep_what_is_across():
    rng = default_rng(SEED)
    swap = different(lambda x: rng.permutation(x, axis=1))
    batch = np.stack([ARRAY] * 9)

    moved = swap(batch)
    equal(np.sort(moved, axis=2), batch)
    equal(moved[..., 0], moved[..., 1] - 1)  # whole columns have moved
    each = different(lambda x: rng.permuted(x, axis=1))(batch)
    equal(np.sort(each, axis=2), batch)
    assert not np.array_equal(each[..., 0], each[..., 1] - 1)  # and here each by itself


def test_bytes_and_what_writes_refuse():
    rng = default_rng(SEED)
    out = np.zeros(3)
    for mode in ("same", "different"):

        def model(x, call):
            call()
            return x

        for call, text in [
            (lambda: rng.shuffle(out), "rng.permutation(x, axis=axis)"),
            (lambda: rng.random(out=out), "without out="),
            (lambda: rng.permuted(out, out=out), "without out="),
        ]:
            run = ft.vmap(lambda x, call=call: model(x, call), randomness=mode)
            raises(ft.MutationError, lambda run=run: run(out), "vmap(", text)
    raises(
        ft.RandomnessError, lambda: different(lambda x: rng.bytes(2))(out), "rng.integers(0, 256"
    )
    raises(ft.RandomnessError, lambda: ft.vmap(lambda x: rng.bytes(2))(out), "'same'")
    found = []
    same(lambda x: (found.append(rng.bytes(4)), x)[1])(out)
    assert found == [numpy_rng().bytes(4)]
    raises(ft.MutationError, lambda: ft.grad(lambda x: rng.shuffle(x))(out), "grad(")
    equal(out, np.zeros(3))


def test_children_follow_the_modes_too():
    rng = default_rng(SEED)
    (theirs,) = numpy_rng().spawn(1)

    result = different(lambda x: rng.spawn(1)[0].normal())(np.zeros(4))
    equal(result, theirs.normal(size=4))
    raises(ft.RandomnessError, lambda: ft.vmap(lambda x: rng.spawn(1)[0].normal())(np.zeros(4)))


@pytest.mark.parametrize("batch_size", [None, 2])
def test_a_map_draws_for_each_slice(batch_size):
    rng = default_rng(SEED)
    rows = ft.map(lambda x: x + rng.normal(), np.zeros(5), batch_size=batch_size)
    assert len(np.unique(rows)) == 5


@pytest.mark.parametrize("use", [ft.custom_vjp, ft.custom_jvp])
def test_the_rules_of_a_custom_function_draw_where_it_is_called(use):
    rng = default_rng(SEED)
    noisy = use(lambda x: x * rng.normal())
    if use is ft.custom_vjp:
        noisy.defvjp(lambda x: (x, rng.normal()), lambda z, g: (g * z,))
    else:
        noisy.defjvp(lambda primals, tangents: (primals[0], tangents[0] * rng.normal()))
    theirs = numpy_rng()
    equal(different(noisy)(np.ones(3)), theirs.normal(size=3))
    equal(different(ft.grad(noisy))(np.ones(3)), theirs.normal(size=3))
    equal(same(ft.grad(noisy))(np.ones(3)), np.full(3, theirs.normal()))
    raises(ft.RandomnessError, lambda: ft.vmap(ft.grad(noisy))(np.ones(3)), "vmap(")


def test_a_generator_made_in_the_function():
    def f(x):
        return x + default_rng(SEED).normal(size=2)

    equal(same(f)(np.zeros(3)), np.stack([numpy_rng().normal(size=2)] * 3))
    equal(different(f)(np.zeros(3)), numpy_rng().normal(size=(3, 2)))
    raises(ft.RandomnessError, lambda: ft.vmap(f)(np.zeros(3)))


@given(
    levels=st.lists(
        st.tuples(st.sampled_from(["same", "different"]), st.booleans(), st.integers(1, 3)),
        min_size=1,
        max_size=4,
    ),
    size=st.sampled_from([None, (), 2, (2, 3)]),
    name=st.sampled_from(["normal", "integers"]),
)
def test_nested_levels_decide_each_for_its_own_axis(levels, size, name):
    rng, theirs = default_rng(SEED), numpy_rng()
    limits = (0, 1000) if name == "integers" else ()

    def nest(rest):
        if not rest:
            return lambda x: getattr(rng, name)(*limits, size=size) + 0.0 * x
        (mode, differentiated, n), *inner = rest
        f = nest(inner)
        if differentiated:  # a level of derivatives in between changes nothing
            g = f
            f = lambda x: ft.jvp(g, (x,), (np.ones_like(x),))[0]  # noqa: E731
        return ft.vmap(f, axis_size=n, in_dims=None, randomness=mode)

    lead = tuple(n for mode, _, n in levels if mode == "different")
    shape = () if size is None else size if isinstance(size, tuple) else (size,)
    drawn = getattr(theirs, name)(*limits, size=lead + shape)
    place = [n if mode == "different" else 1 for mode, _, n in levels]
    whole = (*[n for _, _, n in levels], *shape)

    result = nest(levels)(1.0)
    equal(result, np.broadcast_to(np.reshape(drawn, (*place, *shape)) + 0.0, whole))
    assert state(rng) == state(theirs)


def test_the_with_form():
    rng = default_rng(SEED)
    with ft.vmap(randomness="different", axis_size=3) as B:
        equal(B.unwrap(rng.normal(size=2)), numpy_rng().normal(size=(3, 2)))
    with ft.vmap(randomness="different") as B:
        raises(ValueError, lambda: rng.normal(), "vmap()", "rng.normal(...)", "axis_size=n")
        B(np.zeros(4))
        assert B.unwrap(rng.normal()).shape == (4,)
    with ft.vmap() as B, pytest.raises(ft.RandomnessError, match="made at"):
        rng.normal(B(np.zeros(3)))
    assert type(rng.normal()) is float


def test_a_level_with_a_mode_is_used_again_and_forgets_it():
    rng, seen = default_rng(SEED), []

    def f(x):
        seen.append(id(type(x)))
        return x + rng.normal()

    g = different(f)
    g(np.zeros(2))
    g(np.zeros(2))
    raises(ft.RandomnessError, lambda: ft.vmap(f)(np.zeros(2)), "vmap(f)")
    plain = []
    for _ in range(2):
        ft.vmap(lambda x: plain.append(id(type(x))) or x)(np.zeros(2))
    assert plain[0] != plain[1] or seen[0] == seen[1] == seen[2]  # where classes are used again


def test_a_batch_of_nothing_and_of_one():
    rng = default_rng(SEED)
    for call in CALLS:
        for n in (0, 1):
            result = different(lambda x, call=call: draw(rng, call))(np.zeros(n))
            one = np.asarray(draw(numpy_rng(), call))
            assert (result.shape, result.dtype) == ((n, *one.shape), one.dtype), call[0]


# ---- batched parameters ----

XS = np.array([0.5, 2.0, 30.0])
ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
BATCHED = {
    "beta": lambda rng, x: rng.beta(x, 2.0, size=2),
    "binomial": lambda rng, x: rng.binomial(20, 1 / (1 + x), size=2),
    "chisquare": lambda rng, x: rng.chisquare(x),
    "exponential": lambda rng, x: rng.exponential(x, size=(2, 2)),
    "f": lambda rng, x: rng.f(x, np.array([1.0, 2.0])),
    "gamma": lambda rng, x: rng.gamma(x, 2.0, size=2),
    "gamma scale": lambda rng, x: rng.gamma(x, x, size=2),
    "geometric": lambda rng, x: rng.geometric(1 / (1 + x)),
    "gumbel": lambda rng, x: rng.gumbel(x, 2.0),
    "integers": lambda rng, x: rng.integers(0, np.astype(x * 10, int), endpoint=True),
    "laplace": lambda rng, x: rng.laplace(x, 2.0),
    "logistic": lambda rng, x: rng.logistic(1.0, x),
    "lognormal": lambda rng, x: rng.lognormal(0.0, x),
    "logseries": lambda rng, x: rng.logseries(1 - 0.1 / (1 + x), size=3),
    "multinomial": lambda rng, x: rng.multinomial(np.astype(10 * x, int), P, size=2),
    "negative_binomial": lambda rng, x: rng.negative_binomial(x, 0.3),
    "noncentral_chisquare": lambda rng, x: rng.noncentral_chisquare(x, x),
    "noncentral_f": lambda rng, x: rng.noncentral_f(x, 2.0, 1.0),
    "normal": lambda rng, x: rng.normal(x, np.array([1.0, 2.0]), size=(3, 2)),
    "pareto": lambda rng, x: rng.pareto(x),
    "poisson": lambda rng, x: rng.poisson(x, size=3),
    "power": lambda rng, x: rng.power(x),
    "rayleigh": lambda rng, x: rng.rayleigh(x),
    "standard_gamma": lambda rng, x: rng.standard_gamma(x, size=1, dtype=np.float32),
    "standard_t": lambda rng, x: rng.standard_t(x),
    "triangular": lambda rng, x: rng.triangular(-x, 0.1, 2 * x),
    "uniform": lambda rng, x: rng.uniform(-x, x, size=3),
    "vonmises": lambda rng, x: rng.vonmises(x, 2.0),
    "wald": lambda rng, x: rng.wald(x, 2.0),
    "weibull": lambda rng, x: rng.weibull(x),
    "weibull zero": lambda rng, x: rng.weibull(x * 0.0),
    "zipf": lambda rng, x: rng.zipf(1.2 + x, size=20),
}
"""Draws with a parameter that is a number for each example; and below, a vector."""

VECTORS = {
    "choice": lambda rng, p: rng.choice(3, p=p, size=4),
    "choice once": lambda rng, p: rng.choice(np.array([7, 8, 9]), 2, replace=False, p=p),
    "dirichlet": lambda rng, p: rng.dirichlet(p, size=2),
    "hypergeometric": lambda rng, p: rng.hypergeometric(np.astype(10 * p, int), 4, 5),
    "multinomial": lambda rng, p: rng.multinomial(20, p),
    "multivariate_hypergeometric": lambda rng, p: rng.multivariate_hypergeometric(
        np.astype(np.round(10 * p), int), 5, size=2, method="count"
    ),
    "multivariate_normal": lambda rng, p: rng.multivariate_normal(p, np.eye(3)),
}
PARAMETERS = [(name, f, XS) for name, f in BATCHED.items()]
PARAMETERS += [(name, f, ROWS) for name, f in VECTORS.items()]
every_parameter = pytest.mark.parametrize(
    "name, f, batch", PARAMETERS, ids=[name for name, *_ in PARAMETERS]
)


def alone(f, batch):
    """Return the draws of each example by itself, from the state of the generator."""
    return np.stack([np.asarray(f(numpy_rng(), x)) for x in batch])


@every_parameter
def test_same_is_what_each_example_draws_by_itself(name, f, batch):
    rng = default_rng(SEED)
    result = same(lambda x: f(rng, x))(batch)

    close(result, alone(f, batch), 1e-14)
    before = state(rng)
    assert before != state(numpy_rng()) or name == "weibull zero"
    assert name == "weibull zero" or (f(rng, batch[0]), state(rng))[1] != before


@every_parameter
def test_different_gives_each_its_own_by_its_own_parameter(name, f, batch):
    rng = default_rng(SEED)
    many = np.stack([batch] * 200)
    rows = different(different(lambda x: f(rng, x)))(many)
    one = np.asarray(f(numpy_rng(), batch[0]))

    assert rows.shape == (200, len(batch), *one.shape)
    assert rows.dtype == one.dtype
    if name == "weibull zero":
        equal(rows, np.zeros_like(rows))
        return
    assert len({row.tobytes() for row in rows}) > 50
    theirs = numpy_rng()
    expected = np.stack([[np.asarray(f(theirs, x)) for x in batch] for _ in range(200)])
    for quantile in (0.25, 0.5, 0.75):  # the distributions of 200 draws and more
        a, e = [np.quantile(rows_, quantile, axis=0).mean(axis=tuple(range(1, one.ndim + 1)))
                for rows_ in (rows, expected)]  # fmt: skip
        spread = np.quantile(expected, 0.8, axis=0) - np.quantile(expected, 0.2, axis=0)
        spread = spread.mean(axis=tuple(range(1, one.ndim + 1)))
        assert np.all(np.abs(a - e) <= 0.35 * spread + 1e-12), (quantile, a, e)


@given(
    levels=st.lists(
        st.tuples(st.sampled_from(["same", "different"]), st.booleans(), st.integers(1, 3)),
        min_size=1,
        max_size=4,
    ),
    own=st.sampled_from([(), (2,)]),
    size=st.sampled_from([None, (2,), (3, 2)]),
    name=st.sampled_from(["poisson", "dirichlet"]),
)
def test_a_parameter_that_varies_along_some_levels(levels, own, size, name):
    """Of each place along the "same" levels: one draw over the others, all from one state."""
    own = (2,) if name == "dirichlet" else own
    lead = [n if varies else 1 for _, varies, n in levels]
    x = np.linspace(0.5, 9.0, int(np.prod([*lead, *own]))).reshape(*lead, *own)
    rng, k = default_rng(SEED), len(levels)

    f = lambda x: getattr(rng, name)(x, size=size)  # noqa: E731
    for mode, varies, n in reversed(levels):
        f = ft.vmap(f, 0 if varies else None, randomness=mode, axis_size=n)
    result = f(np.squeeze(x, tuple(i for i, (_, varies, _) in enumerate(levels) if not varies)))

    modes = [mode for mode, _, _ in levels]
    sizes = [n for _, _, n in levels]
    expected = np.empty(result.shape, result.dtype)
    for same_place in np.ndindex(*[n if m == "same" else 1 for m, n in zip(modes, sizes)]):
        theirs, places = numpy_rng(), []
        for place in np.ndindex(*[n if m == "different" else 1 for m, n in zip(modes, sizes)]):
            places.append(tuple(map(max, same_place, place)))
        rows = [x[tuple(min(i, n - 1) for i, n in zip(p, lead))] for p in places]
        if name == "poisson":
            shape = own if size is None else size
            drawn = theirs.poisson([np.broadcast_to(row, shape) for row in rows])
        elif not any(varies for _, varies, _ in levels):  # NumPy takes one vector only
            drawn = theirs.dirichlet(rows[0], (len(rows), *(size or ())))
        else:
            drawn = [theirs.dirichlet(row, size) for row in rows]
        for p, row in zip(places, drawn):
            expected[p] = row
    assert result.shape[:k] == tuple(sizes)
    equal(result, expected)


def test_a_batched_parameter_at_levels_of_both_modes():
    """Along the "same" axis all start alike; along the other none does."""
    rng, theirs = default_rng(SEED), numpy_rng()
    inner = same(lambda x: rng.poisson(x))
    result = different(inner)(np.stack([XS, 2 * XS]))
    # Each column begins where the generator stood.
    equal(result, np.stack([numpy_rng().poisson([x, 2 * x]) for x in XS], axis=1))

    outer = same(different(lambda x: rng.poisson(x)))
    rng = default_rng(SEED)
    equal(outer(np.stack([XS, XS])), np.stack([theirs.poisson(XS)] * 2))
    rng = default_rng(SEED)
    mixed = different(lambda x: same(lambda y: rng.gamma(x, y))(XS))
    close(mixed(XS), numpy_rng().standard_gamma(XS)[:, None] * XS)


def test_a_parameter_of_an_outer_batch_below_a_level_of_derivatives():
    rng = default_rng(SEED)

    def f(lam, x):  # lam is a tensor of the level outside of grad
        return ft.grad(lambda y: y * different(lambda _: rng.poisson(lam))(np.zeros(2))[1])(x)

    result = different(f)(XS, XS)
    equal(result, numpy_rng().poisson(np.stack([XS] * 2, axis=1))[:, 1].astype(float))


def test_a_tensor_in_a_thread_that_no_level_was_made_in():
    rng = default_rng(SEED)
    with ft.vmap(randomness="different") as B:
        x = B(np.zeros((3, 2)))
        theirs = numpy_rng()
        equal(B.unwrap(in_thread(lambda: rng.normal(x))), theirs.normal(size=(3, 2)))
        equal(B.unwrap(in_thread(lambda: rng.poisson(x + 3.0))), theirs.poisson(3.0, size=(3, 2)))
    with ft.vmap() as B:
        x = B(np.zeros(3))
        raises(ft.RandomnessError, lambda: in_thread(lambda: rng.normal(x)))


def test_a_suspended_generator_of_python_is_no_level_around_a_draw():
    rng = default_rng(SEED)

    def suspended():
        with ft.vmap() as B:
            yield B(np.zeros(3))

    waiting = suspended()
    next(waiting)
    equal(rng.normal(size=2), numpy_rng().normal(size=2))
    with ft.vmap(randomness="different", axis_size=2) as B:
        assert B.unwrap(rng.normal()).shape == (2,)
    waiting.close()


def test_levels_that_are_switched_off():
    rng = default_rng(SEED)
    with ft.vmap() as B:
        with ft.no_dispatch(B):
            equal(rng.normal(size=2), numpy_rng().normal(size=2))
        raises(ft.RandomnessError, lambda: rng.normal())

    def f(x):
        with ft.no_grad():
            return x * rng.poisson(x)

    equal(ft.grad(lambda x: np.sum(f(x) + x))(np.array([3.0, 4.0])), np.ones(2))


def test_what_numpy_refuses_is_refused_in_its_words():
    rng = default_rng(SEED)
    x = np.array([1.0, -1.0])
    for f, text in [
        (lambda x: rng.normal(0.0, x), "scale < 0"),
        (lambda x: rng.pareto(x), "a <= 0"),
        (lambda x: rng.triangular(0.0, x, 1.0), "left > mode"),
        (lambda x: rng.poisson(x), "lam < 0"),
        (lambda x: rng.gamma(1.0, x), "scale < 0"),
        (lambda x: rng.uniform(0.0, x / 0), "ange exceeds valid bounds"),
        (lambda x: rng.choice(2, p=np.stack([x, 1 - x])), "robabilities"),
    ]:
        for mode in ("same", "different"):
            with pytest.raises((ValueError, OverflowError), match=text), np.errstate(all="ignore"):
                ft.vmap(f, randomness=mode)(x)
    with pytest.raises(ValueError, match=r"size \(3,\) does not fit"):
        same(lambda x: rng.normal(x, size=3))(np.ones((4, 2)))
    one = np.ones(2)
    for mean, cov in [(np.ones((1, 2)), np.eye(2)), (one, np.eye(3)), (one, one)]:
        with pytest.raises(ValueError, match="for each example"):
            ft.grad(lambda c, mean=mean: np.sum(rng.multivariate_normal(mean, c)))(cov)
    with pytest.raises(ValueError, match="'svd', 'eigh', 'cholesky'"):
        ft.grad(lambda m: np.sum(rng.multivariate_normal(m, np.eye(2), method="lu")))(np.ones(2))


# ---- NumPy's own generators, which know of no examples ----

NUMPYS, OLD = np.random.default_rng(0), np.random.RandomState(0)


class Noise:
    shared = (np.random.default_rng(0),)
    own = property(lambda self: self.rng)

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def added(self, x):
        return x + self.rng.normal()

    def __call__(self, x):
        return self.added(x)


def by_a_helper(x):
    return x + NUMPYS.normal()


def by_a_table(x):
    return x + TABLE["rngs"][0].normal()


class Slotted:
    __slots__ = ("rng",)


TABLE = {"rng": np.random.default_rng(0), "rngs": [np.random.default_rng(0)]}
NOISE = Noise()
NOISE.inner, NOISE.slotted = Noise(), Slotted()
NOISE.slotted.rng = np.random.default_rng(0)
NOISE.space = types.SimpleNamespace(rng=np.random.default_rng(0))
BITS, DICE = np.random.PCG64(0), random.Random(0)
MANY = [{"a": [i]} for i in range(10_000)] + [{"rng": np.random.default_rng(0)}]

NUMPYS_DRAWS = {
    "a global": by_a_helper,
    "the global of a helper": lambda x: by_a_helper(x) * 2,
    "an old one": lambda x: x + OLD.normal(),
    "a child": lambda x: x + NUMPYS.spawn(1)[0].normal(),
    "a closure": (lambda rng: lambda x: x + rng.normal())(np.random.default_rng(0)),
    "a default": lambda x, rng=NUMPYS: x + rng.normal(),
    "a partial": partial(lambda rng, x: x + rng.normal(), NUMPYS),
    "an attribute": Noise().added,
    "an object that is called": Noise(),
    "numpy.random": lambda x: x + np.random.rand(),  # noqa: NPY002
    "half a pair": lambda x: x + np.random.standard_normal(),  # noqa: NPY002
    "no seed": lambda x: x + np.random.default_rng().normal(),
    "no seed for bits": lambda x: x + np.random.PCG64().random_raw(),
    "an old one without a seed": lambda x: x + np.random.RandomState().rand(),
    "in a dict": lambda x: x + TABLE["rng"].normal(),
    "in a dict of a helper": lambda x: by_a_table(x),
    "behind two attributes": lambda x: x + NOISE.inner.rng.normal(),
    "behind a property": lambda x: x + NOISE.own.normal(),
    "of a class": lambda x: x + Noise.shared[0].normal(),
    "in a slot": lambda x: x + NOISE.slotted.rng.normal(),
    "in a namespace": lambda x: x + NOISE.space.rng.normal(),
    "bits": lambda x: x + BITS.random_raw(),
    "by map": lambda x: x + sum(map(TABLE["rng"].normal, [0.0, 1.0])),
    "by a partial of a method": lambda x: x + partial(NOISE.inner.rng.normal)(),
    "in an argument": lambda x, noise=None: x + (noise or NOISE).inner.rng.normal(),
    "Python's": lambda x: x + random.random(),
    "Python's, normal": lambda x: x + random.gauss(0.0, 1.0),
    "one of Python's": lambda x: x + DICE.random(),
    "one of Python's without a seed": lambda x: x + random.Random().random(),
    "of the system": lambda x: x + random.SystemRandom().random(),
    "of secrets": lambda x: x + secrets.randbelow(100),
    "among many": lambda x: x + MANY[-1]["rng"].normal(),
}


def test_a_generator_of_numpys_that_one_of_functiers_has_taken_may_draw():
    for made in (np.random.default_rng(0), np.random.default_rng(0).bit_generator):
        for f in (lambda x, g=made: x + default_rng(g).normal(), partial(taken, made)):
            assert len(np.unique(ft.vmap(f, randomness="different")(np.zeros(4)))) == 4


def taken(generator, x):
    return x + default_rng(generator).normal()


def test_a_seed_draws_the_same_for_each_example_as_in_a_loop():
    f = lambda x: x + np.random.default_rng(0).normal() + random.Random(0).random()  # noqa: E731
    equal(ft.vmap(f, randomness="different")(np.zeros(4)), np.full(4, f(0.0)))
    rng = np.random.default_rng(0)
    g = lambda x: x + copy.deepcopy(rng).normal()  # noqa: E731
    equal(ft.vmap(g, randomness="different")(np.zeros(4)), np.full(4, g(0.0)))


@pytest.mark.parametrize("most", [3, 10_000])
def test_among_too_many_objects_all_that_exist_are_looked_at(most, monkeypatch):
    faulty.among_too_many_objects_all_that_exist_are_looked_at(monkeypatch, most)
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    table, own = [[{"rng": np.random.default_rng(0)}]], default_rng(0)
    with pytest.raises(ft.RandomnessError, match="the function drew from it"):
        ft.vmap(lambda x: x + table[0][0]["rng"].normal(), randomness="different")(np.zeros(4))
    for options in ({}, {"chunk_size": 2}):  # and functier's own are not meant
        rows = ft.vmap(
            lambda x: ft.vmap(lambda y: y + own.normal(), randomness="different")(x),
            randomness="different", **options,
        )(np.zeros((4, 2)))  # fmt: skip
        assert len(np.unique(rows)) == 8


@pytest.mark.parametrize("fault", ["reached", "heard", "told"])
def test_a_draw_that_is_not_seen_is_found(fault, monkeypatch):
    f = NUMPYS_DRAWS["no seed" if fault == "heard" else "in a dict"]
    faulty.draws_are_not_seen(fault, monkeypatch)
    assert ft.vmap(f, randomness="different")(np.zeros(4)).shape == (4,)


def python_draws(x, wait):
    wait()
    return x + random.random()


DRAW = partial(random.random)


def python_draws_by_c(x, wait):
    wait()
    return x + DRAW()


def python_draws_by_a_way(x, wait):
    wait()
    return x + np.frompyfunc(random.getrandbits, 1, 1)(3)


def python_draws_by_import(x, wait):
    wait()
    import support.turns  # of the user's, and it could draw

    return x + len(support.turns.__doc__)


class Drawer:
    def __call__(self, x, wait):
        wait()
        return x + self.drawn()

    def drawn(self):
        return random.gauss(0.0, 1.0)


DRAWERS = [python_draws, python_draws_by_c, python_draws_by_a_way, python_draws_by_import, Drawer()]


@pytest.mark.parametrize("randomness", [None, "error", "different"])
@pytest.mark.parametrize("f", [*DRAWERS, None])
def test_another_thread_may_draw_meanwhile(f, randomness):
    begin, done, end = threading.Event(), threading.Event(), threading.Event()

    def draw():
        begin.wait()
        random.random()
        done.set()
        end.wait()

    def wait():
        begin.set()
        done.wait()

    def waits(x, wait):
        wait()
        return x + 1.0

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    g = ft.vmap(lambda x: (f or waits)(x, wait), randomness=randomness)
    if f is None:
        equal(g(np.zeros(3)), np.ones(3))
    else:
        raises(ft.RandomnessError, lambda: g(np.zeros(3)), "Python's Random")
    end.set()
    thread.join()


def test_a_profiler_of_the_users_hears_the_function_and_goes_on():
    entered = []

    def note(frame, event, argument):
        entered.append(frame.f_code.co_name)

    def first(x):
        return x + default_rng(0).normal()

    before = sys.getprofile()
    try:
        sys.setprofile(note)
        ft.vmap(first, randomness="different")(np.zeros(4))
        found = sys.getprofile()
    finally:
        sys.setprofile(before)
    assert found is note and "first" in entered
    profiler = cProfile.Profile()
    profiler.enable()
    ft.vmap(first, randomness="different")(np.zeros(4))
    by_a_table(0.0)
    profiler.disable()
    assert any(entry.code is by_a_table.__code__ for entry in profiler.getstats())


OF_MODULES = {"numpy.random", "half a pair", "Python's", "Python's, normal"}
UNSEEDED = {
    "no seed", "no seed for bits", "an old one without a seed", "one of Python's without a seed",
    "of the system", "of secrets",
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPYS_DRAWS)
def test_a_draw_of_numpys_is_refused_where_the_caller_has_said_what_draws_do(name):
    f, x = NUMPYS_DRAWS[name], np.zeros(4)
    refused = {"different": True, "error": name not in UNSEEDED, None: name in OF_MODULES}
    for options in ({}, {"chunk_size": 2}, {"branches": "split"}):
        for randomness, is_refused in {**refused, "same": False}.items():
            f(0.0)  # of a pair of normal numbers, the other half
            mapped = ft.vmap(f, randomness=randomness, **options)
            if is_refused:
                with pytest.raises(
                    ft.RandomnessError, match=r"functier\.random\.default_rng\(seed"
                ):
                    mapped(x)
            else:
                assert len(np.unique(mapped(x))) in (1, 2)


def state_set_again(x):
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    y = x + np.random.normal() + random.gauss(0.0, 1.0)  # noqa: NPY002
    np.random.set_state(before[0])  # noqa: NPY002
    random.setstate(before[1])
    return y


PUT_BACK = {
    "a state that is set again": state_set_again,
    "an old one with a seed": lambda x: x + np.random.RandomState(0).normal(),
    "one of Python's with a seed": lambda x: x + random.Random(0).gauss(0.0, 1.0),
}


@pytest.mark.parametrize("randomness", [None, "error"])
@pytest.mark.parametrize("name", PUT_BACK)
def test_what_draws_the_same_for_each_example_in_a_loop_may_draw(name, randomness):
    f, xs = PUT_BACK[name], np.arange(3.0)
    equal(ft.vmap(f, randomness=randomness)(xs), np.array([f(x) for x in xs]))


@pytest.mark.parametrize("transform", [ft.jacfwd, ft.hessian])
def test_all_directions_have_one_draw_of_numpys(transform):
    def f(x):
        return np.sum(x**2) * np.random.normal()  # noqa: NPY002

    np.random.seed(0)  # noqa: NPY002
    found = transform(f)(np.ones(3))
    assert len(np.unique(np.diag(found) if found.ndim == 2 else found)) == 1


def test_a_generator_of_a_module_that_is_imported_in_the_function_is_seen():
    code = (
        "import sys, numpy as np, functier as ft\n"
        "def f(x):\n    import numpy.random, random\n    return x + DRAW\n"
        "loaded = {'random', 'numpy.random'} & set(sys.modules)\n"
        "try: ft.vmap(f)(np.zeros(3)); print(loaded, 'drew')\n"
        "except ft.RandomnessError: print(loaded, 'refused')"
    )
    draws = {"numpy.random.rand()": "refused", "random.random()": "refused", "1.0": "drew"}
    for draw, expected in draws.items():
        done = subprocess.run(
            [sys.executable, "-c", code.replace("DRAW", draw)], capture_output=True, text=True
        )
        assert done.stdout.strip() == f"set() {expected}", done.stderr


def test_a_planted_blind_look_at_the_modules_lets_all_examples_share_a_draw(monkeypatch):
    faulty.blind_look_at_the_modules_lets_all_examples_share_a_draw(monkeypatch)
    f = NUMPYS_DRAWS["numpy.random"]
    assert len(np.unique(ft.vmap(f)(np.zeros(4)))) == 1
