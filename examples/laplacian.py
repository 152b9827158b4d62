"""The Laplacian of a function of many variables, by Taylor series of order 2.

    python examples/laplacian.py

The Laplacian is the sum of the second derivatives by each variable, the trace of the Hessian. The
Hessian has all the mixed derivatives besides. `jet` gives one second derivative in one pass
forward, and `vmap` takes all directions at once. Along random directions the mean of the second
derivatives is an estimate of the Laplacian, whose cost does not grow with the variables. A loss
that has Laplacians, as that of a network which solves a differential equation, has a gradient.
"""

import numpy as np

from functier import grad, hessian, jet, vmap

VARIABLES = 40


def second(f, x, v):
    """Return the second derivative of `f` along `v`."""
    return jet(f, (x,), ([v, np.zeros_like(v)],))[1][1]


def laplacian(f, x):
    return np.sum(vmap(lambda v: second(f, x, v))(np.eye(len(x))))


def estimate(f, x, directions):
    return np.mean(vmap(lambda v: second(f, x, v))(directions))


def network(x):
    rng = np.random.default_rng(0)
    for n in (64, 64):
        x = np.tanh(rng.normal(size=(n, len(x))) / np.sqrt(len(x)) @ x)
    return np.sum(x**2)


def waves(x):
    """A function whose Laplacian is known: minus the number of variables, times itself."""
    return np.prod(np.sin(x))


def main():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 1.5, VARIABLES)
    print(f"{VARIABLES} variables")
    print(
        f"  waves: error of the Laplacian {laplacian(waves, x) / (-VARIABLES * waves(x)) - 1:.1e}"
    )
    exact = np.trace(hessian(network)(x))
    print(f"  network: Laplacian {laplacian(network, x):.6f}, trace of the Hessian {exact:.6f}")
    signs = rng.choice([-1.0, 1.0], size=(200, VARIABLES))
    print(f"  by 200 random directions {estimate(network, x, signs):.2f}")
    points = rng.uniform(0.5, 1.5, (8, VARIABLES))
    loss = grad(lambda p: np.mean(vmap(lambda x: laplacian(network, x * p))(points) ** 2))
    print(f"  slope of a loss with Laplacians at 8 points {loss(1.0):.4f}")


if __name__ == "__main__":
    main()
