"""Options: vollib."""

import numpy as np
from vollib.black_scholes import black_scholes
from vollib.black_scholes.greeks.analytical import delta, gamma, vega
from vollib.black_scholes.implied_volatility import implied_volatility
from vollib.black_scholes_merton import black_scholes_merton
from vollib.helpers.distributions import CBND, CND

from .call import call


@call(100.0, 90.0, 0.5, 0.01, 0.2)
def price(x):
    return black_scholes("c", *x)


@call(100.0, 90.0, 0.5, 0.01, 0.2, 0.03)
def dividends(x):
    return black_scholes_merton("p", *x)


@call(100.0, 90.0, 0.5, 0.01, 0.2)
def greeks(x):
    return np.array([delta("c", *x), gamma("p", *x), vega("c", *x)])


@call(12.3, 100.0, 90.0, 0.5, 0.01)
def volatility(x):
    return implied_volatility(*x, "c")


@call(0.3, -0.4, 0.5)
def normal(x):
    return np.array([CND(x[0]), CBND(x[0], x[1], x[2])])
