"""The snippets of the page on C libraries, compiled, and their results beside Python's."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from support.c_programs import compiler

PAGE = Path(__file__).parents[2] / "design" / "site" / "pages" / "howto" / "c-library.md"
rng = np.random.default_rng(0)
WEIGHTS, X, Y = rng.normal(size=5), rng.normal(size=(40, 5)), rng.random(40)


def snippet(language):
    return re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)[1]


def loss(weights, x, y):
    z = x @ weights
    return np.mean(np.log(1 + np.exp(z)) - y * z)


def newton(weights, x, y):
    slope = ft.grad(loss)(weights, x, y)
    return weights - np.linalg.solve(ft.hessian(loss)(weights, x, y), slope)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    own = {"gradient": (ft.grad(loss), WEIGHTS, X, Y), "newton": (newton, WEIGHTS, X, Y)}
    return ft.export(tmp_path_factory.mktemp("lib") / "model", own, shared=False)


def run(made, tmp_path, name, text, *command):
    """Compile a file beside the library, and run it; the numbers that it prints."""
    (tmp_path / name).write_text(text)
    folder = made.header.parent
    subprocess.run(
        [*command, name, f"-I{folder}", f"-L{folder}", "-lmodel", "-o", "main"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    done = subprocess.run([tmp_path / "main"], env={}, capture_output=True, text=True, check=True)
    return np.array([float(x) for x in done.stdout.split()])


def values(kind, **arrays):
    """The lines of C that define arrays."""
    return "".join([
        f"static {kind} {name}[] = {{{', '.join(map(repr, x.ravel().tolist()))}}};\n"
        for name, x in arrays.items()
    ])  # fmt: skip


def program():
    """The program in C of the page, with arrays that have values."""
    text, declared = snippet("c"), "    static double weights[5], x[200], y[40], next[5];\n"
    assert declared in text
    given = values("double", weights=WEIGHTS, x=X, y=Y) + "static double next[5];\n"
    return text.replace(declared, "").replace("int main", f"{given}int main")


def test_cmake(made, tmp_path):
    tool = compiler("cmake")
    (tmp_path / "CMakeLists.txt").write_text(snippet("cmake"))
    (tmp_path / "main.c").write_text(program())
    (tmp_path / "lib").symlink_to(made.header.parent)
    subprocess.run([tool, "-S", ".", "-B", "out"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([tool, "--build", "out"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([tmp_path / "out" / "main"], capture_output=True, text=True, check=True)
    wanted = ft.compile(newton, backend="llvm", warm=True)(WEIGHTS, X, Y)

    assert [float(x) for x in done.stdout.split()] == wanted.tolist()


@pytest.mark.parametrize(("name", "language"), [("gcc", "c"), ("g++", "cpp")])
def test_c_and_cplusplus(made, tmp_path, name, language):
    tool, text = compiler(name), program()
    found = run(made, tmp_path, f"main.{language}", text, tool, "-Wall", "-Wextra", "-Werror")

    assert found.tolist() == ft.compile(newton, backend="llvm", warm=True)(WEIGHTS, X, Y).tolist()


def test_fortran(made, tmp_path):
    tool = compiler("gfortran")

    def numbers(x):
        own = [repr(v).replace("e", "d") for v in x.ravel().tolist()]
        return ", &\n  ".join([v if "d" in v else f"{v}d0" for v in own])

    text = (
        "program main\n  use iso_c_binding\n  implicit none\n"
        "  real(c_double) :: weights(5), x(5, 40), y(40), out(5)\n"
        "  integer(c_int8_t), target :: work(100000)\n  integer :: i\n"
        f"{snippet('fortran')}"
        f"  weights = [{numbers(WEIGHTS)}]\n  x = reshape([{numbers(X)}], [5, 40])\n"
        f"  y = [{numbers(Y)}]\n"
        "  if (gradient(weights, x, y, out, c_loc(work)) /= 0) stop 1\n"
        "  do i = 1, 5\n    print '(es25.17)', out(i)\n  end do\nend program\n"
    )
    found = run(made, tmp_path, "main.f90", text, tool, "-ffree-line-length-none")
    wanted = ft.compile(ft.grad(loss), backend="llvm", warm=True)(WEIGHTS, X, Y)

    assert found.tolist() == wanted.tolist()


def test_rust(made, tmp_path):
    tool = compiler("rustc")

    def array(x):
        return ", ".join([repr(v) if "e" in repr(v) else f"{v!r}f64" for v in x.ravel().tolist()])

    text = snippet("rust") + (
        "fn main() {\n"
        f"    let weights = [{array(WEIGHTS)}]; let x = [{array(X)}]; let y = [{array(Y)}];\n"
        "    let mut out = [0f64; 5]; let mut work = vec![0u8; 100000];\n"
        "    let status = unsafe { gradient(weights.as_ptr(), x.as_ptr(), y.as_ptr(),\n"
        "        out.as_mut_ptr(), work.as_mut_ptr()) };\n"
        "    assert_eq!(status, 0);\n"
        '    for v in out.iter() { println!("{:e}", v); }\n}\n'
    )
    (tmp_path / "main.rs").write_text(text)
    folder = made.header.parent
    subprocess.run([tool, "main.rs", "-L", str(folder)], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], env={}, capture_output=True, text=True, check=True)
    wanted = ft.compile(ft.grad(loss), backend="llvm", warm=True)(WEIGHTS, X, Y)

    assert [float(x) for x in done.stdout.split()] == wanted.tolist()
