"""A differential equation solved by Taylor series of order 20.

    python examples/taylor_ode.py

A planet goes around the sun once, on an ellipse. A step of the method takes the Taylor series of
the place and the velocity at a point: the equation ``y' = f(y)`` gives one coefficient more from
those that are known, as ``jet`` has the series of ``f(y(t))``. After one period the planet has to
be where it was, and its energy must not change. The error falls with the order by as many digits
as a method of this order gains, up to those of a double. `compile` makes plain code of a step.
"""

import numpy as np

from functier import compile, jet

ECCENTRICITY = 0.5


def gravity(y):
    place, velocity = y[:2], y[2:]
    return np.concatenate([velocity, -place / np.sum(place**2) ** 1.5])


def series(f, y, order):
    """Return the Taylor coefficients of the solution of ``y' = f(y)`` that begins at `y`."""
    found = [y]
    for k in range(order):
        value, terms = jet(f, (y,), (found[1:],), factorial_scaled=False)
        found.append([value, *terms][k] / (k + 1))
    return found


def stepper(order, h):
    """Return a step of the method."""

    def step(y):
        total = 0.0
        for c in reversed(series(gravity, y, order)):
            total = total * h + c
        return total

    return compile(step)


def energy(y):
    return np.sum(y[2:] ** 2) / 2 - 1 / np.sqrt(np.sum(y[:2] ** 2))


def main():
    e, steps = ECCENTRICITY, 60
    start = np.array([1 - e, 0.0, 0.0, np.sqrt((1 + e) / (1 - e))])
    print(f"one period in {steps} steps")
    print("order   error of the place   error of the energy")
    for order in (2, 4, 8, 12, 16, 20):
        step, y = stepper(order, 2 * np.pi / steps), start
        for _ in range(steps):
            y = step(y)
        place = np.max(np.abs(y - start)[:2])
        print(f"{order:5d}   {place:18.1e}   {abs(energy(y) - energy(start)):19.1e}")


if __name__ == "__main__":
    main()
