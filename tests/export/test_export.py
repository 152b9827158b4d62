"""Exports: their names and contents, and the words of refusals."""

import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import optree
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from bench import trees
from bench.libraries import MachineCode
from bench.workloads import WORKLOADS

X = np.random.default_rng(0).normal(size=(90, 90))


def cube(x):
    return np.sum(x**3)


def export(path, func, *args, **options):
    return ft.export(path / "made", func, *args, shared=False, **options)


def refused(path, func, *args, **options):
    """The text of the refusal."""
    with pytest.raises(ft.UnsupportedError) as caught:
        export(path, func, *args, **options)
    return str(caught.value)


# ---- files ----


def test_the_files_are_beside_each_other(tmp_path):
    made = ft.export(tmp_path / "lib" / "cube", ft.grad(cube), np.ones(3), shared=False)

    assert [x.name for x in sorted((tmp_path / "lib").iterdir())] == [
        "cube.h", "cube.o", "libcube.a",
    ]  # fmt: skip
    assert repr(made) == "<functier.Exported cube.h, cube.o, libcube.a>"
    assert made.shared is None


def test_a_shared_library_is_linked_where_a_linker_is(tmp_path, monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("there is no linker")
    made = ft.export(tmp_path / "cube", cube, np.ones(3))
    assert made.shared is not None
    assert made.shared.name == "libcube.so"

    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert ft.export(tmp_path / "cube", cube, np.ones(3)).shared is None
    text = "export: a shared library needs a linker, one of cc, gcc, clang"
    with pytest.raises(ft.UnsupportedError, match=text):
        ft.export(tmp_path / "cube", cube, np.ones(3), shared=True)


def test_equal_functions_give_equal_files(tmp_path):
    files = [ft.export(tmp_path / n / "cube", cube, np.ones(3), shared=False) for n in "ab"]

    for name in ("header", "object", "static"):
        first, second = [getattr(made, name).read_bytes() for made in files]
        assert first == second


def test_linkers_read_the_archive(tmp_path):
    made = export(tmp_path, {"first": (cube, np.ones(2)), "second": (cube, np.ones(5))})
    if shutil.which("ar") is None:
        pytest.skip("there is no ar")
    names = subprocess.run(["ar", "t", made.static], capture_output=True, text=True, check=True)
    index = subprocess.run(["nm", "-s", made.static], capture_output=True, text=True, check=True)

    assert names.stdout.split() == ["made.o", "first_static.o", "second_static.o"]
    assert "first in made.o" in index.stdout
    assert "second_static in second_static.o" in index.stdout


def test_a_wheel_needs_numpy_alone(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no linker")
    both = {"cube_gradient": (ft.grad(cube), np.ones(3)), "pair": (lambda x: (x, 2 * x), 1.5)}
    made = ft.export(tmp_path / "shapes", both, wheel="1.2")
    assert made.wheel.name.startswith("shapes-1.2-py3-none-")
    with zipfile.ZipFile(made.wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = """if True:
        import shapes, sys
        print(shapes.cube_gradient([1, 2, 3]).tolist(), tuple(shapes.pair(2.5)))
        print("functier" in sys.modules, "llvmlite" in sys.modules, "Parameters" in
              shapes.pair.__doc__, shapes.pair(1)._fields)
        for bad in ([1.0], [1j, 0, 0]):
            try:
                shapes.cube_gradient(bad)
            except (TypeError, ValueError) as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path / "site"
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[3.0, 12.0, 27.0] (np.float64(2.5), np.float64(5.0))",
        "False False True ('out_0', 'out_1')",
        "cube_gradient: x has the shape (1,); pass (3,)",
        "Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule "
        "'safe'",
    ]
    with pytest.raises(ValueError, match="wheel='new' is not a version"):
        ft.export(tmp_path / "shapes", both, wheel="new")


# ---- the header ----


def test_the_header_describes_arguments_and_results(tmp_path):
    def f(params, steps, x, *, power=2):
        return {"loss": np.sum(params["w"][0]) ** power, "steps": steps + 1, "x": x + 1}

    given = {"w": [np.ones((2, 3), np.float32)]}, np.arange(4), 2.5
    made = export(tmp_path, f, *given)
    text = made.header.read_text()

    assert " *   params_w_0: float, 2x3; params['w'][0] in Python" in text
    assert " *   steps: int64_t, 4" in text
    assert " *   x: double, a number" in text
    assert " *   out_loss: float, a number; out['loss'] in Python" in text
    assert re.search(
        r"^int made\(const float \*params_w_0, const int64_t \*steps, const double \*x, float "
        r"\*FUNCTIER_RESTRICT out_loss, int64_t \*FUNCTIER_RESTRICT out_steps, double "
        r"\*FUNCTIER_RESTRICT out_x, void \*work\);$",
        text, re.M,
    )  # fmt: skip
    found = made.functions["made"](*given)
    assert found["loss"] == f(*given)["loss"]
    assert found["steps"].tolist() == [1, 2, 3, 4]


def test_names_are_those_of_c(tmp_path):
    def f(double, work, out, été):
        return double + work + out + été

    ones = np.ones(2)
    text = export(tmp_path, f, *[ones] * 4).header.read_text()

    assert (
        "int made(const double *double_, const double *work_, const double *out, "
        "const double *t, double *FUNCTIER_RESTRICT out_2, void *work);"
    ) in text


def test_other_arguments_are_built_in(tmp_path):
    def f(x, n, how):
        return x * n if how == "times" else x + n

    made = export(tmp_path, f, np.ones(2), 3, "times")

    assert " *   n = 3\n *   how = 'times'" in made.header.read_text()
    assert made.functions["made"](np.ones(2), 3, "times").tolist() == [3.0, 3.0]


def test_a_choice_is_written_down(tmp_path):
    def f(x):
        if x[0] > 0:
            return x
        return -x

    made = export(tmp_path, f, np.ones(2))
    line = f.__code__.co_firstlineno + 1

    assert f" * Checks:\n *   line {line} of f: bool was True" in made.header.read_text()


def test_what_is_written_to_an_argument_is_a_result(tmp_path):
    def f(x):
        x[0] = 3
        return 2 * x

    made = export(tmp_path, f, np.ones(2))
    assert "out, double *FUNCTIER_RESTRICT x_after" in made.header.read_text()
    found, after = made.functions["made"](np.ones(2))
    assert (found.tolist(), after[0].tolist()) == ([6.0, 2.0], [3.0, 1.0])


def test_compiled_functions_keep_fastmath(tmp_path):
    plain = export(tmp_path, ft.compile(cube), np.ones(9)).object.read_bytes()
    fast = export(tmp_path, ft.compile(cube, fastmath=True), np.ones(9)).object.read_bytes()

    assert plain == export(tmp_path, cube, np.ones(9)).object.read_bytes()
    assert plain != fast


def test_copies_of_results_leave_sums_their_order(tmp_path):
    """A compiled program returns a view, and has no copy in the loop of the sum."""

    def f(x):
        y = x.T
        return x, np.sum(y), y, np.mean(y[::-1], 0)

    for shape in ((3, 2), (2, 3, 2)):
        x = X.ravel()[: np.prod(shape)].reshape(shape)
        found = export(tmp_path, f, x).functions["made"](x)
        for a, b in zip(found, ft.compile(f, backend="llvm", warm=True)(x), strict=True):
            assert np.array_equal(a, b)


def test_complex_numbers_between_floats_are_exported(tmp_path):
    def order(angles):
        for _ in range(30):
            mean = np.mean(np.exp(1j * angles))
            angles = angles + 0.01 * np.abs(mean) * np.sin(np.angle(mean) - angles)
        return np.sum(np.cos(angles))

    for f in (order, ft.grad(order)):
        found = export(tmp_path, f, X[0, :8]).functions["made"](X[0, :8])
        assert np.array_equal(found, ft.compile(f, backend="llvm", warm=True)(X[0, :8]))
    with pytest.raises(ft.UnsupportedError, match="complex128"):
        export(tmp_path, lambda x: x * 1j, np.ones(3))


# ---- functions that are made of others ----

V, TABLE = X[0, :12], np.sort(X[1, :9])
PARTS = {
    "diff": (lambda x: np.diff(x, 2), V), "std": (lambda x: np.std(x, 0), X[:9, :4]),
    "cov": (np.cov, X[:3, :9]), "cross": (np.cross, V[:3], V[3:6]), "kron": (np.kron, V[:3], V),
    "polyval": (np.polyval, V[:4], V), "interp": (np.interp, V, TABLE, TABLE**2),
    "edges": (lambda x: np.pad(x, 2, mode="reflect"), X[:4, :3]),
    "convolve": (np.convolve, V, V[:3]), "trapezoid": (np.trapezoid, V),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_functions_that_the_machine_does_not_know_are_their_parts(tmp_path, name):
    f, *args = PARTS[name]
    for each in (f, ft.jacrev(f)):
        found = export(tmp_path, each, *args, exact=False).functions["made"](*args)
        np.testing.assert_allclose(found, each(*args), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_a_table_are_those_of_numpy(tmp_path, side, dtype):
    table = TABLE[[0, 1, 2, 2, 2, 3, 4]].astype(dtype)
    x = np.array([*TABLE, -9, 9, np.nan, np.inf, -np.inf, 0], dtype).reshape(5, 3)
    last = np.where(np.arange(7) > 4, dtype(np.nan), table)

    def f(table, x):
        return np.searchsorted(table, x, side), np.isposinf(x), np.isneginf(x)

    for known in (table, last):
        found = export(tmp_path, f, known, x).functions["made"](known, x)
        for a, b in zip(found, f(known, x), strict=True):
            assert a.tolist() == b.tolist()


# ---- loops ----


def root(x):
    return ft.while_loop(
        lambda y: np.abs(y * y - x) > 1e-9 * x, lambda y: y - (y * y - x) / (2 * y), x
    )


def test_a_loop_runs_for_another_number_of_steps(tmp_path):
    made = export(tmp_path, root, np.float64(2.0))

    for x in (2.0, 9.0, 1e6):
        assert made.functions["made"](np.float64(x)) == root(np.float64(x))


def test_the_memory_for_steps_is_bounded(tmp_path):
    few = export(tmp_path, ft.grad(root), 2.0)
    with pytest.raises(ValueError, match="made returned the status 2: see its header"):
        few.functions["made"](1e40)

    many = export(tmp_path, ft.grad(root), 2.0, max_steps=200)
    assert many.functions["made"](1e40) == ft.compile(ft.grad(root), backend="llvm")(1e40)
    with pytest.raises(ValueError, match="export: max_steps=0 is not a positive integer"):
        export(tmp_path, root, 2.0, max_steps=0)


def test_lengths_that_a_loop_does_not_run_for_give_a_status(tmp_path):
    """The first steps run by themselves, and have to be there in each call."""

    def f(x, n):
        start = np.int64(0), x
        return ft.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.sin(s[1]) + x), start)[1]

    cases = [(f, 2, 2), (ft.jacfwd(f), 3, 3), (ft.grad(f), 5, 5), (ft.hessian(f), 6, 6)]
    for each, example, least in cases:
        options = {"max_steps": 40}
        made = export(tmp_path, each, np.float64(0.3), np.int64(example), **options)
        for n in (0, 1, 2, 3, 4, 5, 6, 9, 40):
            args = np.float64(0.3), np.int64(n)
            if n >= least:
                np.testing.assert_allclose(made.functions["made"](*args), each(*args), rtol=1e-13)
            else:
                with pytest.raises(ValueError, match="status 2"):
                    made.functions["made"](*args)


def test_a_newton_step_of_a_rollout_whose_state_is_unpacked(tmp_path):
    """Derivatives of numbers of the state are added at places that are known."""

    def cost(u, start):
        def step(state, u):
            angle, speed = state
            new = np.stack([angle + 0.05 * speed, speed + 0.05 * (np.sin(angle) + u)])
            return new, angle**2 + 0.1 * speed**2 + 0.01 * u**2

        last, costs = ft.scan(step, start, u)
        return np.sum(costs) + 10 * np.sum(last**2)

    def newton(u, start):
        return u - np.linalg.solve(ft.hessian(cost)(u, start), ft.grad(cost)(u, start))

    args = X[0, :12], X[1, :2]
    found = export(tmp_path, newton, *args).functions["made"](*args)
    assert np.array_equal(found, ft.compile(newton, backend="llvm", warm=True)(*args))


def test_a_module_is_exported_with_its_arrays(tmp_path):
    nn = ft.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = np.random.default_rng(0).normal(size=(5, 3))
    made = export(tmp_path, net, x)

    assert "int made(const double *" in made.header.read_text()
    compiled = ft.compile(net, backend="llvm", warm=True)
    assert made.functions["made"](x).tolist() == compiled(x).tolist()


@pytest.mark.slow
def test_a_solver_of_equations_is_a_loop(tmp_path):
    """Its steps are chosen by rounded numbers."""
    solve_ivp = pytest.importorskip("functier.scipy.integrate").solve_ivp

    def end(start, k):
        def slope(t, y):
            return np.stack([y[1], -k * np.sin(y[0])])

        times = np.linspace(0, 2, 5)
        found = solve_ivp(slope, (0, 2), start, "RK45", t_eval=times, derivative="steps")
        return np.sum(found.y[:, -1] ** 2)

    f, start = ft.grad(end), np.array([1.0, 0.0])
    assert "exact=False computes it" in refused(tmp_path, f, start, np.float64(2.0))

    made = export(tmp_path, f, start, np.float64(2.0), exact=False).functions["made"]
    for args in ((start, np.float64(2.0)), (np.array([0.3, 0.7]), np.float64(9.0))):
        np.testing.assert_allclose(made(*args), f(*args), rtol=1e-9)


# ---- refusals ----


def test_calls_of_numpys_are_refused_with_their_lines(tmp_path):
    def f(x):
        y = 2 * x
        y = np.sort(y)
        return np.partition(y, 2)

    line = f.__code__.co_firstlineno
    assert refused(tmp_path, f, np.ones(5)) == (
        f"export(f): a C program has no NumPy for these calls\n"
        f"    line {line + 2} of f: sort: the machine does not know the function\n"
        f"    line {line + 3} of f: partition: the machine does not know the function"
    )


def test_a_loop_that_is_written_out_reads_an_array_from_outside(tmp_path):
    def f(x, y):
        np.add.at(x, np.argsort(x)[:2] % 3, y * np.linspace(-1, 1, 8).reshape(2, 2, 2))
        x.sort()
        for i in range(len(x)):
            x[i, :-1] += x[i, 1:]
        np.copyto(x, y)
        return [x, y]

    text = refused(tmp_path, f, X[:3, :2].copy(), np.float64(1.3))
    assert "argsort: the machine does not know the function" in text


def product(a, b):
    return a @ b


def norm(x):
    return np.linalg.norm(x)


def chosen(x):
    return x if np.sum(np.exp(x)) > 2 else -x


@pytest.mark.parametrize("f", [product, norm, chosen])
def test_other_bits_have_to_be_asked_for(tmp_path, f):
    args = [X] * f.__code__.co_argcount
    text = refused(tmp_path, f, *args)
    assert f"line {f.__code__.co_firstlineno + 1} of {f.__name__}: " in text
    assert "exact=False computes it with own code, whose last bits may be others" in text

    made = export(tmp_path, f, *args, exact=False)
    np.testing.assert_allclose(made.functions["made"](*args), f(*args), rtol=1e-12, atol=1e-12)


def test_a_refusal_says_if_the_parts_of_a_function_are_exported(tmp_path):
    text = refused(tmp_path, lambda x: np.cross(x, np.sort(x)), np.ones(3))
    assert "cross: the machine does not know the function; exact=False exports the func" in text
    text = refused(tmp_path, lambda x: np.cross(x, np.linalg.eigh(x)[0]), np.eye(3), exact=False)
    assert text.count("\n") == 1
    assert text.endswith("eigh: the machine does not know the function")


def test_large_systems_are_refused(tmp_path):
    large = np.eye(130)
    assert "scipy_dgetrf_64_" in refused(tmp_path, np.linalg.inv, large)
    assert "the matrix is large" in refused(tmp_path, np.linalg.inv, large, exact=False)


def likelihood(p, y):
    """That of a Gaussian process, without a constant."""
    x = np.linspace(0.0, 1.0, y.size)
    k = np.exp(-((x[:, None] - x) ** 2) / p[0]) + p[1] * np.eye(y.size)
    return 0.5 * (y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1])


def angles(x, period):
    return np.remainder(x, period), np.fmod(x, period), x // period


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (ft.value_and_grad(likelihood), (np.array([0.3, 0.1]), X[0, :12])),
        (np.linalg.slogdet, (X[:24, :24].reshape(-1, 6, 6).astype(np.float32),)),
        (angles, (100 * X, np.float64(2 * np.pi))),
        (angles, (X.astype(np.float32), np.float32(0.3))),
    ],
)
def test_logarithms_and_remainders_have_own_code(tmp_path, f, args):
    """LLVM calls the C library for them."""
    found = export(tmp_path, f, *args).functions["made"](*args)
    expected = ft.compile(f, backend="llvm", warm=True)(*args)
    for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize(
    ("f", "x", "text"),
    [
        (cube, np.ones(2, np.float16), "x has the dtype float16; C functions take float64"),
        (cube, np.ones(2, complex), "x has the dtype complex128"),
        (lambda x: (x, "no number"), 1.0, r"out\[1\] is a value of the type str"),
        (lambda x: x * 1j, 1.0, "its result is of complex"),
        (lambda x: x + ft.random.default_rng(0).normal(size=2), np.ones(2), None),
    ],
)
def test_dtypes_of_c(tmp_path, f, x, text):
    if text is None:
        assert export(tmp_path, f, x).functions["made"](x).tolist() == f(x).tolist()
    else:
        assert re.search(text, refused(tmp_path, f, x))


def test_draws_of_a_stream_are_refused(tmp_path):
    rng = ft.random.default_rng(0)
    assert "draw_from" in refused(tmp_path, lambda x: x + rng.normal(size=2), np.ones(2))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("2nd", "'2nd' cannot name a C function"), ("sinf", "'sinf' cannot"),
        ("linux", "'linux' cannot"), ("main", "'main' cannot"), ("a-b", "'a-b' cannot"),
        ("gamma", "'gamma' cannot"), ("jnf", "'jnf' cannot"),
    ],
)  # fmt: skip
def test_names_of_functions(tmp_path, name, text):
    with pytest.raises(ValueError, match=text):
        export(tmp_path, cube, np.ones(2), name=name)


def test_two_functions_have_two_names(tmp_path):
    pair = cube, np.ones(2)
    with pytest.raises(ValueError, match="'f_static' and 'f' both give f_static"):
        export(tmp_path, {"f": pair, "f_static": pair})
    with pytest.raises(TypeError, match="'f' needs a tuple of a function and its arguments"):
        export(tmp_path, {"f": cube})
    with pytest.raises(TypeError, match="arguments and a name are in the dict"):
        export(tmp_path, {"f": pair}, np.ones(2))
    with pytest.raises(ValueError, match="the dict has no functions"):
        export(tmp_path, {})


def test_the_example_sets_the_forms(tmp_path):
    made = export(tmp_path, cube, np.ones(3)).functions["made"]
    with pytest.raises(
        TypeError, match=r"made: x is float64\[4\], and was float64\[3\] in the example"
    ):
        made(np.ones(4))
    with pytest.raises(TypeError, match="made: 1 arrays and numbers are needed"):
        made(np.ones(3), np.ones(3))


# ---- targets ----


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("nowhere", "target='nowhere' is not known"),
        ("powerpc64-linux-gnu", "the highest byte of a number first"),
    ],
)
def test_targets_that_are_refused(tmp_path, target, text):
    with pytest.raises(ValueError, match=text):
        export(tmp_path, cube, np.ones(3), target=target)


def test_a_portable_library_runs_here(tmp_path):
    made = export(tmp_path, ft.grad(cube), np.arange(9.0), target="portable")

    assert made.functions["made"](np.arange(9.0)).tolist() == [3.0 * n * n for n in range(9)]
    with pytest.raises(ValueError, match="cpu= is for a target that is a triple"):
        export(tmp_path, cube, np.ones(3), cpu="generic")


OUTSIDE = {
    "gaussian_process_grad": "large systems", "sort_rows_grad": "an argsort",
    "median_vmap": "a sort", "masks_escape": "complex numbers",
}  # fmt: skip
"""The workloads of the benchmark that are refused, and what they have."""


@pytest.mark.slow
def test_most_workloads_of_the_benchmark_are_exported(tmp_path):
    class Plain(MachineCode):
        def finish(self, f):
            return f

    lib, refused = Plain(), set()
    for name, workload in WORKLOADS.items():
        small = workload.small()
        args = lib.convert(small.inputs())
        try:
            made = export(tmp_path, small.function(lib), *args, exact=False)
        except ft.UnsupportedError:
            refused.add(name)
            continue
        found = made.functions["made"](*args)
        assert trees.disagreement(found, small.expected(), 1e-8) is None, name

    assert refused == set(OUTSIDE)


def test_without_llvmlite(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="export: llvmlite is not installed"):
        export(tmp_path, cube, np.ones(3))
