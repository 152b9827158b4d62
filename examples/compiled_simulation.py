"""A trip to Mars: the gradient of a simulation, compiled.

    python examples/compiled_simulation.py [--out DIR]

(a) Sun, Earth, Mars and a probe move for 200 steps of the leapfrog method. The probe shall meet
    Mars. `value_and_grad` of the whole simulation says how the speed at the start changes the
    distance at the end, and SciPy's BFGS aims by it. The gradient is compiled: the first call
    traces 200 steps, and later ones replay them as plain NumPy calls.
(b) The time of such a gradient for 2 to 32 bodies: by functier, compiled, and by NumPy with a
    backward pass that is written by hand. If JAX is installed, its compiler is in the picture.

The code of the simulation is plain NumPy, and knows nothing of gradients.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from scipy.optimize import minimize

import functier as ft
from functier.progress import bar

STEPS = 200
YEARS = 0.7
G = 4 * np.pi**2
"""In units of the Sun's mass, of the Earth's distance from it, and of a year."""

NAMES = ["Sun", "Earth", "Mars", "probe"]
MASSES = np.array([1.0, 3.0e-6, 3.2e-7, 0.0])
SIZES = (2, 4, 8, 16, 32)


# ---- the simulation: plain NumPy ----


def accelerations(x, masses):
    """Accelerations of all bodies by all: `x` has shape (bodies, 2)."""
    apart = x[None, :, :] - x[:, None, :]
    squares = np.sum(apart * apart, axis=-1) + np.eye(len(x))  # a body does nothing to itself
    pull = G * masses / (squares * np.sqrt(squares))
    return np.sum(pull[:, :, None] * apart, axis=1)


def simulate(x, v, masses, h):
    """Places and speeds after STEPS steps of length `h`."""
    a = accelerations(x, masses)
    for _ in range(STEPS):
        v = v + h / 2 * a
        x = x + h * v
        a = accelerations(x, masses)
        v = v + h / 2 * a
    return x, v


def track(x, v, masses, h):
    """The places after each step, for the picture."""
    places = [x]
    a = accelerations(x, masses)
    for _ in range(STEPS):
        v = v + h / 2 * a
        x = x + h * v
        a = accelerations(x, masses)
        v = v + h / 2 * a
        places.append(x)
    return np.array(places)


# ---- (a) aiming ----


def start():
    """Earth and Mars on circles; the probe near the Earth, a little faster."""
    angle = 0.75  # by which Mars is ahead
    mars = 1.524 * np.array([np.cos(angle), np.sin(angle)])
    speed = 2 * np.pi / np.sqrt(1.524)
    x = np.array([[0.0, 0.0], [1.0, 0.0], mars, [1.05, 0.0]])
    v = np.array([
        [0.0, 0.0], [0.0, 2 * np.pi], [-speed * np.sin(angle), speed * np.cos(angle)], [0.0, 6.9],
    ])  # fmt: skip
    return x, v


def miss(launch, x, v):
    """The square of the distance from Mars at the end, when the probe starts like that."""
    v = np.concatenate([v[:3], launch[None]])
    x, _ = simulate(x, v, MASSES, YEARS / STEPS)
    return np.sum((x[3] - x[2]) ** 2)


def aim(gradient, x, v):
    """Find the speed at the start; return all that were tried."""
    tried = [v[3]]
    found = minimize(
        lambda launch: gradient(launch, x, v), v[3], jac=True, method="BFGS",
        callback=lambda launch: tried.append(launch.copy()), options={"gtol": 1e-10},
    )  # fmt: skip
    return found, np.array(tried)


# ---- (b) the same gradient, four times ----


def spread(x, v, masses):
    """A number of the final state, whose gradient with respect to the initial state is timed."""
    x, v = simulate(x, v, masses, 1e-3)
    return np.sum(x * x) + np.sum(v * v)


def gradient_by_hand(x, v, masses, h=1e-3):
    """The gradient of `spread` as a person writes it: each step backwards."""
    eye = np.eye(len(x))

    def forces(x):
        apart = x[None, :, :] - x[:, None, :]
        squares = np.sum(apart * apart, axis=-1) + eye
        pull = G * masses / (squares * np.sqrt(squares))
        return np.sum(pull[:, :, None] * apart, axis=1), (apart, squares, pull)

    def backward(g, saved):
        apart, squares, pull = saved
        along = np.einsum("ik,ijk->ij", g, apart)
        by_apart = pull[:, :, None] * g[:, None, :]
        by_apart = by_apart - (3.0 * along * pull / squares)[:, :, None] * apart
        return np.sum(by_apart, axis=0) - np.sum(by_apart, axis=1)

    a, saved = forces(x)
    kept = [saved]
    for _ in range(STEPS):
        v = v + h / 2 * a
        x = x + h * v
        a, saved = forces(x)
        kept.append(saved)
        v = v + h / 2 * a
    gx, gv, ga = 2 * x, 2 * v, 0.0
    for saved in reversed(kept[1:]):
        ga = ga + h / 2 * gv
        gx = gx + backward(ga, saved)
        gv = gv + h * gx
        ga = h / 2 * gv
    return gx + backward(ga, kept[0]), gv


def jax_gradient():
    """The same for JAX, with its loop, or None where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)

    def forces(x, masses):
        apart = x[None, :, :] - x[:, None, :]
        squares = jnp.sum(apart * apart, axis=-1) + jnp.eye(len(x))
        pull = G * masses / (squares * jnp.sqrt(squares))
        return jnp.sum(pull[:, :, None] * apart, axis=1)

    def spread(x, v, masses, h=1e-3):
        def step(state, _):
            x, v, a = state
            v = v + h / 2 * a
            x = x + h * v
            a = forces(x, masses)
            return (x, v + h / 2 * a, a), None

        (x, v, _), _ = jax.lax.scan(step, (x, v, forces(x, masses)), None, STEPS)
        return jnp.sum(x * x) + jnp.sum(v * v)

    compiled = jax.jit(jax.grad(spread, argnums=(0, 1)))
    return lambda *args: jax.block_until_ready(compiled(*args))


def cluster(bodies):
    """Bodies at random places, which are at rest."""
    rng = np.random.default_rng(bodies)
    x = rng.normal(size=(bodies, 2)) * np.sqrt(bodies)
    return x, np.zeros((bodies, 2)), np.full(bodies, 1.0 / bodies)


def seconds(call):
    """The seconds of the first call, and the least of some later ones."""
    start = time.perf_counter()
    call()
    first, times = time.perf_counter() - start, []
    while len(times) < 5 or (sum(times) < 0.2 and len(times) < 50):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return first, min(times)


def compare():
    """For each way the times for each number of bodies, and the largest difference from hand."""
    eager = ft.grad(spread, argnums=(0, 1))
    ways = {
        "functier": eager,
        "functier, compiled": ft.compile(eager),
        "NumPy by hand": gradient_by_hand,
        "JAX, compiled": jax_gradient(),
    }
    times, worst = {name: [] for name, way in ways.items() if way is not None}, 0.0
    for bodies in bar(SIZES, "(b) sizes"):
        args = cluster(bodies)
        right = np.stack(gradient_by_hand(*args))
        for name in times:
            times[name].append(seconds(lambda way=ways[name], args=args: way(*args)))
            found = np.stack([np.asarray(part) for part in ways[name](*args)])
            worst = max(worst, np.max(np.abs(found - right)) / np.max(np.abs(right)))
    return {name: np.array(rows) for name, rows in times.items()}, worst


# ---- all of it ----

LOOKS = {
    "functier": ("tab:blue", "o-"), "functier, compiled": ("tab:red", "o-"),
    "NumPy by hand": ("black", "o--"), "JAX, compiled": ("tab:green", "o:"),
}  # fmt: skip


def draw(path, first, last, times):
    figure = Figure(figsize=(14, 6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for places, style in ((first, ":"), (last, "-")):
        left.plot(*places[:, 3].T, style, color="tab:red", linewidth=2,
                  label=f"probe, {'as guessed' if style == ':' else 'aimed'}")  # fmt: skip
    for body, color in ((1, "tab:blue"), (2, "tab:orange")):
        left.plot(*last[:, body].T, color=color, linewidth=2, label=NAMES[body])
        left.plot(*last[-1, body], "o", color=color, markersize=9)
    left.plot(*last[-1, 3], "x", color="tab:red", markersize=12, markeredgewidth=3)
    left.plot(0, 0, "o", color="gold", markersize=16)
    left.set_title(f"The trip: {YEARS:g} years in {STEPS} steps", fontsize=15)
    left.set_aspect("equal")
    left.set_xlabel("distances of the Earth from the Sun", fontsize=12)
    left.legend(fontsize=11, loc="lower right")
    for name, rows in times.items():
        color, style = LOOKS[name]
        right.loglog(SIZES, rows[:, 1] * 1e3, style, color=color, linewidth=2, label=name)
    right.set_title(f"Gradient with respect to the initial state, {STEPS} steps", fontsize=15)
    right.set_xlabel("bodies", fontsize=13)
    right.set_ylabel("time of a call (ms)", fontsize=13)
    right.set_xticks(SIZES, [str(n) for n in SIZES])
    right.minorticks_off()
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    right.legend(fontsize=12)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=11)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    x, v = start()
    eager = ft.value_and_grad(miss)
    gradient = ft.compile(eager)
    value, slope = gradient(v[3], x, v)  # this call traces
    e, units = 1e-6, np.eye(2)
    differences = np.array(
        [(miss(v[3] + e * d, x, v) - miss(v[3] - e * d, x, v)) / (2 * e) for d in units]
    )
    off = np.max(np.abs(slope - differences)) / np.max(np.abs(slope))
    same = np.array_equal(slope, eager(v[3], x, v)[1])
    print(f"(a) relative difference from central differences {off:.1e}")
    print(f"    compiled and not, equal to the last bit: {same}")
    began = time.perf_counter()
    found, tried = aim(gradient, x, v)
    spent = time.perf_counter() - began
    print(f"    {found.nfev} gradients in {spent:.2f} s, {len(tried) - 1} steps of BFGS")
    print(f"    distance from Mars {np.sqrt(value):.3f} before, {np.sqrt(found.fun):.1e} after")

    times, worst = compare()
    print("(b) milliseconds of a gradient, and of the first call")
    print("    bodies" + "".join(f"{name:>26}" for name in times))
    for i, bodies in enumerate(SIZES):
        cells = [f"{rows[i, 1] * 1e3:10.1f} ({rows[i, 0] * 1e3:8.0f})" for rows in times.values()]
        print(f"    {bodies:6d}" + "".join(f"{cell:>26}" for cell in cells))
    print(f"    largest relative difference from NumPy by hand {worst:.1e}")
    launched = np.concatenate([v[:3], found.x[None]])
    h = YEARS / STEPS
    draw(out / "compiled_simulation.png", track(x, v, MASSES, h), track(x, launched, MASSES, h),
         times)  # fmt: skip
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
