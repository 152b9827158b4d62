"""A recorded program of steps, which runs again on other inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.root import DISABLED
from ..._levels.kept import Copies
from ..stop_gradient import without_derivatives

ndarray = np.ndarray
Step = tuple[Any, ...]
"""``(number, function, constants, places, keyword arguments)``.

The function takes the constants, with the results of the steps in
``places = ((position, step), ...)`` in their positions. An input has a number and None alone."""


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
            _, func, constants, places, given = found[key]
            for _, parent in places:
                last[slots[parent[0]]] = len(self.steps)
            places = tuple([(i, slots[parent[0]]) for i, parent in places])
            self.steps.append((func, constants, places, given, []))
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

        for i, (func, constants, places, given, done) in enumerate(self.steps):
            self.steps[i] = func, own(constants), places, own(given), done

    def __call__(self, values: list) -> list:
        """Return the outputs; None for one that is zeros."""
        at = values + [None] * (self.size - self.n)
        out = self.n
        for func, constants, places, given, done in self.steps:
            args = list(constants)
            for i, slot in places:
                args[i] = at[slot]
            at[out] = func(*args, **given)
            del args
            for slot in done:  # nobody needs these any more
                at[slot] = None
            out += 1
        return [None if slot is None else at[slot] for slot in self.outputs]


def _parents(step: Step) -> list[Step]:
    """Return the steps whose results a step takes."""
    return [] if step[1] is None else [parent for _, parent in step[3]]
