"""Meteorology: earthkit-meteo."""

from earthkit.meteo import thermo, wind

from .call import call


@call(285.0, 292.0, 92000.0, 85000.0)
def potential_temperature(x):
    return thermo.potential_temperature(x[:2], x[2:])


@call(285.0, 292.0, 0.008, 0.01, 92000.0, 85000.0)
def humidity(x):
    return thermo.relative_humidity_from_specific_humidity(x[:2], x[2:4], x[4:])


@call(285.0, 292.0, 280.0, 284.0, 92000.0, 85000.0)
def equivalent_temperature(x):
    return thermo.ept_from_dewpoint(x[:2], x[2:4], x[4:])


@call(3.0, -4.0, 5.0, 2.0)
def direction(x):
    return wind.direction(x[:2], x[2:])


@call(285.0, 292.0, 0.008, 0.01)
def virtual_temperature(x):
    return thermo.virtual_temperature(x[:2], x[2:])
