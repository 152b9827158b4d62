"""Tides: UTide."""

import numpy as np
import utide
from utide.astronomy import ut_astron
from utide.ellipse_params import ut_cs2cep

from .call import call

DAYS = 736000.0 + np.arange(0.0, 40.0, 1 / 8)
LEVEL = np.cos(2 * np.pi * DAYS / 0.5175) + 0.4 * np.sin(2 * np.pi * DAYS / 1.0758)
RISE = 0.01 * (DAYS - DAYS[0])
OPTIONS = {
    "lat": 30.0, "constit": ["M2", "K1", "O1"], "method": "ols", "conf_int": "none",
    "epoch": "python", "verbose": False,
}  # fmt: skip


@call(1.3, 0.8)
def fitted(x):
    found = utide.solve(DAYS, x[0] * LEVEL + x[1] * RISE, **OPTIONS)
    return np.concatenate([found.A, [found.mean, found.slope]])


@call(1.3, 0.8)
def currents(x):
    found = utide.solve(DAYS, x[0] * LEVEL, x[1] * LEVEL + np.sin(LEVEL), **OPTIONS)
    return np.array([found.Lsmaj, found.Lsmin])


@call(1.3, 0.8)
def predicted(x):
    found = utide.solve(DAYS, x[0] * LEVEL + x[1] * RISE, **OPTIONS)
    return utide.reconstruct(DAYS[:5], found, epoch="python", verbose=False).h


@call(1.0, 0.4, 0.3, -0.7)
def ellipse(x):
    return np.array(ut_cs2cep(*x))


@call(0.3, 0.7)
def moon(x):
    angles, rates = ut_astron(736000.0 + x)
    return np.concatenate([np.cos(2 * np.pi * angles), rates])
