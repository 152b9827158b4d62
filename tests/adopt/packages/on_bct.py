"""Networks of brains: bctpy."""

import bct
import numpy as np

from .call import call

NODES = np.arange(1.0, 7.0)
WEIGHTS = np.abs(np.sin(np.outer(NODES, NODES) ** 1.2))
np.fill_diagonal(WEIGHTS, 0.0)
GROUPS = np.array([1, 1, 2, 2, 2, 1])


@call(0.6, 0.2)
def clustered(x):
    weights = x[0] * WEIGHTS + x[1] * WEIGHTS**2
    return np.concatenate([bct.clustering_coef_wu(weights), [bct.transitivity_wu(weights)]])


@call(0.6, 0.2)
def routes(x):
    found = bct.rout_efficiency(x[0] * WEIGHTS + x[1] * WEIGHTS**2, transform="inv")
    return np.concatenate([[found[0]], found[2]])


@call(0.6, 0.2)
def walks(x):
    return bct.diffusion_efficiency(x[0] * WEIGHTS + x[1] * WEIGHTS**2)[1]


@call(0.6, 0.2)
def efficient(x):
    return bct.efficiency_wei(x[0] * WEIGHTS + x[1] * WEIGHTS**2, local=True)


@call(0.6, 0.2)
def central(x):
    weights = x[0] * WEIGHTS + x[1] * WEIGHTS**2
    between = bct.participation_coef(weights, GROUPS)
    return np.concatenate([bct.pagerank_centrality(weights, 0.85), between])
