"""checkpoint: recompute intermediate values in the backward pass instead of saving them."""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, overload

from .._core.numpy_facts import Function, PyTree
from .._core.pytree import check_callable, name_of_function
from .._core.tracebacks import checks_keywords, leave
from .._transforms.chunks.compute import check_count
from .._transforms.transformed import Transformed
from .masks import check_carry
from .regions import region
from .schedule import Loop, Plan, planned

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(
    func: Callable[P, R], *, slots: int | None = None, chunk: int = 1, steps: int | None = None
) -> Callable[P, R]: ...
@overload
def checkpoint(
    func: None = None, *, slots: int | None = None, chunk: int = 1, steps: int | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@checks_keywords
def checkpoint(
    func: Any = None, *, slots: int | None = None, chunk: int = 1, steps: int | None = None
) -> Any:
    """Return `func` with its intermediate values recomputed in the backward pass.

    Reverse mode saves the values that the derivative of each operation needs. For a checkpointed
    function it saves only the arguments and the results, and runs the function again when the
    backward pass reaches it. A chain of n equal parts, each checkpointed, needs memory for n
    arguments and one part.

    Parameters
    ----------
    func : callable
        A function of arrays or pytrees of arrays, which returns arrays or pytrees of arrays.
        It may close over tensors. Both runs have to do the same: draws from a
        `functier.random` generator are repeated, draws from a NumPy generator are not. Its
        arguments may be written to after the call of `vjp`; an array that it closes over may
        be written to only after the backward pass.
    slots : int, optional
        The number of states to keep at a time from the one loop that `func` calls: a `scan`, `map`
        or `fori_loop`, or the loop of `steps`. The first state is one of them. What `func` computes
        around the loop is kept as without `checkpoint`.
    chunk : int
        The number of steps of the loop that are recorded at a time.
    steps : int, optional
        The number of steps of a loop ``state = func(state, *args, **kwargs)``, where `func` is one
        step. The result is a function of the first state, and of arguments that are the same in
        each step; it returns the last state.

    Returns
    -------
    callable
        A function with the signature and the results of `func`. Only reverse mode treats it
        differently: forward mode and `vmap` save nothing anyway.

    Raises
    ------
    RuntimeError
        In the backward pass, if the second run returned a different form or different numbers. (For
        large results, a sample of the elements and their sum are compared.)
    ValueError
        With `slots`, if `func` calls no loop, more than one, or one whose number of steps is not
        known on entry.
    TypeError
        With `steps`, if the state changes its structure, a shape or a dtype.

    Notes
    -----
    A backward pass that is itself differentiated, as in ``grad(grad(f))``, is checkpointed too.
    Each additional order of derivatives costs another run.

    With `slots`, any number of steps takes the memory of `slots` states and of the tape of one
    chunk, plus that of the arrays over all steps that a scan takes or returns. The steps between
    the kept states run again, by the schedule that needs the fewest runs (revolve). For n chunks
    and s slots each step runs at most r + 1 times, where n is at most (s + r)! / (s! r!): 10 slots
    suffice for 286 chunks with r = 3. A chunk of 1 keeps the tape of one step; larger chunks need
    fewer slots and less time. The differentiated backward pass of ``grad(grad(f))`` keeps one state
    for each chunk that it has run.

    The carry has the same bits as without `slots`. The cotangents of what all steps share are
    added in the same order as without. Only where a result of a step is also its state, or a value
    that all steps share, are they added in the order of the chunks, and may differ by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> @checkpoint
    ... def block(x):
    ...     return np.sin(np.sin(np.sin(x)))
    >>> float(grad(lambda x: block(block(x)))(0.0))
    1.0

    A long loop, with 8 states kept:

    >>> def step(x, rate):
    ...     return x + rate * np.sin(x)
    >>> long = checkpoint(step, slots=8, chunk=10, steps=1000)
    >>> np.round(grad(long, argnums=(0, 1))(0.1, 0.001), 6)
    array([  2.674355, 266.726092])
    """
    _check_numbers(slots, chunk, steps)
    if func is None:
        return functools.partial(checkpoint, slots=slots, chunk=chunk, steps=steps)
    check_callable("checkpoint", func)
    label = f"checkpoint({name_of_function(func)})"

    def run(args: tuple, kwargs: dict) -> Any:
        if slots is None:
            return region(label, lambda args, kwargs: func(*args, **kwargs), args, kwargs)
        plan = Plan(label, slots, chunk)
        if steps is not None:
            return _repeat(plan, func, steps, args, kwargs)
        with planned(plan):
            out = func(*args, **kwargs)
        if plan.loop is None:
            raise ValueError(
                f"{label}: the function calls no scan, map or fori_loop, which slots are for; "
                f"write checkpoint(f) without slots, or give steps=..., their number, if the "
                f"function is one step"
            )
        return out

    options = SimpleNamespace(slots=slots, chunk=chunk, steps=steps)

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(args, kwargs)
        except BaseException as error:
            leave(error, label, func, args, kwargs)
            raise

    return Transformed(checkpointed, func, "checkpoint", options)


def _check_numbers(slots: Any, chunk: Any, steps: Any) -> None:
    for name, value, least in (("slots", slots, 1), ("chunk", chunk, 1), ("steps", steps, 0)):
        if value is not None or name == "chunk":
            check_count("checkpoint", name, value, least)
    if slots is None and (steps is not None or chunk != 1):
        name = "chunk" if steps is None else "steps"
        raise TypeError(
            f"checkpoint: {name} is given without slots; write slots=..., the number of states"
        )


def _repeat(plan: Plan, func: Function, n: int, args: tuple, kwargs: dict) -> PyTree:
    """Return the state after `n` steps from the first argument."""
    label = plan.label
    if not args:
        raise TypeError(f"{label}: there is no first state; pass it as the first argument")

    def run(start: int, stop: int, state: PyTree, xs: list, more: tuple, names: dict) -> tuple:
        for i in range(start, stop):
            try:
                state = check_carry(label, "the step", "state", state, func(state, *more, **names))
            except Exception as error:
                error.add_note(f"{label}: in step {i} of {n}")
                raise
        return state, None

    state, *more = args
    return Loop(plan, run, False, lambda parts: None).run(n, state, [], tuple(more), kwargs)[0]
