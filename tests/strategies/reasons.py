"""The refusals that are foreseen: a pattern of the error, and why a user has to accept it."""

BRANCHES = {
    r"^ValueError: zero-size array": "NumPy has no largest element of an empty array either"
}

WRITES = {
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
CONSTANT = {
    r"^MutationError: .*cannot be written to inside .*make a copy inside": (
        "an array of an outer level may be a constant of the inner one"
    ),
    r"^MutationError: .*cannot be written to an array that was made outside of it": (
        "an array of an outer level would hold a value of the inner one, which ends before it"
    ),
}
"""Those of programs that make arrays of what no derivative goes through, as indices and masks."""

OUTSIDE = CONSTANT | {
    r"^MutationError: .*would write a tensor to a plain array; make": (
        "a plain array from outside of the level, or made of such, has no place for a tensor"
    ),
    r"^ConversionError: .*(numpy.asarray|float|complex)\(x\) would (turn|lose|be the same)": (
        "NumPy's own assignment asks for the values of a tensor, to write them to a plain array"
    ),
    r"^MutationError: .* = x, (float|complex)\(x\) would (turn|lose)": (
        "a plain array from outside of the level has no place for a tensor"
    ),
    r"^ValueError: Error setting single item of array": (
        "NumPy's own assignment to a.flat says so of such a refusal"
    ),
}
"""Those of programs that write to what was not made by the innermost level."""

COMPILED = {
    r"^ConversionError: .*(float|complex)\(x\) would (lose the derivative|be the same)": (
        "a program could not follow the plain number"
    ),
    r"^LevelError: .*constant\.(shares_memory|may_share_memory)": (
        "it asks for the memory of an array"
    ),
    **OUTSIDE,
    **WRITES,
}
"""Errors of a compiled program that eager mode has not."""

LOOPS = {
    r"^DataDependentError: ": "Python code asks for what differs from example to example",
    r"^RandomnessError: .*a draw inside a chunk, or in functier.checkpoint, would be": (
        "the generator of a chunk of examples is a new one in each call"
    ),
}
"""Those of a trace where eager mode gives a result."""

GIVEN_LOOPS = LOOPS | {
    r"^MutationError: a function that some examples chose has put a value": (
        "its list would hold values of another example for those that have ended"
    ),
    r"^MutationError: a function that runs again in the backward pass": (
        "checkpoint does not know yet if there will be a backward pass"
    ),
    r"^RandomnessError: compile.*asks the system for a seed": (
        "checkpoint draws again from a copy of the generator"
    ),
    r"^TypeError: .* returned complex(64|128)\[\] for .*, which was float(32|64)\[\]": (
        "a Python number in the carry of a loop is a number of NumPy's for the loops inside"
    ),
}
