"""Sensitivity analysis: SALib."""

import numpy as np
from SALib.analyze import dgsm, fast, morris, rbd_fast, sobol
from SALib.sample import fast_sampler, finite_diff, latin
from SALib.sample import morris as morris_sampler
from SALib.sample import sobol as sobol_sampler

from .call import call

PROBLEM = {"num_vars": 2, "names": ["a", "b"], "bounds": [[0.1, 1.0], [0.1, 1.0]]}
SAMPLES = {
    "sobol": sobol_sampler.sample(PROBLEM, 16, calc_second_order=False, seed=1),
    "fast": fast_sampler.sample(PROBLEM, 70, seed=1),
    "latin": latin.sample(PROBLEM, 60, seed=1),
    "morris": morris_sampler.sample(PROBLEM, 8, num_levels=4, seed=1),
    "dgsm": finite_diff.sample(PROBLEM, 20, seed=1),
}


def results(x, kind):
    """Return the results of a model with two parameters."""
    a, b = SAMPLES[kind].T
    return x[0] * a**2 + np.sin(x[1] * b) + a * b


@call(1.3, 0.7)
def variances(x):
    found = sobol.analyze(PROBLEM, results(x, "sobol"), calc_second_order=False, seed=1)
    return np.array([found["S1"], found["ST"]])


@call(1.3, 0.7)
def spectrum(x):
    found = fast.analyze(PROBLEM, results(x, "fast"), num_resamples=5, seed=1)
    return np.array([found["S1"], found["ST"]])


@call(1.3, 0.7)
def permuted(x):
    y = results(x, "latin")
    return np.array(rbd_fast.analyze(PROBLEM, SAMPLES["latin"], y, num_resamples=5, seed=1)["S1"])


@call(1.3, 0.7)
def effects(x):
    found = morris.analyze(PROBLEM, SAMPLES["morris"], results(x, "morris"), seed=1)
    return np.array([found["mu"], found["sigma"]])


@call(1.3, 0.7)
def slopes(x):
    found = dgsm.analyze(PROBLEM, SAMPLES["dgsm"], results(x, "dgsm"), num_resamples=5, seed=1)
    return np.array([found["vi"], found["dgsm"]])
