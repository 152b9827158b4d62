"""vmap(branches="split"): the results of a loop, in few runs."""

import concurrent.futures
import re
import warnings

import numpy as np
import pytest

import functier as ft
from faults.planted import transforms as faulty
from support.basics import raises
from support.rows import run_each

XS = np.array([0.5, 4.0, 30.0, 2.0, 9.0, 0.5, 17.0])
VECTORS = np.array([[0.5, -1.0, 2.0], [1.5, 2.0, -3.0], [-1.0, -2.0, 0.5], [3.0, 1.0, -2.0]])
pytestmark = pytest.mark.filterwarnings("ignore::functier.FallbackWarning")


def newton(x):
    y = x
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


def early(x):
    if x > 10:
        return x * 2.0
    for i in range(int(x)):
        if x * i > 6:
            return x * i
        x = x + 0.5
    return -x


def collatz(x):
    """A recursion whose depth differs."""
    return x if x <= 1.0 else 1.0 + collatz(x / 3.0)


def tree(x):
    if x > 3:
        y = x * x if x < 20 else np.sqrt(x)
    elif x > 1:
        y = 1.0 / x
    else:
        y = [x, x * 7.0][int(x > 0.7)]
    return {"y": y, "z": (y + 1.0, x)}


def selected(x):
    positive = x[x > 0]
    return np.sum(positive * np.arange(1.0, len(positive) + 1))


def places(x):
    total = 0.0 * x[0]
    for i in np.nonzero(x > 0)[0]:
        total = total + x[i] * i
    return total


def written(x):
    y = np.zeros_like(x)
    if x[0] > 0:
        y[x > 0] = np.sqrt(x[x > 0])
    else:
        y[-1] = x[0]
    return y


def sorted_values(x):
    return np.sort(x[x > 0])[:1] * 2.0


def tried(x):
    try:
        if x > 5:
            return x * 3.0
    except Exception:
        return x * 0.0
    return -x


PROGRAMS = {
    "while": (newton, XS), "early returns": (early, XS), "recursion": (collatz, XS),
    "a tree": (tree, XS), "a selection": (selected, VECTORS), "nonzero": (places, VECTORS),
    "a write": (written, VECTORS), "a sorted selection": (sorted_values, VECTORS),
    "try": (tried, XS), "a bare except": (lambda x: swallowed(x), XS),
    "no branch": (lambda x: x * 2.0, XS), "one path": (lambda x: x if x > 0 else -x, XS),
}  # fmt: skip


def swallowed(x):
    try:
        if x > 5:
            return x * 3.0
    except:  # noqa: E722
        return x * 0.0
    return -x


def split(f, **options):
    return ft.vmap(f, branches="split", **options)


def loop(f, xs):
    """The results of single calls, leaf by leaf."""
    results = [f(x) for x in xs]
    if isinstance(results[0], dict):
        y = np.stack([r["y"] for r in results])
        return {"y": y, "z": tuple(np.stack(z) for z in zip(*[r["z"] for r in results]))}
    return np.stack(results)


def close(a, b):
    if isinstance(a, dict):
        close(a["y"], b["y"])
        for p, q in zip(a["z"], b["z"], strict=True):
            close(p, q)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12)


def total(y):
    return np.sum(y["y"] * y["z"][0] if isinstance(y, dict) else y)


def check(program):
    """The batch; derivatives inside and outside; two levels that split, and one that does."""
    f, xs = program
    slope = ft.grad(lambda x: total(f(x)))
    slopes = loop(slope, xs)
    close(split(f)(xs), loop(f, xs))
    close(split(slope)(xs), slopes)
    close(ft.grad(lambda xs: total(split(f)(xs)))(xs), slopes)
    pushed = ft.jvp(lambda xs: split(lambda x: total(f(x)))(xs), (xs,), (np.ones_like(xs),))[1]
    close(pushed, [np.sum(s) for s in slopes])
    deep = np.stack([xs, xs[::-1]])
    close(total(split(split(lambda x: total(f(x))))(deep)), sum(total(f(x)) for x in xs) * 2)
    reversed_ = split(lambda x: ft.vmap(lambda s: s * total(f(x)))(np.arange(3.0)))(xs)
    close(reversed_, [np.arange(3.0) * total(f(x)) for x in xs])


def test_programs_give_the_results_of_a_loop():
    run_each(PROGRAMS, check)


def test_jacobians_inside_and_outside():
    close(split(ft.jacfwd(written))(VECTORS), [ft.jacfwd(written)(x) for x in VECTORS])
    close(split(ft.jacrev(written))(VECTORS), [ft.jacrev(written)(x) for x in VECTORS])
    whole = ft.jacrev(split(newton))(XS)
    close(whole, np.diag([ft.grad(newton)(x) for x in XS]))
    close(ft.jacfwd(split(newton))(XS), whole)
    close(split(ft.hessian(newton))(XS), [ft.hessian(newton)(x) for x in XS])


def test_axes_options_and_chunks():
    f = lambda x, w: newton(x) * w if x > 3 else w - x  # noqa: E731
    grid = np.stack([XS, XS + 1.0])
    want = [[f(x, 2.0) for x in row] for row in grid]
    close(split(lambda x: split(f, in_dims=(0, None))(x, 2.0))(grid), want)
    close(split(lambda x: np.stack([f(v, 2.0) for v in x]), in_dims=1, out_dims=1)(grid), want)
    close(split(f, in_dims=(0, None), chunk_size=3)(XS, 2.0), want[0])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        close(split(f, in_dims=(0, None), chunk_size=2, executor=pool)(XS, 2.0), want[0])
    assert split(lambda x: (x, 3.0 if x > 3 else 1.0 + 2.0), out_dims=(0, None))(XS)[1] == 3.0
    decorated = ft.vmap(branches="split")(newton)
    close(decorated(XS), loop(newton, XS))


def counted(f):
    runs = []

    def call(x):
        runs.append(None)
        return f(x)

    return call, runs


def test_runs_are_at_most_twice_the_paths():
    for f, xs, paths in ((early, XS, 7), (tree, XS, 4), (places, VECTORS, 4), (tried, XS, 2)):
        call, runs = counted(f)
        split(call)(xs)
        assert len(runs) <= 2 * paths, f.__name__
    call, runs = counted(newton)
    split(call)(np.linspace(1.0, 100.0, 1000))
    assert len(runs) <= 16


def test_many_groups_warn_with_their_number():
    with pytest.warns(ft.FallbackWarning, match="for 12 groups"):
        split(lambda x: x * int(x))(np.arange(12.0))
    with warnings.catch_warnings(action="error"):
        split(lambda x: x * int(x))(np.arange(8.0))


def test_an_exception_is_that_of_the_first_example_that_raises():
    def f(x):
        if x == 9.0:
            raise KeyError("nine")
        if x > 3:
            raise ValueError(f"{float(x)} is large")
        return x

    call, runs = counted(f)
    raises(ValueError, lambda: split(call)(XS), "4.0 is large")
    assert len(runs) <= 2 * 3 + np.log2(len(XS)) + 1

    matrices = np.stack([np.eye(2), 2 * np.eye(2), np.zeros((2, 2)), np.ones((2, 2))])
    call, runs = counted(lambda m: np.linalg.inv(m))
    raises(np.linalg.LinAlgError, lambda: split(call)(matrices))
    close(split(lambda m: np.linalg.inv(m) if m[0, 1] == 0 else m)(matrices[[0, 1, 3]]),
          [np.eye(2), np.eye(2) / 2, np.ones((2, 2))])  # fmt: skip


def test_results_of_other_forms_are_refused():
    rows = {
        "shape": (lambda x: x if x > 3 else np.stack([x, x]), r"shape \(\)"),
        "structure": (lambda x: x if x > 3 else (x, x), "structure"),
    }

    def test(row):
        f, text = row
        with pytest.raises(ValueError, match=text):
            split(f)(XS)

    run_each(rows, test)
    with pytest.raises(ValueError, match=r"example 1 is not that .* out_dims is None"):
        split(lambda x: 1.0 if x > 3 else 2.0, out_dims=None)(XS)


def test_options_that_do_not_fit():
    raises(ValueError, lambda: ft.vmap(newton, branches="maybe"), "branches='maybe'")
    raises(ValueError, lambda: ft.vmap(newton, branches="split", axis_name="i"), "axis_name='i'")
    with pytest.raises(TypeError, match="with block"), ft.vmap(branches="split"):
        pass
    raises(ft.DataDependentError, lambda: ft.vmap(newton)(XS), "branches='split'")
    with pytest.raises(ft.DataDependentError):  # the inner level does not split
        split(ft.vmap(newton))(XS.reshape(1, -1))


def test_an_answer_that_was_refused_and_caught_raises_at_the_return():
    """The result would be that of another path."""
    for f in (tried, swallowed):
        raises(ft.DataDependentError, lambda: ft.vmap(f)(XS), "differs from example to example")
        close(ft.vmap(f)(XS[2:3]), loop(f, XS[2:3]))


def test_a_float_that_was_refused_and_caught_raises_at_the_return():
    """Under every transform: the plain function would not have gone that way."""

    def f(x):
        try:
            return x * float(x)
        except Exception:
            return x * 0.0

    runs = {
        "grad": lambda: ft.grad(f)(2.0), "vjp": lambda: ft.vjp(f, 2.0),
        "jvp": lambda: ft.jvp(f, (2.0,), (1.0,)), "jacfwd": lambda: ft.jacfwd(f)(2.0),
        "jacrev": lambda: ft.jacrev(f)(2.0), "hessian": lambda: ft.hessian(f)(2.0),
        "linearize": lambda: ft.linearize(f, 2.0), "vmap": lambda: ft.vmap(f)(XS),
        "vmap of grad": lambda: ft.vmap(ft.grad(f), branches="split")(XS),
    }  # fmt: skip

    def test(run):
        raises(ft.ConversionError, run, "float(x)")

    run_each(runs, test)
    close(split(f)(XS), XS * XS)


def test_random_numbers():
    """As with chunks: the same numbers for all, or others for each example."""

    def f(x, rng):
        draw = rng.normal()
        return draw if x > 3 else draw + 100.0

    rng = ft.random.default_rng(0)
    same = split(f, in_dims=(0, None), randomness="same")(XS, rng)
    assert len(set(np.round(np.where(XS > 3, same, same - 100.0), 9))) == 1
    after = rng.normal()
    different = split(f, in_dims=(0, None), randomness="different")(XS, rng)
    assert len(set(np.where(XS > 3, different, different - 100.0))) == len(XS)
    assert after != rng.normal()
    raises(ft.RandomnessError, lambda: split(f, in_dims=(0, None))(XS, rng))


def test_an_empty_batch():
    close(split(lambda x: x * 2.0)(np.zeros(0)), np.zeros(0))
    raises(ft.DataDependentError, lambda: split(newton)(np.zeros(0)), "no example")


@pytest.mark.parametrize("fault", ["groups", "order", "rows"])
def test_a_planted_fault_is_found(monkeypatch, fault):
    """The checks fail where groups are wrong, or are put together in another order."""
    faulty.wrong_groups(fault, monkeypatch)
    if fault == "groups":
        raises(AssertionError, test_runs_are_at_most_twice_the_paths)
        return
    with pytest.raises((AssertionError, ValueError)):
        check(PROGRAMS["early returns"])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.delete(x, np.where(x > 1)[0]) ** 2),
        lambda x: np.sum(np.delete(x, x.astype(int)[:2]) ** 2),
        lambda x: np.sum(np.delete(x, x < 1) ** 2),
        lambda x: np.sum(x[np.delete(list(range(3)), np.where(x > 1)[0])] ** 2),
    ],
)
def test_deleted_places(f):
    x = np.array([[0.0, 1, 2], [1, 0, 2], [1, 1, 2], [0, 1, 2.5]])
    np.testing.assert_array_equal(ft.vmap(f, branches="split")(x), [f(row) for row in x])
    slopes = ft.vmap(ft.grad(f), branches="split")(x)
    np.testing.assert_array_equal(slopes, [ft.grad(f)(row) for row in x])


ASKED = {
    "if": (lambda x: x * 2 if x.astype(int) % 9 else x, None),
    "int": (lambda x: x * int(x), r"int\(x\) differs .*; write numpy\.trunc\(x\)"),
    "hash": (lambda x: x * {float(i): i for i in range(20)}[x], r"hash\(x\) differs .*numpy\.isin"),
    "length": (lambda x: np.sum(np.zeros(x.astype(int))) + x, "write an int n that is the same"),
    "list": (lambda x: x * [*range(20)][x.astype(int)], r"write functier\.tensor\("),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_warning_of_many_groups_says_what_made_them(name):
    f, text = ASKED[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ft.vmap(f, branches="split")(np.arange(20.0))
    if text is None:
        assert not caught
        return
    (one,) = caught
    assert re.search(f"20 groups of examples .* one after the other: .*{text}", str(one.message))
    assert "split" not in str(one.message).partition("one after")[2]
    assert one.filename == __file__


@pytest.mark.parametrize("around", [ft.grad, ft.compile, lambda f: ft.compile(ft.grad(f))])
def test_bounds_of_slices_are_answered_before_a_level_around_notes_them(around):
    def f(x, k):
        y = np.ones(12) * x
        return ft.while_loop(
            lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] + np.sum(y[c[0] : c[0] + 2])), (k - 3, x)
        )[1]

    def split(x):
        return np.sum(ft.vmap(f, branches="split")(x, np.array([3, 5, 7, 5])))

    def apart(x):
        return sum(f(x[i], k) for i, k in enumerate([3, 5, 7, 5]))

    x = np.array([1.0, 2.0, 3.0, 2.5])
    np.testing.assert_allclose(around(split)(x), around(apart)(x), rtol=1e-14)
