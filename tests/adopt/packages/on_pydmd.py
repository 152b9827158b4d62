"""Dynamic modes: PyDMD."""

import numpy as np
from pydmd import DMD, FbDMD, HankelDMD, OptDMD

from .call import call

TIMES, PLACES = np.linspace(0.0, 4.0, 20), np.linspace(-1.0, 1.0, 6)


def snapshots(x):
    first = np.outer(np.cos(2.0 * PLACES), np.exp(x[0] * TIMES))
    return first + np.outer(PLACES + 0.3, np.exp(x[1] * TIMES)) + 0.01 * np.outer(PLACES**2, TIMES)


@call(-0.3, 0.2)
def rates(x):
    return np.sort(DMD(svd_rank=2).fit(snapshots(x)).eigs.real)


@call(-0.3, 0.2)
def rebuilt(x):
    found = DMD(svd_rank=2, exact=True, opt=True).fit(snapshots(x))
    return found.reconstructed_data[:, ::6].real


@call(-0.3, 0.2)
def delayed(x):
    found = HankelDMD(svd_rank=3, d=2).fit(snapshots(x)[:2])
    return found.reconstructed_data[:, 1::6].real


@call(-0.3, 0.2)
def both_ways(x):
    return FbDMD(svd_rank=2).fit(snapshots(x)).reconstructed_data[:, ::6].real


@call(-0.3, 0.2)
def optimal(x):
    return np.sort(OptDMD(factorization="evd", svd_rank=2).fit(snapshots(x)).eigs.real)
