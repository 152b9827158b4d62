"""The refusals that are foreseen."""

CONSTANT: dict[str, str] = {
    r"^MutationError: .*cannot be written to inside .*make a copy inside": (
        "an array of an outer level may be a constant of the inner one"
    ),
    r"^MutationError: .*cannot be written to an array that was made outside of it": (
        "an array of an outer level would hold a value of the inner one, which ends before it"
    ),
}
"""Those of programs that make arrays of what no derivative goes through, as indices and masks."""

OUTSIDE: dict[str, str] = CONSTANT | {
    r"^MutationError: .*would write a tensor to a plain array; make": (
        "a plain array from outside of the level, or made of such, has no place for a tensor"
    ),
    r"^ConversionError: .*(numpy.asarray|float|complex)\(x\) would (turn|lose|be the same)": (
        "NumPy's own assignment asks for the values of a tensor, to write them to a plain array"
    ),
    r"^ValueError: Error setting single item of array": (
        "NumPy's own assignment to a.flat says so of such a refusal"
    ),
}
"""Those of programs that write to what was not made by the innermost level."""

REASONS: dict[str, str] = {
    r"^MutationError: .*depends on the order in which NumPy writes": (
        "NumPy writes to a mask's places as it goes, and reads what it has written already"
    ),
    r"^TypeError: Cannot cast numpy\S+ output from .*float.* to .*int": (
        "NumPy's ufuncs refuse to write floats to integers, its reductions and take do not: here "
        "all of them refuse"
    ),
    r"^DataDependentError: .*a boolean mask that differs from example to example": (
        "a value has as many elements as the mask selects, which differs from example to example"
    ),
    r"^MutationError: .*would write a tensor to a plain array; (make|write)": (
        "NumPy makes plain arrays of plain numbers, and these have no place for a tensor"
    ),
}
"""A regular expression of an error, and why a user has to accept it."""
