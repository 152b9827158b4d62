"""Microwave engineering: scikit-rf."""

import numpy as np
import skrf
from skrf.media import CPW, DefinedGammaZ0
from skrf.network import s2y, z2s

from .call import call

BAND = skrf.Frequency(1.0, 3.0, 3, unit="GHz")


def parts(x):
    """Return the real and imaginary parts of numbers."""
    return np.array([np.real(x), np.imag(x)])


@call(0.03, 0.1)
def shorted(x):
    air = DefinedGammaZ0(BAND, z0=50.0)
    return parts((air.line(x[0], "m") ** air.line(x[1], "m") ** air.short()).s)


@call(2.0, 3.0)
def resonant(x):
    air = DefinedGammaZ0(BAND, z0=50.0)
    return parts((air.capacitor(1e-12 * x[0]) ** air.inductor(1e-9 * x[1]) ** air.match()).z)


@call(3.0, 0.3, 10.6)
def coplanar(x):
    return parts(CPW(BAND, w=1e-3 * x[0], s=1e-3 * x[1], ep_r=x[2]).z0)


@call(30.0, 12.0, 45.0)
def scattering(x):
    z = np.array([[[x[0] + 5j, x[1]], [x[1], x[2] - 3j]]])
    return parts(s2y(z2s(z, 50.0), 50.0))


@call(0.3, 0.6)
def renormalized(x):
    s = np.array([[[x[0], x[1]], [x[1], 0.2j]]]) * np.ones((3, 1, 1))
    network = skrf.Network(frequency=BAND, s=s, z0=50.0)
    network.renormalize(75.0)
    return parts(network.s)
