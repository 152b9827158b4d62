"""Numbers in sets, dicts and caches: they are found as NumPy's are, or it is refused."""

import functools
import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.basics import HAS_PROGRAMS, raises
from support.rows import run_each


class Kind(Enum):
    ONE = 1.0
    TWO = 2.0


@dataclass(frozen=True)
class Pair:
    first: float
    second: float


def with_memo(v):
    """Two calls for equal numbers, which have other derivatives."""
    memo = {}

    def square(x):
        if x not in memo:
            memo[x] = x * x
        return memo[x]

    return square(v[0]) + 3.0 * square(v[1])


def with_cache(v):
    square = functools.lru_cache(lambda x: x * x)
    return square(v[0]) + 3.0 * square(v[1])


def kept_memo():
    memo = {}

    def f(v):
        if v[0] not in memo:
            memo[v[0]] = v[0] * v[0]
        return memo[v[0]] * v[1]

    return f


def kept_cache():
    square = functools.cache(lambda x: x * x)
    return lambda v: square(v[0]) * v[1]


def slope_of_memo(v):
    return np.array([2.0 * v[0], 6.0 * v[1], 0.0])


USES = {
    "a number in a set": (lambda v: v[0] * (v[0] in {1.0, 3.0}), None),
    "a number not in a set": (lambda v: v[0] * (v[0] not in {7.0, 3.0}), None),
    "a number in a frozenset": (lambda v: v[2] * (v[0] in frozenset([2.0])), None),
    "a look-up": (lambda v: v[0] * {1.0: 3.0, 2: 5.0}.get(v[0], 7.0), None),
    "a look-up by a pair": (lambda v: v[0] * {(1.0, 1.0): 3.0}.get((v[0], v[1]), 2.0), None),
    "a set": (lambda v: sum(set(v)), None),
    "the size of a set": (lambda v: len(set(v)) * v[1], None),
    "all are different": (lambda v: v[0] * (len(set(v)) == len(v)), None),
    "a sorted set": (lambda v: sorted(set(v))[-1] * v[0], None),
    "a set of unique elements": (lambda v: v[0] * (set(np.unique(v)) <= {0.0, 1.0, 2.0}), None),
    "a Counter": (lambda v: v[2] * Counter(v)[1.0], None),
    "the commonest": (lambda v: Counter(v).most_common(1)[0][0] * v[2], None),
    "fromkeys": (lambda v: sum(dict.fromkeys(v)), None),
    "a dict of the numbers": (lambda v: {x: i for i, x in enumerate(v)}[v[0]] * v[2], None),
    "an enum": (lambda v: v[0] * (Kind(v[0]) is Kind.ONE), None),
    "a frozen dataclass": (lambda v: len({Pair(v[0], v[1]), Pair(v[1], v[0])}) * v[2], None),
    "a memo": (with_memo, slope_of_memo),
    "a cached function": (with_cache, slope_of_memo),
    "whole numbers": (
        lambda v: v[0] * len({*np.argsort(v, stable=True), 2}) + v[1] * (np.argmax(v) in {2, 3}),
        lambda v: np.array([3.0, float(np.argmax(v) == 2), 0.0]),
    ),
    "a truth": (
        lambda v: v[0] * {True: 2.0, False: 3.0}[v[0] > 1.5],
        lambda v: np.array([2.0 if v[0] > 1.5 else 3.0, 0.0, 0.0]),
    ),
    "a constant": (
        lambda v: v[0] * (ft.stop_gradient(v[0]) in {1.0}) + v[1],
        lambda v: np.array([float(v[0] == 1.0), 1.0, 0.0]),
    ),
    "a list, which has no hashes": (
        lambda v: v[0] * (v[0] in [1.0, 3.0]), lambda v: np.array([float(v[0] == 1.0), 0.0, 0.0])
    ),
}  # fmt: skip
"""Programs of a vector, and their gradients; None where those have to be refused."""

SAME = np.array([[1.0, 1.0, 2.0]] * 3)
ROWS = np.array([[1.0, 1.0, 2.0], [2.0, 2.0, 5.0], [1.0, 0.0, 2.0], [1.0, 1.0, 2.0]])
ZEROS = np.array([[0.0, -0.0, 1.0], [-0.0, 0.0, 1.0]])
NANS = np.array([[np.nan, np.nan, 1.0]] * 2)
FAILS = ValueError, KeyError
"""The errors of NumPy's program: an enum without the number, a dict without a NaN."""

REFUSED = ft.ConversionError, ft.DataDependentError


def loop(f, xs):
    def each(x):
        try:
            return f(x)
        except FAILS:
            return None

    return [each(x) for x in xs]


def check_values(use):
    """Batches have the values of a loop where their examples agree, or run apart."""
    f = use[0]
    for xs in (SAME, ROWS, ZEROS, NANS):
        wanted = loop(f, xs)
        if any([y is None for y in wanted]):
            continue
        np.testing.assert_array_equal(ft.vmap(f, branches="split")(xs), wanted)
        np.testing.assert_array_equal(
            ft.vmap(ft.vmap(f, branches="split"), branches="split")(np.stack([xs, xs])),
            [wanted] * 2,
        )
        if xs is not ROWS:
            np.testing.assert_array_equal(ft.vmap(f)(xs), wanted)
            np.testing.assert_array_equal(ft.vmap(ft.vmap(f))(np.stack([xs, xs])), [wanted] * 2)
        else:
            right_or_refused(lambda: ft.vmap(f)(ROWS), wanted)


def check_slopes(use):
    """No derivative is that of another number."""
    f, slope = use

    def total(xs):
        return np.sum(ft.vmap(f, branches="split")(xs))

    for xs in (SAME, ROWS):
        if any([y is None for y in loop(f, xs)]):
            continue
        wanted = None if slope is None else [slope(x) for x in xs]
        for derivative in (
            lambda xs: np.stack([ft.grad(f)(x) for x in xs]),
            lambda xs: np.stack([ft.jacfwd(f)(x) for x in xs]),
            lambda xs: ft.vmap(ft.grad(f), branches="split")(xs),
            lambda xs: ft.vmap(ft.jacfwd(f), branches="split")(xs),
            lambda xs: (
                np.stack([ft.grad(lambda x: ft.grad(f)(x) @ x)(x) for x in xs]) * 0.0
                + np.array([ft.grad(f)(x) for x in xs])
            ),
            ft.grad(total),
            ft.jacfwd(total),
            lambda xs: ft.compile(ft.vmap(ft.grad(f), branches="split"))(xs),
        ):
            right_or_refused(lambda: derivative(xs), wanted)


def right_or_refused(call, wanted):
    try:
        found = call()
    except REFUSED as error:
        assert any("made at" in note for note in error.__notes__)
        return
    assert wanted is not None, "it has to be refused"
    np.testing.assert_array_equal(found, wanted)


def check_programs(use):
    """A compiled function goes on for the same numbers alone."""
    f = use[0]
    rows = [*ROWS, *ROWS, ROWS[0] + 4.0, *ZEROS, *NANS, ROWS[0]]
    compiled = ft.compile(f)
    for x in rows:
        try:
            wanted = f(x)
        except FAILS:
            with pytest.raises(FAILS):
                compiled(x)
            continue
        np.testing.assert_array_equal(compiled(x), wanted)


CHECKS = check_values, check_slopes, check_programs


@pytest.mark.parametrize("check", CHECKS)
def test_uses_are_right_or_refused(check):
    run_each(USES, check)


def refuses(check):
    """Return the names of the uses for which a check fails."""
    found = set()
    for name, use in USES.items():
        try:
            check(use)
        except Exception:
            found.add(name)
    return found


def test_hashes_by_identity_are_found(monkeypatch):
    faulty.hashes_by_identity(monkeypatch)
    wrong = {"a number in a set", "a look-up", "a set", "a Counter", "fromkeys"}
    assert refuses(check_values) >= wrong
    assert refuses(check_programs) >= wrong
    assert refuses(check_slopes) >= wrong  # which have to be refused


def test_hashes_by_value_that_forget_derivatives_are_found(monkeypatch):
    faulty.hashes_by_value_that_forget_derivatives(monkeypatch)
    assert refuses(check_slopes) >= {"a memo", "a cached function"}


@HAS_PROGRAMS
def test_hashes_that_a_program_does_not_check_are_found(monkeypatch):
    faulty.hashes_that_a_program_does_not_check(monkeypatch)
    assert refuses(check_programs) >= {"a number in a set", "a look-up"}


# ---- what the kinds of hashes are ----

NO_HASH = r"unhashable type: 'numpy\.ndarray'"


def hashes_in(transform, *args):
    """Return the hash of a number under a transform, or the error."""
    found = []

    def program(x):
        try:
            found.append(hash(x))
        except TypeError as error:
            found.append(error)
        return x * 1.0

    transform(program)(*args)
    return found[0]


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0, 0.1, np.inf, 1e300, 2 + 1j, 3, True])
def test_a_number_has_the_hash_of_its_value(value):
    for transform in (ft.vmap, lambda f: ft.vmap(f, branches="split")):
        assert hashes_in(transform, np.array([value] * 2)) == hash(value)
    assert hashes_in(ft.compile, np.array([value])[0]) == hash(value)
    assert hash(ft.Tensor(np.array([value]))[0]) == hash(value)


@pytest.mark.parametrize(
    "transform", [ft.vmap, ft.grad, ft.compile, lambda f: lambda x: ft.jvp(f, (x,), (x,))]
)
def test_an_array_has_none(transform):
    def program(x):
        for y in (x, x[...], x[0, ...], x[:1], np.copy(x[0]), x + 0.0):
            with pytest.raises(TypeError, match=NO_HASH):
                hash(y)
            with pytest.raises(TypeError, match=NO_HASH):
                assert y in {1.0}
        return np.sum(x)

    transform(program)(np.ones((2, 2)) if transform is ft.vmap else np.ones(2))


def test_arrays_that_are_made_inside_have_none():
    def program(x):
        y = ft.numpy.zeros(2)
        for _ in range(2):
            with pytest.raises(TypeError, match=NO_HASH):
                hash(y)
            raises(TypeError, lambda: hash(y[0:1]), "unhashable type")
            y[0] = x
        assert y[1] in {0.0}
        return y[0]

    assert ft.vmap(program)(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
    for data in (1.0, [1.0, 2.0]):
        with pytest.raises(TypeError, match=NO_HASH):
            hash(ft.tensor(data))


def test_a_selection_has_none():
    def program(v):
        raises(TypeError, lambda: hash(v[v > 1.0]), "unhashable type")
        return v

    ft.vmap(program)(ROWS)


def test_an_array_without_axes_is_none_of_the_numbers():
    with pytest.raises(TypeError, match=r"write x\[\(\)\] for the number"):
        ft.vmap(lambda x: x * (x[...] in {1.0}))(np.ones(2))
    assert ft.vmap(lambda x: x * (x[...][()] in {1.0}))(np.ones(2)).tolist() == [1.0, 1.0]
    raises(TypeError, lambda: ft.grad(lambda x: x * (x in {1.0}))(np.array(1.0)), "unhashable")


def test_tangents_that_are_not_known_have_none():
    @ft.custom_jvp
    def f(x):
        return x * 2.0

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * (tangents[0] in {1.0})))
    with pytest.raises(ft.ConversionError, match=r"hash\(x\) asks for the value of a tangent"):
        ft.linearize(f, 2.0)


def test_an_empty_batch_has_none():
    with pytest.raises(ft.DataDependentError, match=r"hash\(x\) has no example to answer it"):
        ft.vmap(lambda x: x * (x in {1.0}))(np.zeros(0))


# ---- errors ----


@pytest.mark.parametrize(
    "transform", [ft.vmap, ft.grad, lambda f: lambda x: ft.jvp(f, (x,), (1.0,))]
)
def test_a_refused_hash_that_was_caught_is_raised_at_the_return(transform):
    def program(x):
        try:
            return x * 2.0 if x in {1.0} else x * 3.0
        except Exception:
            return x * 4.0

    with pytest.raises(REFUSED, match=r"hash\(x\)"):
        transform(program)(np.array([1.0, 2.0]) if transform is ft.vmap else 1.0)


def test_the_message_names_what_to_write():
    table = {1.0: 3.0, 2.0: 5.0}
    square = functools.lru_cache(lambda x, power=2: x**power)
    x = 1.0
    with pytest.raises(ft.ConversionError) as error:
        ft.grad(lambda x: x * table[x])(x)
    assert "numpy.where(x == 2.0, y, z) for {2.0: y, 3.0: z}[x]" in str(error.value)
    assert "functier.stop_gradient(x) as the key of a table of constants" in str(error.value)
    assert ft.grad(lambda x: x * table[ft.stop_gradient(x)])(x) == 3.0
    assert ft.grad(lambda x: x * np.where(x == 1.0, 3.0, 5.0))(x) == 3.0

    with pytest.raises(ft.ConversionError, match=re.escape(
        "write square.__wrapped__(x, power=3) for square(x, power=3), which has a cache"
    )):  # fmt: skip
        ft.grad(lambda x: square(x, power=3))(x)
    assert ft.grad(lambda x: square.__wrapped__(x, power=3))(x) == 3.0


def test_what_the_message_of_a_batch_asks_for():
    assert ft.vmap(lambda v: v[0] * np.isin(v[0], [1.0, 3.0]))(ROWS).tolist() == [1, 0, 1, 1]
    sizes = ft.vmap(lambda v: 1 + np.sum(np.diff(np.sort(v)) != 0))(ROWS)
    assert sizes.tolist() == [len(set(v)) for v in ROWS]


@pytest.mark.parametrize("make", [kept_memo, kept_cache])
@pytest.mark.parametrize("transform", [
    ft.vmap, lambda f: ft.vmap(f, branches="split"),
    lambda f: lambda xs: ft.jacfwd(lambda c: ft.vmap(lambda v: f(v) * c)(xs))(1.0),
])  # fmt: skip
def test_a_cache_that_is_kept_is_right_or_refused(make, transform):
    """Tensors in it are those of a level that has ended."""
    f = make()
    wanted = transform(lambda v: v[0] * v[0] * v[1])(SAME)
    np.testing.assert_array_equal(transform(f)(SAME), wanted)
    for again in (transform(f), f, ft.vmap(f)):
        with pytest.raises(ft.EscapedTensorError, match=r"empty that before the call \(f.cache_cl"):
            again(SAME[0] if again is f else SAME)

    f = make()
    f(SAME[0])  # plain
    np.testing.assert_array_equal(transform(f)(SAME), wanted)
    with pytest.raises(REFUSED):
        ft.grad(f)(SAME[0])


@HAS_PROGRAMS
@pytest.mark.parametrize("make", [kept_memo, kept_cache])
def test_a_compiled_function_leaves_a_cache_that_is_kept_to_the_function_itself(make):
    f = make()
    compiled = ft.compile(f)
    for _ in range(3):
        assert compiled(SAME[0]) == f(SAME[0]) == SAME[0, 0] ** 2 * SAME[0, 1]
    assert not compiled.programs


def test_constants_in_a_block_without_derivatives():
    def program(x):
        with ft.no_grad():
            scale = {2.0: 5.0}[x]
        return scale * x

    assert ft.grad(program)(2.0) == 5.0


def test_with_blocks():
    with ft.vmap() as B:
        x = B(np.array([2.0, 2.0]))
        assert x in {2.0} and {2.0: 1}[x] == 1
    raises(ft.EscapedTensorError, lambda: hash(x))
