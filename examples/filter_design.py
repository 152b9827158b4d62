"""A digital filter designed by gradients, and the cutoffs of a filter from what it does.

    python examples/filter_design.py [--out DIR]

(a) A low-pass filter should not only keep low frequencies and remove high ones: it should also
    delay all that it keeps by the same time. The classical designs, an elliptic filter for one,
    have no parameter for that. Here the poles and zeros of a filter of the same order are
    optimised from the elliptic ones, by the gradient of a loss of the response that SciPy computes.
(b) A measured response is that of a Butterworth band-pass. Its two cutoffs and its gain are fitted
    by `scipy.optimize.curve_fit`, with a Jacobian through `scipy.signal.butter`.

SciPy's functions are those of `functier.scipy.signal`. They are SciPy's own code.
"""

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
import scipy.optimize
from matplotlib.figure import Figure

import functier.numpy as fnp
from functier import grad, jacfwd, value_and_grad, vmap
from functier.scipy import signal

SEED = 0
ORDER, RIPPLE, ATTENUATION, EDGE, STOP = 6, 1.0, 40.0, 0.30, 0.42
"""Of the elliptic filter; the edges of the bands are in units of the largest frequency."""
PASSED = np.pi * np.linspace(0.0, EDGE, 60)
STOPPED = np.pi * np.linspace(STOP, 1.0, 60)
BETWEEN = np.pi * np.linspace(EDGE, STOP, 20)
DELAYS = np.arange(5.0, 12.0)
TRUE = np.array([0.18, 0.37, 0.8])  # two cutoffs and a gain
NOISE = 0.01


# ---- (a) poles, zeros and a delay ----


def filter_of(parameters):
    """Return the zeros, poles and gain of real numbers: pairs of a radius and an angle."""
    half = ORDER // 2
    angles, radii, logits, gain = (
        parameters[:half], parameters[half : 2 * half], parameters[2 * half : -1], parameters[-1],
    )  # fmt: skip
    pole_angles, pole_radii = logits[:half], 1 / (1 + fnp.exp(-logits[half : 2 * half]))
    zeros = radii * fnp.exp(1j * angles)
    poles = pole_radii * fnp.exp(1j * pole_angles)
    pairs = [fnp.concatenate([roots, fnp.conj(roots)]) for roots in (zeros, poles)]
    return (*pairs, gain)


def parameters_of(z, p, k):
    """Return the real numbers of a filter whose zeros and poles are all complex."""
    z, p = z[np.imag(z) > 0], p[np.imag(p) > 0]
    logits = np.log(np.abs(p) / (1 - np.abs(p)))
    return np.concatenate([np.angle(z), np.abs(z), np.angle(p), logits, [k]])


def loss(parameters, delay):
    """The squared distance from a pure delay in the one band, and from nothing in the other.

    Between them the filter must not make anything louder.
    """
    z, p, k = filter_of(parameters)
    passed, between, stopped = (signal.freqz_zpk(z, p, k, w)[1] for w in (PASSED, BETWEEN, STOPPED))
    wanted = np.exp(-1j * delay * PASSED)
    louder = fnp.maximum(fnp.abs(between) - 1, 0.0)
    return (
        fnp.mean(fnp.abs(passed - wanted) ** 2)
        + 10 * fnp.mean(fnp.abs(stopped) ** 2)
        + 10 * fnp.mean(louder**2)
    )


def unstable(parameters):
    return np.max(np.abs(filter_of(parameters)[1])) >= 1


def designed(start):
    """Return the best filter of several delays, and its delay."""
    found = []
    for delay in DELAYS:
        result = scipy.optimize.minimize(
            value_and_grad(loss), start, args=(delay,), jac=True, method="BFGS",
            options={"maxiter": 400},
        )  # fmt: skip
        found.append((result.fun, delay, result.x))
    return min(found, key=lambda row: row[0])


def delay_of(parameters):
    """Return the group delay at the frequencies that pass."""
    z, p, k = filter_of(parameters)
    b, a = signal.zpk2tf(z, p, k)
    return signal.group_delay((np.real(b), np.real(a)), PASSED[1:-1])[1]


def decibels(parameters, w):
    return 20 * np.log10(np.abs(signal.freqz_zpk(*filter_of(parameters), w)[1]) + 1e-12)


# ---- (b) the cutoffs of a band-pass ----


def response(w, low, high, gain):
    sos = signal.butter(3, fnp.stack([low, high]), "bandpass", output="sos")
    return gain * fnp.abs(signal.sosfreqz(sos, w)[1])


def slopes(w, *parameters):
    return jacfwd(lambda p: response(w, *p))(np.array(parameters))


def draw(path, elliptic, best, data, fitted):
    figure = Figure(figsize=(10, 8.5), layout="constrained")
    axes = figure.subplot_mosaic([["response", "delay"], ["band", "band"]])
    left, middle, right = axes["response"], axes["delay"], axes["band"]
    w = np.linspace(1e-3, np.pi, 600)
    for parameters, name, style in ((elliptic, "elliptic", "--"), (best, "designed here", "-")):
        left.plot(w / np.pi, decibels(parameters, w), style, linewidth=2, label=name)
        middle.plot(PASSED[1:-1] / np.pi, delay_of(parameters), style, linewidth=2, label=name)
    left.axvspan(EDGE, STOP, color="gray", alpha=0.2)
    left.set_ylim(-80, 5)
    left.set_title("Low-pass filters")
    left.set_ylabel("response, dB")
    middle.set_ylim(0, None)
    middle.set_title("Delay in the pass band")
    middle.set_ylabel("delay, samples")
    w, y = data
    right.plot(w / np.pi, y, ".", color="gray", label="measured")
    right.plot(w / np.pi, response(w, *fitted), linewidth=2, label="fitted Butterworth filter")
    right.set_title("A band-pass filter, and its cutoffs (vertical lines)")
    right.set_ylabel("response")
    for cutoff in fitted[:2]:
        right.axvline(cutoff, color="black", linewidth=0.8)
    for part in (left, middle, right):
        part.set_xlabel("frequency / highest frequency")
        part.grid(alpha=0.3)
        part.legend(fontsize=12)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    elliptic = parameters_of(*signal.ellip(ORDER, RIPPLE, ATTENUATION, EDGE, output="zpk"))
    slope = grad(loss)(elliptic, 6.0)
    steps = 1e-6 * np.eye(len(elliptic))
    differences = [(loss(elliptic + s, 6.0) - loss(elliptic - s, 6.0)) / 2e-6 for s in steps]
    off = np.max(np.abs(slope - differences)) / np.max(np.abs(slope))
    print(f"(a) largest relative difference from central differences {off:.1e}")
    start = time.perf_counter()
    value, delay, best = designed(elliptic)
    print(f"    {len(DELAYS)} designs in {time.perf_counter() - start:.1f} s")
    print(f"    loss {value:.5f} at a delay of {delay:.0f} samples, stable: {not unstable(best)}")
    for parameters, name in ((elliptic, "elliptic"), (best, "by gradients")):
        delays, lost = delay_of(parameters), decibels(parameters, STOPPED)
        ripple = np.ptp(decibels(parameters, PASSED))
        print(
            f"    {name:12}  delay {delays.min():5.2f} to {delays.max():5.2f} samples, "
            f"ripple {ripple:.2f} dB, highest in the stop band {lost.max():.0f} dB"
        )

    w = np.pi * np.linspace(0.01, 0.99, 200)
    rng = np.random.default_rng(SEED)
    y = response(w, *TRUE) + NOISE * rng.normal(size=w.size)
    fitted, covariance = scipy.optimize.curve_fit(response, w, y, [0.1, 0.6, 1.0], jac=slopes)
    errors = np.sqrt(np.diag(covariance))
    print("(b) fitted by curve_fit:")
    for name, true, x, error in zip(("low cutoff", "high cutoff", "gain"), TRUE, fitted, errors):
        print(
            f"    {name:12} {x:.4f} ± {error:.4f}   true {true:.2f}   off {(x - true) / error:.2f}"
        )
    cutoffs = np.linspace(0.3, 0.6, 50)
    sharp = vmap(grad(lambda high: response(np.array([1.0]), 0.18, high, 1.0)[0]))(cutoffs)
    alone = grad(lambda high: response(np.array([1.0]), 0.18, high, 1.0)[0])(cutoffs[7])
    print(f"    50 filters at once differ from one alone by {abs(sharp[7] - alone):.1e}")
    with matplotlib.rc_context({"font.size": 14}):
        draw(out / "filter_design.png", elliptic, best, (w, y), fitted)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
