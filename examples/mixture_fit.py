"""A mixture of normal distributions, fitted by SciPy's `minimize`, with its standard errors.

    python examples/mixture_fit.py [--out DIR]

The flowers of three species of iris are to be found from their measures alone. Each species is a
normal distribution of four measures with a mean and a covariance. The usual method is EM, a pair
of formulas for this very model. Here the likelihood is all that is written.

(a) `ravel_pytree` puts the parameters in one vector; a trust-region method gets the gradient
    (``jac``) and products with the Hessian (``hessp``), as ``jvp`` of ``grad``;
(b) scikit-learn's EM, from the same start, ends at the same likelihood. It is made for this
    model and needs fewer passes over the data; the code of (a) would take any other density;
(c) the Hessian at the end gives what EM does not: standard errors of all parameters, beside those
    that hold for a wrong model, too (White, "Maximum likelihood estimation of misspecified
    models", 1982), from the gradients of the single flowers by ``vmap`` of ``grad``.

The density is written for one flower and one species. The data come with scikit-learn.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from functier import grad, hessian, jvp, ravel_pytree, value_and_grad, vmap

SEED = 0
SPECIES, MEASURES = 3, 4
COLORS = ["tab:blue", "tab:orange", "tab:green"]
BELOW = np.tril_indices(MEASURES, -1)
PLACES = np.zeros((len(BELOW[0]), MEASURES, MEASURES))
PLACES[np.arange(len(BELOW[0])), *BELOW] = 1.0


# ---- the model: for one flower and one species ----


def whitener(species):
    """A triangular matrix that makes the measures of a species independent, of variance 1."""
    return np.tensordot(species["slants"], PLACES, 1) + np.diag(np.exp(species["log_scales"]))


def log_density(species, flower):
    white = (flower - species["mean"]) @ whitener(species)
    scale = np.sum(species["log_scales"]) - 0.5 * MEASURES * np.log(2 * np.pi)
    return scale - 0.5 * np.sum(white * white)


def log_shares(params):
    """The logarithms of the shares of the species; the last logit is 0."""
    logits = np.concatenate([params["logits"], np.zeros(1)])
    return logits - np.logaddexp.reduce(logits)


def log_parts(params, flower):
    """Logarithms of the parts of each species in the density of a flower."""
    return log_shares(params) + vmap(log_density, (0, None))(params["species"], flower)


def surprise(params, flower):
    return -np.logaddexp.reduce(log_parts(params, flower))


def total(params, flowers):
    return np.sum(vmap(surprise, (None, 0))(params, flowers))


# ---- the fits ----


def first(flowers):
    """The start of both methods: equal shares, and the clusters of k-means."""
    labels = KMeans(SPECIES, n_init=10, random_state=SEED).fit_predict(flowers)
    groups = [flowers[labels == i] for i in range(SPECIES)]
    factors = np.stack([np.linalg.cholesky(np.linalg.inv(np.cov(g.T))) for g in groups])
    diagonals = np.diagonal(factors, axis1=1, axis2=2)
    return {
        "logits": np.zeros(SPECIES - 1),
        "species": {
            "mean": np.stack([g.mean(axis=0) for g in groups]),
            "log_scales": np.log(diagonals),
            "slants": factors[:, *BELOW],
        },
    }


def fit(params, flowers):
    """The parameters of the largest likelihood, as a vector; `unravel`, and the path to them."""
    start, unravel = ravel_pytree(params)

    def loss(v):
        return total(unravel(v), flowers)

    def product(v, direction):
        products.append(1)
        return jvp(grad(loss), (v,), (direction,))[1]

    products, path = [], [(0, loss(start))]
    result = minimize(
        value_and_grad(loss), start, jac=True, hessp=product, method="trust-krylov",
        options={"gtol": 1e-6},
        callback=lambda v: path.append((len(path) + len(products), loss(v))),
    )  # fmt: skip
    return result, unravel, loss, len(products), np.array(path)


def expectation_maximization(params, flowers, steps=60):
    """The negative log likelihood after each step of scikit-learn's EM."""
    factors = vmap(whitener)(params["species"])
    model = GaussianMixture(
        SPECIES, weights_init=np.exp(log_shares(params)), means_init=params["species"]["mean"],
        precisions_init=factors @ np.swapaxes(factors, 1, 2), reg_covar=0.0, max_iter=1,
        tol=0.0, warm_start=True,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # after each single step
        scores = [model.fit(flowers).score(flowers) for _ in range(steps)]
    return -len(flowers) * np.array(scores)


def errors(v, unravel, loss, flowers):
    """Covariances of the parameters: from the Hessian, and those for a wrong model."""
    inverse = np.linalg.inv(hessian(loss)(v))
    single = vmap(grad(lambda v, flower: surprise(unravel(v), flower)), (None, 0))(v, flowers)
    return inverse, inverse @ (single.T @ single) @ inverse


# ---- the picture ----


def ellipse(species, i, j):
    """Two standard deviations of two of the measures, as a line."""
    covariance = np.linalg.inv(whitener(species) @ whitener(species).T)[np.ix_([i, j], [i, j])]
    angle = np.linspace(0, 2 * np.pi, 100)
    circle = 2 * np.stack([np.cos(angle), np.sin(angle)])
    return species["mean"][[i, j]] + (np.linalg.cholesky(covariance) @ circle).T


def draw(path, flowers, names, params, draws, guess, tracks):
    """Draw the flowers with the ellipses of the species, and the paths of both methods."""
    figure = Figure(figsize=(13, 6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, color in enumerate(COLORS):
        left.plot(*flowers[guess == k][:, 2:].T, "o", color=color, markersize=5)
        pick = lambda tree, k=k: {n: leaf[k] for n, leaf in tree["species"].items()}  # noqa: E731
        for one in draws:
            left.plot(*ellipse(pick(one), 2, 3).T, color=color, linewidth=0.5, alpha=0.35)
        left.plot(*ellipse(pick(params), 2, 3).T, color=color, linewidth=2.5)
    left.set_title("The species found, and what the data leave open", fontsize=15)
    left.set_xlabel(names[2], fontsize=13)
    left.set_ylabel(names[3], fontsize=13)
    best = min(values.min() for _, values in tracks.values())
    for name, (work, values) in tracks.items():
        right.semilogy(work, np.maximum(values - best, 1e-10), "o-", markersize=4, label=name)
    right.set_title("The way to the largest likelihood", fontsize=15)
    right.set_xlabel("passes over the data: EM steps, or gradients and products", fontsize=13)
    right.set_ylabel("negative log likelihood above its minimum", fontsize=13)
    right.legend(fontsize=12)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=11)
    figure.savefig(path, dpi=110)


# ---- all of it ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    iris = load_iris()
    flowers, start = iris.data, first(iris.data)

    begin = time.perf_counter()
    result, unravel, loss, products, path = fit(start, flowers)
    seconds = time.perf_counter() - begin
    params = unravel(result.x)
    steps = expectation_maximization(start, flowers)
    covariance, robust = errors(result.x, unravel, loss, flowers)

    print(f"(a) {len(result.x)} parameters, {result.nit} steps, {products} products,", end="")
    print(f" {seconds:.1f} s: log likelihood {-result.fun:.6f}")
    print(f"(b) EM, {len(steps)} steps: log likelihood {-steps[-1]:.6f}")
    parts = vmap(log_parts, (None, 0))(params, flowers)
    guess = np.argmax(parts, axis=1)
    order = [np.bincount(iris.target[guess == k]).argmax() for k in range(SPECIES)]
    right = np.sum(np.array(order)[guess] == iris.target)
    print(f"    flowers of the right species: {right} of {len(flowers)}")

    deviations = unravel(np.sqrt(np.diagonal(covariance)))["species"]["mean"]
    others = unravel(np.sqrt(np.diagonal(robust)))["species"]["mean"]
    shares = np.exp(log_shares(params))
    print("\n(c) means          share" + "".join(f"{name[:-5]:>24}" for name in iris.feature_names))
    for k in range(SPECIES):
        cells = [
            f"{params['species']['mean'][k, i]:8.3f} ± {deviations[k, i]:.3f} ({others[k, i]:.3f})"
            for i in range(MEASURES)
        ]
        print(f"    {iris.target_names[order[k]]:12}{shares[k]:8.3f}" + "".join(cells))

    rng = np.random.default_rng(SEED)
    draws = [unravel(v) for v in rng.multivariate_normal(result.x, covariance, 25)]
    picture = out / "mixture_fit.png"
    tracks = {
        "trust-krylov, by jac and hessp": path.T,
        "EM": (np.arange(1, len(steps) + 1), steps),
    }
    draw(picture, flowers, iris.feature_names, params, draws, guess, tracks)
    print(f"\npicture: {picture}")


if __name__ == "__main__":
    main()
