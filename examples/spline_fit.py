"""Splines fitted to noisy measurements: where their knots go, and how smooth they are.

    python examples/spline_fit.py [--out DIR]

(a) Knots. A cubic spline of least squares has few knots. Where they are is optimised by the
    gradient through `make_lsq_spline`, whose coefficients are the best ones for each set of knots.
(b) Smoothness. A smoothing spline has a parameter. It is found by generalised cross-validation:
    the trace of the Jacobian of the fitted values by the measured ones is what the fit spends. The
    result is that of SciPy, which searches for the parameter itself.
(c) Errors. 150 simulated data sets are fitted at once, each with knots of its own, by `vmap`.
"""

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
import scipy.interpolate
import scipy.optimize
from matplotlib.figure import Figure

import functier.numpy as fnp
from functier import grad, jacfwd, value_and_grad, vmap
from functier.progress import bar
from functier.scipy.interpolate import make_lsq_spline, make_smoothing_spline

SEED = 0
X = np.linspace(0.0, 10.0, 120)
NOISE, KNOTS, SETS, STEPS = 0.08, 6, 150, 25


def truth(x):
    """A wide wave with a narrow peak."""
    return np.sin(0.6 * x) + 2.0 / (1 + ((x - 6.3) / 0.35) ** 2)


# ---- (a) knots ----


def knots_of(logits):
    """Return increasing knots between the ends, of any real numbers."""
    shares = fnp.exp(logits - fnp.max(logits))
    inner = X[-1] * fnp.cumsum(shares)[:-1] / fnp.sum(shares)
    return fnp.concatenate([np.repeat(X[0], 4), inner, np.repeat(X[-1], 4)])


def fitted(logits, y):
    return make_lsq_spline(X, y, knots_of(logits))


def squares(logits, y):
    """The mean square of what the best spline with these knots leaves, and a wall around 0."""
    rest = y - fitted(logits, y)(X)
    return fnp.mean(rest**2) + 1e-4 * fnp.mean((logits - fnp.mean(logits)) ** 2)


def crowded(logits, y):
    """Begin again from some places, and keep the best knots."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in bar(range(6), "(a) searches"):
        start = logits + 0.7 * rng.normal(size=logits.shape)
        found.append(scipy.optimize.minimize(value_and_grad(squares), start, args=(y,), jac=True))
    return min(found, key=lambda result: result.fun)


def descend(logits, y):
    """Return better knots for other data, by steps that shrink until they help."""
    rate = 30.0
    for _ in range(STEPS):
        value, slope = value_and_grad(squares)(logits, y)
        moved = logits - rate * slope
        better = squares(moved, y) < value
        logits = fnp.where(better, moved, logits)
        rate = fnp.where(better, rate * 1.3, rate * 0.4)
    return logits


# ---- (b) smoothness ----


def smooth(log_lam, y):
    return make_smoothing_spline(X, y, lam=fnp.exp(log_lam))(X)


def generalised_cross_validation(log_lam, y):
    spent = fnp.trace(jacfwd(smooth, 1)(log_lam, y))
    n = len(X)
    return n * fnp.sum((y - smooth(log_lam, y)) ** 2) / (n - spent) ** 2


def draw(path, y, even, free, smoothed, curves):
    figure = Figure(figsize=(10, 10), layout="constrained")
    left, right = figure.subplots(2, 1)
    fine = np.linspace(X[0], X[-1], 600)
    for axes in (left, right):
        axes.plot(X, y, ".", color="gray", label="measured")
        axes.plot(fine, truth(fine), color="black", linewidth=1, label="true")
    for logits, color, name in ((even, "tab:orange", "even"), (free, "tab:blue", "optimised")):
        style = "--" if name == "even" else "-"
        left.plot(
            fine, fitted(logits, y)(fine), style, color=color, linewidth=2, label=f"{name} knots"
        )
        inner = knots_of(logits)[4:-4]
        left.plot(inner, np.full(inner.size, -1.6 if name == "even" else -1.45), "|", color=color,
                  markersize=14, markeredgewidth=2)  # fmt: skip
    left.set_title(f"{KNOTS} knots (marks below the curves)")
    low, high = np.percentile(curves, [2.5, 97.5], axis=0)
    right.fill_between(X, low, high, alpha=0.3, label=f"{SETS} splines with free knots, 95%")
    right.plot(X, smoothed, color="tab:red", linewidth=2, label="smoothing spline")
    right.set_title("A smoothing spline, and the spread of splines with free knots")
    for axes in (left, right):
        axes.legend(fontsize=12, loc="upper right" if axes is left else "lower left")
        axes.set(xlabel="x", ylabel="y")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    y = truth(X) + NOISE * rng.normal(size=X.size)

    even = np.zeros(KNOTS + 1)
    slope = grad(squares)(even, y)
    steps = 1e-5 * np.eye(even.size)
    differences = [(squares(even + s, y) - squares(even - s, y)) / 2e-5 for s in steps]
    off = np.max(np.abs(slope - differences)) / np.max(np.abs(slope))
    print(f"(a) largest relative difference from central differences {off:.1e}")
    start = time.perf_counter()
    result = crowded(even, y)
    print(f"    6 searches in {time.perf_counter() - start:.1f} s")
    for logits, name in ((even, "even"), (result.x, "optimised")):
        error = np.sqrt(np.mean((fitted(logits, y)(X) - truth(X)) ** 2))
        rest = np.sqrt(np.mean((fitted(logits, y)(X) - y) ** 2))
        print(f"    {name:10} knots leave {rest:.3f}, and are off the truth by {error:.3f}")
    print(f"    knots {np.round(knots_of(result.x)[4:-4], 2)}, the peak is at 6.3")

    found = scipy.optimize.minimize(
        value_and_grad(generalised_cross_validation), np.array(-3.0), args=(y,), jac=True
    )
    smoothed = smooth(found.x[0], y)
    scipys = scipy.interpolate.make_smoothing_spline(X, y)(X)
    print(f"(b) smoothness {np.exp(found.x[0]):.5f} after {found.nfev} gradients")
    off = np.max(np.abs(smoothed - scipys))
    print(f"    largest difference from the spline that SciPy chooses {off:.1e}")

    data = truth(X) + NOISE * rng.normal(size=(SETS, X.size))
    start = time.perf_counter()
    logits = vmap(descend, in_dims=(None, 0))(result.x, data)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    alone = descend(result.x, data[0])
    loop = (time.perf_counter() - start) * SETS
    curves = vmap(lambda p, y: fitted(p, y)(X))(logits, data)
    print(f"(c) {SETS} fits of {STEPS} steps: {seconds:.1f} s by vmap, {loop:.0f} s in a loop")
    print(f"    largest difference from a fit alone {np.max(np.abs(alone - logits[0])):.1e}")
    low, high = np.percentile(curves, [2.5, 97.5], axis=0)
    inside = np.mean((truth(X) > low) & (truth(X) < high))
    print(f"    the true curve is inside of 95% of them at {100 * inside:.0f}% of the places")
    with matplotlib.rc_context({"font.size": 14}):
        draw(out / "spline_fit.png", y, even, result.x, smoothed, curves)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
