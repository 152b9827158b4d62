"""C programs with exported functions print the bits of `compile`, between pages that are shut."""

import shutil
import subprocess

import numpy as np
import optree
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from support.c_programs import compiler, run
from support.exported import CASES, W, X, Y, expected, given, loss


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return ft.export(tmp_path_factory.mktemp("made") / "cases", CASES, shared=False)


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_c_program_has_the_bits_of_compile(made, tmp_path, name, at_end):
    func, *args = CASES[name]
    status, results = run(made, name, given(args), tmp_path, at_end)

    assert status == 0
    assert results == expected(func, args)


def test_eight_threads_have_memory_of_their_own(made, tmp_path):
    func, *args = CASES["newton"]
    status, results = run(made, "newton", given(args), tmp_path, threads=8)

    assert status == 0
    assert results == expected(func, args)


def test_the_functions_run_in_python_too(made):
    for name, (func, *args) in CASES.items():
        found = optree.tree_leaves(made.functions[name](*args))

        assert [np.ascontiguousarray(x).tobytes() for x in found] == expected(func, args), name


def test_a_matrix_without_an_inverse_gives_a_status(tmp_path):
    made = ft.export(tmp_path / "solve", np.linalg.solve, np.eye(3), np.ones(3), shared=False)

    assert run(made, "solve", [np.ones((3, 3)), np.ones(3)], tmp_path) == (1, [])
    with pytest.raises(ValueError, match="status 1"):
        made.functions["solve"](np.ones((3, 3)), np.ones(3))


def test_a_choice_that_is_another_one_gives_a_status(tmp_path):
    def f(x):
        return x if x[0] > 0 else -x

    made = ft.export(tmp_path / "choice", f, np.ones(2), shared=False)
    assert run(made, "choice", [np.ones(2)], tmp_path) == (0, [np.ones(2).tobytes()])
    assert run(made, "choice", [-np.ones(2)], tmp_path) == (2, [])


def test_a_value_that_is_not_finite_gives_a_status(tmp_path):
    """A derivative trusts that values stay finite: see the header."""
    made = ft.export(tmp_path / "slope", ft.grad(loss), W, X, Y, shared=False)
    assert run(made, "slope", [W * np.inf, X, Y], tmp_path) == (2, [])


@pytest.mark.slow
def test_valgrind_finds_nothing(tmp_path):
    tool = compiler("valgrind")
    made = ft.export(tmp_path / "cases", CASES, target="portable", shared=False)
    for name in ("newton", "rolled", "mixed"):
        _, *args = CASES[name]
        emulator = tool, "-q", "--error-exitcode=9"
        status, _ = run(made, name, given(args), tmp_path, emulator=emulator)

        assert status == 0


# ---- other processors ----


def test_libraries_for_controllers_need_no_unwinding(tmp_path):
    def f(x):
        return np.sum(x * x * np.float32(0.5))

    made = ft.export(
        tmp_path / "small", ft.grad(f), np.ones(7, np.float32), target="thumbv7em-none-eabihf"
    )
    assert made.functions == {} and made.shared is None
    if shutil.which("nm"):
        text = subprocess.run(["nm", "-u", made.object], capture_output=True, text=True).stdout
        assert "unwind" not in text and "__gxx" not in text
