"""Control systems: control."""

import numpy as np

import control as ct

from .call import call


@call(1.0, 0.5, 2.0)
def response(x):
    system = ct.tf([x[0]], [1.0, x[1], x[2]])
    return np.abs(system(1.5j))


@call(0.4, 1.2, 2.5)
def gain(x):
    system = ct.ss([[-x[0], 1.0], [-x[1], -x[2]]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]])
    return ct.dcgain(system)


@call(1.0, 2.0, 0.5)
def regulator(x):
    A, B = np.array([[0.0, 1.0], [-1.0, -0.5]]), np.array([[0.0], [1.0]])
    gain, _, _ = ct.lqr(A, B, np.diag(x[:2]), np.reshape(x[2], (1, 1)))
    return gain


@call(1.0, 0.6, 2.0)
def step(x):
    system = ct.tf([x[0]], [1.0, x[1], x[2]])
    return ct.step_response(system, np.linspace(0.0, 5.0, 20)).outputs


@call(3.0, 0.7, 1.1)
def closed_loop(x):
    plant, controller = ct.tf([1.0], [1.0, x[1], 0.0]), ct.tf([x[0]], [x[2], 1.0])
    return np.abs(ct.feedback(plant * controller, 1)(0.8j))
