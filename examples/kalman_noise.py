"""The noise of a Kalman filter, fitted by gradients through a package that knows nothing of them.

    python examples/kalman_noise.py [--out DIR]

The filter is that of the package filterpy. It is used as it is: `functier.adopt` makes its NumPy
code work under transforms.

(a) The flow of the Nile, 1871 to 1970: its level wanders, and each year differs from the level.
    The variances of both are found by maximum likelihood, with the gradient of the filter. The
    gradient is compared with differences, and standard errors come from the Hessian.
(b) The likelihood of 2500 pairs of variances at once, by `vmap`: the map in the picture.
(c) 40 simulated rivers, fitted at once by Newton's method, show how far such a fit is to be
    trusted. Their spread is compared with that which the mean Hessian predicts.

Durbin and Koopman's book on state space models has this series, with the variances 15099 and 1469.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from filterpy.kalman import KalmanFilter
from matplotlib.figure import Figure
from scipy.optimize import minimize

from functier import adopt, grad, hessian, value_and_grad, vmap
from functier.progress import bar

adopt("filterpy")

SEED = 0
YEARS = np.arange(1871, 1971)
NILE = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960,
    1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694,
    940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821,
    768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010,
    771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986,
    797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
]) / 100.0  # fmt: skip
"""The volume at Aswan in each year, in 10 billion cubic metres."""

GUESS = np.log([0.3, 2.0])
GRID, RIVERS = 50, 40


# ---- the model, as a user of the package writes it ----


def level_filter(theta):
    """A filter of a level that wanders; `theta` has the logarithms of its two variances."""
    kf = KalmanFilter(dim_x=1, dim_z=1)
    kf.x = np.array([[0.0]])
    kf.P = np.array([[1e5]])  # nothing is known before the first year
    kf.F = kf.H = np.eye(1)
    kf.R = np.exp(theta[0]) * np.eye(1)  # of a year
    kf.Q = np.exp(theta[1]) * np.eye(1)  # of the level, from year to year
    return kf


def negative_log_likelihood(theta, flows):
    """The forecasts of all years but the first are judged."""
    kf = level_filter(theta)
    _, _, means, variances = kf.batch_filter(flows)
    errors = (flows - means[:, 0, 0])[1:]
    variances = (variances[:, 0, 0] + np.exp(theta[0]))[1:]
    return 0.5 * np.sum(np.log(2 * np.pi * variances) + errors**2 / variances)


def smoothed(theta, flows):
    """The level of each year in the light of all years, and its standard deviation."""
    kf = level_filter(theta)
    means, variances, _, _ = kf.batch_filter(flows)
    means, variances, _, _ = kf.rts_smoother(means, variances)
    return means[:, 0, 0], np.sqrt(variances[:, 0, 0])


# ---- fits ----


def fit(flows, theta):
    """Fit one series by SciPy; return the result and the points that it went through."""
    path = [theta]
    loss = value_and_grad(negative_log_likelihood)
    result = minimize(loss, theta, args=(flows,), jac=True, callback=lambda x: path.append(x))
    return result, np.array(path)


def newton_step(theta, flows):
    """A step of Newton's method, downhill everywhere and of length 1 at most."""
    slope = grad(negative_log_likelihood)(theta, flows)
    curvatures, directions = np.linalg.eigh(hessian(negative_log_likelihood)(theta, flows))
    step = directions @ (directions.T @ slope / np.maximum(np.abs(curvatures), 0.5))
    return theta - step / np.maximum(1.0, np.linalg.norm(step))


def simulated(rng, theta, count):
    """Rivers with the variances of `theta`: shape (count, years)."""
    year, level = np.exp(theta / 2)
    levels = 9.0 + np.cumsum(level * rng.normal(size=(count, len(NILE))), axis=1)
    return levels + year * rng.normal(size=levels.shape)


# ---- all of it ----


def check(theta):
    """The gradient, the Hessian, and their largest relative differences from differences."""
    slope = grad(negative_log_likelihood)
    e, units = 1e-5, np.eye(2)
    found, matrix = slope(theta, NILE), hessian(negative_log_likelihood)(theta, NILE)
    first, second = [
        np.array([(f(theta + e * d, NILE) - f(theta - e * d, NILE)) / (2 * e) for d in units])
        for f in (negative_log_likelihood, slope)
    ]
    return max(np.max(np.abs(a - b)) / np.max(np.abs(a)) for a, b in
               ((found, first), (matrix, second)))  # fmt: skip


def draw(path, way, axes_of_map, surface, rivers, fitted):
    """Draw the likelihood with the way of the fit, and the river before and after it."""
    figure = Figure(figsize=(15, 5.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.3])
    depth = np.log2(surface.T - surface.min() + 0.25)
    left.contourf(*axes_of_map, depth, levels=np.arange(-2, 9), cmap="Blues_r")
    left.plot(*rivers.T, "x", color="tab:orange", label=f"fits of {RIVERS} simulated rivers")
    left.plot(*way.T, "o-", color="black", label="the fit, step by step")
    left.plot(*fitted, "*", color="tab:red", markersize=16, label="the Nile")
    left.set_xlim(*axes_of_map[0][[0, -1]])
    left.set_ylim(*axes_of_map[1][[0, -1]])
    left.set_title("Likelihood of the two variances", fontsize=15)
    left.set_xlabel("log variance of a year", fontsize=13)
    left.set_ylabel("log variance of a step of the level", fontsize=13)
    right.plot(YEARS, NILE, "o", color="gray", markersize=4, label="measured")
    for theta, color, name in ((GUESS, "tab:orange", "guessed"), (fitted, "tab:blue", "fitted")):
        level, deviation = smoothed(theta, NILE)
        right.plot(YEARS, level, color=color, linewidth=2, label=f"level, {name} variances")
        if name == "fitted":
            right.fill_between(YEARS, level - 2 * deviation, level + 2 * deviation, color=color,
                               alpha=0.2, linewidth=0)  # fmt: skip
    right.set_title("The Nile, in 10 billion cubic metres a year", fontsize=15)
    for axes in (left, right):
        axes.tick_params(labelsize=11)
        axes.legend(fontsize=11)
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    print(f"(a) largest relative difference from central differences {check(GUESS):.1e}")
    result, way = fit(NILE, GUESS)
    spread = np.linalg.inv(hessian(negative_log_likelihood)(result.x, NILE))
    errors = np.sqrt(np.diag(spread))
    print(f"    {result.nfev} gradients, log-likelihood {-result.fun:.3f}")
    for name, log_variance, error in zip(("a year", "the level"), result.x, errors):
        variance = 1e4 * np.exp(log_variance)
        print(f"    variance of {name:9} {variance:8.0f}   standard error of its log {error:.2f}")

    a, b = np.linspace(-1.6, 1.4, GRID), np.linspace(-5.0, 1.5, GRID)
    pairs = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
    start = time.perf_counter()
    surface = vmap(negative_log_likelihood, in_dims=(0, None))(pairs, NILE)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    alone = np.array([negative_log_likelihood(pair, NILE) for pair in pairs[:20]])
    loop = (time.perf_counter() - start) * len(pairs) / 20
    off = np.max(np.abs(surface[:20] / alone - 1))
    print(f"(b) {len(pairs)} filters: {seconds:.2f} s by vmap, {loop:.1f} s in a loop")
    print(f"    largest relative difference {off:.1e}")

    flows = simulated(np.random.default_rng(SEED), result.x, RIVERS)
    thetas = np.tile(result.x, (RIVERS, 1))
    start = time.perf_counter()
    for _ in bar(range(10), "(c) Newton"):
        thetas = vmap(newton_step)(thetas, flows)
    seconds = time.perf_counter() - start
    slopes = vmap(grad(negative_log_likelihood))(thetas, flows)
    settled = np.sum(np.max(np.abs(slopes), axis=1) < 1e-3)
    print(f"(c) {RIVERS} simulated rivers fitted at once in {seconds:.1f} s,")
    print(f"    {settled} of them to a slope below 0.001")
    matrices = vmap(hessian(negative_log_likelihood), in_dims=(None, 0))(result.x, flows)
    expected = np.sqrt(np.diag(np.linalg.inv(np.mean(matrices, axis=0))))
    low, high = np.percentile(thetas, [16, 84], axis=0)
    for name, width, error in zip(("a year", "the level"), (high - low) / 2, expected):
        print(
            f"    log variance of {name:9} two thirds within {width:.2f} of the middle "
            f"(by the Hessian: {error:.2f})"
        )
    draw(out / "kalman_noise.png", way, (a, b), surface.reshape(GRID, GRID), thetas, result.x)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
