"""Views at places that differ from example to example: ``w = x[i]`` for an `i` of a batch.

NumPy has a view there, so that a write to `w` is one to `x`, and the other way round.
"""

import weakref

import numpy as np
import pytest

import functier as ft

X = np.round(np.sin(np.arange(24.0) ** 2), 2).reshape(2, 3, 4)
NUMBERS = np.array([2, 0])


def augmented(x, i):
    w = x[i]
    w += 1
    return x, w


def item(x, i):
    w = x[i]
    w[1:] = w[0]
    return x


def whole(x, i):
    w = x[:, i]
    w[...] = 3.0
    return x


def part(x, i):
    w = x[i, 1:]
    w *= w
    return x


def reversed_part(x, i):
    w = x[::-1, i - 3]
    w[0] = 5.0
    return x, w


def dots(x, i):
    w = x[1, i, ...]
    w += x[0, 0]
    v = x[0, ...][i, ...]
    np.sin(v, out=v)
    return x, w


def newaxis(x, i):
    w = x[None, i]
    np.multiply(w, 3.0, out=w)
    return x


def two_numbers(x, i):
    w = np.stack([x, x * 2])[i // 2, :, i]
    v = w[1:]
    v += 1
    return w, v


def out(x, i):
    w = x[i]
    np.add(w, x[0], out=w)
    return x


def methods(x, i):
    w = x[i]
    w.sort()
    v = x[:, i]
    v.fill(np.sum(w))
    return x, v


def stale(x, i):
    w, v = x[i], x[:, i]
    x[0] = 7.0
    return w, v * 2


def stale_before_the_first_read(x, i):
    w = x.T[i]
    x[...] = np.cos(x)
    return w[1:], x


def row_of_a_row(x, i):
    w = x[i]
    v = w[1:][i]
    u = x[i, 1:]
    u += 2.0
    w[i] = 9.0
    return x, w, v


def source_is_gone(x, i):
    v = np.sin(x)[i][::-1]
    u = v[1:]
    u *= 2
    return v


def written_before(x, i):
    x[0, 0] = 1.0
    w = x[i]
    w[1:] += w[:-1]
    x[i] *= 2
    return w, x


def made(x, i):
    a = np.zeros((3, 4)) + 0.0 * x[0, 0]
    w = a[i]
    w[1] = 2.0
    v = a.T[i]
    v += x[:, 0]
    return a, w, v


def halves(x, i):
    z = x * (1 + 2j)
    w, v = z.real[i], z[i].imag
    w += 1
    v[1:] = x[0, 0]
    return z.real, z.imag, w


def numbers(x, i):
    w = x[np.argmax(x[0]) % 3]
    w -= 1
    v = x[np.sum(x[1:] > 0, axis=None) % 3]
    v[0] = 0.5
    u = x[i.copy()]
    u *= 2
    return x


def in_place(x, i):
    for j in range(3):
        w = x[(i + j) % 3]
        w += 0.5 * x[i]
        x[(i + j) % 3, 1:] -= w[:-1]
    return x


def by_mask(x, i):
    w = x[i]
    w[w > 0] = 0.25
    return x


def by_numbers(x, i):
    w = x[i]
    w[[0, 2]] += 1.0
    w[i] = 4.0
    np.add.at(w, [1, 1], 2.0)
    return x


def array_index(x, i):
    """At an array without axes NumPy has a copy."""
    w = x[np.where(x[0, 1] > 0, 1, 2)]
    w += 1
    v = x[np.array(1)]
    v += 1
    t = x[np.copy(i)]
    t += 1
    return x, w, v, t


PROGRAMS = [
    augmented, item, whole, part, reversed_part, dots, newaxis, two_numbers, out, methods, stale,
    stale_before_the_first_read, row_of_a_row, source_is_gone, written_before, made, halves,
    numbers, in_place, by_mask, by_numbers, array_index,
]  # fmt: skip


def total(f):
    """A number of all results, in which each element counts by another weight."""

    def g(x, i):
        results = f(x, i)
        results = results if isinstance(results, tuple) else (results,)
        return sum(np.sum(np.sin(r) * np.cos(np.arange(r.size).reshape(r.shape))) for r in results)

    return g


def by_numpy(f, x, i):
    found = f(x.copy(), i)
    return [np.array(r) for r in (found if isinstance(found, tuple) else (found,))]


def slope(f, x, i, t):
    """The derivative of `total(f)` along `t`, by differences."""

    def at(h):
        return total(f)(x + h * t, i)

    h = 1e-3
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.parametrize("f", PROGRAMS)
def test_values(f):
    expected = [
        np.stack(column) for column in zip(*[by_numpy(f, x, i) for x, i in zip(X, NUMBERS)])
    ]
    found = ft.vmap(f)(X, NUMBERS)
    for a, e in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12)


def outer_grad(g, t):
    return np.sum(ft.grad(lambda x: np.sum(ft.vmap(g)(x, NUMBERS)))(X) * t)


def outer_jvp(g, t):
    return np.sum(ft.jvp(lambda x: ft.vmap(g)(x, NUMBERS), (X,), (t,))[1])


def inner_grad(g, t):
    return np.sum(ft.vmap(ft.grad(g))(X, NUMBERS) * t)


def inner_jvp(g, t):
    return np.sum(ft.vmap(lambda x, i, t: ft.jvp(lambda x: g(x, i), (x,), (t,))[1])(X, NUMBERS, t))


def vmap_of_vmap(g, t):
    twice = ft.vmap(ft.vmap(ft.grad(g)))
    return np.sum(twice(np.stack([X, X]), np.stack([NUMBERS, NUMBERS])) * t) / 2


@pytest.mark.parametrize(
    "transform", [outer_grad, outer_jvp, inner_grad, inner_jvp, vmap_of_vmap]
)  # fmt: skip
@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f, transform):
    t = np.cos(np.arange(24.0)).reshape(X.shape)
    expected = sum(slope(f, x, i, own) for x, i, own in zip(X, NUMBERS, t))
    np.testing.assert_allclose(transform(total(f), t), expected, rtol=1e-6, atol=1e-6)


def test_compiled():
    for f in (augmented, stale, made):
        compiled = ft.compile(ft.vmap(f), backend="numpy")
        for i in (NUMBERS, NUMBERS[::-1], NUMBERS):
            for a, e in zip(compiled(X, i), ft.vmap(f)(X, i), strict=True):
                np.testing.assert_array_equal(a, e)


# ---- what is refused ----


def test_row_of_an_array_of_an_outer_level():
    def write_row(i, x):
        w = x[i]
        w += 1
        return w

    with pytest.raises(ft.MutationError, match=r"write y = x\[i\]\.copy\(\) where it is taken"):
        ft.vmap(lambda x: ft.vmap(lambda i: write_row(i, x))(NUMBERS))(X)


def test_array_of_an_outer_level_whose_row_is_in_use():
    def write(i, x):
        w = x[i]
        x[0] = 5.0
        return w

    with pytest.raises(ft.MutationError, match="make a copy inside"):
        ft.vmap(lambda x: ft.vmap(lambda i: write(i, x))(NUMBERS))(X)


def test_copy_of_a_row_may_be_written_to():
    def f(x):
        def g(i):
            w = x[i].copy()
            w += 1
            return w

        return ft.vmap(g)(NUMBERS)

    np.testing.assert_array_equal(ft.vmap(f)(X), X[:, NUMBERS] + 1)


def test_number_out_of_bounds():
    def f(x, i):
        x[0] = 1.0
        return x[:, i]

    with pytest.raises(IndexError, match="axis 1 with size 4"):
        ft.vmap(f)(X, NUMBERS + 3)


def test_read_only_source():
    def f(x, i):
        w = np.broadcast_to(x[0], (3, 4))[i]
        w += 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        ft.vmap(f)(X, NUMBERS)


# ---- what a read costs, and keeps ----


def test_row_keeps_its_source_as_long_as_it_lives():
    kept = []

    def f(x, i):
        v = np.sin(x)
        alive = weakref.ref(v._value)
        w = v[i]
        del v
        kept.append(alive() is not None)
        del w
        kept.append(alive() is None)
        w = np.cos(x)[i]
        kept.append(weakref.ref(w))
        return w

    ft.vmap(f)(X, NUMBERS)
    assert kept[:2] == [True, True]
    assert kept[2]() is None
