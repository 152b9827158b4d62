"""The refusals that have a good reason."""

NO_MEANING = {
    r"would (turn a batch|make (a )?plain|lose the derivative|be the same in each call) ": (
        "the call asks for a plain array, which has no batch and no derivative: NumPy's function "
        "does not dispatch; most have a twin in functier.numpy and in adopted code"
    ),
    r"is about the memory of an array|a bytes-like object is required": (
        "the bytes of a batch or of a pair are not those of an array"
    ),
}
"""The refusals of what has no meaning for a tensor, which are counted apart: by the protocols of
Python and of NumPy the call can return plain numbers or bytes alone."""
REASONS = {
    "output array is read-only": "a view of one place in many, to which NumPy warns of writes",
    **NO_MEANING,
    r"^MutationError: .*would write a tensor to a plain array": (
        "the result is a plain array, of plain numbers or of code that NumPy does not dispatch"
    ),
    r"order='[KA]'\) depends on how an array lies in memory": (
        "the order of the elements would be that of the memory, which rules of SciPy may choose"
    ),
    r"^MutationError: .*its view in NumPy and a copy here": "the other would not see the write",
    r"^MutationError: .*a plain array of its memory, is in use": "that would not see the write",
    r"^DataDependentError": "the number of elements differs from example to example",
    r"^MutationError: .*the plain array that numpy.asarray\(x\) made at": (
        "an array that NumPy asked of a tensor is a copy, to which a write would be lost"
    ),
    r"assignment destination is read-only(; write|: .* gives one element several places)": (
        "one element has several places, and NumPy itself warns of such a write"
    ),
    r"^ValueError: the program of .* differs from the trace": "a shape or an index depends on it",
    r"whose __add__ is another than NumPy's": "a class of arrays has operators of its own",
    r"^PicklingError|Unable to avoid copy": "a copy in a file, or of a number, is no view",
    r"is complex.*, but was float": "the results of all steps have one dtype",
    r"numpy.apply_over_axes.*expected an array with axes": "NumPy may make a number or an array",
    r"x.elem\(\), as no_dispatch has it": "the check of finite values asks for them",
}  # fmt: skip
"""A regular expression of an error, and why a user has to accept it."""
