"""functier.testing: right functions pass, and every planted fault is found by its checker."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
import samples
from faults.planted import transforms as faulty
from functier.testing import check_grads, check_vmap, gradcheck, gradgradcheck
from support import checks
from support.basics import has_all, message, raises

rng = np.random.default_rng(5)
A = rng.normal(size=(2, 3))
V = rng.normal(size=3)


def fault(call, *parts):
    """The text of the GradcheckError of `call`, which has `parts`."""
    with pytest.raises(ft.GradcheckError) as error:
        call()
    assert isinstance(error.value, AssertionError)
    has_all(message(error), *parts)
    return message(error)


# ---- planted faults: sin with rules that are wrong in one place ----


def sine(vjp=lambda x, g: g * np.cos(x), jvp=lambda x, t: t * np.cos(x), value=np.sin):
    """sin with these rules."""

    @ft.custom_vjp
    def sin(x):
        return value(x)

    sin.defvjp(lambda x: (sin(x), x), lambda x, g: (vjp(x, g),))
    sin.defjvp(lambda primals, tangents: (sin(*primals), jvp(*primals, *tangents)))
    return sin


def off(x, g):
    return g * np.cos(x) * 1.001


def rough(x, g):
    """The right derivative, whose derivative is zero."""
    return g * ft.stop_gradient(np.cos(x))


RIGHT = sine()
WRONG_VJP = sine(vjp=off)
WRONG_JVP = sine(jvp=off)
ROUGH_VJP = sine(vjp=rough)
ROUGH_JVP = sine(jvp=rough)


@pytest.mark.parametrize("fast", [False, True])
def test_right_rules_pass(fast):
    assert gradcheck(RIGHT, A, fast_mode=fast, check_batched_grad=True)
    assert gradgradcheck(RIGHT, A, fast_mode=fast, check_batched_grad=True)
    check_grads(RIGHT, (A,), 3)


def test_batches_are_checked_in_the_modes_that_are_asked_for(monkeypatch):
    seen = []
    faulty.batches_are_checked_in_the_modes_that_are_asked_for(monkeypatch, seen)
    only = {"check_fwd_over_rev": False, "check_fwd_over_fwd": False, "check_rev_over_fwd": False}
    gradgradcheck(RIGHT, A, check_batched_grad=True, **only)

    assert seen == ["reverse over reverse mode"]


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_vjp_is_found_in_reverse_mode_only(fast):
    fault(lambda: gradcheck(WRONG_VJP, A, fast_mode=fast), "reverse mode (vjp) is wrong")
    assert not gradcheck(WRONG_VJP, A, fast_mode=fast, raise_exception=False)
    assert gradcheck(WRONG_VJP, A, fast_mode=fast, check_backward_ad=False)
    fault(lambda: check_grads(WRONG_VJP, (A,), 1), "check_grads(sin): reverse mode is wrong")
    fault(lambda: check_grads(WRONG_VJP, (A,), 1, "rev"), "reverse mode is wrong")
    check_grads(WRONG_VJP, (A,), 2, modes=("fwd",))


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_jvp_is_found_in_forward_mode_only(fast):
    fault(lambda: gradcheck(WRONG_JVP, A, fast_mode=fast), "forward mode (jvp) is wrong")
    assert gradcheck(WRONG_JVP, A, fast_mode=fast, check_forward_ad=False)
    fault(lambda: check_grads(WRONG_JVP, (A,), 1), "forward mode is wrong")
    check_grads(WRONG_JVP, (A,), 1, modes=["rev"])


PAIRS = {
    "check_fwd_over_rev": "forward over reverse mode",
    "check_rev_over_rev": "reverse over reverse mode",
    "check_fwd_over_fwd": "forward over forward mode",
    "check_rev_over_fwd": "reverse over forward mode",
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("pair", PAIRS)
def test_a_wrong_second_derivative_is_found_in_each_pair_of_modes(pair, fast):
    wrong, right = (ROUGH_VJP, ROUGH_JVP) if pair.endswith("rev") else (ROUGH_JVP, ROUGH_VJP)
    only = {name: name == pair for name in PAIRS}

    assert gradcheck(wrong, A, fast_mode=fast)
    fault(lambda: gradgradcheck(wrong, A, fast_mode=fast, **only), f"{PAIRS[pair]} is wrong")
    others = {name: name[-3:] != pair[-3:] for name in PAIRS}
    assert gradgradcheck(wrong, A, fast_mode=fast, **others)
    if pair[-3:] == pair[6:9]:  # the mode whose own rule is right knows nothing of the other
        assert gradgradcheck(right, A, fast_mode=fast, **only)


def test_check_grads_finds_orders():
    check_grads(ROUGH_VJP, (A,), 1)
    fault(lambda: check_grads(ROUGH_VJP, (A,), 2), " over reverse mode is wrong")
    fault(lambda: check_grads(ROUGH_JVP, (A,), 2), " over forward mode is wrong")

    rough_second = sine(jvp=lambda x, t: t * sine(jvp=rough)(x + np.pi / 2))
    check_grads(rough_second, (A,), 2, "fwd")
    fault(
        lambda: check_grads(rough_second, (A,), 3, "fwd"),
        "forward over forward over forward mode is wrong",
    )


@given(st.floats(2e-3, 1.0), st.booleans(), st.booleans(), st.sampled_from(["f4", "f8"]))
def test_any_factor_is_found(size, forward, fast, dtype):
    size = size * (10 if dtype == "f4" else 1)

    def scaled(x, g):
        return g * np.cos(x) * np.asarray(1 + size, x.dtype)

    f = sine(jvp=scaled) if forward else sine(vjp=scaled)
    assert not gradcheck(f, A.astype(dtype), fast_mode=fast, raise_exception=False)


# ---- what a failure says ----


def model(params, n):
    return {"y": RIGHT(params["a"]) @ params["v"] * n, "wrong": WRONG_VJP(params["v"])}


def test_the_message_shows_place_and_both_jacobians():
    text = fault(
        lambda: gradcheck(model, ({"a": A, "v": np.array([0.1, 2.0, 0.2])}, 3)),
        "gradcheck(model): reverse mode (vjp) is wrong: the derivative of the result['wrong'] by "
        "inputs[0]['v']\n",
        "differs in 3 of 9 elements, most in element (0,) of the result['wrong'] by element (0,) "
        "of inputs[0]['v']:\n",
        f"numerical {np.cos(0.1):.6}",
        f"analytical {np.cos(0.1) * 1.001:.6}",
        "difference 0.00099",
    )
    blocks = text.split("numerical:\n")[1]
    assert blocks.count("[[") == 2
    assert "analytical:\n" in blocks


def test_large_jacobians_are_abbreviated():
    text = fault(lambda: gradcheck(WRONG_VJP, np.linspace(0.0, 1.0, 40)))

    assert "..." in text
    assert len(text) < 3000


def test_fast_mode_names_input_and_result():
    v = np.array([0.1, 2.0, 0.2])
    fault(
        lambda: gradcheck(model, ({"a": A, "v": v}, 3), fast_mode=True),
        "its product with a random cotangent of the result['wrong'] by a random direction of "
        "inputs[0]['v']",
    )


def test_complex_parts_are_named():
    def f(z):
        return sine(vjp=lambda x, g: g * np.cos(x))(z)  # without the conjugate

    z = np.array([0.5 + 1j])
    fault(lambda: gradcheck(f, z), "of the result by the ", " part of element (0,) of inputs[0]")
    assert gradcheck(sine(vjp=lambda x, g: g * np.conj(np.cos(x))), z)


# ---- dtypes, shapes, values ----


def test_wrong_dtype_of_the_value_under_a_transform():
    def f(x):
        y = np.sin(x)
        return np.astype(y, np.float32) if isinstance(x, ft.Tensor) else y

    fault(
        lambda: gradcheck(f, A, fast_mode=True, atol=1e-2, rtol=1e-2),
        "the value under forward mode (jvp) gave float32 of shape (2, 3) for the result, which is "
        "float64",
    )
    assert gradcheck(f, A, atol=1e-2, rtol=1e-2, check_grad_dtypes=False)


def test_single_and_half_precision_have_their_own_tolerance():
    for dtype in ("f2", "f4", "f8", "g", "F", "D"):
        x = A.astype(dtype)
        for fast in (False, True):
            assert gradcheck(lambda x: np.tanh(x) * x, x, fast_mode=fast)
            assert gradgradcheck(lambda x: np.tanh(x) * x, x, fast_mode=fast)
    mixed = (A.astype("f4"), V)
    assert gradcheck(lambda a, v: np.sin(a) @ v, mixed)
    assert gradcheck(lambda x: np.astype(np.sin(x), np.float32), A)


def test_a_step_of_ones_own():
    assert gradcheck(np.sin, 1.0, eps=1e-3)
    assert not gradcheck(np.sin, 1.0, eps=0.5, raise_exception=False)
    assert gradcheck(np.sin, 1.0, eps=0.5, atol=0.1)


def test_near_a_pole():
    assert gradcheck(lambda x: 1.0 / x, np.float32([0.05, 1.0]))


def test_large_and_small_inputs():
    for fast in (False, True):
        assert gradcheck(lambda x: x * x, np.array([1e9, 1e-9]), fast_mode=fast)
        assert gradcheck(np.sin, np.array([1e4, -1e-4]), fast_mode=fast)
        assert gradcheck(np.exp, np.float32([10.0, 1e-4]), fast_mode=fast)


# ---- what is left alone, and what is refused ----


def test_integers_strings_and_other_results_are_left_alone():
    def f(x, n, name, tree):
        assert name == "text"
        return {"y": x * n + tree[0], "i": np.argmax(x), "s": name, "b": x > 0, "none": None}

    args = (V, np.array([1, 2, 3]), "text", [V * 2, None, True])
    for fast in (False, True):
        assert gradcheck(f, args, fast_mode=fast)
        assert gradgradcheck(f, args, fast_mode=fast)
    check_grads(f, args, 2)


def test_functions_that_do_not_depend_on_an_input():
    assert gradcheck(lambda x, y: (x * 2.0, np.ones(2), np.sign(y)), (V, V))


def test_nothing_to_differentiate():
    with pytest.raises(ValueError, match=r"gradcheck\(sin\): none of the inputs is of a floating"):
        gradcheck(np.sin, np.arange(3))
    with pytest.raises(ValueError, match="returned nothing of a floating-point or complex dtype"):
        gradcheck(np.argmax, A)


def test_a_function_that_is_not_deterministic():
    noise = np.random.default_rng(0)

    def f(x):
        return x + noise.normal()

    fault(lambda: gradcheck(f, A), "the function is not deterministic: two runs")
    assert gradcheck(lambda x: x + 1e-12 * noise.normal(), A, nondet_tol=1e-9)


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_a_rule_that_is_not_deterministic(mode):
    noise = np.random.default_rng(0)
    f = sine(**{mode: lambda x, g: g * np.cos(x) + 1e-9 * noise.normal() * g})

    fault(lambda: gradcheck(f, A), f"({mode}) is not deterministic")
    assert gradcheck(f, A, nondet_tol=1e-6)


def test_a_function_that_changes_its_input():
    def f(x):
        if not isinstance(x, ft.Tensor):
            x += 1.0
        return x * 2.0

    fault(lambda: gradcheck(f, A.copy()), "the function changes inputs[0] in place")


def test_the_callers_arrays_are_not_changed():
    a, v = A.copy(), np.asfortranarray(A)
    assert gradcheck(lambda x, y: x * np.sin(y), (a, v))
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(v, A)


def test_a_derivative_that_is_not_finite():
    with np.errstate(all="ignore"):
        fault(lambda: gradcheck(np.sqrt, 0.0), "the numerical derivative", "is NaN")
        nan = sine(jvp=lambda x, t: t * np.nan)
        fault(lambda: gradcheck(nan, V), "forward mode (jvp)", "analytical nan")


def test_a_cotangent_of_one_result_alone(monkeypatch):
    def f(x):
        return np.linalg.eigh(x @ x.T + np.diag([1.0, 2.0]))

    assert gradcheck(f, A)

    faulty.cotangent_of_one_result_alone(monkeypatch)
    fault(lambda: gradcheck(f, A), "of the result.eigen", " alone, without cotangents of the other")
    assert gradcheck(f, A, check_undefined_grad=False)


# ---- batches of (co)tangents ----


@ft.custom_vmap
def double(x):
    return 2.0 * x


@double.def_vmap
def _double_of_batch(axis_size, in_batched, x):
    return 2.0 * x + 1e-3, True


@pytest.mark.parametrize("fast", [False, True])
def test_a_rule_that_batches_wrongly(fast):
    wrong = sine(
        vjp=lambda x, g: double(g) * np.cos(x) / 2, jvp=lambda x, t: double(t) * np.cos(x) / 2
    )

    assert gradcheck(wrong, A, fast_mode=fast)
    fault(
        lambda: gradcheck(wrong, A, fast_mode=fast, check_batched_grad=True),
        "vmap of reverse mode (vjp), example 0, is wrong",
        "loop",
        "batched",
    )
    fault(
        lambda: gradcheck(wrong, A, fast_mode=fast, check_batched_forward_grad=True),
        "vmap of forward mode (jvp), example 0, is wrong",
    )
    fault(lambda: gradgradcheck(wrong, A, fast_mode=fast, check_batched_grad=True), "vmap of ")


# ---- gradgradcheck's own ----


def test_grad_outputs():
    seen = []

    def f(x):
        return np.sin(x), {"s": np.sum(x * x)}

    weights = (np.ones((2, 3)), {"s": 2.0})
    assert gradgradcheck(f, A, weights)
    with pytest.raises(ValueError, match=r"grad_outputs have the shapes \[\(2,\)\]"):
        gradgradcheck(f, A, np.ones(2))

    def noting(x, g):
        seen.append(getattr(g, "flags", np.ones(1).flags).contiguous)
        return g * np.cos(x)

    for gaps in (False, True):
        seen.clear()
        assert gradgradcheck(sine(vjp=noting), A, gen_non_contig_grad_outputs=gaps)
        assert all(seen) is not gaps


# ---- check_vmap ----


@ft.custom_vmap
def scaled_sum(x, y):
    return np.sum(x) * y


def batched_rule(wrong_where):
    @scaled_sum.def_vmap
    def rule(axis_size, in_batched, x, y):
        totals = np.sum(x, -1) if in_batched[0] else np.sum(x)
        if in_batched == wrong_where:
            totals = totals * 1.001
        if in_batched[0] and in_batched[1]:
            return totals[:, None] * y, True
        return (totals[:, None] * y if in_batched[0] else totals * y), True


XS, YS = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))


def test_a_wrong_batching_rule_is_found():
    batched_rule(None)
    assert check_vmap(scaled_sum, (XS, YS), all_subsets=True)
    batched_rule((True, True))
    text = fault(
        lambda: check_vmap(scaled_sum, (XS, YS)),
        "check_vmap(scaled_sum), mapping args[0] over axis 0, args[1] over axis 0: the result "
        "differs in 8 of 8 elements, most in example ",
        "loop",
        "vmap",
    )
    assert text.count("[[") == 2
    assert not check_vmap(scaled_sum, (XS, YS), raise_exception=False)


@pytest.mark.parametrize("where", [(True, False), (False, True)])
def test_a_rule_that_is_wrong_for_a_subset(where):
    batched_rule(where)
    assert check_vmap(scaled_sum, (XS, YS))
    fault(
        lambda: check_vmap(scaled_sum, (XS, YS), all_subsets=True),
        f"mapping args[0] {'over axis 0' if where[0] else 'not'}, "
        f"args[1] {'over axis 0' if where[1] else 'not'}: the result differs",
    )


def test_a_batching_rule_with_another_shape_dtype_or_structure():
    @ft.custom_vmap
    def f(x):
        return x * 2.0

    for rule, part in (
        (lambda x: (x * 2.0).astype(np.float32), "is float32 of shape (4, 3) under vmap, float64"),
        (lambda x: x[:, :2] * 2.0, "of shape (4, 2) under vmap, float64 of shape (4, 3) in a loop"),
    ):
        f.def_vmap(lambda axis_size, in_batched, x, rule=rule: (rule(x), True))
        fault(lambda: check_vmap(f, XS), part)
    fault(
        lambda: check_vmap(lambda x: (x, x) if isinstance(x, ft.Tensor) else x, XS),
        "the results of vmap and of a loop differ in structure",
    )


def test_axes_and_trees():
    def f(p, x, n):
        return {"y": p["w"] @ x + n, "sum": (np.sum(x), n)}

    p = {"w": rng.normal(size=(2, 3, 4)), "b": 1.0}
    args = (p, rng.normal(size=(4, 3)), 5)
    dims = ({"w": 2, "b": None}, 0, None)
    assert check_vmap(f, args, dims, {"y": -1, "sum": (0, None)}, all_subsets=False)
    assert check_vmap(lambda *a: f(*a)["y"], args, dims, 1, all_subsets=True)
    assert check_vmap(np.dot, (XS, XS), chunk_size=3)
    assert check_vmap(np.argsort, XS)
    assert check_vmap(np.sin, np.zeros((0, 3)))
    assert check_vmap(np.sin, np.zeros((3, 0)))


def test_check_vmap_lets_the_errors_of_vmap_through():
    raises(ValueError, lambda: check_vmap(np.dot, (XS, XS[:2])), "map over axes of one size")
    raises(ft.DataDependentError, lambda: check_vmap(lambda x: x if x[0] > 0 else -x, XS))


# ---- the real table ----

ROWS = {
    name: row
    for name, row in [*samples.named().items()][::80]
    if checks.differentiable(row, 2) and checks.function_of(row)[0](*checks.function_of(row)[1])
}


IN_TURN = [
    pytest.param(n, marks=[pytest.mark.slow] * (k % 2 or "continuous" in n))
    for k, n in enumerate(ROWS)
]


@pytest.mark.parametrize("name", IN_TURN)
def test_rows_of_the_sample_table_pass(name):
    f, points = checks.function_of(ROWS[name])
    with np.errstate(all="ignore"):
        batched = bool(ROWS[name].vmap)
        assert gradcheck(
            f, tuple(points), check_batched_grad=batched, check_batched_forward_grad=batched
        )
        assert gradgradcheck(f, tuple(points), fast_mode=True)


# ---- arguments ----


def test_wrong_arguments():
    for modes in ((), ("forward",), "both"):
        with pytest.raises(ValueError, match=r"check_grads: modes=.*write \('fwd',\), \('rev',\)"):
            check_grads(np.sin, (1.0,), 1, modes)
    for order in (0, True, 1.0):
        with pytest.raises(ValueError, match=r"check_grads: order=.*write 1 or more"):
            check_grads(np.sin, (1.0,), order)


def test_the_options_are_keywords():
    for f in (gradcheck, gradgradcheck):
        for name, p in inspect.signature(f).parameters.items():
            if name not in ("func", "inputs", "grad_outputs"):
                assert p.kind is inspect.Parameter.KEYWORD_ONLY
