"""The refusals that have a good reason, and what is not seen."""

from .cases import Program

REASONS = {
    r"^ConversionError: .*numpy.asarray\(x\).*would turn a batch of examples into": (
        "a function of NumPy asks a subclass to make an array of its result"
    ),
    r"^MutationError: .*had kept it": "a large array is not copied, and its content has changed",
    r"^RuntimeError: checkpoint.* ran again .* different numbers from the first time": (
        "a function that runs again finds another array, and tells it by its results"
    ),
    r"^MutationError: .*runs again in the backward pass \(checkpoint\) uses an array": (
        "it may be another one by then"
    ),
    r"^MutationError: (compile|trace).*: a plain array .* was used, and written to later": (
        "a program has no copies of large arrays"
    ),
    r"^MutationError: .*an array of this level cannot be written to inside .*as a constant": (
        "an array that an outer level has made is a constant on the tape of the inner one"
    ),
}

LATER = {
    r"^MutationError: .*in the backward pass a function that runs again uses an object of the": (
        "it has another content by then, and is large, or cannot get back the one that it had"
    ),
    r"^LevelError: .*finite_difference.* closes over the tensor": "differences are of arguments",
}

UNSEEN = [Program("w @ x[:100]", "wide", "one"), Program("x[:100] @ w.T", "wide", "one")]
"""A row that lies between the elements which a fingerprint has of a matrix that is read once."""
