"""Names of SciPy with an underscore: those that functier reads, and what happens without.

SciPy promises none of them. A test looks each up in the installed release, and finds out if another
file has one. So a new release of SciPy is a change of this file.
"""

from typing import Any

import scipy.special  # type: ignore[import-untyped]

from .._core.errors import UnsupportedError
from .._core.numpy_private import SPECIAL, look_up

COPIED = (
    "scipy._lib._array_api", "scipy._lib._util", "scipy._lib.array_api_extra", "scipy.cluster.vq",
    "scipy.integrate._quadrature", "scipy.interpolate._polyint", "scipy.interpolate._rbf.",
    "scipy.linalg._special_matrices", "scipy.ndimage._measurements", "scipy.ndimage._morphology",
    "scipy.optimize._optimize.rosen", "scipy.signal._arraytools", "scipy.signal._czt",
    "scipy.signal._filter_design", "scipy.signal._fir_filter_design",
    "scipy.signal._lti_conversion", "scipy.signal._ltisys", "scipy.signal._peak_finding",
    "scipy.signal._polyutils", "scipy.signal._savitzky", "scipy.signal._short_time_fft",
    "scipy.signal._signaltools", "scipy.signal._spectral", "scipy.signal._spline_filters",
    "scipy.signal._waveforms", "scipy.signal.windows", "scipy.spatial._geometric_slerp",
    "scipy.spatial._kdtree", "scipy.spatial._procrustes", "scipy.spatial.distance",
    "scipy.special._basic._bessel", "scipy.special._basic.h1vp", "scipy.special._basic.h2vp",
    "scipy.special._basic.ivp", "scipy.special._basic.jvp", "scipy.special._basic.kvp",
    "scipy.special._basic.polygamma", "scipy.special._basic.yvp", "scipy.stats._axis_nan_policy",
    "scipy.stats._entropy", "scipy.stats._morestats", "scipy.stats._quantile",
    "scipy.stats._stats_py", "scipy.stats._variation", "scipy.stats.contingency",
)  # fmt: skip
"""The beginnings of the names of functions that are copied; others refuse tensors."""

CLASSES_OF = (
    "scipy.interpolate._polyint", "scipy.interpolate._rbf.", "scipy.signal._czt",
    "scipy.signal._ltisys", "scipy.signal._short_time_fft",
)  # fmt: skip
"""Those whose classes are copied, too: their instances may hold tensors."""

SYSTEMS = "scipy.signal._lti_conversion", "scipy.signal._ltisys"
"""Those whose functions take instances of these classes."""

DISTRIBUTION, NORMAL = "scipy.stats.norm", "scipy.stats.multivariate_normal"
OPERATOR, SPLINE = "scipy.sparse.linalg.LinearOperator", "scipy.interpolate.UnivariateSpline"

RESULTS = (
    "_stats_py",
    "_morestats",
    "_mannwhitneyu",
    "_hypotests",
    "_common",
    "_stats_mstats_common",
)
"""The modules of `scipy.stats` that have the classes of results."""

PRIVATE: dict[str, str] = {
    SPECIAL: "scipy.special itself has the ufuncs",
    f"{SPECIAL}._zeta": "the zeta function has no derivative with respect to its second operand",
    f"{SPECIAL}._riemann_zeta": "the zeta function of one argument has no derivative",
    f"{SPECIAL}._lambertw": "lambertw has no rule",
    f"{SPECIAL}._kolmogp": "kolmogorov and its inverse have no derivative",
    f"{SPECIAL}._smirnovp": "smirnov and its inverse have no derivative",
    "scipy.fft._fftlog_backend.fhtcoeff": "fht and ifht refuse tensors",
    "scipy.fft._pocketfft.helper._init_nd_shape_and_axes": "transforms along several axes do",
    "scipy.integrate._bvp.collocation_fun": "solve_bvp does",
    "scipy.integrate._quadpack_py._NQuad": "functier.scipy.integrate is not imported",
    "scipy.integrate.RK45._estimate_error_norm": "steps heed the errors of derivatives, too",
    f"{SPLINE}._from_tck": "derivatives of a plain spline are not made",
    f"{SPLINE}()._eval_args": "a spline of tensors is not made",
    f"{SPLINE}()._data": "a spline is taken for one of tensors, with the same knots",
    "scipy.interpolate.interp1d()._fill_value_below": "it is NaN",
    "scipy.interpolate.interp1d()._fill_value_above": "it is NaN",
    "scipy.interpolate.interp1d()._extrapolate": "interp1d of tensors is not made",
    "scipy.interpolate.RegularGridInterpolator()._spline": "the coefficients are computed",
    "scipy.interpolate.PPoly()._asarray": "nothing: older releases have none",
    "scipy.spatial.Delaunay()._points": "find_simplex of tensors is not made",
    "scipy.stats.gaussian_kde._compute_covariance": "a density of tensors is not made",
    "scipy.stats.gaussian_kde()._data_covariance": "it is computed",
    "scipy.stats.gaussian_kde()._data_cho_cov": "it is computed",
    f"{DISTRIBUTION}._parse_args": "distributions refuse tensors",
    f"{DISTRIBUTION}._get_support": "distributions refuse tensors",
    f"{DISTRIBUTION}._argcheck": "distributions refuse tensors",
    f"{NORMAL}._process_parameters": "multivariate distributions refuse tensors",
    f"{NORMAL}._process_parameters_psd": "multivariate distributions refuse tensors",
    f"{NORMAL}._process_quantiles": "multivariate distributions refuse tensors",
    **dict.fromkeys([f"scipy.stats.{name}" for name in RESULTS], "results are plain named tuples"),
    "scipy.stats.ttest_1samp()._alternative": "its results have no such attribute",
    "scipy.stats.ttest_1samp()._estimate": "its results have no such attribute",
    "scipy.stats.ttest_1samp()._standard_error": "its results have no such attribute",
    f"{OPERATOR}()._CustomLinearOperator__matvec_impl": "_matvec is called",
    f"{OPERATOR}()._CustomLinearOperator__rmatvec_impl": "it has no adjoint",
    f"{OPERATOR}._matvec": "an operator of a user's class is not one of tensors",
    f"{OPERATOR}._rmatvec": "it has no adjoint",
    f"{OPERATOR}._adjoint": "it has no adjoint",
}
"""The names, and what happens in a release without one. An instance has what follows ``()``."""

special: Any = look_up(SPECIAL) or scipy.special
"""The module of the ufuncs, which those of `scipy.special` may wrap."""


def needed(name: str) -> Any:
    """Return the function of a name; in a release without it, one that refuses."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"this release of SciPy has no {name}: {PRIVATE[name]}")

    return look_up(name) or refuse
