"""A differential equation with many parameters, solved by SciPy and fitted by its adjoint.

    python examples/ode_adjoint.py [--out DIR]

A wall is heated from its hidden side. Four thermometers inside tell the temperature at six
times. The flow of heat into the wall, as a curve in time, and the conductivity are unknown.

(a) `functier.scipy.integrate.solve_ivp` gives the gradient of the misfit by the adjoint and by
    forward sensitivities. Both are compared with differences, at two tolerances.
(b) The curve, of 32 pieces, and the conductivity are found by SciPy's L-BFGS-B with the gradient.
    Their standard errors come from the Jacobian of the measurements.
(c) The cost of a gradient in both ways, for 4 to 256 pieces.

The model is plain NumPy, with the call of SciPy's solver.
"""

import argparse
import functools
import time
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

from functier import grad, jacfwd, value_and_grad
from functier.progress import bar, during
from functier.scipy.integrate import solve_ivp

SEED = 0
CELLS = 10
PLACES = np.array([0, 2, 4, 8])
END = 4.0
TIMES = np.linspace(0.5, END, 6)
NOISE = 0.005
"""The cells of the wall, the thermometers with their times, and their error."""

WAYS = {"forward": "C1", "adjoint": "C0"}


# ---- the model ----


def temperatures(theta, derivative=None, rtol=1e-4):
    """Return what is measured, with one row for each thermometer.

    `theta` has the logarithm of the conductivity, and what makes the flow of heat.
    """
    conductivity, flow = 0.03 * np.exp(theta[0]), curve(theta.shape[0] - 1) @ theta[1:]
    knots = np.linspace(0, END, flow.shape[0])

    def warming(t, heat):
        into = np.maximum(0, 1 - np.abs(t - knots) / (knots[1] - knots[0])) @ flow
        between = conductivity * CELLS * (heat[:-1] - heat[1:])
        edges = np.concatenate([np.reshape(into, 1), between, np.zeros(1)])
        return CELLS * (edges[:-1] - edges[1:])

    found = solve_ivp(
        warming, (0.0, END), np.zeros(CELLS), t_eval=TIMES, rtol=rtol, atol=rtol / 100,
        derivative=derivative,
    )  # fmt: skip
    return found.y[PLACES]


@functools.cache
def curve(pieces):
    """Return the matrix that makes a smooth curve of independent numbers of size one."""
    t = np.linspace(0, END, pieces)
    kernel = 0.16 * np.exp(-0.5 * ((t[:, None] - t) / 0.3) ** 2)
    return np.linalg.cholesky(kernel + 1e-8 * np.eye(pieces))


def true_flow(t):
    """The flow of heat in the simulated experiment: it is lit twice."""
    return 0.8 * np.exp(-((t - 1.2) ** 2) / 0.3) + 0.5 / (1 + np.exp(-6 * (t - 2.8)))


def misfit(theta, data, derivative=None, rtol=1e-4):
    """Return half the squares of the errors, and of the numbers that make the curve."""
    errors = (temperatures(theta, derivative, rtol) - data) / NOISE
    return 0.5 * (np.sum(errors**2) + np.sum(theta**2))


# ---- the parts of the report ----


def measured(f, *args):
    """Return a result and its seconds."""
    start = time.perf_counter()
    result = f(*args)
    return result, time.perf_counter() - start


def agreement(theta, data, rng):
    """Return the relative error of the gradient in each way, along a random direction."""
    direction, step = rng.normal(size=theta.size), 1e-3
    near, far = [
        misfit(theta + s * direction, data, rtol=1e-11)
        - misfit(theta - s * direction, data, rtol=1e-11)
        for s in (step, 2 * step)
    ]
    expected = (8 * near - far) / (12 * step)
    found = {}
    for way in WAYS:
        for rtol in (1e-4, 1e-7):
            gradient = grad(misfit)(theta, data, way, rtol)
            found[way, rtol] = abs(gradient @ direction / expected - 1)
    return found


def costs(sizes, data):
    """Return the seconds of a gradient in each way, and of the value alone."""
    rows = {way: [] for way in (*WAYS, "value")}
    for pieces in bar([*map(int, sizes)], "(c) sizes"):
        theta = 0.1 * np.ones(1 + pieces)
        curve(pieces)
        rows["value"].append(measured(misfit, theta, data)[1])
        for way in WAYS:
            rows[way].append(measured(grad(misfit), theta, data, way)[1])
    return rows


def draw(path, theta, flow, errors, data, sizes, rows):
    figure = Figure(figsize=(10, 8.5), layout="constrained")
    axes = figure.subplot_mosaic([["flow", "flow"], ["fit", "cost"]])
    left, middle, right = axes["fit"], axes["flow"], axes["cost"]
    knots, fine = np.linspace(0, END, flow.size), np.linspace(0, END, 300)
    for measured, fitted, mark in zip(data, temperatures(theta), "os^D"):
        (line,) = left.plot(TIMES, fitted)
        left.plot(TIMES, measured, mark, color=line.get_color())
    left.set(title="four thermometers, and the fit", xlabel="time", ylabel="temperature")
    middle.fill_between(knots, flow - 2 * errors, flow + 2 * errors, alpha=0.25)
    middle.plot(knots, flow, label="found, ± 2 standard errors")
    middle.plot(fine, true_flow(fine), "k--", lw=1, label="true")
    middle.set(title="flow of heat into the wall", xlabel="time", ylabel="flow")
    middle.legend()
    for way, colour in WAYS.items():
        mark = "o-" if way == "forward" else "s--"
        right.loglog(sizes, rows[way], mark, color=colour, label=f"gradient, {way}")
    right.loglog(sizes, rows["value"], "^:", color="0.5", label="value")
    right.set(title="cost of a call", xlabel="number of pieces", ylabel="seconds")
    right.legend()
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    fine = true_flow(np.linspace(0, END, 100))
    truth = np.concatenate([[0.1], np.linalg.solve(curve(100), fine)])
    data = temperatures(truth, rtol=1e-9) + NOISE * rng.normal(size=(PLACES.size, TIMES.size))

    print("(a) the gradient beside differences: relative error at two tolerances")
    start = 0.2 * np.ones(13)
    for (way, rtol), error in agreement(start, data, rng).items():
        print(f"    {way:8s} rtol {rtol:.0e}   {error:.1e}")

    print("(b) the fit of 32 pieces and the conductivity")
    theta = np.zeros(33)
    begin = time.perf_counter()
    gradient = value_and_grad(lambda theta: misfit(theta, data, "adjoint", 1e-5))
    steps = []
    with during("(b) L-BFGS-B", lambda: len(steps)):
        found = minimize(
            gradient, theta, jac=True, method="L-BFGS-B", callback=steps.append,
            options={"maxfun": 30},
        )  # fmt: skip
    seconds = time.perf_counter() - begin
    theta = found.x
    jacobian = jacfwd(temperatures)(theta).reshape(-1, theta.size) / NOISE
    spread = np.linalg.inv(jacobian.T @ jacobian + np.eye(theta.size))
    into = curve(theta.size - 1)
    flow, errors = into @ theta[1:], np.sqrt(np.diag(into @ spread[1:, 1:] @ into.T))
    off = (flow - true_flow(np.linspace(0, END, flow.size))) / errors
    error = np.std((temperatures(theta) - data) / NOISE)
    print(f"    {found.nfev} gradients in {seconds:.1f} s; errors of the fit {error:.2f} of those")
    print(f"    of the thermometers; the flow is off by {np.sqrt(np.mean(off**2)):.2f} standard")
    deviation = np.sqrt(spread[0, 0])
    print(f"    errors, and log conductivity {theta[0]:.3f} ± {deviation:.3f}, which is 0.1")

    print("(c) seconds of a gradient")
    sizes = np.array([4, 16, 64, 128, 256])
    rows = costs(sizes, data)
    print("    pieces" + "".join(f"   {name:>8s}" for name in rows))
    for i, pieces in enumerate(sizes):
        print(f"    {pieces:6d}" + "".join(f"   {row[i]:8.3f}" for row in rows.values()))
    with matplotlib.rc_context({"font.size": 14}):
        draw(out / "ode_adjoint.png", theta, flow, errors, data, sizes, rows)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
