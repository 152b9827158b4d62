"""Calls of SciPy's functions without a record, for the page: splines, rotations, designs, places.

Each is a function of one or two numbers that returns one.
"""

from collections.abc import Callable

import numpy as np

import functier.numpy as fnp
import functier.scipy.cluster.vq as vq
import functier.scipy.integrate as si
import functier.scipy.interpolate as sip
import functier.scipy.linalg as sl
import functier.scipy.ndimage as nd
import functier.scipy.optimize as so
import functier.scipy.signal as sg
import functier.scipy.spatial as spa
import functier.scipy.spatial.distance as ds
import functier.scipy.special as sp
import functier.scipy.stats as st
from functier.scipy.spatial.transform import Rotation, Slerp

XS = np.array([0.2, 0.9, 1.4, 2.3, 3.1, 3.6])
KNOTS = np.array([*[0.2] * 4, 2.0, *[3.6] * 4])
GRID = np.arange(4.0), np.arange(5.0)
POINTS = np.array([[0.0, 0.0], [2.0, 0.2], [0.3, 2.0], [2.2, 2.4], [0.8, 1.0], [1.4, 0.4]])
VECTOR = np.array([0.3, -0.5, 0.8])
TAPS, POLES = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.4, 0.2])
TIMES = np.linspace(0.1, 2.0, 9)
A = np.array([[-1.0, 0.5], [-0.2, -0.7]])
B, C, D = np.array([[1.0], [0.5]]), np.array([[1.0, 0.3]]), np.array([[0.1]])
IMAGE = np.cos(np.arange(20.0).reshape(4, 5) ** 1.3)
LABELS = np.arange(20).reshape(4, 5) % 3


def whole(result: object) -> object:
    """One number of all numbers of a result, which may be several arrays."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    total: object = 0.0
    for part in parts:
        x = fnp.reshape(fnp.asarray(part), -1)
        x = fnp.real(x) + 0.7 * fnp.imag(x) if x.dtype.kind == "c" else x
        total = total + fnp.sum(x * np.cos(np.arange(np.shape(x)[0])))
    return total


def _interpolants() -> dict[str, Callable]:
    return {
        "BarycentricInterpolator": lambda a, q: sip.BarycentricInterpolator(XS, a * XS**2)(1.3),
        "KroghInterpolator": lambda a, q: sip.KroghInterpolator(XS, a * XS**2)(q),
        "LSQUnivariateSpline": lambda a, q: sip.LSQUnivariateSpline(XS, a * XS**2, [2.0])(q),
        "LinearNDInterpolator": lambda a, q: sip.LinearNDInterpolator(POINTS, a * POINTS[:, 0])(
            q, 0.9
        ),
        "NearestNDInterpolator": lambda a, q: sip.NearestNDInterpolator(POINTS, a * POINTS[:, 0])(
            q, 0.9
        ),
        "RBFInterpolator": lambda a, q: sip.RBFInterpolator(POINTS, a * POINTS[:, 0] ** 2)(
            fnp.stack([q, q + 0.1])[None]
        )[0],
        "Rbf": lambda a, q: sip.Rbf(POINTS[:, 0], POINTS[:, 1], a * POINTS[:, 0] ** 2)(q, q),
        "RectBivariateSpline": lambda a, q: sip.RectBivariateSpline(*GRID, a * IMAGE).ev(q, q),
        "bisplev": lambda a, q: sip.bisplev(q, q, (KNOTS, KNOTS, a * np.arange(25.0), 3, 3)),
        "griddata": lambda a, q: sip.griddata(POINTS, a * POINTS[:, 0], (q, 0.9)),
        "krogh_interpolate": lambda a, q: sip.krogh_interpolate(XS, a * XS**2, q),
        "make_lsq_spline": lambda a, q: sip.make_lsq_spline(XS, a * XS**2, KNOTS)(q),
        "make_smoothing_spline": lambda a, q: sip.make_smoothing_spline(XS, XS**2, lam=a)(q),
        "splantider": lambda a, q: sip.splev(q, sip.splantider((KNOTS, a * np.arange(9.0), 3))),
        "splder": lambda a, q: sip.splev(q, sip.splder((KNOTS, a * np.arange(9.0), 3))),
        "splint": lambda a, q: sip.splint(0.3, q, (KNOTS, a * np.arange(9.0), 3)),
        "splprep": lambda a, q: sip.splprep([XS, a * XS**2 + q], s=0)[0][1][1][2],
    }


def _designs() -> dict[str, Callable]:
    ripples = {
        "butter": (),
        "bessel": (),
        "cheby1": (1.0,),
        "cheby2": (30.0,),
        "ellip": (1.0, 30.0),
    }
    found: dict[str, Callable] = {
        name: lambda w, r=r, name=name: getattr(sg, name)(3, *r, w) for name, r in ripples.items()
    }
    found |= {
        "StateSpace": lambda a: sg.StateSpace(a * A, B, C, D).output(TIMES, TIMES)[1],
        "TransferFunction": lambda a: sg.TransferFunction(a * TAPS, POLES).freqresp(TIMES)[1],
        "bilinear_zpk": lambda a: sg.bilinear_zpk(a * TAPS, POLES, a, 2.0),
        "bode": lambda a: sg.bode((a * TAPS, POLES), TIMES)[1],
        "chirp": lambda a: sg.chirp(TIMES, a, 2.0, 3.0),
        "cont2discrete": lambda a: sg.cont2discrete((a * A, B, C, D), 0.1)[:4],
        "cspline1d": lambda a: sg.cspline1d(a * TIMES**2),
        "czt": lambda a: sg.czt(a * TIMES),
        "dlsim": lambda a: sg.dlsim((0.3 * a * A, B, C, D, 0.1), TIMES)[1],
        "envelope": lambda a: sg.envelope(a * np.cos(TIMES)),
        "firls": lambda a: sg.firls(9, [0, 0.3, 0.5, 1], fnp.stack([a, a, 0 * a, 0 * a])),
        "firwin": lambda w: sg.firwin(9, w),
        "firwin2": lambda a: sg.firwin2(9, [0, 0.3, 0.6, 1], fnp.stack([a, a, 0.2 * a, 0 * a])),
        "freqresp": lambda a: sg.freqresp((a * TAPS, POLES), TIMES)[1],
        "freqs": lambda a: sg.freqs(a * TAPS, POLES, TIMES)[1],
        "freqs_zpk": lambda a: sg.freqs_zpk(a * TAPS, POLES, a, TIMES)[1],
        "freqz_zpk": lambda a: sg.freqz_zpk(a * TAPS, a * POLES[1:], a, 8)[1],
        "gausspulse": lambda a: sg.gausspulse(a * TIMES, fc=2.0),
        "get_window": lambda a: sg.get_window(("kaiser", a), 8),
        "group_delay": lambda a: sg.group_delay((TAPS, POLES + a * POLES[::-1] * [0, 1, 1]), 8)[1],
        "iirfilter": lambda w: sg.iirfilter(3, w, btype="low"),
        "iirnotch": lambda w: sg.iirnotch(w, 20.0),
        "iirpeak": lambda w: sg.iirpeak(w, 20.0),
        "impulse": lambda a: sg.impulse((a * A, B, C, D), T=TIMES - 0.1)[1],
        "lombscargle": lambda a: sg.lombscargle(TIMES, a * np.sin(TIMES), np.array([1.0, 2.0])),
        "lp2bp": lambda w: sg.lp2bp(TAPS, POLES, w, 0.5),
        "lp2hp": lambda w: sg.lp2hp(TAPS, POLES, w),
        "lp2lp": lambda w: sg.lp2lp(TAPS, POLES, w),
        "lsim": lambda a: sg.lsim((a * A, B, C, D), TIMES, TIMES - 0.1)[1],
        "savgol_coeffs": lambda a: sg.savgol_coeffs(7, 3, deriv=1, delta=a),
        "sos2tf": lambda a: sg.sos2tf(a * np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.2]])),
        "ss2tf": lambda a: sg.ss2tf(a * A, B, C, D),
        "step": lambda a: sg.step((a * A, B, C, D), T=TIMES - 0.1)[1],
        "sweep_poly": lambda a: sg.sweep_poly(a * TIMES, np.poly1d([1.0, 2.0])),
        "tf2sos": lambda a: sg.tf2sos(TAPS + [0, 0.7, 0] * a, POLES),
        "tf2ss": lambda a: sg.tf2ss(a * TAPS, POLES),
        "tf2zpk": lambda a: sg.tf2zpk(TAPS + [0, 0.7, 0] * a, POLES),
        "zpk2sos": lambda a: sg.zpk2sos(0.3 * a * np.ones(2), POLES[1:], a),
    }
    for name in "hilbert medfilt periodogram stft welch wiener spectrogram".split():
        found[name] = lambda a, name=name: getattr(sg, name)(a * TIMES**2)
    found |= {
        "ShortTimeFFT": lambda a: sg.ShortTimeFFT(TAPS, 2, 1.0).stft(a * TIMES),
        "argrelmax": lambda a: (a * TIMES)[sg.argrelmax(a * np.sin(5 * TIMES))],
        "coherence": lambda a: sg.coherence(a * TIMES**2, TIMES, nperseg=4)[1],
        "csd": lambda a: sg.csd(a * TIMES**2, TIMES, nperseg=4)[1],
        "deconvolve": lambda a: sg.deconvolve(a * TIMES**2, TAPS),
        "freqz": lambda a: sg.freqz(a * TAPS, POLES, TIMES)[1],
        "sosfreqz": lambda a: sg.sosfreqz(
            np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.2]]) + a * np.eye(1, 6), 9
        )[1],
        "zpk2tf": lambda a: sg.zpk2tf(a * TAPS, a * POLES[1:], a),
        "decimate": lambda a: sg.decimate(a * TIMES**2, 2, n=2, ftype="fir"),
        "filtfilt": lambda a: sg.filtfilt(TAPS, POLES, a * TIMES, padlen=5),
        "hilbert2": lambda a: sg.hilbert2(a * IMAGE),
        "istft": lambda a: sg.istft(a * IMAGE)[1],
        "order_filter": lambda a: sg.order_filter(a * TIMES, [1, 1, 1], 1),
        "resample": lambda a: sg.resample(a * TIMES**2, 5),
        "resample_poly": lambda a: sg.resample_poly(a * TIMES**2, 2, 3),
        "sosfiltfilt": lambda a: sg.sosfiltfilt(
            [[0.2, 0.3, 0.1, 1.0, -0.4, 0.2]], a * TIMES, padlen=5
        ),
    }
    return {name: lambda a, f=f: whole(f(a)) for name, f in found.items()}


def _places() -> dict[str, Callable]:
    vectors = np.stack([VECTOR, 0.2 * VECTOR, -VECTOR[::-1]])
    found: dict[str, Callable] = {
        "integrate.cumulative_simpson": lambda a: si.cumulative_simpson(TIMES**2, x=a * TIMES),
        "integrate.cumulative_trapezoid": lambda a: si.cumulative_trapezoid(TIMES**2, a * TIMES),
        "integrate.romb": lambda a: si.romb(TIMES**2, a),
        "integrate.simpson": lambda a: si.simpson(TIMES**2, x=a * TIMES),
        "integrate.trapezoid": lambda a: si.trapezoid(TIMES**2, a * TIMES),
        "stats.cumfreq": lambda a: st.cumfreq(TIMES, 3, (0.0, a * 2.5), TIMES * a)[0],
        "stats.describe": lambda a: st.describe(a * TIMES**2).variance,
        "stats.directional_stats": lambda a: st.directional_stats(a + POINTS).mean_direction,
        "stats.expectile": lambda a: st.expectile(a * TIMES**2, 0.3),
        "stats.false_discovery_control": lambda a: st.false_discovery_control(a * TIMES / 9),
        "stats.percentileofscore": lambda a: st.percentileofscore(TIMES, a),
        "stats.relfreq": lambda a: st.relfreq(a * TIMES, 3).binsize,
        "stats.sigmaclip": lambda a: st.sigmaclip(a * TIMES, 2.0, 2.0).lower,
        "stats.ttest_ind_from_stats": lambda a: st.ttest_ind_from_stats(a, 1.0, 5, 0.2, a**2, 4),
        "stats.trim1": lambda a: st.trim1(a * TIMES, 0.2),
        "cluster.vq.vq": lambda a: vq.vq(a * POINTS, POINTS[:2] + 0.1)[1],
        "cluster.vq.whiten": lambda a: vq.whiten(POINTS + a * POINTS**2),
        "ndimage.center_of_mass": lambda a: nd.center_of_mass(IMAGE**2 + a * LABELS),
        "ndimage.generic_filter": lambda a: nd.generic_filter(
            a * IMAGE, lambda v: fnp.sum(v**2), 3
        ),
        "ndimage.generic_laplace": lambda a: nd.generic_laplace(
            a * IMAGE, lambda x, axis, *more: nd.correlate1d(x, [1, -2, 1], axis, *more)
        ),
        "ndimage.geometric_transform": lambda a: nd.geometric_transform(
            IMAGE, lambda i: (i[0] * 0.9 * a, i[1])
        ),
        "ndimage.mean": lambda a: nd.mean(a * IMAGE, LABELS, [1, 2]),
        "ndimage.morphological_gradient": lambda a: nd.morphological_gradient(a * IMAGE, size=3),
        "ndimage.standard_deviation": lambda a: nd.standard_deviation(a * IMAGE, LABELS, [1, 2]),
        "ndimage.sum_labels": lambda a: nd.sum_labels(a * IMAGE, LABELS, [1, 2]),
        "ndimage.variance": lambda a: nd.variance(a * IMAGE, LABELS, [1, 2]),
        "ndimage.white_tophat": lambda a: nd.white_tophat(a * IMAGE, size=3),
        "spatial.ConvexHull": lambda a: spa.ConvexHull(a * POINTS).volume,
        "spatial.Delaunay": lambda a: spa.Delaunay(a * POINTS + a**2 * POINTS[::-1] / 9).transform,
        "spatial.KDTree": lambda a: spa.KDTree(POINTS).query(a * POINTS + 0.1)[0],
        "spatial.cKDTree": lambda a: spa.cKDTree(POINTS).query(a * POINTS + 0.1)[0],
        "spatial.geometric_slerp": lambda a: spa.geometric_slerp(
            np.eye(3)[0], np.eye(3)[1], a * np.array([0.2, 0.4])
        ),
        "spatial.procrustes": lambda a: spa.procrustes(POINTS, a * POINTS[::-1] + POINTS**2)[1],
        "spatial.transform.Rotation": lambda a: (
            Rotation.from_rotvec(a * vectors).mean().as_matrix()
        ),
        "spatial.transform.Slerp": lambda a: Slerp(
            np.arange(3.0), Rotation.from_rotvec(a * vectors)
        )(0.4).as_rotvec(),
    }
    return {name: lambda a, f=f: whole(f(a)) for name, f in found.items()}


def _formulas() -> dict[str, Callable]:
    """Matrices of vectors, distances of two vectors, Bessel functions, Rosenbrock's function."""
    found: dict[str, Callable] = {
        "linalg.block_diag": lambda a: sl.block_diag(a * A, B),
        "linalg.convolution_matrix": lambda a: sl.convolution_matrix(a * TAPS, 4),
        "linalg.leslie": lambda a: sl.leslie(a * TAPS, a * TAPS[1:]),
        "optimize.rosen_hess_prod": lambda a: so.rosen_hess_prod(a * TIMES, TIMES),
        "special.polygamma": lambda a: sp.polygamma(2, a * TIMES),
        "spatial.distance.mahalanobis": lambda a: ds.mahalanobis(a * VECTOR, TAPS, np.eye(3)),
        "spatial.distance.seuclidean": lambda a: ds.seuclidean(a * VECTOR, TAPS, TAPS),
    }
    for name in "companion fiedler fiedler_companion hankel".split():
        found[f"linalg.{name}"] = lambda a, name=name: getattr(sl, name)(a * TIMES)
    for name in "rosen rosen_der rosen_hess".split():
        found[f"optimize.{name}"] = lambda a, name=name: getattr(so, name)(a * TIMES)
    for name in "jvp yvp ivp kvp h1vp h2vp".split():
        found[f"special.{name}"] = lambda a, name=name: getattr(sp, name)(1, a * TIMES, 2)
    metrics = "braycurtis chebyshev cityblock correlation cosine euclidean jensenshannon"
    for name in f"{metrics} minkowski sqeuclidean".split():
        found[f"spatial.distance.{name}"] = lambda a, name=name: getattr(ds, name)(
            TIMES + a, TIMES**2
        )
    return {name: lambda a, f=f: whole(f(a)) for name, f in found.items()}


TRIALS: dict[str, tuple[Callable, tuple]] = {
    **{f"interpolate.{name}": (call, (0.8, 1.3)) for name, call in _interpolants().items()},
    **{f"signal.{name}": (call, (0.4,)) for name, call in _designs().items()},
    **{name: (call, (1.1,)) for name, call in (_places() | _formulas()).items()},
}
"""The calls by the names on the page, and the numbers."""
