"""Scattering by elements: periodictable."""

import numpy as np
import periodictable as pt

from .call import call


@call(1.1, 4.75)
def neutron(x):
    return np.array(pt.neutron_sld("H2O", density=x[0], wavelength=x[1]))


@call(8.05)
def xray(x):
    return np.array(pt.xray_sld("Si", density=2.33, energy=x[0]))


@call(8.05)
def refraction(x):
    return np.real(pt.xsf.index_of_refraction("SiO2", density=2.2, energy=x[0]))


@call(0.3, 0.7)
def form_factor(x):
    return pt.Fe.magnetic_ff[3].j0_Q(x)


@call(0.3, 0.7)
def atomic(x):
    return pt.Ca.xray.f0(x)
