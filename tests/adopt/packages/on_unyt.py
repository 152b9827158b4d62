"""Arrays with units: unyt."""

import numpy as np
import unyt

from .call import call


@call(1.5, 2.5)
def converted(x):
    return (x * unyt.km).to("m").value


@call(1.5, 2.5)
def made(x):
    return unyt.unyt_array(x, "hr").to_value("s")


@call(2.0, 3.0)
def energy(x):
    mass, speed = unyt.unyt_quantity(x[0], "kg"), unyt.unyt_quantity(x[1], "m/s")
    return (0.5 * mass * speed**2).in_units("erg").value


@call(3.0, 4.0)
def norm(x):
    return np.sqrt(np.sum(unyt.unyt_array(x, "cm") ** 2)).in_mks().value


@call(20.0, 35.0)
def kelvin(x):
    return unyt.unyt_array(x, "degC").to("K").value
