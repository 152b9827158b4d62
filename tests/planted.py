"""Rules put in for those of the table, as planted faults."""

import functier as ft
from functier._core.methods import methods_of
from functier._levels.batch import BatchLevel
from functier._levels.grad import GradLevel
from functier._levels.jvp import JvpLevel


def replaced(patch, rules):
    """Put functions in the places of rules, and have every operation ask for its rules."""
    for rule, fn in rules:
        patch.setattr(rule, "fn", fn)
    for kind in (GradLevel, JvpLevel):  # the fast calls have the same formulas, without the record
        patch.setattr(kind, "methods", methods_of({}))
    patch.setattr(ft.Tensor.level, "spare", {})  # the classes there have them as methods


def batched_by(patch, rules):
    """Put functions in the places of batching rules, and have every operation ask for its own."""
    for record, rule in rules:
        patch.setattr(record, "vmap", rule)
    patch.setattr(BatchLevel, "methods", methods_of({}))
    patch.setattr(ft.Tensor.level, "spare", {})
