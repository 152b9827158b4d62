"""Faults of machine code, which the nets of programs that write and of rows find."""

import pytest

pytest.importorskip("llvmlite")

import samples
from faults.planted import nets_of_programs as faulty
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
    faulty.forget_kernels()
    yield
    faulty.forget_kernels()


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [*faulty.FAULTS_OF_MACHINE_FAULTS][:-1])
def test_a_planted_fault_is_found(monkeypatch, name):
    faulty.FAULTS_OF_MACHINE_FAULTS[name](monkeypatch)
    machine_code.net.finds()


def test_a_planted_fault_is_found_in_a_row(monkeypatch):
    assert not wrong_of_rows()
    faulty.FAULTS_OF_MACHINE_FAULTS["a view taken for what it shows"](monkeypatch)
    assert wrong_of_rows()
