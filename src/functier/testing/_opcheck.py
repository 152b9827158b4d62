"""opcheck, a check of all rules of an operation, and check_vmap: vmap against a loop."""

import pickle
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import GradcheckError, LevelError, NoRuleError
from .._core.numpy_facts import Function, PyTree, Value, dtype_of, shape_of
from .._core.pytree import (
    flatten,
    is_value,
    name_of_function,
    paths,
    prefix_leaves,
    same_structure,
    unflatten,
)
from .._core.tracebacks import checks_keywords
from .._custom.differences import copy_value
from .._levels.cotangents import is_inexact
from .._transforms.vmap import vmap
from ._gradcheck import gradcheck, gradgradcheck
from ._numeric import random_like


@checks_keywords
def check_vmap(
    func: Callable, args: PyTree, in_dims: PyTree = 0, out_dims: PyTree = 0, *,
    all_subsets: bool = False, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True, **options: Any,
) -> bool:  # fmt: skip
    """Compare ``vmap(func)`` with a loop over the examples.

    Parameters
    ----------
    func : callable
        A function of one example, which takes and returns arrays or pytrees.
    args : tuple, or one argument
        The arguments of ``vmap(func)``: batches, whose size is the number of examples.
    in_dims, out_dims : int, None, or pytree of these
        As of `vmap`.
    all_subsets : bool
        True to map every subset of the arrays that `in_dims` maps, with the first example of the
        others: a batched and a plain operand can take a different path from two batched ones. For n
        arrays that makes ``2**n - 1`` checks.
    atol, rtol : float, optional
        The tolerances of an element. By default the machine epsilon of the coarsest dtype to the
        power 2/3 (4e-11 in double, 2e-5 in single precision), since a product of matrices may sum
        in a different order from a product of vectors.
    raise_exception : bool
        True to raise at a failure; else the result is False.
    **options
        Other options of `vmap`, such as ``chunk_size``.

    Returns
    -------
    bool
        True if structure, shapes, dtypes and elements are the same.

    Raises
    ------
    GradcheckError
        If results differ: the message names the axes that were mapped, the path of the
        result, and the example and the element that differs most, and shows both.

    Notes
    -----
    An operation without a batching rule runs in a loop, with a warning, which passes this
    check. For an empty batch the shapes and dtypes are compared.

    Examples
    --------
    >>> import numpy as np
    >>> check_vmap(np.dot, (np.ones((3, 2)), np.eye(2)), in_dims=(0, 1), all_subsets=True)
    Traceback (most recent call last):
        ...
    ValueError: vmap(dot): args[1] has size 2 along its batch axis, but the level has batch \
size 3; map over axes of one size, or write in_dims=(0, None) or in_dims=(None, 1): None \
is for what is the same for all examples
    >>> check_vmap(np.dot, (np.ones((3, 2)), np.ones((2, 3))), in_dims=(0, 1), all_subsets=True)
    True
    """
    label = f"check_vmap({name_of_function(func)})"
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    leaves, structure = flatten(args)
    spec = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = prefix_leaves(spec, args, label, "in_dims", True)
    mapped = [i for i, d in enumerate(dims) if d is not None]
    case = Case(label, func, args, leaves, structure, dims, out_dims, atol, rtol, options)
    plans = (
        [*product((True, False), repeat=len(mapped))] if all_subsets else [(True,) * len(mapped)]
    )
    try:
        for plan in plans if all_subsets else plans[:1]:
            if any(plan) or not mapped:
                chosen = {i for i, on in zip(mapped, plan) if on}
                _check(case, chosen)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class Case(NamedTuple):
    """A call of `check_vmap`: its arguments, and the leaves that they have."""

    label: str
    func: Function
    args: tuple
    leaves: list
    structure: Any
    dims: list
    out_dims: PyTree
    atol: float | None
    rtol: float | None
    options: dict[str, Any]


def _check(case: Case, chosen: set) -> None:
    """Compare one choice of the leaves that are mapped."""
    label, func, args, leaves, structure, dims, out_dims, atol, rtol, options = case
    given, axes, sizes = [], [], []
    for i, (x, d) in enumerate(zip(leaves, dims)):
        on = i in chosen
        given.append(x if on or d is None else np.take(x, 0, d))
        axes.append(d if on else None)
        sizes += [np.shape(x)[d]] if on else []
    names = paths(args, "args")
    texts = [f"{p} over axis {d}" if d is not None else f"{p} not" for p, d in zip(names, axes)]
    label = f"{label}, mapping {', '.join(texts)}"
    batched = vmap(func, unflatten(structure, axes), out_dims, **options)(
        *unflatten(structure, given)
    )
    n = sizes[0] if sizes else options.get("axis_size", 1)
    examples = [
        func(
            *unflatten(structure, [x if d is None else _pick(x, j, d) for x, d in zip(given, axes)])
        )
        for j in range(max(n, 1))
    ]
    if not same_structure(examples[0], batched):
        raise GradcheckError(f"{label}: the results of vmap and of a loop differ in structure")
    where = paths(examples[0], "the result")
    outs = prefix_leaves(out_dims, examples[0], label, "out_dims")
    columns = zip(*(flatten(e)[0] for e in examples))
    for path, d, column, found in zip(where, outs, columns, flatten(batched)[0]):
        if d is None:
            wanted = np.asarray(column[0])
        else:
            wanted = np.stack(column, d)
            if n == 0:
                wanted = np.take(wanted, [], d)
        _compare(f"{label}: {path}", np.asarray(found), wanted, d, atol, rtol)


def _pick(x: Value, j: int, d: int) -> Value:
    """Return example `j`, or zeros for an empty batch."""
    if np.shape(x)[d] == 0:
        return np.zeros([s for i, s in enumerate(np.shape(x)) if i != d % np.ndim(x)], dtype_of(x))
    return np.take(x, j, d)


def _compare(
    label: str, found: np.ndarray, wanted: np.ndarray, d: int | None, atol: float | None,
    rtol: float | None,
) -> None:  # fmt: skip
    form, own = (wanted.dtype, wanted.shape), (dtype_of(found), shape_of(found))
    if own != form:
        raise GradcheckError(
            f"{label} is {own[0]} of shape {own[1]} under vmap, {form[0]} of shape {form[1]} in a "
            f"loop"
        )
    if wanted.dtype.kind in "fc":
        near = float(np.finfo(wanted.dtype).eps) ** (2 / 3)
        atol, rtol = near if atol is None else atol, near if rtol is None else rtol
        wrong = ~np.isclose(found, wanted, rtol, atol, equal_nan=True)
    else:
        wrong = found != wanted
    if not wrong.any():
        return
    size = np.zeros(wanted.shape)
    if wanted.dtype.kind in "iufc":
        with np.errstate(invalid="ignore"):
            size = np.nan_to_num(
                np.abs(np.subtract(found, wanted, dtype=np.result_type(found, 1.0)))
            )
    index = np.unravel_index(np.argmax(np.where(wrong, size, -1)), wanted.shape)
    place = [int(i) for i in index]
    example = "" if d is None else f"example {place.pop(d)}, "
    with np.printoptions(threshold=64, edgeitems=3, linewidth=96):
        shown = [str(v).replace("\n", "\n    ") for v in (wanted, found)]
    raise GradcheckError(
        f"{label} differs in {int(wrong.sum())} of {wrong.size} elements, most in {example}element "
        f"{tuple(place)}:\n  loop {wanted[index].item()!r}, vmap {found[index].item()!r}\n"
        f"  loop:\n    {shown[0]}\n  vmap:\n    {shown[1]}"
    )


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
