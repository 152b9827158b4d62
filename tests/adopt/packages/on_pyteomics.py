"""Proteins: pyteomics."""

import numpy as np
from pyteomics import achrom, electrochem, mass
from pyteomics.auxiliary import linear_regression

from .call import call

PEPTIDES = "PEPTIDE", "LIVED", "TEPID", "DELTIP", "VILE", "PIVTED"


@call(4.2, 7.7)
def charges(x):
    return np.array([electrochem.charge("PEPTIDEKRH", x[0]), electrochem.charge("ACDEFY", x[1])])


@call(12.0, 1.01, 14.0, 16.0)
def weights(x):
    table = {name: {0: (x[i], 1.0)} for i, name in enumerate("CHNO")}
    table["H+"] = {0: (1.00728, 1.0)}
    return mass.calculate_mass(formula="C6H12O6N2", mass_data=table)


@call(10.0, 5.5, 6.1, 8.4, 4.2, 7.3, rtol=1e-4)
def retention(x):
    found = achrom.get_RCs(PEPTIDES, list(x), lcp=-0.2)
    return achrom.calculate_RT("PETDIL", found)


@call(1.0, 2.1, 2.9, 4.3, 5.2)
def line(x):
    slope, offset, correlation, error = linear_regression(np.arange(5.0), x)
    return np.array([slope, offset, correlation, error])
