"""Statistics of particle physics: pyhf."""

import pyhf
from pyhf.infer.mle import twice_nll

from .call import call

MODEL = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 12.0])
CORRELATED = pyhf.simplemodels.correlated_background(
    [12.0, 11.0], [50.0, 52.0], [45.0, 57.0], [54.0, 47.0]
)
DATA = [53.0, 65.0, *MODEL.config.auxdata]


@call(1.2, 0.95, 1.1)
def expected(x):
    return MODEL.expected_data(x)


@call(1.2, 0.95, 1.1)
def likelihood(x):
    return MODEL.logpdf(x, DATA)


@call(0.4, 1.2)
def interpolated(x):
    return CORRELATED.expected_actualdata(x)


@call(0.4, 1.2)
def deviance(x):
    return twice_nll(x, [55.0, 61.0, *CORRELATED.config.auxdata], CORRELATED)
