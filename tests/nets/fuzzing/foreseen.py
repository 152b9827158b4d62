"""The refusals that are foreseen, and the faults that are known."""

REASONS: dict[str, str] = {
    r"^DataDependentError: .*the shape of the (result|residuals) of": (
        "results that differ in shape do not form an array; the message says what keeps all"
    ),
    r"^DataDependentError: .*the number of leading zeros differs": (
        "polynomials of differing lengths do not form an array; the message says what to use"
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
    r"np\.nan(quantile|percentile)\(.*axis=\(": (
        "where NumPy merges axes it moves those of a q with two axes to the wrong places"
    ),
    r"np\.nan(quantile|percentile)\(.*dtype float64, expected float": (
        "of a row that is nothing but NaN NumPy has the dtype of the data, of others that of q, too"
    ),
    r"np\.(nan)?median\(.*NumPy raises ValueError: cannot reshape array of size 0": (
        "of nothing NumPy fails in merging axes, and functier has an answer"
    ),
    r"np\.einsum.*off by inf": "sums of infinities, and what overflows, come in another order",
}
"""Regular expressions for cases that look wrong (text and finding), and why they are right."""
