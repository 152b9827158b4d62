"""A circuit simulator written with loops and writes, fitted to measured voltages.

    python examples/circuit_fit.py [--out DIR]

(a) The simulator is written as one writes it first: it loops over the parts of a rectifier,
    adds each of them to a matrix with ``+=``, solves for the diode by Newton's method, and
    writes the voltages of each moment into an array. Its gradient is compared with differences.
(b) Five values of the parts are fitted to noisy voltages, from a poor guess, by Levenberg and
    Marquardt's method with `jacfwd`.
(c) 400 rectifiers whose parts are off by a few percent are simulated at once by `vmap`. The
    spread of their ripple is compared with that which one gradient predicts.

The only line of the simulator that is for functier is ``import functier.numpy as np``.
"""

import argparse
import time
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

import functier.numpy as np
from functier import grad, jacfwd, jacrev, vmap

SEED = 0
STEPS, H = 120, 25e-6
"""Moments, and the time between them: 3 ms in all."""

GROUND = -1
PARTS = [
    ("resistor", 0, GROUND),  # the source is behind this one
    ("capacitor", 1, GROUND),
    ("inductor", 1, 2),
    ("capacitor", 2, GROUND),
    ("diode", 0, 1),
    ("resistor", 2, GROUND),  # the load
]
NAMES = [
    "source resistance, ohm", "first capacitor, F", "inductor, H", "second capacitor, F",
    "diode voltage, V",
]  # fmt: skip
TRUE = np.array([8.0, 22e-6, 4e-3, 10e-6, 0.6])
GUESS = np.array([15.0, 12e-6, 2e-3, 20e-6, 0.4])
LOAD = 120.0  # this value is known
KNEE, CONDUCTANCE = 0.05, 0.5  # of the diode
NOISE, TOLERANCE, CIRCUITS = 0.05, 0.03, 400


# ---- the simulator ----


def add_conductance(matrix, a, b, g):
    """Add a conductance between the nodes `a` and `b` to the matrix of the circuit."""
    for i, j in ((a, b), (b, a)):
        if i != GROUND:
            matrix[i, i] += g
            if j != GROUND:
                matrix[i, j] -= g


def add_current(currents, a, b, i):
    """Add a current that flows from node `a` to node `b`."""
    if a != GROUND:
        currents[a] -= i
    if b != GROUND:
        currents[b] += i


def difference(v, a, b):
    return v[a] - (v[b] if b != GROUND else 0.0)


def diode(u, start):
    """The current of a diode with a soft knee at the voltage `start`, and its slope."""
    x = (u - start) / KNEE
    return CONDUCTANCE * KNEE * np.logaddexp(0.0, x), CONDUCTANCE / (1 + np.exp(-x))


def source(t):
    """A generator of 10 V and 1 kHz."""
    return 10.0 * np.sin(2 * np.pi * 1000.0 * t)


def simulate(unknown):
    """The voltages of the three nodes at all moments: shape (STEPS + 1, 3)."""
    values = np.append(unknown, LOAD)
    voltages = np.zeros((STEPS + 1, 3))
    flux = np.zeros(len(PARTS))  # the currents of inductors
    for k in range(STEPS):
        v = voltages[k]
        matrix, currents = np.zeros((3, 3)), np.zeros(3)
        for p, (kind, a, b) in enumerate(PARTS):
            if kind == "resistor":
                add_conductance(matrix, a, b, 1 / values[p])
            elif kind == "capacitor":
                g = values[p] / H
                add_conductance(matrix, a, b, g)
                add_current(currents, b, a, g * difference(v, a, b))
            elif kind == "inductor":
                add_conductance(matrix, a, b, H / values[p])
                add_current(currents, a, b, flux[p])
        currents[0] += source((k + 1) * H) / values[0]

        for _ in range(3):  # Newton's method
            m, c = matrix.copy(), currents.copy()
            for p, (kind, a, b) in enumerate(PARTS):
                if kind == "diode":
                    u = difference(v, a, b)
                    i, g = diode(u, values[p])
                    add_conductance(m, a, b, g)
                    add_current(c, a, b, i - g * u)
            v = np.linalg.solve(m, c)

        voltages[k + 1] = v
        for p, (kind, a, b) in enumerate(PARTS):
            if kind == "inductor":
                flux[p] += H / values[p] * difference(v, a, b)
    return voltages


def ripple(values):
    """The standard deviation of the load's voltage during the last millisecond."""
    return np.std(simulate(values)[-40:, 2])


# ---- the fit ----


def fit(data, values):
    """Fit the logarithms of the values; return the values and cost after each iteration."""

    def residual(logarithms):
        r = np.ravel(simulate(np.exp(logarithms)) - data)
        return r, r

    x, damping = np.log(values), 1e-2
    jacobian, r = jacfwd(residual, has_aux=True)(x)
    path = [(np.exp(x), r @ r)]
    while len(path) < 30:
        normal = jacobian.T @ jacobian
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), jacobian.T @ r)
        tried = jacfwd(residual, has_aux=True)(x - step)
        if tried[1] @ tried[1] > path[-1][1]:
            damping *= 10
            continue
        x, damping = x - step, damping / 10
        jacobian, r = tried
        path.append((np.exp(x), r @ r))
        if np.max(np.abs(step)) < 1e-4:
            break
    return path, np.linalg.inv(jacobian.T @ jacobian)


# ---- all of it ----


def check(data):
    """The largest relative difference of derivatives by functier and by differences."""

    def loss(logarithms):
        return np.sum((simulate(np.exp(logarithms)) - data) ** 2)

    x, e = np.log(GUESS), 1e-5
    start = time.perf_counter()
    slope = grad(loss)(x)
    seconds = time.perf_counter() - start
    differences = np.array([(loss(x + e * d) - loss(x - e * d)) / (2 * e) for d in np.eye(len(x))])
    far = np.max(np.abs(slope - differences) / np.max(np.abs(slope)))
    last = [j(lambda x: simulate(np.exp(x))[-1])(x) for j in (jacfwd, jacrev)]
    return seconds, far, np.max(np.abs(last[0] - last[1]) / np.max(np.abs(last[0])))


def draw(path, data, steps, ripples, predicted):
    """Draw the voltages before and after the fit, its way, and the spread of the ripple."""
    figure = Figure(figsize=(10, 9), layout="constrained")
    axes = figure.subplot_mosaic([["circuit", "circuit"], ["fit", "ripple"]])
    left, middle, right = axes["circuit"], axes["fit"], axes["ripple"]
    times = 1e3 * H * np.arange(STEPS + 1)
    guess, fitted = simulate(GUESS), simulate(steps[-1][0])
    for node, (name, color, style) in enumerate(
        [
            ("source", "tab:gray", "-"),
            ("after the diode", "tab:blue", "--"),
            ("load", "tab:red", "-."),
        ]
    ):
        left.plot(times, data[:, node], ".", color=color, markersize=4)
        left.plot(times, guess[:, node], ":", color=color, linewidth=1.2)
        left.plot(times, fitted[:, node], style, color=color, linewidth=2, label=name)
    left.set_title("Voltages: measured (points), first guess (dotted), fitted")
    left.set_xlabel("time, ms")
    left.set_ylabel("voltage, V")

    for p, name in enumerate(NAMES):
        found = [values[p] / TRUE[p] for values, _ in steps]
        middle.plot(found, "os^Dv"[p] + "-", label=name.partition(",")[0], markersize=6)
    middle.axhline(1, color="black", linewidth=0.8)
    middle.set_yscale("log")
    middle.set_yticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
    middle.set_yticks([], minor=True)
    middle.set_title("Fitted parts")
    middle.set_xlabel("iteration")
    middle.set_ylabel("value / true value")

    right.hist(1e3 * ripples, bins=30, density=True, color="tab:red", alpha=0.4, label="simulated")
    mean, deviation = 1e3 * ripple(TRUE), 1e3 * predicted
    x = np.linspace(mean - 4 * deviation, mean + 4 * deviation, 200)
    density = np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    right.plot(x, density, color="black", linewidth=2, label="by one gradient")
    right.set_title(f"Ripple of {CIRCUITS} rectifiers")
    right.set_xlabel("ripple, mV")
    right.set_ylabel("density, 1/mV")
    for part in (left, middle, right):
        part.grid(alpha=0.3)
        part.legend(fontsize=12)
    left.set_ylim(top=11)  # room for the legends
    middle.set_ylim(bottom=0.04)
    right.set_ylim(top=0.017)
    left.legend(ncols=3, loc="upper center")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    data = simulate(TRUE) + NOISE * rng.normal(size=(STEPS + 1, 3))

    seconds, far, between = check(data)
    print(f"(a) {STEPS} moments, 3 nodes, {len(PARTS)} parts: the gradient took {seconds:.2f} s")
    print(f"    largest relative difference from central differences   {far:.1e}")
    print(f"    largest relative difference of forward and reverse     {between:.1e}")

    steps, spread = fit(data, GUESS)
    freedom = data.size - len(NAMES)
    sigma = np.sqrt(steps[-1][1] / freedom)
    errors = sigma * np.sqrt(np.diag(spread))
    print(f"(b) {len(steps) - 1} iterations, noise of {sigma:.4f} V (true: {NOISE})")
    print(" " * 35 + "true      guess     fitted   error in standard errors")
    for p, name in enumerate(NAMES):
        value = steps[-1][0][p]
        off = np.log(value / TRUE[p]) / errors[p]
        print(f"    {name:24} {TRUE[p]:10.3g} {GUESS[p]:10.3g} {value:10.3g}   {off:24.2f}")

    factors = np.exp(TOLERANCE * rng.normal(size=(CIRCUITS, len(TRUE))))
    start = time.perf_counter()
    ripples = vmap(ripple)(TRUE * factors)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    alone = np.array([ripple(TRUE * factor) for factor in factors[:10]])
    loop = (time.perf_counter() - start) * CIRCUITS / 10
    predicted = TOLERANCE * np.sqrt(np.sum((grad(ripple)(TRUE) * TRUE) ** 2))
    print(f"(c) {CIRCUITS} rectifiers: {seconds:.2f} s by vmap, {loop:.1f} s in a loop")
    print(f"    largest relative difference {np.max(np.abs(ripples[:10] / alone - 1)):.1e}")
    print(
        f"    ripple {1e3 * np.mean(ripples):.1f} mV, standard deviation "
        f"{1e3 * np.std(ripples):.2f} mV (by one gradient: {1e3 * predicted:.2f} mV)"
    )
    with matplotlib.rc_context({"font.size": 14}):
        draw(out / "circuit_fit.png", data, steps, ripples, predicted)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
