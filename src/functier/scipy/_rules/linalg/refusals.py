"""Functions of `scipy.linalg` without a rule, and what to write instead."""

import scipy.linalg as sl  # type: ignore[import-untyped]

from ....protocol import unsupported

NO_RULE = "it has no derivative rule; "
VALUES = "write numpy.linalg.eigvals(a), or numpy.linalg.eigh of a Hermitian matrix"
REASONS = {
    "cdf2rdf": f"{NO_RULE}write w, v = scipy.linalg.eig(a), and use the complex numbers",
    "cossin": f"{NO_RULE}write scipy.linalg.svd of the blocks of the matrix",
    **dict.fromkeys(
        ("eig_banded", "eigvals_banded"),
        f"{NO_RULE}write scipy.linalg.eigh of the whole matrix, as numpy.diag(ab[-1]) + ...",
    ),
    "expm_cond": f"{NO_RULE}write the norm of functier.jacrev(scipy.linalg.expm)(a)",
    "fractional_matrix_power": f"{NO_RULE}write scipy.linalg.expm(p * scipy.linalg.logm(a)), or "
    f"scipy.linalg.sqrtm(a)",
    "funm": "its function gets a plain array of eigenvalues; write w, v = numpy.linalg.eig(a), "
    "and (v * func(w)) @ numpy.linalg.inv(v)",
    **dict.fromkeys(("hessenberg", "rsf2csf", "schur"), f"{NO_RULE}{VALUES}"),
    "khatri_rao": f"{NO_RULE}write (a[:, None] * b[None]).reshape(-1, a.shape[-1])",
    "ldl": f"{NO_RULE}write scipy.linalg.cholesky of a positive definite matrix, or "
    f"scipy.linalg.lu",
    "matmul_toeplitz": f"{NO_RULE}write scipy.linalg.toeplitz(c, r) @ x",
    "matrix_balance": f"{NO_RULE}take the scales, constants, from functier.stop_gradient(a)",
    "ordqz": f"{NO_RULE}{VALUES}, of scipy.linalg.solve(b, a) for a regular b",
    "qr_delete": f"{NO_RULE}write scipy.linalg.qr of the matrix without the rows or columns",
    "qr_insert": f"{NO_RULE}write scipy.linalg.qr of the matrix with the rows or columns",
    "qr_update": f"{NO_RULE}write scipy.linalg.qr(Q @ R + numpy.outer(u, numpy.conj(v)))",
    "qz": f"{NO_RULE}{VALUES}, of scipy.linalg.solve(b, a) for a regular b",
    "signm": f"{NO_RULE}write a @ numpy.linalg.inv(scipy.linalg.sqrtm(a @ a))",
    "solve_circulant": f"{NO_RULE}write numpy.fft.ifft(numpy.fft.fft(b) / numpy.fft.fft(c))",
}
"""The reasons by the names of functions."""

for _name, _reason in REASONS.items():
    if hasattr(sl, _name):
        unsupported(getattr(sl, _name), _reason)
