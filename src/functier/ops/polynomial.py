"""Convolution, and polynomials by their coefficients, the highest first."""

import numpy as np

from ._families import UnsupportedError, composite, unlisted

# ---- convolution ----


def _convolution(a, v):
    """The full convolution: row i of the outer product, shifted by i, summed up."""
    n, m = np.shape(a)[0], np.shape(v)[0]
    if not n or not m:
        raise ValueError("a or v cannot be empty")
    rows = np.multiply(np.reshape(a, (n, 1)), np.reshape(v, (1, m)))
    rows = np.concatenate([rows, np.zeros((n, n), rows.dtype)], axis=1)
    shifted = np.reshape(np.reshape(rows, (-1,))[: n * (n + m - 1)], (n, n + m - 1))
    return np.sum(shifted, axis=0)


def _window(mode, longer, shorter):
    """Where the part that `mode` asks for starts in the full result, and its length."""
    if mode == "full":
        return 0, longer + shorter - 1
    if mode == "same":
        return (shorter - 1) // 2, longer
    if mode == "valid":
        return shorter - 1, longer - shorter + 1
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


@lambda body: composite(np.convolve, body)
def _convolve(a, v, mode="full"):
    a, v = (np.reshape(x, (1,)) if np.ndim(x) == 0 else x for x in (a, v))
    full = _convolution(a, v)
    start, length = _window(mode, *sorted((np.shape(a)[0], np.shape(v)[0]), reverse=True))
    return full[start : start + length]


@lambda body: composite(np.correlate, body)
def _correlate(a, v, mode="valid"):
    n, m = np.shape(a)[0], np.shape(v)[0]
    full = _convolution(a, np.flip(np.conjugate(v)))
    start, length = _window(mode, max(n, m), min(n, m))
    if m > n:  # the roles are exchanged, and the result is reversed
        start = n + m - 1 - start - length
    return full[start : start + length]


# ---- polynomials ----


@lambda body: composite(np.polyval, body)
def _polyval(p, x):
    y = np.multiply(x, 0)
    for i in range(np.shape(p)[0]):
        y = y * x + p[i]
    return y


def _aligned(func):
    def body(a1, a2):
        a1, a2 = unlisted(a1, a2)
        size = max(np.shape(a1)[0], np.shape(a2)[0])
        padded = (
            np.concatenate([np.zeros(size - np.shape(a)[0], np.result_type(a)), a])
            for a in (a1, a2)
        )
        return func(*padded)

    return body


composite(np.polyadd, _aligned(np.add))
composite(np.polysub, _aligned(np.subtract))


@lambda body: composite(np.polyder, body)
def _polyder(p, m=1):
    for _ in range(m):
        p = p[:-1] * np.arange(np.shape(p)[0] - 1, 0, -1)
    return p


@lambda body: composite(np.polyint, body)
def _polyint(p, m=1, k=None):
    constants = np.zeros(m) if k is None else np.broadcast_to(k, (m,)) if np.ndim(k) == 0 else k
    for i in range(m):
        p = p / np.arange(np.shape(p)[0], 0, -1)
        p = np.concatenate([p, np.reshape(constants[i], (1,))])
    return p


@lambda body: composite(np.polyfit, body)
def _polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    if full or cov:
        raise UnsupportedError("numpy.polyfit gives the coefficients only; leave full and cov out")
    x, y = np.multiply(x, 1.0), np.multiply(y, 1.0)
    rcond = np.shape(x)[0] * float(np.finfo(np.result_type(x)).eps) if rcond is None else rcond
    powers = np.vander(x, int(deg) + 1)
    if w is not None:
        powers = powers * np.reshape(w, (-1, 1))
        y = y * np.reshape(w, (-1,) + (1,) * (np.ndim(y) - 1))
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    solution = np.matmul(np.linalg.pinv(powers / scale, rcond), y)
    return solution / np.reshape(scale, (-1,) + (1,) * (np.ndim(y) - 1))
