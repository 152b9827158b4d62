"""Planted faults of transforms, loops and random numbers."""

import sys
from contextlib import nullcontext

import numpy as np

from faults.planted import change
from functier._control import collectives as _collectives
from functier._control import loops, regions, schedule
from functier._control import masks as _masks
from functier._core import agreement, reached
from functier._core.methods import methods_of
from functier._custom import decorators as _decorators
from functier._custom import linear_rules as _linear_rules
from functier._levels import backward as _backward
from functier._levels import grad as _grad
from functier._levels.batch import BatchLevel
from functier._transforms import points as _products
from functier._transforms import splitting
from functier._transforms.chunks import streams
from functier._transforms.chunks.streams import replay_draws
from functier._transforms.sparse import probing as _probing
from functier._transforms.tracing import level as _level
from functier._transforms.tracing import level as _tracing
from functier._transforms.tracing.level import TraceLevel
from functier.random import _multivariate, _sampling
from functier.testing import _gradcheck
from support.basics import ours

# ---- control collectives ----


FAULTS = {
    "the transpose of a sum": ("SUM", lambda g, axis, at: g),
    "the transpose of gathering": (
        "GATHER", lambda g, axis, at: np.take(_collectives._sum(g, axis, 0), 0, at),
    ),
    "the transpose of scattering": (
        "SCATTER", lambda g, axis, at: 1.001 * _collectives._gather(g, axis, at),
    ),
}  # fmt: skip


def wrong_transpose(monkeypatch, fault):
    record, wrong = FAULTS[fault]
    monkeypatch.setattr(getattr(_collectives, record).vjp["x"], "fn", wrong)


def wrong_batch_axis(monkeypatch, fault):
    down = _collectives._go_down

    def wrong(record, x, axis, at, alike, here):
        def other(value, p, k):
            return here(value, 1 - p, k) if k == 2 else here(value, p, k)

        if fault == "axis":
            return down(record, x, axis, at, alike, other)
        return down(record, x, axis, at, lambda x: x, here)

    monkeypatch.setattr(_collectives, "_go_down", wrong)


# ---- testing testing ----


def batches_are_checked_in_the_modes_that_are_asked_for(monkeypatch, seen):
    monkeypatch.setattr(_gradcheck, "check_batched", lambda problem, mode, *rest: seen.append(mode))


def cotangent_of_one_result_alone(monkeypatch):
    right = _grad._with_zeros

    def with_ones(rule, ans):
        filled = right(rule, ans)
        return lambda g, *saved: filled(
            tuple(np.ones(np.shape(v)) if c is None else c for c, v in zip(g, ans)), *saved
        )

    monkeypatch.setattr(_grad, "_with_zeros", with_ones)


# ---- tracing linear ----


the_check_finds_a_wrong_step = change(_level, "owned", ours(lambda x: x * 1.001))


# ---- tracing recording blocks ----


the_check_finds_zeros_that_pass_through = change(TraceLevel, "elem", lambda self, x: x._value)
the_check_finds_a_block_that_is_forgotten = change(
    _tracing, "_Within", lambda func, off, constant: func
)


# ---- transforms vmap ----


def hook_calls_of_levels_do_not_grow_with_the_depth(monkeypatch, calls):
    def noting(func, call):
        return lambda *args: calls.append(func) or call(*args)

    noted = {func: noting(func, call) for func, call in BatchLevel.fast_calls().items()}
    monkeypatch.setattr(BatchLevel, "methods", methods_of(noted))
    apply = BatchLevel.apply
    monkeypatch.setattr(
        BatchLevel, "apply", lambda self, op, call: calls.append(op) or apply(self, op, call)
    )


# ---- random random ----


def among_too_many_objects_all_that_exist_are_looked_at(monkeypatch, most):
    monkeypatch.setattr(reached, "MOST", most)


blind_look_at_the_modules_lets_all_examples_share_a_draw = change(
    sys.modules["functier._transforms.vmap"], "places_of_modules", lambda: ()
)


# ---- random random gradients ----


def the_check_finds_a_wrong_formula(monkeypatch, wrong):
    monkeypatch.setitem(_sampling.PATHS, "normal", ("standard_normal", wrong))


def draw_has_its_covariance_to_second_order(monkeypatch, n):
    monkeypatch.setattr(_multivariate, "sample", lambda *_, **__: np.eye(n))  # the standard draw


# ---- sparse jacobians sparse ----


def products(monkeypatch, seen):
    spread, pulled, probe = _products.push_batch, _products.pull_rows, _probing.probe

    def forward(label, site, call, leaves, basis, has_aux):
        seen["fwd"].append(len(basis[0]))
        return spread(label, site, call, leaves, basis, has_aux)

    def reverse(site, roots, basis, inputs):
        seen["rev"].append(len(basis[0]))
        return pulled(site, roots, basis, inputs)

    def probed(point, attempt):
        seen["probes"] += 1
        return probe(point, attempt)

    monkeypatch.setattr(_products, "push_batch", forward)
    monkeypatch.setattr(_products, "pull_rows", reverse)
    monkeypatch.setattr(_probing, "probe", probed)


# ---- control control ----


PLANTED = {
    "no donors": ("Mask.shield", lambda self, tree: tree),
    "the first example as the donor": (
        "_donate",
        lambda x, donor: _donated(x, dict.fromkeys(donor, 0)),
    ),
    "operands that are no batch themselves": ("_differs", lambda x, donor: False),
    "the first result for all": ("merge", lambda label, pred, names, a, b: a),
}


_donated = _masks._donate


def wrong_mask(name, monkeypatch):
    target, wrong = PLANTED[name]
    owner = _masks
    if "." in target:
        owner, target = _masks.Mask, target.partition(".")[2]
    monkeypatch.setattr(owner, target, wrong)
    if target == "merge":
        monkeypatch.setattr(loops, "merge", wrong)


no_mask_around = change(_masks, "_around", lambda value: None)
no_mask_in_a_second_run = change(regions, "among", lambda mask: nullcontext())


SLOTS = {
    "sums that a region does not go on with": (
        _backward, "go_on", lambda rule, g, given, *_: rule(g, given, ()),
    ),
    "draws from the start of the segment": (
        replay_draws, "copy", lambda self: replay_draws(self.drawn),
    ),
    "a state that is kept in the middle": (schedule, "split", lambda n, slots: max(n // 2, 1)),
    "results of different levels as one group": (schedule, "_levels_of", lambda leaves: 0),
    "a tape that is not cut": (schedule, "cut", lambda tree, *_: tree),
    "a second run that nobody compares": (schedule, "_are_close", lambda *_: True),
}  # fmt: skip


def wrong_slots(name, monkeypatch):
    monkeypatch.setattr(*SLOTS[name])


def draws_are_not_seen(fault, monkeypatch):
    place, name, blind = {
        "reached": (reached, "parts_of", lambda x: []),
        "heard": (streams, "hears_requests", lambda found: lambda *given: None),
        "told": (streams, "_is_shared", lambda generator: True),
    }[fault]
    monkeypatch.setattr(place, name, blind)


def wrong_groups(fault, monkeypatch):
    if fault == "order":
        monkeypatch.setattr(splitting.np, "argsort", lambda x: np.arange(len(x)))
        return
    right = agreement.Varying.groups
    halves = lambda self: np.array_split(np.arange(len(self.rows)), 2)  # noqa: E731
    first = lambda self: right(self)[:1]  # noqa: E731
    monkeypatch.setattr(agreement.Varying, "groups", halves if fault == "groups" else first)


# ---- custom linear rules ----


def rules_that_nobody_checks(monkeypatch):
    monkeypatch.setattr(_decorators, "check_rule", lambda *_: True)


def rules_that_are_not_transposed_at_zero(monkeypatch):
    monkeypatch.setattr(_linear_rules, "transpose_at_zero", lambda *_, **__: None)
