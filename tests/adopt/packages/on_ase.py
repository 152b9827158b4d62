"""Atoms: ase."""

import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.eos import EquationOfState
from ase.geometry import cell_to_cellpar, cellpar_to_cell

from .call import call

PLACES = 0.0, 0.0, 0.1, 1.1, 0.1, 0.0, 0.2, 1.2, 0.0, 1.0, 1.1, 1.0


@call(*PLACES)
def dihedral(x):
    atoms = Atoms("H4", positions=x.reshape(4, 3))
    angles = atoms.get_angle(0, 1, 2), atoms.get_dihedral(0, 1, 2, 3)
    return np.array([atoms.get_distance(0, 1), *angles])


@call(*PLACES)
def pairs(x):
    atoms = Atoms("Ar4", positions=x.reshape(4, 3), calculator=LennardJones())
    return atoms.get_potential_energy()


@call(0.0, 0.0, 0.1, 2.5, 0.1, 0.0)
def copper(x):
    return Atoms("Cu2", positions=x.reshape(2, 3), calculator=EMT()).get_potential_energy()


@call(4.0, 5.0, 6.0, 80.0, 95.0, 70.0)
def cell(x):
    return cell_to_cellpar(2.0 * cellpar_to_cell(x))


@call(-3.9, -4.0, -4.02, -3.98, -3.9)
def state(x):
    volumes = np.array([10.0, 11.0, 12.0, 13.0, 14.0])
    return np.array(EquationOfState(volumes, x, eos="sj").fit())
