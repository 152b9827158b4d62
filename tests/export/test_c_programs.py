"""C programs with exported functions print the bits of `compile`, between pages that are shut."""

import shutil
import subprocess

import numpy as np
import optree
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from support.c_programs import compiler, run

rng = np.random.default_rng(0)
W, X, Y = rng.normal(size=5), rng.normal(size=(37, 5)), rng.random(37)


def loss(w, x, y):
    z = x @ w
    return np.mean(np.log(1 + np.exp(z)) - y * z)


def newton(w, x, y):
    return w - np.linalg.solve(ft.hessian(loss)(w, x, y), ft.grad(loss)(w, x, y))


def residuals(w, x):
    return np.tanh(x @ w) / (1 + np.sum(w * w))


def filtered(signal, a):
    """A recursive filter: each value is that of the step before, and a part of the new one."""

    def step(state, x):
        state = state + a * (x - state)
        return state, state

    return ft.scan(step, np.zeros(3), signal)


def rollout(angle, gains):
    """A pendulum for 1,000 steps under a controller."""

    def step(i, state):
        turn = -gains[0] * state[0] - gains[1] * state[1]
        return np.stack([state[0] + 0.01 * state[1],
                         state[1] + 0.01 * (np.sin(state[0]) + turn)])  # fmt: skip

    return np.sum(ft.fori_loop(0, 1000, step, np.stack([angle, 0.0 * angle])) ** 2)


def mixed(values, weights, chosen, n):
    """Several dtypes, several results, and pytrees."""
    total = np.where(chosen, values["a"] * weights, 0)
    return {"total": np.cumsum(total), "single": values["b"] * np.float32(0.1), "n": n // 3,
            "any": chosen & (weights > 0.5), "input": weights, "same": [n, n]}  # fmt: skip


TABLE = np.array([[np.inf, -1.5, np.nan], [0.1, -0.0, 2.0]])


ONES = np.asfortranarray(np.ones((5, 7)) * rng.normal(size=7))
PLAIN = np.ones((7, 5)).T


def captured(x):
    """Arrays from outside, in another order."""
    return (x @ ONES) @ (PLAIN.T @ x.T), np.sin(ONES[::-1, ::2])


def held(x):
    return np.minimum(x, TABLE), 2 * TABLE[::-1]


NUMBERS = {"a": rng.normal(size=9), "b": rng.normal(size=(2, 3)).astype(np.float32)}
CHOSEN = rng.random(9) > 0.5
CASES = {
    "gradient": (ft.grad(loss), W, X, Y),
    "value": (ft.value_and_grad(loss), W, X, Y),
    "jacobian": (ft.jacrev(residuals), W, X),
    "hessian": (ft.hessian(loss), W, X, Y),
    "newton": (newton, W, X, Y),
    "filtered": (filtered, rng.normal(size=(20, 3)), 0.3),
    "rolled": (ft.grad(rollout, argnums=(0, 1)), np.float64(0.4), np.array([9.0, 2.0])),
    "mixed": (mixed, NUMBERS, rng.random(9), CHOSEN, np.arange(-4, 5)),
    "captured": (captured, rng.normal(size=(4, 5))),
    "held": (held, rng.normal(size=(2, 3))),
    "batch": (ft.vmap(ft.grad(loss), (None, 0, 0)), W, X[:, None], Y[:, None]),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return ft.export(tmp_path_factory.mktemp("made") / "cases", CASES, shared=False)


def given(args):
    return [np.asarray(x) for x in optree.tree_leaves(tuple(args))]


def expected(func, args):
    """The bytes of each result of the compiled function."""
    results = ft.compile(func, backend="llvm", warm=True)(*args)
    return [np.ascontiguousarray(x).tobytes() for x in optree.tree_leaves(results)]


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


@pytest.mark.parametrize(
    ("triple", "cc", "emulator"),
    [
        ("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("armv7-linux-gnueabihf", "arm-linux-gnueabihf-gcc", "qemu-arm"),
    ],
)
def test_a_program_for_arm_runs_in_an_emulator(tmp_path, triple, cc, emulator):
    """The processor for the second one rounds a product and a sum twice: own code does it once."""
    tool = compiler(emulator)
    compiler(cc)
    made = ft.export(tmp_path / "cases", CASES, target=triple)
    for name, (func, *args) in CASES.items():
        status, results = run(
            made, name, given(args), tmp_path, cc=cc, emulator=(tool,), options=("-static",)
        )
        wanted = [np.asarray(x) for x in optree.tree_leaves(ft.compile(func)(*args))]

        assert status == 0
        for text, want in zip(results, wanted, strict=True):
            found = np.frombuffer(text, want.dtype).reshape(want.shape)
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


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
