"""opcheck: a check of all rules of an operation."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.errors import GradcheckError, LevelError, NoRuleError
from .._core.numpy_facts import PyTree, Value
from .._core.pytree import flatten, is_value, unflatten
from .._core.tracebacks import checks_keywords
from .._custom.differences import copy_value
from .._levels.cotangents import is_inexact
from ._gradcheck import gradcheck, gradgradcheck
from ._numeric import random_like
from ._vmap import check_vmap

TESTS = ("arguments", "reverse", "forward", "second", "vmap", "vmap of derivatives")


@checks_keywords
def opcheck(
    op: Callable,
    samples: list[tuple] | tuple,
    *,
    tests: Sequence[str] = TESTS,
    raise_exception: bool = True,
    **options: Any,
) -> dict[str, str]:
    """Test a custom operation, or any function with rules, on sample arguments.

    Parameters
    ----------
    op : callable
        A `functier.custom_op`, ``apply`` of a `functier.Function`, or another function of
        arrays.
    samples : list of tuple, or one tuple
        Arguments such as a user would pass; several tuples for several forms.
        Arrays and NumPy's numbers are differentiated and batched; Python's numbers are
        options.
    tests : sequence of str
        What to test:

        ``"arguments"``
            The operation does not change its arguments, nor return their memory, and gives
            the same result again; a custom operation pickles by its name.
        ``"reverse"``, ``"forward"``
            Derivatives of each mode against finite differences.
        ``"second"``
            Second derivatives, in all four nestings of the modes.
        ``"vmap"``
            `vmap` over every subset of the arrays against a loop.
        ``"vmap of derivatives"``
            `vmap` over cotangents and over tangents, against a loop.
    raise_exception : bool
        True to raise at a failure; else the result has the message.
    **options
        Options of `gradcheck` and `gradgradcheck`: ``eps``, ``atol``, ``rtol``, ``fast_mode``...

    Returns
    -------
    dict of str to str
        For each test: ``"ok"``; ``"nothing to test"``, if no sample has an argument for it;
        ``"refused: ..."`` with the error, if the operation raises that it has no such rule; or
        ``"failed: ..."``.

    Raises
    ------
    GradcheckError
        The message names the operation, the test and the sample, and has the error there.

    Notes
    -----
    ``torch.library.opcheck`` also tests tracing, which does not exist here. Samples should be
    small: whole Jacobians are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import custom_op
    >>> cube = custom_op("docs::cube", lambda x: x**3)
    >>> @cube.register_vjp(setup_context=lambda ctx, inputs, _: ctx.save_for_backward(*inputs))
    ... def backward(ctx, g):
    ...     return 3 * g * ctx.saved_tensors[0] ** 2
    >>> set(opcheck(cube, (np.array([0.5, -1.0]),)).values())
    {'ok'}
    """
    unknown = [t for t in tests if t not in TESTS]
    if unknown:
        raise ValueError(f"opcheck: tests has {unknown[0]!r}; known are {', '.join(TESTS)}")
    given = samples if isinstance(samples, list) else [samples]
    for sample in given:
        if not isinstance(sample, tuple):
            raise TypeError(
                f"opcheck: a sample is a {type(sample).__name__}; write a tuple with the arguments "
                f"of one call, or a list of such tuples"
            )
    name = getattr(op, "qualified_name", getattr(op, "__qualname__", repr(op)))
    found: dict[str, str] = {}
    for test in tests:
        found[test] = "nothing to test"
        for i, sample in enumerate(given):
            try:
                if RUN[test](op, sample, options) and found[test] == "nothing to test":
                    found[test] = "ok"
            except (NoRuleError, LevelError, RuntimeError) as error:
                if isinstance(error, (NoRuleError, LevelError)) or "twice" in str(error):
                    found[test] = f"refused: {error}"
                    continue
                found[test] = _report_failure(name, test, i, error, raise_exception)
                break
            except Exception as error:
                found[test] = _report_failure(name, test, i, error, raise_exception)
                break
    return found


def _report_failure(name: str, test: str, i: int, error: Exception, raise_: bool) -> str:
    text = f"{name}: the test {test!r} failed for samples[{i}]: {error}"
    if raise_:
        raise GradcheckError(text) from error
    return f"failed: {text}"


def _split_floats(op: Callable, sample: tuple) -> tuple[Callable, list]:
    """Return `op` as a function of the arrays of a sample that have a derivative, and these."""
    leaves, structure = _leaves(sample)
    places = [i for i, x in enumerate(leaves) if is_array(x) and is_inexact(x)]

    def of_floats(*values: Value) -> PyTree:
        given = list(leaves)
        for i, x in zip(places, values):
            given[i] = x
        return op(*_args(structure, given))

    return of_floats, [leaves[i] for i in places]


def is_array(x: Value) -> bool:
    """Return whether `x` is an array, or a number of NumPy; numbers of Python are options."""
    return is_value(x) and not isinstance(x, int) and type(x) not in (float, complex)


def _leaves(sample: tuple) -> tuple[list, Any]:
    """Return the leaves of the arguments; an argument without arrays is a leaf itself."""
    parts, leaves = [], []
    for arg in sample:
        inner, structure = flatten(arg)
        if is_value(arg) or not any(is_value(x) for x in inner):
            inner, structure = [arg], None
        parts.append((len(inner), structure))
        leaves += inner
    return leaves, parts


def _args(parts: list, leaves: list) -> list:
    found, start = [], 0
    for n, structure in parts:
        own = leaves[start : start + n]
        found.append(own[0] if structure is None else unflatten(structure, own))
        start += n
    return found


def _check_arguments(op: Callable, sample: tuple, options: dict) -> bool:
    leaves, parts = _leaves(sample)
    given = [copy_value(x) if is_value(x) else x for x in leaves]
    results = [flatten(op(*_args(parts, given)))[0] for _ in range(2)]
    for i, (x, y) in enumerate(zip(given, leaves)):
        if not is_value(x):
            continue
        if not np.array_equal(x, y, equal_nan=np.result_type(x).kind in "fc"):
            raise ValueError(f"it changed array {i} of its arguments; compute a new array")
        for out in results[0]:
            if isinstance(x, np.ndarray) and isinstance(out, np.ndarray):
                if np.shares_memory(x, out):
                    raise ValueError(
                        f"a result shares memory with array {i} of the arguments; return a copy"
                    )
    for a, b in zip(*results):
        if not np.array_equal(a, b, equal_nan=np.result_type(a).kind in "fc"):
            raise ValueError("it gave another result the second time, for the same arguments")
    if hasattr(op, "qualified_name") and pickle.loads(pickle.dumps(op)) is not op:
        raise ValueError("another operation has taken its name since")
    return True


def _check_reverse(op: Callable, sample: tuple, options: dict) -> bool:
    func, floats = _split_floats(op, sample)
    return bool(floats) and gradcheck(func, tuple(floats), check_forward_ad=False, **options)


def _check_forward(op: Callable, sample: tuple, options: dict) -> bool:
    func, floats = _split_floats(op, sample)
    return bool(floats) and gradcheck(func, tuple(floats), check_backward_ad=False, **options)


def _check_second(op: Callable, sample: tuple, options: dict) -> bool:
    func, floats = _split_floats(op, sample)
    return bool(floats) and gradgradcheck(func, tuple(floats), **options)


def _check_batched_derivatives(op: Callable, sample: tuple, options: dict) -> bool:
    func, floats = _split_floats(op, sample)
    both = {"check_batched_grad": True, "check_batched_forward_grad": True}
    return bool(floats) and gradcheck(func, tuple(floats), **{**both, **options})


def _check_vmap(op: Callable, sample: tuple, options: dict) -> bool:
    leaves, parts = _leaves(sample)
    places = [i for i, x in enumerate(leaves) if is_array(x)]

    def of_arrays(*values: Value) -> PyTree:
        given = list(leaves)
        for i, x in zip(places, values):
            given[i] = x
        return op(*_args(parts, given))

    stacks = []
    for i in places:
        x = np.asarray(leaves[i])
        rows = [x] * 3
        if x.dtype.kind in "fc":
            noise = random_like([x] * 2, i)
            rows = [x, *[(x * (1 + 0.1 * np.tanh(t))).astype(x.dtype) for t in noise]]
        stacks.append(np.stack(rows))
    near = {k: v for k, v in options.items() if k in ("atol", "rtol")}
    return bool(stacks) and check_vmap(of_arrays, tuple(stacks), all_subsets=True, **near)


RUN: dict[str, Callable[[Callable, tuple, dict], bool]] = {
    "arguments": _check_arguments,
    "reverse": _check_reverse,
    "forward": _check_forward,
    "second": _check_second,
    "vmap": _check_vmap,
    "vmap of derivatives": _check_batched_derivatives,
}
