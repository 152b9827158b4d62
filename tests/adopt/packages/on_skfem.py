"""Finite elements: scikit-fem."""

import numpy as np
from skfem import (
    Basis,
    BilinearForm,
    ElementLineP1,
    ElementTriP1,
    Functional,
    LinearForm,
    MeshLine,
    MeshTri,
    condense,
    solve,
)
from skfem.helpers import dot, grad

from .call import call

LINE = Basis(MeshLine(np.linspace(0.0, 1.0, 5)), ElementLineP1())
PLANE = Basis(MeshTri().refined(1), ElementTriP1())
VALUES = 0.1, 0.4, 0.3, 0.8, 0.5


@call(*VALUES)
def integral(x):
    return Functional(lambda w: w["u"] ** 2).assemble(LINE, u=LINE.interpolate(x))


@call(1.5, 0.7)
def load(x):
    return LinearForm(lambda v, w: x[0] * np.sin(x[1] * w.x[0]) * v).assemble(LINE)


@call(2.0, 0.5)
def diffusion(x):
    form = BilinearForm(lambda u, v, w: (x[0] + x[1] * w.x[0]) * dot(grad(u), grad(v)))
    return form.assemble(LINE) @ np.arange(5.0) ** 2


@call(2.0, 0.5)
def poisson(x):
    matrix = BilinearForm(lambda u, v, w: x[0] * dot(grad(u), grad(v))).assemble(PLANE)
    right = LinearForm(lambda v, w: x[1] * v).assemble(PLANE)
    return solve(*condense(matrix, right, D=PLANE.get_dofs()))


@call(*VALUES)
def probed(x):
    return LINE.probes(np.array([[0.1, 0.35, 0.8]])) @ x
