"""The refusals that have a good reason, and the modes that are wrong today."""

REASONS = {
    r"^MutationError: .*had kept it": "a large array is not copied, and its content has changed",
    r"^RuntimeError: checkpoint.* ran again .* other numbers than the first time": (
        "a function that runs again finds another array, and tells it by its results"
    ),
    r"^MutationError: .*runs again in the backward pass \(checkpoint\) uses an array from outside": (
        "so it does here"
    ),
    r"^MutationError: compile.*: a plain array of shape .* was used, and written to later": (
        "a program has no copies of large arrays"
    ),
    r"^MutationError: .*an array of this level cannot be written to inside .*as a constant": (
        "an array that an outer level has made is a constant on the tape of the inner one"
    ),
}

WRONG = (
    "grad value_and_grad vjp jacrev linearize block checkpoint threads compile(grad) vmap(grad) "
    "grad(vmap) vmap(vjp) vmap(linearize) jvp(grad) grad(grad) grad(jvp) linearize(grad) "
    "checkpoint(grad)"
).split()
"""Reverse mode and `linearize` keep arrays by reference."""
