"""Rows for the QR and the singular value decomposition, in every form."""

import numpy as np

from ._row import normal, row
from .linalg import of, singular, spread_out

C, F = complex, np.float32
qr, svd = np.linalg.qr, np.linalg.svd


def projected(basis):
    """The projection onto the columns that complete a basis, from the first `k` on."""
    return np.matmul(basis, np.conjugate(np.swapaxes(basis, -1, -2)))


def completed(x):
    q, r = qr(x, mode="complete")
    k = min(np.shape(x)[-2:])
    return q[..., :k], projected(q[..., k:]), r


def full(x):
    u, s, vh = svd(x)
    k = min(np.shape(x)[-2:])
    v = np.conjugate(np.swapaxes(vh, -1, -2))
    return (
        projected(u[..., :k] * np.sqrt(s)[..., None, :]), s, np.abs(v[..., :k]) ** 2,
        projected(u[..., k:]), projected(v[..., k:]),
    )  # fmt: skip


ROWS = [
    *[of("qr", lambda x: tuple(qr(x)), spread_out(*shape)) for shape in ((3, 2), (2, 2), (2, 4))],
    *[of("qr complex", lambda x: tuple(qr(x)), normal(2, *shape, dtype=C))
      for shape in ((3, 2), (2, 2), (2, 3))],
    of("qr float32", lambda x: tuple(qr(x)), spread_out(2, 3, dtype=F)),
    *[of("qr r", lambda x: qr(x, mode="r"), spread_out(*shape)) for shape in ((3, 2), (2, 3))],
    *[of("qr complete", completed, spread_out(*shape)) for shape in ((4, 2), (3, 3), (2, 3))],
    of("qr complete complex", completed, normal(2, 3, 1, dtype=C)),
    of("qr raw", lambda x: np.linalg.qr(x, mode="raw"), spread_out(3, 2), _diff=()),
    of("svd square", lambda x: tuple(svd(x)), spread_out(3, 3)),
    of("svd tall", lambda x: tuple(svd(x, full_matrices=False)), spread_out(4, 2)),
    of("svd wide", lambda x: tuple(svd(x, full_matrices=False)), spread_out(2, 2, 3)),
    of("svd complex tall", singular, spread_out(3, 2, dtype=C)),
    of("svd complex wide", singular, spread_out(2, 3, dtype=C)),
    *[of("svd full", full, spread_out(*shape)) for shape in ((4, 2), (2, 4), (2, 2))],
    of("svd full complex", full, spread_out(2, 3, 1, dtype=C)),
    of("svd full values", lambda x: svd(x)[1], spread_out(2, 3)),
    of("svd values", lambda x: svd(x, compute_uv=False), spread_out(2, 3)),
    of("svd hermitian", lambda x: svd(x + x.T, compute_uv=False, hermitian=True), normal(3, 3)),
    row(np.linalg.svdvals, spread_out(2, 3, 2)),
]  # fmt: skip
