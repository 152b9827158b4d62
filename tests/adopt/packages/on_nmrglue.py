"""Magnetic resonance: nmrglue."""

import nmrglue
import numpy as np
from nmrglue.analysis.linesh import fit_NDregion, sim_NDregion
from nmrglue.process import proc_base, proc_bl, proc_lp

from .call import call

TIMES = np.arange(32.0)


def signal(x):
    decay = np.exp((2j * np.pi * x[0] - x[1]) * TIMES)
    return decay + 0.4 * np.exp((0.9j - 0.02) * TIMES)


@call(6.3, 3.2, 10.1, 4.0, 1.5)
def region(x):
    shapes = [[(x[0], x[1])], [(x[2], x[3])]]
    return sim_NDregion((20,), ["g"], shapes, [x[4], 0.8 * x[4]])


@call(0.11, 0.05, 30.0)
def phased(x):
    spectrum = proc_base.fft(proc_base.zf_size(proc_base.em(signal(x), lb=0.01), 64))
    return proc_base.di(proc_base.ps(spectrum, p0=x[2], p1=10.0))


@call(0.11, 0.05)
def predicted(x):
    longer = proc_lp.lp_svd(signal(x), pred=4, order=3)
    return np.concatenate([longer[-4:].real, longer[-4:].imag])


@call(6.3, 3.2, 1.5)
def fitted(x):
    data = sim_NDregion((20,), ["g"], [[(x[0], x[1])]], [x[2]]) + 0.01 * np.cos(np.arange(20))
    found, heights, *_ = fit_NDregion(data, ["g"], [[(6.0, 3.0)]], [1.2])
    return np.array([*found[0][0], heights[0]])


@call(0.11, 0.05)
def leveled(x):
    unit = nmrglue.proc_base.mc(signal(x))
    return proc_bl.sol_gaussian(proc_bl.base(unit, [2, 12, 29], nw=1), w=6)
