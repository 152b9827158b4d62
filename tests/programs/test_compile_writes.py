"""Writes of a compiled function to arrays among its arguments reach the caller."""

import collections
import copy

import numpy as np
import optree
import pytest

import functier as ft
from faults.planted import programs as faulty

A, B = np.arange(4.0), np.array([0.5, -1.0, 2.0, 3.0])


def adds(a, b):
    a += b
    return a.sum()


def returns_it(a, b):
    a[1:] = a[:-1] * b[0]
    return {"all": a, "both": a + b}


def through_a_view(a, b):
    for row in (a[::2], a[1:3]):
        row *= b[: row.size]
    b[0] = 7.0


def only_sometimes(a, b):
    if a[0] < 1.0:
        a[...] = 2.0
    return a * b


def in_a_dict(d):
    d["x"][1:] *= d["y"][1:]
    d["y"] -= 1.0
    return d["x"].sum()


def by_name(*, out, x):
    np.multiply(x, 2.0, out=out)
    return out


def an_ordered_pytree(pair):
    pair["a"][0] = pair["b"][0]
    return pair


def a_constant_of_a_gradient(a, b):
    def f(x, y):
        y[0] = 5.0
        return np.sum(x * x * y)

    return ft.grad(f)(a, b)


def inside_two_maps(a, b):
    """Rows of an array that the outer map does not have, beside one that it has."""

    def write(x, row):
        row[...] = np.cos(row) * x
        return row

    return ft.vmap(lambda x: ft.vmap(write)(x, b))(a)


def sorts(a, b):
    a.sort()
    b.fill(1.0)
    return b


CASES = {
    "adds": (adds, (A, B)),
    "matrix by columns": (adds, (np.asfortranarray(np.outer(A, B)), B)),
    "every other element": (adds, (np.arange(8.0)[::2], B)),
    "integers": (adds, (np.arange(3), np.arange(3))),
    "returned": (returns_it, (A, B)),
    "views": (through_a_view, (A, B)),
    "a branch": (only_sometimes, (A, B)),
    "the other branch": (only_sometimes, (A + 3.0, B)),
    "a dict": (in_a_dict, ({"x": A, "y": B},)),
    "a list": (lambda given: adds(*given), ([A, B],)),
    "names": (by_name, {"out": A, "x": B}),
    "another pytree": (an_ordered_pytree, (collections.OrderedDict(b=B, a=A),)),
    "a gradient": (a_constant_of_a_gradient, (A, B)),
    "rows of two maps": (inside_two_maps, (np.outer(B, A), np.outer(A, B))),
    "methods": (sorts, (B, A)),
}  # fmt: skip


def called(f, given):
    """Return what a call gives, and what it leaves of copies of its arguments."""
    given = copy.deepcopy(given)
    result = f(**given) if isinstance(given, dict) else f(*given)
    return result, given


@pytest.mark.parametrize("name", CASES)
def test_writes_are_those_of_the_plain_function(name):
    f, given = CASES[name]
    wanted = optree.tree_leaves(called(f, given), none_is_leaf=True)
    compiled = ft.compile(f)
    for _ in range(3):
        found = optree.tree_leaves(called(compiled, given), none_is_leaf=True)
        for x, y in zip(found, wanted, strict=True):
            assert type(x) is type(y)
            np.testing.assert_array_equal(x, y)
    assert len(compiled.programs) == 1


def test_a_written_argument_that_is_returned_is_itself():
    compiled = ft.compile(returns_it)
    for _ in range(2):
        a = A.copy()
        assert compiled(a, B)["all"] is a


def test_arrays_that_have_come_to_overlap_are_refused():
    compiled = ft.compile(adds)
    compiled(A.copy(), B)
    whole = np.arange(5.0)
    with pytest.raises(ft.MutationError, match="as a view of another argument"):
        compiled(whole[:4], whole[1:])
    assert np.array_equal(whole, np.arange(5.0))
    compiled(whole[:2], whole[2:4])  # which are apart
    assert np.array_equal(whole, [2.0, 4.0, 2.0, 3.0, 4.0])


def test_a_check_of_overlaps_that_sees_nothing_is_found(monkeypatch):
    faulty.check_of_overlaps_that_sees_nothing(monkeypatch)
    compiled = ft.compile(returns_it)
    compiled(A.copy(), B)
    a, b = A.copy(), A.copy()
    assert not np.array_equal(compiled(a, a)["both"], returns_it(b, b)["both"])


def test_an_array_that_cannot_be_written_to_is_an_error_and_nothing_is_written():
    compiled = ft.compile(through_a_view)
    compiled(A.copy(), B.copy())
    a, b = A.copy(), B.copy()
    b.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(a, b)
    assert np.array_equal(a, A)


def test_a_trace_and_other_transforms_write_nothing():
    a = A.copy()
    ft.trace(adds)(a, B)(a, B)
    ft.vmap(ft.compile(adds))(a[None], B[None])
    ft.grad(ft.compile(adds))(a, B)
    assert np.array_equal(a, A)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("twice", [True, False])
def test_an_array_that_is_given_twice_is_one(backend, twice):
    """Traced with two arrays or with one, and called in the other way, in turn."""

    def f(a, b, rest):
        a += b
        b[1:] *= rest["c"][:-1]
        return a, b, a.sum()

    compiled = ft.compile(f, backend=backend)
    for _ in range(2):
        for once in (twice, not twice):
            given = []
            for _ in range(2):
                a, b = A.copy(), B.copy()
                given.append((a, a, {"c": a}) if once else (a, b, {"c": A.copy()}))
            found, wanted = compiled(*given[0]), f(*given[1])
            assert (found[0] is found[1]) == once
            for x, y in zip([*found, *given[0][:2]], [*wanted, *given[1][:2]]):
                assert np.array_equal(x, y)
    assert compiled._traced == 2


def test_a_program_without_writes_takes_one_array_for_two():
    compiled = ft.compile(lambda a, b: a * b, backend="numpy")
    compiled(A, B)
    assert np.array_equal(compiled(A, A), A * A)
    assert compiled._traced == 1


def test_arrays_that_were_one_and_are_two():
    compiled = ft.compile(lambda a, b: a * b * (2.0 if a is b else 3.0), backend="numpy")
    for _ in range(2):
        assert np.array_equal(compiled(A, A), A * A * 2.0)
        assert np.array_equal(compiled(A, B), A * B * 3.0)


COUNTS = [0]


def counted(x, rng):
    y = x + rng.normal()
    COUNTS[0] += 1
    return y * rng.normal()


def in_steps(x, rng):
    def outer(i, c):
        inner = ft.checkpoint(lambda j, c: c * 0.5 + rng.uniform(size=2))
        return ft.fori_loop(0, 11, inner, c)

    return np.sum(ft.fori_loop(0, 12, outer, x + np.zeros(2)))


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("way", [lambda f: f, ft.grad])
@pytest.mark.parametrize("f", [counted, in_steps])
def test_a_trace_that_ends_early_takes_its_draws_back(f, way, backend):
    found = []
    for wrap in (lambda f: f, lambda f: ft.compile(f, backend=backend)):
        rng = ft.random.default_rng(0)
        g = wrap(way(lambda x: f(x, rng)))
        found.append([*[float(g(x)) for x in (1.0, 2.0, 1.0)], rng.random()])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
