"""The net of zeros and infinities: zero times infinity is zero only where nothing depends on it.

That is: unused, unselected, behind a factor that does not depend on the arguments, or along a
direction given as zero. Norms and roots of sums of squares keep the zero of note 9. All else is
right or not finite.
"""

import importlib.util
import re

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import nets as faulty
from functier.testing import operations
from nets.zeros import EXACT, STAGE, Case, Net, drawn, function, make, rows, slopes
from support.basics import silent

BACKENDS = ["numpy", "llvm"][: 1 + bool(importlib.util.find_spec("llvmlite"))]

NAMED = {
    "open": {  # right, a subgradient or not finite, but no other number
        0.0: """(x ** (1 / 3)) ** 3 + 2 * x; sqrt(std(x * arange(3))); sqrt(linalg.norm(v))
            linalg.norm(sqrt(v)); (x**3) ** (1 / 3); special.entr(abs(x)); sqrt(x) * sqrt(x)
            1 - cos(sqrt(x)); (x * x) ** 0.25; sqrt(x) - sqrt(x); sqrt(1 - cos(x))
            sqrt(x * exp(x)); sqrt(sqrt(x**4)); sqrt(abs(x)); cos(sqrt(x)); abs(cbrt(x))
            1 / (x * x); arccos(cos(x)); x * log(x) + x; exp(log(x)); cbrt(x**3)
            log(x * x); cbrt(x)**3; sqrt(x)**2; sqrt(x**3)""",
        1.0: "cos(arccos(x)); tanh(arctanh(x)); cbrt(x - x)",
        1000.0: "log1p(exp(x)); exp(x) / (1 + exp(x))",
    },
    "zero": {  # the subgradient of note 9
        0.0: """sqrt(x * ones(2) @ array([[2.0, 1.0], [1.0, 2.0]]) @ (x * ones(2))); sqrt(square(x))
            sqrt(einsum('ij,ij->i', x * ones((2, 3)), x * ones((2, 3))))[1]; sqrt(trace(m.T @ m))
            sqrt(real(x * (1 + 2j)) ** 2 + imag(x * (1 + 2j)) ** 2); sqrt(x * x + (2 * x) ** 2)
            where(x > 0, sqrt(x), 0.0); sqrt(einsum('i,i', v, v)); sqrt(linalg.norm(v) ** 2)
            abs(x); where(x > 0, log(x), 0.0); sqrt(tensordot(v, v, 1)); linalg.norm(v, inf)
            (x * x) ** 0.5; std(x * arange(3)); sqrt(vecdot(v, v)); sqrt(mean(v ** 2))
            sqrt(2 * x**2 / 3); power(x * x, 0.5); linalg.norm(v, 3); abs(x * (1 + 2j)); sqrt(x * x)
            sqrt(sum(v ** 2)); sqrt(v @ v); sqrt(x**2)
            sqrt(vdot(v, v)); hypot(x, 2 * x); sqrt(dot(v, v)); linalg.norm(v); linalg.norm(m)""",
        1.0: """distance.cdist(x * ones((1, 2)), x * ones((1, 2)))[0, 0]; distance.euclidean(v, v)
            sqrt(diag(cov(x * ones((2, 3)))))[0]; where(abs(x) < 1, arccos(x), 0.0); std(v, ddof=1)
            sqrt(mean((v - mean(v)) ** 2)); sqrt(sum((v - v) ** 2)); distance.pdist(m)[0]; nanstd(v)
            linalg.norm(v - x); sqrt(var(v)); std(v)""",
    },
    "right": {  # what is infinite is not used
        0.0: """where(x != 0, sin(x) / x, 1.0) + sqrt(x + 1); sum(sqrt(x * ones(2)), where=False)
            array([0.0, 1.0]) @ stack([cbrt(x), x]); where(x < 1, x, special.entr(x))
            where(x != 0, sin(x) / x, 1.0); where(x < 1, x, log(x) * x); maximum(cbrt(x), x + 1)
            where(x < 1, x, x / abs(x)); special.entr(w) + 2 * x; 0.0 * sqrt(x); sqrt(w) + 2 * x
            cbrt(w) * x + x""",
        1.0: """sum(sqrt(sum((outer(x, arange(3)).T - outer(x, arange(3))) ** 2, -1)))
            sum(where(arange(3) > 0, v * arange(3) * log(v * arange(3)), 0.0)); sqrt(floor(x / 2))
            (stack([x]) @ array([[inf, 2.0]]))[1]; j:cbrt(array([0.0, 1.0]) * x)[0]; sqrt(0.0 * x)
            exp(stack([1000 * x, x]))[1]; where(True, x * 2, x * inf); nan_to_num(x * nan)
            v:cumprod(stack([x, inf]))[0]; (x * array([inf, 2.0]))[1]; sqrt(sign(x) - 1)""",
        -1.0: "sqrt(maximum(x, 0.0)); clip(x, 0.0, 1.0) ** (1 / 2.2); cbrt(where(x > 0, x, 0.0))",
        1000.0: """where(x >= 0, 1 / (1 + exp(-x)), exp(x) / (1 + exp(x)))
            where(x > 20, x, log1p(exp(x))); where(x < 100, exp(x), 0.0)""",
        -1000.0: """where(x >= 0, 1 / (1 + exp(-x)), exp(x) / (1 + exp(x)))
            where(x < -20, x, log1p(exp(-x)))""",
    },
}  # fmt: skip
"""Expressions in `x`, and in `w` whose direction is zero, by their points and by what is asked of
their derivatives; `v` is a vector, and `m` a matrix, of `x`. What begins with v:, j: or vj: does
not have it yet by vjp, by jvp, or by both."""

KNOWN = {
    "jvp lacking": """flat inf; beside kink; flat met; still beside; still met; still inf
        finite beside; finite inf""",
    "vjp lacking": """beside; beside kink; beside beside; beside zero; kink beside; finite beside
        zero beside""",
}  # fmt: skip
"""Groups of drawn programs that lack a finite result: how the result is used and the kinds of the
stages, of which the innermost is the first. In reverse mode the rule of `cumprod` multiplies by an
infinite element; in forward mode a product by a constant zero or a matrix forgets what is flat."""

MOST = 0.01
"""The largest part of the cases that may lack a finite result."""


def known():
    return {(what, group) for what, text in KNOWN.items() for group in rows(text)}


def named(asked, expression, at):
    """Return the case of a named program, whose answer is what differences say where it is one."""
    text = "def f(x, w):\n    v, m = x * ones(3), x * ones((2, 2))\n    return ({})[()]"
    text = text.format(expression)
    with silent():
        truth = slopes(function(text, EXACT), at)
    if asked == "zero":
        assert truth[0] <= 0 <= truth[1], expression
        truth = 0.0, 0.0
    elif asked == "right":
        assert np.allclose(*truth, atol=1e-4), expression
    return Case(text, at, expression, asked == "open", truth)


def test_named_programs(full, record_property):
    net, waiting = Net((-3.0, 0.25, 0.0)), set()
    for asked, points in NAMED.items():
        for at, text in points.items():
            for i, row in enumerate(rows(text)):
                modes, expression = re.fullmatch("(?:(vj?|j):)?(.*)", row).groups("")
                waiting |= {(mode, expression) for mode in modes}
                net.run(named(asked, expression, at), BACKENDS[: 1 + (full or i % 16 == 0)])
    record_property("net", net.told())
    found = {(what[0], expression) for what, expression in net.groups}
    assert found == waiting, (found - waiting, waiting - found)


def test_drawn_programs(full, record_property):
    net = Net()
    for number, case in enumerate(drawn(2026, 8000 if full else 300)):
        net.run(case, [name for name, n in zip(BACKENDS, (4, 20)) if number % n == 0])
    record_property("net", net.told())
    total, found = net.counts.total(), set(net.groups)
    assert found <= known(), {group: net.groups[group][:3] for group in found - known()}
    lacking = sum(n for (_, verdict), n in net.counts.items() if verdict == "lacking")
    assert lacking - net.counts["recorded", "lacking"] < MOST * total
    if full:
        assert total > 20_000
        assert found == known(), known() - found


def test_truth():
    """Differences tell the derivatives that are known."""
    answers = {
        "cos(sqrt(x))": (-0.5, -0.5), "cbrt(x)**3": (1, 1), "x * log(x)": (np.nan, np.nan),
        "abs(x)": (-1, 1), "sqrt(x)": (np.inf, np.inf), "special.entr(x)": (np.inf, np.inf),
        "cbrt(x * x)": (-np.inf, np.inf), "maximum(x, 3 * x)": (1, 3), "x**1.5 + w": (0, 0),
    }  # fmt: skip
    for text, answer in answers.items():
        found = named("open", text, 0.0).truth
        np.testing.assert_allclose(found, answer, rtol=1e-4, atol=1e-4, err_msg=text)


# ---- faults that the net finds ----


def faults(chain, use):
    """Return what is unknown of chains in which "inf" is one of several infinite stages."""
    net, stages = Net(), {row[2]: row for rows in STAGE.values() for row in rows}
    for infinite in STAGE["inf"][:8]:
        with silent():
            case = make([infinite if s == "inf" else stages[s] for s in chain], *use)
        if case is not None:
            net.run(case, ["numpy"])
    return set(net.groups) - known()


def without_nan(found, *saved):
    return np.nan_to_num(found, posinf=np.inf, neginf=-np.inf)


USED, UNUSED = ("used", "z + y"), ("unused", "where(x > {x} + 1.0, z, y)")
FAULTS = {
    "a rule that gives zero for a zero by value": (
        np.sinc, "x", without_nan, ["inf", "sinc(z)"], USED, ("jvp wrong", "inf zero"),
    ),
    "a where that lets NaN through": (
        np.where, "x", lambda _, t, condition: t * condition, ["inf"], UNUSED,
        ("jvp lacking", "unused inf"),
    ),
    "a mode that differs": (
        np.prod, "a", without_nan, ["inf", "prod(pair(z))"], USED, ("jvp wrong", "inf zero"),
    ),
}  # fmt: skip
"""Faults: a function, its operand and what its rule returns instead of a result, given the tangent
and what is saved; a chain and its use; and what the net says."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, monkeypatch):
    func, operand, fault, chain, use, found = FAULTS[name]
    assert not faults(chain, use)
    rule = operations()[func].jvp[operand]
    right = rule.fn
    monkeypatch.setattr(rule, "fn", lambda t, *saved: fault(right(t, *saved), t, *saved))
    assert found in faults(chain, use)


def test_a_program_that_is_not_traced_again(monkeypatch):
    faulty.program_that_is_not_traced_again(monkeypatch)
    assert ("vjp unlike eager", "zero inf") in faults(["1.0 - cos(z)", "inf"], USED)


def norm_of_written(x):
    made = fnp.zeros((3, 2))
    made[:, 0], made[:, 1] = x, x * 2.0
    return np.sum(np.sqrt(np.sum((made - np.max(made, axis=0)) ** 2, axis=1)))


def test_a_norm_of_what_was_written_keeps_its_zero():
    x = np.array([1.0, 3.0, 2.0])
    norm = np.sqrt(5.0)
    with silent():
        found = ft.grad(norm_of_written)(x)
        batch = ft.vmap(ft.grad(norm_of_written))(x[None])
    assert np.allclose(found, [-norm, 2 * norm, -norm])
    assert np.allclose(batch, [[-norm, 2 * norm, -norm]])


def test_a_root_of_what_was_written_that_is_not_flat_has_no_number():
    def f(x):
        made = fnp.zeros(2)
        made[0] = x
        return np.sum(np.sqrt(made))

    with silent():
        assert not np.isfinite(ft.grad(f)(0.0))
