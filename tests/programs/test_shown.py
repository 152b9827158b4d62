"""The source that people read: it gives the numbers of the program, and reads as they would write.

Here it is run as text alone. `test_trace_ways` has the program that replays.
"""

import linecache
import runpy
import sys

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
import samples
from faults.planted import programs as faulty
from support.basics import silent
from support.row_cases import cases, difference


def pasted(program):
    """The function of a program's source, with its arrays and nothing else."""
    space = {"CONSTANTS": program.constants}
    exec(program.source, space)
    return space[program.name]


def run(rows):
    """The names of the cases whose source is wrong, and how many were right."""
    found, right = {}, 0
    for name, row in rows.items():
        with silent():
            for kind, f, args in cases(row):
                try:
                    program = ft.trace(f)(*args)
                except ft.LevelError:
                    continue
                try:
                    wrong = difference(pasted(program)(*args), program(*args))
                except Exception as error:  # a name that is missing is a fault as others are
                    wrong = f"{type(error).__name__}: {error}"
                right += not wrong
                if wrong:
                    found[f"{name} {kind}"] = wrong
    return found, right


def test_the_source_of_rows_gives_equal_bits(rows, request, full):
    step = 8 if request.config.getoption("--slow") else 40
    rows = rows if full else dict(list(rows.items())[::step])
    found, right = run(rows)

    assert not found
    assert right > len(rows)


# ---- what a person reads ----


def sweep(b):
    x = fnp.zeros(3)
    for i in range(3):
        x[i] = (b[i] - np.sum(x) + x[i]) / 4.0
    return np.sum(x * x)


def heat(u):
    u = u.copy()
    for _ in range(2):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
    return np.sum(u[:, ::2] ** 2) + np.sum(u[1])


def shifted(u):
    u = u.copy()
    u[1:] = u[:-1]
    kept = u[:2]
    u[0] *= 3.0
    u.T[1] += kept[1, 0]
    return kept * u[:2]


def layers(params, x):
    for layer in params["layers"]:
        weight, bias = layer
        x = np.tanh(x @ weight + bias)
    return np.sum(x)


def oscillator(y, k):
    position, speed = y
    force = -k * position
    return np.sum(np.stack([speed, force]) ** 2)


def scalars(theta, flows):
    q, r = np.exp(theta)
    level, total = 0.0, 0.0
    for z in flows:
        error = z - level
        level = level + q / r * error
        total += 0.5 * (np.log(r) + error * error / r)
    return total


WEIGHTS = [(np.eye(2, 3), np.zeros(3)), (np.ones((3, 2)), np.ones(2))]
FUNCTIONS = {
    "sweep": (ft.grad(sweep), np.array([1.0, 2.0, -1.0])),
    "heat": (ft.grad(heat), np.arange(16.0).reshape(4, 4) ** 2),
    "forward": (lambda u: ft.jvp(heat, (u,), (u,)), np.arange(16.0).reshape(4, 4) ** 2),
    "shifted": (shifted, np.arange(6.0).reshape(3, 2)),
    "batch": (ft.vmap(shifted), np.arange(12.0).reshape(2, 3, 2)),
    "layers": (ft.value_and_grad(layers), {"layers": WEIGHTS}, np.ones((2, 2))),
    "oscillator": (ft.hessian(oscillator), np.array([1.0, 2.0]), 3.0),
    "scalars": (ft.grad(scalars), np.array([0.1, 0.3]), np.array([1.0, 2.0, 5.0])),
    "narrow": (lambda x: (x * np.float64(0.1), x**2, x * 0.1), np.ones(2, np.float32)),
    "infinite": (lambda x: np.minimum(x, np.inf) + np.float64(-0.0), np.array([-0.0, 1.0])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_source_of_a_function_gives_equal_bits(name):
    f, *args = FUNCTIONS[name]
    program = ft.trace(f)(*args)
    assert difference(pasted(program)(*args), program(*args)) is None
    assert difference(program(*args), f(*args)) is None


def test_values_have_the_names_of_the_user():
    text = ft.trace(ft.grad(scalars))(np.zeros(2), np.ones(2)).source

    for line in "q = t1[0]", "z = flows[0]", "z_2 = flows[1]", "error_2 = z_2 - level":
        assert f"    {line}\n" in text
    assert "total" not in [line.partition("=")[0].strip() for line in text.splitlines()]


def test_names_of_tangents_are_not_those_of_values():
    text = ft.trace(lambda y: ft.jvp(oscillator, (y, 2.0), (y, 0.0)))(np.ones(2)).source

    assert text.count("    position = ") == 1
    assert "position_2" not in text


def test_a_function_takes_and_returns_what_the_transform_does():
    f, *args = FUNCTIONS["layers"]
    text = ft.trace(f)(*args).source

    assert "def value_and_grad_layers(params, x):\n" in text
    _, slopes = pasted(ft.trace(f)(*args))(*args)
    assert set(slopes) == {"layers"} and [type(pair) for pair in slopes["layers"]] == [tuple] * 2


def test_memories_are_arrays_with_their_shapes():
    text = ft.trace(ft.grad(sweep))(np.ones(3)).source
    assert "    x = np.zeros(3)\n" in text and "x[0] = " in text

    text = ft.trace(ft.grad(heat))(np.ones((4, 4))).source
    assert "[1:3, 1:3] += " in text
    assert "np.empty" not in text and "np.ndarray" not in text


def test_no_comment_is_of_code_outside():
    program = ft.trace(ft.grad(lambda x: np.sum(np.exp(x) * 2.0)))(np.ones(2))

    assert "# np.sum(np.exp(x) * 2.0)" in program.source


def test_helpers_are_written_out():
    def repeated(a):
        return np.sum(np.repeat(a, np.array([1, 2])) ** 2)

    text = ft.trace(ft.grad(repeated))(np.ones(2)).source
    assert "import functier" not in text and "def segment_sum(a, counts, axis):" in text


# ---- planted faults ----


def wrong_functions():
    """The names of the functions whose source gives other bits."""
    found = []
    for name, (f, *args) in FUNCTIONS.items():
        program = ft.trace(f)(*args)
        try:
            wrong = difference(pasted(program)(*args), f(*args))
        except Exception:
            wrong = "an error"
        if wrong:
            found.append(name)
    return found


def test_a_wrong_index_of_a_part_is_found(monkeypatch):
    faulty.wrong_index_of_a_part(monkeypatch)
    assert wrong_functions()


def test_a_number_of_another_kind_is_found(monkeypatch):
    faulty.number_of_another_kind(monkeypatch)
    assert wrong_functions() == ["narrow"]


def test_a_start_of_a_memory_that_is_left_out_is_found(monkeypatch):
    faulty.start_of_a_memory_that_is_left_out(monkeypatch)
    assert wrong_functions()


def test_rows_find_a_wrong_default(monkeypatch):
    faulty.rows_find_a_wrong_default(monkeypatch)
    rows = {n: r for n, r in samples.chosen().items() if n.startswith("reduction.")}

    assert run(dict(list(rows.items())[:20]))[0]


def test_a_saved_program_is_a_module_with_its_arrays(tmp_path, monkeypatch):
    weights = np.random.default_rng(0).normal(size=(20, 3))

    def predict(x):
        return np.tanh(x @ weights)

    x = np.ones(20)
    program = ft.trace(ft.jacrev(predict))(x)
    program.save(str(tmp_path / "slope.py"))
    monkeypatch.chdir(tmp_path.parent)
    names = runpy.run_path(str(tmp_path / "slope.py"))

    assert "functier" not in (tmp_path / "slope.py").read_text()
    assert np.array_equal(names["jacrev_predict"](x), program(x))


def test_a_constant_with_gaps_between_its_elements_is_no_text():
    """A product with one that has none may differ in the last bit."""

    def f(x):
        return x @ np.stack([np.cos(np.arange(3.0)), np.ones(3)], axis=1)[:, 0]

    program = ft.trace(f)(np.ones((2, 3)))
    assert "CONSTANTS" in program.source and "np.array(" not in program.source
    assert difference(pasted(program)(np.ones((2, 3))), f(np.ones((2, 3)))) is None


# ---- costs ----


def test_the_table_prints_and_is_a_list():
    table = ft.trace(lambda a, b: np.sum(a @ b))(np.ones((20, 30)), np.ones((30, 40))).table

    assert table == [("numpy.matmul", 1, 48000, 6400), ("numpy.sum", 1, 800, 0)]
    assert str(table).splitlines() == [
        "function      calls  operations  bytes",
        "numpy.matmul      1      48,000  6,400",
        "numpy.sum         1         800      0",
        "all               2      48,800  6,400",
    ]


def test_a_transpose_that_has_a_name_has_its_line():
    def f(x):
        u = x.T
        return u @ u

    text = str(ft.trace(f)(np.ones((2, 2))))

    assert "    u = x.T" in text.splitlines()
    assert "u @ u" in text


def test_a_number_that_is_a_result_keeps_its_type():
    def f(x):
        if np.floor(x * 3) > 0:
            return x * 0.0 + np.sum(np.zeros(2))
        return x

    def g(x):
        return np.float64(0.0), np.floor(x)

    for func in f, g, ft.grad(f):
        found = pasted(ft.trace(func)(np.float64(0.5)))(np.float64(0.5))
        for a, b in zip(np.atleast_1d(found), np.atleast_1d(func(np.float64(0.5)))):
            assert type(a) is type(b)
        assert not isinstance(found, tuple) or {*map(type, found)} == {np.float64}


# ---- The line that says what takes long, while a program is made ----


def growing(x):
    for _ in range(6):
        x = np.concatenate([x, x[:1]]) * 0.5
    return np.sum(x)


def decaying(x):
    for _ in range(300):
        x = x - 0.1 * np.sin(x)
    return x


@pytest.mark.parametrize(
    ("f", "words"),
    [(growing, r"these are not a loop: line \d+ of growing, 6 times: .*results of other forms"),
     (decaying, r"for 90\d calls; each step of a Python loop is recorded")],
)  # fmt: skip
def test_what_takes_long_is_said_once(f, words, monkeypatch):
    faulty.what_takes_long_is_said_once(monkeypatch)
    compiled, x = ft.compile(f, backend="numpy"), np.ones(3)

    with pytest.warns(RuntimeWarning, match=words) as seen:
        compiled(x)
        compiled(x)

    assert len(seen) == 1
    assert seen[0].filename == __file__


def test_what_is_quick_is_not_said(recwarn):
    ft.compile(growing)(np.ones(3))

    assert not recwarn.list


def test_notebooks_show_what_a_program_depends_on_and_its_source():
    compiled = ft.compile(lambda x: np.sum(np.sin(x) < 1), backend="numpy")
    compiled(np.ones(3))
    (program,) = compiled.programs
    shown = compiled._repr_html_()

    assert "depends on: numpy.sin" in shown and "&lt;functier.compile(" in shown
    assert "np.sin(x)" in program._repr_html_() and program._repr_html_() in shown
    assert "< 1" not in shown and "&lt; 1" in shown


@pytest.mark.slow
def test_a_text_of_a_program_takes_steps_by_its_lines():
    def text(n):
        numbers = "".join(f" a = np.sin(a) * {1 + i / n:.4f} + x\n" for i in range(n))
        source, name = f"def f(x):\n a = x\n{numbers} return np.sum(a)\n", f"<{n} lines>"
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        space = {"np": np}
        exec(compile(source, name, "exec"), space)
        program = ft.trace(ft.grad(space["f"]))(np.ones(3))
        seen = 0

        def count(frame, event, argument):
            nonlocal seen
            seen += event == "line"
            frame.f_trace = count
            return count

        sys.settrace(count)
        try:
            program.source  # noqa: B018
        finally:
            sys.settrace(None)
        return seen

    a, b = text(80), text(20)
    assert a < 6 * b
