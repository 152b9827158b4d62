"""Calls of SciPy's and scikit-learn's array API functions under transforms: a program.

``python library_calls.py scipy`` prints the verdicts on the first rows of SciPy, and ``... all``
those on all rows. `test_array_exchange` runs it, since SciPy reads SCIPY_ARRAY_API when it is
imported. A last word ``planted`` puts in a fault: a tangent that is too large by a thousandth.
"""

import os
import sys
import warnings

import numpy as np

import functier as ft

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy is imported below
warnings.simplefilter("ignore")

RNG = np.random.default_rng(0)
V, M, W = RNG.normal(size=6), RNG.normal(size=(5, 3)), RNG.uniform(0.5, 2.0, 6)
Q, LONG = RNG.normal(size=4), RNG.normal(size=20)
OTHER = {6: RNG.normal(size=6), 3: RNG.normal(size=3), 15: RNG.normal(size=(4, 3))}
LABELS = np.array([0, 1, 0, 1, 1, 0])
STEP = 1e-6


def xp_of(x):
    return x.__array_namespace__()


def by(x, size=None):
    """A constant array beside `x`, in its namespace."""
    return xp_of(x).asarray(OTHER[size or x.size])


def scipy_rows():
    """The calls, those of the quick test first: (arguments, function)."""
    import scipy.special as sp
    import scipy.stats as st

    yield from {
        "logsumexp": (M, lambda x: sp.logsumexp(x, axis=1)),
        "erf": (V, sp.erf),
        "betainc of numbers": (W, lambda x: sp.betainc(xp_of(x).asarray(1.5), 2.0, sp.expit(x))),
        "zscore": (V, st.zscore),
        "pearsonr": (V, lambda x: st.pearsonr(x, by(x)).statistic),
    }.items()
    yield None
    import scipy.cluster.vq as vq
    import scipy.constants as constants
    import scipy.fft as fft
    import scipy.integrate as integrate
    import scipy.linalg as linalg
    import scipy.ndimage as ndimage
    import scipy.signal as signal
    from scipy.spatial.transform import Rotation

    def asx(x, *values):
        return xp_of(x).asarray([*values])

    yield from {
        "softmax": (M, lambda x: sp.softmax(x, axis=1)),
        "log_softmax": (M, lambda x: sp.log_softmax(x, axis=1)),
        "gammaln": (W, sp.gammaln),
        "xlogy": (W, lambda x: sp.xlogy(x, x)),
        "rel_entr": (W, lambda x: sp.rel_entr(x, x + 1)),
        "ndtri": (V, lambda x: sp.ndtri(sp.ndtr(x) / 2)),
        "chdtrc": (W, lambda x: sp.chdtrc(xp_of(x).asarray(3.0), x)),
        "gzscore": (W, st.gzscore),
        "skew": (V, lambda x: st.skew(x, bias=False)),
        "kurtosis": (V, st.kurtosis),
        "moment": (V, lambda x: st.moment(x, 3)),
        "kstat": (V, lambda x: st.kstat(x, 3)),
        "variation": (W, st.variation),
        "sem": (V, st.sem),
        "describe": (V, lambda x: st.describe(x).variance),
        "gmean": (W, st.gmean),
        "pmean": (W, lambda x: st.pmean(x, 3)),
        "gstd": (W, st.gstd),
        "tmean": (V, lambda x: st.tmean(x, (-1, 1))),
        "trim_mean": (V, lambda x: st.trim_mean(x, 0.2)),
        "iqr": (V, st.iqr),
        "entropy": (W, st.entropy),
        "spearmanr": (V, lambda x: st.spearmanr(x, by(x)).statistic * x),
        "ttest_1samp": (V, lambda x: st.ttest_1samp(x, 0.1).pvalue),
        "ttest_ind": (V, lambda x: st.ttest_ind(x, by(x)).statistic),
        "chisquare": (W, lambda x: st.chisquare(x).pvalue),
        "bartlett": (V, lambda x: st.bartlett(x, by(x)).statistic),
        "levene": (V, lambda x: st.levene(x, by(x)).statistic),
        "normaltest": (LONG, lambda x: st.normaltest(x).statistic),
        "combine_pvalues": (W / 3, lambda x: st.combine_pvalues(x).statistic),
        "false_discovery_control": (W / 3, st.false_discovery_control),
        "boxcox_llf": (W, lambda x: st.boxcox_llf(0.5, x)),
        "directional_stats": (M, lambda x: st.directional_stats(x).mean_direction),
        "circvar": (V, st.circvar),
        "lmoment": (V, st.lmoment),
        "quantile": (V, lambda x: st.quantile(x, 0.3)),
        "f_oneway": (V, lambda x: st.f_oneway(x, by(x)).statistic),
        "expectile": (V, lambda x: st.expectile(x, 0.3)),
        "fft": (V, lambda x: abs(fft.fft(x))),
        "irfft": (V, lambda x: fft.irfft(fft.rfft(x) * np.arange(4))),
        "fht": (W, lambda x: fft.fht(x, 0.1, 0.5)),
        "trapezoid": (V, integrate.trapezoid),
        "cumulative_simpson": (V, integrate.cumulative_simpson),
        "simpson": (V, integrate.simpson),
        "fftconvolve": (V, lambda x: signal.fftconvolve(x, by(x, 3))),
        "hilbert": (V, lambda x: signal.hilbert(x).imag),
        "freqz": (V, lambda x: abs(signal.freqz(x, worN=8)[1])),
        "detrend": (V, signal.detrend),
        "gaussian_filter": (M, lambda x: ndimage.gaussian_filter(x, 1.0)),
        "whiten": (M, vq.whiten),
        "vq": (M, lambda x: vq.vq(x, xp_of(x).ones((2, 3)))[1]),
        "convert_temperature": (V, lambda x: constants.convert_temperature(x, "C", "F")),
        "block_diag": (M, lambda x: linalg.block_diag(x, x)),
        "inv": (M[:3], linalg.inv),
        "as_matrix": (Q, lambda x: Rotation.from_quat(x).as_matrix()),
        "apply": (V[:3], lambda x: Rotation.from_rotvec(x).apply(asx(x, 1.0, 2.0, 3.0))),
        "as_rotvec": (Q, lambda x: (Rotation.from_quat(x) * Rotation.from_quat(x + 1)).as_rotvec()),
    }.items()


TRANSFORMS = {"grad", "jvp", "vmap", "vmap(grad)"}
SCIPY_REFUSES = dict.fromkeys(
    ("f_oneway", "expectile", "simpson", "detrend", "gaussian_filter", "vq", "inv"), TRANSFORMS
)
"""Those whose SciPy code makes plain arrays of all tensors; `f_oneway` writes to a number."""


def sklearn_rows():
    import sklearn
    from sklearn import metrics, preprocessing
    from sklearn.metrics import pairwise

    sklearn.set_config(array_api_dispatch=True)
    # They return float(...). Its utilities find the namespace of a tensor themselves.
    ft.adopt("sklearn.metrics", dependencies=False)
    target = {
        name: lambda x, name=name: getattr(metrics, name)(by(x), x)
        for name in (
            "mean_squared_error", "r2_score", "mean_absolute_error", "root_mean_squared_error",
            "explained_variance_score", "max_error", "median_absolute_error",
        )
    }  # fmt: skip
    kernels = {
        name: lambda x, name=name: getattr(pairwise, name)(x, by(x, 15))
        for name in (
            "euclidean_distances", "cosine_similarity", "rbf_kernel", "polynomial_kernel",
            "manhattan_distances", "linear_kernel",
        )
    }  # fmt: skip
    for name in ("mean_squared_error", "r2_score"):
        yield name, (V, target.pop(name))
    yield "euclidean_distances", (M, kernels.pop("euclidean_distances"))
    yield "MinMaxScaler", (M, lambda x: preprocessing.MinMaxScaler().fit_transform(x))
    yield None
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.mixture import GaussianMixture

    def labels(x):
        return xp_of(x).asarray(LABELS)

    def of_lda(x):
        fitted = LinearDiscriminantAnalysis(solver="svd").fit(x, labels(x))
        return fitted.decision_function(x)

    def of_mixture(x):
        mixture = GaussianMixture(2, init_params="random", random_state=0, max_iter=3)
        return mixture.fit(x).means_

    yield from {name: (V, f) for name, f in target.items()}.items()
    yield from {name: (M, f) for name, f in kernels.items()}.items()
    fit = {
        name: lambda x, name=name: getattr(preprocessing, name)().fit_transform(x)
        for name in ("MaxAbsScaler", "Normalizer", "StandardScaler", "PolynomialFeatures")
    }
    yield from {name: (M, f) for name, f in fit.items()}.items()
    rows = RNG.normal(size=(6, 2))
    yield from {
        "tweedie": (W, lambda x: metrics.mean_tweedie_deviance(by(x) ** 2, x, power=1.5)),
        "brier_score_loss": (W / 3, lambda x: metrics.brier_score_loss(labels(x), x)),
        "accuracy_score": (V, lambda x: metrics.accuracy_score(labels(x), 1 - labels(x)) * x),
        "f1_score": (V, lambda x: metrics.f1_score(labels(x), labels(x)) * x),
        "roc_curve": (V, lambda x: metrics.roc_curve(labels(x), x)[2][1:]),
        "log_loss": (W / 3, lambda x: metrics.log_loss(labels(x), x)),
        "PCA": (M, lambda x: abs(PCA(n_components=2, svd_solver="full").fit_transform(x))),
        "explained_variance_": (M, lambda x: PCA(svd_solver="full").fit(x).explained_variance_),
        "Ridge": (rows, lambda x: Ridge(solver="svd").fit(x, xp_of(x).asarray(V)).coef_),
        "LDA": (rows, of_lda),
        "GaussianMixture": (rows, of_mixture),
    }.items()


SKLEARN_REFUSES = {
    "log_loss": {"grad", "jvp"},  # a comparison of tensors is a plain array there
    "roc_curve": {"vmap", "vmap(grad)"},  # its shape depends on the data
}


def weights(y):
    return np.cos(np.arange(1.0, 1.0 + np.size(y))).reshape(np.shape(y))


def slope(f, x, t):
    h = STEP
    return (np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2 * h)


def verdicts(f, x, factor=1.0):
    """The verdict on `f` at `x` under each transform: right, refused or wrong."""
    y = np.asarray(f(x))
    t = np.sin(np.arange(2.0, 2.0 + x.size)).reshape(x.shape)
    xs = np.stack([x, 1.1 * x])
    tangent = slope(f, x, t)
    total = np.sum(weights(y) * tangent)

    def loss(x):
        out = f(x)
        return np.sum(out * weights(y))

    def near(a, b, tolerance=2e-5):
        if np.isnan(a).any() and not np.isnan(b).any():
            raise FloatingPointError
        scale = max(1.0, np.max(np.abs(b), initial=0.0))
        return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=0, atol=tolerance * scale)

    def jvp():
        out, d = ft.jvp(f, (x,), (t,))
        return near(out, y, 1e-9) and near(d * factor, tangent)

    checks = {
        "grad": lambda: near(np.sum(ft.grad(loss)(x) * t), total),
        "jvp": jvp,
        "vmap": lambda: near(ft.vmap(f)(xs), np.stack([f(x) for x in xs]), 1e-9),
        "vmap(grad)": lambda: near(
            np.sum(ft.vmap(ft.grad(loss))(xs) * t, axis=tuple(range(1, xs.ndim))),
            [np.sum(weights(y) * slope(f, x, t)) for x in xs],
        ),
    }
    found = {}
    for name, check in checks.items():
        try:
            found[name] = "right" if check() else "wrong"
        except FloatingPointError:
            found[name] = "NaN"
        except (ft.LevelError, TypeError) as error:
            known = isinstance(error, ft.LevelError) or "x.__array_namespace__()" in str(error)
            found[name] = "refused" if known else f"{type(error).__name__}: {error}"
    return found


def check_messages():
    """Follow the message for a plain array beside a tensor; and read that of another refusal."""
    import scipy.special as sp
    import scipy.stats as st

    plain = np.arange(6.0)
    try:
        ft.grad(lambda x: st.pearsonr(x, plain).statistic)(V)
    except TypeError as error:
        assert "write x.__array_namespace__().asarray(a) for a plain array a" in str(error)
    else:
        raise AssertionError("two namespaces")
    f = lambda x: st.pearsonr(x, x.__array_namespace__().asarray(plain)).statistic  # noqa: E731
    assert np.isfinite(ft.grad(f)(V)).all()
    try:
        ft.grad(lambda x: sp.multigammaln(x, 2))(3.0)
    except ft.ConversionError as error:
        assert "math.factorial" not in str(error), f"the remedy for polygamma: {error}"
    else:
        raise AssertionError("a plain array")


def main(library, how="", fault=""):
    rows = {"scipy": scipy_rows, "sklearn": sklearn_rows}[library]()
    refuses = {"scipy": SCIPY_REFUSES, "sklearn": SKLEARN_REFUSES}[library]
    counts, failed = {}, []
    for row in rows:
        if row is None:
            if how != "all":
                break
            continue
        name, (x, f) = row
        for transform, verdict in verdicts(f, x, 1.001 if fault else 1.0).items():
            expected = "refused" if transform in refuses.get(name, ()) else "right"
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict != expected:
                failed.append(f"{name} under {transform}: {verdict}")
    print(counts)
    print(*failed, sep="\n")
    if library == "scipy":
        check_messages()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
