"""Planted faults of SciPy's twins."""

from types import SimpleNamespace

import numpy as np
import right_hand_sides as sides
import scipy.signal
from programs_of_equations import (
    arguments,
    backward,
    closure,
    continuous,
    end_by_event,
    ends,
    stopping,
    times,
)

import functier as ft
import functier.scipy.signal as signal
from faults.planted import change
from functier._core.table import OPS, load
from functier._custom import steps
from functier._programs.reads import Reads
from functier.scipy import (
    _adjoint,
    _boundary,
    _copies,
    _equations,
    _explicit,
    _flows,
    _integrands,
    _integrate,
    _interpolate,
    _linear_problems,
    _minima,
    _multivariate,
    _namespaces,
    _ode,
    _parts,
    _problems,
    _replays,
    _scattered,
    _sets_of_points,
    _sparse_parts,
    _stepping,
    _steps,
    _trees,
)
from functier.scipy._rules.sparse import products
from support.basics import ours

# ---- scipy twins boundary ----


def steps_twice_as_long(monkeypatch):
    real = _boundary.collocation_fun
    monkeypatch.setattr(_boundary, "collocation_fun", lambda f, y, p, x, h: real(f, y, p, x, 2 * h))


def residuals_without_derivatives(monkeypatch):
    real = _boundary.collocation_fun
    monkeypatch.setattr(
        _boundary, "collocation_fun",
        lambda f, y, p, x, h: real(lambda *a: ft.stop_gradient(f(*a)), y, p, x, h),
    )  # fmt: skip


# ---- scipy twins conditions ----


conditions_that_are_not_felt = change(
    _problems.Limits, "equation", lambda self, slope, x: lambda y: slope(y) * 0 + y - x
)


def another_vertex(patch):
    right = _linear_problems._basis
    patch.setattr(_linear_problems, "_basis", lambda r, f, o, n: right(r, f | True, o[::-1], n))


def free_unknowns(patch):
    right = _linear_problems._least_squares
    patch.setattr(
        _linear_problems, "_least_squares", lambda a, b, fixed, *more: right(a, b, ~fixed, *more)
    )


random_problems_find_a_bound_that_is_missed = change(
    _linear_problems, "_felt",
    lambda x, a, b, low, high: np.array(
        [0 if low < v < high else -1 if v <= low else 1 for v, low, high in zip(x, low, high)]
    ),
)  # fmt: skip


# ---- scipy twins minima ----


def faults(monkeypatch, name, wrong):
    monkeypatch.setattr(_minima, name, wrong)


# ---- scipy twins ode ----


def many_parameters_take_the_adjoint(monkeypatch, made):
    adjoint = _equations.AdjointFlow
    monkeypatch.setattr(_equations, "AdjointFlow", lambda *a: (made.append(1), adjoint(*a))[1])


jump_is_silently_wrong_without_the_check = change(_flows, "moving_jump", lambda *given: None)


def _values_only(self, parts, e, real=_flows.Pieces.pack):
    """The derivatives of the slope are lost."""
    vector = real(self, parts, e)
    n = self.shapes[self.layout.zero][0]
    return np.concatenate([vector[:n], 0 * vector[n:]])


FAULTS = [
    (_flows.Pieces, "pack", _values_only, closure, "jvp", "forward"),
    (_flows.Pieces, "pack", _values_only, closure, "grad", "steps"),
    (_equations, "moved", lambda fun, t, y, *more: y, ends, "grad", "forward"),
    (_ode, "change_of", lambda x: None, times, "grad", "forward"),
    (_ode.Results, "change_of_event", lambda *a: None, stopping, "jvp", "forward"),
    (_ode.Results, "_change_of_end", lambda *a: None, end_by_event, "jvp", "forward"),
    (_ode, "stop_gradient", lambda x: x, continuous, "grad", "forward"),
    (_adjoint, "points_of", lambda method: 1, closure, "grad", "adjoint"),
    (_adjoint.Stretch, "reached", lambda self, node: {}, arguments, "grad", "adjoint"),
    (_adjoint.Flow, "integral", lambda *a: {}, closure, "grad", "adjoint"),
    (
        _adjoint,
        "np",
        SimpleNamespace(**{**vars(np), "sign": np.ones_like}),
        backward,
        "grad",
        "adjoint",
    ),
]
FAULTS = [(f"{c[1]}-{c[4]}-{c[5]}", change(*c[:3]), *c[3:]) for c in FAULTS]


faults_in_ode = change(_replays, "FIRST", np.inf)  # a program of another test has no fault


# ---- scipy twins roots ----


def faults_in_roots(monkeypatch, name, wrong):
    monkeypatch.setattr(_problems, name, wrong)


def too_few_steps(monkeypatch):
    layout = _problems.Layout

    class Short(layout):
        def __init__(self):
            super().__init__()
            self.order = min(self.order, 1)

    monkeypatch.setattr(_problems, "Layout", Short)


# ---- scipy twins sharing of objects ----


PLANTED = {
    "multivariate_normal": (_multivariate, "_copy_matrix", lambda x: x),
    "cubic": (_interpolate.np, "copy", lambda x: x),
    "RBFInterpolator": (
        _scattered.RBFInterpolator, "_coefficients",
        lambda self, made=_scattered.RBFInterpolator._coefficients: (
            setattr(self, "late", True) or None if not hasattr(self, "late") else made(self)
        ),
    ),
}  # fmt: skip
PLANTED = {k: change(*c) for k, c in PLANTED.items()}


# ---- scipy twins signal ----


def kernel_calls(monkeypatch, name):
    """The calls of a function of SciPy, which are counted."""
    calls, func = [], getattr(scipy.signal, name)
    load("scipy.signal")  # the rules are those of SciPy's own function, as is the twin
    getattr(signal, name)

    def counted(*args, **kwargs):
        calls.append(args)
        return func(*args, **kwargs)

    monkeypatch.setattr(scipy.signal, name, counted)
    return calls


# ---- scipy twins sparse matrices ----


def wrong_rule(monkeypatch):
    rule = OPS[products.multiply].vjp["values"]
    right = rule.fn
    monkeypatch.setattr(rule, "fn", lambda *args: 1.001 * right(*args))


def wrong_places(monkeypatch):
    right = _sparse_parts.chosen
    monkeypatch.setattr(_sparse_parts, "chosen", lambda v, numbers: right(v, numbers)[::-1])


def forgotten_sum(monkeypatch):
    """Of values at one place the last one counts."""
    monkeypatch.setattr(_sparse_parts, "added", lambda v, places, size: np.take(v, _last(places)))


def _last(places):
    return np.unique(places[::-1], return_index=True)[1]


def wrong_batch(monkeypatch):
    record = OPS[products.multiply]
    right = record.vmap
    monkeypatch.setattr(record, "vmap", lambda *args, **given: right(*args, **given)[::-1])


# ---- scipy twins copies ----


plain_arguments_meet_scipys_function = change(_namespaces, "copy_of", lambda func, twin_of: 1 / 0)


def copy_without_twins(monkeypatch):
    monkeypatch.setattr(_copies, "COPIES", {})
    monkeypatch.setattr(_copies, "copy_globals", lambda names, *more: dict(names))


# ---- scipy twins sets of points ----


FAULTS_OF_SETS_OF_POINTS = {
    "points of the first": (_trees, "plain_points", lambda p, n: (
        _sets_of_points.examples_of(p).reshape(-1, *p.shape)[0], False), "the nearest"),
    "any answer": (_sets_of_points, "agreed", lambda x: _sets_of_points.examples_of(x).flat[0]
                   if not x.ndim else None, "lists"),
    "a centre that is outside": (_trees, "stop_gradient", lambda x: x * 0 + 9.0, "a volume"),
}  # fmt: skip
FAULTS_OF_SETS_OF_POINTS = {k: (change(*c[:3]), c[3]) for k, c in FAULTS_OF_SETS_OF_POINTS.items()}


# ---- scipy twins replays ----


def made(monkeypatch, found):
    def programs_of(*key):
        found.append(fresh(*key))
        return found[-1]

    fresh = _replays.functools.lru_cache(128)(_replays.Programs)
    monkeypatch.setattr(_replays, "programs_of", programs_of)


def outcome(monkeypatch, first, warm):
    monkeypatch.setattr(_replays, "FIRST", first)
    monkeypatch.setattr(_replays, "WARM", warm)


def always(self):
    return True


def _without_tangents(self, x, real=_replays.Replay._parts):
    value, tangents, more = real(self, x)
    return value, 0 * tangents, more


FAULTS_OF_REPLAYS = [
    (_replays.Held, "unchanged", always, sides.event_changes_cell),
    (_replays.Held, "unchanged", always, sides.event_changes_list),
    (Reads, "tells", lambda *a: None, sides.prints),
    (_replays.Replay, "_parts", _without_tangents, sides.closure),
]
FAULTS_OF_REPLAYS = [(c[1], change(*c[:2], ours(c[2])), c[3]) for c in FAULTS_OF_REPLAYS]


def matrix_that_takes_the_array_for_its_own(monkeypatch):
    monkeypatch.setattr(_sparse_parts.Parts, "is_lent", lambda self: False)


# ---- scipy twins quad ----


def _without_limits(label, integrand, span, a, b, value, *weight):
    return value


def _sum_of_values(self, i, path, parts, put=_parts.Layout._put):
    """Derivatives of the wrong size."""
    if i == 0:
        parts = {p: x * (2.0 if any(p) else 1.0) for p, x in parts.items()}
    return put(self, i, path, parts)


QUAD = {
    "limits": (_integrate, "with_limits", _without_limits),
    "jumps": (_integrate, "check_jumps", lambda *given: None),
    "small jumps": (_integrands, "_jumps_at_spots", lambda integrand, path: iter(())),
    "jumps forward": (_integrands, "_jumps", lambda integrand, path: iter(())),
    "sums": (_parts.Layout, "_put", _sum_of_values),
    "sums of vectors": (_parts.Layout, "_put", _sum_of_values),
    "places": (_integrands.Range, "place", lambda self, node: node),
    "ends": (_parts.Stretch, "reached", lambda self, node: {}),
}


def wrong_quad(fault, monkeypatch):
    monkeypatch.setattr(*QUAD[fault])


replays_are_the_same = change(_replays.Replay, "_is_same", ours(lambda *a: True))


# ---- scipy twins solvers in programs ----


def _of_a_jacobian(self, leaves, real=_steps.Step.fwd):
    outs, form, rows, info = real(self, leaves)
    return outs, form, [2 * x for x in rows], info


def _cells_too(self, x, real=_steps.Given.stays):
    return type(x).__name__ not in ("function", "cell") and real(self, x)


STEPS = {
    "slopes": (_steps.Step, "fwd", _of_a_jacobian),
    "what is read": (_steps.Given, "stays", _cells_too),
    "what is changed": (_replays.Held, "unchanged", always),
    "forms": (_steps, "form_of", lambda x: None),
}


def wrong_step(fault, monkeypatch):
    monkeypatch.setattr(*STEPS[fault])


# ---- scipy twins explicit loops ----

Rodas = _stepping.Rodas
no_estimate = change(_stepping.Steps, "size", lambda self, x, *states: 0.0 * np.sum(x))


def another_norm(monkeypatch):
    real = _stepping.Steps.size
    monkeypatch.setattr(_stepping.Steps, "size", lambda *given: 2.0 * real(*given))


errors_of_values_alone = change(
    steps.Parts, "jvp", lambda self, leaves, tangents: ([self.of(*leaves)], None, [None])
)
examples_with_common_steps = change(steps, "COLUMNS", None)


class Everything(frozenset):
    def issuperset(self, others):
        return True


slopes_that_nobody_looks_at = change(_explicit, "SMOOTH", Everything())
