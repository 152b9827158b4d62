"""Quality of images: sewar."""

import numpy as np
import sewar

from .call import call

PLACES = np.arange(20.0)
IMAGE = 0.5 + 0.3 * np.sin(np.add.outer(0.7 * PLACES, 1.1 * PLACES) ** 1.1)
OTHER = 0.5 + 0.3 * np.cos(np.multiply.outer(0.2 * PLACES, 0.9 * PLACES))
BANDS = np.stack([IMAGE, OTHER, IMAGE * OTHER, 1.0 - IMAGE], axis=2)


@call(0.9, 0.1)
def similar(x):
    return np.array(sewar.ssim(IMAGE, x[0] * IMAGE + x[1] * OTHER, MAX=1.0))


@call(0.9, 0.1)
def scales(x):
    weights = [0.4, 0.6]
    return sewar.msssim(IMAGE, x[0] * IMAGE + x[1] * OTHER, weights=weights, ws=7, MAX=1.0)


@call(0.9, 0.1)
def universal(x):
    return sewar.uqi(IMAGE, x[0] * IMAGE + x[1] * OTHER)


@call(0.9, 0.1)
def colors(x):
    changed = x[0] * BANDS + x[1] * BANDS**2
    return np.array([sewar.ergas(BANDS, changed), sewar.sam(BANDS, changed)])


@call(0.9, 0.1)
def hypercomplex(x):
    return sewar.full_ref.q2n(BANDS, x[0] * BANDS + x[1] * BANDS**2, ws=8)
