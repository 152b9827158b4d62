"""The refusals that are foreseen, and the faults that are known."""

REASONS: dict[str, str] = {
    r"^DataDependentError: .*the shape of the (result|residuals) of": (
        "examples whose results differ in shape are no array; the message says what keeps all"
    ),
    r"^DataDependentError: .*the number of leading zeros differs": (
        "polynomials of differing lengths are no array; the message says what to use"
    ),
    r"^(ValueError: numpy.(histogram: the range|average: the weights)|LinAlgError: SVD did)": (
        "NumPy refuses such an example, and one of the batch is"
    ),
    r"^NoRuleError: .*\.(reduce|accumulate|reduceat) has no derivative rule": (
        "methods of ufuncs beyond those that are sums, products or extrema are documented to have "
        "none"
    ),
}
"""A regular expression of an error, and why a user has to accept it."""

KNOWN: dict[str, str] = {
    r"np\.logaddexp2?\.reduce": "logaddexp.reduce of integers",
    r"repeat\(.*AxisError: axis -?[01] is out of bounds for array of dimension 0": "repeat of 0-d",
    r"np\.(convolve|correlate|poly\w+).*: dtype": "dtypes of convolutions and polynomials",
    r"median|quantile|percentile": "quantiles: dtypes, nothing, infinities",
    r"repeat\(.*\[\].*Cannot cast": "repeat by an empty list",
    r"reduceat.*nan": "reduceat in reverse mode where an element of another slice is 0",
    r"np\.cov\(.*aweights": "degrees of freedom of weights in single precision",
    r"np\.gradient\(.*off by inf": "gradient of infinities over uneven steps is NaN, not infinite",
    r"trim_zeros\(": "trim_zeros of zeros only",
    r"np\.polyfit.*expected non-empty vector": "polyfit of nothing",
    r"np\.linalg\.cond.*not defined on empty": "cond of nothing",
    r"np\.ediff1d": "dtypes of numpy.ediff1d",
    r"np\.hypot\.reduce": "hypot.reduce of one element is its modulus",
    r"np\.einsum": "einsum",
    r"(max|min)(imum\.reduce)?\(.*where=.*initial=|(max|min).*initial=.*where=": (
        "where= and initial= of another dtype"
    ),
    r"array type float16 is unsupported in linalg": "float16 in lstsq and roots",
    r"np\.histogram.*dtype": "weights of small integers",
}
"""A regular expression of a wrong case (its text and what was wrong), and who mends it."""
