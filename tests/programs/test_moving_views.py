"""Writes to a row whose number is computed: a program writes to the row of its own call."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp

X = np.arange(1.0, 5).reshape(2, 2)
POINTS = np.array([0.0, 1.0]), np.array([1.0, 0.0])


def named(x, y):
    v = np.array(x, like=x)
    w = v[np.argmax(y)]
    w += 1
    return v


def augmented(x, y):
    v = x * 1
    v[np.argmax(y) % 2] *= x[0]
    return v


def written_before(x, y):
    v = np.array(x, like=x)
    v[0] = 1
    w = v[np.argmax(y)]
    w += x[0]
    return v


def made(x, y):
    v = fnp.zeros((2, 2))
    v[np.argmax(y)] += x[0]
    return v


def of_a_view(x, y):
    v = x * 1
    w = v.T[:, np.argmax(y)][::-1]
    w *= 3
    return v


def of_parts(x, y):
    v = x * 1
    w = np.array_split(v[np.argmax(y)], 2)[1]
    w *= 3
    return v


def of_parts_of_all(x, y):
    v = x * 1
    w = np.array_split(v[np.argmax(y)], 2)[1]
    v *= x[0]
    return v, w * 1


def number(x, y):
    v = np.cumsum(x)
    v[np.argmax(y)] += 1
    return v


def slope(f):
    return ft.grad(lambda x, y: np.sum(np.sin(f(x, y))))


TRANSFORMS = {
    "value": lambda f: f,
    "grad": slope,
    "jvp": lambda f: lambda x, y: ft.jvp(lambda x: f(x, y), (x,), (x,))[1],
    "vmap": lambda f: ft.vmap(f, (0, None)),
    "vmap grad": lambda f: ft.vmap(slope(f), (0, None)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [named, augmented, written_before, made, of_a_view, of_parts, number])
def test_a_later_call_writes_to_another_row(f, transform):
    call = TRANSFORMS[transform](f)
    x = np.stack([X, X + 1]) if "vmap" in transform else X
    compiled = ft.compile(call, backend="numpy")
    for y in (*POINTS, *POINTS):
        np.testing.assert_array_equal(compiled(x, y), call(x, y))
    assert len(compiled.programs) == (1 if f is number else 2)


def test_a_part_of_another_row_that_a_write_to_all_changes():
    compiled = ft.compile(of_parts_of_all, backend="numpy")
    for y in (*POINTS, *POINTS):
        for found, wanted in zip(compiled(X, y), of_parts_of_all(X, y)):
            np.testing.assert_array_equal(found, wanted)


def test_a_row_that_is_read_has_no_guard():
    compiled = ft.compile(slope(lambda x, y: x[np.argmax(y)] * 2))
    for y in POINTS:
        np.testing.assert_array_equal(compiled(X, y), slope(lambda x, y: x[np.argmax(y)] * 2)(X, y))
    assert len(compiled.programs) == 1


def test_a_place_that_is_not_noted_is_found(monkeypatch):
    monkeypatch.setattr("functier._levels.writes.note_place", id)
    compiled = ft.compile(named, backend="numpy")
    compiled(X, POINTS[0])
    assert not np.array_equal(compiled(X, POINTS[1]), named(X, POINTS[1]))
