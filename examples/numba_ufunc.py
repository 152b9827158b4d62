"""A Numba ufunc with derivatives: the orbit of a planet from the motion of its star.

    python examples/numba_ufunc.py

Kepler's equation, E - e sin E = M, gives the place of a planet on an eccentric orbit. It is
solved for E by an iteration whose length differs from point to point. Numba compiles the loop to
a ufunc. Its derivatives follow from the equation, dE/dM = 1 / (1 - e cos E) and
dE/de = sin E / (1 - e cos E), so the iteration is not differentiated. They are given

(a) in a `custom_op` that implements the ufunc: code that calls the ufunc can then be
    differentiated and batched;
(b) in a `Function`.

The program fits the orbit to 60 velocities of the star by Gauss-Newton steps (`jacfwd`), and fits
it 200 times again to other noise (`vmap` of the whole fit). It compares the scatter of the results
with the errors that the Jacobian at the optimum predicts.

Without Numba the program says so and ends.
"""

import time

import numpy as np

from functier import Function, custom_op, grad, hessian, jacfwd, vmap
from functier.testing import opcheck

try:
    from numba import vectorize
except ImportError:
    vectorize = None

TRUTH = np.array([4.2, 55.0, 0.6, 0.8, 1.9, -12.0])
NAMES = "period", "amplitude", "eccentricity", "periastron", "phase", "offset"
NOISE = 3.0


def solved(m, e):
    """The eccentric anomaly, by Newton's method with Halley's correction."""
    m = (m + np.pi) % (2 * np.pi) - np.pi
    x = m + e * np.sin(m) / (1 - np.sin(m + e) + np.sin(m))
    for _ in range(50):
        f = x - e * np.sin(x) - m
        slope = 1 - e * np.cos(x)
        step = f / (slope - 0.5 * f * e * np.sin(x) / slope)
        x -= step
        if abs(step) < 1e-14:
            break
    return x


# ---- (a) an operation that stands for the ufunc ----


def define(anomaly):
    """Define ``functier.ops.orbits.anomaly`` for the ufunc; a batch is one call."""
    op = custom_op("orbits::anomaly", anomaly)

    def save(ctx, inputs, output):
        ctx.save_for_backward(output, inputs[1])

    @op.register_vjp(setup_context=save)
    def backward(ctx, g):
        x, e = ctx.saved_tensors
        by_m = g / (1 - e * np.cos(x))
        return by_m, by_m * np.sin(x)

    @op.register_jvp
    def jvp(ctx, t_m, t_e):
        x, e = ctx.saved_tensors
        return (t_m + t_e * np.sin(x)) / (1 - e * np.cos(x))

    return op


# ---- (b) a class ----


def aligned(args, in_dims):
    """Batches with their axis in front, aligned so that they broadcast as their examples do."""
    rank = max(np.ndim(x) - (d == 0) for x, d in zip(args, in_dims))
    return [
        x if d is None else np.expand_dims(x, tuple(range(1, rank + 2 - np.ndim(x))))
        for x, d in zip(args, in_dims)
    ]


def as_class(anomaly):
    class Anomaly(Function):
        """The same rules, written as static methods."""

        @staticmethod
        def forward(m, e):
            return anomaly(m, e)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output, inputs[1])

        @staticmethod
        def backward(ctx, g):
            x, e = ctx.saved_tensors
            by_m = g / (1 - e * np.cos(x))
            return by_m, by_m * np.sin(x)

        @staticmethod
        def vmap(info, in_dims, m, e):
            return Anomaly.apply(*aligned((m, e), in_dims)), 0

    return Anomaly


# ---- the fit ----


def velocity(anomaly):
    """The velocity of the star at the times t, a function of the parameters."""

    def model(p, t):
        period, amplitude, e, periastron, phase, offset = p
        x = anomaly(2 * np.pi * t / period + phase, e)
        true = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(x / 2), np.sqrt(1 - e) * np.cos(x / 2))
        return amplitude * (np.cos(true + periastron) + e * np.cos(periastron)) + offset

    return model


def fitted(model, t, v, start, steps=12):
    """The parameters with the smallest sum of squares, by Gauss-Newton steps."""
    p = start
    for _ in range(steps):
        j = jacfwd(model)(p, t)
        p = p + np.linalg.solve(j.T @ j, j.T @ (v - model(p, t)))
    return p


def main():
    if vectorize is None:
        print("skipped: Numba is not installed; python -m pip install numba")
        return
    anomaly = vectorize(["float64(float64, float64)"])(solved)
    op, model = define(anomaly), velocity(anomaly)
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 30, 60))
    start = TRUTH * (1 + np.array([0.002, 0.05, 0.05, 0.05, 0.02, 0.1]))

    print("Kepler's equation, a ufunc by Numba")
    m, e = np.linspace(-3, 3, 7), np.array([0.0, 0.2, 0.5, 0.9, 0.5, 0.2, 0.1])
    residual = np.max(np.abs(anomaly(m, e) - e * np.sin(anomaly(m, e)) - m))
    print(f"  largest residual of the equation    {residual:.0e}")
    for test, result in opcheck(op, [(m, e), (m, np.float64(0.3))]).items():
        print(f"  opcheck, {test:20}       {result}")
    other = as_class(anomaly).apply
    for name, transform in (("gradients", grad), ("Hessians", hessian)):
        off = np.max(np.abs(vmap(transform(op))(m, e) - vmap(transform(other))(m, e)))
        print(f"  difference of (a) and (b), {name:9}  {off:.0e}")

    with op.implements(anomaly):  # from here on the model, which calls the ufunc, has derivatives
        v = model(TRUTH, t) + NOISE * rng.normal(size=t.size)
        p = fitted(model, t, v, start)
        j = jacfwd(model)(p, t)
        error = NOISE * np.sqrt(np.diag(np.linalg.inv(j.T @ j)))
        begin = time.perf_counter()
        noisy = model(p, t) + NOISE * rng.normal(size=(200, t.size))
        again = vmap(lambda v: fitted(model, t, v, p))(noisy)
        seconds = time.perf_counter() - begin

    print("\nthe orbit                    truth      fit    error    scatter of 200 fits")
    for row in zip(NAMES, TRUTH, p, error, again.std(axis=0)):
        print("  {:20} {:10.4f} {:9.4f} {:8.4f} {:8.4f}".format(*row))
    ratio = again.std(axis=0) / error
    print(f"\n  scatter divided by error  {ratio.min():.2f} to {ratio.max():.2f}")
    print(f"  200 fits took             {seconds:.2f} s")
    off = np.abs(p - TRUTH) / error
    print(f"  the fit is off by         {off.max():.1f} errors at most")


if __name__ == "__main__":
    main()
