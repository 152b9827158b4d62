"""Finance: numpy-financial."""

import numpy_financial as npf

from .call import call


@call(0.05, 120.0, -100.0, -50.0)
def payment(x):
    return npf.pmt(x[0] / 12, x[1], x[2], x[3])


@call(0.281, -100.0, 39.0, 59.0, 55.0, 20.0)
def net_present_value(x):
    return npf.npv(x[0], x[1:])


@call(-100.0, 39.0, 59.0, 55.0, 20.0, rtol=1e-4)
def internal_rate(x):
    return npf.irr(x)


@call(-100.0, 50.0, -60.0, 70.0, 90.0)
def modified_rate(x):
    return npf.mirr(x, 0.10, 0.12)


@call(10.0, -120.0, 1000.0, 50.0, rtol=1e-4)
def rate(x):
    return npf.rate(x[0], x[1], x[2], x[3])
