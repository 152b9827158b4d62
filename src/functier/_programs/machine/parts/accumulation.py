"""Contractions that add to what is there: ``x + a @ b`` in the memory of `x`, which ends there."""

import numpy as np

from ..lowering.products import Product, contracted
from ..lowering.steps import Place, Ref, Step
from ..text.routines import Kernel


def accumulate(steps: list[Step], outputs: list[Step]) -> list[Step]:
    """Let products be added by their routine, where only the sum takes them.

    The other summand is in the memory of the sum from the beginning.
    """
    users: dict[Step, list[Step]] = {}
    for step in steps:
        for x in step.refs():
            for source in x.steps:
                users.setdefault(source, []).append(step)
    kept = set(outputs)
    gone: dict[Step, tuple[Step, ...]] = {}
    for step in steps:
        if step.func is not np.add or step.kind != "element" or step.stored or step.effect:
            continue
        form = step.shape, step.dtype  # a sum of another dtype casts its summands
        pair = [x for x in step.args if type(x) is Ref and (x.shape, x.dtype) == form]
        if len(pair) != 2 or any([d != step.dtype for d in step.wants]):
            continue
        for product, other in (pair, pair[::-1]):
            first = gone.get(other.steps[0], other.steps) if other.steps else ()
            kernel = accumulating(product, step, users, kept)
            if kernel is None or not is_free(other, step, users, kept, first):
                continue
            (source,) = product.steps
            move(first, step.place)
            source.func, source.info = kernel, [step.place]
            source.number = step.number  # after the other summand
            for before in first:
                source.after[before] = False
            gone[step] = (*first, source)
            break
    if not gone:
        return steps
    for step in steps:
        step.args = [
            x._replace(steps=gone[x.steps[0]], straight=False)
            if type(x) is Ref and len(x.steps) == 1 and x.steps[0] in gone else x
            for x in step.args
        ]  # fmt: skip
    for i, step in enumerate(outputs):
        if step in gone:
            outputs[i : i + 1] = gone[step]
    return sorted([step for step in steps if step not in gone], key=lambda step: step.number)


def accumulating(
    product: Ref, step: Step, users: dict[Step, list[Step]], kept: set[Step]
) -> Kernel | None:
    """Return the routine that adds a product to the place of a sum, if nobody else takes it."""
    if len(product.steps) != 1:
        return None
    (source,) = product.steps
    known = source.wants
    if source.kind != "call" or type(known) is not Product or source in kept:
        return None
    if users[source] != [step] or product.place != source.info[0]:
        return None
    out = known.out._replace(strides=step.place.strides)
    return contracted(known._replace(out=out), True)


def is_free(other: Ref, step: Step, users: dict, kept: set[Step], first: tuple) -> bool:
    """Return whether a summand is new memory that nobody else takes, in the form of the sum."""
    place = other.place
    if len(other.steps) != 1 or place.buffer.kind != "arena" or place.offset:
        return False
    (source,) = other.steps
    if users[source] != [step] or source in kept:
        return False
    if source.kind == "call" and source.info != [place]:
        return False
    if source.kind not in ("call", "element") or (source.kind == "element" and source.stored):
        return False
    whole = step.dtype.itemsize * other.size
    return place.buffer.size == whole and place.strides == step.place.strides


def move(steps: tuple[Step, ...], place: Place) -> None:
    """Let steps write to another place."""
    for step in steps:
        if step.kind == "call":
            step.info = [place]
        else:
            step.stored = True
        step.place = place
