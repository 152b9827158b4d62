"""Colorimetry: colour-science."""

import colour

from .call import call


@call(0.2065, 0.1220, 0.0514)
def lab(x):
    return colour.XYZ_to_Lab(x)


@call(0.2065, 0.1220, 0.0514)
def srgb(x):
    return colour.XYZ_to_sRGB(x)


@call(48.99, -0.1, 75.05, 50.65, -0.11, 75.0, rtol=1e-4)
def difference(x):
    return colour.delta_E(x[:3], x[3:], method="CIE 2000")


@call(6504.4)
def chromaticity(x):
    return colour.temperature.CCT_to_xy_CIE_D(x[0])


@call(0.2065, 0.1220, 0.0514)
def oklab(x):
    return colour.XYZ_to_Oklab(x)
