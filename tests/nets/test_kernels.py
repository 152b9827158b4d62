"""The net of kernels over a slice of a seed, and faults that it finds."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine import backend
from functier._programs.machine.loops import bodies, kernels, nests
from functier._programs.machine.lowering import effects, products, reductions
from functier._programs.machine.parts import calling
from nets.kernels import net


def test_drawn_kernels(full, record_property):
    found = net(2026)
    for number in range(5000 if full else 12):
        found.run(number)
    record_property("net", found.summary())
    found.settle()


def check_fault(numbers):
    """A fault that is planted gives wrong results."""
    kernels.kernel_of.cache_clear()
    kernels.written.cache_clear()
    found = net(1)
    try:
        for number in numbers:
            found.run(number)
            if found.counts.wrong:
                return
    finally:
        kernels.kernel_of.cache_clear()
        kernels.written.cache_clear()
    pytest.fail(found.summary())


def overlapping(calls):
    """Give each buffer of the arena the same place."""
    size = calling.laid_out(calls)
    for call in calls:
        for place in call.places:
            place.buffer.offset = 0
    return size


FAULTS = {
    "a sum takes lanes twice": (bodies.Body, "needs_mask", lambda self: False),
    "what is computed again is stored": (bodies.Body, "rewrites", lambda self: False),
    "an end that is not begun": (
        nests.Sum, "across", lambda self, values: [nests.half_of(self.w, values[0], 2, 0)]
        if self.w.width == 2 else ACROSS(self, values),
    ),
    "buffers that overlap": (backend, "laid_out", lambda calls: overlapping(calls)),
    "writes that run early": (effects.Memory, "order", lambda self, *given: None),
    "a read that sees nothing": (effects.Memory, "sources", lambda self, bits: ()),
    "a beginning that counts": (
        nests, "identity", lambda func, dtype: IDENTITY(func, dtype) if func is not np.add else 1
    ),
    "axes of a reduction": (
        reductions, "axes_of", lambda axis, ndim: AXES(axis if type(axis) is not int else 0, ndim),
    ),
    "a view taken for what it shows": (
        products, "viewed",
        lambda value, make: VIEWED(value, make)._replace(straight=value.straight),
    ),
}  # fmt: skip
ACROSS, IDENTITY, AXES, VIEWED = (
    nests.Sum.across, nests.identity, reductions.axes_of, products.viewed,
)  # fmt: skip

NUMBERS = dict.fromkeys(FAULTS, range(100)) | {"a view taken for what it shows": [310, 501]}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(monkeypatch, name):
    place, attribute, fault = FAULTS[name]
    monkeypatch.setattr(place, attribute, fault)
    check_fault(NUMBERS[name])
