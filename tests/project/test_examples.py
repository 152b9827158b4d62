"""Every example runs, makes its pictures, and finds what it should find."""

import itertools
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import functier
from support.basics import calls_of

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "chunked_cluster.py": ["chunked_cluster.png"],
    "circuit_fit.py": ["circuit_fit.png"],
    "compiled_code.py": [],
    "compiled_simulation.py": ["compiled_simulation.png"],
    "convolutional_digits.py": ["convolutional_digits.png"],
    "digits.py": ["hardest.png", "newton.png"],
    "ensembling.py": ["ensemble.png"],
    "essay.py": [],
    "exported_controller.py": ["exported_controller.png"],
    "filter_design.py": ["filter_design.png"],
    "functier_in_200_lines.py": [],
    "gaussian_process.py": ["gaussian_process.png"],
    "image_registration.py": ["image_registration.png"],
    "laplacian.py": [],
    "larger_than_memory.py": ["larger_than_memory.png"],
    "jacobians_hessians.py": ["jacobians_hessians.png"],
    "kalman_noise.py": ["kalman_noise.png"],
    "maml.py": ["maml.png"],
    "neural_tangent_kernel.py": ["neural_tangent_kernel.png"],
    "mixture_fit.py": ["mixture_fit.png"],
    "modes.py": [],
    "newton_scipy.py": ["newton_scipy.png"],
    "numba_ufunc.py": [],
    "ode_adjoint.py": ["ode_adjoint.png"],
    "ode_sensitivity.py": ["sensitivity.png"],
    "option_risk.py": ["option_risk.png"],
    "package_rules.py": [],
    "read_your_gradient.py": [],
    "single_precision.py": [],
    "spline_fit.py": ["spline_fit.png"],
    "subclasses.py": [],
    "taylor_ode.py": [],
}
"""Each example and the pictures that it makes."""


def run_example(name, tmp_path):
    """The output of an example, run in a separate process without warnings as errors."""
    pictures = EXAMPLES[name]
    command = [sys.executable, str(ROOT / "examples" / name)]
    if pictures:
        command += ["--out", str(tmp_path)]
    paths = [str(Path(functier.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    env.setdefault("OPENBLAS_NUM_THREADS", "1")  # several would wait for busy processors
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    for picture in pictures:
        assert (tmp_path / picture).stat().st_size > 10_000
    return done.stdout


def names_of(example):
    """The names of an example whose `main` is not run.

    A test counts its calls: the times that it prints are those of a machine that others use.
    """
    return runpy.run_path(str(ROOT / "examples" / example))


def test_every_example_is_tested():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.slow
def test_convolutional_digits(tmp_path):
    out = run_example("convolutional_digits.py", tmp_path)
    assert "(second): Conv2d(16, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))" in out
    assert numbers(r"test accuracy +([\d.]+)%", out, 1)[0] >= 97, out


@pytest.mark.slow
def test_digits(tmp_path):
    out = run_example("digits.py", tmp_path)
    assert numbers(r"one network, test accuracy\s+([\d.]+)%", out, 1)[0] >= 95, out
    assert numbers(r"largest difference\s+(\S+)", out, 1)[0] < 1e-9, out
    assert len(re.findall(r"(?:mini-batch|compiled)\s+(\d+) µs", out)) == 2, out
    names = names_of("digits.py")
    x, y = (part[: names["BATCH"]] for part in names["load"]()[:2])
    step, params = functier.value_and_grad(names["loss"]), names["init"](0)
    plain, compiled = (
        calls_of(lambda way=way: way(params, x, y))
        for way in (step, functier.compile(step, warm=True))
    )
    assert compiled < plain / 3


@pytest.mark.slow
def test_ode_sensitivity(tmp_path):
    out = run_example("ode_sensitivity.py", tmp_path)
    row = re.search(r"^ +200 +\S+ +([\d.]+) +\S+ +([\d.]+) +(\S+) +([\d.]+)$", out, re.MULTILINE)
    assert row, out
    assert all(3.9 < float(row[i]) < 4.1 for i in (1, 2, 4)), out
    assert float(row[3]) < 1e-6, out
    peaks = numbers(r"s +([\d.]+) MB", out, 3)
    assert peaks[0] > 3 * peaks[1] > 9 * peaks[2], out
    assert numbers(r"forward mode included: (\S+)", out, 1)[0] < 1e-12, out
    assert numbers(r"standard deviation of log counts ([\d.]+)", out, 1)[0] < 0.3, out
    iterations = re.search(r"(\d+) to (\d+) iterations each", out)
    assert iterations and 3 < int(iterations[1]) < int(iterations[2]) < 30, out
    ratio = re.search(r"ratio of the two ([\d.]+) to ([\d.]+)", out)
    assert ratio and 0.7 < float(ratio[1]) < float(ratio[2]) < 1.4, out


def numbers(pattern, out, count):
    """The numbers that a pattern finds in the output of an example, which are so many."""
    found = [float(number) for number in re.findall(pattern, out, re.MULTILINE)]
    assert len(found) == count, out
    return found


@pytest.mark.slow
def test_ode_adjoint(tmp_path):
    """Both gradients are that of differences; the fit is as good as it says that it is."""
    out = run_example("ode_adjoint.py", tmp_path)
    for bound, rtol in ((1e-2, "1e-04"), (1e-4, "1e-07")):
        assert max(numbers(rf"rtol {rtol} +(\S+)$", out, 2)) < bound, out
    assert 0.7 < numbers(r"errors of the fit ([\d.]+)", out, 1)[0] < 1.3, out
    assert numbers(r"off by ([\d.]+) standard", out, 1)[0] < 1.5, out
    value, error = (float(x) for x in re.search(r"(\S+) ± (\S+), which", out).groups())
    assert abs(value - 0.1) < 3 * error, out
    assert len(re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+) +[\d.]+$", out, re.MULTILINE)) == 5, out
    names = names_of("ode_adjoint.py")
    theta = 0.1 * np.ones(65)
    gradient, data = functier.grad(names["misfit"]), names["temperatures"](theta)
    forward, adjoint = (
        calls_of(lambda way=way: gradient(theta, data, way)) for way in names["WAYS"]
    )
    # A program replays the slopes of forward sensitivities; those of the adjoint have none.
    assert forward < 0.5 * adjoint


@pytest.mark.slow
def test_circuit_fit(tmp_path):
    """The gradient is that of differences; the fit finds the parts; vmap does what a loop does."""
    out = run_example("circuit_fit.py", tmp_path)
    assert max(numbers(r"relative difference .*?(\S+)$", out, 3)) < 1e-6, out
    assert max(map(abs, numbers(r"^ +\w.*, \w+ .* (-?\d\.\d\d)$", out, 5))) < 3, out
    ripple = numbers(r"deviation ([\d.]+) mV", out, 1) + numbers(r"gradient: ([\d.]+) mV", out, 1)
    assert abs(ripple[0] / ripple[1] - 1) < 0.15, out


@pytest.mark.slow
def test_compiled_simulation(tmp_path):
    """The gradient is that of differences and of the code by hand, and leads to Mars."""
    out = run_example("compiled_simulation.py", tmp_path)
    assert numbers(r"central differences (\S+)$", out, 1)[0] < 1e-7, out
    assert "equal to the last bit: True" in out
    assert numbers(r"from Mars ([\d.]+) before", out, 1)[0] > 0.1, out
    assert numbers(r"before, (\S+) after", out, 1)[0] < 1e-6, out
    assert numbers(r"from NumPy by hand (\S+)$", out, 1)[0] < 1e-9, out
    assert len(re.findall(r"^ +\d+ +([\d.]+) \( *\d+\) +([\d.]+) \(", out, re.MULTILINE)) == 5, out
    names = names_of("compiled_simulation.py")
    eager = functier.grad(names["spread"], argnums=(0, 1))
    bodies = names["cluster"](names["SIZES"][0])
    plain, compiled = (
        calls_of(lambda way=way: way(*bodies))
        for way in (eager, functier.compile(eager, warm=True))
    )
    assert compiled < 0.7 * plain


def test_exported_controller(tmp_path):
    pytest.importorskip("llvmlite")
    out = run_example("exported_controller.py", tmp_path)
    assert "equal to the last bit: True" in out
    assert numbers(r"at the end (\S+)$", out, 1)[0] < 1e-4, out


def test_read_your_gradient(tmp_path):
    out = run_example("read_your_gradient.py", tmp_path)
    assert "hidden = np.tanh(t2)  " in out and "notes without a line: 0" in out
    assert len(re.findall(r"  True$", out, re.MULTILINE)) == 2, out


@pytest.mark.slow
def test_kalman_noise(tmp_path):
    """The variances are those of the literature, and the gradient that of differences."""
    out = run_example("kalman_noise.py", tmp_path)
    assert max(numbers(r"relative difference .*?(\S+)$", out, 2)) < 1e-6, out
    assert numbers(r"variance of .* (\d+)   standard", out, 2) == [15099, 1469]


@pytest.mark.slow
def test_gaussian_process(tmp_path):
    """The likelihood is scikit-learn's; the map is as good as it says that it is."""
    out = run_example("gaussian_process.py", tmp_path)
    assert max(numbers(r"(?:value|gradient) (\d\S*e-\d+)", out, 2)) < 1e-10, out
    *adam, scipy = numbers(r"surprise ([\d.]+)$", out, 5)
    assert scipy < min(adam) and max(adam) < scipy + 4, out
    spread, error = numbers(r"by +([\d.]+) m$", out, 2)
    assert error < spread / 2, out
    assert 92 < numbers(r"two standard deviations +([\d.]+)%", out, 1)[0] < 98, out


@pytest.mark.slow
def test_mixture_fit(tmp_path):
    """The largest likelihood is that of EM; the standard errors of a right model agree."""
    out = run_example("mixture_fit.py", tmp_path)
    assert numbers(r"log likelihood (-[\d.]+)$", out, 2) == [-180.185477] * 2, out
    assert numbers(r"right species: (\d+)", out, 1) == [145], out
    pairs = re.findall(r"± ([\d.]+) \(([\d.]+)\)", out)
    assert len(pairs) == 12 and all(0.9 < float(a) / float(b) < 1.1 for a, b in pairs), out


@pytest.mark.slow
def test_option_risk(tmp_path):
    """Derivatives are those of the package's formulas and of differences."""
    out = run_example("option_risk.py", tmp_path)
    assert max(numbers(r"relative difference (\S+), from", out, 1)) < 1e-12, out
    assert max(numbers(r"central differences (\S+)$", out, 3)) < 1e-6, out
    assert numbers(r"delta is\n +(-[\d.]+);", out, 1) == [-1]
    gradient, both = numbers(r"error of a scenario (\d+)%", out, 2)
    assert both < gradient / 2, out


@pytest.mark.slow
def test_filter_design(tmp_path):
    """The gradient is that of differences; delays are nearly equal; the fit finds the cutoffs."""
    out = run_example("filter_design.py", tmp_path)
    assert numbers(r"central differences (\S+)$", out, 1)[0] < 1e-7, out
    assert "stable: True" in out
    spans = [float(b) - float(a) for a, b in re.findall(r"delay +(\S+) to +(\S+) samples", out)]
    assert len(spans) == 2 and 15 * spans[1] < spans[0], out
    assert max(map(abs, numbers(r"off (-?[\d.]+)$", out, 3))) < 3, out
    assert numbers(r"one alone by (\S+)$", out, 1)[0] < 1e-12, out


@pytest.mark.slow
def test_spline_fit(tmp_path):
    """The knots are around the peak; the smoothness is SciPy's; vmap does what a loop does."""
    out = run_example("spline_fit.py", tmp_path)
    assert numbers(r"central differences (\S+)$", out, 1)[0] < 1e-7, out
    even, optimised = numbers(r"off the truth by ([\d.]+)$", out, 2)
    assert 4 * optimised < even, out
    assert numbers(r"SciPy chooses (\S+)$", out, 1)[0] < 5e-3, out
    assert numbers(r"fit alone (\S+)$", out, 1)[0] < 1e-6, out
    assert numbers(r"at (\d+)% of the places", out, 1)[0] > 80, out


@pytest.mark.slow
def test_image_registration(tmp_path):
    """Only noise is left, and the parameters are off by what their errors say."""
    out = run_example("image_registration.py", tmp_path)
    assert numbers(r"central differences (\S+)$", out, 1)[0] < 1e-7, out
    assert 0.95 < numbers(r"blurred by 0 pixels +([\d.]+)$", out, 1)[0] < 1.05, out
    assert max(map(abs, numbers(r"off +(-?[\d.]+)$", out, 8))) < 4, out
    low, high = re.search(r"divided by error ([\d.]+) to ([\d.]+)", out).groups()
    assert 0.6 < float(low) < float(high) < 1.5, out


@pytest.mark.slow
def test_newton_scipy(tmp_path):
    out = run_example("newton_scipy.py", tmp_path)
    table = re.findall(r"^ +(\S+) +(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +\d+ ms +([\d.]+)$", out, re.M)
    calls = {row[:2]: int(row[3]) for row in table}
    losses = [float(row[6]) for row in table]
    assert len(table) == 6 and max(losses) - min(losses) < 1e-7, out
    assert calls["BFGS", "differences"] > 20 * calls["BFGS", "gradient"], out
    assert calls["BFGS", "gradient"] > 5 * calls["Newton-CG", "products"], out
    assert numbers(r"line, largest error +(\S+)", out, 1)[0] < 1e-8, out
    steps = re.findall(r"^ +(\d+) +\S+e-\d+(?: +\S+e-\d+)?$", out, re.M)
    assert 5 < len(steps) < 12, out
    assert re.findall(r"entries of the Jacobian +([\d,]+)", out) == ["299,998", "81,408"], out


def test_functier_in_200_lines(tmp_path):
    out = run_example("functier_in_200_lines.py", tmp_path)
    lines = (ROOT / "examples" / "functier_in_200_lines.py").read_text().splitlines()

    assert "No perturbation confusion: 1.0" in out
    assert "a tensor of Batch was used after its call was over" in out
    assert "['Reverse', 'Batch', 'Tensor']" in out
    assert sum(map(bool, lines)) <= 200


def test_essay(tmp_path):
    out = run_example("essay.py", tmp_path)
    for line in [
        "has shape (10, 15, 2)",
        "Tensor <- vmap(outer) <- vmap(inner)",
        "EscapedTensorError: a tensor of vmap(write) was used after its level",
        "x + 1: [1. 2. 3.]",
    ]:
        assert line in out


def test_modes(tmp_path):
    """F17, B31: the example logs, counts and checks calls by modes."""
    out = run_example("modes.py", tmp_path)
    for line in [
        "vmap(<lambda>): Tensor.__matmul__(f8[32], f8[32, 16])\n  grad(<lambda>): ",
        "\n    numpy: numpy.dot(f8[64, 32], f8[32, 16])\n",
        "\nnumpy.dot           5     155,648  96.8%\n",
        "PythonMode: z is a Variable, one of 5",
        "outside, fnp.ones(2) is array([1., 1.])",
    ]:
        assert line in out


def test_subclasses(tmp_path):
    """A55: the example runs the zoo of subclasses, and prints their results."""
    out = run_example("subclasses.py", tmp_path)
    for line in [
        "numpy.log made a NaN out of operands without one",
        "its derivative with respect to the speed Quantity([3., 4.]",
        "-(-a) is a: True",
        "Diagonal, solved to 0.001",
        "trace 500500.0",
        "0.4, ScalarTensor(N=2, value=4), [[3.0, 2.0], [3.0, 6.0]]",
        "{'owner': 'Ministry of Silly Walks'}",
        "WrappedTensor(Tensor([4., 6.])), (2, 2), WrappedTensor(Tensor([2., 3.]))",
    ]:
        assert line in out


def test_compiled_code(tmp_path):
    out = run_example("compiled_code.py", tmp_path)
    if out.startswith("skipped"):
        pytest.skip(out.strip())
    energy = re.search(r"lowest energy +(\S+) +\(known: (\S+)\)", out)
    assert energy and abs(float(energy[1]) - float(energy[2])) < 1e-6, out
    assert numbers(r"clusters that are there +(\d+) of 64", out, 1)[0] >= 60, out
    assert re.search(r"that are zero +6\n", out), out
    off = numbers(r"off by (\S+)", out, 4)
    assert max(off) < 1e-13, out
    assert len(re.findall(r"^  .* ok$", out, re.MULTILINE)) == 6, out
    assert "third derivatives    third derivatives of the energy are not written" in out


def test_package_rules(tmp_path):
    """A package outside has rules, and no name but those of the protocol."""
    out = run_example("package_rules.py", tmp_path)
    if out.startswith("skipped"):
        pytest.skip(out.strip())
    assert (
        "first derivatives   [-0.96402758 -0.76159416  0.          0.76159416  0.96402758]" in out
    )
    assert numbers(r"largest difference .* (\S+)$", out, 1)[0] < 1e-14


def test_single_precision(tmp_path):
    """A kind of level outside, around and inside a batch."""
    out = run_example("single_precision.py", tmp_path)
    short, careful = numbers(r"^  mean of .* (\S+)$", out, 2)
    assert short > 5 and careful < 2
    assert "-900, 0  [0.  2.9 6. ]" in out


@pytest.mark.slow
def test_numba_ufunc(tmp_path):
    out = run_example("numba_ufunc.py", tmp_path)
    if out.startswith("skipped"):
        pytest.skip(out.strip())
    assert len(re.findall(r"opcheck, .* ok$", out, re.MULTILINE)) == 6, out
    small = re.findall(r"(?:residual of|difference of) .* (\S+)$", out, re.MULTILINE)
    assert len(small) == 3 and max(map(float, small)) < 1e-12, out
    ratio = re.search(r"scatter divided by error +([\d.]+) to ([\d.]+)", out)
    assert ratio and 0.75 < float(ratio[1]) < float(ratio[2]) < 1.25, out
    assert numbers(r"the fit is off by +([\d.]+) errors", out, 1)[0] < 3, out


@pytest.mark.slow
def test_jacobians_hessians(tmp_path):
    out = run_example("jacobians_hessians.py", tmp_path)
    differences = numbers(r"largest difference\s+(\S+)", out, 8)
    assert max(differences) < 1e-12, out
    memory = numbers(r"ms\s+(\S+) MB", out, 5)
    assert memory[0] > 5 * memory[2] > 5 * memory[-1], out


@pytest.mark.slow
def test_neural_tangent_kernel(tmp_path):
    out = run_example("neural_tangent_kernel.py", tmp_path)
    assert numbers(r"largest difference\s+(\S+)", out, 1)[0] < 1e-12, out
    errors = numbers(r"width\s+\d+\s+(\S+) ", out, 4)
    assert errors == sorted(errors, reverse=True), out
    assert errors[-1] < errors[0] / 4, out
    assert float(re.search(r"loss at the end\s+(\S+)", out)[1]) < 1e-4, out
    off = numbers(r"is off by\s+([\d.]+)%", out, 2)
    assert max(off) < 15, out


@pytest.mark.slow
def test_chunked_cluster(tmp_path):
    out = run_example("chunked_cluster.py", tmp_path)
    assert numbers(r"memory: ([\d.]+) times less in chunks", out, 1)[0] > 10, out
    assert numbers(r"largest difference of any weight\s+(\S+)", out, 1)[0] < 1e-9, out
    assert "Dask, 2 processes" in out
    shares = re.search(r"(\d+)% of the images\), ([\d.]+)% are wrong;\n.*?([\d.]+)%", out)
    assert shares and float(shares[1]) > 80 and float(shares[2]) < 6 < 30 < float(shares[3]), out


@pytest.mark.slow
def test_larger_than_memory(tmp_path):
    out = run_example("larger_than_memory.py", tmp_path)
    assert re.search(r"dashboard: http://\S+:\d+/status", out), out
    losses = numbers(r"passes  loss (\S+)", out, 2)
    assert losses[1] <= losses[0] < losses[1] + 1e-4, out
    assert numbers(r"from the gradient by hand\s+(\S+)", out, 1)[0] < 1e-14, out


@pytest.mark.slow
def test_ensembling(tmp_path):
    out = run_example("ensembling.py", tmp_path)
    found = re.findall(r"^ *[a-z].*?  +(\S+)(?: ms)?$", out, re.MULTILINE)
    difference, mean, best, together, seen, unseen = map(float, found[2:])
    assert difference < 1e-12, out
    assert best <= mean and together < mean, out
    assert unseen > 3 * seen, out


@pytest.mark.slow
def test_maml(tmp_path):
    out = run_example("maml.py", tmp_path)
    assert numbers(r"largest difference\s+(\S+)", out, 1)[0] < 1e-12, out
    rows = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+)$", out, re.MULTILINE)
    losses = {int(n): (float(meta), float(plain)) for n, meta, plain in rows}
    assert sorted(losses) == [0, 1, 2, 5, 10], out
    assert losses[0][0] > 2.5 and losses[0][1] > 2.5, out
    assert losses[1][0] < 0.3 * losses[1][1] and losses[10][0] < 0.2 * losses[10][1], out


@pytest.mark.slow
def test_taylor_ode(tmp_path):
    out = run_example("taylor_ode.py", tmp_path)
    errors = numbers(r"^ +\d+ +(\S+) +\S+$", out, 6)
    assert errors[-1] < 1e-11, out
    assert all(later < earlier / 10 for earlier, later in itertools.pairwise(errors)), out


@pytest.mark.slow
def test_laplacian(tmp_path):
    out = run_example("laplacian.py", tmp_path)
    assert abs(numbers(r"error of the Laplacian (\S+)", out, 1)[0]) < 1e-12, out
    both = re.search(r"Laplacian (\S+), trace of the Hessian (\S+)", out)
    assert both and both[1] == both[2], out
