"""debug_nans and detect_anomaly: the operation, the line, the place; and nothing else changes."""

import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
import samples
from functier.testing import operations
from support import checks
from support.basics import HANG, equal, has_all, in_thread, line_of, message, raises


def found(call):
    """The text of the NonFiniteError that `call` raises while debugging."""
    with ft.debug.debug_nans(), pytest.raises(ft.NonFiniteError) as error:
        call()
    return message(error)


def entropy(p):
    q = p * 2.0
    logs = np.log(q)
    return np.sum(q * logs)


X = np.array([1.0, 0.0, 2.0])


# ---- the forward pass ----


def test_message_names_operation_transform_place_value_and_line():
    text = found(lambda: ft.grad(entropy)(X))

    has_all(
        text,
        "grad(entropy) (Tensor <- grad(entropy), made at ",
        "numpy.log made 1 infinity out of finite operands, at index (1,) of shape (3,)",
        f"where x = 0.0 | {line_of(__file__, 'logs = np.log(q)')}, in entropy: logs = np.log(q)",
    )


def test_counts_of_nans_and_infinities():
    text = found(lambda: ft.vmap(lambda x: x / (x - x))(np.array([0.0, 1.0, -1.0, 0.0])))

    assert "numpy.divide made 2 NaNs out of finite operands, first at index () of shape ()" in text
    has_all(text, "example 0 of vmap(<lambda>)", "where x = 0.0, y = 0.0")


def test_infinities_alone():
    with ft.debug.debug_nans(nans=False):
        x = np.array([0.0, 1.0])
        with np.errstate(invalid="ignore"):
            assert np.isnan(ft.vmap(lambda x: np.sqrt(x - 1.0))(x)[0])
        with pytest.raises(ft.NonFiniteError, match=r"numpy\.exp made 1 infinity"):
            ft.vmap(lambda x: np.exp(1000.0 * x))(x)


def test_nans_alone():
    with ft.debug.debug_nans(infs=False):
        with np.errstate(divide="ignore"):
            equal(ft.vmap(lambda x: np.log(x))(np.zeros(1)), np.array([-np.inf]))
        with pytest.raises(ft.NonFiniteError, match=r"numpy\.subtract made 1 NaN out of operands"):
            with np.errstate(divide="ignore"):
                ft.vmap(lambda x: np.log(x) - np.log(x))(np.zeros(1))


@pytest.mark.parametrize(
    ("transformed", "parts"),
    [
        (lambda f: ft.vmap(ft.grad(f)), ["grad(entropy)", "example 2 of vmap(entropy)"]),
        (
            lambda f: ft.grad(lambda xs: np.sum(ft.vmap(f)(xs))),
            ["vmap(entropy)", "example 2 of vmap(entropy)"],
        ),
        (lambda f: ft.vmap(ft.hessian(f)), ["example 2 of vmap(entropy)"]),
        (lambda f: ft.jacfwd(ft.vmap(f)), ["example 2 of vmap(entropy)"]),
        (
            lambda f: lambda xs: ft.vmap(ft.vmap(f))(np.stack([xs + 1.0, xs])),
            ["example 2 of vmap(entropy) at depth 2, example 1 of vmap(entropy) at depth 1"],
        ),
        (
            lambda f: (
                lambda xs: ft.vmap(ft.grad(lambda y: np.sum(ft.vmap(f)(y))))(
                    np.stack([xs + 1.0, xs])
                )
            ),
            ["example 2 of vmap(entropy), example 1 of vmap(<lambda>)"],
        ),
    ],
    ids=["vmap(grad)", "grad(vmap)", "vmap(hessian)", "jacfwd(vmap)", "vmap(vmap)", "three"],
)
def test_nestings_name_the_example_and_the_index(transformed, parts):
    xs = np.stack([X + 1.0, X + 2.0, X])
    text = found(lambda: transformed(entropy)(xs))

    has_all(text, "numpy.log made 1 infinity", "at index (1,) of shape (3,)", "where x = 0.0")
    has_all(text, f"{line_of(__file__, 'logs = np.log(q)')}, in entropy", *parts)


@given(st.data())
def test_the_place_in_any_nesting(data):
    """One element of a batch of batches is bad; between the levels of vmap there are others."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    index = [data.draw(st.integers(0, n - 1)) for n in sizes]
    xs = np.ones((*sizes, 2))
    xs[(*index, 1)] = 0.0

    def f(x):
        return np.sum(np.log(x))

    for _ in sizes:
        inside = data.draw(st.sampled_from([None, ft.grad, ft.checkpoint, "jvp"]))
        if inside == "jvp":
            f = lambda x, f=f: ft.jvp(f, (x,), (x,))[0]  # noqa: E731
        elif inside is not None:
            f = inside(lambda x, f=f: np.sum(f(x)))
        f = ft.vmap(lambda x, f=f: f(x))
    text = found(lambda: f(xs))

    examples = [f", example {i} of vmap(<lambda>)" for i in reversed(index)]
    place = "at index (1,) of shape (2,)" + "".join(examples) + "\n"
    text = re.sub(r" at depth \d", "", text)
    assert f"numpy.log made 1 infinity out of finite operands, {place}" in text


def test_a_value_that_does_not_vary_along_a_level():
    text = found(lambda: ft.vmap(lambda x: ft.vmap(lambda y: x + np.log(x - 1.0))(X))(X))

    has_all(
        text,
        "numpy.log made 1 NaN",
        "index () of shape (), example 1 of vmap(<lambda>) at depth 1\n",
    )


def test_operands_that_are_not_elementwise_are_described():
    big = np.full((2, 2), 1e200)
    text = found(lambda: ft.vmap(lambda a: a @ a)(big[None]))

    has_all(text, "numpy.matmul made 4 infinities out of finite operands")
    assert "x1 = float64[1, 2, 2] from 1e+200 to 1e+200" in text


def test_a_composite_is_named_as_it_was_called():
    text = found(lambda: ft.grad(lambda x: np.var(x, ddof=1))(np.ones(1)))

    assert "numpy.var made 1 NaN out of finite operands" in text


def test_forward_mode_names_the_tangent():
    text = found(lambda: ft.jvp(np.sqrt, (X,), (np.ones(3),)))

    has_all(text, "numpy.sqrt made 1 infinity in the tangent of jvp(sqrt) out of finite operands")
    has_all(text, "x = 0.0, x in the tangent of jvp(sqrt) = 1.0")


def test_tuples_and_methods_and_indexing():
    text = found(lambda: ft.vmap(lambda x: np.modf(1.0 / (1.0 - np.sign(x)))[0])(X))
    assert "numpy.divide made 2 infinities" in text
    assert "numpy.cumprod made" in found(lambda: ft.grad(lambda x: x.cumprod()[-1])(X + 1e200))
    text = found(lambda: ft.vmap(lambda x: x[0])(np.array([[np.nan]])))
    has_all(text, "indexing returned 1 NaN, from inputs: args[0] of vmap(<lambda>) holds 1 NaN")


def test_complex_numbers():
    text = found(lambda: ft.vmap(lambda z: 1.0 / z)(np.array([1j, 0j])))

    has_all(text, "numpy.divide made 1 ", "example 1 of vmap(<lambda>)", "= 0j")


# ---- what came in, and what is no fault ----


def test_inputs_are_reported_by_their_path():
    params = {"W": np.ones((2, 2)), "b": np.array([0.0, np.nan])}
    text = found(lambda: ft.grad(lambda p, x: np.sum(p["W"] @ x + p["b"]))(params, np.ones(2)))

    has_all(text, "numpy.add returned 1 NaN, from inputs:")
    has_all(text, "args[0]['b'] of grad(<lambda>) holds 1 NaN, the first at index (1,)")


def test_inputs_of_jvp():
    text = found(lambda: ft.jvp(np.exp, (np.ones(2),), (np.array([1.0, np.inf]),)))

    has_all(text, "numpy.exp returned 1 infinity in the tangent of jvp(exp), from inputs: ")
    has_all(text, "tangents[0] of jvp(exp) holds 1 infinity, the first at index (1,)")


def test_a_nan_that_the_function_closes_over():
    text = found(lambda: ft.vmap(lambda x: x + np.array([1.0, np.nan]))(X))

    assert "numpy.add returned 3 NaNs, which an operand already had, first at index (1,)" in text


def test_what_is_no_fault_passes():
    data = np.array([1.0, np.nan, 3.0])
    with ft.debug.debug_nans():
        masked = ft.vmap(lambda x: np.where(x > 0.5, x, -np.inf))(X)
        attention = ft.grad(lambda x: np.sum(np.exp(np.where(X > 0, x, -np.inf))))(X)
        assert float(ft.grad(np.nanmean)(data)[0]) == 0.5
        equal(ft.vmap(np.isnan)(data), np.isnan(data))
        equal(ft.grad(np.linalg.norm)(np.zeros(2)), np.zeros(2))  # a rule that divides safely
        equal(ft.vmap(lambda i: i // 2)(np.arange(3)), np.arange(3) // 2)

    equal(masked, np.array([1.0, -np.inf, 2.0]))
    equal(attention, np.exp(np.where(X > 0, X, -np.inf)))


def test_no_warning_beside_the_error():
    with warnings.catch_warnings(action="error"):
        assert "numpy.log" in found(lambda: ft.vmap(np.log)(X))


# ---- the backward pass ----


def root(x):
    y = np.sqrt(x)
    return np.sum(y * 3.0)


def test_backward_names_the_rule_its_forward_line_and_the_cotangent():
    text = found(lambda: ft.grad(root)(X))

    has_all(
        text,
        "grad(root): the derivative of numpy.sqrt for its operand 'x' made 1 infinity out of",
        "at index (1,) of shape (3,) | where cotangent = 3.0, ans = 0.0",
        f"{line_of(__file__, 'y = np.sqrt(x)')}, in root: y = np.sqrt(x)",
    )


def test_backward_in_a_batch_names_the_example():
    text = found(lambda: ft.vmap(ft.grad(root))(np.stack([X + 1.0, X])))

    has_all(text, "the derivative of numpy.sqrt", "example 1 of vmap(root)", "cotangent = 3.0")


def test_backward_of_a_jacobian_names_the_row():
    text = found(lambda: ft.jacrev(np.sqrt)(X))

    has_all(text, "the derivative of numpy.sqrt", "example ", " of jacrev(sqrt)")


def test_second_order_names_the_operation_inside_the_rule():
    with ft.debug.debug_nans(), pytest.raises(ft.NonFiniteError) as error:
        ft.grad(lambda x: ft.grad(lambda y: y**1.5)(x))(0.0)

    has_all(message(error), "derivative of numpy.power", "in <lambda>: ft.grad(lambda x: ft.grad(")


def test_what_a_transform_does_with_axes_is_named_by_it(monkeypatch):
    monkeypatch.setattr(operations()[np.transpose].vjp["a"], "fn", lambda g, *saved: g.T * np.nan)

    def f(x):
        return np.sum(ft.vmap(np.sin, in_dims=1)(x))

    text = found(lambda: ft.grad(f)(np.ones((2, 3))))
    has_all(text, "the derivative of numpy.transpose for its operand 'a' (part of vmap(sin)) made")
    has_all(text, f"{line_of(__file__, 'return np.sum(ft.vmap(np.sin, in_dims=1)(x))')}, in f")


def test_a_cotangent_that_was_bad_already():
    with ft.debug.debug_nans():
        pullback = ft.vjp(root, X + 1.0)[1]
        with pytest.raises(ft.NonFiniteError, match="the cotangent that came in was not finite"):
            pullback(np.nan)


def test_custom_rules_are_looked_at():
    @ft.custom_vjp
    def half(x):
        return x / 2.0

    half.defvjp(lambda x: (half(x), None), lambda _, g: (g / 0.0,))
    with np.errstate(all="ignore"):
        text = found(lambda: ft.grad(lambda x: np.sum(half(x)))(X))

    has_all(text, "a custom derivative rule made 3 infinities", "np.sum(half(x))")


def test_the_second_run_of_a_checkpoint():
    text = found(lambda: ft.grad(ft.checkpoint(root))(X))

    has_all(text, "the derivative of numpy.sqrt for its operand 'x' made 1 infinity", "in root")


def test_loops_and_branches():
    def f(x):
        return np.sum(ft.fori_loop(0, 3, lambda i, c: np.log(c), x))

    text = found(lambda: ft.grad(f)(X + 1.0))
    has_all(text, "numpy.log made 1 infinity", "ft.fori_loop(0, 3, lambda i, c: np.log(c), x)")
    text = found(lambda: ft.vmap(lambda x: ft.cond(x > 0.5, np.log, lambda x: 1.0 / x, x))(X))
    has_all(text, "numpy.divide made ", "where x = 1.0, y = 0.0", "lambda x: 1.0 / x")
    with ft.debug.debug_nans():  # a branch does not see the examples that did not choose it
        logs = ft.vmap(lambda x: ft.cond(x > 0.5, np.log, lambda x: x, x))(X)
    equal(logs, np.array([0.0, 0.0, np.log(2.0)]))


def test_the_backward_pass_outside_is_not_looked_at():
    with ft.debug.debug_nans():
        pullback = ft.vjp(root, X)[1]
    with np.errstate(all="ignore"):
        assert np.isinf(pullback(1.0)[0][1])


# ---- anomaly ----


def inner(x):
    return faulty(x * 2.0)


def outer(x):
    return np.sum(inner(x) + 1.0)


@ft.custom_vjp
def faulty(x):
    return x * 1.0


def broken(_, g):
    raise RuntimeError("the rule is broken")


faulty.defvjp(lambda x: (faulty(x), None), broken)


def notes(call):
    with pytest.raises((RuntimeError, ValueError, IndexError)) as error:
        call()
    return "\n".join(getattr(error.value, "__notes__", []))


def test_an_error_of_a_rule_shows_the_forward_stack():
    with ft.debug.detect_anomaly():
        text = notes(lambda: ft.grad(outer)(X))

    has_all(text, "raised in a custom derivative rule, which was recorded at")
    has_all(
        text, f"{line_of(__file__, 'return faulty(x * 2.0)')}, in inner: return faulty(x * 2.0)"
    )
    has_all(text, f"{line_of(__file__, 'return np.sum(inner(x) + 1.0)')}, in outer")
    assert text.index("in inner") < text.index("in outer")
    assert "_watching.py" not in text


def test_without_it_there_is_the_note_of_the_transform_alone():
    alone = "grad(outer) got x: float64[3]"
    assert notes(lambda: ft.grad(outer)(X)) == alone
    with ft.debug.debug_nans():
        assert notes(lambda: ft.grad(outer)(X)) == alone


def test_an_error_after_the_block_still_has_its_note():
    with ft.debug.detect_anomaly():
        pullback = ft.vjp(outer, X)[1]

    assert "in inner" in notes(lambda: pullback(1.0))


@pytest.mark.parametrize(
    "wrong",
    [lambda g, *saved: g[..., :2], lambda g, *saved: np.ones((5, 5)), lambda g, *saved: g["a"]],
    ids=["shape", "shape that cannot be fitted", "error"],
)
@pytest.mark.parametrize("other", [1.0, np.ones((2, 3))], ids=["same shape", "broadcast"])
def test_an_operation_whose_rule_fails(wrong, other, monkeypatch):
    monkeypatch.setattr(operations()[np.arctan2].vjp["x"], "fn", wrong)
    with ft.debug.detect_anomaly():
        text = notes(lambda: ft.grad(lambda x: np.sum(np.arctan2(x, other)))(X))

    has_all(text, "raised in the derivative of numpy.arctan2 for its operand 'x'")
    has_all(text, "in <lambda>: text = notes(lambda: ft.grad(")


def test_anomaly_finds_nans_of_the_backward_pass_only():
    large = 1000.0 * X
    with ft.debug.detect_anomaly(), np.errstate(all="ignore"):
        assert np.isnan(ft.vmap(np.sqrt)(-X)[0])
        with pytest.raises(
            ft.NonFiniteError, match=r"the derivative of numpy\.sqrt .* made \d NaN"
        ):
            ft.grad(lambda x: np.sum(np.cos(np.sqrt(x))))(large)
        equal(ft.grad(lambda x: np.sum(np.exp(x) * 0.0))(large), np.zeros(3))  # where zero wins
    with ft.debug.detect_anomaly(check_nan=False), np.errstate(all="ignore"):
        assert np.isnan(ft.grad(lambda x: np.sum(np.cos(np.sqrt(x))))(large)).any()


# ---- where it is on ----


def test_inside_a_function():
    def f(x):
        with ft.debug.debug_nans():
            return np.sum(np.log(x))

    raises(ft.NonFiniteError, lambda: ft.vmap(ft.grad(f))(X[None]), "numpy.log made")


def test_as_a_decorator():
    @ft.debug.debug_nans()
    def f(x):
        return ft.grad(entropy)(x)

    for _ in range(2):
        raises(ft.NonFiniteError, lambda: f(X))


def test_a_decorator_without_its_parentheses():
    for switch in (ft.debug.debug_nans, ft.debug.detect_anomaly):
        with pytest.raises(TypeError, match=rf"write True or False, and @{switch.__name__}\(\) wi"):
            switch(np.sin)


def test_switched_off_inside():
    with ft.debug.debug_nans(), np.errstate(all="ignore"):
        with ft.debug.debug_nans(nans=False, infs=False):
            assert np.isinf(ft.vmap(np.log)(X)[1])
        raises(ft.NonFiniteError, lambda: ft.vmap(np.log)(X))


def test_both_at_once():
    with ft.debug.debug_nans(), ft.debug.detect_anomaly(check_nan=False):
        assert "in inner" in notes(lambda: ft.grad(outer)(X))
        raises(ft.NonFiniteError, lambda: ft.grad(root)(X), "infinity")


def test_other_threads_are_not_affected():
    with ft.debug.debug_nans(), np.errstate(all="ignore"):
        with warnings.catch_warnings(action="ignore"):
            assert np.isinf(in_thread(lambda: ft.vmap(np.log)(X))[1])
        context = copy_context()
        raises(ft.NonFiniteError, lambda: in_thread(lambda: context.run(ft.vmap(np.log), X)))


def test_chunks_and_executors():
    xs = np.array([1.0, 2.0, 3.0, 0.0, 4.0])
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            text = found(lambda: ft.vmap(np.log, chunk_size=2, executor=executor)(xs))
            has_all(text, "example 1 of vmap(log), in the chunk from 2 to 4 of 5")
    whole = found(lambda: ft.vmap(np.log)(xs))
    assert "in the chunk from" not in whole


def test_two_threads_that_both_debug():
    ready = threading.Barrier(2)

    def run():
        with ft.debug.debug_nans():
            ready.wait(HANG)
            raises(ft.NonFiniteError, lambda: ft.grad(entropy)(X))
            ready.wait(HANG)
        return True

    other = threading.Thread(target=run)
    other.start()
    assert run()
    other.join()


def test_an_exception_of_the_function_leaves_nothing_on():
    def fail(x):
        raise KeyError(str(np.log(x + 1.0).shape))

    with pytest.raises(KeyError), ft.debug.debug_nans(), ft.debug.detect_anomaly():
        ft.grad(fail)(X)
    with np.errstate(all="ignore"):
        assert np.isinf(ft.vmap(np.log)(X)[1])


def test_levels_are_used_again_as_what_they_were():
    def kinds():
        seen = []
        ft.vmap(lambda x: (seen.append(type(x.level)), x)[1])(X)
        ft.grad(lambda x: (seen.append(type(x.level)), np.sum(x))[1])(X)
        ft.jvp(lambda x: (seen.append(type(x.level)), x)[1], (X,), (X,))
        return [kind.__name__ for kind in seen]

    before = kinds()
    with ft.debug.debug_nans():
        assert kinds() == ["WatchedBatchLevel", "WatchedGradLevel", "WatchedJvpLevel"]
    assert kinds() == before == ["BatchLevel", "GradLevel", "JvpLevel"]


def test_with_blocks_and_ended_levels():
    with ft.debug.debug_nans():
        with ft.vmap() as V, ft.grad() as G:
            x = G(V(X + 1.0))
            slope = G.gradient(np.log(x), x)
            equal(V.unwrap(slope), 1.0 / (X + 1.0))
        raises(ft.EscapedTensorError, lambda: x + 1)
        assert "grad()" in repr(x)


def test_no_dispatch():
    with ft.debug.debug_nans(), ft.vmap() as V:
        x = V(X)
        with ft.no_dispatch(V):
            equal(np.add(x, 1.0), X + 1.0)


def test_with_modes():
    class Names(ft.overrides.TensorFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return NotImplemented

    seen: list = []
    for first, second in ((Names(), ft.debug.debug_nans()), (ft.debug.debug_nans(), Names())):
        seen.clear()
        with pytest.raises(ft.NonFiniteError, match=r"numpy\.log made"), first, second:
            ft.grad(entropy)(X)
        assert np.log in seen


def test_errors_of_levels_are_the_same():
    def f(x):
        return float(x)

    with pytest.raises(ft.ConversionError) as plain:
        ft.vmap(f)(X)
    with pytest.raises(ft.ConversionError) as watched, ft.debug.debug_nans():
        ft.vmap(f)(X)

    def neutral(e):
        return re.sub(r":\d+", "", message(e))

    assert neutral(plain) == neutral(watched)


# ---- the same results ----


ROWS = [
    pytest.param(row, id=name, marks=[pytest.mark.slow] * (name.startswith("scipy") or k % 2 == 1))
    for k, (name, row) in enumerate([*samples.named().items()][::110])
]


@pytest.mark.parametrize("row", ROWS)
def test_watched_levels_do_what_levels_do(row):
    with warnings.catch_warnings(action="error"), np.errstate(all="ignore"):
        for check in checks.checks_of(row).values():
            with (
                ft.debug.debug_nans(nans=False, infs=False),
                ft.debug.detect_anomaly(check_nan=False),
            ):
                check(row)


def test_other_transforms_under_watching():
    def f(x):
        return np.sum(np.sin(x) * x)

    calls = [
        lambda: ft.hessian(f)(X),
        lambda: ft.jacrev(np.tanh)(X),
        lambda: ft.jacfwd(np.tanh)(X),
        lambda: ft.linearize(f, X)[1](X),
        lambda: ft.linear_transpose(lambda x: 3.0 * x, X)(X)[0],
        lambda: ft.grad(ft.checkpoint(f))(X),
        lambda: ft.vmap(ft.vmap(f), in_dims=1)(np.ones((3, 2, 2))),
        lambda: ft.hvp(f, (X,), (X,))[1],
        lambda: ft.vmap(ft.grad(lambda x: ft.scan(lambda c, y: (c * y, c), x, X + 1.0)[0]))(X),
        lambda: ft.grad(lambda x: ft.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * x, c[1] + 1),
                                                (x, 0))[0])(2.0),
    ]  # fmt: skip
    for call in calls:
        expected = call()
        with ft.debug.debug_nans(), ft.debug.detect_anomaly():
            actual = call()
        equal(actual, expected)
