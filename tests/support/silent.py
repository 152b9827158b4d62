"""The rows of the table of what is silent, each with a program: ``python tests/support/silent.py``.

A row is named by its first cell. Its program has a wrong number inside a transform, the right one,
and that of the remedy.
"""

import contextlib
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

import functier as ft
from functier.nn.functional import relu

PAGE = Path(__file__).resolve().parents[2] / "design/site/pages/howto/limits.md"
RNG, OURS = np.random.default_rng(0), ft.random.default_rng(0)


def rows():
    """Return the first cells of the first table of the page."""
    table = PAGE.read_text(encoding="utf-8").partition("## What is silent")[2].partition("###")[0]
    found = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if "|" in line]
    return [cell for cell in found if not re.match(r"[|-]+$|you write", cell)]


@contextlib.contextmanager
def adopted(text):
    """Adopt a module with this text, which is in a file; its functions are used in the block."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "silently_adopted.py")
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            with ft.adopt(module):
                yield module
        finally:
            del sys.modules[path.stem]


def refilled():
    a = np.ones((600, 100))

    def f(x, copy=False):
        y = np.sum((a.copy() if copy else a) @ x)
        a[1] = 0.0
        return y

    wrong = ft.grad(f)(np.ones(100))[0]
    a[1] = 1.0
    return wrong, 600.0, ft.grad(lambda x: f(x, copy=True))(np.ones(100))[0]


def argument():
    def f(x, point):
        y = np.sum(x * x)
        point[:] = 5.0
        return y

    point, other = np.ones(2), np.ones(2)
    wrong = ft.grad(lambda x: f(x, point))(point)
    return wrong, [2.0, 2.0], ft.grad(lambda x: f(x, point))(other)


def unseen_draw():
    def draws(name):
        return ft.vmap(lambda x: x + globals()[name].normal(), randomness="different")(np.zeros(4))

    return len(np.unique(draws("RNG"))), 4, len(np.unique(draws("OURS")))


def cached():
    cache = {}

    def f(x):
        if "y" not in cache:
            cache["y"] = np.sin(x)
        return cache["y"] * x

    f(2.0)
    wrong = ft.grad(f)(2.0)
    cache.clear()
    return wrong, np.sin(2.0) + 2.0 * np.cos(2.0), ft.grad(f)(2.0)


def exact_type():
    found = ft.value_and_grad(lambda x: 2 * x if type(x) is float else 0 * x)(1.0)
    return found, [2.0, 2.0], ft.value_and_grad(lambda x: 2 * x if isinstance(x, float) else 0)(1.0)


def library():
    file = f"{os.sep}site-packages{os.sep}somebodys.py"
    space = {"np": np}
    text = "def total(x): return np.sum(x) if isinstance(x, np.ndarray) else 0.0 * x[0]"
    exec(compile(text, file, "exec"), space)
    wrong = ft.grad(lambda x: space["total"](x))(np.ones(2))
    with adopted(f"import numpy as np\n{text}") as module:
        return wrong, [1.0, 1.0], ft.grad(module.total)(np.ones(2))


def caught():
    def f(x, first=memoryview):
        try:
            first(x)
            return np.sum(x * x)
        except TypeError:
            return 0.0 * x[0]

    def block(convert):
        with ft.vmap() as level:
            x = level(np.array([1.0, 2.0]))
            try:
                y = convert(x) * x
            except ft.ConversionError:
                y = 0.0 * x
            return level.unwrap(y)

    x = np.array([1.0, 2.0])
    wrong = [ft.grad(f)(x), block(np.asarray)]
    return wrong, [2 * x, x * x], [ft.grad(lambda x: f(x, np.sum))(x), block(lambda x: x)]


def text_of_a_number():
    found = ft.value_and_grad(lambda x: -x if str(x).startswith("-") else x)(-2.0)
    return found, [2.0, -1.0], ft.value_and_grad(lambda x: -x if x < 0 else x)(-2.0)


READ = """
import sys
def f(x, read):
    try:
        raise ValueError(f"{x}")
    except ValueError:
        return (float(str(sys.exc_info()[1])) if read else x) * x
"""


def read_back():
    with adopted(READ) as module:
        wrong = ft.grad(lambda x: module.f(x, True))(3.0)
        return wrong, 6.0, ft.grad(lambda x: module.f(x, False))(3.0)


def written_result():
    def f(x, itself):
        y = ft.scipy.linalg.solve_triangular(np.eye(3) * 2.0, x)
        if itself:
            y[...] = 0.0
        else:
            y.reshape(-1)[...] = 0.0
        return np.sum(y)

    x = np.arange(12.0).reshape(3, 4)
    plain, wrong = f(x, False), ft.value_and_grad(lambda x: f(x, False))(x)[0]
    # A write to a copy is lost in the plain call; one to the array is the same in both.
    return wrong - plain, 0.0, ft.value_and_grad(lambda x: f(x, True))(x)[0] - f(x, True)


def composed():
    def parts(minimum, clip, maximum):
        return ft.grad(lambda x: minimum(x) + clip(x) + maximum(x))(0.0)

    low, high = lambda x: np.minimum(x, 0.0), lambda x: np.maximum(x, 1.0)
    wrong = [ft.grad(lambda x: relu(x) - relu(-x))(0.0)]
    wrong += [parts(low, lambda x: np.clip(x, 0.0, 1.0), high)]
    right = [ft.grad(lambda x: np.maximum(x, 0.0) - np.maximum(-x, 0.0))(0.0)]
    return wrong, [1, 1], [*right, parts(low, lambda x: np.minimum(np.maximum(x, 0), 1), high)]


def second():
    def stable(x):
        return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))

    def huber(a):
        return np.where(np.abs(a) < 1.0, 0.5 * a**2, np.abs(a) - 0.5)

    wrong = [ft.grad(ft.grad(f))(0.0) for f in (stable, lambda a: relu(a * a))]
    good = lambda a: a * a  # noqa: E731
    right = [ft.grad(ft.grad(f))(0.0) for f in (lambda x: np.logaddexp(0.0, x), good)]
    return wrong, [0.25, 2.0], right


def one_point():
    wrong = ft.grad(lambda x: 1.0 if x == 1 else x * x)(1.0)
    return wrong, 2.0, ft.grad(lambda x: x * x)(1.0)


def bisect(f, low, high):
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return low


def bisection():
    wrong = ft.grad(lambda a: bisect(lambda x: x * x - a, 0.0 * a, 2.0))(2.0)
    solve = lambda f, guess: bisect(f, 0.0, guess)  # noqa: E731
    linear = lambda g, y: y / g(1.0)  # noqa: E731
    right = ft.grad(lambda a: ft.custom_root(lambda x: x * x - a, 2.0, solve, linear))(2.0)
    return wrong, 0.5 / np.sqrt(2.0), right


def closure():
    scale = [2.0]

    def program(kept):
        f = ft.custom_vjp(lambda x: scale[0] * x)
        f.defvjp(lambda x: (scale[0] * x, scale[0]), lambda s, g: ((s if kept else scale[0]) * g,))

        def run(x):
            scale[0] = 2.0
            y = f(x)
            scale[0] = 5.0
            return y

        return ft.grad(run)(1.0)

    return program(False), 2.0, program(True)


def flat_operand():
    def at_zero(f):
        return ft.grad(ft.grad(f))(0.0)

    return at_zero(lambda x: np.linalg.norm(x * x)), 2.0, at_zero(lambda x: x**2)


PROGRAMS = {
    "a large plain array that is changed": [refilled, argument],
    "a draw that functier cannot see": [unseen_draw],
    "a cache that you keep between calls": [cached],
    "`type(x) is float`": [exact_type, library],
    "code that catches the `TypeError`": [caught],
    "a decision by the text of a number": [text_of_a_number],
    "a number that is read back from text": [read_back],
    "a write to `y.reshape(-1)`": [written_result],
    "`np.linalg.norm(x * x)`": [flat_operand],
    "several `relu` or `clip`": [composed],
    "a second derivative of a loss": [second],
    "a branch that only one point takes": [one_point],
    "a search by comparisons": [bisection],
    "a rule of `custom_vjp`": [closure],
}
"""For the beginning of the first cell of each row its programs."""


def main():
    for name, programs in PROGRAMS.items():
        for program in programs:
            wrong, right, remedy = program()
            print(f"{name}: {np.array(wrong)}, right {np.array(right)}, remedy {np.array(remedy)}")


if __name__ == "__main__":
    main()
