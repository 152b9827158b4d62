"""Linear operators: PyLops."""

import numpy as np
import pylops
from pylops.avo.avo import zoeppritz_pp
from pylops.avo.poststack import PoststackLinearModelling
from pylops.optimization.basic import cgls
from pylops.optimization.leastsquares import regularized_inversion
from pylops.optimization.sparsity import fista
from pylops.utils.wavelets import ricker

from .call import call

SPIKES = np.array([0.0, 1.2, 0.0, 0.0, -0.9, 0.0, 0.5, 0.0])
MATRIX = np.cos(np.outer(np.arange(1.0, 11.0), np.arange(1.0, 9.0)) ** 1.3)


@call(3000.0, 1500.0, 2.1, 3400.0, 1800.0, 2.3)
def reflected(x):
    return np.real(zoeppritz_pp(*x, np.array([0.0, 10.0, 20.0])))


@call(25.0, 1.3)
def modelled(x):
    wavelet = ricker(np.arange(5) * 0.004, x[0])[0]
    return PoststackLinearModelling(wavelet, nt0=8) * (x[1] * np.cumsum(SPIKES) + 8.0)


@call(1.3, 0.4)
def solved(x):
    operator = pylops.MatrixMult(MATRIX + x[1] * np.eye(10, 8))
    return cgls(operator, x[0] * (MATRIX @ SPIKES) + 0.1, niter=8, tol=0.0)[0]


@call(1.3, 0.4)
def regularized(x):
    operator = pylops.MatrixMult(x[1] * MATRIX)
    smooth = pylops.SecondDerivative(8)
    data = x[0] * (MATRIX @ SPIKES) + 0.1
    options = {"atol": 1e-14, "btol": 1e-14, "iter_lim": 100}
    return regularized_inversion(operator, data, [smooth], epsRs=[0.3], **options)[0]


@call(1.3, 0.4)
def sparse(x):
    operator = pylops.MatrixMult(MATRIX)
    return fista(operator, x[0] * (MATRIX @ SPIKES), niter=5, eps=x[1], alpha=0.04, tol=0.0)[0]
