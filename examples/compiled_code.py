"""A C function, compiled at run time: differentiated, batched, and tested.

    python examples/compiled_code.py

The program has the energy of a cluster of atoms in C (Lennard-Jones: the sum of
4 (r**-12 - r**-6) over all pairs), with its gradient and the product of its Hessian with a
vector. It calls them through `ctypes`, and makes them an operation with rules in two ways:

(a) as three `Function` classes, each the derivative of the one before;
(b) as a `custom_op` with a name, whose rules `opcheck` tests.

The rest is ordinary code. 64 clusters of 13 atoms descend along their gradients to the minimum,
an icosahedron. The Hessian there has six zero eigenvalues, for the translations and rotations.
All results are compared with the same energy in NumPy.

Without a C compiler the program says so and ends.
"""

import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from functier import Function, custom_op, grad, hessian, once_differentiable, ops, optim, vmap
from functier.testing import opcheck

SOURCE = """
#include <stddef.h>
/* Each works on a batch of clusters of n atoms, one after the other in memory. */

static double square(const double *x, const double *y, double *d) {
    double s = 0;
    for (int c = 0; c < 3; c++) { d[c] = x[c] - y[c]; s += d[c] * d[c]; }
    return s;
}

void energy(const double *x, double *e, size_t batch, size_t n) {
    for (size_t b = 0; b < batch; b++, x += 3 * n) {
        double sum = 0, d[3];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                double s = 1 / square(x + 3 * i, x + 3 * j, d), s3 = s * s * s;
                sum += 4 * (s3 * s3 - s3);
            }
        e[b] = sum;
    }
}

void gradient(const double *x, double *g, size_t batch, size_t n) {
    for (size_t b = 0; b < batch; b++, x += 3 * n, g += 3 * n) {
        for (size_t k = 0; k < 3 * n; k++) g[k] = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                double d[3], s = 1 / square(x + 3 * i, x + 3 * j, d), s3 = s * s * s;
                double f = 24 * s * (s3 - 2 * s3 * s3);
                for (int c = 0; c < 3; c++) { g[3 * i + c] += f * d[c]; g[3 * j + c] -= f * d[c]; }
            }
    }
}

void product(const double *x, const double *v, double *h, size_t batch, size_t n) {
    for (size_t b = 0; b < batch; b++, x += 3 * n, v += 3 * n, h += 3 * n) {
        for (size_t k = 0; k < 3 * n; k++) h[k] = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                double d[3], w[3], along = 0;
                double s = 1 / square(x + 3 * i, x + 3 * j, d), s3 = s * s * s;
                double f = 24 * s * (s3 - 2 * s3 * s3);
                for (int c = 0; c < 3; c++) {
                    w[c] = v[3 * i + c] - v[3 * j + c];
                    along += w[c] * d[c];
                }
                double p = 96 * s * s * s3 * (7 * s3 - 2) * along;
                for (int c = 0; c < 3; c++) {
                    double y = f * w[c] + p * d[c];
                    h[3 * i + c] += y;
                    h[3 * j + c] -= y;
                }
            }
    }
}
"""
KNOWN = -44.326801  # the lowest energy of 13 atoms


def compiled(source):
    """The library, or the reason why there is none."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or sys.platform == "win32":
        return None, "no C compiler was found (cc, gcc or clang)"
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder, "cluster.c"), Path(folder, "cluster.so")
        code.write_text(source, encoding="utf-8")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(code)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        if done.returncode:
            return None, f"{compiler} failed: {done.stderr.strip()[:200]}"
        return ctypes.CDLL(str(library)), None


LIBRARY, REASON = compiled(SOURCE)


def call(name, shape, *arrays):
    """A function of the library on arrays of shape (..., n, 3); a result of `shape`."""
    arrays = [np.ascontiguousarray(a, dtype=float) for a in arrays]
    *batch, n, _ = arrays[0].shape
    out = np.empty(shape)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, out)]
    sizes = [ctypes.c_size_t(int(np.prod(batch))), ctypes.c_size_t(n)]
    getattr(LIBRARY, name)(*pointers, *sizes)
    return out[()]


def whole(x, dim, size):
    """An argument with the batch axis in front, even if all examples share it."""
    return x if dim == 0 else np.broadcast_to(x, (size, *x.shape))


# ---- (a) as classes ----


class Product(Function):
    """The Hessian of the energy times a vector: the last derivative that is written in C."""

    @staticmethod
    def forward(x, v):
        return call("product", x.shape, x, v)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    @once_differentiable
    def backward(ctx, g):  # by v; the derivative with respect to x is not written
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("third derivatives of the energy are not written")
        return None, call("product", g.shape, *ctx.saved_tensors, g)

    @staticmethod
    def vmap(info, in_dims, x, v):
        x, v = (whole(a, d, info.batch_size) for a, d in zip((x, v), in_dims))
        return Product.apply(x, v), 0


class Gradient(Function):
    """The gradient of the energy."""

    @staticmethod
    def forward(x):
        return call("gradient", x.shape, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return Product.apply(*ctx.saved_tensors, g)  # the Hessian is symmetric

    @staticmethod
    def jvp(ctx, t):
        return Product.apply(*ctx.saved_tensors, t)

    @staticmethod
    def vmap(info, in_dims, x):
        return Gradient.apply(x), 0


class Energy(Function):
    """The energy of a cluster, or of each in a batch of clusters."""

    @staticmethod
    def forward(x):
        return call("energy", x.shape[:-2], x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g[..., None, None] * Gradient.apply(*ctx.saved_tensors)

    @staticmethod
    def jvp(ctx, t):
        return np.sum(Gradient.apply(*ctx.saved_tensors) * t, axis=(-2, -1))

    @staticmethod
    def vmap(info, in_dims, x):
        return Energy.apply(x), 0


# ---- (b) with a name ----


def define():
    """Define ``functier.ops.cluster.energy`` with the rules of the classes."""

    @custom_op("cluster::energy")
    def energy(x):
        """The Lennard-Jones energy of atoms at the rows of x."""
        return call("energy", x.shape[:-2], x)

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    energy.register_vjp(Energy.backward, setup_context=save)
    energy.register_jvp(Energy.jvp)
    energy.register_vmap(lambda info, in_dims, x: (energy(x), 0))


# ---- the same in NumPy ----


def numpy_energy(x):
    i, j = np.triu_indices(len(x), 1)
    s3 = np.sum((x[i] - x[j]) ** 2, axis=1) ** -3.0
    return np.sum(4 * (s3 * s3 - s3))


# ---- using it ----


def icosahedron():
    """Thirteen atoms: one in the middle of twelve."""
    golden = (1 + 5**0.5) / 2
    corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    turned = [np.roll(c, k) for c in corners for k in range(3)]
    return 1.08 * np.concatenate([np.zeros((1, 3)), turned / np.hypot(1, golden)])


def descend(xs, steps=600):
    """Move each cluster of a batch down its gradient, with momentum."""
    slopes, state = vmap(grad(Energy.apply)), optim.momentum_init(xs)
    for _ in range(steps):
        xs, state = optim.momentum(xs, np.clip(slopes(xs), -50, 50), state, 4e-4)
    return xs


def best(f, *args):
    """The shortest of several runs, in ms."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main():
    if LIBRARY is None:
        print(f"skipped: {REASON}")
        return
    define()
    rng = np.random.default_rng(0)
    start = icosahedron() + 0.08 * rng.normal(size=(64, 13, 3))

    print("64 clusters of 13 atoms, moved to the minimum of their energy")
    xs = descend(start)
    energies = vmap(ops.cluster.energy)(xs)
    print(f"  lowest energy            {energies.min():.6f}   (known: {KNOWN})")
    print(f"  clusters that are there  {np.sum(energies < KNOWN + 1e-4)} of {len(xs)}")

    x = xs[np.argmin(energies)]
    curvature = np.linalg.eigvalsh(hessian(Energy.apply)(x).reshape(39, 39))
    print(f"  eigenvalues of the Hessian that are zero  {np.sum(np.abs(curvature) < 1e-2)}")
    print(f"  the smallest of the others                {curvature[6]:.4f}")

    print("\nC and NumPy")
    pairs = {
        "energies of the batch": (vmap(Energy.apply), vmap(numpy_energy), start),
        "gradients of the batch": (vmap(grad(Energy.apply)), vmap(grad(numpy_energy)), start),
        "Hessian of one cluster": (hessian(Energy.apply), hessian(numpy_energy), start[0]),
        "the same, cluster::energy": (hessian(ops.cluster.energy), hessian(numpy_energy), start[0]),
    }
    for name, (ours, reference, at) in pairs.items():
        a, b = ours(at), reference(at)
        off = np.max(np.abs(a - b)) / np.max(np.abs(b))
        times = best(ours, at), best(reference, at)
        print(f"  {name:26}  {times[0]:7.2f} ms in C  {times[1]:7.2f} in NumPy  off by {off:.0e}")

    print("\nopcheck of cluster::energy")
    for test, result in opcheck(ops.cluster.energy, [(start[0, :4],), (start[:2, :3],)]).items():
        print(f"  {test:20} {result}")
    third = opcheck(Product.apply, (start[0, :3], start[1, :3]), tests=["reverse"],
                    raise_exception=False)  # fmt: skip
    print(f"  third derivatives    {third['reverse'].rpartition(': ')[2]}")


if __name__ == "__main__":
    main()
