"""Electrochemistry: impedance."""

import numpy as np
from impedance.models.circuits import CustomCircuit, Randles, elements

from .call import call

AT = np.array([0.1, 10.0, 1000.0])


def parts(x):
    """Return the real and imaginary parts of numbers."""
    return np.array([np.real(x), np.imag(x)])


@call(0.01, 0.05, 0.2)
def circuit(x):
    made = CustomCircuit("R0-p(R1,C1)", initial_guess=[x[0], x[1], x[2]])
    return parts(made.predict(AT))


@call(0.01, 0.005, 0.1, 0.05, 0.2)
def randles(x):
    return parts(Randles(initial_guess=list(x)).predict(AT))


@call(0.2, 0.8, 0.05)
def constant_phase(x):
    both = [elements.CPE([x[0], x[1]], AT), elements.R([x[2]], AT)]
    return parts(elements.p(both))


@call(0.05, 120.0)
def diffusion(x):
    return parts(elements.Wo([x[0], x[1]], AT))


@call(0.05, 0.2, 3.0)
def gerischer(x):
    return parts(elements.s([elements.R([x[0]], AT), elements.G([x[1], x[2]], AT)]))
