"""Quantum circuits: cirq."""

import cirq
import numpy as np

from .call import call

A, B = cirq.LineQubit.range(2)


def parts(z):
    """Return the real and imaginary parts of numbers."""
    return np.array([np.real(z), np.imag(z)])


@call(0.7, 0.4)
def gates(x):
    return parts(cirq.unitary(cirq.rx(x[0])) @ cirq.unitary(cirq.ZPowGate(exponent=x[1])))


@call(0.7, 0.4, 0.9)
def circuit(x):
    found = cirq.Circuit(cirq.ry(x[0])(A), cirq.CNOT(A, B), cirq.CZ(A, B) ** x[1], cirq.rz(x[2])(B))
    return parts(found.unitary())


@call(0.1, 0.3)
def noise(x):
    channels = cirq.depolarize(x[0]), cirq.amplitude_damp(x[1])
    return parts(np.array([np.sum(cirq.kraus(channel), axis=0) for channel in channels]))


@call(0.7, 0.4)
def overlap(x):
    state = np.array([np.cos(x[0]), np.sin(x[0]) * np.exp(1j * x[1])])
    return np.array(
        [cirq.fidelity(state, np.array([0.6, 0.8])), *cirq.bloch_vector_from_state_vector(state, 0)]
    )


@call(0.7, 0.4)
def energy(x):
    state = np.array([np.cos(x[0]), 0.0, 0.0, np.sin(x[0]) * np.exp(1j * x[1])])
    observable = 0.5 * cirq.X(A) * cirq.X(B) + 1.5 * cirq.Z(A)
    return np.real(observable.expectation_from_state_vector(state, {A: 0, B: 1}))
