"""The names of SciPy that are promised inside transforms, and those that have a gap."""

NAMES: dict[str, str] = {
    "special": """
        softmax log_softmax logsumexp zeta multigammaln polygamma digamma psi gammaln gamma loggamma
        beta betaln binom xlogy xlog1py entr rel_entr kl_div spherical_jn spherical_yn spherical_in
        spherical_kn ndtr ndtri ndtri_exp log_ndtr ellipk ellipkm1 ellipe ellipkinc ellipeinc ellipj
        elliprc elliprf elliprg hyp0f1 hyp1f1 hyp2f1 hyperu comb perm factorial poch
        erf erfc erfinv erfcinv erfcx expit logit log_expit gammainc gammaincc gammaincinv betainc
        betaincinv jv yv iv kv j0 j1 y0 y1 i0 i0e i1 i1e k0 k1 lambertw expn exp1 expi diric
    """,
    "linalg": """
        solve solve_triangular cho_factor cho_solve cholesky lu lu_factor lu_solve qr svd svdvals
        eigh eigvalsh eig eigvals schur inv pinv pinvh det lstsq expm logm sqrtm expm_frechet
        solve_sylvester solve_continuous_lyapunov solve_discrete_lyapunov solve_toeplitz
        solve_banded solveh_banded block_diag toeplitz circulant hankel norm null_space orth polar
    """,
    "fft": """
        fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2
        hfftn ihfftn dct idct dctn idctn dst idst dstn idstn fht ifht fftshift ifftshift fftfreq
        rfftfreq
    """,
    "fftpack": """
        fft ifft fft2 ifft2 fftn ifftn rfft irfft dct idct dctn idctn dst idst dstn idstn
    """,
    "stats": """
        norm uniform expon gamma beta t chi2 f lognorm weibull_min laplace logistic cauchy pareto
        rayleigh halfnorm truncnorm invgamma gumbel_r genextreme binom poisson nbinom geom bernoulli
        hypergeom randint multivariate_normal multivariate_t dirichlet zscore entropy skew kurtosis
        pearsonr moment gmean hmean trim_mean gaussian_kde
        ttest_ind ttest_1samp ttest_rel ttest_ind_from_stats f_oneway levene bartlett ks_2samp
        kstest shapiro normaltest skewtest kurtosistest jarque_bera chisquare power_divergence
        combine_pvalues false_discovery_control median_abs_deviation gstd mode kstat theilslopes
        siegelslopes energy_distance scoreatpercentile differential_entropy
    """,
    "integrate": "trapezoid simpson cumulative_trapezoid romb quad solve_ivp odeint",
    "interpolate": """
        interp1d CubicSpline PchipInterpolator Akima1DInterpolator CubicHermiteSpline PPoly BSpline
        make_interp_spline make_lsq_spline make_smoothing_spline splrep splev splint splder
        splantider splprep UnivariateSpline InterpolatedUnivariateSpline LSQUnivariateSpline
        RectBivariateSpline bisplev RegularGridInterpolator interpn RBFInterpolator griddata
        LinearNDInterpolator NearestNDInterpolator KroghInterpolator
    """,
    "ndimage": """
        gaussian_filter map_coordinates affine_transform geometric_transform generic_filter
        fourier_shift fourier_gaussian center_of_mass mean variance sum_labels white_tophat
    """,
    "spatial": "KDTree cKDTree procrustes distance_matrix geometric_slerp",
    "signal": """
        lfilter filtfilt sosfilt convolve fftconvolve correlate detrend savgol_filter hilbert
        butter cheby1 cheby2 ellip bessel iirfilter iirnotch iirpeak firwin firwin2 firls freqz
        freqs freqz_zpk group_delay bilinear bilinear_zpk zpk2tf tf2zpk zpk2sos tf2sos tf2ss ss2tf
        get_window chirp gausspulse cont2discrete lsim dlsim step impulse bode StateSpace czt
    """,
    "optimize": """
        brentq newton root root_scalar fsolve newton_krylov minimize minimize_scalar least_squares
        curve_fit fmin_l_bfgs_b linprog nnls lsq_linear linear_sum_assignment rosen rosen_der
        rosen_hess rosen_hess_prod
    """,
    "sparse": """
        csr_matrix csr_array csc_array coo_array dia_array bsr_array lil_matrix dok_matrix diags
        spdiags kron hstack vstack bmat block_diag linalg.gmres linalg.cg linalg.bicgstab
        linalg.minres linalg.lgmres linalg.spsolve linalg.splu linalg.factorized linalg.norm
        linalg.LinearOperator linalg.aslinearoperator linalg.expm_multiply linalg.eigsh linalg.svds
    """,
}
"""The names by the modules that have them."""

CONTINUOUS: dict[str, tuple] = {
    "norm": (0.3,), "uniform": (0.4,), "expon": (0.5,), "gamma": (1.3, 2.0),
    "beta": (0.4, 2.0, 3.0), "t": (0.5, 4.0), "chi2": (1.5, 3.0), "f": (1.2, 3.0, 5.0),
    "lognorm": (0.8, 0.6),
    "weibull_min": (0.7, 1.4), "weibull_max": (-0.7, 1.4), "laplace": (0.4,), "logistic": (0.4,),
    "cauchy": (0.4,), "pareto": (1.6, 2.2), "rayleigh": (0.9,), "halfnorm": (0.7,),
    "truncnorm": (0.2, -1.0, 2.0), "invgamma": (0.8, 2.5), "gumbel_r": (0.4,), "gumbel_l": (0.4,),
    "genextreme": (0.3, 0.2), "genpareto": (0.6, 0.2), "skewnorm": (0.3, 1.5),
    "vonmises": (0.4, 1.2), "loguniform": (1.2, 0.5, 3.0), "powerlaw": (0.6, 1.7),
    "triang": (0.5, 0.4), "exponnorm": (0.5, 1.5), "nakagami": (0.8, 1.3), "invgauss": (0.8, 0.7),
}  # fmt: skip
"""Continuous distributions: a place in the support, and the shapes."""

DISCRETE: dict[str, tuple] = {
    "binom": (2, 5, 0.3), "poisson": (2, 1.7), "nbinom": (2, 3, 0.4), "geom": (2, 0.3),
    "bernoulli": (1, 0.3), "hypergeom": (2, 10, 4, 5), "randint": (2, 1, 6),
}  # fmt: skip
"""Discrete distributions: a number, and the parameters; the floats are differentiated."""

GAPS: dict[str, str] = {
    "stats.hypergeom": "all parameters are whole numbers",
    "stats.randint": "all parameters are whole numbers",
    "optimize.linear_sum_assignment": "its rows and columns are whole numbers, as of argsort",
}
"""Names without a derivative or a batch, and the reason."""
