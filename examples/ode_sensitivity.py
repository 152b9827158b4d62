"""Sensitivities of a differential equation: derivatives by its parameters and its start.

    python examples/ode_sensitivity.py [--out DIR]

(a) A damped oscillator: sensitivities by `jacfwd` through a Runge-Kutta method written with
    `scan`, for several starts at once by `vmap`. They are compared with the exact ones (a
    matrix exponential), for steps of four sizes: the error falls with the fourth power.
(b) Reverse mode through the same loop, and its memory with `checkpoint`.
(c) Hares and lynxes, 1900 to 1920: a model of predators and prey is fitted to the counts by
    Levenberg and Marquardt's method, with standard errors from the sensitivities. These are
    compared with the spread of fits to 60 simulated data sets. `vmap` computes all fits at
    once, although each takes as many iterations (a `while_loop`) as it needs.

The code of the models is plain NumPy for one start and one set of parameters.
"""

import argparse
import time
import tracemalloc
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import expm

from functier import checkpoint, fori_loop, grad, jacfwd, scan, vmap, while_loop

SEED = 0

YEARS = np.arange(1900, 1921)
HARES = np.array([
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
    40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7,
])  # fmt: skip
LYNXES = np.array([
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
    8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
])  # fmt: skip
"""Pelts in thousands, as the Hudson's Bay Company took them in."""

NAMES = ["birth of hares", "hunting", "death of lynxes", "feeding", "hares 1900", "lynxes 1900"]
SIMULATED = 60
STEPS = 6
"""Simulated sets of data, and steps a year."""


# ---- the integrator ----


def runge_kutta(field, h):
    """One step of the classical method of order four: return y at a time h later."""

    def step(y, *params):
        k1 = field(y, *params)
        k2 = field(y + h / 2 * k1, *params)
        k3 = field(y + h / 2 * k2, *params)
        k4 = field(y + h * k3, *params)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return step


def trajectory(step, y, params, n):
    """The states after each of `n` steps: shape (n, ...)."""

    def forward(y, _):
        y = step(y, *params)
        return y, y

    return scan(forward, y, None, n)[1]


# ---- (a) an oscillator, whose sensitivities are known ----

TIME = 5.0
SPRING = np.array([2.0, 0.3])
"""The stiffness and the damping."""


def oscillator(y, params):
    """``y'' = -k y - c y'`` as a system of two."""
    position, speed = y
    return np.stack([speed, -params[0] * position - params[1] * speed])


def exact(start, params):
    """The state at TIME, and its derivatives with respect to the start and the parameters.

    ``y' = A y``, so the derivative by the start is ``exp(A t)``. The derivative s by a parameter
    solves ``s' = A s + B y``, where B is the derivative of A. The system of both is linear again.
    """
    a = np.array([[0.0, 1.0], [-params[0], -params[1]]])
    by_params = []
    for b in (np.array([[0.0, 0.0], [-1.0, 0.0]]), np.array([[0.0, 0.0], [0.0, -1.0]])):
        both = expm(TIME * np.block([[a, b], [np.zeros((2, 2)), a]]))
        by_params.append(both[:2, 2:] @ start)
    return expm(a * TIME) @ start, expm(a * TIME), np.stack(by_params, axis=-1)


def errors(starts, sizes):
    """The largest errors of the state and of its derivatives, for each number of steps."""
    found = []
    truth = [np.stack(parts) for parts in zip(*(exact(start, SPRING) for start in starts))]
    for n in sizes:
        step = runge_kutta(oscillator, TIME / n)

        def last(y, params, step=step, n=n):
            y = trajectory(step, y, (params,), n)[-1]
            return y, y

        sensitivities = vmap(jacfwd(last, argnums=(0, 1), has_aux=True), in_dims=(0, None))
        (by_start, by_params), states = sensitivities(starts, SPRING)
        approximate = states, by_start, by_params
        found.append([np.max(np.abs(a - b)) for a, b in zip(approximate, truth)])
    return np.array(found)


# ---- (b) reverse mode, and its memory ----


def predation(y, rates):
    """Lotka and Volterra's equations, for the logarithms of the two populations."""
    hares, lynxes = np.exp(y)
    birth, hunting, death, feeding = rates
    return np.stack([birth - hunting * lynxes, feeding * hares - death])


RATES = np.array([0.55, 0.028, 0.84, 0.026])


def losses(n, block):
    """Three losses that differ only in how much reverse mode keeps."""
    step = runge_kutta(predation, 20.0 / n)

    def every_step(y, rates):
        return scan(lambda y, _: (step(y, rates), None), y, None, n)[0][1]

    def one_state_a_step(y, rates):
        return scan(checkpoint(lambda y, _: (step(y, rates), None)), y, None, n)[0][1]

    def one_state_a_block(y, rates):
        def forward(y, _):
            return scan(checkpoint(lambda y, _: (step(y, rates), None)), y, None, block)

        return scan(checkpoint(forward), y, None, n // block)[0][1]

    return {
        "every operation": every_step,
        "the state of each step": one_state_a_step,
        f"the state of each {block}th step": one_state_a_block,
    }


def measured(f, *args):
    """The result of `f`, its time in seconds, and its peak memory in megabytes."""
    start = time.perf_counter()
    out = f(*args)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    f(*args)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return out, seconds, peak


# ---- (c) hares and lynxes ----


def populations(theta, points=1):
    """The logarithms of hares and lynxes, several times a year: shape (n, 2).

    `theta` holds the logarithms of the four rates and of the two populations in 1900.
    """
    step = runge_kutta(predation, 1 / STEPS)
    rates, start = np.exp(theta[:4]), theta[4:]

    def forward(y, _):
        y = fori_loop(0, STEPS // points, lambda i, y: step(y, rates), y)
        return y, y

    later = scan(forward, start, None, (len(YEARS) - 1) * points)[1]
    return np.concatenate([start[None], later])


def fit(data, theta):
    """Fit the logarithms `data`; return the parameters, the cost and the iterations."""

    def residual(theta):
        r = np.ravel(populations(theta) - data)
        return r, r

    def going(state):
        return (state["moved"] > 1e-6) & (state["iterations"] < 60)

    def improved(state):
        theta, damping = state["theta"], state["damping"]
        jacobian, r = jacfwd(residual, has_aux=True)(theta)
        normal = jacobian.T @ jacobian
        damped = normal + damping * np.diag(np.diag(normal))
        step = np.linalg.solve(damped, jacobian.T @ r)
        cost = np.sum(residual(theta - step)[0] ** 2)
        better = cost < state["cost"]
        return {
            "theta": np.where(better, theta - step, theta),
            "cost": np.where(better, cost, state["cost"]),
            "damping": damping * np.where(better, 0.2, 5.0),
            "moved": np.max(np.abs(step)),
            "iterations": state["iterations"] + 1,
        }

    first = {
        "theta": theta,
        "cost": np.sum(residual(theta)[0] ** 2),
        "damping": 0.1,
        "moved": np.inf,
        "iterations": 0,
    }
    last = while_loop(going, improved, first)
    return last["theta"], last["cost"], last["iterations"]


def draw(path, data, theta, spread, sizes, error):
    """Draw the fit with its band, the sensitivities over time, and the order of the method."""
    figure = Figure(figsize=(10, 9), layout="constrained")
    axes = figure.subplot_mosaic([["fit", "errors"], ["change", "change"]])
    left, middle, right = axes["fit"], axes["change"], axes["errors"]

    times = np.linspace(YEARS[0], YEARS[-1], STEPS * (len(YEARS) - 1) + 1)
    fitted = populations(theta, STEPS)
    jacobian = jacfwd(lambda theta: populations(theta, STEPS))(theta)
    deviation = np.sqrt(np.einsum("tip,pq,tiq->ti", jacobian, spread, jacobian))
    for i, (name, color) in enumerate([("hares", "tab:blue"), ("lynxes", "tab:red")]):
        low, high = (np.exp(fitted[:, i] + sign * 2 * deviation[:, i]) for sign in (-1, 1))
        left.fill_between(times, low, high, color=color, alpha=0.2, linewidth=0)
        left.plot(times, np.exp(fitted[:, i]), "-" if i == 0 else "--", color=color, linewidth=2)
        left.plot(YEARS, np.exp(data[:, i]), "os"[i], color=color, label=name)
    left.set_title("The fit, with two standard errors")
    left.set_ylabel("pelts, thousands")
    left.set_xlabel("year")
    middle.set_xlabel("year")
    left.set_xticks(YEARS[::5])
    left.legend(fontsize=12)

    for p, name in enumerate(NAMES):
        middle.plot(times, jacobian[:, 0, p], "os^Dvx"[p] + "-", markevery=STEPS, label=name)
    middle.axhline(0, color="black", linewidth=0.8)
    middle.set_title("Hares, if a parameter grows by 1 %")
    middle.set_ylabel("change in %")
    middle.set_xticks(YEARS[::5])
    middle.legend(fontsize=12, ncols=3, loc="lower left", title="1 % more of")
    middle.set_ylim(bottom=-9.5)

    for i, name in enumerate(["state", "derivatives, start", "derivatives, parameters"]):
        right.loglog(TIME / sizes, error[:, i], "os^"[i] + "-", linewidth=2, label=name)
    h = TIME / sizes
    right.loglog(h, error[-1].min() * (h / h[-1]) ** 4 / 2, "k--", label="fourth power")
    right.set_title("Errors for an oscillator")
    right.set_xticks(h, [f"{x:g}" for x in h])
    right.set_xticks([], minor=True)
    right.set_xlabel("step size")
    right.set_ylabel("largest error")
    right.legend(fontsize=11, loc="lower right")
    for part in (left, middle, right):
        part.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


# ---- all of it ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)

    print("(a) a damped oscillator: largest error over 8 starts")
    print("    steps      state   order   by start   order   by params   order")
    starts, sizes = rng.normal(size=(8, 2)), np.array([25, 50, 100, 200])
    error = errors(starts, sizes)
    for i, n in enumerate(sizes):
        order = [f"{o:.2f}" for o in np.log2(error[i - 1] / error[i])] if i else [""] * 3
        cells = "   ".join(f"{e:9.2e}   {o:>5s}" for e, o in zip(error[i], order))
        print(f"    {n:5d}  {cells}")

    n, block = 192, 16
    print(f"(b) the gradient of {n} steps for 1000 starts: what is kept")
    starts = np.log([30.0, 4.0]) + 0.1 * rng.normal(size=(1000, 2))
    gradients = []
    for name, loss in losses(n, block).items():
        slopes = vmap(grad(loss, argnums=(0, 1)), in_dims=(0, None))
        gradient, seconds, peak = measured(slopes, starts, RATES)
        gradients.append(np.concatenate(gradient, axis=1))
        print(f"    {name:29s} {seconds:6.2f} s   {peak:7.1f} MB")
    loss = losses(n, block)["every operation"]
    forward = vmap(jacfwd(loss, argnums=(0, 1)), in_dims=(0, None))(starts, RATES)
    gradients.append(np.concatenate(forward, axis=1))
    scale = np.max(np.abs(gradients[0]))
    difference = max(np.max(np.abs(g - gradients[0])) for g in gradients) / scale
    print(f"    largest relative difference, forward mode included: {difference:.1e}")

    print("(c) hares and lynxes, 1900 to 1920")
    data = np.log(np.stack([HARES, LYNXES], axis=-1))
    guess = np.log([0.5, 0.02, 0.8, 0.02, 30.0, 5.0])
    theta, cost, iterations = fit(data, guess)
    freedom = data.size - theta.size
    sigma = np.sqrt(cost / freedom)
    jacobian = jacfwd(populations)(theta).reshape(-1, theta.size)
    spread = sigma**2 * np.linalg.inv(jacobian.T @ jacobian)
    print(f"    {iterations} iterations, standard deviation of log counts {sigma:.3f}")

    simulated = populations(theta) + sigma * rng.normal(size=(SIMULATED, *data.shape))
    start = time.perf_counter()
    thetas, _, counts = vmap(fit, in_dims=(0, None))(simulated, guess)
    seconds = time.perf_counter() - start
    print(
        f"    {SIMULATED} simulated data sets fitted at once in {seconds:.1f} s, "
        f"{counts.min()} to {counts.max()} iterations each"
    )
    print("                        value   relative standard error: of the fit   of simulated fits")
    own, theirs = np.sqrt(np.diag(spread)), np.std(thetas, axis=0)
    for name, value, a, b in zip(NAMES, np.exp(theta), own, theirs):
        print(f"    {name:16s} {value:9.4f} {a:37.3f} {b:19.3f}")
    print(f"    ratio of the two {np.min(theirs / own):.2f} to {np.max(theirs / own):.2f}")
    with matplotlib.rc_context({"font.size": 14}):
        draw(out / "sensitivity.png", data, theta, spread, sizes, error)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
