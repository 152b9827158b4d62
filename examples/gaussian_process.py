"""A Gaussian process on terrain: a map from 300 heights, with its uncertainty.

    python examples/gaussian_process.py [--out DIR]

Heights are known at random places in the mountains near Jacksboro, Tennessee. A Gaussian process
makes a map of them, with a standard deviation everywhere (Rasmussen and Williams, "Gaussian
processes for machine learning", 2006, chapters 2 and 5). How far heights are alike, in which
direction, and by how much they vary is learnt from the heights: it maximizes their marginal
likelihood.

(a) Adam (`functier.optim`) from four starts at once: `vmap` of a loop of steps, with a Cholesky
    factor in each;
(b) SciPy's L-BFGS from the best of them, with `ravel_pytree`, and standard errors of what was
    learnt from the Hessian;
(c) the map, and how far it is from the truth.

The kernel is written for two places and the prediction for one. The elevations come with
Matplotlib; scikit-learn has the same likelihood, for a kernel without a direction.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from functier import grad, hessian, optim, ravel_pytree, value_and_grad, vmap
from functier.progress import bar
from functier.scipy import linalg as sl

SEED = 0
PLACES = 300
STEPS = 40
RATE = 0.1
REGION = slice(144, 344), slice(40, 240)
CELL = 0.0745, 0.0925
"""The width and height of a cell of the elevation model, in km."""

START = {"along": 1.0, "across": 0.0, "angle": 0.0, "height": 0.0, "noise": -1.0, "level": 5.0}
"""Logarithms of lengths in km and of heights in 100 m; an angle; the mean height in 100 m."""

ANGLES = np.pi * np.arange(4) / 4


def load():
    """The elevation in units of 100 m, and the places of its cells in km from the south-west."""
    with get_sample_data("jacksboro_fault_dem.npz") as data:
        elevation = data["elevation"][REGION] / 100.0
    rows, columns = elevation.shape
    east, north = np.arange(columns) * CELL[0], np.arange(rows)[::-1] * CELL[1]
    return elevation, np.stack(np.meshgrid(east, north), axis=-1)


def survey(rng, elevation, places):
    """Random places, and their heights."""
    chosen = rng.choice(elevation.size, PLACES, replace=False)
    return places.reshape(-1, 2)[chosen], elevation.reshape(-1)[chosen]


# ---- the model: for two places, and for one ----


def kernel(params, a, b):
    """The covariance of the heights at two places: Matern's with 3/2, in a turned ellipse."""
    cos, sin = np.cos(params["angle"]), np.sin(params["angle"])
    east, north = a - b
    along = (cos * east + sin * north) * np.exp(-params["along"])
    across = (cos * north - sin * east) * np.exp(-params["across"])
    distance = np.sqrt(3) * np.hypot(along, across)
    return np.exp(2 * params["height"]) * (1 + distance) * np.exp(-distance)


covariances = vmap(vmap(kernel, (None, None, 0)), (None, 0, None))
"""Between all places of one array and all of another."""


def factor(params, x):
    """The Cholesky factor of the covariance of measured heights."""
    noise = np.exp(2 * params["noise"]) * np.eye(len(x))
    return sl.cholesky(covariances(params, x, x) + noise, lower=True)


def surprise(params, x, y):
    """The negative logarithm of the marginal likelihood of heights `y` at the places `x`."""
    chol = factor(params, x)
    white = sl.solve_triangular(chol, y - params["level"], lower=True)
    logs = np.sum(np.log(np.diagonal(chol)))
    return 0.5 * np.sum(white * white) + logs + 0.5 * len(y) * np.log(2 * np.pi)


def predict(params, x, y, place):
    """The mean height at a place and its standard deviation, with the noise."""
    chol = factor(params, x)
    white = sl.solve_triangular(chol, y - params["level"], lower=True)
    weights = sl.solve_triangular(chol, vmap(kernel, (None, 0, None))(params, x, place), lower=True)
    variance = np.exp(2 * params["height"]) + np.exp(2 * params["noise"]) - weights @ weights
    return params["level"] + weights @ white, np.sqrt(variance)


# ---- the fits ----


def fit(angle, x, y):
    """Minimize the surprise by Adam, from one angle."""

    params = {**START, "angle": angle}
    state = optim.adam_init(params)
    for _ in bar(range(STEPS), "(a) Adam"):
        params, state = optim.adam(params, grad(surprise)(params, x, y), state, RATE, b2=0.9)
    return params, surprise(params, x, y)


def fit_by_scipy(params, x, y):
    """The same by L-BFGS: parameters, their standard errors, and SciPy's result."""
    start, unravel = ravel_pytree(params)

    def on_vectors(v):
        return surprise(unravel(v), x, y)

    result = minimize(value_and_grad(on_vectors), start, jac=True, method="L-BFGS-B")
    errors = np.sqrt(np.diagonal(np.linalg.inv(hessian(on_vectors)(result.x))))
    return unravel(result.x), unravel(errors), result


def scikit_learn(params, x, y):
    """The surprise and its gradient by scikit-learn, for a kernel that is not turned."""
    shape = Matern(np.exp([params["along"], params["across"]]), nu=1.5)
    whole = ConstantKernel(np.exp(2 * params["height"])) * shape
    whole += WhiteKernel(np.exp(2 * params["noise"]))
    model = GaussianProcessRegressor(whole, alpha=0.0, optimizer=None).fit(x, y - params["level"])
    value, slope = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    order = {"height": 2 * -slope[0], "along": -slope[1], "across": -slope[2]}
    return -value, {**order, "noise": 2 * -slope[3]}


# ---- the picture ----


def draw(path, elevation, places, x, mean, deviation, coarse):
    """Draw the truth, the map, its uncertainty, and its errors."""
    extent = (0, places[..., 0].max(), 0, places[..., 1].max())
    figure = Figure(figsize=(11, 11), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    heights = {"cmap": "terrain", "vmin": 200, "vmax": 1080}
    ratios = {"cmap": "RdBu_r", "vmin": -3, "vmax": 3}
    for axes, values, title, unit, options in (
        (panels[0, 0], 100 * elevation, "The terrain", "m", heights),
        (panels[0, 1], 100 * mean, f"A map from {len(x)} heights", "m", heights),
        (panels[1, 0], 100 * deviation, "Its standard deviation", "m", {"cmap": "viridis"}),
        (panels[1, 1], (mean - coarse) / deviation, "Its error / standard deviation", "", ratios),
    ):
        image = axes.imshow(values, extent=extent, **options)
        figure.colorbar(image, ax=axes, label=unit, shrink=0.9)
        axes.set_title(title, fontsize=16)
        axes.tick_params(labelsize=11)
    for axes in (panels[0, 1], panels[1, 0]):
        axes.plot(*x.T, "o", color="black", markersize=2.5)
    figure.supxlabel("km to the east", fontsize=14)
    figure.supylabel("km to the north", fontsize=14)
    figure.savefig(path, dpi=100)


# ---- all of it ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    elevation, places = load()
    x, y = survey(np.random.default_rng(SEED), elevation, places)

    value, slopes = value_and_grad(surprise)(START, x, y)
    known, others = scikit_learn(START, x, y)
    off = max(abs(slopes[name] / other - 1) for name, other in others.items())
    print("relative difference from scikit-learn, without a direction: ", end="")
    print(f"value {abs(value / known - 1):.0e}, gradient {off:.0e}")

    begin = time.perf_counter()
    fits, values = vmap(fit, (0, None, None))(ANGLES, x, y)
    seconds = time.perf_counter() - begin
    best = {name: v[np.argmin(values)] for name, v in fits.items()}
    params, errors, result = fit_by_scipy(best, x, y)
    print(f"\n(a) {STEPS} steps of Adam from {len(ANGLES)} starts at once: {seconds:.1f} s")
    degrees = np.degrees([ANGLES, fits["angle"] % np.pi]).T
    for (before, after), value in zip(degrees, values):
        print(f"    from {before:4.0f} to {after:4.0f} degrees, surprise {value:.3f}")
    print(f"(b) L-BFGS, {result.nfev} gradients: surprise {result.fun:.3f}")
    for name in START:
        print(f"    {name:10}{params[name]:8.3f}, standard error {errors[name]:.3f}")

    coarse, points = elevation[::2, ::2], places[::2, ::2]
    maps = vmap(vmap(predict, (None, None, None, 0)), (None, None, None, 0))
    mean, deviation = maps(params, x, y, points)
    error = mean - coarse
    draw(out / "gaussian_process.png", elevation, places, x, mean, deviation, coarse)
    print(f"(c) heights deviate from their mean by {100 * np.std(coarse):6.1f} m")
    print(f"    the map deviates from the truth by {100 * np.sqrt(np.mean(error**2)):6.1f} m")
    print(f"    within two standard deviations {np.mean(np.abs(error) < 2 * deviation):10.1%}")
    print(f"\npicture: {out / 'gaussian_process.png'}")


if __name__ == "__main__":
    main()
