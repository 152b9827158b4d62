"""Values of an inner level, written to results of the levels around it."""

import numpy as np
import pytest

import functier as ft
from support.basics import close, has_all, message, raises

C = np.array([0.1, 0.2, 0.3])
X = np.array([0.7, -0.4, 1.2])

MAKERS = {
    "sin": np.sin,
    "copy": lambda c: c.copy(),
    "zeros_like": np.zeros_like,
    "a view of a result": lambda c: np.sin(c)[::-1],
}
INSIDE = {
    "grad": lambda f: ft.grad(lambda x: np.sum(f(x) ** 2))(X),
    "jvp": lambda f: ft.jvp(f, (X,), (X,))[1],
    "vmap": lambda f: ft.vmap(f)(np.stack([X, -X])),
    "vmap of grad": lambda f: ft.vmap(ft.grad(lambda x: np.sum(f(x) ** 2)))(np.stack([X, -X])),
}


def pulled(y, pull):
    """The cotangent for the one of the result that is the result itself."""
    return pull(y)


OUTSIDE = {
    "vjp": lambda f: pulled(*ft.vjp(f, C)),
    "jvp": lambda f: ft.jvp(f, (C,), (X,))[1],
    "vmap": lambda f: ft.vmap(f)(np.stack([C, X])),
    "jvp of grad": lambda f: ft.jvp(ft.grad(lambda c: np.sum(f(c) ** 2)), (C,), (X,))[1],
}


@pytest.mark.parametrize("outer", OUTSIDE)
@pytest.mark.parametrize("inner", INSIDE)
@pytest.mark.parametrize("make", MAKERS)
def test_a_result_of_an_outer_tensor_made_inside_takes_inner_values(make, inner, outer):
    """It is a tensor of the outer level, and lives no longer than the function."""

    def writing(x, c):
        s = MAKERS[make](c)
        s -= x
        s[1:] *= x[:2]
        return s

    def pure(x, c):
        s = MAKERS[make](c) - x
        return np.concatenate([s[:1], s[1:] * x[:2]])

    close(
        OUTSIDE[outer](lambda c: INSIDE[inner](lambda x: writing(x, c))),
        OUTSIDE[outer](lambda c: INSIDE[inner](lambda x: pure(x, c))),
    )


def outside(c):
    s = np.sin(c)

    def inside(x):
        s[0] = x
        return np.sum(s)

    return ft.grad(inside)(1.0)


def outside_in_a_list(c):
    held = [np.sin(c)]

    def inside(x):
        held[0][0] = x
        return np.sum(held[0])

    return ft.grad(inside)(1.0)


def handed_out(c):
    held = {}

    def inside(x):
        held["s"] = np.sin(c)
        held["s"][0] = x
        return np.sum(held["s"])

    return ft.grad(inside)(1.0)


@pytest.mark.parametrize("f", [outside, outside_in_a_list, handed_out])
@pytest.mark.parametrize("outer", ["grad", "jvp", "vmap"])
def test_a_result_that_is_known_outside_refuses_an_inner_value_at_the_write(f, outer):
    """The message names both levels; what it says to write works."""
    run = {
        "grad": lambda: ft.vjp(f, C),
        "jvp": lambda: ft.jvp(f, (C,), (C,)),
        "vmap": lambda: ft.vmap(f)(np.stack([C, C])),
    }[outer]
    level = f"in {'vjp' if outer == 'grad' else outer}({f.__name__})"
    with pytest.raises(ft.MutationError) as error:
        run()
    has_all(message(error), "a value of grad(inside) cannot be written", level)


def test_a_result_that_leaves_in_a_container_of_containers_refuses_to_be_read():
    def f(c):
        box = [[]]

        def inside(x):
            s = np.sin(c)
            box[0].append(s)
            s[0] = x
            return np.sum(s)

        ft.grad(inside)(1.0)
        return np.sum(box[0][0])

    raises(ft.EscapedTensorError, lambda: ft.grad(f)(C), "grad(inside) was used after")


@pytest.mark.parametrize("outer", OUTSIDE)
def test_functions_that_write_take_a_result_of_an_outer_tensor(outer):
    """The arguments of the running call do not count as a tape that has kept it."""

    def writing(x, c):
        s = np.outer(c, c)
        np.fill_diagonal(s, x)
        np.put(s, [1], x[0])
        np.copyto(s[2], x)
        return s[:, 0] * np.sum(s)

    def pure(x, c):
        s = np.where(np.eye(3) > 0, x, np.outer(c, c))
        s = np.where(np.arange(9).reshape(3, 3) == 1, x[0], s)
        s = np.concatenate([s[:2], np.reshape(x, (1, 3))])
        return s[:, 0] * np.sum(s)

    for inner in INSIDE.values():
        close(
            OUTSIDE[outer](lambda c, run=inner: run(lambda x: writing(x, c))),
            OUTSIDE[outer](lambda c, run=inner: run(lambda x: pure(x, c))),
        )
