"""Messages of cond, switch and the loops about bad arguments and results of another form."""

import numpy as np
import pytest

import functier as ft
from functier import cond, fori_loop, switch, while_loop
from support.basics import has_all, message, model, raises


def identity(x):
    return x


def both(yes, no):
    return lambda: ft.vmap(lambda x: cond(x > 0, yes, no, x))(np.array([1.0, -1.0]))


X = np.array([1.0, -1.0])


ERRORS = [
    (TypeError, lambda: cond(True, 3, model), "cond: true_fun is a Python int | pass a function"),
    (TypeError, lambda: cond(True, model, None), "cond: false_fun is a Python NoneType"),
    (TypeError, lambda: cond("yes", model, model, 1.0), "cond: pred is a Python str | truth value"),
    (TypeError, lambda: cond(None, model, model, 1.0), "cond: pred is a Python NoneType"),
    (TypeError, lambda: cond(1j, model, model, 1.0), "cond: pred has dtype complex128"),
    (ValueError, lambda: cond(X > 0, model, model, X), "pred has shape (2,) | numpy.where"),
    (
        ValueError,
        lambda: ft.vmap(lambda x: cond(x > 0, model, model, x))(np.ones((3, 2))),
        "cond: pred has shape (2,) for each example | numpy.any",
    ),
    (
        TypeError,
        both(lambda x: (x, x), model),
        "cond(<lambda>, model) | true_fun returned (float64[], float64[])"
        " | false_fun returned an array",
    ),
    (
        TypeError,
        both(lambda x: {"a": (x, x)}, lambda x: {"a": (x, np.stack([x, x]))}),
        "the result['a'][1] is float64[] from true_fun | float64[2] from false_fun",
    ),
    (
        TypeError,
        both(model, lambda x: x.astype(np.float32)),
        "the result is float64[] from true_fun, but float32[] from false_fun | x.astype",
    ),
    (TypeError, both(lambda x: 1, lambda x: "a"), "a Python int | a Python str"),
    (
        TypeError,
        both(lambda x: 1.0, lambda x: np.int64(1)),
        "a Python float from true_fun | int64[]",
    ),
    (ValueError, lambda: switch(0, []), "switch: branches is empty"),
    (TypeError, lambda: switch(0, [model, 3], 1.0), "switch: branches[1] is a Python int"),
    (
        TypeError,
        lambda: switch(1.0, [model], 1.0),
        "switch(model): index has dtype float64 | one integer",
    ),
    (TypeError, lambda: switch(True, [model], 1.0), "switch(model): index has dtype bool"),
    (ValueError, lambda: switch(np.array([0]), [model], 1.0), "index has shape (1,)"),
    (
        IndexError,
        lambda: switch(2, [model, identity], 1.0),
        "switch(model, identity): index 2 is out | from 0 to 1",
    ),
    (IndexError, lambda: switch(-1, [model, identity], 1.0), "index -1"),
    (
        IndexError,
        lambda: ft.vmap(lambda i: switch(i, [model, identity], 1.0))(np.array([0, 1, 7])),
        "index 7 is out of range",
    ),
    (
        TypeError,
        lambda: ft.vmap(lambda i: switch(i, [model, identity, lambda x: (x,)], 1.0))(
            np.array([1, 2])
        ),
        "branches[2] returned (float,) | branches[1] returned an array",
    ),
    (TypeError, lambda: while_loop(1, model, 1.0), "while_loop: cond_fun is a Python int"),
    (TypeError, lambda: while_loop(model, [], 1.0), "while_loop: body_fun is a Python list"),
    (
        ValueError,
        lambda: while_loop(lambda x: x > 0, model, X),
        "while_loop(model): the result of cond_fun has shape (2,) | numpy.all",
    ),
    (
        TypeError,
        lambda: while_loop(lambda c: True, lambda c: [c[0]], (X, X)),
        "while_loop(<lambda>): body_fun returned the carry [float64[2]] | structure of init_val",
    ),
    (
        TypeError,
        lambda: while_loop(lambda c: True, lambda c: {"a": c["a"][:1]}, {"a": X}),
        "body_fun returned float64[1] for init_val['a'] of the carry, which was float64[2]",
    ),
    (
        TypeError,
        lambda: while_loop(lambda c: True, lambda c: c * 0.5, np.array(1)),
        "returned float64[] for init_val of the carry, which was int64[]",
    ),
    (TypeError, lambda: while_loop(lambda c: True, lambda c: None, 1.0), "the carry"),
    (TypeError, lambda: while_loop(lambda c: True, lambda c: "a", 1.0), "a Python str"),
    (
        TypeError,
        lambda: ft.vmap(lambda x: while_loop(lambda c: c > 0, lambda c: np.stack([c, c]), x))(X),
        "float64[2] for init_val of the carry, which was float64[]",
    ),
    (TypeError, lambda: fori_loop(0, 3, 3, 1.0), "fori_loop: body_fun is a Python int"),
    (TypeError, lambda: fori_loop(0.0, 3, model, 1.0), "fori_loop(model): lower has dtype float64"),
    (
        TypeError,
        lambda: fori_loop(0, None, model, 1.0),
        "fori_loop(model): upper is a Python NoneType",
    ),
    (ValueError, lambda: fori_loop(0, np.array([3]), model, 1.0), "upper has shape (1,)"),
    (
        TypeError,
        lambda: fori_loop(0, 3, lambda i, c: c + X, X.astype(np.float32)),
        "fori_loop(<lambda>) | x.astype",
    ),
]


@pytest.mark.parametrize(("kind", "call", "parts"), ERRORS)
def test_errors_say_what_is_wrong(kind, call, parts):
    raises(kind, call, parts)


@pytest.mark.parametrize("batched", [False, True])
def test_an_error_in_a_loop_tells_the_iteration(batched):
    def body(i, c):
        if i == 3:
            raise KeyError("mine")
        return c

    def run(n):
        return fori_loop(0, n, body, 1.0)

    with pytest.raises(KeyError) as error:
        ft.vmap(run)(np.array([5, 2])) if batched else run(5)
    assert error.value.__notes__[0] == "fori_loop(body): in iteration 3"
    assert error.value.__notes__[1:] == ["vmap(run) got n: int64[2]"] * batched

    calls = []

    def halved(c):
        calls.append(c)
        return c / 2 if len(calls) < 3 else (c, c)

    with pytest.raises(TypeError) as error:
        while_loop(lambda c: True, halved, 1.0)
    assert error.value.__notes__ == ["while_loop(halved): in iteration 2"]
    has_all(message(error), "body_fun returned the carry")
