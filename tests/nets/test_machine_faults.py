"""Faults of machine code, which the nets of programs that write and of rows find."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import samples
from functier._programs.machine import backend
from functier._programs.machine.loops import bodies, kernels, nests
from functier._programs.machine.lowering import effects, products, reductions
from functier._programs.machine.parts import calling
from nets import machine_rows
from nets.test_programs import test_machine_code_gives_what_eager_mode_gives as machine_code

ROW = "contraction.kron-d[],d[2,2]"


def wrong_of_rows():
    """Return what is wrong as machine code of a row with other sizes."""
    found = machine_rows.net(1)
    found.run(ROW, samples.named()[ROW], large=True)
    return found.counts.wrong


@pytest.fixture(autouse=True)
def no_kernels():
    """Make all kernels anew."""
    kernels.kernel_of.cache_clear()
    kernels.written.cache_clear()
    yield
    kernels.kernel_of.cache_clear()
    kernels.written.cache_clear()


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


@pytest.mark.parametrize("name", [*FAULTS][:-1])
def test_a_planted_fault_is_found(monkeypatch, name):
    monkeypatch.setattr(*FAULTS[name])
    machine_code.net.finds()


def test_a_planted_fault_is_found_in_a_row(monkeypatch):
    assert not wrong_of_rows()
    monkeypatch.setattr(*FAULTS["a view taken for what it shows"])
    assert wrong_of_rows()
