"""SciPy's optimizers and sparse solvers with derivatives by functier.

    python examples/newton_scipy.py [--out DIR]

(a) logistic regression on 569 breast tumours: `scipy.optimize.minimize` with the gradient
    by `value_and_grad` and Hessian-vector products by `hvp`, beside finite differences;
(b) the Bratu problem, a nonlinear boundary-value problem (-u'' = c exp(u), u = 0 at both
    ends; as the temperature of a fuel that heats itself), by Newton's method with
    `sparse_jacobian` and `scipy.sparse.linalg.spsolve`: in one dimension with 100,000
    unknowns, beside the exact solution, and in two with 16,384.

The functions are plain NumPy. functier finds out that their Jacobians are sparse, and where the
entries are. The data come with scikit-learn.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq, minimize
from scipy.sparse.linalg import spsolve
from sklearn.datasets import load_breast_cancer
from tqdm import tqdm

from functier import hessian, hvp, sparse_jacobian, value_and_grad

RIDGE = 1e-3
LINE = 100_000
SQUARE = 128
HEAT_LINE = 3.5  # beyond 3.5138 there is no solution
HEAT_SQUARE = 6.8  # beyond 6.8081


# ---- (a) logistic regression ----


def load():
    """Thirty measurements of each tumour, scaled, with a column of ones; and -1 or 1."""
    data = load_breast_cancer()
    x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    return np.concatenate([x, np.ones((len(x), 1))], axis=1), 2.0 * data.target - 1


def logistic_loss(x, y):
    """The loss as a function of the weights alone."""

    def loss(w):
        return np.mean(np.logaddexp(0, -y * (x @ w))) + 0.5 * RIDGE * np.sum(w * w)

    return loss


class Counted:
    """A function that counts its calls."""

    def __init__(self, func):
        self.func, self.calls = func, 0

    def __call__(self, *args):
        self.calls += 1
        return self.func(*args)


def optimize(loss, start, method, derivatives):
    """Minimise `loss`; return SciPy's result, the work, and the loss after each iteration.

    The work is the number of calls of the loss, of its gradient and of products.
    """
    slope, product = value_and_grad(loss), Counted(lambda w, v: hvp(loss, (w,), (v,))[1][0])
    matrix = Counted(hessian(loss))
    value = Counted(loss if derivatives == "differences" else slope)
    options = {"jac": None if derivatives == "differences" else True}
    if derivatives == "products":
        options["hessp"] = product
    if derivatives == "Hessian":
        options["hess"] = matrix
    path = [(1, loss(start))]

    def note(w):
        path.append((value.calls + product.calls + len(start) * matrix.calls, loss(w)))

    begin = time.perf_counter()
    result = minimize(value, start, method=method, tol=1e-6, callback=note, **options)
    seconds = time.perf_counter() - begin
    return result, value.calls, product.calls, matrix.calls, seconds, np.array(path)


OPTIMIZERS = [
    ("BFGS", "differences"), ("BFGS", "gradient"), ("Newton-CG", "gradient"),
    ("Newton-CG", "products"), ("trust-ncg", "products"), ("trust-exact", "Hessian"),
]  # fmt: skip
"""Methods of `minimize`, and what they get beside the loss."""


def compare(loss, start):
    return {
        names: optimize(loss, start, *names)
        for names in tqdm(OPTIMIZERS, desc="(a) optimizers", unit="method")
    }


# ---- (b) a nonlinear boundary-value problem ----


def bratu_line(u, heat=HEAT_LINE):
    """The residual at the inner points of the line from 0 to 1."""
    v = np.pad(u, 1)
    return (2 * u - v[:-2] - v[2:]) * (len(u) + 1) ** 2 - heat * np.exp(u)


def bratu_square(u, heat=HEAT_SQUARE):
    """The residual at the inner points of the unit square; `u` has two axes."""
    v = np.pad(u, 1)
    neighbours = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return (4 * u - neighbours) * (len(u) + 1) ** 2 - heat * np.exp(u)


def exact_line(n, heat=HEAT_LINE):
    """The lower one of the two solutions on the line."""
    theta = brentq(lambda t: t - np.sqrt(2 * heat) * np.cosh(t / 4), 0, 4.79)
    x = np.linspace(0, 1, n + 2)[1:-1]
    return -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4))


def newton(residual, u, tolerance=1e-9, limit=20):
    """Solve ``residual(u) = 0``.

    Return the solution, the lengths of the steps, the last Jacobian, and the seconds spent on
    Jacobians and on solving.
    """
    jacobian = sparse_jacobian(residual)
    lengths, spent = [], []
    with tqdm(desc=f"(b) Newton, {u.size} unknowns", unit="step") as progress:
        while len(lengths) < limit and (not lengths or lengths[-1] > tolerance):
            start = time.perf_counter()
            matrix = jacobian(u)
            middle = time.perf_counter()
            step = spsolve(matrix, residual(u).reshape(-1))
            spent.append((middle - start, time.perf_counter() - middle))
            u = u - step.reshape(u.shape)
            lengths.append(np.max(np.abs(step)))
            progress.update()
    return u, lengths, matrix, np.array(spent)


# ---- the picture ----


def draw(path, results, problems):
    """Draw the loss against the work of each optimizer, and Newton's steps on both problems."""
    best = min(result.fun for result, *_ in results.values())
    figure = Figure(figsize=(13, 5.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (method, derivatives), (*_, track) in results.items():
        work, losses = track.T
        above = np.maximum(losses - best, 1e-16)
        left.loglog(work, above, "o-", markersize=4, label=f"{method}, {derivatives}")
    left.set_ylim(1e-13, 2)
    left.set_title("Logistic regression, 31 weights", fontsize=15)
    left.set_xlabel("calls: losses, gradients, Hessian-vector products", fontsize=12)
    left.set_ylabel("loss above its minimum", fontsize=12)
    for name, lengths in problems.items():
        right.semilogy(np.arange(1, len(lengths) + 1), lengths, "o-", label=name)
    right.set_title("Newton's method on the Bratu problem", fontsize=15)
    right.set_xlabel("step", fontsize=12)
    right.set_ylabel("largest change of the solution", fontsize=12)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=11)
        axes.tick_params(labelsize=11)
    figure.savefig(path, dpi=120)


# ---- all of it ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    x, y = load()
    loss = logistic_loss(x, y)
    results = compare(loss, np.zeros(x.shape[1]))
    line = newton(bratu_line, np.zeros(LINE))
    square = newton(bratu_square, np.zeros((SQUARE, SQUARE)))

    print("\n(a) method       given          steps  losses  products  Hessians     time  loss")
    for (method, derivatives), (result, *counts, seconds, _) in results.items():
        values, products, matrices = counts
        print(
            f"    {method:12} {derivatives:13}{result.nit:7d}{values:8d}{products:10d}"
            f"{matrices:10d}{1e3 * seconds:7.0f} ms  {result.fun:.10f}"
        )
    print("    (a loss comes with its gradient, but for 'differences'; a Hessian is 31 products)")

    print("\n(b) step   largest change, line   largest change, square")
    for i in range(max(len(line[1]), len(square[1]))):
        cells = [f"{p[1][i]:.3e}" if i < len(p[1]) else "" for p in (line, square)]
        print(f"    {i + 1:4d}   {cells[0]:>20}   {cells[1]:>22}")
    print()
    error = np.max(np.abs(line[0] - exact_line(LINE)))
    rows = []
    for name, (u, _, matrix, spent) in {"line": line, "square": square}.items():
        seconds = [spent[0, 0], np.mean(spent[1:, 0]), np.mean(spent[:, 1])]
        rows += [
            (f"{name}, unknowns", f"{u.size:,}"),
            ("    entries of the Jacobian", f"{matrix.nnz:,}"),
            ("    memory of a dense one", f"{8 * u.size**2 / 1e9:.1f} GB"),
            ("    first Jacobian, with its pattern", f"{1e3 * seconds[0]:.0f} ms"),
            ("    each further one", f"{1e3 * seconds[1]:.1f} ms"),
            ("    solving with one", f"{1e3 * seconds[2]:.1f} ms"),
            ("    highest point of the solution", f"{np.max(u):.6f}"),
        ]
    rows.append(("line, largest error", f"{error:.0e}"))
    for name, result in rows:
        print(f"{name:40}{result:>14}")
    draw(out / "newton_scipy.png", results, {
        f"line, {LINE:,} unknowns": line[1], f"square, {SQUARE**2:,} unknowns": square[1],
    })  # fmt: skip
    print(f"\npicture: {out / 'newton_scipy.png'}")


if __name__ == "__main__":
    main()
