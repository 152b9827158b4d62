"""Cosmology: colossus."""

from colossus.cosmology import cosmology
from colossus.halo import profile_nfw
from colossus.lss import peaks

from .call import call

COSMOLOGY = cosmology.setCosmology("planck18")


@call(0.3, 0.8, 1.5)
def hubble(x):
    return COSMOLOGY.Hz(x)


@call(0.3, 0.8, 1.5, rtol=1e-4)
def distance(x):
    return COSMOLOGY.luminosityDistance(x)


@call(10.0, 50.0, 200.0)
def density(x):
    return profile_nfw.NFWProfile(rhos=1e7, rs=x[0]).density(x[1:])


@call(0.5, 2.0, rtol=1e-4)
def power(x):
    return COSMOLOGY.matterPowerSpectrum(x, 0.0)


@call(1e12, 1e14, rtol=1e-4)
def peak_height(x):
    return peaks.peakHeight(x, 0.0)
