"""A recorded program of steps, which runs again on other inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.root import DISABLED
from ..._levels.kept import Copies
from ..stop_gradient import without_derivatives

ndarray = np.ndarray
Step = tuple[Any, ...]
"""``(number, kind, function, a, b, keyword arguments)``.

The arguments of the function are, by kind: the result of the step `a` (`ONE`); that and the
constant `b` (`LEFT`); the constant `a` and the result of the step `b` (`RIGHT`); the results of
both (`BOTH`); or `a`, with the results of the steps in ``b = ((position, step), ...)`` (`MANY`).
An `INPUT` has no function."""

INPUT, ONE, LEFT, RIGHT, BOTH, MANY = range(6)


class Program:
    """The steps from `inputs` to `outputs`, in order; a call takes the values of the inputs."""

    def __init__(self, inputs: Sequence[Step], outputs: Sequence[Step | None]):
        found = {step[0]: step for step in outputs if step is not None}
        waiting = list(found.values())
        while waiting:  # without recursion: there may be many
            for parent in _parents(waiting.pop()):
                if parent[0] not in found:
                    found[parent[0]] = parent
                    waiting.append(parent)
        slots = {step[0]: i for i, step in enumerate(inputs)}
        last: dict[int, int] = {}
        self.steps: list[Any] = []
        for key in sorted(found):
            if key in slots:
                continue
            _, kind, func, a, b, given = step = found[key]
            for parent in _parents(step):
                last[slots[parent[0]]] = len(self.steps)
            if kind is MANY:
                b = tuple([(i, slots[parent[0]]) for i, parent in b])
            else:
                a = slots[a[0]] if kind is not RIGHT else a
                b = slots[b[0]] if kind is RIGHT or kind is BOTH else b
            self.steps.append((kind, func, a, b, given, []))
            slots[key] = len(slots)
        self.size, self.n = len(slots), len(inputs)
        self.outputs = [None if step is None else slots[step[0]] for step in outputs]
        for slot, at in last.items():
            if slot not in self.outputs:
                self.steps[at][-1].append(slot)

    def copy_constants(self) -> None:
        """Copy the constants: see NOTE [what outlives a call owns its memory] in `_levels.kept`.

        Plain arrays were copied when the steps were recorded. Where a block switches levels off,
        copy their plain values, as they outlive the block.
        """
        copies, off = Copies(), DISABLED.get()

        def own(x: Any) -> Any:
            if type(x) is ndarray:
                return x
            if type(x) is tuple:
                return tuple([own(v) for v in x])
            return copies.value(without_derivatives(x, off) if off else x)

        for i, (kind, func, a, b, given, done) in enumerate(self.steps):
            if kind is LEFT:
                b = own(b)
            elif kind is RIGHT or kind is MANY:
                a = own(a)
            self.steps[i] = kind, func, a, b, own(given), done

    def __call__(self, values: list) -> list:
        """Return the outputs; None for one that is zeros."""
        at = values + [None] * (self.size - self.n)
        out = self.n
        for kind, func, a, b, given, done in self.steps:
            if kind is LEFT:
                at[out] = func(at[a], b)
            elif kind is BOTH:
                at[out] = func(at[a], at[b])
            elif kind is RIGHT:
                at[out] = func(a, at[b])
            elif kind is ONE:
                at[out] = func(at[a])
            else:
                args = list(a)
                for i, slot in b:
                    args[i] = at[slot]
                at[out] = func(*args, **given)
                del args
            for slot in done:  # nobody needs these any more
                at[slot] = None
            out += 1
        return [None if slot is None else at[slot] for slot in self.outputs]


def _parents(step: Step) -> Sequence[Step]:
    """Return the steps whose results a step takes."""
    kind = step[1]
    if kind is LEFT or kind is ONE:
        return (step[3],)
    if kind is BOTH:
        return step[3:5]
    if kind is RIGHT:
        return (step[4],)
    return [parent for _, parent in step[4]] if kind is MANY else ()
