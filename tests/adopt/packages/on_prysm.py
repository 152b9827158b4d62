"""Optics of wavefronts: prysm."""

import numpy as np
from prysm.coordinates import cart_to_polar, make_xy_grid
from prysm.geometry import circle
from prysm.polynomials import Q2d, sum_of_2d_modes, zernike_nm_sequence
from prysm.polynomials.qpoly import compute_z_zprime_Qbfs
from prysm.propagation import Wavefront
from prysm.thinfilm import multilayer_stack_rt

from .call import call

R, ANGLE = cart_to_polar(*make_xy_grid(16, diameter=2.0))
MODES = np.array(list(zernike_nm_sequence([(2, 0), (2, 2), (3, 1)], R, ANGLE)))


@call(30.0, -12.0, 20.0)
def focused(x):
    phase = sum_of_2d_modes(MODES, x)
    pupil = Wavefront.from_amp_and_phase(circle(1.0, R).astype(float), phase, 0.633, 0.125)
    return pupil.focus(100.0, Q=2).intensity.data[12:20:3, 12:20:3]


@call(30.0, -12.0, 20.0)
def sampled(x):
    phase = sum_of_2d_modes(MODES, x)
    pupil = Wavefront.from_amp_and_phase(circle(1.0, R).astype(float), phase, 0.633, 0.125)
    return np.abs(pupil.focus_fixed_sampling(100.0, 2.0, 4).data)


@call(1.38, 0.12, 2.1, 0.05)
def films(x):
    r, t = multilayer_stack_rt([(x[0], x[1]), (x[2], x[3]), (1.5, 10.0)], 0.55, "p", aoi=20.0)
    return np.array([abs(r), abs(t)])


@call(0.3, 0.7)
def aspheres(x):
    r, angle = x[0] * np.array([1.0, 1.5]), x[1] * np.array([1.0, -0.4])
    return np.array([Q2d(3, 2, r, angle), Q2d(2, -2, r, angle)])


@call(0.5, -0.2, 0.1, 0.3)
def departures(x):
    return np.array(compute_z_zprime_Qbfs(x[:3], x[3:], x[3:] ** 2))
