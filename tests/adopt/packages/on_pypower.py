"""Power systems: pypower."""

import numpy as np
from pypower.api import case9, ext2int, makePTDF, makeSbus, makeYbus, ppoption, rundcpf, runpf

from .call import call

OPTIONS = ppoption(VERBOSE=0, OUT_ALL=0)


def grid(x):
    """Return a case with two loads of one's own."""
    case = case9()
    case["bus"][4, 2] = x[0]
    case["bus"][6, 2] = x[1]
    return case


def parts(x):
    """Return the real and imaginary parts of numbers."""
    return np.array([np.real(x), np.imag(x)])


@call(90.0, 100.0, rtol=1e-4)
def flow(x):
    return runpf(grid(x), OPTIONS)[0]["bus"][:, 7:9]


@call(90.0, 100.0)
def direct(x):
    return rundcpf(grid(x), OPTIONS)[0]["branch"][:, 13]


@call(90.0, 100.0)
def injected(x):
    case = ext2int(grid(x))
    return parts(makeSbus(case["baseMVA"], case["bus"], case["gen"]))


@call(0.0576, 0.092)
def admittance(x):
    case = ext2int(case9())
    case["branch"][:2, 3] = x
    found, _, _ = makeYbus(case["baseMVA"], case["bus"], case["branch"])
    return parts(found @ np.arange(9.0))


@call(0.0576, 0.092)
def shifts(x):
    case = ext2int(case9())
    case["branch"][:2, 3] = x
    return makePTDF(case["baseMVA"], case["bus"], case["branch"])
