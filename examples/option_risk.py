"""The risk of options: derivatives of prices that a package computes.

    python examples/option_risk.py [--out DIR]

The prices are those of the package jetblack_options. It is written in plain Python, with the
functions of `math` and without NumPy. `functier.adopt` makes it work under transforms, together
with Python's module `statistics`, which it takes the normal distribution from.

(a) A European option: all six first derivatives by one `grad`, and the second by `hessian`. The
    package has formulas for them, with which they are compared.
(b) An American put, which may be exercised early, by a binomial tree. There are no formulas. The
    price and its derivatives are computed for 80 prices of the asset at once, by `vmap`. The
    steps in the picture are those of the tree, whose price consists of straight pieces.
(c) A portfolio: its loss in each of 5000 scenarios, and what one gradient and one Hessian predict.
"""

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
from jetblack_options.european import generalised_black_scholes as european
from jetblack_options.trees import cox_ross_rubinstein as tree
from matplotlib.figure import Figure

from functier import adopt, grad, hessian, value_and_grad, vmap

adopt("jetblack_options", "statistics")

SEED = 0
STRIKE, EXPIRY, RATE, CARRY, VOLATILITY = 100.0, 0.5, 0.06, 0.06, 0.25
PRICES, STEPS = np.linspace(60.0, 140.0, 80), 120
NAMES = ["asset", "strike", "expiry", "rate", "carry", "volatility"]
"""The arguments of the package's functions, in their order."""

PORTFOLIO = [  # how many, call or put, strike, expiry
    (10, True, 105.0, 0.25),
    (-20, True, 115.0, 0.25),
    (15, False, 95.0, 0.5),
    (-10, False, 85.0, 1.0),
    (5, True, 100.0, 1.0),
]
TODAY = np.array([100.0, 0.25, 0.04])  # asset, volatility, rate
SCENARIOS = 5000


# ---- prices ----


def american_put(*args):
    return tree.price(False, False, *args, STEPS)


def european_put(*args):
    return european.price(False, *args)


def portfolio(market):
    """The value of the portfolio, for an asset's price, a volatility and a rate."""
    asset, volatility, rate = market
    return sum(
        count * european.price(call, asset, strike, expiry, rate, rate, volatility)
        for count, call, strike, expiry in PORTFOLIO
    )


def differences(price, args, step=1e-5):
    """The derivatives of a price by central differences."""
    args, units = np.array(args), step * np.eye(len(args))
    return np.array([(price(*(args + d)) - price(*(args - d))) / (2 * step) for d in units])


def off(a, b):
    """The largest difference of `a` from `b`, relative to the largest entry of `b`."""
    return np.max(np.abs(np.subtract(a, b))) / np.max(np.abs(b))


# ---- all of it ----


def formulas():
    """Compare derivatives of a European call with the package's formulas; return them."""
    args = (105.0, STRIKE, EXPIRY, RATE, 0.02, VOLATILITY)

    def call(*args):
        return european.price(True, *args)

    slopes = grad(call, argnums=tuple(range(6)))(*args)
    ((gamma, vanna), (_, vomma)) = hessian(call, argnums=(0, 5))(*args)
    found = {
        "delta": slopes[0], "theta": -slopes[2], "vega": slopes[5],
        "gamma": gamma, "vanna": vanna, "vomma": vomma,
    }  # fmt: skip
    table = []
    for name, value in found.items():
        kind = (True,) if name in ("delta", "theta") else ()  # the others are those of a put, too
        table.append((name, value, getattr(european, name)(*kind, *args)))
    return table, off(slopes, differences(call, args))


def put_curves(price):
    """The price of a put and its six derivatives, for all prices of the asset at once."""
    both = vmap(value_and_grad(price, argnums=tuple(range(6))), in_dims=(0, *[None] * 5))
    values, slopes = both(PRICES, STRIKE, EXPIRY, RATE, CARRY, VOLATILITY)
    return values, np.stack(slopes, axis=-1)


def draw(path, american, plain, losses, predictions):
    """Draw the put, its derivatives, and the scenarios."""
    figure = Figure(figsize=(10, 9), layout="constrained")
    axes = figure.subplot_mosaic([["price", "slopes"], ["portfolio", "portfolio"]])
    left, middle, right = axes["price"], axes["slopes"], axes["portfolio"]
    left.plot(PRICES, np.maximum(STRIKE - PRICES, 0), color="gray", label="exercised now")
    left.plot(PRICES, plain[0], "--", color="tab:blue", linewidth=2, label="European")
    left.plot(PRICES, american[0], color="tab:red", linewidth=2, label="American")
    left.set_title("The price of a put")
    for i, color, mark in ((0, "tab:blue", "o"), (5, "tab:red", "s"), (3, "tab:green", "^")):
        scale = 1 if i == 0 else 100
        name = "asset" if i == 0 else f"1% of {NAMES[i]}"
        middle.plot(
            PRICES, american[1][:, i] / scale, color=color, linewidth=2, label=name,
            marker=mark, markevery=8,
        )  # fmt: skip
        middle.plot(PRICES, plain[1][:, i] / scale, "--", color=color, linewidth=1.2)
    middle.set_title("Its derivatives (dashed: European)")
    left.set_ylabel("price of the put")
    middle.set_ylabel("change of the price")
    for part in (left, middle):
        part.set_xlabel("price of the asset")
    ends = np.percentile(losses, [0.1, 99.9])
    right.plot(ends, ends, color="black", linewidth=0.8)
    for name, color in (("gradient", "tab:orange"), ("gradient and Hessian", "tab:blue")):
        right.plot(losses, predictions[name], ".", color=color, markersize=2, label=name)
    right.set_xlim(*ends)
    right.set_ylim(*ends + 0.3 * (ends[1] - ends[0]) * np.array([-1, 1]))
    right.set_title(f"{SCENARIOS} scenarios of a portfolio")
    right.set_xlabel("change of the portfolio's value")
    right.set_ylabel("predicted change")
    for part in (left, middle, right):
        part.grid(alpha=0.3)
        part.legend(fontsize=12, markerscale=4 if part is right else 1)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    table, far = formulas()
    print("(a) a European call      functier    the formula")
    for name, value, truth in table:
        print(f"    {name:12} {value:16.10f} {truth:14.10f}")
    worst = max(abs(value / truth - 1) for _, value, truth in table)
    print(f"    largest relative difference {worst:.1e}, from central differences {far:.1e}")

    start = time.perf_counter()
    american = put_curves(american_put)
    seconds = time.perf_counter() - start
    args = (STRIKE, EXPIRY, RATE, CARRY, VOLATILITY)
    far = max(off(american[1][i], differences(american_put, (PRICES[i], *args)))
              for i in range(0, 80, 8))  # fmt: skip
    plain = put_curves(european_put)
    edge = np.flatnonzero(american[0] <= STRIKE - PRICES)[-1]
    print(f"(b) {len(PRICES)} prices, each with six derivatives, by a tree of {STEPS} steps")
    print(f"    {seconds:.2f} s, largest relative difference from central differences {far:.1e}")
    print(f"    exercised at once up to an asset's price of {PRICES[edge]:.0f}, where delta is")
    print(f"    {american[1][edge, 0]:.3f}; that of a European put is {plain[1][edge, 0]:.3f}")

    rng = np.random.default_rng(SEED)
    shifts = rng.normal(size=(SCENARIOS, 3)) * [3.0, 0.02, 0.003]
    value, slope = value_and_grad(portfolio)(TODAY)
    matrix = hessian(portfolio)(TODAY)
    far = max(
        off(slope, differences(lambda *market: portfolio(market), TODAY)),
        off(matrix, differences(lambda *market: grad(portfolio)(np.array(market)), TODAY)),
    )
    start = time.perf_counter()
    losses = vmap(portfolio)(TODAY + shifts) - value
    seconds = time.perf_counter() - start
    linear = shifts @ slope
    predictions = {
        "gradient": linear,
        "gradient and Hessian": linear + 0.5 * np.einsum("si,ij,sj->s", shifts, matrix, shifts),
    }
    print(f"(c) {SCENARIOS} scenarios of {len(PORTFOLIO)} options: {seconds:.3f} s by vmap")
    print(f"    largest relative difference from central differences {far:.1e}")
    print(f"    value {value:.2f}; by the asset {slope[0]:.2f}, by a percent of volatility "
          f"{slope[1] / 100:.2f}, by a percent of the rate {slope[2] / 100:.2f}")  # fmt: skip
    print(f"    in 1% of the scenarios more is lost than {-np.percentile(losses, 1):.1f}")
    for name, predicted in predictions.items():
        error = np.std(predicted - losses) / np.std(losses)
        print(
            f"    by {name:21} {-np.percentile(predicted, 1):6.1f}, error of a scenario {error:.0%}"
        )
    with matplotlib.rc_context({"font.size": 14}):
        draw(out / "option_risk.png", american, plain, losses, predictions)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
