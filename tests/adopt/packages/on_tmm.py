"""Optics of thin films: tmm."""

import numpy as np
import tmm

from .call import call

INF = float("inf")


@call(100.0, 300.0, 550.0)
def reflection(x):
    return tmm.coh_tmm("s", [1.0, 2.2, 3.3 + 0.3j, 1.0], [INF, x[0], x[1], INF], 0.1, x[2])["R"]


@call(1.46, 2.1, 550.0)
def by_index(x):
    return tmm.coh_tmm("p", [1.0, x[0], x[1], 1.5], [INF, 90.0, 60.0, INF], 0.3, x[2])["T"]


@call(100.0, 300.0, 0.4)
def ellipsometry(x):
    found = tmm.ellips([1.0, 2.2, 3.3 + 0.3j, 1.5], [INF, x[0], x[1], INF], x[2], 500.0)
    return np.array([found["psi"], found["Delta"]])


@call(0.2, 500.0)
def unpolarized(x):
    return tmm.unpolarized_RT([1.0, 2.2, 1.5], [INF, 300.0, INF], x[0], x[1])["T"]


@call(200.0, 120.0)
def absorption(x):
    data = tmm.coh_tmm("p", [1.0, 2.2 + 0.2j, 3.3 + 0.3j, 1.0], [INF, 100.0, x[0], INF], 0.2, 600.0)
    return tmm.position_resolved(2, x[1], data)["absor"]
