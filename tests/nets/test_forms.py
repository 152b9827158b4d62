"""The net of forms: what a derivative rule returns has the shape of its operand by itself.

The engine sums a cotangent over what broadcasting added and spreads it over what it lacks,
but only where the operand and the result differ in shape. A rule that counts on it is wrong
where these happen to agree, so no rule may, but where NumPy itself broadcasts an operand: there
the cotangent has the shape of the result, and the engine sums it. A tangent in turn may be
narrower than the result, as its operand is, and never wider.
"""

import contextlib

import numpy as np
import pytest

import functier as ft
import samples
from functier._core.methods import methods_of
from functier._core.numpy_facts import dtype_of, shape_of
from functier._levels import grad as _grad
from functier._levels import jvp as _jvp
from functier._levels.cotangents import is_inexact
from functier._levels.grad import GradLevel
from functier._levels.jvp import JvpLevel
from functier._levels.level import Level
from functier._rules.linalg import contract as _contract
from functier.testing import operations
from nets import test_sizes as sizes
from nets.verdicts import Verdicts
from support import checks

pytestmark = pytest.mark.inside(
    "The forms of what rules return are read where the engine takes them."
)

BROADCASTS = {
    "broadcast_to", "choose", "linalg.solve", "tril", "triu",
    "functier._rules.linalg.norm._at_zero", "functier._rules.linalg.norm._only_at",
    "functier._rules.pieces.add_pieces",
}  # fmt: skip
"""The functions beside the elementwise ones that broadcast their operands."""

REASONS = {
    **sizes.REASONS,
    "no unique solution here; there is no derivative": "the polar form of 0 is not differentiable",
    r"output\[0\] has shape \(1,\), but the value has shape \(3,\)": "hold takes one shape",
    "RuntimeWarning: logm result may be inaccurate": "SciPy's estimate of its own error",
}


class Forms:
    """While it is on, the rules that return another form than that of their operand."""

    def __init__(self):
        self.seen, self.faults, self.call = 0, [], None

    @contextlib.contextmanager
    def on(self):
        record, node, fit = GradLevel.record, _grad.node_of, _jvp.fit

        def noted(level, op, call, values, ans):
            mine = [
                (name, shape_of(value), dtype_of(value))
                for x, name, value in zip(call.operands, call.names, values)
                if type(x) is level.cls and is_inexact(value)
            ]
            before, self.call = self.call, (op, mine)
            try:
                return record(level, op, call, values, ans)
            finally:
                self.call = before

        def looked_at(edges):
            if self.call is None:
                return node(edges)
            (op, mine), self.call = self.call, None  # the edges to the operands come first
            return node([
                (parent, self.looking(rule, op, fix, *form), saved, fix)
                for (parent, rule, saved, fix), form in zip(edges, mine, strict=True)
            ])  # fmt: skip

        def narrow(t, shape, dtype):
            self.seen += 1
            if np.broadcast_shapes(shape_of(t), shape) != shape:
                self.faults.append(f"a tangent of shape {shape_of(t)} of a value of {shape}")
            return fit(t, shape, dtype)

        with pytest.MonkeyPatch.context() as patch:
            for kind in (GradLevel, JvpLevel):  # what is quick looks at no record
                patch.setattr(kind, "apply_single", Level.apply_single)
                patch.setattr(kind, "methods", methods_of({}))
            patch.setattr(ft.Tensor.level, "spare", {})
            patch.setattr(GradLevel, "record", noted)
            patch.setattr(_grad, "node_of", looked_at)
            patch.setattr(_jvp, "fit", narrow)
            yield

    def looking(self, rule, op, fix, name, shape, dtype):
        broadcasts = op.family == "elementwise" or op.name.removeprefix("numpy.") in BROADCASTS

        def look(g, *saved):
            c = rule(g, *saved)
            if c is not None and not isinstance(c, tuple):
                self.seen += 1
                own = shape_of(c)
                summed = broadcasts and bool(fix)
                summed = summed and np.broadcast_shapes(own, shape) == own
                if own != shape and not summed:
                    self.faults.append(
                        f"{op.name}: a cotangent of shape {own} for its operand {name!r} of {shape}"
                    )
                if not fix and dtype_of(c) != dtype:
                    self.faults.append(
                        f"{op.name}: a cotangent of dtype {dtype_of(c)} for its operand {name!r} "
                        f"of {dtype}"
                    )
            return c

        return look


def derive(row):
    """Run every rule of a row, and those of its derivatives."""
    f, points = checks.function_of(row)
    tangents = checks.directions(points, 0)
    value, pullback = ft.vjp(f, *points)
    weights = list(checks.directions(value, 100))
    pullback(weights)
    ft.jvp(f, tuple(points), tangents)
    if row.order > 1:
        _, again = ft.vjp(lambda *xs: list(ft.vjp(f, *xs)[1](weights)), *points)
        again(list(tangents))


def rows(full):
    """The rows of the table, and those of other sizes."""
    given = samples.named().items()
    yield from ((name, this) for name, this in given if checks.differentiable(this))
    yield from in_other_sizes(sizes.sliced(sizes.cases(), full, 32))


def in_other_sizes(cases):
    for name, row, shapes in cases:
        this = sizes.resized(row, shapes, len(name))
        if this is not None and checks.differentiable(this):
            yield name, this


def run(counts, chosen):
    with np.errstate(all="ignore"):
        for name, row in chosen:
            forms = Forms()

            def found(row=row, forms=forms):
                with forms.on():
                    derive(row)
                return forms.faults

            def accept(faults):
                assert not faults, "; ".join(dict.fromkeys(faults))

            counts.judge(name, found, accept)


def test_every_rule_returns_the_form_of_its_operand(verdicts, full):
    """Rules of both modes, of the rows, of the rows in other sizes, and of the second order."""
    counts = verdicts("forms of what rules return", REASONS)
    run(counts, rows(full))
    counts.settle()


# ---- the faults that the net has to find ----


def wrong_in(*names):
    counts = Verdicts("planted", sizes.REASONS)
    run(counts, [item for item in samples.named().items() if item[0].startswith(names)])
    return counts.wrong


def test_an_axis_that_is_left_to_the_engine_is_found(monkeypatch):
    """Also where the engine would spread it: no two sizes coincide here."""
    right = _contract.cotangent_spec
    monkeypatch.setattr(_contract, "cotangent_spec", lambda *given: (right(*given)[0], False))

    assert wrong_in("contraction.einsumij,k->i")


def test_a_sum_that_is_left_to_the_engine_is_found(monkeypatch):
    rule = operations()[np.sum].vjp["a"]
    monkeypatch.setattr(rule, "fn", lambda g, *_: np.reshape(g, (1,) * 2))

    assert wrong_in("reduction.sum-d[2,3]")


def test_a_tangent_wider_than_its_value_is_found(monkeypatch):
    rule = operations()[np.max].jvp["a"]
    right = rule.fn
    monkeypatch.setattr(rule, "fn", lambda t, *saved: right(t, *saved) * np.ones((2, 1)))

    assert wrong_in("reduction.max-d[2,3]")
